//! Renders the objects around a list, with those of their other members that are small.

use std::collections::{BTreeSet, HashMap};

use portion_json::json_pointer::step_from_quoted;
use portion_json::path::key_matches;
use portion_json::scan::{JsonKind, JsonReader, minify, unescape};

use super::budget::RemainingBudget;
use crate::noise::write_without_named;
use crate::policy::StripRule;
use crate::snapshot::{Layout, Member, ObjectIndex, OrderedList, cell_spans};
use crate::stage::RowFormat;

/// Text before and after the items of a page.
#[derive(Default)]
pub(super) struct ListWrapper {
    /// Text before the first item.
    pub before: String,
    /// Text after the last item.
    pub after: String,
    /// Members omitted for their size: pointer and bytes.
    pub omitted_members: Vec<(String, usize)>,
    /// Dotted paths of members stripped as noise.
    pub stripped_fields: BTreeSet<String>,
    /// Objects around the list without the list, as JSON; empty if they have no other members.
    pub outer_members: String,
}

/// Renders the wrapper of a list. Its members take at most a quarter of the budget. The columns of a table
/// are always kept: rows have no meaning without them.
pub(super) fn render(
    rows: OrderedList<'_>,
    how: &RowFormat,
    strip: Option<&StripRule>,
    room: &RemainingBudget<'_>,
) -> ListWrapper {
    let mut stripped = BTreeSet::new();
    let mut lean = strip_members(rows, strip, &mut stripped);
    align_to_columns(rows, how, &mut lean);
    let small = fitting_members(rows, &lean, &room.with_max_tokens(room.tokens / 4));
    ListWrapper { stripped_fields: stripped, ..assemble(rows, how, &lean, &small) }
}

/// Renders the wrapper of a list with all of its members. Other lists among them are shortened to whole items
/// if they exceed their share. Returns `None` if no budget remains for the list itself.
pub(super) fn render_with_all_members(
    rows: OrderedList<'_>,
    room: &RemainingBudget<'_>,
) -> Option<ListWrapper> {
    let mut left = room.with_max_tokens(room.tokens / 4 * 3);
    left.bytes = left.bytes / 4 * 3;
    let mut lists = Vec::new();
    let mut all = Vec::new();
    let mut text = String::new();
    for (depth, level) in rows.list.enclosing_objects.iter().enumerate() {
        for (at, member) in level.members.iter().enumerate().filter(|(at, _)| *at != level.list_member) {
            all.push((depth, at));
            if member.kind == JsonKind::Array {
                lists.push((depth, at, member));
                continue;
            }
            text.clear();
            text.push_str(member.key.slice(rows.text));
            text.push(':');
            minify(member.value.slice(rows.text), &mut text);
            if !left.spend(&text) {
                return None;
            }
        }
    }
    // Larger lists get what smaller ones do not use. Two thirds remain for the records.
    lists.sort_by_key(|(.., member)| member.value.len());
    let mut share = left.with_max_tokens(left.tokens / 3);
    share.bytes /= 3;
    let (mut lean, mut omitted) = (MemberOverrides::new(), Vec::new());
    for (i, (depth, at, member)) in lists.iter().enumerate() {
        let others = lists.len() - i;
        let mut own = share.with_max_tokens(share.tokens / others);
        own.bytes /= others;
        let value = member.value.slice(rows.text);
        let (short, missing) = truncate_array(value, &own);
        if missing > 0 {
            let innermost = rows.list.enclosing_objects[..*depth].iter();
            let outer = innermost.fold(String::new(), |outer, level| {
                format!("{outer}/{}", step_from_quoted(level.members[level.list_member].key.slice(rows.text)))
            });
            // The header of a table must not be shortened.
            if is_header(rows, *at) && depth + 1 == rows.list.enclosing_objects.len() {
                return None;
            }
            omitted.push((format!("{outer}/{}", step_from_quoted(member.key.slice(rows.text))), missing));
            lean.insert((*depth, *at), Some(short.clone()));
        }
        share.spend(&short);
    }
    let shell = assemble(rows, &RowFormat::default(), &lean, &all);
    Some(ListWrapper { omitted_members: omitted, ..shell })
}

