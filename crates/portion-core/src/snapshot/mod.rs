//! Captures a payload once: its bytes and an index of them.
//!
//! Every reply is rendered from a snapshot; follow-ups never ask the upstream again. A snapshot is
//! immutable and holds no time: the store decides how long it is kept.
//!
//! ```
//! use portion_core::payload::{Block, Content, Payload};
//! use portion_core::snapshot::{Structure, capture};
//!
//! let text = Content::Text(r#"{"data":[{"id":1},{"id":2}]}"#.to_owned());
//! let snapshot = capture(Payload { blocks: vec![Block::new("/content/0/text", text)], ..Payload::default() });
//! let Structure::List(list) = &snapshot.parts()[0].indexed_text().unwrap().structure else { panic!() };
//! assert_eq!((list.pointer.as_str(), list.len()), ("/data", 2));
//! ```

mod duplicates;
mod embedded_json;
mod encoding;
mod indexed_text;
mod line_index;
mod list;
mod list_detection;
mod named_rows;
mod nested_lists;
mod object;
mod partial;
mod profile;
mod redacted;
mod slice;
mod table_layouts;
mod upstream_page;

pub(crate) use duplicates::block_place;
pub use embedded_json::{EnclosingString, JsonOrigin, json_in_text, text_in_member};
pub use encoding::{EncodedSnapshot, FieldCounts, MAX_BLOCK_BYTES, OFFSETS_PER_PIECE};
pub(crate) use encoding::{TextTable, read_indexed, write_indexed};
pub use indexed_text::{IndexedText, Structure};
pub use line_index::LineIndex;
pub(crate) use line_index::{ItemsTable, TableSource, TextTables, column_list};
pub(crate) use list::cell_spans;
pub use list::{EnclosingObject, Layout, List, ListFacts, ListItem, OrderedList, with_key_field};
pub(crate) use list_detection::{LIST_NAMES, has_identity, sole_object};
pub use named_rows::{
    NamedRows, NamedTable, header_row, joined_rows, main_table, named_tables, tables_alike,
};
pub(crate) use nested_lists::MIN_LIST_BYTES;
pub use nested_lists::{NestedLists, holds_records, joined_records, main_lists};
pub use object::{Member, ObjectIndex};
pub use profile::{Field, FieldRank, ListProfile, visit_fields};
pub(crate) use profile::{FieldType, MAX_FIELD_DEPTH, field_names};
pub(crate) use redacted::string_at;
pub use slice::Slice;
pub use table_layouts::{ColumnArrays, RecordBlock, list_blocks, record_blocks};
pub use upstream_page::UpstreamPage;
pub(crate) use upstream_page::{is_round_page, leads_inside};

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use portion_json::span::Span;

use crate::missing_codes::MissingCodes;
use crate::paging::PagingArgument;
use crate::payload::{BinaryInfo, BlockLabel, Content, Payload, QueryAnswer, TransportPage, UpstreamList};

/// An immutable payload with its index.
#[derive(Clone, Debug)]
pub struct Snapshot {
    parts: Vec<Part>,
    invalid_utf8_count: usize,
    passes_as_bytes: bool,
    lone_surrogate_count: usize,
    is_text_only: bool,
    frame_bytes: usize,
    query_answer: Option<QueryAnswer>,
    redacted_fields: Vec<String>,
    is_list_path_missing: bool,
    paging_arguments: Arc<[PagingArgument]>,
    transport_page: Option<Box<TransportPage>>,
    upstream_list: Option<UpstreamList>,
    missing_codes: MissingCodes,
    derived: DerivedData,
}

/// One part of a payload.
#[derive(Clone, Debug)]
pub struct Part {
    /// Address in the result, a JSON Pointer: `/content/0/text`.
    pub address: String,
    /// Content and index.
    pub body: PartBody,
    /// Set on `structuredContent` that repeats another part.
    pub duplicate: Option<StructuredDuplicate>,
    /// Metadata of the part in the result.
    pub label: BlockLabel,
    /// Set where the part is JSON that was found in a text: the origin of that JSON.
    pub json_origin: Option<JsonOrigin>,
    /// True if the upstream gave each item of this list a text block of its own, from `ADDRESS/0/text`
    /// on.
    pub item_blocks: bool,
}

