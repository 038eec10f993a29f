//! Fuzz target: the structure of any text. Each part of it is a range of whole lines, and no two parts overlap.

use std::collections::BTreeSet;

use portion_text::chunk::outline::Heading;
use portion_text::chunk::{CHUNKERS, Chunker, TextKind, chunker_for, outline, sentence_starts};
use portion_text::delimited;
use portion_text::diff::file_changes;
use portion_text::document_table::{DocumentTable, document_tables, largest_table};
use portion_text::html;
use portion_text::log_entry::entries;
use portion_text::timestamp::Timestamp;

pub(crate) fn check(input: &[u8]) {
    let text = &*String::from_utf8_lossy(input);
    let chunker = chunker_for(text);
    check_headings(text, &outline::headings(text));
    check_headings(text, &html::headings(text));
    assert_eq!(html::has_headings(text), !html::headings(text).is_empty());
    let plain = html::plain_text(text);
    assert!(plain.trim() == plain && !plain.contains("  ") && !plain.contains('\n'));
    let starts = sentence_starts(text);
    assert!(starts.is_sorted_by(|a, b| a < b) && starts.iter().all(|at| text.is_char_boundary(*at)));
    check_entries(text);
    check_rows(text, chunker);
    check_tables(text);
    check_diff(text);
    text.lines().for_each(check_time);
}

/// Returns the number of a line, from 1, at an offset where a line begins.
fn line_number(text: &str, at: usize) -> usize {
    assert!(at == 0 || text[..at].ends_with('\n'), "no line begins at {at}");
    text[..at].matches('\n').count() + 1
}

/// Headings are in order, and the sections of a level follow one another.
fn check_headings(text: &str, headings: &[Heading]) {
    let mut open: Vec<&Heading> = Vec::new();
    for heading in headings {
        assert!((1..=6).contains(&heading.level) && heading.start < heading.end);
        assert!(text.get(heading.start..heading.end).is_some());
        open.retain(|outer| outer.end > heading.start);
        // A heading inside a section is of a lower level, and its section ends with the other or before.
        for outer in &open {
            assert!(outer.level < heading.level && outer.start < heading.start && outer.end >= heading.end);
        }
        open.push(heading);
    }
}

/// The entries of a log are its lines: each line belongs to one entry.
fn check_entries(text: &str) {
    let log = *CHUNKERS.iter().find(|chunker| chunker.kind() == TextKind::Log).expect("a chunker of logs");
    let (mut at, mut count) = (0, 0);
    for entry in entries(text, log).expect("a log") {
        count += 1;
        assert_eq!((entry.number, entry.span.start as usize), (count, at));
        assert_eq!(entry.start_line, line_number(text, at));
        for inner in [entry.time, entry.level].into_iter().flatten() {
            assert!(!inner.slice(text).is_empty() && !inner.slice(text).contains('\n'));
            assert!(inner.start >= entry.span.start && inner.end <= entry.span.end);
        }
        at = entry.span.end as usize;
    }
    assert_eq!(at, text.len());
}

/// The rows of separated values are the text, from the first row on.
fn check_rows(text: &str, chunker: &dyn Chunker) {
    let Some(format) = delimited::detect(text, chunker) else { return };
    line_number(text, format.start);
    let mut rows = format.reader(text);
    let first = rows.next_row().expect("the first row");
    assert_distinct(&format.column_names(&first));
    let (mut at, mut row) = (format.start, Some(first));
    while let Some(read) = row {
        assert_eq!(read.span.start as usize, at);
        assert!(read.len() > 0 && (0..read.len()).all(|cell| read.cell(cell).is_some()));
        let cells: usize = read.cells().map(str::len).sum();
        assert!(cells < read.span.len().max(1) + 1, "cells are longer than their row");
        at = read.span.end as usize;
        row = rows.next_row();
    }
    assert!(text[at..].trim().is_empty(), "{:?} is in no row", &text[at..]);
}

/// Tables of a document do not overlap, and their rows have cells under columns of different names.
fn check_tables(text: &str) {
    let tables = document_tables(text);
    let mut end = 0;
    for table in &tables {
        assert!(end <= table.span.start && table.span.start < table.span.end);
        end = table.span.end;
        assert!(!table.span.slice(text).is_empty());
        let rows = table.rows(text, &|_| false).expect("nothing stops it");
        let (header, rows) = rows.split_first().expect("a header");
        assert!(table.row_count >= 2 && !rows.is_empty());
        let names = DocumentTable::column_names(header, rows);
        assert_distinct(&names);
        assert!(rows.iter().all(|row| row.len() <= names.len()));
    }
    assert_eq!(largest_table(&tables).is_some(), !tables.is_empty());
}

/// The files of a diff are whole lines, and no line is in two of them.
fn check_diff(text: &str) {
    let mut end = 0;
    for file in file_changes(text) {
        let (start, diff) = (file.span.start as usize, file.span.slice(text));
        assert!(end <= start && !diff.is_empty());
        end = file.span.end as usize;
        assert_eq!(file.line, line_number(text, start));
        assert!(diff.ends_with('\n') || end == text.len());
        assert!(file.added + file.removed < diff.lines().count());
        if let Some(commit) = file.commit {
            let hash = commit.slice(text);
            assert!(hash.len() >= 7 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
            assert!(commit.end as usize <= start);
        }
    }
}

/// A time that is written in its form is read as the same time.
fn check_time(line: &str) {
    if let Some(time) = Timestamp::parse(line.trim()).filter(|time| time.is_in_range()) {
        let written = time.write();
        assert_eq!(Timestamp::parse(&written), Some(time), "{written}");
    }
}

fn assert_distinct(names: &[String]) {
    let distinct: BTreeSet<String> = names.iter().map(|name| name.to_lowercase()).collect();
    assert_eq!(distinct.len(), names.len(), "{names:?}");
}
