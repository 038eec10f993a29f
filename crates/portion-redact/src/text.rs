//! Redacts text that is not JSON: values of settings, and what other modules find in text.
//!
//! One pass, with bounded lookback.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use memchr::memchr2_iter;

use super::code::TextFacts;
use super::name::{SecretKind, secret_kind};
use super::pair::{is_phrase_name, last_two_names};
use super::setting_path::path_before;
use super::setting_value::SettingValue;
use super::short_password::{is_password_setting, is_short_name};
use super::text_name::{decoded_name, name_before, quote_before, words_before};
use super::text_pair::TextPair;
use super::text_value::{ValueExtent, is_line_lead, is_whole_line_field, line_before, value_after};
use super::yaml_anchor::{self, alias_name};
use super::yaml_value::add_edits_below;
use super::{NameMatch, REDACTED, RedactedNames, RedactionRules, TextEdit, flag, manifest, markup, token};

/// Maximum names whose result is cached.
const MAX_CACHED_NAMES: usize = 1_024;

/// Finds hidden names of settings.
struct SettingNames<'r, 't> {
    redact: &'r RedactionRules,
    /// Logs repeat the same names on every line.
    verdicts: BTreeMap<&'t str, NameMatch>,
    facts: &'r TextFacts<'t>,
}

/// Returns true for a short name such as `pass` whose value is a password.
fn is_short_password(text: &str, at: usize, word: &str) -> bool {
    let value = if is_short_name(word) { value_after(text, at + 1, ValueExtent::Word) } else { None };
    value.is_some_and(|(start, end)| is_password_setting(text, at, &text[start..end]))
}

/// Returns the edits for a text. In the ranges `json`, containers are left to the rules for JSON.
pub(super) fn collect_edits(
    redact: &RedactionRules,
    text: &str,
    json: &[Range<usize>],
) -> (Vec<TextEdit>, RedactedNames) {
    let (mut edits, mut names) = (Vec::new(), RedactedNames::default());
    let facts = TextFacts::new(text);
    let mut names_of_settings = SettingNames { redact, verdicts: BTreeMap::new(), facts: &facts };
    let mut aliases = BTreeSet::new();
    let mut done = 0;
    for at in memchr2_iter(b'=', b':', text.as_bytes()) {
        if at < done {
            continue;
        }
        // `HeaderValue::from_static` is a path of source code.
        let is_path = text[at..].strip_prefix("::").is_some_and(|rest| !rest.starts_with([' ', '\t']));
        let Some(word) = name_before(text, at).filter(|_| !is_path) else { continue };
        let is_json =
            json.get(json.partition_point(|range| range.end <= at)).is_some_and(|r| r.contains(&at));
        let name = names_of_settings.name_at(text, at, word, is_json);
        let pair = if name.is_some() || is_json {
            None
        } else {
            TextPair::detect(text, at, word, |name| redact.match_pair_name(name))
        };
        let is_short = || redact.hides_secrets && !is_json && is_short_password(text, at, word);
        let name = name.or(pair.as_ref().map(|pair| pair.name)).or_else(|| is_short().then_some(word));
        let Some(name) = name else { continue };
        let mut verdict =
            if pair.is_some() { redact.match_pair_name(name) } else { names_of_settings.match_name(name) };
        // A path of the operator, or a short name.
        verdict.is_named |= !verdict.is_hidden() && !is_short_name(name) && !is_signature(text, at, word);
        verdict.is_secret |= !verdict.is_named;
        let first_edit = edits.len();
        if text.as_bytes()[at] == b':'
            && let Some(end) = add_edits_below(text, at, (name, verdict), &mut edits)
        {
            if edits.len() > first_edit {
                names.add(name.to_owned());
            }
            let items = edits[first_edit..].iter().map(|edit| &text[edit.start..edit.end]);
            aliases.extend(items.filter_map(alias_name));
            done = end;
            continue;
        }
        let extent = match pair {
            Some(TextPair { begins_line: true, .. }) => ValueExtent::Line,
            Some(_) => ValueExtent::Word,
            None => ValueExtent::of_setting(text, at, name, word),
        };
        let may_be_container = !quote_before(text, at).is_empty() || !is_whole_line_field(name);
        let found = if is_json {
            SettingValue::find_in_json(text, at, extent)
                .filter(|found| !text[found.value.clone()].starts_with("//"))
        } else {
            SettingValue::find(text, at, extent, may_be_container)
        };
        let Some(found) = found else { continue };
        // An earlier pass hid it, perhaps together with a bracket.
        if begins_redacted(&text[found.value.start..]) {
            done = found.value.start + REDACTED.len();
            continue;
        }
        let is_other = || {
            names_of_settings.is_in_code(text, at, &found)
                || is_in_reference(text, at)
                || is_named_argument(text, found.value.start, &text[found.value.clone()])
                || verdict.kind != SecretKind::Instructions
                    && facts.is_label_of_catalogue(&text[found.value.clone()])
        };
        if !verdict.is_named && is_other() || is_closing_quote(text, at) {
            done = found.value.start;
            continue;
        }
        if let Some(edit) = found.edit(text, at, (name, verdict)) {
            names.add(name.to_owned());
            aliases.extend(alias_name(&text[found.value.clone()]));
            edits.push(edit);
        }
        done = found.replaced.end;
    }
    yaml_anchor::collect_edits(text, &aliases, &mut edits);
    markup::collect_edits(redact, &facts, text, &mut edits, &mut names);
    flag::collect_edits(redact, text, &mut edits, &mut names);
    if redact.hides_secrets {
        token::collect_edits(text, &mut edits, &mut names);
        manifest::collect_edits(text, &mut edits, &mut names);
    }
    (edits, names)
}

