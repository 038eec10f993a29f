//! Marks the columns whose values were redacted.

use portion_core::redact::REDACTED;

use crate::cell::{Cell, ValueKinds};
use crate::column::Redaction;
use crate::limits::QueryDeadline;
use crate::records::{LEAF_COLUMNS, LEAF_VALUE};
use crate::table_rows::{ColumnSet, FoundTable, TableRows, should_stop_at};

/// Marks the columns of a table where values were redacted, given the dotted paths of redacted fields. Returns `None` if the
/// deadline was reached.
pub(crate) fn mark_redacted(
    table: &mut FoundTable,
    fields: &[String],
    deadline: &QueryDeadline,
) -> Option<()> {
    if fields.is_empty() {
        return Some(());
    }
    let rows = (&*table.rows, table.row_count);
    // The path of a column begins at the record.
    let is_end = |around: &str| around.is_empty() || around.ends_with('.');
    // As in a line of a log.
    let is_redacted_inside = |cell: Cell<'_>| matches!(cell, Cell::Text(text) if text.contains(REDACTED));
    for (at, column) in table.columns.iter_mut().enumerate() {
        if column.is_record || contains_redacted(&column.name, column.kinds, fields) {
            column.redaction = Redaction::Nested;
        } else if fields.iter().any(|field| field.strip_suffix(&*column.name).is_some_and(is_end))
            && is_redacted(rows, at, true, deadline)?
        {
            column.redaction = Redaction::Whole;
        } else if column.name == "value"
            && column.present_count > 0
            && is_redacted(rows, at, false, deadline)?
        {
            // The elements of an array have no names.
            column.redaction = Redaction::Whole;
        } else if column.kinds.intersects(ValueKinds::TEXT)
            && any_cell(rows, at, deadline, is_redacted_inside)?
        {
            column.redaction = Redaction::Nested;
        }
    }
    // The values of the table of leaves have their names beside them.
    let is_of_leaves = table.columns.iter().map(|column| column.name.as_str()).eq(LEAF_COLUMNS);
    for column in table.columns.iter_mut().filter(|column| is_of_leaves && column.name == LEAF_VALUE) {
        if column.redaction == Redaction::Unredacted {
            column.redaction = Redaction::ByName;
        }
    }
    Some(())
}

/// The rows of a table, and their number.
type Rows<'a> = (&'a dyn TableRows, usize);

/// Returns true if a condition holds for a cell of a column, up to which the cells are read; `None` if the deadline was
/// reached.
fn any_cell(
    (rows, row_count): Rows<'_>,
    column: usize,
    deadline: &QueryDeadline,
    mut is_wanted: impl FnMut(Cell<'_>) -> bool,
) -> Option<bool> {
    let mut row = rows.new_row(ColumnSet::of(column));
    for at in 0..row_count {
        if should_stop_at(at, deadline) {
            return None;
        }
        rows.read_row(at, &mut row);
        if is_wanted(rows.cell(&row, column)) {
            return Some(true);
        }
    }
    Some(false)
}

/// Returns true if a column is a container with a redacted field.
fn contains_redacted(column: &str, kinds: ValueKinds, fields: &[String]) -> bool {
    kinds.intersects(ValueKinds::CONTAINER)
        && fields.iter().any(|field| {
            field.rsplit_once('.').is_some_and(|(around, _)| {
                around == column
                    || around.ends_with(&format!(".{column}"))
                    || around.contains(&format!("{column}."))
            })
        })
}

/// Returns true if the values of a column were redacted; `None` if the deadline was reached. Those other than strings of a field
/// with a redacted name were removed, from all rows or, where a name beside the value decides, from some.
fn is_redacted(rows: Rows<'_>, column: usize, is_field: bool, deadline: &QueryDeadline) -> Option<bool> {
    let (mut lacks_values, mut has_values) = (false, false);
    let has_placeholder = any_cell(rows, column, deadline, |cell| {
        match cell {
            Cell::Text(text) if text == REDACTED => return true,
            Cell::Null => lacks_values = true,
            Cell::Text(text) if text.is_empty() => {}
            _ => has_values = true,
        }
        false
    })?;
    Some(has_placeholder || !has_values || is_field && lacks_values)
}
