//! The table `entries(number, start_line, time, level, text, severity)` of logs.

use std::sync::Arc;

use portion_core::snapshot::{LineIndex, Slice};
use portion_text::column_form::FormLearner;
use portion_text::log_entry::{LogEntry, LogLevel, entries};

use crate::cell::Cell;
use crate::limits::QueryDeadline;
use crate::table_rows::{FoundRows, RowSource, TableRows, should_stop_at};
use crate::value_kinds::ValueKinds;

/// Source of the entries of a log: a stamped line with its continuation lines.
pub(crate) struct EntriesSource {
    pub(crate) text: Slice,
    pub(crate) index: Arc<LineIndex>,
}

/// `level` is the word in the log, `severity` its meaning: `trace` to `fatal`.
const COLUMNS: [(&str, ValueKinds); 6] = [
    ("number", ValueKinds::INTEGER),
    ("start_line", ValueKinds::INTEGER),
    ("time", ValueKinds::TEXT),
    ("level", ValueKinds::TEXT),
    ("text", ValueKinds::TEXT),
    ("severity", ValueKinds::TEXT),
];

impl RowSource for EntriesSource {
    fn open(&self, deadline: &QueryDeadline) -> Option<Arc<dyn TableRows>> {
        let mut found = Vec::new();
        for entry in entries(&self.text, self.index.chunker).into_iter().flatten() {
            found.push(entry);
            if should_stop_at(found.len(), deadline) {
                return None;
            }
        }
        let mut columns = FoundRows::<()>::columns(&COLUMNS, found.len());
        for column in &mut columns {
            if column.name == "time" {
                let mut learner = FormLearner::default();
                found
                    .iter()
                    .filter_map(|entry| entry.time)
                    .for_each(|time| learner.insert(time.slice(&self.text)));
                column.form = learner.form();
            }
            column.ignores_case = matches!(column.name.as_str(), "level" | "severity");
            column.present_count = match column.name.as_str() {
                "time" => found.iter().filter(|entry| entry.time.is_some()).count(),
                "level" | "severity" => found.iter().filter(|entry| entry.level.is_some()).count(),
                _ => found.len(),
            };
        }
        Some(Arc::new(FoundRows { text: self.text.clone(), rows: found, columns, cell }))
    }
}

fn cell<'a>(text: &'a str, (_, entry): (usize, &'a LogEntry), column: usize) -> Cell<'a> {
    let level = entry.level.map(|level| level.slice(text));
    match column {
        0 => Cell::from_count(entry.number),
        1 => Cell::from_count(entry.start_line),
        2 => entry.time.map_or(Cell::Null, |time| Cell::text(time.slice(text))),
        3 => level.map_or(Cell::Null, Cell::text),
        4 => Cell::text(entry.span.slice(text).trim_end_matches(['\r', '\n'])),
        _ => level.and_then(LogLevel::from_word).map_or(Cell::Null, |level| Cell::text(level_name(level))),
    }
}

fn level_name(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Trace => "trace",
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Notice => "notice",
        LogLevel::Warn => "warn",
        LogLevel::Error => "error",
        LogLevel::Fatal => "fatal",
    }
}
