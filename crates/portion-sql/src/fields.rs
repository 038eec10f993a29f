//! `fields(table_name, name, kind, present)`: all columns of all tables, to be read where others ask a pragma.

use std::sync::Arc;

use crate::cell::Cell;
use crate::column::{Column, Kinds};
use crate::limits::Clock;
use crate::table::{Row, Rows, Source, Table};

/// All columns of those tables.
pub(crate) struct FieldsOf(pub(crate) Vec<Arc<Table>>);

struct Fields {
    rows: Vec<(String, Column)>,
    columns: [Column; 4],
}

impl Source for FieldsOf {
    fn open(&self, clock: &Clock) -> Option<Arc<dyn Rows>> {
        let mut rows = Vec::new();
        for table in &self.0 {
            let columns = table.rows(clock)?;
            rows.extend(columns.columns().iter().map(|column| (table.name.clone(), column.clone())));
        }
        let column = |name: &str, kinds| Column::new(name, kinds, rows.len());
        let columns = [
            column("table_name", Kinds::TEXT),
            column("name", Kinds::TEXT),
            column("kind", Kinds::TEXT),
            column("present", Kinds::INTEGER),
        ];
        Some(Arc::new(Fields { rows, columns }))
    }
}

impl Rows for Fields {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn cell<'a>(&'a self, row: &'a Row, column: usize) -> Cell<'a> {
        let Some((table, of)) = self.rows.get(row.at) else { return Cell::Null };
        match column {
            0 => Cell::text(table),
            1 => Cell::text(&of.name),
            2 => Cell::Text(of.kinds.words().into()),
            _ => Cell::count(of.present),
        }
    }
}
