//! Describes a text by its kind.

mod code;
mod counts;
mod document;
mod items_table;
mod log;
mod prose;
mod severity_words;
#[cfg(test)]
mod tests;
mod text_description;

use std::collections::HashSet;

use portion_json::span::Span;
use portion_text::chunk::TextKind;
use portion_text::delimited::rest_line;
use portion_text::diff::FileChange;
use portion_tokens::TokenCounter;
use serde_json::{Map, Value};

use crate::missing_codes::MissingCodes;
use crate::snapshot::{ItemsTable, LineIndex, List, NamedRows, TableSource};
use counts::LargeCounter;
pub(crate) use text_description::fields_by_type;
use text_description::{TextDescription, closing_excerpt, last_line, truncated_line};

/// Describes a large text for a reader who has not read it yet, as JSON within the token budget, the most
/// useful facts first.
///
/// - logs: `levels`, `linesWith`, `entries`, `span`, `perDay`, `first`, `last`, `lastEntry`, `statuses`, `thrown`,
///   `commonPaths`, `common`;
/// - documents with headings or a large table: `headings`, `outline`, `rows` and `columns` of the table, `last`;
/// - HTML: the same, `outline` with line numbers;
/// - prose: `outline` with line numbers, `gist`, `speakers`, `last`;
/// - separated values: `rows`, `columns` with facts about each, `moreColumns`;
/// - code: `defines`, `last`;
/// - diffs: `changes`, `files` with line numbers;
/// - other lines: `linesWith`, `outline`, `defines`, `first`, `last`, `longestLine`, `common`.
///
/// Every fact is exact, or marked `≈`. Linear in the length of the text, and deterministic.
pub(crate) fn describe(
    text: &str,
    index: &LineIndex,
    counter: &dyn TokenCounter,
    tokens: usize,
) -> Map<String, Value> {
    let mut description = TextDescription::new(counter, tokens);
    let changes = portion_text::diff::file_changes(text);
    let table = index.tables(text).items.as_ref().filter(|table| table.is_described(text));
    let (rows, table) = match table {
        Some(table) if table.source == TableSource::Delimited => (Some(table), None),
        table => (None, table),
    };
    let kind = index.chunker.kind();
    if !changes.is_empty() {
        describe_diff(text, &changes, &mut description);
    } else if kind == TextKind::Markdown {
        document::describe(text, index, table, &mut description);
    } else if let Some(entries) = portion_text::log_entry::entries(text, index.chunker) {
        log::describe(text, index, entries, &mut description);
    } else if let Some(rows) = rows {
        text_description::describe_table(rows, 0, &mut description);
        if let Some(rest) = rest_line(text) {
            description.add("last", truncated_line(rest, MAX_PATH_CHARS));
        }
    } else {
        match kind {
            TextKind::Prose => prose::describe(text, index, &mut description),
            TextKind::Code => code::describe(text, &mut description),
            TextKind::Markup if document::describe_markup(text, index, table, &mut description) => {}
            _ => describe_lines(text, index, table, &mut description),
        }
    }
    description.finish()
}

/// Describes JSON rows as a table of separated values.
pub(super) fn describe_header_rows(
    text: &str,
    spans: impl Iterator<Item = Span>,
    rows: NamedRows,
    counter: &dyn TokenCounter,
    tokens: usize,
) -> Map<String, Value> {
    let mut description = TextDescription::new(counter, tokens);
    text_description::describe_table(&items_table::header_row_table(text, spans, rows), 0, &mut description);
    description.finish()
}

/// Describes a list of records as a table: rows, facts about columns, and the names of the others.
pub(super) fn describe_records(
    text: &str,
    list: &List,
    missing: &MissingCodes,
    counter: &dyn TokenCounter,
    tokens: usize,
) -> Map<String, Value> {
    let facts = list.facts(text, missing);
    let columns: Vec<&String> = facts.lines.iter().map(|(name, _)| name).collect();
    let mut description = TextDescription::new(counter, tokens);
    text_description::describe_rows(list.len(), &columns, facts, 0, &mut description);
    description.finish()
}

