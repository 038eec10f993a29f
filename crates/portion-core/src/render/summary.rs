//! Renders a single object, as a summary if it is too large: the highest-ranked fields, and how to read the
//! rest.

use std::collections::HashMap;
use std::sync::Arc;

use portion_json::containers::members;
use portion_json::path::{PathSteps, value_below};
use portion_json::projection::{FieldSelection, OmittedFields, is_path_within};
use portion_json::scan::{JsonKind, JsonReader, minify, unescape};
use portion_json::span::Span;
use portion_text::display::counted;
use portion_tokens::estimate_size;
use serde_json::{Map, Value};

use super::budget::RemainingBudget;
use super::chunk;
use super::meta::NameList;
use super::portion::PortionKind;
use super::query_tables::{QueryTables, record_lists, value_lists};
use super::rendering::{NoticeExtra, RenderTarget, Rendering, StrippedFields, max_name_chars};
use crate::cursor::PartOffset;
use crate::elide::{ELISION_LIMITS, elide, elide_lists, is_shortened};
use crate::noise::NoiseFields;
use crate::policy::RenderOptions;
use crate::snapshot::{
    ColumnArrays, Field, FieldRank, IndexedText, ListProfile, ObjectIndex, Slice, Structure, main_table,
    tables_alike, text_in_member, visit_fields,
};
use crate::view::{
    CustomSection, NestedObject, RequestedFields, Section, SectionScope, core_object, custom_sections,
    sections,
};

/// Items that each list keeps in a record that is little but lists, in the order of attempts.
const MAX_SHOWN_ITEMS: [usize; 5] = [50, 20, 8, 3, 1];
/// Limits for answers, where a string often is the whole content.
const ANSWER_ELISION_LIMITS: [usize; 5] = [8_000, 4_000, 2_000, 1_000, 500];
/// Estimated cost of a shortened string, in tokens.
const ELIDED_STRING_TOKENS: usize = 80;
/// Highest cost of a nested list or object that is shown whole, in tokens.
const MAX_CONTAINER_TOKENS: usize = 120;
/// Shortest string that is a section, in bytes.
const MIN_STRING_BYTES: usize = 300;

/// Renders an object: whole if it is selected or small and fits, otherwise the requested fields, otherwise a
/// summary.
pub(super) fn render(
    target: &RenderTarget<'_>,
    members: &ObjectIndex,
    room: &RemainingBudget<'_>,
) -> Rendering {
    let text: &str = &target.subject.text;
    if let PartOffset::Byte(at) = target.start {
        return chunk::render_bytes(&target.subject.text, target.subject.span(), at as usize, room);
    }
    match &target.view.field_selection {
        RequestedFields::All if room.fits(text) => Rendering::whole(target, room),
        RequestedFields::All => chunk::render_bytes(&target.subject.text, target.subject.span(), 0, room),
        RequestedFields::Only(fields) => render_projection(target, members, fields, room),
        RequestedFields::Auto if target.is_singled_out && room.fits(text) => Rendering::whole(target, room),
        // A `limit` does not apply to an object.
        RequestedFields::Auto if room.with_max_tokens(target.policy.summarize_above).fits(text) => {
            Rendering::whole(target, room)
        }
        RequestedFields::Auto => {
            let noise =
                target.strip_rule().map(|strip| NoiseFields::in_object(strip, text)).unwrap_or_default();
            let rendering = if noise.is_empty() {
                render_summary(target, members, room)
            } else {
                render_without_noise(target, members, noise, room)
            };
            rendering
                .unwrap_or_else(|| chunk::render_bytes(&target.subject.text, target.subject.span(), 0, room))
        }
    }
}

