//! Decides about the members of an object: by their names, by the names beside them, and by the kind of the object.

use portion_json::containers::{items, members};
use portion_json::scan::{JsonKind, quote, string_end, unescape};
use portion_json::span::Span;

use super::super::code::{are_labels, is_label};
use super::super::manifest::is_data_key;
use super::super::name::is_of_pages;
use super::super::pair::{PairRole, may_be_pair_secret};
use super::super::pattern::is_in;
use super::super::value::{Form, is_secret_value};
use super::{
    JsonRedactor, KEY_PARTS, KeyFacts, MAX_READ_DEPTH, Member, NameMatch, Open, REDACTED_STRING, RESULT_KEY,
    SENSITIVE_KEY, SecretKind, is_secret_json,
};

/// Maximum bytes of a quoted name.
const MAX_QUOTED_NAME_BYTES: usize = 128;
/// Members whose items are choices: their labels and values describe, they contain nothing.
const CHOICE_KEYS: &str = "choices enum oneof options suggestions";
/// Members that hold messages about fields.
const MESSAGE_KEYS: &str = "errors error messages validation violations labels translations i18n locales";

/// Codes of languages.
const LANGUAGES: &str = "ar bg ca cs da de el en es et fa fi fr he hi hr hu it ja ko lt lv nb nl nn no pl pt ro ru sk sl sr sv th tr uk vi zh";
/// The type of a resource of Terraform whose result is a password.
const RANDOM_PASSWORD: &str = "\"random_password\"";

/// The hidden name in a pair.
pub(super) struct PairName {
    pub name: String,
    pub role: PairRole,
    pub verdict: NameMatch,
}

impl JsonRedactor<'_, '_> {
    /// Hides the members of the innermost object that are hidden. `kept`: those that may be, or that decide. `outer`: the pair
    /// whose value the object is.
    pub(super) fn redact_object(&mut self, kept: &[Member], outer: Option<&PairName>) {
        let own = if outer.is_none() { self.pair_name(kept) } else { None };
        let pair = outer.or(own.as_ref());
        let kind = kept.iter().find(|member| self.decode_key(member.key) == "kind");
        let kind = kind.map_or("", |kind| kind.value.slice(self.text));
        let is_web_key = kept.iter().any(|member| self.decode_key(member.key) == "kty");
        self.redact_table(kept);
        let mut done = self.open.last().map_or(0, |open| open.start as usize + 1);
        for member in kept {
            self.set_key(member);
            let is_key_part = is_web_key && KEY_PARTS.contains(&&*self.decode_key(member.key));
            let is_hidden = is_key_part
                || self.is_hidden(member)
                || pair.is_some_and(|pair| self.is_pair_value(pair, member));
            let shape = self.kind_of(member.value);
            if is_hidden && !matches!(shape, JsonKind::String | JsonKind::Null) {
                let span = self.span_with_comma(member, done);
                done = span.end as usize;
                self.hide_member(span, "");
                continue;
            }
            self.redact_key(member);
            if is_hidden {
                self.hide_string(member.value, &[]);
                continue;
            }
            if self.open.len() > MAX_READ_DEPTH {
                continue;
            }
            if let Some(pair) = pair.filter(|_| member.facts.role == Some(PairRole::Value)) {
                self.redact_inner(member.value, pair);
            }
            let is_data = member.facts.is_kind && kind == "\"Secret\"";
            if is_data && is_data_key(&self.decode_key(member.key)) {
                self.redact_data(member.value, &[]);
            }
            // The items of a list of secrets need no kind.
            let is_list = member.facts.is_kind && kind == "\"SecretList\"";
            if is_list && self.decode_key(member.key) == "items" {
                for data in items(self.text, member.value).flat_map(|item| members(self.text, item)) {
                    let name = self.decode_key(data.key);
                    if is_data_key(&name) {
                        self.redact_data(data.value, &[&name]);
                    }
                }
            }
        }
    }

    /// Returns the span of a member with the comma before it. Where all members before it are removed, up to `done`, it is the
    /// comma after it.
    fn span_with_comma(&self, member: &Member, done: usize) -> Span {
        let (start, end) = (member.key.start as usize, member.value.end as usize);
        if !self.text[done..start].trim().is_empty() {
            let before = self.text[..start].trim_end();
            return Span::new(before.strip_suffix(',').unwrap_or(before).trim_end().len(), end);
        }
        let next = self.text[end..].trim_start().strip_prefix(',').map(str::trim_start);
        Span::new(start, next.map_or(end, |next| self.text.len() - next.len()))
    }

