//! Finds the name that belongs to a value in text: `- name: password` on one line and `value: hunter2` on the next,
//! `<add key="password" value="hunter2"/>`.

use memchr::memchr2_iter;

use super::NameMatch;
use super::delimited::MAX_SECRET_NAME_WORDS;
use super::pair::{PairRole, may_be_pair_secret};
use super::setting_path::name_of_block;
use super::text_name::name_before;
use super::text_value::{ValueExtent, is_line_lead, value_after};

/// Maximum lines between the name and the value of a pair, and bytes of a line that are read on each side.
const MAX_LINES: usize = 4;
const MAX_LINE_BYTES: usize = 256;
/// Maximum separators on each side that are read for names.
const MAX_SEPARATORS: usize = 8;

/// A value whose name beside it is hidden.
pub(super) struct TextPair<'t> {
    pub name: &'t str,
    /// True if the value has a line of its own.
    pub begins_line: bool,
}

impl<'t> TextPair<'t> {
    /// Returns the pair whose value follows the separator at `at`, if `key` is the key of values.
    pub(super) fn detect(
        text: &'t str,
        at: usize,
        key: &str,
        mut matched: impl FnMut(&str) -> NameMatch,
    ) -> Option<Self> {
        let role = PairRole::of(key).filter(|role| role.is_value())?;
        let mut is_hidden = |(name_role, name): (PairRole, &'t str)| {
            let verdict = matched(name);
            let may_be_secret = || {
                let value = value_after(text, at + 1, ValueExtent::Word)
                    .and_then(|(start, end)| text.get(start..end));
                value.is_none_or(|value| may_be_pair_secret((name_role, name), (role, value)))
            };
            let is_name = || name.split_whitespace().nth(MAX_SECRET_NAME_WORDS).is_none();
            verdict.is_named || verdict.is_secret && is_name() && may_be_secret()
        };
        let key_start = text[..at].rfind(key)?;
        let (before, after) = segment_around(text, key_start, at);
        let mut same_line = names_before(text, before).chain(names_in(text, after));
        let from = text.ceil_char_boundary(key_start.saturating_sub(MAX_LINE_BYTES)).min(key_start);
        let line_start =
            text[from..key_start].rfind('\n').map(|feed| from + feed + 1).or((from == 0).then_some(0));
        let line_start = line_start.filter(|start| is_line_lead(&text[*start..key_start]));
        if let Some((_, name)) = same_line.find(|name| is_hidden(*name)) {
            return Some(Self { name, begins_line: false });
        }
        let mut names = line_start.map(|start| names_of_item(text, start, key_start - start))?;
        names.extend(name_of_block(text, key_start).map(|name| (PairRole::Name, name)));
        let (_, name) = names.into_iter().find(|name| is_hidden(*name))?;
        Some(Self { name, begins_line: true })
    }
}

/// Returns the ranges of the line before and after a key that are in the same braces or tag.
fn segment_around(text: &str, key_start: usize, at: usize) -> ((usize, usize), (usize, usize)) {
    let from = text.ceil_char_boundary(key_start.saturating_sub(MAX_LINE_BYTES)).min(key_start);
    let start =
        text[from..key_start].rfind(['\n', '{', '}', '<', '>']).map_or(from, |found| from + found + 1);
    let until = text.floor_char_boundary((at + MAX_LINE_BYTES).min(text.len())).max(at);
    let end = text[at..until].find(['\n', '{', '}', '<', '>']).map_or(until, |found| at + found);
    ((start, key_start), (at + 1, end))
}

/// Returns the first names of pairs in a range of the text, with their roles.
pub(super) fn names_in(text: &str, range: (usize, usize)) -> impl Iterator<Item = (PairRole, &str)> {
    let bytes = text.get(range.0..range.1).unwrap_or_default().as_bytes();
    let separators = memchr2_iter(b'=', b':', bytes).take(MAX_SEPARATORS);
    separators.filter_map(move |separator| name_after(text, range.0 + separator, range.1))
}

/// Returns the last names of pairs in a range of the text, the last one first.
fn names_before(text: &str, range: (usize, usize)) -> impl Iterator<Item = (PairRole, &str)> {
    let bytes = text.get(range.0..range.1).unwrap_or_default().as_bytes();
    let separators = memchr2_iter(b'=', b':', bytes).rev().take(MAX_SEPARATORS);
    separators.filter_map(move |separator| name_after(text, range.0 + separator, range.1))
}

/// Returns the name after a separator, if a key of names stands before it.
fn name_after(text: &str, at: usize, end: usize) -> Option<(PairRole, &str)> {
    let key = name_before(text, at).or_else(|| short_name_before(text, at))?;
    let role = PairRole::of(key).filter(|role| role.is_name())?;
    let (start, value_end) = value_after(text, at + 1, ValueExtent::Word)?;
    // A name may have several words, without quotes up to the end of its line.
    let is_quoted = text[..start].ends_with(['"', '\'', '`']);
    let rest = text.get(start..end)?;
    let name =
        if is_quoted || rest.contains([',', '=', ':']) { text.get(start..value_end)? } else { rest.trim() };
    Some((role, name))
}

/// Returns a name of two letters before a separator: `id`.
fn short_name_before(text: &str, at: usize) -> Option<&str> {
    let near = text[..at].trim_end_matches([' ', '\t', '"', '\'']);
    near.get(near.len().checked_sub(2)?..).filter(|name| name.eq_ignore_ascii_case("id"))
}

/// Returns the names on the lines around a line, in the same item of a list: those with the same indentation. The dash of
/// an item counts as indentation.
fn names_of_item(text: &str, line_start: usize, indent: usize) -> Vec<(PairRole, &str)> {
    let mut found = Vec::new();
    let mut start = line_start;
    let line_end = |start: usize| text[start..].find('\n').map_or(text.len(), |len| start + len);
    let is_first = |start: usize| text[start..].trim_start_matches([' ', '\t']).starts_with("- ");
    for _ in 0..MAX_LINES {
        if is_first(start) || start == 0 {
            break;
        }
        let end = start - 1;
        start = text[..end].rfind('\n').map_or(0, |feed| feed + 1);
        if !add_line_names(text, (start, end), indent, &mut found) {
            break;
        }
    }
    let mut end = line_end(line_start);
    for _ in 0..MAX_LINES {
        let start = end + 1;
        if start >= text.len() || is_first(start) {
            break;
        }
        end = line_end(start);
        if !add_line_names(text, (start, end), indent, &mut found) {
            break;
        }
    }
    found
}

/// Adds the names on a line with this indentation. Returns false if the line ends the item.
fn add_line_names<'t>(
    text: &'t str,
    (start, end): (usize, usize),
    indent: usize,
    found: &mut Vec<(PairRole, &'t str)>,
) -> bool {
    let line = &text[start..end];
    let content = line.trim_start_matches([' ', '\t', '-']);
    let own_indent = line.len() - content.len();
    if content.trim().is_empty() || own_indent < indent {
        return false;
    }
    if own_indent == indent {
        let until = text.floor_char_boundary((start + MAX_LINE_BYTES).min(end));
        found.extend(names_in(text, (start, until.max(start))).take(1));
    }
    true
}
