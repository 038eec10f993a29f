//! Writes a notice as an object, with the calls that it names: the next page, details, media, queries and cheaper requests.

use serde_json::{Map, Value};

use super::facts::{OmissionReason, abbreviated_names, owners_array, unshown_object};
use super::{Audience, Detail, Notice};
use crate::policy::MetadataStyle;
use crate::render::context::FollowUpCall;
use crate::render::meta::META_KEYS;
use crate::render::portion::PortionKind;
use crate::render::query_tables::{MAX_PATH_BYTES, QueryTables};
use crate::render::rendering::EnvelopeType;
use crate::snapshot::STRUCTURED_CONTENT;

/// Members of `meta`, in order.
struct Members {
    style: MetadataStyle,
    object: Map<String, Value>,
}

impl Members {
    fn add(&mut self, key: &str, value: impl Into<Value>) {
        self.object.insert(self.style.key(key), value.into());
    }

    fn extend<K: AsRef<str>, V: Into<Value>>(&mut self, members: impl IntoIterator<Item = (K, V)>) {
        members.into_iter().for_each(|(key, value)| self.add(key.as_ref(), value));
    }
}

impl Notice<'_> {
    /// Returns the notice of a reply that costs this many tokens, as a JSON object.
    pub(super) fn to_object(&self, tokens: usize, detail: Detail, audience: Audience) -> Map<String, Value> {
        let mut notice = Map::new();
        if let Some((served, of)) = self.rendering.shortfall() {
            let mut cut = Map::new();
            cut.insert("served".into(), served.into());
            cut.insert("of".into(), of.into());
            if let Some(next) = self.next_cursor.as_ref().and_then(|_| self.next_call(detail, audience)) {
                cut.insert("next".into(), next.into());
            }
            notice.insert("cut".into(), cut.into());
        }
        if let Some(not_shown) = self.unshown {
            notice.insert(self.key_style.key("notShown"), unshown_object(not_shown, detail).into());
        }
        if let Some(next) = &self.next_cursor {
            notice.insert(self.key_style.key("nextCursor"), next.as_str().into());
        }
        // `matches` already reports it.
        let is_repeated = audience == Audience::Model || self.next_cursor.is_none();
        let all_told = self.answer.is_some() && is_repeated;
        // A part of an item is no page of the list.
        let is_part = audience == Audience::Model && !self.is_first_reply && self.kind() == PortionKind::Raw;
        if let Some(total) = self.rendering.total_count.filter(|_| !all_told && !is_part) {
            notice.insert(self.key_style.key("totalCount"), total.into());
        }
        notice.insert("meta".into(), self.meta(tokens, detail, audience).into());
        notice
    }

    fn meta(&self, tokens: usize, detail: Detail, audience: Audience) -> Map<String, Value> {
        let mut meta = Members { style: self.key_style, object: Map::new() };
        self.add_source(&mut meta, detail, audience);
        self.add_extent(&mut meta, detail, audience);
        self.add_omissions(&mut meta, detail, audience);
        if self.start_cursor.is_none() && !self.is_whole {
            meta.add("store_unavailable", "not stored, so there is no cursor for the rest; ask for less: a filter, a limit or fewer fields");
        }
        self.add_cost(&mut meta, tokens, detail, audience);
        self.add_calls(&mut meta, detail, audience);
        if meta.object.is_empty() && self.next_cursor.is_none() {
            meta.add("complete", true);
        }
        meta.object
    }

    /// Adds what the reply is a part of: its kind, its cursor, the query that it answers, and its part of the payload.
    fn add_source(&self, meta: &mut Members, detail: Detail, audience: Audience) {
        let for_programs = audience == Audience::Programs;
        if for_programs {
            let kind = if !self.is_envelope_of(EnvelopeType::Summary) {
                self.kind().name()
            } else if self.rendering.is_full() {
                "full"
            } else {
                "preview"
            };
            meta.add("kind", kind);
        }
        if let Some(cursor) = self.start_cursor.as_ref().filter(|_| for_programs || self.needs_cursor()) {
            meta.add("cursor", cursor.as_str());
        }
        meta.extend(self.answer_members(audience));
        if let Some(part) = self.part_address {
            meta.add("part", part);
        }
        if !self.piece_owners.is_empty() && detail < Detail::Minimal {
            meta.add("of", owners_array(&self.piece_owners, self.budget / 3));
        }
    }

    /// Adds what the reply shows, and a description of the whole.
    fn add_extent(&self, meta: &mut Members, detail: Detail, audience: Audience) {
        let for_programs = audience == Audience::Programs;
        for (key, name) in META_KEYS {
            if self.answer.is_some() && self.is_redundant_in_answer(key) {
                continue;
            }
            let is_shown = for_programs || self.is_for_model(key);
            meta.extend(self.value(key, detail, audience).filter(|_| is_shown).map(|value| (name, value)));
        }
        meta.extend(self.page_numbers());
        if let Some(gap) = &self.structured_gap {
            meta.add("structuredContent", gap.clone());
        }
        if detail == Detail::Full && (for_programs || self.describes_whole) {
            meta.extend(self.description_members(audience));
        }
        if let Some(details) = self.details_available(detail) {
            meta.add("detailsAvailable", details);
        }
    }

    /// Adds what is missing or changed.
    fn add_omissions(&self, meta: &mut Members, detail: Detail, audience: Audience) {
        let for_programs = audience == Audience::Programs;
        // Later replies do not repeat to a model what the first reply reported of the result.
        let is_new = for_programs || self.is_first_reply;
        if !self.missing_parts.is_empty() {
            meta.add("partsNotShown", self.parts_not_shown(detail, audience));
        }
        if let Some(origin) = self.read_as.filter(|_| is_new) {
            let is_short = detail == Detail::Minimal;
            let read_as = if is_short { &origin.short_description } else { &origin.description };
            meta.add("readAs", read_as.as_str());
        }
        if let Some(call) = self.next_media_call(detail) {
            meta.add("nextMedia", call);
        }
        if !is_new {
            return;
        }
        match (self.replaced_count, detail) {
            (0, _) => {}
            (count, Detail::Minimal) => meta.add("replaced", count),
            (count, _) => meta.add("replaced", format!("{count} invalid sequences are shown as U+FFFD")),
        }
        // The reply to the call that is queried named the fields with hidden values.
        let is_known = |reason| reason == OmissionReason::Redacted && !for_programs && self.answer.is_some();
        let omitted = self.omitted_fields().into_iter();
        for (reason, fields) in omitted.filter(|(reason, fields)| !fields.is_empty() && !is_known(*reason)) {
            // The names of fields without values are of no use to a model.
            let is_counted = !for_programs && reason == OmissionReason::Null;
            let detail = if for_programs { detail } else { detail.max(Detail::Essential) };
            meta.add(
                reason.key(),
                if is_counted { fields.len().into() } else { abbreviated_names(fields, detail) },
            );
        }
    }

    /// Adds what the reply costs, and a warning if that is near the budget.
    fn add_cost(&self, meta: &mut Members, tokens: usize, detail: Detail, audience: Audience) {
        let for_programs = audience == Audience::Programs;
        // A whole result that is not kept was not shaped.
        if self.is_whole && self.start_cursor.is_none() {
            return;
        }
        if for_programs || self.rendering.sections.is_some() {
            meta.extend(self.cost_members(tokens));
        }
        // A query, if one is named, is the better call.
        let is_helpful = for_programs || self.is_first_reply && self.query_tables().is_none();
        if let Some(hint) = self.warning(tokens, detail).filter(|_| is_helpful) {
            meta.add("warning", hint);
        }
    }

    /// Returns what the reply costs, and what is left.
    pub(super) fn cost_members(&self, tokens: usize) -> [(&'static str, Value); 3] {
        let used = (self.used_share(tokens) * 100.0).round() / 100.0;
        [
            ("estimatedTokens", tokens.into()),
            ("budgetUsed", used.into()),
            ("budgetRemaining", self.budget.saturating_sub(tokens).into()),
        ]
    }

    /// Returns the warning of a reply with this cost.
    pub(super) fn warning(&self, tokens: usize, detail: Detail) -> Option<String> {
        let is_near = self.warning_threshold.is_some_and(|share| self.used_share(tokens) >= share);
        (detail == Detail::Full && is_near).then(|| self.narrowing_hint()).flatten()
    }

    fn used_share(&self, tokens: usize) -> f64 {
        (tokens as f64 / self.budget.max(1) as f64).min(1.0)
    }

    /// Adds the next calls.
    fn add_calls(&self, meta: &mut Members, detail: Detail, audience: Audience) {
        // The shortest notice does not repeat the call that `cut` names.
        let is_repeated =
            detail == Detail::Minimal && self.next_cursor.is_some() && self.rendering.shortfall().is_some();
        if let Some(call) = self.next_call(detail, audience).filter(|_| !is_repeated) {
            meta.add("next", call);
        }
        if detail < Detail::Minimal {
            meta.extend(self.further_calls(audience));
            let tables = self.query_tables().filter(|_| audience == Audience::Programs);
            meta.extend(self.query_tool.and(tables).map(|tables| ("tables", tables.columns())));
        }
    }

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

/// Number of chunks of a text that a model reads one by one.
const MAX_SHORT_CHUNKS: usize = 3;
