//! Columns that a statement computes with although SQLite rounds their numbers to doubles.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::hooks::AuthAction;

use super::column_named;
use crate::column::ColumnDef;
use crate::table::VirtualTable;
use crate::value_kinds::ValueKinds;

/// Columns with rounded numbers that a statement names.
#[derive(Debug, Default)]
pub(crate) struct RoundingUsage(Mutex<Referenced>);

#[derive(Debug, Default)]
struct Referenced {
    /// Names of the columns, with the number of references to them.
    columns: BTreeSet<String>,
    count: usize,
    /// Columns of the tables whose records are read.
    in_records: BTreeSet<String>,
    extracts_json: bool,
}

impl RoundingUsage {
    /// Records an action of the statement that is being prepared.
    pub(crate) fn record_action(&self, action: &AuthAction<'_>, tables: &[(String, Arc<VirtualTable>)]) {
        let mut referenced = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match action {
            AuthAction::Function { function_name } => {
                let name = function_name.to_ascii_lowercase();
                referenced.extracts_json |= name.starts_with("json") || name.starts_with("->");
            }
            AuthAction::Read { table_name, column_name } => {
                referenced.extracts_json |= table_name.to_ascii_lowercase().starts_with("json_");
                let Some((table, column)) = column_named(tables, table_name, column_name) else { return };
                let is_rounded = |column: &&ColumnDef| column.kinds.intersects(ValueKinds::ROUNDED);
                if column.is_record {
                    let rounded = table.columns().iter().filter(is_rounded);
                    referenced.in_records.extend(rounded.map(|column| column.name.clone()));
                } else if is_rounded(&column) {
                    referenced.columns.insert(column.name.clone());
                    referenced.count += 1;
                }
            }
            _ => {}
        }
    }

    /// Forgets the references of an attempt to prepare the statement.
    pub(crate) fn reset(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Referenced::default();
    }

    /// Returns the columns whose rounded numbers the statement computes with; `shown` is the number of columns of
    /// the result that are such columns unchanged.
    pub(crate) fn computed_columns(&self, shown: usize, sql: &str) -> Vec<String> {
        let referenced = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut names = BTreeSet::new();
        if referenced.count > shown {
            names.extend(referenced.columns.iter().cloned());
        }
        if referenced.extracts_json {
            let leaf = |name: &str| name.rsplit('.').next().is_some_and(|leaf| sql.contains(leaf));
            names.extend(referenced.in_records.iter().filter(|name| leaf(name)).cloned());
        }
        names.into_iter().collect()
    }
}
