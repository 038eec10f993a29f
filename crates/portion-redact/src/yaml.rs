//! Finds values in YAML that do not simply follow their name: lists and texts below it, values after a tag or an anchor, and
//! those of anchors to which hidden settings refer: `pw: &pw hunter2` beside `password: *pw`.

use std::collections::BTreeMap;

use memchr::memchr_iter;

use super::code::TextFacts;
use super::pattern::is_in;
use super::setting_value::{Setting, SettingValue};
use super::text_value::{ValueExtent, line_before, line_end};
use super::value::Form;
use super::yaml_property::{after_properties, is_anchor_name, property_len};
use super::{Findings, NameMatch};

/// First members of items that name a secret.
const NAMING_KEYS: &str = "name source id ref secretName secretRef key type uses from external";

/// Hides the value that stands on the lines after its name, the separator of which is at `at`. Returns the end of the value,
/// or `None` if there is none. The tag and the anchor before a list are hidden with it.
pub(super) fn redact_below(
    text: &str,
    at: usize,
    setting: Setting<'_>,
    found: &mut Findings,
) -> Option<usize> {
    let from = after_properties(text, at + 1);
    let first_edit = found.edits.len();
    let end = redact_block(text, at, from.unwrap_or(at + 1), setting, found)?;
    if let Some(from) = from
        && found.edits.len() > first_edit
        && text[from..].trim_start_matches([' ', '\t', '\r']).starts_with('\n')
    {
        let start = text.len() - text[at + 1..].trim_start_matches([' ', '\t']).len();
        found.hide(setting.name, start..from);
    }
    Some(end)
}

/// Hides the values of the anchors of aliases that are values of hidden settings, with the names of these.
pub(super) fn redact_anchors(
    text: &str,
    facts: &TextFacts<'_>,
    aliases: &BTreeMap<&str, &str>,
    found: &mut Findings,
) {
    let mut done = 0;
    for at in memchr_iter(b'&', text.as_bytes()).take_while(|_| !aliases.is_empty()) {
        let Some((end, name)) = anchor_end(text, at, aliases).filter(|_| at >= done) else { continue };
        let from = after_properties(text, end).unwrap_or(end);
        let verdict = NameMatch { is_named: true, ..NameMatch::default() };
        done = redact_block(text, at, from, Setting { name, verdict, facts }, found).unwrap_or_else(|| {
            let is_in_braces = line_before(text, at).contains(['{', '[']);
            let extent = if is_in_braces { ValueExtent::Word } else { ValueExtent::Line };
            let value = SettingValue::read(text, (at, from), extent, true);
            let verdict = NameMatch { is_secret: true, ..NameMatch::default() };
            value.map_or(end, |value| value.hide(text, at, Setting { name, verdict, facts }, found))
        });
    }
}

/// Returns the end of the anchor at an offset, and the name of the setting that refers to it, if it begins a value.
fn anchor_end<'a>(text: &str, at: usize, aliases: &BTreeMap<&str, &'a str>) -> Option<(usize, &'a str)> {
    let end = at + property_len(&text[at..])?;
    let name = aliases.get(&text[at + 1..end])?;
    let before = line_before(text, at);
    let content = before.trim_end_matches([' ', '\t']);
    let tag = content.rsplit([' ', '\t']).next().filter(|word| word.starts_with('!'));
    let lead = content[..content.len() - tag.map_or(0, str::len)].trim_end_matches([' ', '\t']);
    (content.len() < before.len() && lead.ends_with([':', '-'])).then_some((end, *name))
}

/// Returns the name of the alias that is a value: `pw` of `*pw`.
pub(super) fn alias_name(value: &str) -> Option<&str> {
    let name = value.strip_prefix('*')?;
    let len = name.find(|c: char| c.is_whitespace() || ",]}".contains(c)).unwrap_or(name.len());
    Some(&name[..len]).filter(|name| is_anchor_name(name))
}

/// Hides a list, or the lines after `|` or `>`, that begins after the line of its name at `at`. `from`: the offset after the
/// name. Returns the end of the value, or `None` if there is none. Mappings are left to the rules for their own names.
fn redact_block(
    text: &str,
    at: usize,
    from: usize,
    setting: Setting<'_>,
    found: &mut Findings,
) -> Option<usize> {
    let Setting { name, verdict, .. } = setting;
    let header = text[from..].trim_start_matches([' ', '\t']);
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
