//! Hides the values of pairs: `{"name": "password", "value": "hunter2"}`.

use portion_json::scan::{JsonKind, JsonReader, unescape};
use portion_json::span::Span;

use super::super::pair::{PairRole, may_be_pair_secret};
use super::{JsonRedactor, KeyMatch, MAX_TABLE_DEPTH, may_be_secret};

/// Maximum bytes of a quoted name.
const MAX_QUOTED_NAME_BYTES: usize = 128;
/// Members whose items are choices: their labels and values describe, they contain nothing.
const CHOICE_KEYS: &[&str] = &["choices", "enum", "oneof", "options", "suggestions"];

/// The hidden name in an object.
#[derive(Clone, Copy)]
pub(super) struct PairName {
    /// The quoted name.
    name: Span,
    role: PairRole,
    is_secret: bool,
    is_named: bool,
}

impl<'a> JsonRedactor<'a, '_> {
    /// Returns true if the member is the value of a hidden name beside it. Records the name if the member is one.
    pub(super) fn is_value_hidden(&mut self, key: Span, kind: JsonKind, reader: &JsonReader<'a>) -> bool {
        let role = self.key_matches.get(key.slice(self.text)).and_then(|key| key.role);
        let Some(role) = role else { return false };
        if role.is_name() {
            let found = (kind == JsonKind::String).then(|| self.match_name_member(role, &mut reader.clone()));
            if let (Some(open), Some(Some(pair))) = (self.open_objects.last_mut(), found) {
                open.pair.get_or_insert(pair);
            }
            return false;
        }
        let known = self.open_objects.last().and_then(|open| open.pair);
        let pair = known.or_else(|| self.find_name_after(kind, reader));
        let Some(open) = self.open_objects.last_mut() else { return false };
        (open.pair, open.is_pair_searched) = (pair, true);
        let Some(pair) = pair else { return false };
        if pair.is_named {
            return true;
        }
        let is_no_secret = || {
            let name = unescape(pair.name.slice(self.text));
            let value = reader.clone().skip().map(|value| unescape(value.slice(self.text)));
            value.is_ok_and(|value| !may_be_pair_secret((pair.role, &name), (role, &value)))
        };
        pair.is_secret && may_be_secret(kind, reader) && !(kind == JsonKind::String && is_no_secret())
    }

    /// Returns the name whose value is the object that begins here: `{"password":{"value":"…"}}`,
    /// `{"key":"password","value":{"stringValue":"…"}}`.
    pub(super) fn inherited_pair(&self) -> Option<PairName> {
        let around = self.open_objects.last()?;
        let name = around.key?;
        let KeyMatch { verdict, role, .. } = self.key_matches.get(name.slice(self.text))?;
        if verdict.is_secret {
            return Some(PairName { name, role: PairRole::Name, is_secret: true, is_named: false });
        }
        around.pair.filter(|_| *role == Some(PairRole::Value))
    }

    /// Finds a hidden name among the members after a value. In deep objects the search ends at a container, so that
    /// the work stays proportional to the text.
    fn find_name_after(&self, kind: JsonKind, reader: &JsonReader<'a>) -> Option<PairName> {
        let skips_containers = self.open_objects.len() <= MAX_TABLE_DEPTH;
        if self.open_objects.last()?.is_pair_searched || kind.is_container() && !skips_containers {
            return None;
        }
        let mut ahead = reader.clone();
        ahead.skip().ok()?;
        while let Some(key) = ahead.next_key().ok()? {
            let kind = ahead.peek().ok()?;
            if kind.is_container() && !skips_containers {
                return None;
            }
            let role = PairRole::of(&self.decode_key(key)).filter(|role| role.is_name());
            if let Some(role) = role.filter(|_| kind == JsonKind::String) {
                let pair = self.match_name_member(role, &mut ahead);
                if pair.is_some() {
                    return pair;
                }
            } else {
                ahead.skip().ok()?;
            }
        }
        None
    }

    /// Matches the string at the reader, which is the name in a pair, and skips it.
    fn match_name_member(&self, role: PairRole, reader: &mut JsonReader<'a>) -> Option<PairName> {
        let name = reader.skip().ok().filter(|name| name.len() <= MAX_QUOTED_NAME_BYTES)?;
        let text = unescape(name.slice(self.text));
        let verdict = self.rules.match_pair_name(&text);
        let is_named = verdict.is_named || verdict.may_end_path && self.matches_path(&text, true);
        let is_secret = verdict.is_secret && !(role != PairRole::Name && self.is_choice());
        (is_secret || is_named).then_some(PairName { name, role, is_secret, is_named })
    }

    /// Returns true if the innermost object is an item of a list of choices.
    fn is_choice(&self) -> bool {
        let around = self.open_objects.iter().rev().nth(1);
        around.and_then(|around| around.key).is_some_and(|key| {
            let key = self.decode_key(key).to_lowercase();
            CHOICE_KEYS.contains(&key.as_str())
        })
    }
}