    /// Hides the values in the object that is the value of a pair: `{"key":"password","value":{"stringValue":"…"}}`.
    fn redact_inner(&mut self, object: Span, pair: &PairName) {
        let kept: Vec<Member> = members(self.text, object)
            .map(|member| Member { key: member.key, value: member.value, facts: self.facts_of(member.key) })
            .collect();
        self.open.push(Open { start: object.start, ..Open::default() });
        self.redact_object(&kept, Some(pair));
        self.open.pop();
    }

    pub(super) fn kind_of(&self, value: Span) -> JsonKind {
        JsonKind::of_value(value.slice(self.text))
    }

    pub(super) fn set_key(&mut self, member: &Member) {
        if let Some(open) = self.open.last_mut() {
            (open.key, open.facts) = (Some(member.key), member.facts);
        }
    }

    /// Hides a string that is not empty, at a path below the current member.
    fn hide_string(&mut self, value: Span, path: &[&str]) {
        if value.len() > 2 && value.slice(self.text).starts_with('"') {
            let path = self.path_of(path, 0);
            self.hide(value, REDACTED_STRING, vec![path]);
        }
    }

    /// Returns true if a member is hidden by its own name.
    fn is_hidden(&mut self, member: &Member) -> bool {
        let KeyFacts { mut verdict, is_second, .. } = member.facts;
        let name = self.decode_key(member.key);
        let around = self.open.iter().rev().skip(1).find_map(|around| around.key);
        if let (false, true, Some(key)) = (verdict.is_hidden(), is_second, around) {
            verdict = self.match_joined(key, member.key);
        }
        // Words are no keys, but their names: `{"license":{"key":"mit"}}`.
        let is_word = || member.value.slice(self.text).trim_matches('"').chars().all(char::is_alphabetic);
        verdict.is_secret &= verdict == member.facts.verdict || verdict.kind != SecretKind::Key || !is_word();
        let is_of_pages = || around.is_some_and(|key| is_of_pages(&self.decode_key(key)));
        if verdict.is_named
            || verdict.may_end_path && self.matches_path(&name, 1)
            || name == RESULT_KEY
                && self.members.iter().any(|around| around.value.slice(self.text) == RANDOM_PASSWORD)
        {
            return true;
        }
        verdict.is_secret
            && !(verdict.kind == SecretKind::Token && is_of_pages())
            && self.may_be_secret(member.value, &name, verdict.kind)
    }

    /// Matches a name together with the name around it, in both orders: `{"wifi":{"key":…}}`, `{"tokens":{"access":…}}`.
    fn match_joined(&mut self, around: Span, key: Span) -> NameMatch {
        let written = (around.slice(self.text), key.slice(self.text));
        if let Some(known) = self.joined.get(&written) {
            return *known;
        }
        let (around, name) = (self.decode_key(around), self.decode_key(key));
        let own = self.rules.match_name(&around);
        let names = [format!("{around}_{name}"), format!("{name}_{around}")];
        let joined =
            || names.iter().map(|name| self.rules.match_name(name)).find(|verdict| verdict.is_secret);
        let verdict = if own.is_secret { own } else { joined().unwrap_or_default() };
        self.joined.insert(written, verdict);
        verdict
    }

    /// Returns true if a value can be a secret, given that its name suggests one. A boolean is none, and a container of
    /// records describes secrets, like a schema of passwords; the members in it have names of their own.
    pub(super) fn may_be_secret(&self, value: Span, name: &str, secret: SecretKind) -> bool {
        let written = value.slice(self.text);
        let secret = secret.beside(self.open.last().map_or(0, |open| open.facts_inside));
        let hides_containers = self.hides_containers && secret != SecretKind::Doubtful;
        match JsonKind::of_value(written) {
            JsonKind::Bool | JsonKind::Null => false,
            JsonKind::Object => hides_containers,
            // A number under a plural is a count, too.
            JsonKind::Number => {
                let is_count = matches!(secret, SecretKind::Pass | SecretKind::PassOfUser)
                    || name.ends_with(['s', 'S']) && !name.ends_with("ss");
                !is_count
                    && !written.contains(['.', 'e', 'E'])
                    && is_secret_value(secret, name, written, Form::Data)
            }
            JsonKind::String => {
                is_secret_json(secret, name, written) && !self.is_text_of_people(&unescape(written), secret)
            }
            JsonKind::Array => {
                // The innermost of the first arrays.
                let inside = written.trim_start_matches(|c: char| c == '[' || c.is_ascii_whitespace());
                let start = self.text[..value.end as usize - inside.len()].rfind('[').unwrap_or_default();
                match inside.as_bytes().first() {
                    Some(b'{') | None => hides_containers,
                    _ => items(self.text, Span::new(start, value.end as usize)).any(|item| {
                        let item = item.slice(self.text);
                        secret != SecretKind::Doubtful && !item.starts_with('"')
                            || is_secret_json(secret, name, item)
                    }),
                }
            }
        }
    }

