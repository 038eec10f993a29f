//! The use that a statement makes of columns: SQL must not compute with redacted values, and results say if numbers were
//! rounded or stand for missing values.

mod redaction;
mod rounding;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rusqlite::hooks::AuthAction;

pub(crate) use redaction::RedactionUsage;
pub(crate) use rounding::RoundingUsage;

use crate::column::ColumnDef;
use crate::table::{OpenTable, VirtualTable};

/// Longest example, in characters.
const MAX_EXAMPLE_CHARS: usize = 20;

/// The use that one statement makes of columns, recorded while it is prepared and run.
#[derive(Debug, Default)]
pub(crate) struct StatementUsage {
    pub(crate) redaction: RedactionUsage,
    pub(crate) rounding: RoundingUsage,
    /// Texts that it read as numbers although they are none.
    pub(crate) unread: UnreadNumbers,
    met_missing: AtomicBool,
    /// Advice for a text that was compared with a number.
    mismatch: OnceLock<String>,
}

impl StatementUsage {
    /// Records an action of the statement that is being prepared.
    pub(crate) fn record_action(&self, action: &AuthAction<'_>, tables: &[(String, Arc<VirtualTable>)]) {
        self.redaction.record_action(action, tables);
        self.rounding.record_action(action, tables);
    }

    /// Records if a number was met that stands for a missing value.
    pub(crate) fn record_missing(&self, is_missing: bool) {
        if is_missing {
            self.met_missing.store(true, Ordering::Relaxed);
        }
    }

    /// Records advice for a text that was compared with a number.
    pub(crate) fn record_mismatch(&self, advice: String) {
        let _ = self.mismatch.set(advice);
    }

    /// Returns the advice for a text that was compared with a number.
    pub(crate) fn mismatch(&self) -> Option<String> {
        self.mismatch.get().cloned()
    }

    /// Returns true if a number was met that stands for a missing value.
    pub(crate) fn has_met_missing(&self) -> bool {
        self.met_missing.load(Ordering::Relaxed)
    }

    /// Forgets the attempt to prepare another form of the statement.
    pub(crate) fn reset(&self) {
        self.redaction.reset();
        self.rounding.reset();
    }
}

/// Returns the table and the column of these names.
fn column_named<'a>(
    tables: &'a [(String, Arc<VirtualTable>)],
    table: &str,
    column: &str,
) -> Option<(&'a Arc<OpenTable>, &'a ColumnDef)> {
    let (_, table) = tables.iter().find(|(name, _)| name.eq_ignore_ascii_case(table))?;
    let opened = table.opened()?;
    Some((opened, opened.columns().iter().find(|def| def.name.eq_ignore_ascii_case(column))?))
}

/// The texts that sums and casts met and could not read, while a statement ran.
#[derive(Debug, Default)]
pub(crate) struct UnreadNumbers(Mutex<Unread>);

#[derive(Debug, Default)]
struct Unread {
    count: usize,
    example: Option<String>,
}

impl UnreadNumbers {
    /// Records a text that is no number. An empty one is no value.
    pub(crate) fn record(&self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        let mut unread = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        unread.count += 1;
        unread.example.get_or_insert_with(|| text.trim().chars().take(MAX_EXAMPLE_CHARS).collect());
    }

    /// Returns a hint with their number and the first one; `None` if there were none.
    pub(crate) fn hint(&self) -> Option<String> {
        let unread = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let example = unread.example.as_deref()?.replace('\'', "''");
        let texts = match unread.count {
            1 => "1 text is no number".to_owned(),
            count => format!("{count} texts are no numbers"),
        };
        Some(format!("{texts} ('{example}'): a sum or cast counts it as 0, by its first digits, or as NULL"))
    }
}