impl<'t> SettingNames<'_, 't> {
    /// Returns the hidden name before the separator at `at`. `word`: the word before it. `is_json`: other rules apply to paths.
    fn name_at(&mut self, text: &'t str, at: usize, word: &'t str, is_json: bool) -> Option<&'t str> {
        if self.match_name(word).is_hidden() || self.redact.hides_secrets && is_signature(text, at, word) {
            return Some(word);
        }
        // `Door code: 4711` has a name of two words, `Key pickup instructions: …` one of three.
        for words in [2, 3].into_iter().filter_map(|count| words_before(text, at, count)) {
            let verdict = self.match_name(words);
            if verdict.is_named || verdict.is_secret && may_be_setting(text, at, words) {
                return Some(words);
            }
        }
        let last_two = last_two_names(path_before(text, at)).filter(|name| self.match_name(name).is_hidden());
        let is_at_path = || !is_json && self.redact.matches_setting_path(text, at);
        last_two.or_else(|| is_at_path().then_some(word))
    }

    /// Returns true if a value stands in source code and is no string there. A variable of a shell is no code: `TOKEN=abc`.
    fn is_in_code(&self, text: &str, at: usize, found: &SettingValue) -> bool {
        let Range { start, end } = found.value;
        let value = &text[start..end];
        let is_string = if found.is_container {
            value.contains(['"', '\''])
        } else {
            // Characters are compared with tokens.
            text[..start].ends_with(['"', '\'', '`']) && !is_character(value)
        };
        let ends = text[end..].starts_with([',', ';', ')']);
        let is_variable = start == at + 1 && text.as_bytes()[at] == b'=' && !ends;
        let is_in_string = !found.is_container && open_quote(line_before(text, at)).is_some();
        !is_string && !is_variable && !is_in_string && self.facts.is_source_code()
    }

    fn match_name(&mut self, name: &'t str) -> NameMatch {
        if let Some(verdict) = self.verdicts.get(name) {
            return *verdict;
        }
        let verdict = self.redact.match_name(&decoded_name(name).replace(' ', "_"));
        if self.verdicts.len() < MAX_CACHED_NAMES {
            self.verdicts.insert(name, verdict);
        }
        verdict
    }
}

/// Returns true for the parameter of a URL that signs it: `?X-Amz-Signature=…`.
fn is_signature(text: &str, at: usize, word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    (lower == "sig" || lower.ends_with("signature")) && text[..at - word.len()].ends_with(['?', '&'])
}

/// Returns true if a value begins with the mark of a hidden value.
fn begins_redacted(value: &str) -> bool {
    value.strip_prefix(REDACTED).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

/// Returns true if a name of several words before a colon may be that of a setting: at the beginning of its line, or with a
/// value that has a digit or is written in sentences. Other words before a colon are part of a sentence.
fn may_be_setting(text: &str, at: usize, name: &str) -> bool {
    let before = line_before(text, at);
    let lead = before.rfind(name).map(|start| &before[..start]);
    let value = value_after(text, at + 1, ValueExtent::Word).map_or("", |(start, end)| &text[start..end]);
    let is_word = lead.is_some_and(|lead| !lead.ends_with('='));
    lead.is_some_and(is_line_lead)
        || is_phrase_name(name)
        || is_word && value.bytes().any(|byte| byte.is_ascii_digit())
}

/// Returns true for the name of a secret that is the argument of a call: `env::var("API_TOKEN")`.
fn is_named_argument(text: &str, start: usize, value: &str) -> bool {
    let before = text[..start].strip_suffix(['"', '\'']).unwrap_or_default();
    before.ends_with(['(', '['])
        && secret_kind(value).is_some()
        && !value.contains(|c: char| c.is_ascii_digit())
}

/// Returns true in the name of a resource: `arn:aws:…:secret:prod/db`.
fn is_in_reference(text: &str, at: usize) -> bool {
    let before = line_before(text, at).rsplit([' ', '"', '\'', '\t']).next();
    before.is_some_and(|before| before.contains("arn:"))
}

fn is_character(value: &str) -> bool {
    value.len() == 1 || value.starts_with('\\') && value.len() == 2
}

/// Returns true if a separator stands at the end of a string: `write("Authorization: ")`.
fn is_closing_quote(text: &str, at: usize) -> bool {
    let rest = text[at + 1..].trim_start_matches([' ', '\t']);
    open_quote(line_before(text, at)).is_some_and(|quote| rest.starts_with(quote))
}

/// Returns the quote that is open at the end of a line. The mark of a lifetime in Rust opens nothing: `&'a str`.
fn open_quote(line: &str) -> Option<char> {
    let mut open = None;
    let mut chars = line.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '"' | '\'' if open == Some(c) => open = None,
            '"' if open.is_none() => open = Some(c),
            '\'' if open.is_none() => {
                let rest = &line[at + 1..];
                let after = rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
                let is_word = line[..at].ends_with(char::is_alphanumeric);
                let is_lifetime = after.len() < rest.len()
                    && after.starts_with(['>', ',', ' ', ')', '+'])
                    && line[..at].ends_with(['&', '<', ' ', '+']);
                if !is_word && !is_lifetime {
                    open = Some(c);
                }
            }
            _ => {}
        }
    }
    open
}
