//! Tables of the structure of texts:
//!
//! - `lines(number, text)`
//! - `sections(number, level, title, start_line, end_line, text, own_text, is_leaf)` of texts with headings. `text` includes
//!   the sections inside, `own_text` does not. A leaf has no section inside.
//! - `entries(number, start_line, time, level, text, severity)` of logs
//! - `items(path, added, removed, start_line, end_line, text)` of diffs, a row a file. That of a log with patches has the
//!   column `commit` as well.

use std::sync::Arc;

use portion_core::snapshot::{LineIndex, Slice};
use portion_json::span::Span;
use portion_text::chunk::outline::Heading;
use portion_text::column_form::FormLearner;
use portion_text::diff::FileChange;
use portion_text::log_entry::{LogEntry, LogLevel, entries};

use super::{JoinedTexts, TextPart, shifted};
use crate::cell::{Cell, ValueKinds};
use crate::limits::QueryDeadline;
use crate::table_rows::{FoundTable, RowSource, full_columns, should_stop_at};

/// Source of the sections of texts, each from its heading to the next one of its level or above.
pub(crate) struct SectionsSource(pub(crate) Vec<(TextPart, Arc<LineIndex>)>);

struct SectionRecord {
    /// Number of the section in its text, from 1.
    number: usize,
    level: u8,
    title: String,
    start_line: usize,
    end_line: usize,
    span: Span,
    /// Begin of the first section inside it, or its end.
    own_end: usize,
}

const COLUMNS: [(&str, ValueKinds); 8] = [
    ("number", ValueKinds::INTEGER),
    ("level", ValueKinds::INTEGER),
    ("title", ValueKinds::TEXT),
    ("start_line", ValueKinds::INTEGER),
    ("end_line", ValueKinds::INTEGER),
    ("text", ValueKinds::TEXT),
    ("own_text", ValueKinds::TEXT),
    ("is_leaf", ValueKinds::BOOL),
];

impl RowSource for SectionsSource {
    fn open(&self, _: &QueryDeadline) -> Option<FoundTable> {
        let texts = JoinedTexts::new(self.0.iter().map(|(part, _)| part));
        let mut sections: Vec<SectionRecord> = Vec::new();
        for ((start, part), (_, index)) in texts.parts.iter().zip(&self.0) {
            let lines = super::line_spans(&part.text);
            let first = sections.len();
            let section = |(at, heading): (usize, Heading<'_>)| SectionRecord {
                number: at + 1,
                level: heading.level,
                title: heading.title.into_owned(),
                start_line: super::line_number(&lines, heading.start),
                end_line: super::line_number(&lines, heading.end.saturating_sub(1).max(heading.start)),
                span: shifted(Span::new(heading.start, heading.end), *start),
                own_end: heading.end + *start,
            };
            sections.extend(index.headings(&part.text).into_iter().enumerate().map(section));
            for at in first + 1..sections.len() {
                let next = sections[at].span.start as usize;
                sections[at - 1].own_end = sections[at - 1].own_end.min(next);
            }
        }
        let columns = full_columns(&COLUMNS, sections.len());
        let start = |section: &SectionRecord| section.span.start as usize;
        Some(texts.table(columns, sections, start, cell))
    }
}

