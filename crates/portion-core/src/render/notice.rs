//! Builds the notice of a reply: totals, what is missing, and the exact next call.

use serde_json::{Map, Value, json};

use super::follow_up_call::FollowUpCall;
use super::numbered_pages::UnshownRange;
use super::rendering::{Rendering, StrippedFields, name_list};
use crate::cursor::CursorToken;
use crate::payload::QueryAnswer;
use crate::policy::MetadataStyle;

/// Everything that a notice is built from.
pub(super) struct Notice<'a> {
    /// The rendering that the notice is about.
    pub rendering: &'a Rendering,
    /// Set if the payload answers a query.
    pub answer: Option<&'a QueryAnswer>,
    /// Facts about the whole.
    pub facts: Option<&'a Map<String, Value>>,
    /// Cursor to the start of the reply; `None` if the snapshot could not be stored.
    pub start_cursor: Option<CursorToken>,
    /// Cursor to the next page.
    pub next_cursor: Option<CursorToken>,
    /// Request for further pages.
    pub read_call: FollowUpCall<'a>,
    /// Name of the tool that answers queries, if there is one.
    pub query_tool: Option<&'a str>,
    /// Address and bytes of each part that is not in the reply.
    pub missing_parts: &'a [(String, usize)],
    /// Address of the first image or audio among them.
    pub missing_media: Option<&'a str>,
    /// Number of invalid sequences that were replaced.
    pub replaced_count: usize,
    /// Fields with redacted values.
    pub redacted_fields: &'a [String],
    /// Items or bytes that the previous page did not show.
    pub unshown: Option<&'a UnshownRange>,
    /// Description of how the shown JSON was found in a text.
    pub read_as: Option<&'a str>,
    /// Address of the part that the notice is about, if there are several parts.
    pub part_address: Option<&'a str>,
    /// Source of each piece, if it is reported: the URI of a resource or the role of a message.
    pub piece_owners: Vec<Option<&'a str>>,
    /// Prefix of the URIs for further pages, if the reply is the contents of a resource.
    pub read_uri: Option<&'a str>,
    /// Tokens that the reply may cost.
    pub budget: usize,
    /// Share of the budget from which a warning is added, if any.
    pub warning_threshold: Option<f64>,
    /// Style of its keys.
    pub key_style: MetadataStyle,
    /// True if the content is put in an envelope.
    pub is_enveloped: bool,
    /// True if everything is shown as received.
    pub is_whole: bool,
    /// Content that the text shows and `structuredContent` lacks.
    pub structured_gap: Option<Value>,
    /// True if this is the first reply to a call.
    pub is_first_reply: bool,
    /// True if it shows the whole, from its beginning, and so describes it.
    pub describes_whole: bool,
    /// True if the text form has the full notice.
    pub is_full_in_text: bool,
}

/// Reader of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Audience {
    /// Programs, which read `_meta`, `structuredContent` or an envelope: they get every fact.
    Programs,
    /// A model, which reads the text: it gets what it can act on.
    Model,
}

/// Bytes of a path that are shown in the shortest notice.
const MAX_PATH_BYTES: usize = 60;

/// Characters shown of the name of a redacted or stripped field.
const MAX_FIELD_NAME_CHARS: usize = 60;

/// Amount of detail in a notice: everything, the essential members, or the minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Detail {
    Full,
    Essential,
    Minimal,
}

/// Describes the items or bytes that the previous page did not show, with the cursor that returns them. The
/// shortest notice omits the cursor: they directly precede this page, and `meta.cursor` with an offset or a
/// line reaches them.
fn unshown_object(not_shown: &UnshownRange, detail: Detail) -> Map<String, Value> {
    let UnshownRange { offset, count, cursor: next } = not_shown;
    let mut told = Map::new();
    if let Some(offset) = offset {
        told.insert("offset".into(), (*offset).into());
    }
    told.insert(if offset.is_some() { "items" } else { "bytes" }.into(), (*count).into());
    if let Some(next) = next.as_ref().filter(|_| detail < Detail::Minimal) {
        told.insert("cursor".into(), next.as_str().into());
    }
    told
}

