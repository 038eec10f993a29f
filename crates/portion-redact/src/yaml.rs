//! Finds values in YAML that do not simply follow their name: lists and texts below it, values after a tag or an anchor, and
//! those of anchors to which hidden settings refer: `pw: &pw hunter2` beside `password: *pw`.

use std::collections::BTreeMap;

use memchr::memchr_iter;

use super::code::TextFacts;
use super::pattern::is_in;
use super::setting_value::{Setting, SettingValue};
use super::text_value::{ValueExtent, line_before, line_end};
use super::value::Form;
use super::{Findings, NameMatch};

/// Maximum bytes of an anchor.
const MAX_ANCHOR_BYTES: usize = 128;
/// First members of items that name a secret.
const NAMING_KEYS: &str = "name source id ref secretName secretRef key type uses from external";

/// Hides the values of the anchors of aliases that are values of hidden settings, with the names of these. `raw`: the text as written.
pub(super) fn redact_anchors(
    (raw, text): (&str, &str),
    facts: &TextFacts<'_>,
    aliases: &BTreeMap<&str, &str>,
    found: &mut Findings,
) {
    for anchor in memchr_iter(b'&', raw.as_bytes()).filter(|_| !aliases.is_empty()) {
        let near = &raw[anchor..raw.floor_char_boundary(anchor + MAX_ANCHOR_BYTES)];
        let end = anchor + near.find(char::is_whitespace).unwrap_or(near.len());
        let name = aliases.get(&raw[anchor + 1..end]).filter(|_| text[anchor..].starts_with(' '));
        let Some(name) = name else { continue };
        let Some(at) = text[..anchor].rfind([':', '-']) else { continue };
        let verdict = NameMatch { is_named: true, ..NameMatch::default() };
        if redact_block(text, at, Setting { name, verdict, facts }, found).is_none() {
            let is_in_braces = line_before(text, at).contains(['{', '[']);
            let extent = if is_in_braces { ValueExtent::WORD } else { ValueExtent::Line };
            let verdict = NameMatch { is_secret: true, ..NameMatch::default() };
            if let Some(value) = SettingValue::find(text, at, extent, true) {
                value.hide((text, at), Setting { name, verdict, facts }, value.value.clone(), found);
            }
        }
    }
}

/// Returns the name of the alias that is a value: `pw` of `*pw`.
pub(super) fn alias_name(value: &str) -> Option<&str> {
    let name = value.strip_prefix('*')?;
    let len = name.find(|c: char| c.is_whitespace() || ",]}".contains(c)).unwrap_or(name.len());
    let is_anchor = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
    Some(&name[..len]).filter(|name| !name.is_empty() && name.bytes().all(is_anchor))
}

/// Hides a list, or the lines after `|` or `>`, that begins after the line of its name, whose separator is at `at`. Returns the end of
/// the value, or `None` if there is none. Mappings are left to the rules for their own names.
pub(super) fn redact_block(
    text: &str,
    at: usize,
    setting: Setting<'_>,
    found: &mut Findings,
) -> Option<usize> {
    let Setting { name, verdict, .. } = setting;
    let header = text[at + 1..].trim_start_matches([' ', '\t']);
    let scalar = header.strip_prefix(['|', '>']);
    let is_scalar = scalar.is_some();
    let rest = scalar.map_or(header, |rest| rest.trim_start_matches(|c: char| "+-0123456789".contains(c)));
    let rest = rest.trim_start_matches([' ', '\t', '\r']).strip_prefix('\n')?;
    let line_start = text[..at].rfind('\n').map_or(0, |feed| feed + 1);
    let name_indent = indent_of(&text[line_start..at]);
    let (mut start, mut item_indent, mut value_end) = (text.len() - rest.len(), None, None);
    // True in an item that names a secret: `- name: regcred`.
    let mut is_reference = false;
    while start < text.len() {
        let end = line_end(text, start);
        let line = text[start..end].trim_end();
        let (indent, content) = (indent_of(line), line.trim_start());
        let item = content.strip_prefix('-').filter(|rest| rest.is_empty() || rest.starts_with(' '));
        let value = match item {
            _ if content.is_empty() && (is_scalar || item_indent.is_some()) => "",
            _ if is_scalar && indent > name_indent => content,
            Some(rest) if !is_scalar && indent >= item_indent.unwrap_or(name_indent) => {
                item_indent.get_or_insert(indent);
                rest.trim_start()
            }
            _ if item_indent.is_some_and(|item| indent > item) => content,
            _ => break,
        };
        if !value.is_empty() {
            let end = start + line.len();
            let first_word = value.split([' ', ':']).next().unwrap_or_default();
            let is_named = item.is_some() && value.contains(": ") && is_in(NAMING_KEYS, first_word);
            let written = format!(": {value}");
            let form = Form::Bare { line: &written };
            is_reference = (is_reference || item.is_some()) && (is_named || item.is_none() && is_reference);
            if is_scalar || !is_reference && verdict.hides(name, value, form) {
                found.hide(name, end - value.len()..end);
            }
            value_end = Some(end);
        }
        start = end + 1;
    }
    value_end
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}
