//! Redacts text that is not JSON: values of settings, and what other modules find in text.
//!
//! One pass, with bounded lookback.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::LazyLock;

use foldhash::fast::FixedState;
use memchr::memchr2_iter;
use regex::Regex;

use super::code::{TextFacts, is_identifier};
use super::edit::JsonRange;
use super::name::{SecretKind, is_phrase_name, secret_kind};
use super::pair::{PairRole, last_two_names};
use super::pattern::regex;
use super::setting_name::{decoded_name, name_before, path_before, quote_before, words_before};
use super::setting_value::{Setting, SettingValue, properties_start};
use super::text_pair::TextPair;
use super::text_value::{
    ValueExtent, is_line_lead, is_whole_line_field, line_before, open_quote, value_after,
};
use super::value::{Form, facts_of_name, is_random};
use super::yaml::{alias_name, redact_anchors, redact_block};
use super::{Findings, NameMatch, REDACTED, RedactionRules, manifest, markup, token};

/// Maximum bytes of a digest in a header field.
const MAX_DIGEST_BYTES: usize = 512;
/// Maximum names whose result is cached.
const MAX_CACHED_NAMES: usize = 1_024;

/// Maximum bytes of an expression that is searched for fallbacks.
const MAX_EXPRESSION_BYTES: usize = 256;
/// A separator that is none of a setting.
static NAME_PATH: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"^::[^\t ]|^:\?|^:[a-z]+[_\-a-z]*:[\w\-]+(?:$|[\s"'])"#));
static QUOTED_PATH: LazyLock<Regex> = LazyLock::new(|| regex(r#"^:[a-z\-]+(?:["']|$)"#));
/// A string of one word in an expression.
static STRING: LazyLock<Regex> = LazyLock::new(|| regex(r#"["'`]([^\s"'`\\]{8,})["'`]"#));
/// Maximum bytes of a setting and the line below it that are read.
const MAX_LINE_BYTES: usize = 256;
/// Maximum bytes of a tag before one of its attributes.
const MAX_TAG_BYTES: usize = 256;

/// Finds what is hidden in the view of a text. In the ranges `json`, containers are left to the rules for JSON, and in those of
/// complete JSON, all members. `raw`: the text as written.
pub(super) fn redact<'t>(
    rules: &RedactionRules,
    text: &'t str,
    (raw, json): (&'t str, &[JsonRange]),
) -> Findings {
    let facts = TextFacts::new(raw);
    let mut settings = Settings {
        rules,
        raw,
        text,
        facts: &facts,
        verdicts: HashMap::with_hasher(FixedState::with_seed(0)),
        aliases: BTreeMap::new(),
        found: Findings::default(),
    };
    let mut done = 0;
    for at in memchr2_iter(b'=', b':', text.as_bytes()) {
        if at >= done {
            let around = json.get(json.partition_point(|json| json.range.end <= at));
            let around = around.filter(|json| json.range.contains(&at));
            // A separator that only the view has is none to the rules for JSON.
            let is_written = raw.as_bytes().get(at) == text.as_bytes().get(at);
            if !(is_written && around.is_some_and(|json| json.is_complete)) {
                done = settings.redact_setting(at, around.is_some()).unwrap_or(done);
            }
        }
    }
    let Settings { aliases, mut found, .. } = settings;
    redact_anchors((raw, text), &facts, &aliases, &mut found);
    markup::redact(rules, &facts, text, &mut found);
    if rules.hides_secrets {
        token::redact(text, &mut found);
        manifest::redact(text, &mut found);
    }
    found
}

/// Hides the values of settings.
struct Settings<'r, 't> {
    rules: &'r RedactionRules,
    raw: &'t str,
    text: &'t str,
    facts: &'r TextFacts<'t>,
    /// Results by name as written. Logs repeat the same names on every line.
    verdicts: HashMap<&'t str, (NameMatch, Option<PairRole>), FixedState>,
    /// Aliases of YAML that are values of hidden settings, and the names of these.
    aliases: BTreeMap<&'t str, &'t str>,
    found: Findings,
}

impl<'t> Settings<'_, 't> {
    /// Hides the value of the setting whose separator is at `at`, if its name is hidden. Returns the end of what was read.
    fn redact_setting(&mut self, at: usize, is_json: bool) -> Option<usize> {
        let (rules, text) = (self.rules, self.text);
        let word = name_before(text, at).filter(|word| !is_user_of_url(text, at, word))?;
        let name = self.name_at(at, word);
        let role = self.facts_of(word).1.filter(|role| name.is_none() && !is_json && role.is_value());
        let pair = role.and_then(|role| TextPair::detect(rules, text, at, (word, role)));
        let name = name.or(pair.as_ref().map(|pair| pair.name))?;
        // `HeaderValue::from_static` is a path of source code, `token:user:42` one of names, `${TOKEN:?message}` a message. So are a
        // variable in a path, `$PWD:/app`, a name in two parts, `"passwd:dir"`, and a database of users, `passwd: files`.
        let lead = text[..at].trim_end_matches(['"', '\'']).strip_suffix(word).unwrap_or_default();
        if text.as_bytes()[at] == b':'
            && (NAME_PATH.is_match(&text[at..])
                || lead.ends_with(['$', '{']) && !text[at + 1..].starts_with(char::is_whitespace)
                || (lead.is_empty() || lead.ends_with(['"', '\''])) && QUOTED_PATH.is_match(&text[at..])
                || word == "passwd" && facts_around(text, at) & (1 << SecretKind::Password as u16) != 0)
        {
            return None;
        }
        let mut verdict = if pair.is_some() { rules.match_pair_name(name) } else { self.match_name(name) };
        if verdict.kind == SecretKind::Pass {
            verdict.kind = verdict.kind.beside(facts_around(text, at));
        }
        // A path of the operator.
        verdict.is_named |= !verdict.is_hidden() && !is_signature(text, at, word);
        verdict.is_secret |= !verdict.is_named;
        let first_edit = self.found.edits.len();
        if let Some(end) = self.redact_below(at, name, verdict) {
            return Some(end);
        }
        let extent = match pair {
            Some(TextPair { begins_line: true, .. }) => ValueExtent::Line,
            // Where a space is the separator, values have none.
            _ if matches!(self.raw.as_bytes()[at], b' ' | b'\t') => ValueExtent::Item(""),
            Some(_) => ValueExtent::WORD,
            None => ValueExtent::of_setting(text, at, name, word),
        };
        let may_be_container = !is_json && (!quote_before(text, at).is_empty() || !is_whole_line_field(name));
        let found = SettingValue::find(text, at, extent, may_be_container)?;
        let (start, value) = (found.value.start, &text[found.value.clone()]);
        // An earlier pass hid it, perhaps together with a bracket.
        if begins_redacted(&text[start..]) {
            return Some(start + REDACTED.len());
        }
        let is_other = || {
            self.is_in_code(at, &found)
                // `[text](address)`
                || found.is_container && text[found.value.end..].starts_with('(')
                || is_attribute_of_character(text, at, start, value)
                || is_in_reference(text, at)
                || is_named_argument(text, start, value)
                || verdict.kind != SecretKind::Instructions && self.facts.is_label_of_catalogue(value)
        };
        if !verdict.is_named && (is_other() || is_json && is_variable(text, start, value)) {
            self.hide_fallbacks((name, verdict), start);
            return Some(start);
        }
        if quote_before(text, at).is_empty() && is_closing_quote(text, at) {
            return Some(start);
        }
        let replaced = found.with_properties(self.raw, text, at);
        let end = replaced.end;
        found.hide((text, at), Setting { name, verdict, facts: self.facts }, replaced, &mut self.found);
        if self.found.edits.len() == first_edit && !text[..start].ends_with(['"', '\'', '`']) {
            self.hide_fallbacks((name, verdict), start);
        } else if self.found.edits.len() > first_edit {
            self.aliases.extend(alias_name(value).map(|alias| (alias, name)));
            // `"old" -> "new"` in a plan of changes.
            let new = text[end..].strip_prefix("\" -> \"").and_then(|rest| rest.split(['"', '\n']).next());
            if let Some(new) = new.filter(|new| !new.is_empty()) {
                let start = end + "\" -> \"".len();
                self.found.hide(name, start..start + new.len());
                return Some(start + new.len());
            }
        }
        Some(end)
    }

    /// Hides the value on the lines below its name, with the tag and the anchor of a list. Returns the end of the value, or `None` if there
    /// is none.
    fn redact_below(&mut self, at: usize, name: &'t str, verdict: NameMatch) -> Option<usize> {
        let (text, first_edit) = (self.text, self.found.edits.len());
        let setting = Setting { name, verdict, facts: self.facts };
        let may_be_below = text.as_bytes()[at] == b':' && verdict.kind != SecretKind::Pass;
        let end = may_be_below.then(|| redact_block(text, at, setting, &mut self.found))??;
        let is_list = || text[at + 1..].trim_start_matches([' ', '\t', '\r']).starts_with('\n');
        if self.found.edits.len() > first_edit
            && let Some(start) = properties_start(self.raw, text, at).filter(|_| is_list())
        {
            let len = self.raw[start..].lines().next().unwrap_or_default().trim_end().len();
            self.found.hide(name, start..start + len);
        }
        let items = self.found.edits[first_edit..].iter().map(|edit| &text[edit.range.clone()]);
        self.aliases.extend(items.filter_map(alias_name).map(|alias| (alias, name)));
        Some(end)
    }

    /// Hides the random strings in an expression, which are its fallbacks: `env.TOKEN || "…"`, `getenv("TOKEN", "…")`.
    fn hide_fallbacks(&mut self, (name, verdict): (&str, NameMatch), start: usize) {
        let text = self.text;
        let near = &text[start..text.floor_char_boundary(start + MAX_EXPRESSION_BYTES)];
        let lines = near.split_inclusive('\n').scan(true, |is_open, line| {
            std::mem::replace(is_open, line.trim_end().ends_with(['(', ',', ':'])).then_some(line.len())
        });
        let expression = &near[..lines.sum()];
        for string in STRING.captures_iter(expression).filter_map(|found| found.get(1)) {
            let form = Form::Literal { is_argument: true };
            if verdict.hides(name, string.as_str(), form) {
                self.found.hide(name, start + string.start()..start + string.end());
            }
        }
    }

    /// Returns the hidden name before the separator at `at`. `word`: the word before it.
    fn name_at(&mut self, at: usize, word: &'t str) -> Option<&'t str> {
        let text = self.text;
        let verdict = self.match_name(word);
        // `Image pull secrets`, `unexpected token`.
        let two = words_before(text, at, 2).filter(|_| verdict.is_secret);
        if let Some(words) = two
            && self.match_name(words).kind == SecretKind::Doubtful
        {
            return Some(words);
        }
        if verdict.is_hidden() || self.rules.hides_secrets && is_signature(text, at, word) {
            return Some(word);
        }
        // `Door code: 4711` has a name of two words, `Key pickup instructions: …` one of three.
        for words in [2, 3].into_iter().filter_map(|count| words_before(text, at, count)) {
            let verdict = self.rules.match_name(&words.replace(' ', "_"));
            if verdict.is_named
                || verdict.is_secret
                    && verdict.kind != SecretKind::Doubtful
                    && may_be_setting(text, at, words)
            {
                return Some(words);
            }
        }
        let last_two = last_two_names(path_before(text, at)).filter(|name| self.match_name(name).is_hidden());
        let is_at_path = || self.rules.matches_setting_path(text, at);
        last_two.or_else(|| is_at_path().then_some(word))
    }

    /// Returns true if a value stands in source code and is no string there. A variable of a shell is no code: `TOKEN=abc`.
    fn is_in_code(&self, at: usize, found: &SettingValue) -> bool {
        let (text, Range { start, end }) = (self.text, found.value.clone());
        let value = &text[start..end];
        let is_string = if found.is_container {
            value.starts_with('[')
        } else {
            text[..start].ends_with(['"', '\'', '`']) && value.len() > 1
        };
        let ends = text[end..].starts_with([',', ';', ')']);
        let is_shouted = || !line_before(text, at).ends_with(|c: char| c.is_lowercase() || c == ']');
        let is_variable = start == at + 1
            && text.as_bytes()[at] == b'='
            && !ends
            && !value.ends_with([',', ';', ')'])
            && (is_shouted() || value.contains(|c: char| c.is_ascii_digit()));
        // Quotes in a long line may be those of strings before it.
        let is_in_string = !found.is_container && open_quote(line_before(text, at)).is_some();
        !is_string && !is_variable && !is_in_string && !is_random(value) && self.facts.is_source_code()
    }

    fn match_name(&mut self, name: &'t str) -> NameMatch {
        self.facts_of(name).0
    }

    /// Returns the match of a name, and its role in a pair.
    fn facts_of(&mut self, name: &'t str) -> (NameMatch, Option<PairRole>) {
        if let Some(facts) = self.verdicts.get(name) {
            return *facts;
        }
        let facts = (self.rules.match_name(&decoded_name(name).replace(' ', "_")), PairRole::of(name));
        if self.verdicts.len() < MAX_CACHED_NAMES {
            self.verdicts.insert(name, facts);
        }
        facts
    }
}

/// Returns the facts that the names on the line of a setting state, and the first names of the lines around it.
fn facts_around(text: &str, at: usize) -> u16 {
    let line = line_before(text, at);
    let above = text[..at - line.len()].strip_suffix('\n').map(|above| line_before(text, above.len()));
    let near = &text[at..text.floor_char_boundary(at + MAX_LINE_BYTES)];
    let below = near.split_once('\n').map(|(_, below)| below);
    let first_name = |line: &'_ str| {
        let content = line.trim_start_matches([' ', '\t', '-', '"', '\'']);
        facts_of_name(content.split([' ', '\t', '=', ':', '"', '\'']).next().unwrap_or_default())
    };
    let own = line.split(|c: char| !c.is_alphanumeric()).map(facts_of_name);
    own.chain(above.map(first_name)).chain(below.map(first_name)).fold(0, |all, own| all | own)
}

/// Returns true for the name of a user before the password in a URL: `https://x-access-token:…@`.
fn is_user_of_url(text: &str, at: usize, word: &str) -> bool {
    text.as_bytes()[at] == b':' && text[..at].strip_suffix(word).is_some_and(|lead| lead.ends_with("://"))
}

/// Returns true for the parameter of a URL that signs it, `?X-Amz-Signature=…`, and for that of `Authorization: Digest …`.
fn is_signature(text: &str, at: usize, word: &str) -> bool {
    if word == "response" {
        let near = &text[text.ceil_char_boundary(at.saturating_sub(MAX_DIGEST_BYTES)).min(at)..at];
        return near.rsplit('\n').next().is_some_and(|line| line.contains("Digest "));
    }
    let lower = || word.to_ascii_lowercase();
    text[..at].strip_suffix(word).is_some_and(|lead| lead.ends_with(['?', '&']) || lead.ends_with("&amp;"))
        && (lower() == "sig" || lower().ends_with("signature"))
}

/// Returns true for a single character in an attribute: `accesskey="n"`.
fn is_attribute_of_character(text: &str, at: usize, start: usize, value: &str) -> bool {
    let near = &text[text.ceil_char_boundary(at.saturating_sub(MAX_TAG_BYTES)).min(at)..at];
    let is_in_tag = || near.rfind('<') > near.rfind('>');
    value.len() == 1 && start == at + 2 && text.as_bytes()[at] == b'=' && is_in_tag()
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
    let value = value_after(text, at + 1, ValueExtent::WORD).map_or("", |(start, end)| &text[start..end]);
    let is_word = lead.is_some_and(|lead| !lead.ends_with('='));
    lead.is_some_and(is_line_lead)
        || is_phrase_name(name)
        || is_word && value.bytes().any(|byte| byte.is_ascii_digit())
}

/// Returns true for the name of a secret that is the argument of a call: `env::var("API_TOKEN")`.
fn is_named_argument(text: &str, start: usize, value: &str) -> bool {
    let before = text[..start].strip_suffix(['"', '\'']).unwrap_or_default();
    before.ends_with(['(', '['])
        && !value.contains(|c: char| c.is_ascii_digit())
        && (secret_kind(value).is_some() || is_identifier(value) && !value.contains(char::is_lowercase))
}

/// Returns true for the name of a variable, without quotes.
fn is_variable(text: &str, start: usize, value: &str) -> bool {
    let is_quoted = text[..start].ends_with(['"', '\'']);
    !is_quoted && is_identifier(value) && !value.contains(|c: char| c.is_ascii_digit())
}

/// Returns true in the name of a resource: `arn:aws:…:secret:prod/db`.
fn is_in_reference(text: &str, at: usize) -> bool {
    let before = line_before(text, at).rsplit([' ', '"', '\'', '\t']).next();
    before.is_some_and(|before| before.contains("arn:"))
}

/// Returns true if a separator stands at the end of a string: `write("Authorization: ")`.
fn is_closing_quote(text: &str, at: usize) -> bool {
    let rest = text[at + 1..].trim_start_matches([' ', '\t']);
    open_quote(line_before(text, at)).is_some_and(|quote| rest.starts_with(quote))
}
