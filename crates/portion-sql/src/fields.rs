//! The table `fields(table_name, name, kind, present)`: all columns of all tables, instead of a pragma.

use std::sync::Arc;

use crate::cell::Cell;
use crate::column::ColumnDef;
use crate::limits::QueryDeadline;
use crate::table::VirtualTable;
use crate::table_rows::{RowBuffer, RowSource, TableRows};
use crate::value_kinds::ValueKinds;

/// Source of the columns of these tables.
pub(crate) struct FieldsSource(pub(crate) Vec<Arc<VirtualTable>>);

struct FieldRows {
    rows: Vec<(String, ColumnDef)>,
    columns: [ColumnDef; 4],
}

impl RowSource for FieldsSource {
    fn open(&self, deadline: &QueryDeadline) -> Option<Arc<dyn TableRows>> {
        let mut rows = Vec::new();
        for table in &self.0 {
            let columns = table.open(deadline)?;
            rows.extend(columns.columns().iter().map(|column| (table.name.clone(), column.clone())));
        }
        let column = |name: &str, kinds| ColumnDef::new(name, kinds, rows.len());
        let columns = [
            column("table_name", ValueKinds::TEXT),
            column("name", ValueKinds::TEXT),
            column("kind", ValueKinds::TEXT),
            column("present", ValueKinds::INTEGER),
        ];
        Some(Arc::new(FieldRows { rows, columns }))
    }
}

impl TableRows for FieldRows {
    fn columns(&self) -> &[ColumnDef] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn cell<'a>(&'a self, row: &'a RowBuffer, column: usize) -> Cell<'a> {
        let Some((table, of)) = self.rows.get(row.index) else { return Cell::Null };
        match column {
            0 => Cell::text(table),
            1 => Cell::text(&of.name),
            2 => Cell::Text(of.kind_names().into()),
            _ => Cell::from_count(of.present_count),
        }
    }
}
