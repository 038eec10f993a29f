//! Matches in JSON that is no list: the value of each, by the path to it.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher as _};

use super::FindError;
use super::candidates::Candidates;
use super::excerpt;
use super::fuel::Fuel;
use super::hits::Hits;
use super::item::Item;
use super::leaves::{Leaves, Token};
use super::pattern::Matcher;
use super::text::{self, Around};
use super::value::said;
use crate::scan::{Kind, Reader};
use crate::snapshot::{Profile, Rank, Text};
use crate::span::Span;

/// Bytes from which a string with line breaks is searched as the text it is.
const TEXT: usize = 600;
/// Bytes of an object that are looked at for what identifies it.
const NEAR: usize = 4 << 10;
/// Its fields that are shown, and bytes of each.
const FIELDS: usize = 6;
const MEMBERS: usize = 16;
const SHORT: usize = 80;

/// The values of a JSON text, but for those at some spans.
pub(super) struct Values<'a> {
    pub text: &'a str,
    pub span: Span,
    /// Containers that are searched in another way.
    pub skips: &'a [Span],
    /// What leads to the text.
    pub path: &'a str,
    /// Lines of neighbours that were asked for.
    pub context: Option<u32>,
}

/// Called with what a value says, and with what writes the item of a match at a byte of that.
pub(super) type Visitor<'a> = dyn FnMut(&str, &dyn Fn(usize) -> String) -> bool + 'a;

impl Values<'_> {
    /// Looks through all values.
    pub(super) fn search(
        &self,
        matcher: &mut Matcher,
        hits: &mut Hits,
        fuel: &mut Fuel,
    ) -> Result<(), FindError> {
        let mut candidates = Candidates::of(matcher);
        if candidates.from(self.text, self.span.start as usize, fuel)?.is_none() {
            return Ok(());
        }
        let mut walk = Walk::over(self);
        while let Some(token) = walk.next() {
            let Token::Value(value) = token else { continue };
            let Some(next) = candidates.from(self.text, value.start as usize, fuel)? else { break };
            if next >= value.end as usize {
                continue;
            }
            let said = said(value.of(self.text));
            if said.len() > TEXT && said.contains('\n') {
                let places = text::places(&said, matcher, hits.room(), fuel)?;
                if places.matches > 0 {
                    let around = Around::of(self.context, places.matches);
                    let path = format!("{}{}", self.path, walk.pointer());
                    let items = text::items(&said, &Text::index(&said), &places, around, &path, false);
                    hits.add_all(places.matches, items);
                }
            } else if let Some(found) = matcher.find(&said, 0, fuel)? {
                hits.add(matcher.is_all_of(&said), || self.written(&walk, value, &said, found.start));
            }
        }
        fuel.burn(self.span.len() / 2)
    }

    /// Visits each value until the visitor wants no more.
    pub(super) fn each(&self, visit: &mut Visitor<'_>) {
        let mut walk = Walk::over(self);
        while let Some(token) = walk.next() {
            let Token::Value(value) = token else { continue };
            let said = said(value.of(self.text));
            if !visit(&said, &|found| self.written(&walk, value, &said, found)) {
                break;
            }
        }
    }

    fn written(&self, walk: &Walk<'_>, value: Span, said: &str, found: usize) -> String {
        let mut item = Item::default();
        item.text("path", &format!("{}{}", self.path, walk.pointer()));
        item.text("text", &excerpt::of_value(said, found));
        if let Some(near) = walk.identity(value) {
            item.json("item", &near);
        }
        item.finish()
    }

    /// Looks through the names of all members.
    pub(super) fn search_keys(
        &self,
        matcher: &mut Matcher,
        hits: &mut Hits,
        fuel: &mut Fuel,
    ) -> Result<(), FindError> {
        let mut candidates = Candidates::of(matcher);
        if candidates.from(self.text, self.span.start as usize, fuel)?.is_none() {
            return Ok(());
        }
        let mut walk = Walk::over(self);
        while let Some(token) = walk.next() {
            let Token::Key(key) = token else { continue };
            let Some(next) = candidates.from(self.text, key.start as usize, fuel)? else { break };
            if next >= key.end as usize {
                continue;
            }
            let name = said(key.of(self.text));
            if matcher.find(&name, 0, fuel)?.is_some() {
                hits.add(matcher.is_all_of(&name), || {
                    let mut item = Item::default();
                    item.text("path", &format!("{}{}", self.path, walk.pointer()));
                    value_after(self.text, key, &mut item);
                    item.finish()
                });
            }
        }
        fuel.burn(self.span.len() / 2)
    }
}

/// Adds what stands under a key: a plain value as text, else what it is.
pub(super) fn value_after(text: &str, key: Span, item: &mut Item) {
    let rest = text.get(key.end as usize..).unwrap_or_default();
    let value = rest.trim_start().strip_prefix(':').unwrap_or_default().trim_start();
    match Kind::of(value) {
        Kind::Object => item.text("holds", "object"),
        Kind::Array => item.text("holds", "array"),
        _ => {
            let mut reader = Reader::resume(value, 0);
            let scalar = reader.skip().map_or("", |span| span.of(value));
            let scalar = if scalar == "null" { scalar.into() } else { said(scalar) };
            item.text("text", &excerpt::of_value(&scalar, 0));
        }
    }
}

/// A walk that knows which members cannot be reached by a path, for an earlier one has their name.
struct Walk<'a> {
    leaves: Leaves<'a>,
    text: &'a str,
    names: HashSet<(u32, u64)>,
    /// How many containers are around the outermost such member.
    hidden: Option<usize>,
}

impl<'a> Walk<'a> {
    fn over(values: &'a Values<'_>) -> Self {
        let leaves = Leaves::of(values.text, values.span, values.skips);
        Self { leaves, text: values.text, names: HashSet::new(), hidden: None }
    }

    fn next(&mut self) -> Option<Token> {
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
    fn pointer(&self) -> String {
        self.leaves.pointer(self.hidden.map_or(0, |hidden| self.leaves.depth() + 1 - hidden))
    }

    /// What identifies the record that a value is a field of, where it is one of several.
    fn identity(&self, value: Span) -> Option<String> {
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
