//! Keeps SQL from computing with values that were redacted.
//!
//! A redacted string is a mark, the same in every row: a count, a group or a join of marks would be a wrong answer about
//! the values. Such a column can be selected as it is, by the outermost SELECT, and nothing else.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use portion_core::redact::REDACTED;
use rusqlite::hooks::AuthAction;

use crate::cell::Cell;
use crate::column::{Column, Hidden, Kinds};
use crate::limits::Clock;
use crate::table::{Row, Rows, Table, Wanted, every};

/// The collation of redacted columns: it tells that values were compared, sorted, grouped or made distinct.
pub(crate) const COLLATION: &str = "redacted";

/// Rows of which some columns were redacted.
struct Marked {
    rows: Arc<dyn Rows>,
    columns: Vec<Column>,
}

/// Marks the columns of which something was redacted, given the dotted paths of redacted fields. `None` where the clock
/// stopped it.
pub(crate) fn marked(rows: Arc<dyn Rows>, fields: &[String], clock: &Clock) -> Option<Arc<dyn Rows>> {
    let mut columns = rows.columns().to_vec();
    let mut any = false;
    for (at, column) in columns.iter_mut().enumerate() {
        if column.record || holds_redacted(&column.name, column.kinds, fields) {
            column.redacted = Hidden::Within;
        } else if fields.iter().any(|field| ends_with(field, &column.name)) && is_redacted(&*rows, at, clock)?
        {
            column.redacted = Hidden::Whole;
            any = true;
        }
        any |= column.redacted != Hidden::No;
    }
    Some(if any { Arc::new(Marked { rows, columns }) } else { rows })
}

/// Whether a column is an object in which a field was redacted.
fn holds_redacted(column: &str, kinds: Kinds, fields: &[String]) -> bool {
    kinds.any(Kinds::CONTAINER)
        && fields.iter().any(|field| {
            field.rsplit_once('.').is_some_and(|(around, _)| {
                around == column
                    || around.ends_with(&format!(".{column}"))
                    || around.contains(&format!("{column}."))
            })
        })
}

/// Whether the dotted path of a field may be that of a column, whose path begins at the record.
fn ends_with(field: &str, column: &str) -> bool {
    field.strip_suffix(column).is_some_and(|around| around.is_empty() || around.ends_with('.'))
}

/// Whether a value of a column is the mark, or it has no value at all: what was no string was left out.
fn is_redacted(rows: &dyn Rows, column: usize, clock: &Clock) -> Option<bool> {
    let mut row = rows.blank(Wanted(1 << column.min(63)));
    let mut empty = true;
    for at in 0..rows.len() {
        if every(at, clock) {
            return None;
        }
        rows.read(at, &mut row);
        match rows.cell(&row, column) {
            Cell::Text(text) if text == REDACTED => return Some(true),
            Cell::Null => {}
            Cell::Text(text) if text.is_empty() => {}
            _ => empty = false,
        }
    }
    Some(empty)
}

impl Rows for Marked {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn blank(&self, wanted: Wanted) -> Row {
        self.rows.blank(wanted)
    }

    fn read(&self, at: usize, row: &mut Row) {
        self.rows.read(at, row);
    }

    fn cell<'a>(&'a self, row: &'a Row, column: usize) -> Cell<'a> {
        self.rows.cell(row, column)
    }

    fn telling(&self) -> Vec<String> {
        self.rows.telling()
    }

    fn without_column(&self) -> usize {
        self.rows.without_column()
    }
}

/// What a statement does with redacted columns, gathered while it is prepared and run.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    /// References to redacted columns, and to what holds redacted fields.
    whole: AtomicUsize,
    within: AtomicBool,
    /// SELECTs, nested ones included.
    selects: AtomicUsize,
    /// Whether a function is named that takes JSON apart.
    takes_apart: AtomicBool,
    /// Whether a redacted value was read, and whether two were compared.
    read: AtomicBool,
    compared: AtomicBool,
    names: Mutex<BTreeSet<String>>,
}

