//! Marks the columns whose values were redacted.

use portion_core::redact::REDACTED;

use crate::cell::{Cell, ValueKinds};
use crate::column::{ColumnDef, Redaction};
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
    for (at, column) in table.columns.iter_mut().enumerate() {
        if column.is_record || contains_redacted(&column.name, column.kinds, fields) {
            column.redaction = Redaction::Nested;
        } else if fields.iter().any(|field| path_ends_with(field, &column.name))
            && RedactionSigns::scan(rows, at, deadline)?.is_field_redacted()
        {
            column.redaction = Redaction::Whole;
        } else if column.name == "value"
            && column.present_count > 0
            && RedactionSigns::scan(rows, at, deadline)?.is_element_redacted()
        {
            // The elements of an array have no names.
            column.redaction = Redaction::Whole;
        } else if column.kinds.intersects(ValueKinds::TEXT) && has_placeholder_inside(rows, at, deadline)? {
            column.redaction = Redaction::Nested;
        }
    }
    if let Some(column) = leaf_value_column(&mut table.columns) {
        column.redaction = Redaction::ByName;
    }
    Some(())
}

/// The rows of a table, and their number.
type Rows<'a> = (&'a dyn TableRows, usize);

/// Returns true if values inside a text of a column were redacted, as in a line of a log; `None` if the deadline was reached.
fn has_placeholder_inside(rows: Rows<'_>, column: usize, deadline: &QueryDeadline) -> Option<bool> {
    any_cell(rows, column, deadline, |cell| matches!(cell, Cell::Text(text) if text.contains(REDACTED)))
}

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

/// Returns the column with the values of the table of leaves, if these are its columns, and not all values are redacted.
fn leaf_value_column(columns: &mut [ColumnDef]) -> Option<&mut ColumnDef> {
    let is_of_leaves = columns.iter().map(|column| column.name.as_str()).eq(LEAF_COLUMNS);
    let mut values = columns.iter_mut().filter(|column| column.name == LEAF_VALUE);
    values.find(|column| is_of_leaves && column.redaction == Redaction::Unredacted)
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

/// Returns true if the dotted path of a field may be that of a column, whose path begins at the record.
fn path_ends_with(field: &str, column: &str) -> bool {
    field.strip_suffix(column).is_some_and(|around| around.is_empty() || around.ends_with('.'))
}

/// Signs of redaction in the values of a column.
struct RedactionSigns {
    has_placeholder: bool,
    lacks_values: bool,
    has_values: bool,
}

impl RedactionSigns {
    /// Reads a column up to the first placeholder; `None` if the deadline was reached.
    fn scan(rows: Rows<'_>, column: usize, deadline: &QueryDeadline) -> Option<Self> {
        let mut signs = Self { has_placeholder: false, lacks_values: false, has_values: false };
        signs.has_placeholder = any_cell(rows, column, deadline, |cell| {
            match cell {
                Cell::Text(text) if text == REDACTED => return true,
                Cell::Null => signs.lacks_values = true,
                Cell::Text(text) if text.is_empty() => {}
                _ => signs.has_values = true,
            }
            false
        })?;
        Some(signs)
    }

    /// Returns true for a column with the name of a redacted field: values other than strings were removed, from all rows
    /// or, where a name beside the value decides, from some.
    fn is_field_redacted(&self) -> bool {
        self.has_placeholder || self.lacks_values || !self.has_values
    }

    /// Returns true for elements of an array.
    fn is_element_redacted(&self) -> bool {
        self.has_placeholder || !self.has_values
    }
}
