//! `entries(number, start_line, time, level, text, severity)`, of logs.

use std::sync::Arc;

use portion_core::entry::{Entry, Level, entries};
use portion_core::snapshot::{Slice, Text};

use crate::cell::Cell;
use crate::column::{Column, Kinds};
use crate::limits::Clock;
use crate::table::{Row, Rows, Source, every};

/// The entries of a log: a stamped line with what belongs to it.
pub(crate) struct EntriesOf {
    pub(crate) text: Slice,
    pub(crate) index: Arc<Text>,
}

struct Entries {
    text: Slice,
    entries: Vec<Entry>,
    columns: Vec<Column>,
}

/// `level` is the word that the log has, `severity` what it means: `trace` to `fatal`.
const COLUMNS: [(&str, Kinds); 6] = [
    ("number", Kinds::INTEGER),
    ("start_line", Kinds::INTEGER),
    ("time", Kinds::TEXT),
    ("level", Kinds::TEXT),
    ("text", Kinds::TEXT),
    ("severity", Kinds::TEXT),
];

impl Source for EntriesOf {
    fn open(&self, clock: &Clock) -> Option<Arc<dyn Rows>> {
        let mut found = Vec::new();
        for entry in entries(&self.text, &self.index).into_iter().flatten() {
            found.push(entry);
            if every(found.len(), clock) {
                return None;
            }
        }
        let mut columns = COLUMNS.map(|(name, kinds)| Column::new(name, kinds, found.len()));
        for column in &mut columns {
            column.ignores_case = matches!(column.name.as_str(), "level" | "severity");
            column.present = match column.name.as_str() {
                "time" => found.iter().filter(|entry| entry.time.is_some()).count(),
                "level" | "severity" => found.iter().filter(|entry| entry.level.is_some()).count(),
                _ => found.len(),
            };
        }
        Some(Arc::new(Entries { text: self.text.clone(), entries: found, columns: columns.into() }))
    }
}

impl Rows for Entries {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.entries.len()
    }

    fn cell<'a>(&'a self, row: &'a Row, column: usize) -> Cell<'a> {
        let Some(entry) = self.entries.get(row.at) else { return Cell::Null };
        let level = entry.level.map(|level| level.of(&self.text));
        match column {
            0 => Cell::count(entry.number),
            1 => Cell::count(entry.start_line),
            2 => entry.time.map_or(Cell::Null, |time| Cell::text(time.of(&self.text))),
            3 => level.map_or(Cell::Null, Cell::text),
            4 => Cell::text(entry.span.of(&self.text).trim_end_matches(['\r', '\n'])),
            _ => level.and_then(Level::of).map_or(Cell::Null, |level| Cell::text(word(level))),
        }
    }
}

fn word(level: Level) -> &'static str {
    match level {
        Level::Trace => "trace",
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Notice => "notice",
        Level::Warn => "warn",
        Level::Error => "error",
        Level::Fatal => "fatal",
    }
}