impl Usage {
    /// Takes note of an action of the statement that is prepared.
    pub(crate) fn note(&self, action: &AuthAction<'_>, tables: &[(String, Arc<Table>)]) {
        match action {
            AuthAction::Select => {
                self.selects.fetch_add(1, Ordering::Relaxed);
            }
            AuthAction::Function { function_name } => {
                let name = function_name.to_ascii_lowercase();
                self.takes_apart
                    .fetch_or(name.starts_with("json") || name.starts_with("->"), Ordering::Relaxed);
            }
            AuthAction::Read { table_name, column_name } => {
                let is_json = table_name.to_ascii_lowercase().starts_with("json_");
                self.takes_apart.fetch_or(is_json, Ordering::Relaxed);
                let table = tables.iter().find(|(name, _)| name.eq_ignore_ascii_case(table_name));
                let Some(rows) = table.and_then(|(_, table)| table.opened()) else { return };
                let column =
                    rows.columns().iter().find(|column| column.name.eq_ignore_ascii_case(column_name));
                match column.map(|column| column.redacted) {
                    Some(Hidden::Whole) => {
                        self.whole.fetch_add(1, Ordering::Relaxed);
                        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
                        names.insert((*column_name).to_owned());
                    }
                    Some(Hidden::Within) => self.within.store(true, Ordering::Relaxed),
                    Some(Hidden::No) | None => {}
                }
            }
            _ => {}
        }
    }

    /// Takes note that a redacted value was read.
    pub(crate) fn note_read(&self) {
        self.read.store(true, Ordering::Relaxed);
    }

    /// Takes note that a redacted value was compared with another value.
    pub(crate) fn note_compared(&self) {
        self.compared.store(true, Ordering::Relaxed);
    }

    /// Forgets what an attempt to prepare the statement named.
    pub(crate) fn reset(&self) {
        self.whole.store(0, Ordering::Relaxed);
        self.selects.store(0, Ordering::Relaxed);
        self.within.store(false, Ordering::Relaxed);
        self.takes_apart.store(false, Ordering::Relaxed);
        self.names.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The redacted columns that a statement computed with, given how many columns of its result are redacted ones as they
    /// are: any other reference to one computes.
    pub(crate) fn computed(&self, shown: usize, tables: &[Arc<Table>]) -> Option<Vec<String>> {
        let whole = self.whole.load(Ordering::Relaxed);
        let nested = self.selects.load(Ordering::Relaxed) > 1;
        let computes = self.compared.load(Ordering::Relaxed)
            || self.read.load(Ordering::Relaxed) && (whole > shown || nested && whole > 0);
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        // Of `JOIN … USING (field)` the field is not told.
        let all = || {
            let opened = tables.iter().filter_map(|table| table.opened());
            let columns = opened.flat_map(|rows| rows.columns());
            columns
                .filter(|column| column.redacted == Hidden::Whole)
                .map(|column| column.name.clone())
                .collect()
        };
        computes.then(|| if names.is_empty() { all() } else { names.iter().cloned().collect() })
    }

    /// The redacted fields that a statement takes out of a record or an object, by the names in its texts.
    pub(crate) fn taken_out<'f>(
        &self,
        sql: &str,
        params: &[(String, String)],
        fields: &'f [String],
    ) -> Vec<&'f str> {
        if !self.within.load(Ordering::Relaxed) || !self.takes_apart.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let leaf = |field: &'f String| field.rsplit('.').next().unwrap_or(field);
        let texts: Vec<&str> =
            texts(sql).into_iter().chain(params.iter().map(|(_, value)| value.as_str())).collect();
        let mut taken: Vec<&str> =
            fields.iter().map(leaf).filter(|leaf| texts.iter().any(|text| names(text, leaf))).collect();
        taken.sort_unstable();
        taken.dedup();
        taken
    }
}

/// The texts in quotes of a statement.
fn texts(sql: &str) -> Vec<&str> {
    sql.split('\'').skip(1).step_by(2).collect()
}

/// Whether a path in a text names a field.
fn names(text: &str, field: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(field)
        .any(|(at, _)| !text[..at].ends_with(is_name) && !text[at + field.len()..].starts_with(is_name))
}
