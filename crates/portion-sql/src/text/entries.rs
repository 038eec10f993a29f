//! The table `entries(number, start_line, time, level, text, severity)` of logs.

use std::sync::Arc;

use portion_core::snapshot::LineIndex;
use portion_json::span::Span;
use portion_text::column_form::FormLearner;
use portion_text::log_entry::{LogEntry, LogLevel, entries};

use super::{JoinedTexts, TextPart, shifted};
use crate::cell::{Cell, ValueKinds};
use crate::limits::QueryDeadline;
use crate::table_rows::{FoundRows, RowSource, TableRows, should_stop_at};

/// Source of the entries of logs: a stamped line with its continuation lines.
pub(crate) struct EntriesSource(pub(crate) Vec<(TextPart, Arc<LineIndex>)>);

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
        let texts = JoinedTexts::new(self.0.iter().map(|(part, _)| part.clone()).collect());
        let mut found = Vec::new();
        for ((start, part), (_, index)) in texts.parts().zip(&self.0) {
            for entry in entries(&part.text, index.chunker).into_iter().flatten() {
                let place = |span: Option<Span>| span.map(|span| shifted(span, start));
                let (time, level) = (place(entry.time), place(entry.level));
                found.push(LogEntry { span: shifted(entry.span, start), time, level, ..entry });
                if should_stop_at(found.len(), deadline) {
                    return None;
                }
            }
        }
        let mut columns = FoundRows::<()>::columns(&COLUMNS, found.len());
        for column in &mut columns {
            if column.name == "time" {
                let mut learner = FormLearner::default();
                found
                    .iter()
                    .filter_map(|entry| entry.time)
                    .for_each(|time| learner.insert(time.slice(&texts.text)));
                column.form = learner.form();
            }
            column.ignores_case = matches!(column.name.as_str(), "level" | "severity");
            column.present_count = match column.name.as_str() {
                "time" => found.iter().filter(|entry| entry.time.is_some()).count(),
                "level" | "severity" => found.iter().filter(|entry| entry.level.is_some()).count(),
                _ => found.len(),
            };
        }
        let found = FoundRows { text: texts.text.clone(), rows: found, columns, cell };
        Some(texts.rows(found, |entry| entry.span.start as usize))
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