/// Returns a value of `meta` for the shortest notice, or `None` if it is omitted.
fn minimal_value(key: &str, value: &Value) -> Option<Value> {
    match (key, value) {
        ("omitted" | "totalTokens", Value::Object(paths)) => Some(paths.len().into()),
        ("omitted" | "totalTokens", _) => None,
        // A truncated value would name another call.
        ("upstreamNext", Value::String(next)) if next.len() > MAX_PATH_BYTES => None,
        (_, Value::String(path)) if path.len() > MAX_PATH_BYTES => {
            Some(format!("{}…", &path[..path.floor_char_boundary(MAX_PATH_BYTES)]).into())
        }
        // The summary itself shows its fields, so only the first names are listed.
        ("projectedFields", Value::Array(fields)) => {
            let named = fields.iter().filter_map(Value::as_str).map(str::to_owned);
            Some(name_list(named, MAX_PATH_BYTES))
        }
        (_, value) => Some(value.clone()),
    }
}

/// Returns the notice with only `nextCursor`, `totalCount` and `meta` at the top level: a closed schema lists
/// no other keys.
pub(super) fn nest_under_meta(notice: &Map<String, Value>, style: MetadataStyle) -> Map<String, Value> {
    let mut notice = notice.clone();
    let mut meta = Map::new();
    for key in ["cut".to_owned(), style.key("notShown")] {
        meta.extend(notice.shift_remove(&key).map(|value| (key, value)));
    }
    if let (false, Some(Value::Object(told))) = (meta.is_empty(), notice.get_mut("meta")) {
        meta.append(told);
        *told = meta;
    }
    notice
}