fn cell<'a>(text: &'a str, (_, section): (usize, &'a SectionRecord), column: usize) -> Cell<'a> {
    match column {
        0 => Cell::from_count(section.number),
        1 => Cell::from_count(section.level.into()),
        2 => Cell::text(&section.title),
        3 => Cell::from_count(section.start_line),
        4 => Cell::from_count(section.end_line),
        5 => Cell::text(section.span.slice(text)),
        6 => Cell::text(Span::new(section.span.start as usize, section.own_end).slice(text)),
        _ => Cell::Integer(i64::from(section.own_end == section.span.end as usize)),
    }
}

/// Source of the lines of texts.
pub(crate) struct LinesSource(pub(crate) Vec<TextPart>);

const LINE_COLUMNS: [(&str, ValueKinds); 2] = [("number", ValueKinds::INTEGER), ("text", ValueKinds::TEXT)];

impl RowSource for LinesSource {
    fn open(&self, _: &QueryDeadline) -> Option<FoundTable> {
        let texts = JoinedTexts::new(self.0.iter());
        let mut rows: Vec<(usize, Span)> = Vec::new();
        for (start, part) in &texts.parts {
            let lines = super::line_spans(&part.text).into_iter().enumerate();
            rows.extend(lines.map(|(at, line)| (at + 1, shifted(line, *start))));
        }
        let columns = full_columns(&LINE_COLUMNS, rows.len());
        let start = |(_, line): &(usize, Span)| line.start as usize;
        Some(texts.table(columns, rows, start, |text, (_, (number, line)), column| match column {
            0 => Cell::from_count(*number),
            _ => Cell::text(line.slice(text)),
        }))
    }
}

/// Source of the changed files of a diff.
pub(crate) struct DiffSource {
    pub(crate) text: Slice,
    pub(crate) changes: Vec<FileChange>,
}

const DIFF_COLUMNS: [(&str, ValueKinds); 7] = [
    ("path", ValueKinds::TEXT),
    ("added", ValueKinds::INTEGER),
    ("removed", ValueKinds::INTEGER),
    ("start_line", ValueKinds::INTEGER),
    ("end_line", ValueKinds::INTEGER),
    ("text", ValueKinds::TEXT),
    ("commit", ValueKinds::TEXT),
];

impl RowSource for DiffSource {
    fn open(&self, _: &QueryDeadline) -> Option<FoundTable> {
        let mut columns = full_columns(&DIFF_COLUMNS, self.changes.len());
        for column in &mut columns {
            let is_present: fn(&&FileChange) -> bool = match column.name.as_str() {
                "added" | "removed" => |file| !file.is_binary,
                "commit" => |file| file.commit.is_some(),
                _ => |_| true,
            };
            column.present_count = self.changes.iter().filter(is_present).count();
        }
        columns.retain(|column| column.present_count > 0 || column.name != "commit");
        Some(FoundTable::of_rows(&self.text, columns, self.changes.clone(), diff_cell))
    }
}

fn diff_cell<'a>(text: &'a str, (_, file): (usize, &'a FileChange), column: usize) -> Cell<'a> {
    let own = file.span.slice(text);
    match column {
        0 => Cell::text(&file.path),
        // The lines of binary content are not counted.
        1 | 2 if file.is_binary => Cell::Null,
        1 => Cell::from_count(file.added),
        2 => Cell::from_count(file.removed),
        3 => Cell::from_count(file.line),
        4 => Cell::from_count(file.line + own.lines().count().saturating_sub(1)),
        5 => Cell::text(own),
        _ => file.commit.map_or(Cell::Null, |commit| Cell::text(commit.slice(text))),
    }
}

/// Source of the entries of logs: a stamped line with its continuation lines.
pub(crate) struct EntriesSource(pub(crate) Vec<(TextPart, Arc<LineIndex>)>);

/// `level` is the word in the log, `severity` its meaning: `trace` to `fatal`.
const ENTRY_COLUMNS: [(&str, ValueKinds); 6] = [
    ("number", ValueKinds::INTEGER),
    ("start_line", ValueKinds::INTEGER),
    ("time", ValueKinds::TEXT),
    ("level", ValueKinds::TEXT),
    ("text", ValueKinds::TEXT),
    ("severity", ValueKinds::TEXT),
];

impl RowSource for EntriesSource {
    fn open(&self, deadline: &QueryDeadline) -> Option<FoundTable> {
        let texts = JoinedTexts::new(self.0.iter().map(|(part, _)| part));
        let mut found = Vec::new();
        for ((start, part), (_, index)) in texts.parts.iter().zip(&self.0) {
            for entry in entries(&part.text, index.chunker).into_iter().flatten() {
                let place = |span: Option<Span>| span.map(|span| shifted(span, *start));
                let (time, level) = (place(entry.time), place(entry.level));
                found.push(LogEntry { span: shifted(entry.span, *start), time, level, ..entry });
                if should_stop_at(found.len(), deadline) {
                    return None;
                }
            }
        }
        let mut columns = full_columns(&ENTRY_COLUMNS, found.len());
        let (mut times, mut time_count) = (FormLearner::default(), 0);
        for time in found.iter().filter_map(|entry| entry.time) {
            times.insert(time.slice(&texts.text));
            time_count += 1;
        }
        for column in &mut columns {
            match column.name.as_str() {
                "time" => {
                    (column.present_count, column.form) = (time_count, times.form());
                    column.set_facts(&times);
                }
                "level" | "severity" => {
                    column.present_count = found.iter().filter(|entry| entry.level.is_some()).count();
                    column.ignores_case = true;
                }
                _ => {}
            }
        }
        let start = |entry: &LogEntry| entry.span.start as usize;
        Some(texts.table(columns, found, start, entry_cell))
    }
}

fn entry_cell<'a>(text: &'a str, (_, entry): (usize, &'a LogEntry), column: usize) -> Cell<'a> {
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
