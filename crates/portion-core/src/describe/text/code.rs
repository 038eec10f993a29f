//! Describes source code: its definitions, with line numbers.

use serde_json::Value;

use super::text_description::{TextDescription, last_line, truncated_line};

/// Words that may precede the keyword of a definition.
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
/// Keywords of definitions.
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
/// Largest indent of a nested definition, and number of top-level definitions below which nested ones are
/// listed too.
const MAX_INDENT: usize = 4;
const MIN_TOP_LEVEL: usize = 4;
/// Longest definition shown, in characters.
const MAX_DEFINITION_CHARS: usize = 60;

pub(super) fn describe(text: &str, description: &mut TextDescription) {
    let last = Value::from(truncated_line(last_line(text), description.max_quote_chars()));
    describe_definitions(
        text,
        description.remaining().saturating_sub(description.member_cost("last", &last)),
        description,
    );
    description.add("last", last);
}

/// Describes the definitions of a text that fit the token budget.
pub(super) fn describe_definitions(text: &str, tokens: usize, description: &mut TextDescription) {
    let (mut top, mut inner) = (Vec::new(), Vec::new());
    for (at, line) in text.lines().enumerate() {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        if indent > MAX_INDENT {
            continue;
        }
        if let Some(head) = definition(bare) {
            if indent == 0 { &mut top } else { &mut inner }.push((at, head));
        }
    }
    // A file with a single class is described by its members.
    if top.len() < MIN_TOP_LEVEL {
        top.append(&mut inner);
        top.sort_unstable();
    }
    let entries: Vec<_> = top
        .iter()
        .map(|(at, head)| format!("{} {}", at + 1, truncated_line(head, MAX_DEFINITION_CHARS)))
        .collect();
    description.add_list("defines", &entries, tokens);
}

/// Returns the head of a line that defines something, up to the name.
fn definition(line: &str) -> Option<&str> {
    let mut rest = line;
    for _ in 0..6 {
        let word = rest.split([' ', '\t']).next().unwrap_or_default();
        if DEFINITION_KEYWORDS.contains(&word.split('<').next().unwrap_or(word)) {
            let after = line.len() - rest.len() + word.len();
            let end = line[after..].find(['(', '{', ';', '=']).map_or(line.len(), |end| after + end);
            let head = line[..end].trim_end().trim_end_matches(':');
            let is_named = head[after.min(head.len())..].starts_with([' ', '\t']);
            return (is_named || !word.ends_with(char::is_alphanumeric)).then_some(head);
        }
        if !MODIFIERS.contains(&word) {
            return None;
        }
        rest = rest.get(word.len()..)?.trim_start();
    }
    None
}
