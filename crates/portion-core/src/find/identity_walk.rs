//! Walks through JSON with the path of each value and the identity of its record.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher as _};

use portion_json::scan::{JsonKind, JsonReader};
use portion_json::span::Span;

use super::leaf_tokens::{LeafTokens, Token};
use super::record_match::value_text;
use crate::snapshot::{FieldRank, ListProfile};

/// Bytes of an object that are searched for its identity.
const MAX_OBJECT_BYTES: usize = 4 << 10;
/// Largest number of identity fields, of members read, and of bytes per member.
const MAX_FIELDS: usize = 6;
const MAX_MEMBERS: usize = 16;
const MAX_SHORT_BYTES: usize = 80;

/// A walk that tracks members which no path reaches because of an earlier member with the same name.
pub(super) struct IdentityWalk<'a> {
    tokens: LeafTokens<'a>,
    text: &'a str,
    seen_keys: HashSet<(u32, u64)>,
    /// Number of containers around the outermost such member.
    unreachable_depth: Option<usize>,
}

impl<'a> IdentityWalk<'a> {
    /// Creates a walk over the value at a span that skips some containers.
    pub(super) fn new(text: &'a str, span: Span, skips: &'a [Span]) -> Self {
        Self {
            tokens: LeafTokens::new(text, span, skips),
            text,
            seen_keys: HashSet::new(),
            unreachable_depth: None,
        }
    }

    /// Returns the next key or value.
    pub(super) fn next(&mut self) -> Option<Token> {
        let token = self.tokens.next();
        let depth = self.tokens.depth();
        if let Some(Token::Key(key)) = token {
            if self.unreachable_depth.is_some_and(|hidden| depth <= hidden) {
                self.unreachable_depth = None;
            }
            let mut hasher = DefaultHasher::new();
            hasher.write(value_text(key.slice(self.text)).as_bytes());
            let first =
                self.seen_keys.insert((self.tokens.container_start().unwrap_or_default(), hasher.finish()));
            if !first && self.unreachable_depth.is_none() {
                self.unreachable_depth = Some(depth);
            }
        } else if self.unreachable_depth.is_some_and(|hidden| depth < hidden) {
            self.unreachable_depth = None;
        }
        token
    }

    /// Returns the path of the current value, or of the innermost reachable container around it.
    pub(super) fn pointer(&self) -> String {
        self.tokens.pointer(self.unreachable_depth.map_or(0, |hidden| self.tokens.depth() + 1 - hidden))
    }

    /// Returns the identity fields of the record that contains a value, if it is one of several records.
    pub(super) fn record_identity(&self, value: Span) -> Option<String> {
        let start = self.tokens.container_start().filter(|_| self.tokens.in_array())? as usize;
        let near =
            self.text.get(start..self.text.floor_char_boundary(start.saturating_add(MAX_OBJECT_BYTES)))?;
        let mut reader = JsonReader::new(near);
        reader.enter_object().ok()?;
        let mut record = String::from("{");
        let (mut fields, mut members) = (0, 0);
        while fields < MAX_FIELDS
            && members < MAX_MEMBERS
            && let Ok(Some(key)) = reader.next_key()
            && let Ok(member) = reader.skip()
        {
            let spelled = member.slice(near);
            members += 1;
            let own = start + member.start as usize == value.start as usize;
            if own
                || spelled.len() > MAX_SHORT_BYTES
                || JsonKind::of_value(spelled).is_container()
                || spelled == "null"
            {
                continue;
            }
            let entry = format!("{{{}:{spelled}}}", key.slice(near));
            if ListProfile::record_fields(&entry).iter().any(|field| field.rank <= FieldRank::Status) {
                record.push_str(if record.len() > 1 { "," } else { "" });
                record.push_str(&entry[1..entry.len() - 1]);
                fields += 1;
            }
        }
        record.push('}');
        (fields > 0).then_some(record)
    }
}