    /// Returns true for a label among labels or in messages.
    fn is_text_of_people(&self, value: &str, secret: SecretKind) -> bool {
        if secret == SecretKind::Instructions || value.contains(|c: char| c.is_ascii_digit()) {
            return false;
        }
        let is_message_key = |key: Span| is_in(MESSAGE_KEYS, &self.decode_key(key).to_lowercase());
        let is_in_messages = self.open.iter().rev().skip(1).filter_map(|open| open.key).any(is_message_key);
        let around = self.open.iter().rev().skip(1).find_map(|open| open.key);
        let language = around.map(|key| self.decode_key(key)).unwrap_or_default();
        let is_in_language = || is_in(LANGUAGES, language.split(['-', '_']).next().unwrap_or_default());
        is_in_messages
            || is_label(value)
                && (is_in_language() || *self.is_catalogue.get_or_init(|| are_labels(strings(self.text))))
    }

    /// Redacts a key that contains a secret, such as `"password=…"`.
    fn redact_key(&mut self, member: &Member) {
        if member.facts.has_secret
            && let Some(redacted) = self.rules.redact_name(&self.decode_key(member.key))
        {
            self.hide_member(member.key, quote(&redacted));
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
        let is_sensitive = |member: &Member| {
            member.value.slice(self.text) == "true" && self.decode_key(member.key) == SENSITIVE_KEY
        };
        if self.rules.hides_secrets && kept.iter().any(is_sensitive) {
            let verdict = NameMatch { is_secret: true, ..NameMatch::default() };
            return Some(PairName { name: SENSITIVE_KEY.to_owned(), role: PairRole::Name, verdict });
        }
        let mut names = kept.iter().filter(|member| self.kind_of(member.value) == JsonKind::String);
        names.find_map(|member| self.match_pair_name(member.facts.role?, member.value, 1))
    }

    /// Matches a string that is the name in a pair. `skipped`: the innermost containers that are not around it.
    pub(super) fn match_pair_name(&self, role: PairRole, name: Span, skipped: usize) -> Option<PairName> {
        if !role.is_name() || name.len() > MAX_QUOTED_NAME_BYTES {
            return None;
        }
        let name = unescape(name.slice(self.text));
        let mut verdict = self.rules.match_pair_name(&name);
        verdict.is_named |= verdict.may_end_path && self.matches_path(&name, skipped);
        verdict.is_secret &= role == PairRole::Name || !self.is_choice();
        verdict.is_hidden().then_some(PairName { name, role, verdict })
    }

    /// Returns true if a member is the value of a hidden name beside it.
    fn is_pair_value(&self, pair: &PairName, member: &Member) -> bool {
        let is_other = |role| role == PairRole::State && (member.value.len() <= 3 || self.is_in_schema());
        let role = member.facts.role.filter(|role| role.is_value() && !is_other(*role));
        role.is_some_and(|role| self.may_be_value(pair, role, member.value))
    }

    /// Returns true if a value with a role is that of a hidden name.
    pub(super) fn may_be_value(&self, pair: &PairName, role: PairRole, value: Span) -> bool {
        let PairName { name, role: name_role, verdict } = pair;
        let written = value.slice(self.text);
        let is_other = || {
            written.starts_with('"') && !may_be_pair_secret((*name_role, name), (role, &unescape(written)))
        };
        verdict.is_named || verdict.is_secret && self.may_be_secret(value, name, verdict.kind) && !is_other()
    }

    /// Returns true if the innermost object describes a property, in a JSON Schema.
    fn is_in_schema(&self) -> bool {
        let around = self.open.iter().rev().skip(1).filter_map(|open| open.key).nth(1);
        around.is_some_and(|key| self.decode_key(key) == "properties")
    }

    /// Hides the strings in the data of a Kubernetes secret, which is at a path below the current member.
    fn redact_data(&mut self, data: Span, path: &[&str]) {
        for member in members(self.text, data) {
            self.hide_string(member.value, &[path, &[&self.decode_key(member.key)]].concat());
        }
    }

    /// Returns true if the innermost object is an item of a list of choices.
    fn is_choice(&self) -> bool {
        let around = self.open.iter().rev().skip(1).find_map(|open| open.key);
        around.is_some_and(|key| is_in(CHOICE_KEYS, &self.decode_key(key).to_lowercase()))
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