/// Renders an object without its noise: whole if it is small, otherwise summarized.
fn render_without_noise(
    target: &RenderTarget<'_>,
    members: &ObjectIndex,
    noise: NoiseFields,
    room: &RemainingBudget<'_>,
) -> Option<Rendering> {
    let mut lean = String::new();
    noise.write_without(&target.subject.text, &mut lean);
    let core = core_object(&target.subject.text, members);
    let fields = core.members.len();
    // A summary of the operator's fields has no others, even if they would fit.
    let options = &target.policy.render_options;
    let is_open = !options.summary_only || options.summary_fields.is_empty();
    let mut rendering = if is_open && room.with_max_tokens(target.policy.summarize_above).fits(&lean) {
        let shown = shown_field_names(&lean, &core.pointer);
        let mut rendering = Rendering::new(PortionKind::Summary, lean);
        rendering.is_json = true;
        rendering.meta.total_fields = Some(fields.max(shown.len()));
        rendering.meta.projected_fields = Some(NameList::whole(shown));
        rendering.sections = Some(Map::new());
        rendering
    } else {
        let mut rendering = render_summary_of(target, lean, room)?;
        rendering.meta.total_fields = rendering.meta.total_fields.map(|shown| shown.max(fields));
        rendering
    };
    let is_stripped = |section: &Section| {
        section.span.len() > MIN_STRING_BYTES
            && section.path().is_some_and(|path| noise.contains_by_name(&path))
    };
    let stripped = sections(target.subject).into_iter().filter(is_stripped);
    let size = |section: &Section| size_text(section.span.slice(&target.subject.text), room).into();
    rendering.sections.get_or_insert_default().extend(stripped.map(|own| (own.name.clone(), size(&own))));
    rendering.stripped = StrippedFields { named: noise.named_paths, nulls: noise.null_paths };
    Some(rendering)
}

/// Renders the summary of an object from which fields were removed.
fn render_summary_of(
    target: &RenderTarget<'_>,
    text: String,
    room: &RemainingBudget<'_>,
) -> Option<Rendering> {
    let own = ObjectIndex::parse(&mut JsonReader::new(&text)).ok()?;
    let structure = Structure::Object(Arc::new(own.clone()));
    let subject = IndexedText { text: Slice::new(text), structure };
    render_summary(&RenderTarget { subject: &subject, ..*target }, &own, room)
}

/// Renders the requested fields, or a summary of them if they do not fit.
fn render_projection(
    target: &RenderTarget<'_>,
    members: &ObjectIndex,
    fields: &FieldSelection,
    room: &RemainingBudget<'_>,
) -> Rendering {
    let text: &str = &target.subject.text;
    let mut written = String::new();
    fields.project_for_display(text, &mut written, &mut OmittedFields::new());
    let Some((body, elided)) = elide_to_fit(&written, target.pointer, room) else {
        return render_summary_of(target, written, room)
            .unwrap_or_else(|| chunk::render_bytes(&target.subject.text, target.subject.span(), 0, room));
    };
    let mut rendering = Rendering::new(PortionKind::Summary, body);
    rendering.is_json = true;
    rendering.meta.total_fields = Some(core_object(text, members).members.len());
    let projected_fields = NameList::whole(fields.paths().iter().cloned());
    rendering.meta.projected_fields = Some(projected_fields);
    rendering.meta.elided_count = elided;
    rendering
}

/// Renders the highest-ranked fields of an object, or returns `None` if not even they fit.
fn render_summary(
    target: &RenderTarget<'_>,
    members: &ObjectIndex,
    room: &RemainingBudget<'_>,
) -> Option<Rendering> {
    let text: &str = &target.subject.text;
    // A summary costs at most half of the threshold up to which an object is shown whole.
    let aim = room.tokens.min((target.policy.summarize_above / 2).max(200));
    let FittedRecord { body, omitted_fields: left_out, elided_count: elided } =
        fit_record(text, target.pointer, aim, room, &target.policy.render_options)?;
    let NestedObject { pointer, members: core, .. } = core_object(text, members);
    let columns = if pointer.is_empty() { column_names(text, members) } else { None };
    let mut rendering = Rendering::new(PortionKind::Summary, body);
    rendering.is_json = true;
    let shown = shown_field_names(&rendering.body, &pointer);
    let tables = || {
        if let Some(columns) = &columns {
            return QueryTables::of_columns(columns);
        }
        let member =
            text_in_member(text, members).and_then(|(path, inner)| QueryTables::of_member(path, &inner));
        if let Some(tables) = member {
            return tables;
        }
        if let Some(table) = main_table(text, members.span) {
            let table_count = tables_alike(text, members.span, &table).len();
            return QueryTables::of_named_rows(&table, table_count);
        }
        let records = record_lists(text, members);
        let columns = if records.is_empty() { ColumnArrays::find_in(text, "", members) } else { Vec::new() };
        if !columns.is_empty() {
            return QueryTables::of_column_arrays(text, &columns);
        }
        let values = if records.is_empty() { value_lists(text, members.span) } else { Vec::new() };
        QueryTables::of_object(&records, &values)
    };
    rendering.query_tables = target.is_first().then(tables).and_then(|tables| tables.within(text.len()));
    rendering.meta.total_fields = Some(core.len());
    rendering.meta.projected_fields = Some(NameList::whole(shown));
    rendering.meta.elided_count = elided;
    rendering.sections = Some(section_sizes(target, members, &left_out, room));
    if !left_out.is_empty() {
        rendering.extras.push(NoticeExtra::Condensed(NameList::new(left_out, max_name_chars(room))));
    }
    Some(rendering)
}

