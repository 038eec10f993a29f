//! Decides about the members of an object: by their names, by the names beside them, and by the kind of the object.

use portion_json::containers::{items, members};
use portion_json::scan::{JsonKind, JsonReader, quote, string_end, unescape};
use portion_json::span::Span;

use super::super::label::{are_labels, is_label};
use super::super::name::is_in;
use super::super::pair::{PairRole, may_be_pair_secret};
use super::super::short_password::may_be_password;
use super::{
    JsonRedactor, KeyFacts, MAX_READ_DEPTH, Member, NameMatch, REDACTED_STRING, SecretKind, is_secret_json,
};

/// Maximum bytes of a quoted name.
const MAX_QUOTED_NAME_BYTES: usize = 128;
/// Maximum levels of objects in which the value of a pair stands.
const MAX_VALUE_DEPTH: usize = 8;
/// Members whose items are choices: their labels and values describe, they contain nothing.
const CHOICE_KEYS: [&str; 5] = ["choices", "enum", "oneof", "options", "suggestions"];
/// Members that hold messages about fields.
const MESSAGE_KEYS: &str = "errors error messages validation violations labels translations i18n locales";
/// The hidden name in a pair.
struct PairName {
    name: String,
    role: PairRole,
    verdict: NameMatch,
}

impl JsonRedactor<'_, '_> {
    /// Hides the members of the innermost object that are hidden. `kept`: those that may be, or that decide.
    pub(super) fn redact_object(&mut self, kept: &[Member]) {
        let pair = self.pair_name(kept);
        let is_secret = kept.iter().any(|member| member.facts.is_kind && self.is_kind(member, "Secret"));
        let is_secret_list =
            kept.iter().any(|member| member.facts.is_kind && self.is_kind(member, "SecretList"));
        self.redact_table(kept);
        let mut omitted = 0;
        for member in kept {
            self.set_key(member);
            let is_hidden = self.is_hidden(member) || self.is_hidden_value(member, pair.as_ref());
            if is_hidden && !matches!(member.kind, JsonKind::String | JsonKind::Null) {
                let is_first = omitted == member.number;
                omitted += 1;
                let start = if is_first { member.key.start } else { member.previous_end };
                let end = member.next_start.filter(|_| is_first).unwrap_or(member.value.end);
                let path = self.path_of(&[], 0);
                self.hide(Span { start, end }, "", Some(path));
                continue;
            }
            self.redact_key(member);
            if is_hidden {
                self.hide_string(member.value);
            } else if member.kind == JsonKind::Object && self.open.len() <= MAX_READ_DEPTH {
                if let Some(pair) = pair.as_ref().filter(|_| member.facts.role == Some(PairRole::Value)) {
                    self.redact_values_in(member.value, pair);
                }
                let is_data = member.facts.is_kind && self.decode_key(member.key).ends_with("ata");
                if is_secret && is_data {
                    self.redact_data(member.value);
                }
            } else if is_secret_list
                && self.open.len() <= MAX_READ_DEPTH
                && member.facts.is_kind
                && member.kind == JsonKind::Array
            {
                self.redact_list_of_secrets(member.value);
            }
        }
    }

    pub(super) fn set_key(&mut self, member: &Member) {
        if let Some(open) = self.open.last_mut() {
            (open.key, open.facts) = (Some(member.key), member.facts);
        }
    }

    fn is_kind(&self, member: &Member, kind: &str) -> bool {
        self.decode_key(member.key) == "kind" && member.value.slice(self.text).trim_matches('"') == kind
    }

    /// Hides a string that is not empty.
    fn hide_string(&mut self, value: Span) {
        if value.len() > 2 && value.slice(self.text).starts_with('"') {
            let path = self.path_of(&[], 0);
            self.hide(value, REDACTED_STRING, Some(path));
        }
    }

    /// Returns true if a member is hidden by its own name.
    fn is_hidden(&mut self, member: &Member) -> bool {
        let KeyFacts { verdict, is_short, .. } = member.facts;
        let name = self.decode_key(member.key);
        if verdict.is_named || verdict.may_end_path && self.matches_path(&name, 1) {
            return true;
        }
        if is_short && member.kind == JsonKind::String {
            let has_login = self.open.last().is_some_and(|open| open.has_login);
            let value = unescape(member.value.slice(self.text));
            return may_be_password(&value, has_login)
                && is_secret_json(SecretKind::Password, &name, member.value.slice(self.text));
        }
        verdict.is_secret && self.may_be_secret(member.kind, member.value, &name, verdict.kind)
    }

