//! Redacts the values of flags in commands: `--password hunter2`, `curl -u ann:hunter2`.

use memchr::memmem;

use super::code::TextFacts;
use super::name::SecretKind;
use super::pattern::is_in;
use super::setting_value::form;
use super::text_value::{ValueExtent, line_before, line_end, value_after};
use super::value::{Form, is_secret_value, is_word};
use super::{Findings, REDACTED, RedactionRules};

/// Maximum bytes of a flag.
const MAX_FLAG_BYTES: usize = 64;
const MARK: &str = "--";

/// Hides the values of the flags in a text that follow after a space. Where `=` follows, the flag is a setting.
pub(super) fn redact(rules: &RedactionRules, facts: &TextFacts<'_>, text: &str, found: &mut Findings) {
    for at in memmem::find_iter(text.as_bytes(), MARK) {
        if text[..at].ends_with(|c: char| !c.is_whitespace() && !"\"'`([".contains(c)) {
            continue;
        }
        let near = &text[at..text.floor_char_boundary(at + MAX_FLAG_BYTES)];
        let len = near.find(|c: char| c.is_whitespace() || "\"'".contains(c));
        let Some(len) = len.filter(|len| is_hidden_flag(rules, &near[..*len])) else { continue };
        let flag = &near[..len];
        if let Some((start, end)) = item_below(text, at, at + len) {
            found.hide(flag, start..end);
            continue;
        }
        if !near[len..].starts_with([' ', '\t']) {
            continue;
        }
        let Some((start, end)) = value_after(text, at + len, ValueExtent::Word) else { continue };
        let value = &text[start..end];
        let is_in_text =
            is_word(value) && is_in_sentence(line_before(text, at), &text[end..line_end(text, end)]);
        // `--password <PASSWORD>` and `--password PASSWORD` describe the flag.
        let is_value = text[at + len..start].trim_matches(['"', '\'', '\\', '`', ' ', '\t']).is_empty()
            && !value.starts_with(['-', '<', '|', '[', '('])
            && !is_in_text
            && !is_in("FILE NAME PATH STRING TEXT VALUE", value)
            && is_secret_value(
                SecretKind::Password,
                &flag[MARK.len()..],
                value,
                form(facts, text, start, end),
            );
        if is_value {
            found.hide(flag, start..end);
        }
    }
}

/// Returns true for a flag in a sentence, given what stands before and after it and its next word: `the --password option of`.
fn is_in_sentence(before: &str, after: &str) -> bool {
    let mut words = before.split_whitespace().rev().take(1).chain(after.split_whitespace().take(2));
    words.any(|word| is_in("and the of can cannot can't instead is are may must to or via with for", word))
}

/// Hides the passwords of logins in commands: `curl -u ann:hunter2`.
pub(super) fn redact_logins(text: &str, found: &mut Findings) {
    for begin in memmem::find_iter(text.as_bytes(), "curl ") {
        let mut is_continued = true;
        let mut lines = text[begin..].split_inclusive('\n');
        let len = lines
            .by_ref()
            .take_while(|line| std::mem::replace(&mut is_continued, line.trim_end().ends_with('\\')));
        let command = &text[begin..begin + len.map(str::len).sum::<usize>()];
        for at in [" -u", " --user"]
            .iter()
            .flat_map(|flag| command.match_indices(flag))
            .map(|(at, flag)| begin + at + flag.len())
        {
            let value =
                value_after(text, at, ValueExtent::Word).filter(|_| text[at..].starts_with([' ', '=']));
            let Some((start, end)) = value else { continue };
            let password = text[start..end].split_once(':').map_or("", |(_, password)| password);
            let is_shown = !password.starts_with(['[', '<', '(']);
            if is_shown && is_secret_value(SecretKind::Password, "", password, Form::Data) {
                found.hide("password", end - password.len()..end);
            }
        }
    }
}

/// Returns the item below an item of YAML that is a flag.
fn item_below(text: &str, at: usize, end: usize) -> Option<(usize, usize)> {
    let lead = line_before(text, at).trim_end_matches(['"', '\'']);
    let indent = lead.strip_suffix("- ")?;
    let rest = text[end..].trim_start_matches(['"', '\'']).trim_start_matches([' ', '\t', '\r']);
    let item = rest.strip_prefix('\n')?.strip_prefix(indent)?.strip_prefix("- ")?;
    let is_value = !item.trim_start_matches(['"', '\'']).starts_with(MARK) && !item.starts_with(REDACTED);
    value_after(text, text.len() - item.len(), ValueExtent::Line).filter(|_| is_value)
}

/// Returns true for a flag whose value is hidden.
pub(super) fn is_hidden_flag(rules: &RedactionRules, flag: &str) -> bool {
    let Some(name) = flag.strip_prefix(MARK).filter(|_| flag.len() <= MAX_FLAG_BYTES) else { return false };
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    is_name && !name.starts_with("no-") && rules.match_name(name).is_hidden()
}