/// Returns as many items of an array as fit, minified, and the bytes of the rest.
fn truncate_array(array: &str, room: &RemainingBudget<'_>) -> (String, usize) {
    let mut short = String::new();
    minify(array, &mut short);
    if room.fits(&short) {
        return (short, 0);
    }
    let mut left = *room;
    let (mut out, mut missing) = (String::from("["), 0);
    let mut item = String::new();
    for span in cell_spans(array) {
        item.clear();
        item.push_str(if out.len() > 1 { "," } else { "" });
        minify(span.slice(array), &mut item);
        if missing > 0 || !left.spend(&item) {
            missing += span.len();
        } else {
            out.push_str(&item);
        }
    }
    out.push(']');
    (out, missing)
}

/// Assembles the wrapper from these members, some of them with replaced values.
fn assemble(
    rows: OrderedList<'_>,
    how: &RowFormat,
    lean: &MemberOverrides,
    small: &[(usize, usize)],
) -> ListWrapper {
    let mut shell = ListWrapper::default();
    let mut pointer = String::new();
    let innermost = rows.list.enclosing_objects.len().wrapping_sub(1);
    let mut others = Vec::new();
    for (depth, level) in rows.list.enclosing_objects.iter().enumerate() {
        let (mut before, mut after) = (String::from("{"), String::new());
        let mut before_inner = String::new();
        for (at, member) in level.members.iter().enumerate() {
            let side = if at <= level.list_member { &mut before } else { &mut after };
            let key = member.key.slice(rows.text);
            if at == level.list_member {
                before_inner.clone_from(side);
                push_comma(side);
                side.push_str(key);
                side.push(':');
                continue;
            }
            let header = kept_columns(rows, how).filter(|_| depth == innermost && is_header(rows, at));
            let value = lean.get(&(depth, at));
            if header.is_none() && matches!(value, Some(None)) {
                continue;
            }
            if header.is_none() && !small.contains(&(depth, at)) {
                shell
                    .omitted_members
                    .push((format!("{pointer}/{}", step_from_quoted(key)), member.value.len()));
                continue;
            }
            if at < level.list_member {
                push_comma(side);
            } else {
                side.push(',');
            }
            side.push_str(key);
            side.push(':');
            match header {
                Some(columns) => write_header(rows, member, &columns, side),
                None => match value {
                    Some(Some(value)) => side.push_str(value),
                    _ => minify(member.value.slice(rows.text), side),
                },
            }
        }
        pointer =
            format!("{pointer}/{}", step_from_quoted(level.members[level.list_member].key.slice(rows.text)));
        others.push((before_inner, after.clone()));
        shell.before.push_str(&before);
        after.push('}');
        shell.after.insert_str(0, &after);
    }
    shell.outer_members = outer_members(rows, &others);
    let list = ListWrapper::brackets_only(&rows.list.layout);
    shell.before.push_str(&list.before);
    shell.after.insert_str(0, &list.after);
    shell
}

/// Returns the objects around a list without the list, given the members of each level before and after it.
fn outer_members(rows: OrderedList<'_>, others: &[(String, String)]) -> String {
    let mut beside = String::new();
    for (level, (before, after)) in rows.list.enclosing_objects.iter().zip(others).rev() {
        let mut object = before.clone();
        if !beside.is_empty() {
            push_comma(&mut object);
            object.push_str(level.members[level.list_member].key.slice(rows.text));
            object.push(':');
            object.push_str(&beside);
        }
        // Each of the members after it begins with a comma.
        let after = if object.ends_with('{') { after.strip_prefix(',').unwrap_or(after) } else { after };
        object.push_str(after);
        beside = if object == "{" { String::new() } else { object + "}" };
    }
    beside
}

impl ListWrapper {
    /// Returns the objects that lead to the list, without other members.
    pub(super) fn path_only(rows: OrderedList<'_>) -> Self {
        let mut shell = Self::brackets_only(&rows.list.layout);
        for level in rows.list.enclosing_objects.iter().rev() {
            let key = level.members[level.list_member].key.slice(rows.text);
            shell.before = format!("{{{key}:{}", shell.before);
            shell.after.push('}');
        }
        shell
    }