/// Describes lines of an unknown format.
fn describe_lines(
    text: &str,
    index: &LineIndex,
    table: Option<&ItemsTable>,
    description: &mut TextDescription,
) {
    let is_one_line = index.line_count() == 1;
    // The reply shows the beginning of a single line.
    let last = if is_one_line {
        closing_excerpt(text, description)
    } else {
        truncated_line(last_line(text), description.max_quote_chars()).into()
    };
    let kept = description.member_cost("last", &last);
    let found = severity_words::find(text, severity_words::PROBLEM_WORDS);
    severity_words::describe_counts(&found, description);
    let outline = document::find_headings(text, index);
    if !outline.is_empty() {
        document::describe_outline(&outline, description.remaining().saturating_sub(kept) / 2, description);
    }
    code::describe_definitions(text, description.remaining().saturating_sub(kept) / 2, description);
    severity_words::describe_first_lines(
        text,
        index,
        &found,
        description.remaining().saturating_sub(kept),
        description,
    );
    description.add("last", last);
    let longest = longest_line(text).filter(|(_, length)| *length > LONG_LINE_CHARS && !is_one_line);
    if let Some((number, length)) = longest {
        description.add("longestLine", format!("{number}: {length} characters"));
    }
    // The patterns of most lines would be those of the table.
    if let Some(table) = table {
        text_description::describe_table(table, 0, description);
        return;
    }
    let mut common = LargeCounter::default();
    text.lines().map(str::trim).filter(|line| !line.is_empty()).for_each(|line| common.add_masked(line));
    counts::describe_common("common", common, (index.line_count() / 20).max(3), description);
}

/// Length in characters from which the longest line is reported.
const LONG_LINE_CHARS: usize = 300;

/// Returns the number of the longest line, from 1, and its length in characters.
fn longest_line(text: &str) -> Option<(usize, usize)> {
    let lines = text.lines().enumerate().max_by_key(|(at, line)| (line.len(), usize::MAX - at));
    lines.map(|(at, line)| (at + 1, line.chars().count()))
}

/// Longest path shown, in characters.
const MAX_PATH_CHARS: usize = 80;

/// Describes the changes: their number, and the files with the lines at which they begin.
fn describe_diff(text: &str, changes: &[FileChange], description: &mut TextDescription<'_>) {
    description.add("changes", changes_summary(text, changes));
    let listed: Vec<String> = changes
        .iter()
        .map(|FileChange { line, path, added, removed, is_binary, .. }| {
            let path = truncated_line(path, MAX_PATH_CHARS);
            if *is_binary {
                format!("{line}: {path} binary")
            } else {
                format!("{line}: {path} +{added} -{removed}")
            }
        })
        .collect();
    description.add_list("files", &listed, description.remaining());
}

/// Returns the number of files and lines: `2 files, +3 -1 lines`; in a log, `5 changes of 2 files in 4 commits, +3 -1 lines`.
fn changes_summary(text: &str, changes: &[FileChange]) -> String {
    let (added, removed) =
        changes.iter().fold((0, 0), |(added, removed), file| (added + file.added, removed + file.removed));
    let count = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let file_count = changes.iter().map(|change| change.path.as_str()).collect::<HashSet<_>>().len();
    let commits: HashSet<&str> =
        changes.iter().filter_map(|change| change.commit).map(|commit| commit.slice(text)).collect();
    let mut files = count(file_count, "file");
    if file_count < changes.len() {
        files = format!("{} of {files}", count(changes.len(), "change"));
    }
    if !commits.is_empty() {
        files = format!("{files} in {}", count(commits.len(), "commit"));
    }
    format!("{files}, +{added} -{removed} lines")
}
