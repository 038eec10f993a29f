//! What is told of source code: what it defines, with the lines.

use serde_json::Value;

use super::last_line;
use super::text_description::{TextDescription, truncated_line};

/// Words that stand before the one that says what is defined.
const MODIFIERS: &[&str] = &[
    "pub",
    "pub(crate)",
    "pub(super)",
    "export",
    "default",
    "async",
    "public",
    "private",
    "protected",
    "internal",
    "static",
    "final",
    "abstract",
    "sealed",
    "unsafe",
    "extern",
    "inline",
    "virtual",
    "override",
    "open",
    "partial",
    "declare",
];
/// Words that say what is defined.
const DEFINITION_KEYWORDS: &[&str] = &[
    "fn",
    "def",
    "class",
    "struct",
    "enum",
    "trait",
    "impl",
    "mod",
    "function",
    "func",
    "interface",
    "type",
    "module",
    "namespace",
    "record",
    "object",
    "protocol",
    "extension",
    "macro_rules!",
    "CREATE",
    "resource",
    "data",
    "variable",
    "output",
    "defmodule",
    "sub",
    "diff",
];
/// Columns within which a definition in another begins, and definitions on the left that are few.
const MAX_INDENT: usize = 4;
const MIN_TOP_LEVEL: usize = 4;
/// Characters of a definition.
const MAX_DEFINITION_CHARS: usize = 60;

pub(super) fn describe(text: &str, telling: &mut TextDescription) {
    let last = Value::from(truncated_line(last_line(text), telling.max_quote_chars()));
    describe_definitions(text, telling.left().saturating_sub(telling.member_cost("last", &last)), telling);
    telling.add("last", last);
}

/// Says what a text defines, as far as it fits into so many tokens.
pub(super) fn describe_definitions(text: &str, tokens: usize, telling: &mut TextDescription) {
    let (mut top, mut inner) = (Vec::new(), Vec::new());
    for (at, line) in text.lines().enumerate() {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        if indent > MAX_INDENT {
            continue;
        }
        if let Some(said) = definition(bare) {
            if indent == 0 { &mut top } else { &mut inner }.push((at, said));
        }
    }
    // A file of one class is told by what is in it.
    if top.len() < MIN_TOP_LEVEL {
        top.append(&mut inner);
        top.sort_unstable();
    }
    let told: Vec<_> = top
        .iter()
        .map(|(at, said)| format!("{} {}", at + 1, truncated_line(said, MAX_DEFINITION_CHARS)))
        .collect();
    telling.add_list("defines", &told, tokens);
}

/// The beginning of a line that defines something, as far as its name.
fn definition(line: &str) -> Option<&str> {
    let mut rest = line;
    for _ in 0..6 {
        let word = rest.split([' ', '\t']).next().unwrap_or_default();
        if DEFINITION_KEYWORDS.contains(&word.split('<').next().unwrap_or(word)) {
            let after = line.len() - rest.len() + word.len();
            let end = line[after..].find(['(', '{', ';', '=']).map_or(line.len(), |end| after + end);
            let said = line[..end].trim_end().trim_end_matches(':');
            let is_named = said[after.min(said.len())..].starts_with([' ', '\t']);
            return (is_named || !word.ends_with(char::is_alphanumeric)).then_some(said);
        }
        if !MODIFIERS.contains(&word) {
            return None;
        }
        rest = rest.get(word.len()..)?.trim_start();
    }
    None
}