impl Notice<'_> {
    /// Returns the cursors that the notice may contain.
    pub(super) fn cursors(&self) -> Vec<CursorToken> {
        let unshown = self.unshown.and_then(|unshown| unshown.cursor.as_ref());
        let cursors = [self.start_cursor.as_ref(), self.next_cursor.as_ref(), unshown];
        cursors.into_iter().flatten().cloned().collect()
    }

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
        if let Some(total) = self.rendering.total_count.filter(|_| !all_told) {
            notice.insert(self.key_style.key("totalCount"), total.into());
        }
        notice.insert("meta".into(), self.meta(tokens, detail, audience).into());
        notice
    }

    fn meta(&self, tokens: usize, detail: Detail, audience: Audience) -> Map<String, Value> {
        let for_programs = audience == Audience::Programs;
        // Later replies do not repeat to a model what the first reply said of the result.
        let is_new = for_programs || self.is_first_reply;
        let mut meta = Map::new();
        let mut say = |key: &str, value: Value| {
            meta.insert(self.key_style.key(key), value);
        };
        if for_programs {
            // In an envelope, a summary has another name.
            let preview = self.is_enveloped && self.kind() == "summary";
            say("kind", if preview { "preview" } else { self.kind() }.into());
        }
        if let Some(handle) = self.start_cursor.as_ref().filter(|_| for_programs || self.needs_handle()) {
            say("cursor", handle.as_str().into());
        }
        self.answer_members(audience).into_iter().for_each(|(key, value)| say(&key, value));
        if let Some(part) = self.part_address {
            say("part", part.into());
        }
        if !self.piece_owners.is_empty() && detail < Detail::Minimal {
            say("of", owners_array(&self.piece_owners, self.budget / 3));
        }
        for (key, value) in &self.rendering.meta {
            if self.answer.is_some() && self.is_redundant_in_answer(key) {
                continue;
            }
            let value = if for_programs { Some(value.clone()) } else { self.value_for_model(key, value) };
            let shown = value.and_then(|value| {
                if detail == Detail::Minimal { minimal_value(key, &value) } else { Some(value) }
            });
            if let Some(value) = shown {
                say(key, value);
            }
        }
        for (key, value) in self.page_numbers() {
            say(key, value);
        }
        if let Some(cut) = &self.structured_gap {
            say("structuredContent", cut.clone());
        }
        if detail == Detail::Full && (for_programs || self.describes_whole) {
            self.description_members(audience).into_iter().for_each(|(key, value)| say(key, value));
        }
        if let Some(details) = self.details_available(detail) {
            say("detailsAvailable", details.into());
        }
        if !self.missing_parts.is_empty() {
            say("partsNotShown", self.parts_not_shown(detail).into());
        }
        if let Some(read_as) = self.read_as.filter(|_| is_new) {
            say("readAs", if detail == Detail::Minimal { "JSON in text" } else { read_as }.into());
        }
        if let Some(call) = self.next_media_call(detail) {
            say("nextMedia", call.into());
        }
        if self.replaced_count > 0 && is_new {
            let words = format!("{} invalid sequences are shown as U+FFFD", self.replaced_count);
            say(
                "replaced",
                if detail == Detail::Minimal { self.replaced_count.into() } else { words.into() },
            );
        }
        if is_new {
            let omitted = self.omitted_fields().into_iter().filter(|(_, fields)| !fields.is_empty());
            omitted.for_each(|(key, fields)| {
                // The names of fields without values are of no use to a model.
                let is_counted = !for_programs && key == "nulls";
                let detail = if for_programs { detail } else { detail.max(Detail::Essential) };
                say(key, if is_counted { fields.len().into() } else { abbreviated_names(fields, detail) });
            });
        }
        if self.start_cursor.is_none() && !self.is_whole {
            say("store_unavailable", "not stored, so there is no cursor for the rest; ask for less: a filter, a limit or fewer fields".into());
        }
        let used = (tokens as f64 / self.budget.max(1) as f64).min(1.0);
        if for_programs || self.rendering.sections.is_some() {
            say("estimatedTokens", tokens.into());
            say("budgetUsed", ((used * 100.0).round() / 100.0).into());
            say("budgetRemaining", self.budget.saturating_sub(tokens).into());
        }
        // A query, if one is named, is the better call.
        let is_helpful = for_programs || self.is_first_reply && self.rendering.query_hint.is_none();
        if detail == Detail::Full
            && is_helpful
            && self.warning_threshold.is_some_and(|share| used >= share)
            && let Some(narrower) = self.narrowing_hint()
        {
            say("warning", narrower.into());
        }
        // The shortest notice does not repeat the call that `cut` names.
        let is_repeated =
            detail == Detail::Minimal && self.next_cursor.is_some() && self.rendering.shortfall().is_some();
        if let Some(call) = self.next_call(detail, audience).filter(|_| !is_repeated) {
            say("next", call.into());
        }
        for (key, call) in self.further_calls(audience).into_iter().filter(|_| detail < Detail::Minimal) {
            say(key, call.into());
        }
        if meta.is_empty() && self.next_cursor.is_none() {
            meta.insert("complete".into(), true.into());
        }
        meta
    }

    /// Returns the facts about an answer.
    fn answer_members(&self, audience: Audience) -> Vec<(String, Value)> {
        let Some(answer) = self.answer else { return Vec::new() };
        let mut members = vec![("matches".to_owned(), answer.match_count.into())];
        if answer.word_match_count > 0 {
            members.push(("wordMatches".into(), answer.word_match_count.into()));
        }
        let returned = self.rendering.meta.get("served");
        if let Some(served) =
            returned.filter(|_| audience == Audience::Programs || self.next_cursor.is_some())
        {
            members.push(("returned".into(), served.clone()));
        }
        members.extend(answer.extra_meta.iter().map(|(key, value)| (key.clone(), value.clone())));
        members
    }

    /// Returns the members that describe the whole.
    fn description_members(&self, audience: Audience) -> Vec<(&'static str, Value)> {
        let mut members = Vec::new();
        let facts = self.facts.filter(|facts| !facts.is_empty());
        members.extend(facts.map(|facts| ("about", facts.clone().into())));
        if self.answer.is_some() {
            return members;
        }
        let outlined = self.facts.is_some_and(|about| about.contains_key("outline"));
        for (key, value) in &self.rendering.extras {
            // The outline has the headings, and a summary shows what it has.
            let is_known =
                outlined && *key == "sections" || audience == Audience::Model && *key == "condensed";
            if !is_known {
                members.push((*key, value.clone()));
            }
        }
        if let Some((fields, characters)) = &self.rendering.available_fields {
            let (known, unknown) = self.known_fields(fields);
            // A model finds the described fields in the description.
            let names: Vec<&String> = if audience == Audience::Model {
                unknown
            } else {
                unknown.into_iter().chain(known).collect()
            };
            if !names.is_empty() {
                members.push(("fieldsAvailable", fields_available(fields, &names, *characters)));
            }
        }
        members
    }

    /// Returns the call that shows the first image or audio that is missing.
    fn next_media_call(&self, detail: Detail) -> Option<String> {
        let address = self.missing_media.filter(|_| detail < Detail::Minimal)?;
        self.start_cursor.as_ref()?;
        Some(format!("{} shows it", self.read_call.with(&format!("cursor, path={address}"))))
    }

    /// Returns further calls: a query, and the next page of a resource.
    fn further_calls(&self, audience: Audience) -> Vec<(&'static str, String)> {
        let is_new = audience == Audience::Programs || self.is_first_reply;
        let query = self.query_tool.zip(self.rendering.query_hint).filter(|_| is_new);
        let query = query.map(|(tool, what)| ("query", format!("{tool}(cursor, {what})")));
        let uri = self
            .read_uri
            .zip(self.next_cursor.as_ref())
            .map(|(uri, next)| ("nextUri", format!("{uri}{next}")));
        query.into_iter().chain(uri).collect()
    }

    fn parts_not_shown(&self, detail: Detail) -> Map<String, Value> {
        let bytes = |(path, bytes): &(String, usize)| (path.clone(), json!(format!("{bytes} bytes")));
        let most = if detail == Detail::Minimal { 0 } else { 12 };
        let mut parts: Map<String, Value> = self.missing_parts.iter().take(most).map(bytes).collect();
        if self.missing_parts.len() > most {
            parts.insert("more".into(), (self.missing_parts.len() - most).into());
        }
        parts
    }

    /// Fields that were left out on purpose, by reason.
    fn omitted_fields(&self) -> [(&'static str, &[String]); 3] {
        let StrippedFields { named, nulls } = &self.rendering.stripped;
        [("stripped", named), ("nulls", nulls), ("redacted", self.redacted_fields)]
    }

    /// Returns the page number, in the style with numbered pages, and the number of the next page if this
    /// page is complete, or null at the end.
    fn page_numbers(&self) -> Vec<(&'static str, Value)> {
        let number = |key: &str| usize::try_from(self.rendering.meta.get(key)?.as_u64()?).ok();
        let page = || {
            let size = number("pageSize").filter(|size| *size > 0)?;
            Some((self.rendering.total_count?, size, number("offset")?, number("served")?))
        };
        let numbered = self.key_style == MetadataStyle::Snake && self.kind() == "page";
        let Some((total, size, offset, served)) = page().filter(|_| numbered) else { return Vec::new() };
        let end = offset.saturating_add(served);
        let next = match (end < total, end % size) {
            (true, 0) => Some((end / size + 1).into()),
            (true, _) => None,
            (false, _) => Some(Value::Null),
        };
        let numbers = [("totalCount", total.into()), ("currentPage", (offset / size + 1).into())];
        numbers.into_iter().chain(next.map(|next| ("nextPage", next))).collect()
    }

    /// Returns a call that reads a section of a summary, and the available sections.
    fn details_available(&self, detail: Detail) -> Option<Map<String, Value>> {
        let (sections, handle) = (self.rendering.sections.as_ref()?, self.start_cursor.as_ref()?);
        let mut arguments = Map::new();
        arguments.insert("cursor".into(), handle.as_str().into());
        match sections.keys().next().filter(|_| !self.is_enveloped) {
            Some(section) => arguments.insert("section".into(), section.as_str().into()),
            None => arguments.insert("fields".into(), "all".into()),
        };
        let mut details = self.read_call.to_members(arguments);
        if detail < Detail::Minimal && !sections.is_empty() {
            details.insert("sections".into(), sections.clone().into());
        }
        Some(details)
    }

    /// Returns the field names that the facts contain, and the others.
    fn known_fields<'f>(&self, fields: &'f [String]) -> (Vec<&'f String>, Vec<&'f String>) {
        fields.iter().partition(|name| self.facts.is_some_and(|facts| facts.contains_key(name.as_str())))
    }

    /// Kind of the reply: `query` for an answer, however it is rendered.
    pub(super) fn kind(&self) -> &'static str {
        if self.answer.is_some() { "query" } else { self.rendering.kind }
    }

    /// Returns true if the members of the answer already contain this value.
    fn is_redundant_in_answer(&self, key: &str) -> bool {
        match key {
            "served" | "pageSize" => true,
            "hasMore" => self.next_cursor.is_none(),
            "offset" => self.rendering.meta.get(key).is_some_and(|offset| offset == 0),
            _ => false,
        }
    }

    fn next_call(&self, detail: Detail, audience: Audience) -> Option<String> {
        let read = self.read_call;
        match (&self.next_cursor, &self.rendering.sections) {
            (Some(_), _) if audience == Audience::Model && !self.is_first_reply => Some(read.with("cursor")),
            // `detailsAvailable` names the same call.
            (None, Some(_)) if audience == Audience::Model => None,
            (Some(_), _) => {
                let next = self.key_style.key("nextCursor");
                let larger = self
                    .rendering
                    .larger_budget
                    .filter(|_| detail < Detail::Minimal && audience == Audience::Programs)
                    .map_or_else(String::new, |cap| format!(", maxTokens={cap} returns more"));
                Some(format!("{}{larger}", read.with(&format!("cursor={next}"))))
            }
            (None, _) if self.start_cursor.is_none() => None,
            (None, Some(sections)) if !sections.is_empty() => Some(read.with("cursor, section")),
            (None, Some(_)) => Some(read.with("cursor, fields=all")),
            (None, None)
                if self.rendering.meta.contains_key("condensed") || self.rendering.stripped.has_any() =>
            {
                Some(read.with("cursor, fields=all"))
            }
            (None, None) if self.rendering.meta.contains_key("elided") => Some(read.with("cursor, path")),
            (None, None) if !self.missing_parts.is_empty() => Some(read.with("cursor, path, raw=true")),
            _ => None,
        }
    }

    fn narrowing_hint(&self) -> Option<String> {
        self.start_cursor.as_ref()?;
        let read = self.read_call;
        match self.rendering.kind {
            // A ranked page is meant to fill the budget.
            "page" if self.rendering.meta.contains_key("strategy") => None,
            "page" => Some(format!("near the budget: {} costs less", read.with("cursor, fields=…"))),
            "range" | "chunk" => {
                Some(format!("near the budget: {} costs less", read.with("cursor, startLine, endLine")))
            }
            _ => None,
        }
    }
}

