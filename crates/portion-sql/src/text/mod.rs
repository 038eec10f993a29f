//! Texts as tables.

mod csv;
mod entries;
mod lines;
mod sections;

pub(crate) use csv::{CsvOf, looks_like as looks_like_csv};
pub(crate) use entries::EntriesOf;
pub(crate) use lines::LinesOf;
pub(crate) use sections::SectionsOf;

use portion_core::span::Span;

/// Where each line is, without its end.
fn lines(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
        spans.push(Span::new(at, at + trimmed.len()));
        at += line.len();
    }
    spans
}

/// The number, from 1, of the line that holds a byte.
fn line_number(lines: &[Span], byte: usize) -> usize {
    lines.partition_point(|line| line.start as usize <= byte).max(1)
}
