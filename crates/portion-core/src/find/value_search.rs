//! Searches JSON outside of lists. Each match is shown by its path and value.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher as _};

use portion_json::scan::{JsonKind, JsonReader};
use portion_json::span::Span;

use super::candidates::{Candidates, NextPositions};
use super::context::ContextSize;
use super::error::Fuel;
use super::hits::{Hits, JsonObjectWriter};
use super::leaf_tokens::{LeafTokens, Token, value_text};
use super::pattern::Matcher;
use super::text_search::TextPlace;
use super::{FindError, context, text_search};
use crate::snapshot::{FieldRank, LineIndex, ListProfile};

/// Length in bytes from which a string with line breaks is searched as text.
const MIN_MULTILINE_BYTES: usize = 600;

/// Search over the values of a JSON text, except those at some spans.
pub(super) struct ValueSearch<'a> {
    pub text: &'a str,
    pub span: Span,
    /// Containers that are searched separately.
    pub skipped: &'a [Span],
    /// Path of the text.
    pub base_path: &'a str,
    /// Requested lines of context.
    pub context_lines: Option<u32>,
}

/// Called with the text of a value, and a function that writes the result item for a match at an offset of
/// that text.
pub(super) type ValueVisitor<'a> = dyn FnMut(&str, &dyn Fn(usize) -> String) -> bool + 'a;

/// Called with the walk at a value or key, its span and its text.
type CandidateVisitor<'a> =
    dyn FnMut(&IdentityWalk<'_>, Span, &str, &mut Matcher, &mut Fuel<'_>) -> Result<(), FindError> + 'a;

impl ValueSearch<'_> {
    /// Searches all values.
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
            &mut |walk, value, content, matcher, fuel| {
                if content.len() > MIN_MULTILINE_BYTES && content.contains('\n') {
                    let places =
                        text_search::find_matches(content, matcher, hits.remaining_capacity(), fuel)?;
                    if places.match_count > 0 {
                        let around = ContextSize::new(self.context_lines, places.match_count);
                        let path = format!("{}{}", self.base_path, walk.pointer());
                        let items = text_search::match_items(
                            content,
                            &LineIndex::new(content),
                            &places,
                            around,
                            TextPlace { path: &path, name: None },
                            false,
                        );
                        hits.add_all(places.match_count, items);
                    }
                } else if let Some(found) = matcher.find(content, 0, fuel)? {
                    hits.add(matcher.matches_whole(content), || {
                        self.match_item(walk, value, content, found.start)
                    });
                }
                Ok(())
            },
        )
    }

    /// Visits each value until the visitor returns `false`.
    pub(super) fn for_each(&self, visit: &mut ValueVisitor<'_>) {
        let mut walk = IdentityWalk::new(self.text, self.span, self.skipped);
        while let Some(token) = walk.next() {
            let Token::Value(value) = token else { continue };
            let content = value_text(value.slice(self.text));
            if !visit(&content, &|found| self.match_item(&walk, value, &content, found)) {
                break;
            }
        }
    }

    fn match_item(&self, walk: &IdentityWalk<'_>, value: Span, content: &str, found: usize) -> String {
        let mut item = JsonObjectWriter::default();
        item.add_text("path", &format!("{}{}", self.base_path, walk.pointer()));
        item.add_text("text", &context::value_excerpt(content, found));
        if let Some(near) = walk.record_identity(value) {
            item.add_json("item", &near);
        }
        let outer = walk.outer_identities();
        if !outer.is_empty() {
            item.add_json("of", &format!("[{}]", outer.join(",")));
        }
        item.finish()
    }

    /// Searches the names of all members.
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

    /// Calls `visit` with each value or key that may match, and its text.
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

/// Adds the value of a key: a scalar as text, a container by its type.
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
            item.add_text("text", &context::value_excerpt(&scalar, 0));
        }
    }
}

/// Largest number of records around that of a match that are named.
const MAX_OUTER_RECORDS: usize = 3;
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
        let start = self.tokens.container_start().filter(|_| self.tokens.in_array())?;
        let (fields, identity) = self.short_fields(start, value)?;
        let named =
            identity.into_iter().filter_map(|at| fields.get(at).map(String::as_str)).collect::<Vec<_>>();
        (!named.is_empty()).then(|| format!("{{{}}}", named.join(",")))
    }

    /// Returns the identity fields of the records around that one, or their first field.
    fn outer_identities(&self) -> Vec<String> {
        let outer = self.tokens.outer_records().filter_map(|start| self.short_fields(start, Span::new(0, 0)));
        let shown = outer.filter_map(|(fields, identity)| {
            let named: Vec<&str> =
                identity.iter().filter_map(|at| fields.get(*at).map(String::as_str)).collect();
            let shown = if named.is_empty() { fields.first()?.clone() } else { named.join(",") };
            Some(format!("{{{shown}}}"))
        });
        shown.take(MAX_OUTER_RECORDS).collect()
    }

    /// Returns the short members of the object at an offset but one with this value, and the indices of those that identify it.
    fn short_fields(&self, start: u32, value: Span) -> Option<(Vec<String>, Vec<usize>)> {
        let start = start as usize;
        let near =
            self.text.get(start..self.text.floor_char_boundary(start.saturating_add(MAX_OBJECT_BYTES)))?;
        let mut reader = JsonReader::new(near);
        reader.enter_object().ok()?;
        let (mut fields, mut identity, mut members) = (Vec::new(), Vec::new(), 0);
        while identity.len() < MAX_FIELDS
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
            let entry = format!("{}:{spelled}", key.slice(near));
            let ranked = ListProfile::record_fields(&format!("{{{entry}}}"));
            if ranked.iter().any(|field| field.rank <= FieldRank::Status) {
                identity.push(fields.len());
            }
            fields.push(entry);
        }
        Some((fields, identity))
    }
}