    /// Returns the same wrapper without the brackets of the list, for other content in place of the list.
    pub(super) fn without_brackets(mut self, layout: &Layout) -> Self {
        let list = Self::brackets_only(layout);
        self.before.truncate(self.before.len().saturating_sub(list.before.len()));
        self.after.drain(..list.after.len().min(self.after.len()));
        self
    }

    /// Returns the brackets around the items, without enclosing objects.
    pub(super) fn brackets_only(layout: &Layout) -> Self {
        let (before, after) = match layout {
            Layout::Array | Layout::Table { .. } => ("[", "]"),
            Layout::Map => ("{", "}"),
            Layout::Lines => ("", ""),
        };
        Self { before: before.to_owned(), after: after.to_owned(), ..Self::default() }
    }
}

fn push_comma(side: &mut String) {
    if !side.ends_with('{') {
        side.push(',');
    }
}

/// Replaced members by level and index: `None` for a stripped member, otherwise its value without noise.
type MemberOverrides = HashMap<(usize, usize), Option<String>>;

/// Largest member, in bytes, that is searched for noise. Larger ones rarely fit.
const MAX_SCANNED_BYTES: usize = 4 << 10;

fn strip_members(
    rows: OrderedList<'_>,
    strip: Option<&StripRule>,
    gone: &mut BTreeSet<String>,
) -> MemberOverrides {
    let mut lean = MemberOverrides::new();
    let Some(strip) = strip else { return lean };
    let mut path = String::new();
    for (depth, level) in rows.list.enclosing_objects.iter().enumerate() {
        let before = path.len();
        for (at, member) in level.members.iter().enumerate() {
            path.truncate(before);
            path.push_str(if before > 0 { "." } else { "" });
            path.push_str(&unescape(member.key.slice(rows.text)));
            if at == level.list_member {
                continue;
            }
            if strip.strips(&path) {
                gone.insert(path.clone());
                lean.insert((depth, at), None);
            } else if matches!(member.kind, JsonKind::Object | JsonKind::Array)
                && member.value.len() <= MAX_SCANNED_BYTES
            {
                let (mut value, mut inside) = (String::new(), BTreeSet::new());
                write_without_named(strip, member.value.slice(rows.text), &path, &mut value, &mut inside);
                if !inside.is_empty() {
                    gone.append(&mut inside);
                    // A member without remaining content is stripped whole.
                    lean.insert((depth, at), Some(value).filter(|value| !value.is_empty()));
                }
            }
        }
        path.truncate(before);
        path.push_str(if before > 0 { "." } else { "" });
        path.push_str(&unescape(level.members[level.list_member].key.slice(rows.text)));
    }
    lean
}

/// Names of members that hold a value for each column. Used for tables with too few columns to recognise such
/// members by length.
const PER_COLUMN_NAMES: [&str; 12] = [
    "totals",
    "total",
    "subtotals",
    "sums",
    "averages",
    "aggregates",
    "footer",
    "units",
    "types",
    "formats",
    "labels",
    "widths",
];
/// Number of columns from which an array of the same length is taken to hold a value for each column.
const MIN_ALIGNED_COLUMNS: usize = 4;

/// Drops the values of omitted columns from the members that hold a value for each column, so that values
/// stay under their own columns.
fn align_to_columns(rows: OrderedList<'_>, how: &RowFormat, lean: &mut MemberOverrides) {
    let Layout::Table { columns, .. } = &rows.list.layout else { return };
    let Some(kept) = kept_columns(rows, how).filter(|kept| kept.len() < columns.len()) else { return };
    let innermost = rows.list.enclosing_objects.len().wrapping_sub(1);
    for (depth, level) in rows.list.enclosing_objects.iter().enumerate() {
        for (at, member) in level.members.iter().enumerate() {
            let own = at == level.list_member || depth == innermost && is_header(rows, at);
            let named = PER_COLUMN_NAMES.iter().any(|name| key_matches(rows.text, member.key, name));
            if own
                || !named && columns.len() < MIN_ALIGNED_COLUMNS
                || member.value.len() > MAX_SCANNED_BYTES * 16
            {
                continue;
            }
            let value = match lean.get(&(depth, at)) {
                None => member.value.slice(rows.text).to_owned(),
                Some(Some(value)) => value.clone(),
                Some(None) => continue,
            };
            if let Some(aligned) = select_columns(&value, &kept, columns.len(), MAX_ALIGNED_DEPTH) {
                lean.insert((depth, at), Some(aligned));
            }
        }
    }
}