/// The content of a part.
#[derive(Clone, Debug)]
pub enum PartBody {
    /// Text or JSON, indexed.
    Indexed(IndexedText),
    /// A block that is passed on whole or described.
    Atomic {
        /// The block, JSON.
        json: Slice,
        /// Facts about the binary data of images, audio and blobs.
        binary: Option<BinaryInfo>,
        /// True if it stands beside the content, where no description can replace it.
        aside: bool,
    },
}

/// A text part that `structuredContent` repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StructuredDuplicate {
    /// Index of the repeated part; of several, the largest.
    pub part: usize,
    /// How it is repeated.
    pub form: DuplicateForm,
}

/// The way in which `structuredContent` repeats the text of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateForm {
    /// It is the JSON of the text.
    Whole,
    /// It is an object with the text under its sole key: `{"result": …}`.
    UnderKey {
        /// The key, quotes included.
        key: Span,
        /// True for a string, even if the text is JSON.
        as_string: bool,
    },
    /// It holds all content blocks as objects: `{"result":[{"type":"text","text":"…"}]}`.
    Blocks(Span),
}

impl DuplicateForm {
    /// Returns true if the text is repeated as a string.
    fn is_string(self) -> bool {
        matches!(self, Self::UnderKey { as_string: true, .. } | Self::Blocks(_))
    }
}

/// Captures a payload: takes ownership of its bytes, removes the fields to hide, and indexes the rest.
///
/// Never fails: anything that is not JSON is text.
pub fn capture(payload: Payload) -> Snapshot {
    let mut parts: Vec<Part> = Vec::with_capacity(payload.blocks.len());
    let mut redacted = Vec::new();
    let items = payload.list_path.as_deref();
    let (mut json, mut found) = (false, false);
    // Answers to queries were written by Portion, so no JSON is searched for inside them.
    let is_answer = payload.query_answer.is_some();
    let mut read = |text: Slice, looks_inside: bool, is_block: bool| {
        let subject = items.and_then(|path| IndexedText::with_list_at(&text, path));
        found |= subject.is_some();
        let known = subject.is_some();
        let subject = subject.unwrap_or_else(|| IndexedText::from_payload(text.clone()));
        let inside = (looks_inside && !is_answer && !known)
            .then(|| embedded_json::find(&text, &subject.structure))
            .flatten()
            // Other programs than models read the body of a response by its form.
            .or_else(|| {
                let form = Some(&subject.structure).filter(|_| is_block && !is_answer && !known)?;
                embedded_json::find_beside_page(&text, form)
                    .or_else(|| embedded_json::find_in_strings(&text, form))
            });
        let (subject, origin) = inside.map_or((subject, None), |(subject, origin)| (subject, Some(origin)));
        json |= subject.is_json();
        (PartBody::Indexed(subject), origin)
    };
    for block in payload.blocks {
        let content = match &payload.redaction_rules {
            Some(redact) => redacted::redact_content(&**redact, block.content, &mut redacted),
            None => block.content,
        };
        let atomic = |json, binary, aside| (PartBody::Atomic { json: Slice::new(json), binary, aside }, None);
        let (body, origin) = match content {
            Content::Text(text) => read(Slice::new(text), true, block_place(&block.address).is_some()),
            // Programs read this JSON by its schema, so a string in it stays a string. What repeats a text shares its index.
            Content::Structured(text) => {
                let is_same = |body: &PartBody| matches!(body, PartBody::Indexed(own) if *own.text == *text);
                let known = parts.iter().find(|part| part.json_origin.is_none() && is_same(&part.body));
                let body = known.map(|part| (part.body.clone(), None));
                body.unwrap_or_else(|| read(Slice::new(text), false, false))
            }
            Content::Atomic { json, binary } => atomic(json, binary, false),
            Content::Extra(json) => atomic(json, None, true),
        };
        let (address, mut label) = (block.address, block.label);
        redacted::redact_about(payload.redaction_rules.as_deref(), &mut label.source);
        parts.push(Part { address, body, duplicate: None, label, json_origin: origin, item_blocks: false });
    }
    if let Some(at) = parts.iter().position(|part| part.address == STRUCTURED_CONTENT) {
        parts[at].duplicate = duplicates::find(&parts, at);
        duplicates::restore_texts(&mut parts, at);
        if parts[at].duplicate.is_none() {
            duplicates::merge_item_blocks(&mut parts, at);
        }
    } else {
        duplicates::merge_record_blocks(&mut parts);
    }
    let list_path_missing = items.is_some() && json && !found;
    let duplicated = parts.iter().any(|part| part.duplicate.is_some());
    let Payload { lone_surrogate_count: of_texts, structured_surrogate_count: of_structured, .. } = payload;
    // Text and `structuredContent` repeat each other, so their replacements count once.
    let lone_surrogates = if duplicated { of_texts.max(of_structured) } else { of_texts + of_structured };
    let Payload {
        invalid_utf8_count: invalid_utf8,
        passes_as_bytes,
        is_text_only: text_only,
        frame_bytes: frame,
        query_answer: answer,
        paging_arguments: paging,
        transport_page,
        upstream_list,
        missing_codes,
        redaction_rules,
        ..
    } = payload;
    Snapshot {
        parts,
        invalid_utf8_count: invalid_utf8,
        passes_as_bytes,
        lone_surrogate_count: lone_surrogates,
        is_text_only: text_only,
        frame_bytes: frame,
        query_answer: answer,
        redacted_fields: redacted,
        is_list_path_missing: list_path_missing,
        paging_arguments: paging,
        transport_page: transport_page
            .map(|page| Box::new(redacted::redact_next(redaction_rules.as_deref(), *page))),
        upstream_list: upstream_list.map(|mut list| {
            redacted::redact_about(redaction_rules.as_deref(), &mut list.stop_reason);
            *list
        }),
        missing_codes,
        derived: DerivedData::default(),
    }
}