    /// Returns true if a value can be a secret, given that its name suggests one. A boolean is none, and a container of
    /// records describes secrets, like a schema of passwords; the members in it have names of their own.
    fn may_be_secret(&mut self, kind: JsonKind, value: Span, name: &str, secret: SecretKind) -> bool {
        let written = value.slice(self.text);
        let is_word = secret == SecretKind::Token && self.open.last().is_some_and(|open| open.has_linguistic);
        let secret = if is_word { SecretKind::Word } else { secret };
        match kind {
            JsonKind::Bool | JsonKind::Null => false,
            JsonKind::Object => self.hides_containers,
            JsonKind::Number => {
                !matches!(secret, SecretKind::Word | SecretKind::Basic) && !written.contains('.')
            }
            JsonKind::String => {
                is_secret_json(secret, name, written) && !self.is_text_of_people(&unescape(written), secret)
            }
            JsonKind::Array => {
                let mut inside = JsonReader::resume(self.text, value.start as usize);
                let mut array = inside.at();
                while inside.enter_array().is_ok() && inside.next_item() == Ok(true) {
                    match inside.peek() {
                        Ok(JsonKind::Array) => array = inside.at(),
                        Ok(JsonKind::Object) | Err(_) => return self.hides_containers,
                        Ok(_) => {
                            let array = Span::new(array, value.end as usize);
                            return items(self.text, array).any(|item| {
                                let item = item.slice(self.text);
                                let is_string = item.starts_with('"');
                                !is_string || is_secret_json(secret, name, item)
                            });
                        }
                    }
                }
                false
            }
        }
    }

    /// Returns true for a label among labels or in messages.
    fn is_text_of_people(&mut self, value: &str, secret: SecretKind) -> bool {
        if secret == SecretKind::Instructions || !is_label(value) {
            return false;
        }
        let is_message_key = |key: Span| is_in(MESSAGE_KEYS, &self.decode_key(key).to_lowercase());
        let is_in_messages = self.open.iter().rev().skip(1).filter_map(|open| open.key).any(is_message_key);
        is_in_messages || *self.is_catalogue.get_or_insert_with(|| are_labels(strings(self.text)))
    }

    /// Redacts a key that contains a secret, such as `"password=…"`.
    fn redact_key(&mut self, member: &Member) {
        if member.facts.has_secret
            && let Some(redacted) = self.rules.redact_name(&self.decode_key(member.key))
        {
            let path = self.path_of(&[], 0);
            self.hide(member.key, quote(&redacted), Some(path));
        }
    }

    /// Returns the hidden name among the members, or that of the object itself: `{"password":{"value":"…"}}`.
    fn pair_name(&self, kept: &[Member]) -> Option<PairName> {
        let around = self.open.iter().rev().skip(1).find(|around| !around.is_array);
        let inherited = around.filter(|around| around.facts.verdict.is_secret).and_then(|around| around.key);
        if let (Some(key), Some(around)) = (inherited, around) {
            let name = self.decode_key(key).into_owned();
            return Some(PairName { name, role: PairRole::Name, verdict: around.facts.verdict });
        }
        if !kept.iter().any(|member| member.facts.role.is_some_and(PairRole::is_value)) {
            return None;
        }
        let mut names = kept.iter().filter(|member| member.kind == JsonKind::String);
        names.find_map(|member| self.match_pair_name(member.facts.role?, member.value))
    }

    /// Matches a string that is the name in a pair.
    fn match_pair_name(&self, role: PairRole, name: Span) -> Option<PairName> {
        if !role.is_name() || name.len() > MAX_QUOTED_NAME_BYTES {
            return None;
        }
        let name = unescape(name.slice(self.text));
        let mut verdict = self.rules.match_pair_name(&name);
        verdict.is_named |= verdict.may_end_path && self.matches_path(&name, 1);
        verdict.is_secret &= role == PairRole::Name || !self.is_choice();
        verdict.is_hidden().then_some(PairName { name, role, verdict })
    }

