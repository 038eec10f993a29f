//! Columns of a table whose header is a member beside the rows, and members with a value for each column.

use portion_json::path::key_matches;
use portion_json::scan::{JsonKind, JsonReader, minified, minify};
use portion_json::span::Span;

use super::overrides::{MAX_SCANNED_BYTES, MemberOverrides};
use crate::render::row_format::RowFormat;
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
pub(in crate::render) fn kept_columns(rows: OrderedList<'_>, how: &RowFormat) -> Option<Vec<usize>> {
    let Layout::Table { columns, .. } = &rows.list.layout else { return None };
    let wanted = |name: &str| how.kept_fields.as_ref().is_none_or(|fields| fields.selects(name));
    let kept = |name: &String| wanted(name) && !how.noise.contains(name);
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
pub(super) fn align_to_columns(rows: OrderedList<'_>, how: &RowFormat, lean: &mut MemberOverrides) {
    let Layout::Table { columns, .. } = &rows.list.layout else { return };
    let Some(kept) = kept_columns(rows, how).filter(|kept| kept.len() < columns.len()) else { return };
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
