//! Hides the values of anchors in YAML to which hidden settings refer: `pw: &pw hunter2` beside `password: *pw`.

use std::collections::BTreeSet;

use memchr::memchr_iter;

use super::setting_value::SettingValue;
use super::text_value::{ValueExtent, line_before};
use super::yaml_value::{add_block_edits, after_properties, is_anchor_name, property_len};
use super::{NameMatch, TextEdit};

/// Returns the name of the alias that is a value: `pw` of `*pw`.
pub(super) fn alias_name(value: &str) -> Option<&str> {
    let name = value.strip_prefix('*')?;
    let len = name.find(|c: char| c.is_whitespace() || ",]}".contains(c)).unwrap_or(name.len());
    Some(&name[..len]).filter(|name| is_anchor_name(name))
}

/// Adds the edits for the values of the anchors with these names.
pub(super) fn collect_edits(text: &str, names: &BTreeSet<&str>, edits: &mut Vec<TextEdit>) {
    if names.is_empty() {
        return;
    }
    let mut done = 0;
    for at in memchr_iter(b'&', text.as_bytes()) {
        if at < done {
            continue;
        }
        let Some(end) = anchor_end(text, at, names) else { continue };
        let from = after_properties(text, end).unwrap_or(end);
        let block_end = add_block_edits(
            text,
            at,
            from,
            ("", NameMatch { is_named: true, ..NameMatch::default() }),
            edits,
        );
        done = block_end.or_else(|| add_value_edit(text, at, from, edits)).unwrap_or(end);
    }
}

/// Hides the value on the line of an anchor, and returns its end.
fn add_value_edit(text: &str, at: usize, from: usize, edits: &mut Vec<TextEdit>) -> Option<usize> {
    let extent =
        if line_before(text, at).contains(['{', '[']) { ValueExtent::Word } else { ValueExtent::Line };
    let value = SettingValue::read(text, (at, from), extent, true)?;
    let verdict = NameMatch { is_secret: true, ..NameMatch::default() };
    edits.extend(value.edit(text, at, ("", verdict)));
    Some(value.replaced.end)
}

/// Returns the end of the anchor at an offset, if it has one of these names and begins a value.
fn anchor_end(text: &str, at: usize, names: &BTreeSet<&str>) -> Option<usize> {
    let len = property_len(&text[at..])?;
    let is_known = names.contains(&text[at + 1..at + len]);
    let before = line_before(text, at);
    let content = before.trim_end_matches([' ', '\t']);
    let tag = content.rsplit([' ', '\t']).next().filter(|word| word.starts_with('!'));
    let lead = content[..content.len() - tag.map_or(0, str::len)].trim_end_matches([' ', '\t']);
    let begins_value = content.len() < before.len() && lead.ends_with([':', '-']);
    (is_known && begins_value).then_some(at + len)
}
