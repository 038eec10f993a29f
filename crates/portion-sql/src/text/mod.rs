//! Texts as tables.

mod csv;
mod diff;
mod entries;
mod lines;
mod parts;
mod sections;

use portion_json::span::Span;

pub(crate) use csv::{CsvSource, DocumentTableSource};
pub(crate) use diff::DiffSource;
pub(crate) use entries::EntriesSource;
pub(crate) use lines::LinesSource;
pub(crate) use parts::TextPart;
pub(crate) use sections::SectionsSource;

/// Returns the span of each line, without its line ending.
fn line_spans(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
        spans.push(Span::new(at, at + trimmed.len()));
        at += line.len();
    }
    spans
}

/// Returns the number, from 1, of the line that contains a byte.
fn line_number(lines: &[Span], byte: usize) -> usize {
    lines.partition_point(|line| line.start as usize <= byte).max(1)
}
