//! The use that a statement makes of columns: SQL must not compute with redacted values, and results say if numbers were
//! rounded or stand for missing values.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use portion_core::redact::is_redacted_field;
use portion_text::column_form::DateOrder;
use rusqlite::hooks::AuthAction;

use crate::cell::ValueKinds;
use crate::column::{ColumnDef, Redaction};
use crate::dialect::string_literals;
use crate::table::VirtualTable;

/// Longest example, in characters.
const MAX_EXAMPLE_CHARS: usize = 20;

/// The use that one statement makes of columns, recorded while it is prepared and run.
#[derive(Debug, Default)]
pub(crate) struct StatementUsage {
    pub(crate) columns: ColumnUsage,
    /// Texts that it read as numbers, and as dates, although they are none.
    pub(crate) unread: UnreadTexts,
    pub(crate) unread_dates: UnreadTexts,
    /// Orders of the numeric dates in columns of the tables, one bit each.
    pub(crate) date_orders: AtomicU8,
    /// True if a number was met that stands for a missing value.
    pub(crate) met_missing: AtomicBool,
    /// Cursors that were opened, and the row of which a value was read last, from 1.
    pub(crate) cursor_count: AtomicUsize,
    pub(crate) row: AtomicUsize,
    /// Advice for a text that was compared with a number.
    mismatch: OnceLock<String>,
}