/// Address of the part that programs read beside the text.
pub const STRUCTURED_CONTENT: &str = "/structuredContent";

impl Snapshot {
    /// Returns the parts, in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Yields the texts of the parts, each once if several parts repeat it.
    pub fn distinct_texts(&self) -> impl Iterator<Item = &str> {
        let parts = self.parts.iter().filter(|part| part.duplicate.is_none());
        parts.filter(|part| part.indexed_text().is_some()).map(Part::text)
    }

    /// Returns the index of `structuredContent`, if the snapshot has it and it is not shown as text.
    pub fn structured_part(&self) -> Option<usize> {
        self.parts.iter().position(|part| part.address == STRUCTURED_CONTENT).filter(|_| !self.is_text_only)
    }

    /// Returns the number of invalid UTF-8 sequences that were replaced by U+FFFD.
    pub fn invalid_utf8(&self) -> usize {
        self.invalid_utf8_count
    }

    /// Returns true if the bytes of the upstream are sent where the payload passes as received.
    pub fn passes_as_bytes(&self) -> bool {
        self.passes_as_bytes
    }

    /// Returns the number of all replacements by U+FFFD.
    pub fn replacement_count(&self) -> usize {
        self.invalid_utf8_count + self.lone_surrogate_count
    }

    /// Returns the dotted paths of fields that were hidden, in whole or in part.
    pub fn redacted(&self) -> &[String] {
        &self.redacted_fields
    }

    /// Returns the arguments by which the called tool pages its own results.
    pub fn paging(&self) -> &[PagingArgument] {
        &self.paging_arguments
    }

    /// Returns what the transport says about this page of the upstream.
    pub fn transport_page(&self) -> Option<&TransportPage> {
        self.transport_page.as_deref()
    }

    /// Returns the extent of a list that is fetched from the upstream page by page.
    pub fn upstream_list(&self) -> Option<&UpstreamList> {
        self.upstream_list.as_ref()
    }