/// Levels of objects and arrays searched for per-column values.
const MAX_ALIGNED_DEPTH: usize = 3;

/// Returns a value in which arrays of `width` values hold only the kept columns, or `None` if it has no such
/// arrays. Recursion is bounded by `levels`, not by the input.
fn select_columns(value: &str, kept: &[usize], width: usize, levels: usize) -> Option<String> {
    let below =
        |inside: &str| levels.checked_sub(1).and_then(|levels| select_columns(inside, kept, width, levels));
    let mut any = false;
    let mut part = |inside: &str| match below(inside) {
        Some(text) => {
            any = true;
            text
        }
        None => inside.to_owned(),
    };
    match JsonKind::of_value(value) {
        JsonKind::Array => {
            let cells = cell_spans(value);
            let items: Vec<String> = if cells.len() == width {
                any = true;
                kept.iter().filter_map(|at| cells.get(*at)).map(|cell| cell.slice(value).to_owned()).collect()
            } else {
                cells.iter().map(|cell| part(cell.slice(value))).collect()
            };
            any.then(|| minified(&format!("[{}]", items.join(","))))
        }
        JsonKind::Object => {
            let members = ObjectIndex::parse(&mut JsonReader::new(value)).ok()?;
            let pair =
                |member: &Member| format!("{}:{}", member.key.slice(value), part(member.value.slice(value)));
            let pairs: Vec<String> = members.listed.iter().map(pair).collect();
            any.then(|| minified(&format!("{{{}}}", pairs.join(","))))
        }
        _ => None,
    }
}

fn minified(json: &str) -> String {
    let mut out = String::new();
    minify(json, &mut out);
    out
}

/// Returns the members that fit the budget, the smallest first, by level and index.
fn fitting_members(
    rows: OrderedList<'_>,
    lean: &MemberOverrides,
    room: &RemainingBudget<'_>,
) -> Vec<(usize, usize)> {
    let levels = rows.list.enclosing_objects.iter().enumerate();
    let mut members: Vec<(usize, usize, &Member)> = levels
        .flat_map(|(depth, level)| {
            let others = level.members.iter().enumerate().filter(move |(at, _)| *at != level.list_member);
            others.map(move |(at, member)| (depth, at, member))
        })
        .collect();
    members.sort_by_key(|(depth, at, member)| (member.value.len(), *depth, *at));
    let mut room = *room;
    let mut text = String::new();
    let mut small = Vec::new();
    for (depth, at, member) in members {
        if matches!(lean.get(&(depth, at)), Some(None)) {
            continue;
        }
        text.clear();
        text.push_str(member.key.slice(rows.text));
        if member.value.len() > 4 * room.bytes {
            break;
        }
        match lean.get(&(depth, at)) {
            Some(Some(value)) => text.push_str(value),
            _ => minify(member.value.slice(rows.text), &mut text),
        }
        text.push(',');
        if !room.spend(&text) {
            break;
        }
        small.push((depth, at));
    }
    small
}

fn is_header(rows: OrderedList<'_>, at: usize) -> bool {
    matches!(rows.list.layout, Layout::Table { header, .. } if header == at)
}

/// Returns the indices of the kept columns, or `None` if the list is no table.
pub(super) fn kept_columns(rows: OrderedList<'_>, how: &RowFormat) -> Option<Vec<usize>> {
    let Layout::Table { columns, .. } = &rows.list.layout else { return None };
    let wanted = |name: &str| how.kept_fields.as_ref().is_none_or(|fields| fields.selects(name));
    let kept = |name: &String| wanted(name) && !how.noise.contains(name);
    Some(columns.iter().enumerate().filter(|(_, name)| kept(name)).map(|(i, _)| i).collect())
}

fn write_header(rows: OrderedList<'_>, member: &Member, columns: &[usize], out: &mut String) {
    let header = member.value.slice(rows.text);
    let names = cell_spans(header);
    out.push('[');
    for (i, column) in columns.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        if let Some(name) = names.get(*column) {
            minify(name.slice(header), out);
        }
    }
    out.push(']');
}