/// Returns the names of the fields shown in the core object, which is at `pointer`.
pub(super) fn shown_field_names(body: &str, pointer: &str) -> Vec<String> {
    let core = value_below(body, Span::new(0, body.len()), PathSteps::parse(pointer));
    let names = core.into_iter().flat_map(|core| members(body, core));
    names.map(|own| unescape(own.key.slice(body))).take(ObjectIndex::MAX_LISTED).collect()
}

/// Returns the sections that are not shown whole, with their sizes.
fn section_sizes(
    target: &RenderTarget<'_>,
    members: &ObjectIndex,
    left_out: &OmittedFields,
    room: &RemainingBudget<'_>,
) -> Map<String, Value> {
    let text: &str = &target.subject.text;
    let is_out = |name: &str| left_out.iter().any(|path| path == name || has_step(path, name));
    // A section has no custom sections inside it.
    let given = if target.view.is_section { &[][..] } else { &target.policy.render_options.sections };
    let made = custom_sections(target.subject, given);
    let core = core_object(text, members).members.span;
    let size_of = |made: &CustomSection| {
        let of = if made.scope == SectionScope::Object(String::new()) { text } else { core.slice(text) };
        size_text(&made.project(of), room).into()
    };
    let mut characters = 2 * max_name_chars(room);
    let mut sizes: Map<String, Value> = Map::new();
    for made in &made {
        characters = characters.saturating_sub(made.name.len() + 24);
        if characters > 0 {
            sizes.insert(made.name.clone(), size_of(made));
        }
    }
    let mut found: Vec<_> = sections(target.subject)
        .into_iter()
        .filter(|section| !made.iter().any(|made| section.is_covered_by(made)))
        .filter(|section| {
            let large = section.kind.is_some_and(JsonKind::is_container) && section.span.len() > 2;
            large && is_out(&section.name)
                || section.span.len() > MIN_STRING_BYTES && is_shortened(section.span.slice(text))
        })
        .collect();
    // If not all sections can be named, the largest are.
    found.sort_by_key(|section| std::cmp::Reverse(section.span.len()));
    let kept = found.iter().take_while(|section| {
        let cost = section.name.len() + 24;
        let fits = cost <= characters;
        characters = characters.saturating_sub(cost);
        fits
    });
    let mut kept: Vec<_> = kept.collect();
    kept.sort_by_key(|section| section.span.start);
    sizes.extend(
        kept.into_iter()
            .map(|section| (section.name.clone(), size_text(section.span.slice(text), room).into())),
    );
    sizes
}

/// Returns true if a dotted path contains a step with that name.
fn has_step(path: &str, name: &str) -> bool {
    path.split('.').any(|step| step == name)
}

fn size_text(json: &str, room: &RemainingBudget<'_>) -> String {
    let size = estimate_size(room.counter, json);
    let mark = if size.is_exact { "" } else { "≈" };
    let items = match JsonKind::of_value(json) {
        JsonKind::Array => counted(crate::snapshot::cell_spans(json).len(), "item") + ", ",
        _ => String::new(),
    };
    format!("{items}{mark}{} tokens", size.tokens)
}

/// A record reduced to fit a budget.
pub(super) struct FittedRecord {
    /// Its text, JSON.
    pub body: String,
    /// Fields that are not in it.
    pub omitted_fields: OmittedFields,
    /// Number of shortened strings.
    pub elided_count: usize,
}

