//! The use that a statement makes of columns: SQL must not compute with redacted values, and results say if numbers were
//! rounded or stand for missing values.

mod columns;

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use portion_text::column_form::DateOrder;

pub(crate) use columns::ColumnUsage;

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
    date_orders: AtomicU8,
    met_missing: AtomicBool,
    /// Cursors that were opened, and the row of which a value was read last, from 1.
    cursor_count: AtomicUsize,
    row: AtomicUsize,
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

    /// Records the order of the numeric dates in a column.
    pub(crate) fn record_date_order(&self, order: DateOrder) {
        self.date_orders.fetch_or(order as u8, Ordering::Relaxed);
    }

    /// Returns the order of numeric dates, if it is the same in all columns.
    pub(crate) fn date_order(&self) -> DateOrder {
        match self.date_orders.load(Ordering::Relaxed) {
            order if order == DateOrder::DayFirst as u8 => DateOrder::DayFirst,
            order if order == DateOrder::MonthFirst as u8 => DateOrder::MonthFirst,
            _ => DateOrder::Unknown,
        }
    }

    /// Records a cursor.
    pub(crate) fn record_cursor(&self) {
        self.cursor_count.fetch_add(1, Ordering::Relaxed);
    }

    /// Records the row of which a value was read.
    pub(crate) fn record_row(&self, row: usize) {
        self.row.store(row + 1, Ordering::Relaxed);
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

    /// Returns the advice for a text that was compared with a number.
    pub(crate) fn mismatch(&self) -> Option<String> {
        self.mismatch.get().cloned()
    }

    /// Returns true if a number was met that stands for a missing value.
    pub(crate) fn has_met_missing(&self) -> bool {
        self.met_missing.load(Ordering::Relaxed)
    }
}

/// The texts that functions met and could not read, while a statement ran.
#[derive(Debug, Default)]
pub(crate) struct UnreadTexts(Mutex<Unread>);

#[derive(Debug, Default)]
struct Unread {
    count: usize,
    example: Option<String>,
}

impl UnreadTexts {
    /// Records a text. An empty one is no value.
    pub(crate) fn record(&self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        let mut unread = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        unread.count += 1;
        unread.example.get_or_insert_with(|| text.trim().chars().take(MAX_EXAMPLE_CHARS).collect());
    }

    /// Returns a hint with their number and the first one; `None` if there were none. `noun`: what they are not.
    pub(crate) fn hint(&self, noun: &str, consequence: &str) -> Option<String> {
        let unread = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let example = unread.example.as_deref()?.replace('\'', "''");
        let texts = match unread.count {
            1 => format!("1 text is no {noun}"),
            count => format!("{count} texts are no {noun}s"),
        };
        Some(format!("{texts} ('{example}'): {consequence}"))
    }
}
