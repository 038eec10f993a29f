//! Calls that a notice names: the next page, details, media, queries and cheaper requests.

use serde_json::{Map, Value};

use super::{Audience, Detail, Notice};
use crate::render::context::FollowUpCall;
use crate::render::portion::PortionKind;
use crate::render::query_tables::{MAX_PATH_BYTES, QueryTables};
use crate::render::rendering::EnvelopeType;
use crate::snapshot::STRUCTURED_CONTENT;

/// Number of chunks of a text that a model reads one by one.
const MAX_SHORT_CHUNKS: usize = 3;

impl Notice<'_> {
    pub(super) fn next_call(&self, detail: Detail, audience: Audience) -> Option<String> {
        let read = self.read_call;
        let meta = &self.rendering.meta;
        let lacks_fields = meta.condensed.is_some() || self.rendering.stripped.has_any();
        let omitted = meta.omitted_members.first().filter(|(path, _)| path.len() <= MAX_PATH_BYTES);
        match (&self.next_cursor, &self.rendering.sections) {
            (Some(_), _) if audience == Audience::Model && !self.is_first_reply => Some(read.with("cursor")),
            // `detailsAvailable` names the same call.
            (None, Some(_)) if audience == Audience::Model => None,
            (Some(_), _) => {
                let next = self.key_style.key("nextCursor");
                let larger = self
                    .rendering
                    .larger_budget
                    .filter(|_| {
                        detail < Detail::Minimal && (audience == Audience::Programs || self.is_long())
                    })
                    .map_or_else(String::new, |cap| format!(", maxTokens={cap} returns more"));
                Some(format!("{}{larger}", read.with(&format!("cursor={next}"))))
            }
            (None, _) if self.start_cursor.is_none() => None,
            (None, Some(sections)) if !sections.is_empty() => Some(read.with("cursor, section")),
            (None, Some(_)) => Some(read.with("cursor, fields=all")),
            (None, None) if lacks_fields || omitted.is_some() => {
                let fields = lacks_fields.then(|| "fields=all".to_owned());
                let path = omitted.map(|(path, _)| format!("path={path}"));
                let arguments: Vec<String> = fields.into_iter().chain(path).collect();
                Some(read.with(&format!("cursor, {}", arguments.join(" or "))))
            }
            (None, None) if self.rendering.meta.elided_count > 0 => Some(read.with("cursor, path")),
            (None, None) if !self.missing_parts.is_empty() => Some(read.with("cursor, path")),
            (None, None) if self.structured_gap.is_some() => {
                Some(read.with(&format!("cursor, path={STRUCTURED_CONTENT}")))
            }
            _ => None,
        }
    }

    /// Returns true if a text has so many chunks that a model should know how to read more at once.
    fn is_long(&self) -> bool {
        self.rendering.meta.total_chunks.is_some_and(|chunks| chunks.count > MAX_SHORT_CHUNKS)
    }

    /// Returns the tables that a query can read. Those of all blocks come before those of the one that the notice is about.
    pub(super) fn query_tables(&self) -> Option<&QueryTables> {
        self.block_tables.or(self.rendering.query_tables.as_ref())
    }

    /// Returns further calls: a query, and the next page of a resource.
    pub(super) fn further_calls(&self, audience: Audience) -> Vec<(&'static str, String)> {
        let is_new = audience == Audience::Programs || self.is_first_reply;
        let query =
            self.query_tool.zip(self.query_tables()).filter(|_| is_new && self.start_cursor.is_some());
        // Where the upstream counts more records, a query does not read those.
        let rows = self.rendering.total_count.filter(|_| self.rendering.meta.upstream_total.is_some());
        let query = query.map(|(name, tables)| {
            let example = tables.example(rows);
            let path = tables.path.as_ref();
            let call = match self.read_call {
                FollowUpCall::Tool(_) => {
                    let path = path.map_or_else(String::new, |path| format!("path={path}, "));
                    format!("{name}(cursor, {path}query: {example})")
                }
                FollowUpCall::Http(_) => {
                    let path = path.map_or_else(String::new, |path| format!("&path={path}"));
                    format!("{}{path}&{name}={example}", self.read_call.with("cursor"))
                }
            };
            ("query", call)
        });
        let uri = self
            .read_uri
            .zip(self.next_cursor.as_ref())
            .map(|(uri, next)| ("nextUri", format!("{uri}{next}")));
        query.into_iter().chain(uri).collect()
    }

    /// Returns the call that shows the first image or audio that is missing.
    pub(super) fn next_media_call(&self, detail: Detail) -> Option<String> {
        let address = self.missing_media.filter(|_| detail < Detail::Minimal)?;
        self.start_cursor.as_ref()?;
        Some(format!("{} shows it", self.read_call.with(&format!("cursor, path={address}"))))
    }

    /// Returns a call that reads a section of a summary, and the available sections.
    pub(super) fn details_available(&self, detail: Detail) -> Option<Map<String, Value>> {
        let none = Map::new();
        // The type of its envelope has it always.
        let is_required = self.is_envelope_of(EnvelopeType::Summary);
        let sections = self.rendering.sections.as_ref().or(is_required.then_some(&none))?;
        let cursor = self.start_cursor.as_ref();
        let mut arguments = Map::new();
        match cursor {
            Some(cursor) => arguments.insert("cursor".into(), cursor.as_str().into()),
            None if is_required => None,
            None => return None,
        };
        match sections.keys().next().filter(|_| !self.is_enveloped) {
            Some(section) => arguments.insert("section".into(), section.as_str().into()),
            None => arguments.insert("fields".into(), "all".into()),
        };
        let mut details = self.read_call.to_members(arguments, self.is_enveloped);
        if detail < Detail::Minimal && !sections.is_empty() {
            details.insert("sections".into(), sections.clone().into());
        }
        Some(details)
    }

    pub(super) fn narrowing_hint(&self) -> Option<String> {
        self.start_cursor.as_ref()?;
        let read = self.read_call;
        match self.rendering.kind {
            // A ranked page is meant to fill the budget.
            PortionKind::Page if self.rendering.meta.dropped_count.is_some() => None,
            PortionKind::Page => {
                Some(format!("near the budget: {} costs less", read.with("cursor, fields=…")))
            }
            PortionKind::Range | PortionKind::Chunk => {
                let is_one_line = self.rendering.meta.lines.is_none_or(|(first, last)| first == last);
                let arguments = if is_one_line { "maxTokens=…" } else { "startLine, endLine" };
                Some(format!("near the budget: {} costs less", read.with(&format!("cursor, {arguments}"))))
            }
            _ => None,
        }
    }
}
