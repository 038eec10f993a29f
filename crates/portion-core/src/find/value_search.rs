//! Matches in JSON that is no list: the value of each, by the path to it.

use super::FindError;
use super::candidates::{Candidates, NextPositions};
use super::context::ContextSize;
use super::excerpt;
use super::fuel::Fuel;
use super::hits::Hits;
use super::identity_walk::IdentityWalk;
use super::json_object::JsonObjectWriter;
use super::leaf_tokens::Token;
use super::pattern::Matcher;
use super::record_match::value_text;
use super::text_search;
use crate::scan::{JsonKind, JsonReader};
use crate::snapshot::LineIndex;
use crate::span::Span;

/// Bytes from which a string with line breaks is searched as the text it is.
const MIN_MULTILINE_BYTES: usize = 600;
/// The values of a JSON text, but for those at some spans.
pub(super) struct ValueSearch<'a> {
    pub text: &'a str,
    pub span: Span,
    /// Containers that are searched in another way.
    pub skipped: &'a [Span],
    /// What leads to the text.
    pub base_path: &'a str,
    /// Lines of neighbours that were asked for.
    pub context_lines: Option<u32>,
}

/// Called with what a value says, and with what writes the item of a match at a byte of that.
pub(super) type ValueVisitor<'a> = dyn FnMut(&str, &dyn Fn(usize) -> String) -> bool + 'a;

/// Called with a value or key, the walk being at it, and what it says.
type CandidateVisitor<'a> =
    dyn FnMut(&IdentityWalk<'_>, Span, &str, &mut Matcher, &mut Fuel<'_>) -> Result<(), FindError> + 'a;

impl ValueSearch<'_> {
    /// Looks through all values.
    pub(super) fn search(
        &self,
        matcher: &mut Matcher,
        nearest: NextPositions,
        hits: &mut Hits,
        fuel: &mut Fuel<'_>,
    ) -> Result<(), FindError> {
        self.for_each_candidate(
            value_span,
            nearest,
            matcher,
            fuel,
            &mut |walk, value, said, matcher, fuel| {
                if said.len() > MIN_MULTILINE_BYTES && said.contains('\n') {
                    let places = text_search::find_matches(said, matcher, hits.remaining_capacity(), fuel)?;
                    if places.match_count > 0 {
                        let around = ContextSize::new(self.context_lines, places.match_count);
                        let path = format!("{}{}", self.base_path, walk.pointer());
                        let items = text_search::match_items(
                            said,
                            &LineIndex::new(said),
                            &places,
                            around,
                            &path,
                            false,
                        );
                        hits.add_all(places.match_count, items);
                    }
                } else if let Some(found) = matcher.find(said, 0, fuel)? {
                    hits.add(matcher.matches_whole(said), || self.match_item(walk, value, said, found.start));
                }
                Ok(())
            },
        )
    }

    /// Visits each value until the visitor wants no more.
    pub(super) fn for_each(&self, visit: &mut ValueVisitor<'_>) {
        let mut walk = IdentityWalk::new(self.text, self.span, self.skipped);
        while let Some(token) = walk.next() {
            let Token::Value(value) = token else { continue };
            let said = value_text(value.slice(self.text));
            if !visit(&said, &|found| self.match_item(&walk, value, &said, found)) {
                break;
            }
        }
    }

    fn match_item(&self, walk: &IdentityWalk<'_>, value: Span, said: &str, found: usize) -> String {
        let mut item = JsonObjectWriter::default();
        item.add_text("path", &format!("{}{}", self.base_path, walk.pointer()));
        item.add_text("text", &excerpt::value_excerpt(said, found));
        if let Some(near) = walk.record_identity(value) {
            item.add_json("item", &near);
        }
        item.finish()
    }

    /// Looks through the names of all members.
    pub(super) fn search_keys(
        &self,
        matcher: &mut Matcher,
        nearest: NextPositions,
        hits: &mut Hits,
        fuel: &mut Fuel<'_>,
    ) -> Result<(), FindError> {
        self.for_each_candidate(key_span, nearest, matcher, fuel, &mut |walk, key, name, matcher, fuel| {
            if matcher.find(name, 0, fuel)?.is_some() {
                hits.add(matcher.matches_whole(name), || {
                    let mut item = JsonObjectWriter::default();
                    item.add_text("path", &format!("{}{}", self.base_path, walk.pointer()));
                    add_value_after(self.text, key, &mut item);
                    item.finish()
                });
            }
            Ok(())
        })
    }

    /// Calls `visit` with each value, or key, in which there may be a match, and with what it says.
    fn for_each_candidate(
        &self,
        of_kind: fn(&Token) -> Option<Span>,
        nearest: NextPositions,
        matcher: &mut Matcher,
        fuel: &mut Fuel<'_>,
        visit: &mut CandidateVisitor<'_>,
    ) -> Result<(), FindError> {
        let mut candidates = Candidates::with_positions(matcher, nearest);
        if candidates.next_from(self.text, self.span.start as usize, fuel)?.is_none() {
            return Ok(());
        }
        let mut walk = IdentityWalk::new(self.text, self.span, self.skipped);
        while let Some(token) = walk.next() {
            let Some(span) = of_kind(&token) else { continue };
            let Some(next) = candidates.next_from(self.text, span.start as usize, fuel)? else { break };
            if next < span.end as usize {
                visit(&walk, span, &value_text(span.slice(self.text)), matcher, fuel)?;
            }
        }
        fuel.burn(self.span.len() / 2)
    }
}

fn value_span(token: &Token) -> Option<Span> {
    if let Token::Value(value) = token { Some(*value) } else { None }
}

fn key_span(token: &Token) -> Option<Span> {
    if let Token::Key(key) = token { Some(*key) } else { None }
}

/// Adds what stands under a key: a plain value as text, else what it is.
pub(super) fn add_value_after(text: &str, key: Span, item: &mut JsonObjectWriter) {
    let rest = text.get(key.end as usize..).unwrap_or_default();
    let value = rest.trim_start().strip_prefix(':').unwrap_or_default().trim_start();
    match JsonKind::of_value(value) {
        JsonKind::Object => item.add_text("holds", "object"),
        JsonKind::Array => item.add_text("holds", "array"),
        _ => {
            let mut reader = JsonReader::resume(value, 0);
            let scalar = reader.skip().map_or("", |span| span.slice(value));
            let scalar = if scalar == "null" { scalar.into() } else { value_text(scalar) };
            item.add_text("text", &excerpt::value_excerpt(&scalar, 0));
        }
    }
}