    /// Returns the numbers that stand for missing values.
    pub fn missing_codes(&self) -> &MissingCodes {
        &self.missing_codes
    }

    /// Returns true if the list is fetched page by page and some of it is missing.
    pub fn is_partial_list(&self) -> bool {
        self.upstream_list.as_ref().is_some_and(UpstreamList::is_incomplete)
    }

    /// Returns true if a list path was configured, but no list is there.
    pub fn has_missing_list_path(&self) -> bool {
        self.is_list_path_missing
    }

    /// Returns the bytes on the wire beside the parts, where these are shown in their own places.
    pub fn frame(&self) -> usize {
        self.frame_bytes
    }

    /// Returns the facts about an answer, if this is the answer to a query on another snapshot.
    pub fn answer(&self) -> Option<&QueryAnswer> {
        self.query_answer.as_ref()
    }

    /// Returns the place of data that are computed from the snapshot and kept with it.
    pub fn derived(&self) -> &DerivedData {
        &self.derived
    }

    /// Returns the heap size in bytes, index included, without what is [derived](Self::derived).
    pub fn heap_bytes(&self) -> usize {
        let parts = self.parts.iter().map(|part| {
            size_of::<Part>()
                + part.address.capacity()
                + match &part.body {
                    PartBody::Indexed(subject) => {
                        let origin = part.json_origin.as_ref();
                        subject.heap_bytes() + origin.map_or(0, |origin| origin.heap_bytes(&subject.text))
                    }
                    PartBody::Atomic { json, .. } => json.heap_bytes(),
                }
        });
        parts.sum()
    }

    /// Returns the size of the payload in bytes; a text and its repetition both count.
    pub fn payload_bytes(&self) -> usize {
        self.parts.iter().map(Part::text_len).sum()
    }

    /// Returns the index of the part that a request without a path refers to: the largest indexed one.
    /// `structuredContent` is used only if there is no other.
    pub fn main_part(&self) -> Option<usize> {
        let readable = |part: &Part| matches!(part.body, PartBody::Indexed(_));
        let of = |structured: bool| {
            let parts = self.parts.iter().enumerate();
            let fitting =
                parts.filter(|(_, p)| readable(p) && (p.address == STRUCTURED_CONTENT) == structured);
            fitting.rev().max_by_key(|(_, part)| part.text_len()).map(|(i, _)| i)
        };
        of(false).or_else(|| of(true))
    }

    /// Returns the text of the main part.
    pub fn main_text(&self) -> Option<&IndexedText> {
        self.parts.get(self.main_part()?)?.indexed_text()
    }

    /// Returns the part at each address, or the main part at an empty one. Fast for very many parts.
    pub fn parts_at<'a>(&self, addresses: impl Iterator<Item = &'a str>) -> Vec<Option<&Part>> {
        let mut places: HashMap<&str, &Part> =
            self.parts.iter().map(|part| (part.address.as_str(), part)).collect();
        places.extend(self.main_part().and_then(|main| self.parts.get(main)).map(|main| ("", main)));
        addresses.map(|address| places.get(address).copied()).collect()
    }
}

impl Part {
    /// Returns the name of its content: the URI of a resource, or the path in the first line of a text.
    pub fn name(&self) -> Option<&str> {
        let uri = self.label.source.as_deref().filter(|source| source.contains(':'));
        uri.or_else(|| path_in_first_line(self.source()))
    }

    /// Returns the text as the upstream wrote it.
    pub fn text(&self) -> &str {
        self.source()
    }

    /// Returns the length of the text in bytes.
    pub fn text_len(&self) -> usize {
        self.source().len()
    }

    /// Returns the same text as a shared slice.
    pub fn source(&self) -> &Slice {
        match (&self.json_origin, &self.body) {
            (Some(origin), _) => &origin.text,
            (None, PartBody::Indexed(subject)) => &subject.text,
            (None, PartBody::Atomic { json, .. }) => json,
        }
    }

