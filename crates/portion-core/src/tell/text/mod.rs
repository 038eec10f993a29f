//! What is told of a text, by its kind.

mod code;
mod counts;
mod document;
mod headings;
mod log;
mod prose;
mod table;
mod telling;
mod words;

use serde_json::{Map, Value};

use crate::snapshot::Text;
use crate::tokens::TokenCounter;
use counts::Many;
use telling::{Telling, closing, quoted};

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
pub(crate) fn told(
    text: &str,
    index: &Text,
    counter: &dyn TokenCounter,
    tokens: usize,
) -> Map<String, Value> {
    let mut telling = Telling::new(counter, tokens);
    if index.has_headings() {
        document::tell(text, &mut telling);
    } else if let Some(entries) = crate::entry::entries(text, index) {
        log::tell(text, index, entries, &mut telling);
    } else if let Some(found) = table::find(text) {
        table::tell(text, &found, &mut telling);
    } else {
        match index.chunker.name() {
            "prose" => prose::tell(text, index, &mut telling),
            "code" => code::tell(text, &mut telling),
            _ => lines(text, index, &mut telling),
        }
    }
    telling.finish()
}

/// Lines of which nothing is known.
fn lines(text: &str, index: &Text, telling: &mut Telling) {
    let last = Value::from(quoted(last_line(text), telling.width()));
    let kept = telling.cost_of("last", &last);
    let found = words::find(text, words::GRAVE);
    words::tell(&found, &[], telling);
    let outline = headings::of(text, index);
    if !outline.is_empty() {
        document::tell_outline(&outline, telling.left().saturating_sub(kept) / 2, telling);
    }
    code::tell_defined(text, telling.left().saturating_sub(kept) / 2, telling);
    words::tell_first(text, index, &found, telling.left().saturating_sub(kept), telling);
    telling.say("last", last);
    if let Some((number, length)) = longest(text).filter(|(_, length)| *length > LONG) {
        telling.say("longestLine", format!("{number}: {length} characters"));
    }
    let mut common = Many::default();
    text.lines().map(str::trim).filter(|line| !line.is_empty()).for_each(|line| common.add_masked(line));
    counts::say_common("common", common, (index.line_count() / 20).max(3), telling);
}

/// Characters from which on a line is worth a word.
const LONG: usize = 300;

/// The number of the longest line, from 1, and how many characters it has.
fn longest(text: &str) -> Option<(usize, usize)> {
    let lines = text.lines().enumerate().max_by_key(|(at, line)| (line.len(), usize::MAX - at));
    lines.map(|(at, line)| (at + 1, line.chars().count()))
}

/// The last line that is not blank.
pub(super) fn last_line(text: &str) -> &str {
    let said = text.trim_end();
    said.rsplit('\n').next().unwrap_or_default()
}

/// How a running text ends; less of it in scripts whose characters cost more.
fn closing_of(text: &str, telling: &Telling) -> Value {
    let width = telling.width().min(CLOSING);
    let all = Value::from(closing(text, width));
    if telling.cost(&all) <= width / 2 { all } else { closing(text, width * 2 / 3).into() }
}

/// Characters of a closing sentence.
const CLOSING: usize = 150;

#[cfg(test)]
mod tests;