/// Reduces a record to `aim` tokens: the summary fields, then the highest-ranked ones, with long strings shortened. If
/// the operator wants no other fields than the summary fields, all of these are shown that fit the budget.
///
/// Returns `None` if not even the essential fields fit the budget.
pub(super) fn fit_record(
    text: &str,
    pointer: &str,
    aim: usize,
    room: &RemainingBudget<'_>,
    options: &RenderOptions,
) -> Option<FittedRecord> {
    let first = &options.summary_fields;
    if JsonKind::of_value(text) != JsonKind::Object {
        let mut written = String::new();
        minify(text, &mut written);
        let fitted =
            elide_to_fit(&written, pointer, room).or_else(|| keep_first_items(&written, pointer, room));
        return fitted.map(|(body, elided)| FittedRecord {
            body,
            omitted_fields: OmittedFields::new(),
            elided_count: elided,
        });
    }
    let (candidates, inside) = ranked_fields(text);
    // Inside wrappers, a field may be named relative to the core object.
    let rank = |path: &str| {
        let own = path.strip_prefix(&inside).and_then(|rest| rest.strip_prefix('.'));
        first
            .iter()
            .position(|name| is_path_within(path, name) || own.is_some_and(|own| is_path_within(own, name)))
    };
    let (mut first, mut rest): (Vec<Field>, Vec<Field>) =
        candidates.into_iter().partition(|field| rank(&field.path).is_some());
    first.sort_by_key(|field| rank(&field.path));
    let is_fixed = options.summary_only && !first.is_empty();
    if is_fixed {
        // Fields around the core object are no part of the record.
        rest.retain(|field| !inside.is_empty() && !is_path_within(&field.path, &inside));
    }
    let aim = if is_fixed { room.tokens } else { aim };
    let costs = field_costs(text, room, &|path| rank(path).is_some());
    let mut spend = aim;
    loop {
        let keep = choose_fields(&first, &rest, &costs, spend);
        let (mut written, mut left_out) = (String::new(), OmittedFields::new());
        keep.project_for_display(text, &mut written, &mut left_out);
        if let Some(mut fitted) = elide_to_fit(&written, pointer, &room.with_max_tokens(aim.max(spend))) {
            // Of an object that is little but lists, their first items say more.
            let is_sparse = first.is_empty() && room.with_max_tokens(aim / 4).fits(&fitted.0);
            if is_sparse && !left_out.is_empty() {
                written.clear();
                minify(text, &mut written);
                let sample = keep_first_items(&written, pointer, &room.with_max_tokens(aim / 2));
                fitted = sample.unwrap_or(fitted);
            }
            let (body, elided_count) = fitted;
            return Some(FittedRecord { body, omitted_fields: left_out, elided_count });
        }
        if spend == 0 {
            return None;
        }
        spend = if spend < 40 { 0 } else { spend * 2 / 3 };
    }
}

/// Returns a record with all of its fields, with long strings shortened no more than needed to fit.
pub(super) fn shorten_strings(text: &str, pointer: &str, room: &RemainingBudget<'_>) -> Option<FittedRecord> {
    let mut written = String::new();
    minify(text, &mut written);
    ANSWER_ELISION_LIMITS.into_iter().find_map(|above| {
        let mut body = String::new();
        let elided = elide(&written, above, pointer, &mut body);
        room.fits(&body).then(|| FittedRecord {
            body,
            omitted_fields: OmittedFields::new(),
            elided_count: elided,
        })
    })
}

/// Returns the text with strings shortened until it fits, and the number of shortened strings.
fn elide_to_fit(json: &str, pointer: &str, room: &RemainingBudget<'_>) -> Option<(String, usize)> {
    let mut shortened = None;
    for above in ELISION_LIMITS {
        let mut out = String::new();
        let elided = elide(json, above, pointer, &mut out);
        if room.fits(&out) {
            // A text that fits unchanged is not shortened.
            let whole = elided > 0 && above == ELISION_LIMITS[0] && json.len() < 4_000 && room.fits(json);
            shortened = Some(if whole { (json.to_owned(), 0) } else { (out, elided) });
            break;
        }
    }
    shortened
}

/// Returns the text with each list shortened to as many items as fit, and the number of what was shortened.
fn keep_first_items(json: &str, pointer: &str, room: &RemainingBudget<'_>) -> Option<(String, usize)> {
    MAX_SHOWN_ITEMS.into_iter().find_map(|max| {
        let mut out = String::new();
        let elided = elide_lists(json, (ELISION_LIMITS[0], Some(max)), pointer, &mut out);
        room.fits(&out).then_some((out, elided))
    })
}

