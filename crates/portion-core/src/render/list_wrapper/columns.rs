//! Renders members beside the rows of a list: all of them, and those with a value for each column.

use portion_json::path::{key_matches, step_from_quoted};
use portion_json::scan::{JsonKind, JsonReader, minified, minify};
use portion_json::span::Span;

use super::paging::{ServedPage, rewritten_members};
use super::{ListWrapper, MAX_SCANNED_BYTES, MemberOverrides, assemble};
use crate::render::budget::RemainingBudget;
use crate::render::rendering::RowFormat;
use crate::snapshot::{Layout, Member, ObjectIndex, OrderedList, cell_spans};

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

/// Levels of objects and arrays searched for per-column values.
const MAX_ALIGNED_DEPTH: usize = 3;

/// Returns the indices of the kept columns, or `None` if the list is no table.
pub(in crate::render) fn kept_columns(rows: OrderedList<'_>, format: &RowFormat) -> Option<Vec<usize>> {
    let Layout::Table { columns, .. } = &rows.list.layout else { return None };
    let wanted = |name: &str| format.kept_fields.as_ref().is_none_or(|fields| fields.selects(name));
    let kept = |name: &String| wanted(name) && !format.noise.contains(name);
    Some(columns.iter().enumerate().filter(|(_, name)| kept(name)).map(|(i, _)| i).collect())
}

/// Returns true if the member at this index of the innermost object is the header of the table.
pub(super) fn is_header(rows: OrderedList<'_>, at: usize) -> bool {
    matches!(rows.list.layout, Layout::Table { header, .. } if header == at)
}

/// Returns true for an array that holds a value for each column of a table.
pub(super) fn is_per_column(rows: OrderedList<'_>, member: &Member) -> bool {
    let Layout::Table { columns, .. } = &rows.list.layout else { return false };
    let may_be = columns.len() >= MIN_ALIGNED_COLUMNS || has_per_column_name(rows.slice(member.key));
    may_be && member.kind == JsonKind::Array && cell_spans(rows.slice(member.value)).len() == columns.len()
}

fn has_per_column_name(key: &str) -> bool {
    PER_COLUMN_NAMES.iter().any(|name| key_matches(key, Span::new(0, key.len()), name))
}

/// Writes the names of the kept columns.
pub(super) fn write_header(rows: OrderedList<'_>, member: &Member, columns: &[usize], out: &mut String) {
    let header = rows.slice(member.value);
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

/// Drops the values of omitted columns from the members that hold a value for each column, so that values
/// stay under their own columns.
pub(super) fn align_to_columns(rows: OrderedList<'_>, format: &RowFormat, lean: &mut MemberOverrides) {
    let Layout::Table { columns, .. } = &rows.list.layout else { return };
    let Some(kept) = kept_columns(rows, format).filter(|kept| kept.len() < columns.len()) else { return };
    let innermost = rows.list.enclosing_objects.len().wrapping_sub(1);
    for (depth, level) in rows.list.enclosing_objects.iter().enumerate() {
        for (at, member) in level.members.iter().enumerate() {
            let own = at == level.list_member || depth == innermost && is_header(rows, at);
            let named = has_per_column_name(rows.slice(member.key));
            if own
                || !named && columns.len() < MIN_ALIGNED_COLUMNS
                || member.value.len() > MAX_SCANNED_BYTES * 16
            {
                continue;
            }
            let value = match lean.get(&(depth, at)) {
                None => rows.slice(member.value).to_owned(),
                Some(Some(value)) => value.clone(),
                Some(None) => continue,
            };
            if let Some(aligned) = select_columns(&value, &kept, columns.len(), MAX_ALIGNED_DEPTH) {
                lean.insert((depth, at), Some(aligned));
            }
        }
    }
}

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

/// Renders the wrapper of a list with all of its members. Other lists among them are shortened to whole items
/// if they exceed their share, except the header of a table and lists with a value for each of its columns. Returns `None`
/// if no budget remains for the list itself.
pub(in crate::render) fn render_with_all_members(
    rows: OrderedList<'_>,
    page: Option<&ServedPage<'_>>,
    room: &RemainingBudget<'_>,
) -> Option<ListWrapper> {
    let paging = page.map(|page| rewritten_members(rows, page)).unwrap_or_default();
    let mut left = room.with_max_tokens(room.tokens / 4 * 3);
    left.bytes = left.bytes / 4 * 3;
    let mut lists = Vec::new();
    let mut all = Vec::new();
    let mut text = String::new();
    let innermost = rows.list.enclosing_objects.len().wrapping_sub(1);
    for (depth, level) in rows.list.enclosing_objects.iter().enumerate() {
        for (at, member) in level.members.iter().enumerate().filter(|(at, _)| *at != level.list_member) {
            all.push((depth, at));
            let is_of_table = is_per_column(rows, member) || depth == innermost && is_header(rows, at);
            if member.kind == JsonKind::Array && !is_of_table {
                lists.push((depth, at, member));
                continue;
            }
            text.clear();
            text.push_str(rows.slice(member.key));
            text.push(':');
            minify(paging.get(&(depth, at)).map_or(rows.slice(member.value), String::as_str), &mut text);
            if !left.spend(&text) {
                return None;
            }
        }
    }
    // Larger lists get what smaller ones do not use. Two thirds remain for the records.
    lists.sort_by_key(|(.., member)| member.value.len());
    let mut share = left.with_max_tokens(left.tokens / 3);
    share.bytes /= 3;
    let states_page = !paging.is_empty();
    let mut lean: MemberOverrides =
        paging.into_iter().map(|(place, json)| (place, Some(minified(&json)))).collect();
    let mut omitted = Vec::new();
    for (i, (depth, at, member)) in lists.iter().enumerate() {
        let others = lists.len() - i;
        let mut own = share.with_max_tokens(share.tokens / others);
        own.bytes /= others;
        let value = rows.slice(member.value);
        let (short, missing) = truncate_array(value, &own);
        if missing > 0 {
            let innermost = rows.list.enclosing_objects[..*depth].iter();
            let outer = innermost.fold(String::new(), |outer, level| {
                format!("{outer}/{}", step_from_quoted(rows.slice(level.members[level.list_member].key)))
            });
            omitted.push((format!("{outer}/{}", step_from_quoted(rows.slice(member.key))), missing));
            lean.insert((*depth, *at), Some(short.clone()));
        }
        share.spend(&short);
    }
    let wrapper = assemble(rows, &RowFormat::default(), &lean, &all);
    Some(ListWrapper { omitted_members: omitted, states_page, ..wrapper })
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
