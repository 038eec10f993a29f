//! What is told of a text, by its kind.

mod code;
mod counts;
mod document;
mod headings;
mod log;
mod prose;
mod severity_words;
mod table;
mod text_description;

use serde_json::{Map, Value};

use crate::snapshot::LineIndex;
use crate::tokens::TokenCounter;
use counts::LargeCounter;
use text_description::{TextDescription, closing_words, truncated_line};

/// What a reader of a large text wants to know before reading, as JSON of at most so many tokens, the most useful
/// first.
///
/// - logs: `levels`, `linesWith`, `entries`, `span`, `first`, `last`, `lastEntry`, `statuses`,
///   `thrown`, `commonPaths`, `common`;
/// - documents with headings: `headings`, `outline`, `last`;
/// - prose: `outline` with the numbers of lines, `gist`, `speakers`, `last`;
/// - tables: `columns`, `rows`, `last`;
/// - code: `defines`, `last`;
/// - other lines: `linesWith`, `outline`, `defines`, `first`, `last`, `longestLine`, `common`.
///
/// Everything is exact, or marked `≈`. In proportion to the text; the same text is always told alike.
pub(crate) fn describe(
    text: &str,
    index: &LineIndex,
    counter: &dyn TokenCounter,
    tokens: usize,
) -> Map<String, Value> {
    let mut telling = TextDescription::new(counter, tokens);
    if index.has_headings() {
        document::describe(text, &mut telling);
    } else if let Some(entries) = crate::log_entry::entries(text, index) {
        log::describe(text, index, entries, &mut telling);
    } else if let Some(found) = table::find(text) {
        table::describe(text, &found, &mut telling);
    } else {
        match index.chunker.name() {
            "prose" => prose::describe(text, index, &mut telling),
            "code" => code::describe(text, &mut telling),
            _ => describe_lines(text, index, &mut telling),
        }
    }
    telling.finish()
}

/// Lines of which nothing is known.
fn describe_lines(text: &str, index: &LineIndex, telling: &mut TextDescription) {
    let last = Value::from(truncated_line(last_line(text), telling.max_quote_chars()));
    let kept = telling.member_cost("last", &last);
    let found = severity_words::find(text, severity_words::PROBLEM_WORDS);
    severity_words::describe_counts(&found, &[], telling);
    let outline = headings::find(text, index);
    if !outline.is_empty() {
        document::describe_outline(&outline, telling.left().saturating_sub(kept) / 2, telling);
    }
    code::describe_definitions(text, telling.left().saturating_sub(kept) / 2, telling);
    severity_words::describe_first_lines(text, index, &found, telling.left().saturating_sub(kept), telling);
    telling.add("last", last);
    if let Some((number, length)) = longest_line(text).filter(|(_, length)| *length > LONG_LINE_CHARS) {
        telling.add("longestLine", format!("{number}: {length} characters"));
    }
    let mut common = LargeCounter::default();
    text.lines().map(str::trim).filter(|line| !line.is_empty()).for_each(|line| common.add_masked(line));
    counts::describe_common("common", common, (index.line_count() / 20).max(3), telling);
}

/// Characters from which on a line is worth a word.
const LONG_LINE_CHARS: usize = 300;

/// The number of the longest line, from 1, and how many characters it has.
fn longest_line(text: &str) -> Option<(usize, usize)> {
    let lines = text.lines().enumerate().max_by_key(|(at, line)| (line.len(), usize::MAX - at));
    lines.map(|(at, line)| (at + 1, line.chars().count()))
}

/// The last line that is not blank.
pub(super) fn last_line(text: &str) -> &str {
    let said = text.trim_end();
    said.rsplit('\n').next().unwrap_or_default()
}

/// How a running text ends; less of it in scripts whose characters cost more.
fn closing_excerpt(text: &str, telling: &TextDescription) -> Value {
    let width = telling.max_quote_chars().min(MAX_CLOSING_CHARS);
    let all = Value::from(closing_words(text, width));
    if telling.value_cost(&all) <= width / 2 { all } else { closing_words(text, width * 2 / 3).into() }
}

/// Characters of a closing sentence.
const MAX_CLOSING_CHARS: usize = 150;

#[cfg(test)]
mod tests;