impl StatementUsage {
    /// Records if a number was met that stands for a missing value.
    pub(crate) fn record_missing(&self, is_missing: bool) {
        if is_missing {
            self.met_missing.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the order of numeric dates, if it is the same in all columns.
    pub(crate) fn date_order(&self) -> DateOrder {
        match self.date_orders.load(Ordering::Relaxed) {
            order if order == DateOrder::DayFirst as u8 => DateOrder::DayFirst,
            order if order == DateOrder::MonthFirst as u8 => DateOrder::MonthFirst,
            _ => DateOrder::Unknown,
        }
    }

    /// Returns the row of which a value was read last, if the statement has one cursor.
    pub(crate) fn current_row(&self) -> Option<usize> {
        let is_only = self.cursor_count.load(Ordering::Relaxed) == 1;
        self.row.load(Ordering::Relaxed).checked_sub(1).filter(|_| is_only)
    }

    /// Records advice for a text that was compared with a number.
    pub(crate) fn record_mismatch(&self, advice: String) {
        let _ = self.mismatch.set(advice);
    }

    /// Records that a number is written as several texts in a column, none of which can stand for it.
    pub(crate) fn record_several_texts(&self, column: &str) {
        self.record_mismatch(format!(
            "{column} has several texts for one number: use item ->> '$.{column}' for that of each row"
        ));
    }

    /// Returns the advice for a text that was compared with a number.
    pub(crate) fn mismatch(&self) -> Option<String> {
        self.mismatch.get().cloned()
    }
}

/// The texts that functions met and could not read while a statement ran: their number, and the first.
#[derive(Debug, Default)]
pub(crate) struct UnreadTexts(Mutex<(usize, Option<String>)>);

impl UnreadTexts {
    /// Records a text. An empty one is no value.
    pub(crate) fn record(&self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        let mut unread = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        unread.0 += 1;
        unread.1.get_or_insert_with(|| text.trim().chars().take(MAX_EXAMPLE_CHARS).collect());
    }

    /// Returns a hint with their number and the first one; `None` if there were none. `noun`: what they are not.
    pub(crate) fn hint(&self, noun: &str, consequence: &str) -> Option<String> {
        let unread = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let example = unread.1.as_deref()?.replace('\'', "''");
        let texts = match unread.0 {
            1 => format!("1 text is no {noun}"),
            count => format!("{count} texts are no {noun}s"),
        };
        Some(format!("{texts} ('{example}'): {consequence}"))
    }
}

/// The columns that a statement names, recorded while it is prepared and run.
#[derive(Debug, Default)]
pub(crate) struct ColumnUsage {
    referenced: Mutex<Referenced>,
    /// True if a redacted value was read, and true if two were compared.
    pub(crate) was_read: AtomicBool,
    pub(crate) was_compared: AtomicBool,
}

/// What a statement names.
#[derive(Debug, Default)]
struct Referenced {
    /// Number of SELECTs, nested ones included.
    select_count: usize,
    /// True if a function is named that extracts parts of JSON.
    extracts_json: bool,
    /// Redacted columns, and the number of references to them.
    redacted: BTreeSet<String>,
    redacted_count: usize,
    /// True if a column with redacted fields is read.
    reads_nested: bool,
    /// Number of references to a column of which some values are redacted, by names beside them.
    named_count: usize,
    /// Columns with rounded numbers, the number of references to them, and those of the tables whose records are read.
    rounded: BTreeSet<String>,
    rounded_count: usize,
    rounded_in_records: BTreeSet<String>,
}

impl ColumnUsage {
    fn lock(&self) -> MutexGuard<'_, Referenced> {
        self.referenced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an action of the statement that is being prepared.
    pub(crate) fn record_action(&self, action: &AuthAction<'_>, tables: &[(String, Arc<VirtualTable>)]) {
        let mut referenced = self.lock();
        match action {
            AuthAction::Select => referenced.select_count += 1,
            AuthAction::Function { function_name } => {
                let name = function_name.to_ascii_lowercase();
                referenced.extracts_json |= name.starts_with("json") || name.starts_with("->");
            }
            AuthAction::Read { table_name, column_name } => {
                referenced.extracts_json |= table_name.to_ascii_lowercase().starts_with("json_");
                let table = tables.iter().find(|(name, _)| name.eq_ignore_ascii_case(table_name));
                let Some(table) = table.and_then(|(_, table)| table.opened()) else { return };
                let mut columns = table.columns().iter();
                let Some(column) = columns.find(|def| def.name.eq_ignore_ascii_case(column_name)) else {
                    return;
                };
                referenced.add(column, column_name, table.columns());
            }
            _ => {}
        }
    }

    /// Returns true if the statement names a redacted column, or one with redacted fields.
    pub(crate) fn has_redacted(&self) -> bool {
        let referenced = self.lock();
        referenced.redacted_count > 0 || referenced.reads_nested
    }

    /// Returns the redacted fields that the statement reads: those of its columns, or all if it reads records or leaves.
    pub(crate) fn read_fields(&self, fields: &[String]) -> Vec<String> {
        let referenced = self.lock();
        if referenced.reads_nested || referenced.named_count > 0 {
            return fields.to_vec();
        }
        let is_read = |field: &&String| {
            referenced.redacted.iter().any(|name| is_redacted_field(std::slice::from_ref(*field), name))
        };
        fields.iter().filter(is_read).cloned().collect()
    }

    /// Clears the records of an attempt to prepare the statement.
    pub(crate) fn reset(&self) {
        *self.lock() = Referenced::default();
    }

    /// Returns the redacted columns that a statement computed with. `shown` is the number of result
    /// columns that are redacted columns selected directly: any other reference computes.
    pub(crate) fn computed_redacted(
        &self,
        shown: usize,
        tables: &[Arc<VirtualTable>],
    ) -> Option<Vec<String>> {
        let referenced = self.lock();
        let count = referenced.redacted_count;
        let computes = self.was_compared.load(Ordering::Relaxed)
            || self.was_read.load(Ordering::Relaxed)
                && (count > shown || referenced.select_count > 1 && count > 0);
        // For `JOIN … USING (field)`, SQLite does not report the field.
        let all = || {
            let columns = tables.iter().filter_map(|table| table.opened()).flat_map(|rows| rows.columns());
            let redacted = columns.filter(|column| column.redaction == Redaction::Whole);
            redacted.map(|column| column.name.clone()).collect()
        };
        let names = &referenced.redacted;
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
        let referenced = self.lock();
        let extracts = referenced.reads_nested && referenced.extracts_json;
        if !extracts && referenced.named_count <= shown_values {
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

    /// Returns the columns whose rounded numbers the statement computes with; `shown` is the number of columns of
    /// the result that are such columns unchanged.
    pub(crate) fn computed_rounded(&self, shown: usize, sql: &str) -> Vec<String> {
        let referenced = self.lock();
        let mut names = BTreeSet::new();
        if referenced.rounded_count > shown {
            names.extend(referenced.rounded.iter().cloned());
        }
        if referenced.extracts_json {
            let leaf = |name: &str| name.rsplit('.').next().is_some_and(|leaf| sql.contains(leaf));
            names.extend(referenced.rounded_in_records.iter().filter(|name| leaf(name)).cloned());
        }
        names.into_iter().collect()
    }
}

impl Referenced {
    /// Adds a reference to a column of a table.
    fn add(&mut self, column: &ColumnDef, name: &str, of_table: &[ColumnDef]) {
        match column.redaction {
            Redaction::Whole => {
                self.redacted_count += 1;
                self.redacted.insert(name.to_owned());
            }
            Redaction::ByName => self.named_count += 1,
            Redaction::Nested => self.reads_nested = true,
            Redaction::Unredacted => {}
        }
        let is_rounded = |column: &&ColumnDef| column.kinds.intersects(ValueKinds::ROUNDED);
        if column.is_record {
            self.rounded_in_records
                .extend(of_table.iter().filter(is_rounded).map(|column| column.name.clone()));
        } else if is_rounded(&column) {
            self.rounded.insert(column.name.clone());
            self.rounded_count += 1;
        }
    }
}

/// Returns true if a path in a text names a field.
fn names_field(text: &str, field: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(field)
        .any(|(at, _)| !text[..at].ends_with(is_name) && !text[at + field.len()..].starts_with(is_name))
}
