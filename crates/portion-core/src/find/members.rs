//! Matches in JSON that is no list: the value of each, by the path to it.

use super::FindError;
use super::candidates::{Candidates, Nearest};
use super::excerpt;
use super::fuel::Fuel;
use super::hits::Hits;
use super::item::Item;
use super::leaves::Token;
use super::neighbours::Around;
use super::pattern::Matcher;
use super::text;
use super::value::said;
use super::walk::Walk;
use crate::scan::{Kind, Reader};
use crate::snapshot::Text;
use crate::span::Span;

/// Bytes from which a string with line breaks is searched as the text it is.
const TEXT: usize = 600;
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

/// Called with a value or key, the walk being at it, and what it says.
type Candidate<'a> =
    dyn FnMut(&Walk<'_>, Span, &str, &mut Matcher, &mut Fuel<'_>) -> Result<(), FindError> + 'a;

impl Values<'_> {
    /// Looks through all values.
    pub(super) fn search(
        &self,
        matcher: &mut Matcher,
        nearest: Nearest,
        hits: &mut Hits,
        fuel: &mut Fuel<'_>,
    ) -> Result<(), FindError> {
        self.each_candidate(value_of, nearest, matcher, fuel, &mut |walk, value, said, matcher, fuel| {
            if said.len() > TEXT && said.contains('\n') {
                let places = text::places(said, matcher, hits.room(), fuel)?;
                if places.matches > 0 {
                    let around = Around::of(self.context, places.matches);
                    let path = format!("{}{}", self.path, walk.pointer());
                    let items = text::items(said, &Text::index(said), &places, around, &path, false);
                    hits.add_all(places.matches, items);
                }
            } else if let Some(found) = matcher.find(said, 0, fuel)? {
                hits.add(matcher.is_all_of(said), || self.written(walk, value, said, found.start));
            }
            Ok(())
        })
    }

    /// Visits each value until the visitor wants no more.
    pub(super) fn each(&self, visit: &mut Visitor<'_>) {
        let mut walk = Walk::over(self.text, self.span, self.skips);
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
        nearest: Nearest,
        hits: &mut Hits,
        fuel: &mut Fuel<'_>,
    ) -> Result<(), FindError> {
        self.each_candidate(key_of, nearest, matcher, fuel, &mut |walk, key, name, matcher, fuel| {
            if matcher.find(name, 0, fuel)?.is_some() {
                hits.add(matcher.is_all_of(name), || {
                    let mut item = Item::default();
                    item.text("path", &format!("{}{}", self.path, walk.pointer()));
                    value_after(self.text, key, &mut item);
                    item.finish()
                });
            }
            Ok(())
        })
    }

    /// Calls `visit` with each value, or key, in which there may be a match, and with what it says.
    fn each_candidate(
        &self,
        of_kind: fn(&Token) -> Option<Span>,
        nearest: Nearest,
        matcher: &mut Matcher,
        fuel: &mut Fuel<'_>,
        visit: &mut Candidate<'_>,
    ) -> Result<(), FindError> {
        let mut candidates = Candidates::known(matcher, nearest);
        if candidates.from(self.text, self.span.start as usize, fuel)?.is_none() {
            return Ok(());
        }
        let mut walk = Walk::over(self.text, self.span, self.skips);
        while let Some(token) = walk.next() {
            let Some(span) = of_kind(&token) else { continue };
            let Some(next) = candidates.from(self.text, span.start as usize, fuel)? else { break };
            if next < span.end as usize {
                visit(&walk, span, &said(span.of(self.text)), matcher, fuel)?;
            }
        }
        fuel.burn(self.span.len() / 2)
    }
}

fn value_of(token: &Token) -> Option<Span> {
    if let Token::Value(value) = token { Some(*value) } else { None }
}

fn key_of(token: &Token) -> Option<Span> {
    if let Token::Key(key) = token { Some(*key) } else { None }
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
