//! Finds the name that belongs to a value in text: `- name: password` on one line and `value: hunter2` on the next,
//! `<add key="password" value="hunter2"/>`.

use memchr::memchr2_iter;

use super::RedactionRules;
use super::columns::MAX_SECRET_NAME_WORDS;
use super::pair::{PairRole, may_be_pair_secret};
use super::setting_name::{indent_of, mapping_around, name_before, name_of_block};
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
    /// Returns the pair whose value follows the separator at `at`, after a key of values with this role.
    pub(super) fn detect(
        rules: &RedactionRules,
        text: &'t str,
        at: usize,
        (key, role): (&str, PairRole),
    ) -> Option<Self> {
        let value =
            value_after(text, at + 1, ValueExtent::WORD).and_then(|(start, end)| text.get(start..end));
        let is_hidden = |(name_role, name): &(PairRole, &'t str)| {
            let verdict = rules.match_pair_name(name);
            let may_be_secret =
                || value.is_none_or(|value| may_be_pair_secret((*name_role, name), (role, value)));
            let is_name = || name.split_whitespace().nth(MAX_SECRET_NAME_WORDS).is_none();
            verdict.is_named || verdict.is_secret && is_name() && may_be_secret()
        };
        let key_start = text[..at].rfind(key)?;
        let from = text.ceil_char_boundary(key_start.saturating_sub(MAX_LINE_BYTES)).min(key_start);
        let until = text.floor_char_boundary(at + MAX_LINE_BYTES).max(at + 1);
        // The parts of the line that are in the same braces or tag.
        let ends = ['\n', '{', '}', '<', '>'];
        let before = text[from..key_start].rsplit(ends).next().unwrap_or_default();
        let after = text[at + 1..until].split(ends).next().unwrap_or_default();
        let mut same_line =
            names_in(before).rev().take(MAX_SEPARATORS).chain(names_in(after).take(MAX_SEPARATORS));
        if let Some((_, name)) = same_line.find(is_hidden) {
            return Some(Self { name, begins_line: false });
        }
        let lead = text[from..key_start].rsplit('\n').next().unwrap_or_default();
        let line_start = key_start - lead.len();
        if line_start == from && from > 0 || !is_line_lead(lead) {
            return None;
        }
        let block = name_of_block(text, key_start).map(|name| (PairRole::Name, name));
        let mut names = names_of_item(text, line_start, lead.len()).into_iter().chain(block);
        names.find(is_hidden).map(|(_, name)| Self { name, begins_line: true })
    }
}

/// Yields the names of pairs in a part of a line, with their roles.
pub(super) fn names_in(part: &str) -> impl DoubleEndedIterator<Item = (PairRole, &str)> {
    memchr2_iter(b'=', b':', part.as_bytes()).filter_map(move |at| name_after(part, at))
}

/// Returns the name after a separator, if a key of names stands before it.
fn name_after(text: &str, at: usize) -> Option<(PairRole, &str)> {
    let key = name_before(text, at)?;
    let role = PairRole::of(key).filter(|role| role.is_name())?;
    let (start, end) = value_after(text, at + 1, ValueExtent::WORD)?;
    // A name may have several words, without quotes up to the end of its line.
    let is_quoted = text[..start].ends_with(['"', '\'', '`']);
    let is_alone = !is_quoted && !text[start..].contains([',', '=', ':']);
    Some((role, if is_alone { text[start..].trim() } else { &text[start..end] }))
}

/// Returns the names on the lines around a line, in the same item of a list: those with the same indentation.
fn names_of_item(text: &str, line_start: usize, indent: usize) -> Vec<(PairRole, &str)> {
    let is_inside = |line: &str| !line[indent_of(line)..].trim().is_empty() && indent_of(line) >= indent;
    let lines = mapping_around(text, line_start, MAX_LINES, is_inside);
    let own = text[..line_start].get(lines.start..).map_or(0, |above| above.lines().count());
    let siblings =
        text[lines].lines().enumerate().filter(|(at, line)| *at != own && indent_of(line) == indent);
    let near = |line: &'_ str| line.floor_char_boundary(MAX_LINE_BYTES);
    siblings.filter_map(|(_, line)| names_in(&line[..near(line)]).next()).collect()
}
