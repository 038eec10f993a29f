//! Prevents SQL from computing with redacted values.
//!
//! A redacted string is the same placeholder in every row: a count, a group or a join of placeholders
//! would be wrong about the values. Such a column can only be selected directly by the outermost SELECT.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use portion_core::redact::is_redacted_field;
use rusqlite::hooks::AuthAction;

use super::column_named;
use crate::column::Redaction;
use crate::dialect::string_literals;
use crate::table::VirtualTable;

/// The use of redacted columns by a statement, recorded while it is prepared and run.
#[derive(Debug, Default)]
pub(crate) struct RedactionUsage {
    /// Number of references to redacted columns, and true if a column with redacted fields is read.
    redacted_reference_count: AtomicUsize,
    reads_nested: AtomicBool,
    /// Number of references to a column of which some values are redacted, by names beside them.
    named_reference_count: AtomicUsize,
    /// Number of SELECTs, nested ones included.
    select_count: AtomicUsize,
    /// True if a function is named that extracts parts of JSON.
    extracts_json: AtomicBool,
    /// True if a redacted value was read, and true if two were compared.
    was_read: AtomicBool,
    was_compared: AtomicBool,
    column_names: Mutex<BTreeSet<String>>,
}

impl RedactionUsage {
    /// Records an action of the statement that is being prepared.
    pub(crate) fn record_action(&self, action: &AuthAction<'_>, tables: &[(String, Arc<VirtualTable>)]) {
        match action {
            AuthAction::Select => {
                self.select_count.fetch_add(1, Ordering::Relaxed);
            }
            AuthAction::Function { function_name } => {
                let name = function_name.to_ascii_lowercase();
                self.extracts_json
                    .fetch_or(name.starts_with("json") || name.starts_with("->"), Ordering::Relaxed);
            }
            AuthAction::Read { table_name, column_name } => {
                let is_json = table_name.to_ascii_lowercase().starts_with("json_");
                self.extracts_json.fetch_or(is_json, Ordering::Relaxed);
                let found = column_named(tables, table_name, column_name);
                match found.map(|(_, column)| column.redaction) {
                    Some(Redaction::Whole) => {
                        self.redacted_reference_count.fetch_add(1, Ordering::Relaxed);
                        let mut names = self.column_names.lock().unwrap_or_else(PoisonError::into_inner);
                        names.insert((*column_name).to_owned());
                    }
                    Some(Redaction::ByName) => {
                        self.named_reference_count.fetch_add(1, Ordering::Relaxed);
                    }
                    Some(Redaction::Nested) => self.reads_nested.store(true, Ordering::Relaxed),
                    Some(Redaction::Unredacted) | None => {}
                }
            }
            _ => {}
        }
    }

    /// Returns true if the statement names a redacted column, or one with redacted fields.
    pub(crate) fn has_references(&self) -> bool {
        self.redacted_reference_count.load(Ordering::Relaxed) > 0 || self.reads_nested.load(Ordering::Relaxed)
    }

    /// Returns the redacted fields that the statement reads: those of its columns, or all if it reads records or leaves.
    pub(crate) fn read_fields(&self, fields: &[String]) -> Vec<String> {
        if self.reads_nested.load(Ordering::Relaxed) || self.named_reference_count.load(Ordering::Relaxed) > 0
        {
            return fields.to_vec();
        }
        let names = self.column_names.lock().unwrap_or_else(PoisonError::into_inner);
        let is_read =
            |field: &&String| names.iter().any(|name| is_redacted_field(std::slice::from_ref(*field), name));
        fields.iter().filter(is_read).cloned().collect()
    }

    /// Records that a redacted value was read.
    pub(crate) fn mark_read(&self) {
        self.was_read.store(true, Ordering::Relaxed);
    }

    /// Records that a redacted value was compared with another value.
    pub(crate) fn mark_compared(&self) {
        self.was_compared.store(true, Ordering::Relaxed);
    }

    /// Clears the records of an attempt to prepare the statement.
    pub(crate) fn reset(&self) {
        self.redacted_reference_count.store(0, Ordering::Relaxed);
        self.named_reference_count.store(0, Ordering::Relaxed);
        self.select_count.store(0, Ordering::Relaxed);
        self.reads_nested.store(false, Ordering::Relaxed);
        self.extracts_json.store(false, Ordering::Relaxed);
        self.column_names.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Returns the redacted columns that a statement computed with. `shown` is the number of result
    /// columns that are redacted columns selected directly: any other reference computes.
    pub(crate) fn computed_columns(&self, shown: usize, tables: &[Arc<VirtualTable>]) -> Option<Vec<String>> {
        let whole = self.redacted_reference_count.load(Ordering::Relaxed);
        let nested = self.select_count.load(Ordering::Relaxed) > 1;
        let computes = self.was_compared.load(Ordering::Relaxed)
            || self.was_read.load(Ordering::Relaxed) && (whole > shown || nested && whole > 0);
        let names = self.column_names.lock().unwrap_or_else(PoisonError::into_inner);
        // For `JOIN … USING (field)`, SQLite does not report the field.
        let all = || {
            let opened = tables.iter().filter_map(|table| table.opened());
            let columns = opened.flat_map(|rows| rows.columns());
            columns
                .filter(|column| column.redaction == Redaction::Whole)
                .map(|column| column.name.clone())
                .collect()
        };
        computes.then(|| if names.is_empty() { all() } else { names.iter().cloned().collect() })
    }

    /// Returns the redacted fields that a statement extracts from a record or an object, or whose values among the leaves it
    /// computes with, by the names in its texts. `shown_values`: number of result columns that are values of leaves.
    pub(crate) fn extracted_fields<'f>(
        &self,
        sql: &str,
        params: &[(String, String)],
        fields: &'f [String],
        shown_values: usize,
    ) -> Vec<&'f str> {
        let extracts =
            self.reads_nested.load(Ordering::Relaxed) && self.extracts_json.load(Ordering::Relaxed);
        if !extracts && self.named_reference_count.load(Ordering::Relaxed) <= shown_values {
            return Vec::new();
        }
        let leaf = |field: &'f String| field.rsplit('.').next().unwrap_or(field);
        let texts: Vec<&str> =
            string_literals(sql).into_iter().chain(params.iter().map(|(_, value)| value.as_str())).collect();
        let mut taken: Vec<&str> =
            fields.iter().map(leaf).filter(|leaf| texts.iter().any(|text| names_field(text, leaf))).collect();
        taken.sort_unstable();
        taken.dedup();
        taken
    }
}

/// Returns true if a path in a text names a field.
fn names_field(text: &str, field: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(field)
        .any(|(at, _)| !text[..at].ends_with(is_name) && !text[at + field.len()..].starts_with(is_name))
}