    /// Returns the upstream's bytes of a value of the indexed text.
    pub fn original_text(&self, value: Span) -> Option<Slice> {
        let own = || Some(self.indexed_text()?.text.subslice(value));
        self.json_origin.as_ref().and_then(|origin| origin.original_text(value)).or_else(own)
    }

    /// Returns the JSON string that the indexed text was found in.
    pub fn enclosing_string(&self) -> Option<&EnclosingString> {
        self.json_origin.as_ref()?.enclosing_string.as_ref()
    }

    /// Returns the indexed text, if there is one.
    pub fn indexed_text(&self) -> Option<&IndexedText> {
        match &self.body {
            PartBody::Indexed(subject) => Some(subject),
            PartBody::Atomic { .. } => None,
        }
    }
}

/// Longest name, in bytes.
const MAX_BYTES: usize = 200;
/// Longest extension of a file, in characters.
const MAX_EXTENSION: usize = 8;

/// Returns the path that is all of the first line, without the signs around it.
fn path_in_first_line(text: &str) -> Option<&str> {
    let line = text.lines().next()?.trim();
    let line = line.strip_prefix("File:").or_else(|| line.strip_prefix("file:")).unwrap_or(line);
    let name = line.trim_matches(|c: char| c.is_whitespace() || "#=-*`<>:".contains(c));
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let has_extension = (1..=MAX_EXTENSION).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && extension.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_path = name.len() <= MAX_BYTES
        && !name.contains(|c: char| c.is_whitespace() || "{}[]()\"',;|".contains(c))
        && (has_extension || name.trim_matches('/').contains('/'));
    is_path.then_some(name)
}

/// A value that is computed from a snapshot.
type DerivedValue = Arc<dyn Any + Send + Sync>;

/// The place of data that are computed from a snapshot. A clone of the snapshot computes its own.
#[derive(Default)]
pub struct DerivedData {
    value: Mutex<Option<DerivedValue>>,
    byte_count: AtomicUsize,
}

impl DerivedData {
    /// Returns the value, created if there is none of this type.
    pub fn get_or_default<T: Any + Default + Send + Sync>(&self) -> Arc<T> {
        let mut value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = value.clone().and_then(|value| value.downcast().ok()) {
            return known;
        }
        let new = Arc::new(T::default());
        *value = Some(Arc::<T>::clone(&new));
        new
    }

    /// Returns the size of the value in bytes, as it was set last.
    pub fn byte_count(&self) -> usize {
        self.byte_count.load(Ordering::Relaxed)
    }

    /// Sets the size of the value in bytes, once it has changed.
    pub fn set_byte_count(&self, bytes: usize) {
        self.byte_count.store(bytes, Ordering::Relaxed);
    }

    /// Drops the value.
    pub fn clear(&self) {
        *self.value.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.set_byte_count(0);
    }
}

impl Clone for DerivedData {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for DerivedData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DerivedData").field("byte_count", &self.byte_count()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::{DerivedData, path_in_first_line};

    #[test]
    fn paths_are_names() {
        let check = |text: &str, expect: Option<&str>| assert_eq!(path_in_first_line(text), expect, "{text}");
        check("# src/main.rs\nfn main() {}\n", Some("src/main.rs"));
        check("==> log/app.log <==\nx", Some("log/app.log"));
        check("README.md:\n# Title", Some("README.md"));
        check("File: `a/b`\n", Some("a/b"));
        check("# Title of a document\n", None);
        check("Version 1.2\n", None);
        check("1.25\n", None);
        check("{\"a\":\"b/c\"}", None);
        check("", None);
    }

    #[test]
    fn a_value_stays_until_it_is_cleared() {
        let derived = DerivedData::default();
        derived.get_or_default::<AtomicU8>().store(7, Ordering::Relaxed);
        derived.set_byte_count(1);
        assert_eq!(derived.get_or_default::<AtomicU8>().load(Ordering::Relaxed), 7);
        assert_eq!(derived.clone().byte_count(), 0);
        derived.clear();
        assert_eq!(
            (derived.byte_count(), derived.get_or_default::<AtomicU8>().load(Ordering::Relaxed)),
            (0, 0)
        );
    }
}