/// Returns the fields of a record by rank, with paths from its root, and the dotted path of its core object.
fn ranked_fields(text: &str) -> (Vec<Field>, String) {
    let mut fields = ListProfile::record_fields(text);
    let mut about = String::new();
    // Inside wrappers, the fields of the core object rank as top-level fields.
    if let Ok(members) = ObjectIndex::parse(&mut JsonReader::new(text)) {
        let NestedObject { path: prefix, members: inner, .. } = core_object(text, &members);
        if !prefix.is_empty() {
            let own = ListProfile::record_fields(inner.span.slice(text));
            let inside = |path: &str| path.strip_prefix(&prefix).is_some_and(|rest| rest.starts_with('.'));
            fields.retain(|field| !inside(&field.path) && field.path != prefix);
            fields.extend(
                own.into_iter().map(|field| Field { path: format!("{prefix}.{}", field.path), ..field }),
            );
            fields.sort_by_key(|field| field.rank);
            about = prefix;
        }
    }
    (fields, about)
}

fn choose_fields(
    first: &[Field],
    rest: &[Field],
    costs: &HashMap<String, usize>,
    spend: usize,
) -> FieldSelection {
    let mut left = spend.saturating_sub(10);
    let mut kept = Vec::new();
    let any = first.iter().map(|field| (field, usize::MAX));
    for (field, max) in any.chain(rest.iter().map(|field| (field, MAX_CONTAINER_TOKENS))) {
        let cost = costs.get(&field.path).copied().unwrap_or(ELIDED_STRING_TOKENS);
        let always = field.rank <= FieldRank::Status && spend > 0;
        let fitting = cost <= left && (field.rank != FieldRank::Container || cost <= max);
        if always || fitting {
            left = left.saturating_sub(cost);
            kept.push(field.path.clone());
        }
    }
    kept.into_iter().collect()
}

/// Returns the cost of each field in tokens, with long strings shortened.
fn field_costs(
    text: &str,
    room: &RemainingBudget<'_>,
    first: &dyn Fn(&str) -> bool,
) -> HashMap<String, usize> {
    let mut costs = HashMap::new();
    let mut add = |path: String, json: &str| {
        let max = match first(&path) {
            _ if is_shortened(json) => ELIDED_STRING_TOKENS,
            true => room.tokens,
            false => MAX_CONTAINER_TOKENS + 1,
        };
        let cost = room.counter.count_within(json, max).unwrap_or(max);
        let key = 2 + path.len() / 4;
        *costs.entry(path).or_default() += cost + key;
    };
    visit_fields(text, &mut |path, _, value| add(path.to_owned(), value.slice(text)));
    if let Ok(members) = ObjectIndex::parse(&mut JsonReader::new(text)) {
        let NestedObject { path: prefix, members: inner, .. } = core_object(text, &members);
        if !prefix.is_empty() {
            let own = inner.span.slice(text);
            visit_fields(own, &mut |path, _, value| add(format!("{prefix}.{path}"), value.slice(own)));
        }
    }
    costs
}

/// Returns the names of the arrays of an object that are the columns of a table: most of it are arrays of equal length of
/// strings, numbers and the like.
fn column_names(text: &str, object: &ObjectIndex) -> Option<Vec<String>> {
    let is_whole = object.listed.len() == object.len();
    let table = ColumnArrays::detect(text, &object.listed).filter(|_| is_whole)?;
    let bytes: usize = table.columns.iter().map(|column| column.value.len()).sum();
    let is_most = bytes * 4 >= object.span.len() * 3;
    is_most.then(|| table.columns.iter().map(|column| unescape(column.key.slice(text))).collect())
}

#[cfg(test)]
mod tests {
    use portion_json::scan::JsonReader;

    use super::column_names;
    use crate::snapshot::ObjectIndex;

    fn check(text: &str, names: &[&str]) {
        let object = ObjectIndex::parse(&mut JsonReader::new(text)).expect("an object");
        assert_eq!(column_names(text, &object).unwrap_or_default(), names, "{text}");
    }

    #[test]
    fn arrays_of_one_length_are_columns() {
        check(
            r#"{"id": [1, 2, 3, 4, 5, 6, 7, 8], "at/b": ["a", "b", null, "d", "e", "f", "a longer one", "a longer one of them, by far"], "unit": 1}"#,
            &["id", "at/b"],
        );
        for other in [
            r#"{"id":[1,2,3,4,5],"city":["a","b"]}"#,
            r#"{"id":[1,2,3,4,5],"rows":[{},{},{},{},{}]}"#,
            r#"{"id":[1,2],"n":[1,2]}"#,
            r#"{"id":[1,2,3,4],"id":[1,2,3,4]}"#,
            r#"{"id":[1,2,3,4],"n":[1,2,3,4],"text":"long long long long long"}"#,
            "{}",
        ] {
            check(other, &[]);
        }
    }
}