/// Returns field names. If not all of `fields` fit, the names in `ordered` come in that order.
fn fields_available(fields: &[String], ordered: &[&String], characters: usize) -> Value {
    let all: usize = fields.iter().map(|name| name.len() + 3).sum();
    if all <= characters && ordered.len() == fields.len() {
        return name_list(fields.iter().cloned(), characters);
    }
    name_list(ordered.iter().map(|name| (*name).clone()), characters)
}

/// Returns the source of each piece, in order, in at most this many characters. The last entry counts the
/// omitted ones.
fn owners_array(all: &[Option<&str>], characters: usize) -> Value {
    let mut left = characters;
    let mut told: Vec<Value> = Vec::new();
    for of in all {
        let Some(rest) = left.checked_sub(of.map_or(0, str::len) + 8) else { break };
        left = rest;
        told.push(json!(of));
    }
    if told.len() < all.len() {
        told.push(format!("+{} more", all.len() - told.len()).into());
    }
    told.into()
}

/// Returns the first fields, or only their number in the shortest notice.
fn abbreviated_names(fields: &[String], detail: Detail) -> Value {
    let (most, characters) = match detail {
        Detail::Full => (12, MAX_FIELD_NAME_CHARS),
        Detail::Essential => (4, MAX_FIELD_NAME_CHARS),
        Detail::Minimal => return fields.len().into(),
    };
    let mut told: Vec<Value> = Vec::new();
    for field in fields.iter().take(most) {
        let end = field.char_indices().nth(characters).map_or(field.len(), |(at, _)| at);
        let short = end < field.len();
        told.push(if short { format!("{}…", &field[..end]) } else { field.clone() }.into());
    }
    if fields.len() > told.len() {
        told.push(format!("+{} more", fields.len() - told.len()).into());
    }
    told.into()
}
