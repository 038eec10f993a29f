//! A walk through JSON that tells the path to each value, and what identifies the record it is in.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher as _};

use super::leaves::{Leaves, Token};
use super::value::said;
use crate::scan::{Kind, Reader};
use crate::snapshot::{Profile, Rank};
use crate::span::Span;

/// Bytes of an object that are looked at for what identifies it.
const NEAR: usize = 4 << 10;
/// Its fields that are shown, and bytes of each.
const FIELDS: usize = 6;
const MEMBERS: usize = 16;
const SHORT: usize = 80;

/// A walk that knows which members cannot be reached by a path, for an earlier one has their name.
pub(super) struct Walk<'a> {
    leaves: Leaves<'a>,
    text: &'a str,
    names: HashSet<(u32, u64)>,
    /// How many containers are around the outermost such member.
    hidden: Option<usize>,
}

impl<'a> Walk<'a> {
    /// A walk over the value at a span, passing over some containers.
    pub(super) fn over(text: &'a str, span: Span, skips: &'a [Span]) -> Self {
        Self { leaves: Leaves::of(text, span, skips), text, names: HashSet::new(), hidden: None }
    }

    /// The next key or value.
    pub(super) fn next(&mut self) -> Option<Token> {
        let token = self.leaves.next();
        let depth = self.leaves.depth();
        if let Some(Token::Key(key)) = token {
            if self.hidden.is_some_and(|hidden| depth <= hidden) {
                self.hidden = None;
            }
            let mut hasher = DefaultHasher::new();
            hasher.write(said(key.of(self.text)).as_bytes());
            let first = self.names.insert((self.leaves.container().unwrap_or_default(), hasher.finish()));
            if !first && self.hidden.is_none() {
                self.hidden = Some(depth);
            }
        } else if self.hidden.is_some_and(|hidden| depth < hidden) {
            self.hidden = None;
        }
        token
    }

    /// The path to here, or to what is around here where none leads here.
    pub(super) fn pointer(&self) -> String {
        self.leaves.pointer(self.hidden.map_or(0, |hidden| self.leaves.depth() + 1 - hidden))
    }

    /// What identifies the record that a value is a field of, where it is one of several.
    pub(super) fn identity(&self, value: Span) -> Option<String> {
        let start = self.leaves.container().filter(|_| self.leaves.in_array())? as usize;
        let near = self.text.get(start..self.text.floor_char_boundary(start.saturating_add(NEAR)))?;
        let mut reader = Reader::new(near);
        reader.enter_object().ok()?;
        let mut record = String::from("{");
        let (mut fields, mut members) = (0, 0);
        while fields < FIELDS
            && members < MEMBERS
            && let Ok(Some(key)) = reader.next_key()
            && let Ok(member) = reader.skip()
        {
            let spelled = member.of(near);
            members += 1;
            let own = start + member.start as usize == value.start as usize;
            if own || spelled.len() > SHORT || Kind::of(spelled).is_container() || spelled == "null" {
                continue;
            }
            let entry = format!("{{{}:{spelled}}}", key.of(near));
            if Profile::of_record(&entry).iter().any(|field| field.rank <= Rank::Status) {
                record.push_str(if record.len() > 1 { "," } else { "" });
                record.push_str(&entry[1..entry.len() - 1]);
                fields += 1;
            }
        }
        record.push('}');
        (fields > 0).then_some(record)
    }
}
