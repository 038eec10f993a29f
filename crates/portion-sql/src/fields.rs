//! The table `fields(table_name, name, kind, present)`: all columns of all tables, instead of a pragma.

use std::sync::Arc;

use portion_core::snapshot::Slice;

use crate::cell::{Cell, ValueKinds};
use crate::column::ColumnDef;
use crate::limits::QueryDeadline;
use crate::table::VirtualTable;
use crate::table_rows::{FoundTable, RowSource, full_columns};

/// Source of the columns of these tables.
pub(crate) struct FieldsSource(pub(crate) Vec<Arc<VirtualTable>>);

const COLUMNS: [(&str, ValueKinds); 4] = [
    ("table_name", ValueKinds::TEXT),
    ("name", ValueKinds::TEXT),
    ("kind", ValueKinds::TEXT),
    ("present", ValueKinds::INTEGER),
];

impl RowSource for FieldsSource {
    fn open(&self, deadline: &QueryDeadline) -> Option<FoundTable> {
        let mut rows = Vec::new();
        for table in &self.0 {
            let columns = table.open(deadline)?;
            rows.extend(columns.columns().iter().map(|column| (table.name.clone(), column.clone())));
        }
        let columns = full_columns(&COLUMNS, rows.len());
        Some(FoundTable::of_rows(&Slice::new(String::new()), columns, rows, cell))
    }
}

fn cell<'a>(_: &'a str, (_, (table, of)): (usize, &'a (String, ColumnDef)), column: usize) -> Cell<'a> {
    match column {
        0 => Cell::text(table),
        1 => Cell::text(&of.name),
        2 => Cell::Text(of.kind_names().into()),
        _ => Cell::from_count(of.present_count),
    }
}