    /// Returns true if a member is the value of a hidden name beside it.
    fn is_hidden_value(&mut self, member: &Member, pair: Option<&PairName>) -> bool {
        let Some(role) = member.facts.role.filter(|role| role.is_value()) else { return false };
        let Some(PairName { name, role: name_role, verdict }) = pair else { return false };
        if verdict.is_named {
            return true;
        }
        let value = member.value.slice(self.text);
        let is_other = || {
            member.kind == JsonKind::String
                && !may_be_pair_secret((*name_role, name), (role, &unescape(value)))
        };
        verdict.is_secret && self.may_be_secret(member.kind, member.value, name, verdict.kind) && !is_other()
    }

    /// Hides the values in the object that is the value of a pair: `{"key":"password","value":{"stringValue":"…"}}`.
    fn redact_values_in(&mut self, object: Span, pair: &PairName) {
        let mut inner = Some(object);
        for _ in 0..MAX_VALUE_DEPTH {
            let Some(object) = inner.take() else { break };
            let all: Vec<_> = members(self.text, object).collect();
            let mut previous_end = None;
            for (number, member) in all.iter().enumerate() {
                let kind = JsonKind::of_value(member.value.slice(self.text));
                let name = self.decode_key(member.key);
                let facts = KeyFacts { role: PairRole::of(&name), ..KeyFacts::default() };
                let next_start = all.get(number + 1).map(|next| next.key.start);
                let (key, value) = (member.key, member.value);
                let kept = Member { key, value, kind, facts, number: 0, previous_end: 0, next_start };
                if self.is_hidden_value(&kept, Some(pair)) {
                    let path = Some(self.path_of(&[&name], 0));
                    match kind {
                        JsonKind::String if value.len() > 2 => self.hide(value, REDACTED_STRING, path),
                        JsonKind::String | JsonKind::Null => {}
                        _ => {
                            let start = previous_end.unwrap_or(key.start);
                            let end = next_start.filter(|_| previous_end.is_none()).unwrap_or(value.end);
                            self.hide(Span { start, end }, "", path);
                            continue;
                        }
                    }
                } else if kind == JsonKind::Object && facts.role == Some(PairRole::Value) {
                    inner = Some(value);
                }
                previous_end = Some(value.end);
            }
        }
    }

    /// Hides the strings in the data of a Kubernetes secret.
    fn redact_data(&mut self, data: Span) {
        for member in members(self.text, data) {
            let name = self.decode_key(member.key);
            let path = self.path_of(&[&name], 0);
            if member.value.slice(self.text).starts_with('"') && member.value.len() > 2 {
                self.hide(member.value, REDACTED_STRING, Some(path));
            }
        }
    }

    /// Hides the data of the items of a list of Kubernetes secrets, whose items need no kind.
    fn redact_list_of_secrets(&mut self, list: Span) {
        if self.open.last().and_then(|open| open.key).is_none_or(|key| self.decode_key(key) != "items") {
            return;
        }
        for item in items(self.text, list) {
            for member in members(self.text, item) {
                let name = self.decode_key(member.key);
                if matches!(name.as_ref(), "data" | "stringData") {
                    for data in members(self.text, member.value) {
                        let path = self.path_of(&[&name, &self.decode_key(data.key)], 0);
                        if data.value.slice(self.text).starts_with('"') && data.value.len() > 2 {
                            self.hide(data.value, REDACTED_STRING, Some(path));
                        }
                    }
                }
            }
        }
    }

    /// Returns true if the innermost object is an item of a list of choices.
    fn is_choice(&self) -> bool {
        let around = self.open.iter().rev().skip(1).find_map(|open| open.key);
        around.is_some_and(|key| CHOICE_KEYS.contains(&self.decode_key(key).to_lowercase().as_str()))
    }
}

/// Yields the strings of a JSON text that are no keys, as written.
fn strings(json: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    let all = std::iter::from_fn(move || {
        let start = at + memchr::memchr(b'"', json.as_bytes().get(at..)?)?;
        at = string_end(json.as_bytes(), start).min(json.len());
        Some((json.get(start + 1..at.saturating_sub(1)).unwrap_or_default(), at))
    });
    all.filter(move |(_, end)| !json[*end..].trim_start().starts_with(':')).map(|(string, _)| string)
}
