//! Redacts the values of flags in commands: `--password hunter2`, and the item below one in YAML.

use std::sync::LazyLock;

use regex::Regex;

use super::code::TextFacts;
use super::pattern::{is_in, regex};
use super::setting_value::form;
use super::text_value::{ValueExtent, line_before, line_end, value_after};
use super::{Findings, REDACTED, RedactionRules};

/// Maximum bytes of a flag.
const MAX_FLAG_BYTES: usize = 64;
/// A flag, and what stands between it and its value.
static FLAG: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"(?:^|[\s"'`(\[])(--[\w-]{1,62})(?:["']|[ \t]|\r?\n)"#));
/// Words beside a flag that stands in a sentence: `the --password option of`.
const SENTENCE_WORDS: &str = "and the of can cannot can't instead is are may must to or via with for";
/// Words that describe the value of a flag.
const PLACEHOLDERS: &str = "FILE NAME PATH STRING TEXT VALUE";

/// Hides the values of the flags in a text that follow after a space. Where `=` follows, the flag is a setting.
pub(super) fn redact(rules: &RedactionRules, facts: &TextFacts<'_>, text: &str, found: &mut Findings) {
    for flag in FLAG.captures_iter(text).filter_map(|found| found.get(1)) {
        if !is_hidden_flag(rules, flag.as_str()) {
            continue;
        }
        if let Some((start, end)) = item_below(text, flag.start(), flag.end()) {
            found.hide(flag.as_str(), start..end);
            continue;
        }
        let value = value_after(text, flag.end(), ValueExtent::Word);
        let Some((start, end)) = value.filter(|_| text[flag.end()..].starts_with([' ', '\t'])) else {
            continue;
        };
        let value = &text[start..end];
        let before = line_before(text, flag.start()).split_whitespace().next_back();
        let mut around = before.into_iter().chain(text[end..line_end(text, end)].split_whitespace().take(2));
        let is_in_text =
            value.chars().all(char::is_alphabetic) && around.any(|word| is_in(SENTENCE_WORDS, word));
        // `--password <PASSWORD>` and `--password PASSWORD` describe the flag.
        let is_value = text[flag.end()..start].trim_matches(['"', '\'', '\\', '`', ' ', '\t']).is_empty()
            && !value.starts_with(['-', '<', '|', '[', '('])
            && !is_in_text
            // `--secret id=name`
            && !value.strip_prefix("id").is_some_and(|rest| rest.starts_with('='))
            && !is_in(PLACEHOLDERS, value);
        let form = form(facts, text, start, end);
        if is_value && rules.match_name(&flag.as_str()[2..]).hides(&flag.as_str()[2..], value, form) {
            found.hide(flag.as_str(), start..end);
        }
    }
}

/// Returns the item below an item of YAML that is a flag.
fn item_below(text: &str, at: usize, end: usize) -> Option<(usize, usize)> {
    let lead = line_before(text, at).trim_end_matches(['"', '\'']);
    let indent = lead.strip_suffix("- ")?;
    let rest = text[end..].trim_start_matches(['"', '\'']).trim_start_matches([' ', '\t', '\r']);
    let item = rest.strip_prefix('\n')?.strip_prefix(indent)?.strip_prefix("- ")?;
    let is_value = !item.trim_start_matches(['"', '\'']).starts_with("--") && !item.starts_with(REDACTED);
    value_after(text, text.len() - item.len(), ValueExtent::Line).filter(|_| is_value)
}

/// Returns true for a flag whose value is hidden.
pub(super) fn is_hidden_flag(rules: &RedactionRules, flag: &str) -> bool {
    let Some(name) = flag.strip_prefix("--").filter(|_| flag.len() <= MAX_FLAG_BYTES) else { return false };
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    is_name && !name.starts_with("no-") && rules.match_name(name).is_hidden()
}
