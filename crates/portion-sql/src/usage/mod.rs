//! The use that a statement makes of columns: SQL must not compute with redacted values, and results say if numbers were
//! rounded or stand for missing values.

mod redaction;
mod rounding;
mod unread_numbers;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::hooks::AuthAction;

pub(crate) use redaction::RedactionUsage;
pub(crate) use rounding::RoundingUsage;
pub(crate) use unread_numbers::UnreadNumbers;

use crate::column::ColumnDef;
use crate::table::{OpenTable, VirtualTable};

/// The use that one statement makes of columns, recorded while it is prepared and run.
#[derive(Debug, Default)]
pub(crate) struct StatementUsage {
    pub(crate) redaction: RedactionUsage,
    pub(crate) rounding: RoundingUsage,
    /// Texts that it read as numbers although they are none.
    pub(crate) unread: UnreadNumbers,
    met_missing: AtomicBool,
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
