//! A payload, captured once: its bytes and an index of what is in them.
//!
//! Everything served is a rendering of a snapshot; nothing that follows asks the upstream again. A snapshot
//! never changes and holds no time: how long it is kept is the store's affair.

mod duplicates;
mod embedded_json;
mod indexed_text;
mod line_index;
mod list;
mod list_at_path;
mod list_detection;
mod object;
mod profile;
mod slice;
mod upstream_page;

pub(crate) use embedded_json::locate_json;
pub use embedded_json::{EnclosingString, JsonOrigin};
pub use indexed_text::{IndexedText, Structure};
pub use line_index::LineIndex;
pub(crate) use list::cell_spans;
pub use list::{EnclosingObject, Layout, List, ListItem, OrderedList, with_key_field};
pub(crate) use list_detection::{COLUMN_KEYS, ROW_KEYS, column_names, has_identity};
pub(crate) use object::key_matches;
pub use object::{Member, ObjectIndex};
pub(crate) use profile::field_names;
pub use profile::{Field, FieldRank, ListProfile, visit_fields};
pub use slice::Slice;
pub use upstream_page::UpstreamPage;

use std::sync::Arc;

use crate::payload::{BinaryInfo, BlockLabel, Content, Payload, QueryAnswer};
use crate::redact::RedactionRules;
use crate::span::Span;

/// An immutable payload with its index.
#[derive(Clone, Debug)]
pub struct Snapshot {
    parts: Vec<Part>,
    invalid_utf8_count: usize,
    lone_surrogate_count: usize,
    is_text_only: bool,
    frame_bytes: usize,
    query_answer: Option<QueryAnswer>,
    redacted_fields: Vec<String>,
    is_list_path_missing: bool,
    paging_arguments: Arc<[String]>,
}

/// One part of a payload.
#[derive(Clone, Debug)]
pub struct Part {
    /// Where it stood in the result, a JSON Pointer: `/content/0/text`.
    pub address: String,
    /// What it is.
    pub body: PartBody,
    /// Set on `structuredContent` that says the same as another part.
    pub duplicate: Option<StructuredDuplicate>,
    /// What the result says around it.
    pub label: BlockLabel,
    /// Set where its subject is JSON that was found in a text: that text.
    pub json_origin: Option<JsonOrigin>,
    /// Whether the upstream gave each item of this list a text block of its own, from `ADDRESS/0/text` on.
    pub item_blocks: bool,
}

/// What a part is.
#[derive(Clone, Debug)]
pub enum PartBody {
    /// Text or JSON, indexed.
    Indexed(IndexedText),
    /// A block that is passed whole or described.
    Atomic {
        /// The block, JSON.
        json: Slice,
        /// Set for images, audio and blobs.
        binary: Option<BinaryInfo>,
        /// Whether it stands beside the content, where it cannot be described.
        aside: bool,
    },
}

/// How `structuredContent` repeats a text part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StructuredDuplicate {
    /// The index of the part that it repeats.
    pub part: usize,
    /// Its sole key, quotes included, where it repeats the part under one: `{"result": …}`.
    pub wrapper_key: Option<Span>,
    /// Whether the part stands there as a string, even if its text is JSON.
    pub as_string: bool,
}

/// Captures a payload: takes its bytes over, without what is to be hidden of them, and indexes them.
///
/// Total: whatever is no JSON is text.
pub fn capture(payload: Payload) -> Snapshot {
    let mut parts: Vec<Part> = Vec::with_capacity(payload.blocks.len());
    let mut redacted = Vec::new();
    let items = payload.list_path.as_deref();
    let (mut json, mut found) = (false, false);
    // An answer is as we wrote it.
    let answers = payload.query_answer.is_some();
    let mut read = |text: Slice, looks_inside: bool| {
        let subject = items.and_then(|path| IndexedText::with_list_at(&text, path));
        found |= subject.is_some();
        let known = subject.is_some();
        let subject = subject.unwrap_or_else(|| IndexedText::from_payload(text.clone()));
        let inside = (looks_inside && !answers && !known)
            .then(|| embedded_json::find(&text, &subject.structure))
            .flatten();
        let (subject, origin) = inside.map_or((subject, None), |(subject, origin)| (subject, Some(origin)));
        json |= subject.is_json();
        (PartBody::Indexed(subject), origin)
    };
    for block in payload.blocks {
        let content = match &payload.redaction_rules {
            Some(redact) => redact_content(redact, block.content, &mut redacted),
            None => block.content,
        };
        let atomic = |json, binary, aside| (PartBody::Atomic { json: Slice::new(json), binary, aside }, None);
        let (body, origin) = match content {
            Content::Text(text) => read(Slice::new(text), true),
            // A string that a program reads is what its schema says.
            Content::Structured(text) => read(Slice::new(text), false),
            Content::Atomic { json, binary } => atomic(json, binary, false),
            Content::Extra(json) => atomic(json, None, true),
        };
        let (address, label) = (block.address, block.label);
        parts.push(Part { address, body, duplicate: None, label, json_origin: origin, item_blocks: false });
    }
    if let Some(at) = parts.iter().position(|part| part.address == STRUCTURED_CONTENT) {
        parts[at].duplicate = duplicates::find(&parts, at);
        duplicates::restore_texts(&mut parts, at);
        if parts[at].duplicate.is_none() {
            duplicates::merge_item_blocks(&mut parts, at);
        }
    }
    let misled = items.is_some() && json && !found;
    let twin = parts.iter().any(|part| part.duplicate.is_some());
    let Payload { lone_surrogate_count: of_texts, structured_surrogate_count: of_structured, .. } = payload;
    // What is said twice is told once.
    let lone_surrogates = if twin { of_texts.max(of_structured) } else { of_texts + of_structured };
    let Payload {
        invalid_utf8_count: invalid_utf8,
        is_text_only: text_only,
        frame_bytes: frame,
        query_answer: answer,
        paging_arguments: paging,
        ..
    } = payload;
    Snapshot {
        parts,
        invalid_utf8_count: invalid_utf8,
        lone_surrogate_count: lone_surrogates,
        is_text_only: text_only,
        frame_bytes: frame,
        query_answer: answer,
        redacted_fields: redacted,
        is_list_path_missing: misled,
        paging_arguments: paging,
    }
}

/// A part without what is hidden of it, whose fields are named once each.
fn redact_content(redact: &RedactionRules, mut content: Content, named: &mut Vec<String>) -> Content {
    let said = match &mut content {
        Content::Text(said) | Content::Structured(said) | Content::Extra(said) => said,
        // The rest of a binary block is base64, which says nothing by names.
        Content::Atomic { binary: Some(_), .. } => return content,
        Content::Atomic { json, .. } => json,
    };
    if let Some((without, names)) = redact.redact(said) {
        *said = without;
        for name in names {
            if !named.contains(&name) {
                named.push(name);
            }
        }
    }
    content
}

/// The address of the part that programs read beside the text.
pub const STRUCTURED_CONTENT: &str = "/structuredContent";

impl Snapshot {
    /// Its parts, in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The index of the part that has a form of its own for programs, `structuredContent`.
    pub fn structured_part(&self) -> Option<usize> {
        self.parts.iter().position(|part| part.address == STRUCTURED_CONTENT).filter(|_| !self.is_text_only)
    }

    /// How many byte sequences that are no UTF-8 were replaced by U+FFFD.
    pub fn invalid_utf8(&self) -> usize {
        self.invalid_utf8_count
    }

    /// How often anything that is no text was replaced by U+FFFD.
    pub fn replacement_count(&self) -> usize {
        self.invalid_utf8_count + self.lone_surrogate_count
    }

    /// The fields of which something was hidden, as dotted paths.
    pub fn redacted(&self) -> &[String] {
        &self.redacted_fields
    }

    /// Arguments of the tool that was called by which its own pages are walked.
    pub fn paging(&self) -> &[String] {
        &self.paging_arguments
    }

    /// Whether its list was said to be where none is.
    pub fn has_missing_list_path(&self) -> bool {
        self.is_list_path_missing
    }

    /// Wire bytes that pass beside its parts where they are shown in their own places.
    pub fn frame(&self) -> usize {
        self.frame_bytes
    }

    /// Set where this is the answer to a question about another snapshot.
    pub fn answer(&self) -> Option<&QueryAnswer> {
        self.query_answer.as_ref()
    }

    /// Heap bytes held, index included.
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

    /// Bytes of the payload as it came, both of a pair of twins counted.
    pub fn payload_bytes(&self) -> usize {
        self.parts.iter().map(|part| part.text().len()).sum()
    }

    /// The index of the part that a request without a path is about: the largest that can be read,
    /// `structuredContent` only where it stands alone.
    pub fn main_part(&self) -> Option<usize> {
        let readable = |part: &Part| matches!(part.body, PartBody::Indexed(_));
        let of = |structured: bool| {
            let parts = self.parts.iter().enumerate();
            let fitting =
                parts.filter(|(_, p)| readable(p) && (p.address == STRUCTURED_CONTENT) == structured);
            fitting.rev().max_by_key(|(_, part)| part.text().len()).map(|(i, _)| i)
        };
        of(false).or_else(|| of(true))
    }
}

impl Part {
    /// Its bytes.
    pub fn text(&self) -> &str {
        self.source()
    }

    /// Its bytes, shared.
    pub fn source(&self) -> &Slice {
        match (&self.json_origin, &self.body) {
            (Some(origin), _) => &origin.text,
            (None, PartBody::Indexed(subject)) => &subject.text,
            (None, PartBody::Atomic { json, .. }) => json,
        }
    }

    /// The bytes that a value of its subject was written in.
    pub fn original_text(&self, value: Span) -> Option<Slice> {
        let own = || Some(self.indexed_text()?.text.subslice(value));
        self.json_origin.as_ref().and_then(|origin| origin.original_text(value)).or_else(own)
    }

    /// The string that its subject was found in.
    pub fn enclosing_string(&self) -> Option<&EnclosingString> {
        self.json_origin.as_ref()?.enclosing_string.as_ref()
    }

    /// Its index, where it has one.
    pub fn indexed_text(&self) -> Option<&IndexedText> {
        match &self.body {
            PartBody::Indexed(subject) => Some(subject),
            PartBody::Atomic { .. } => None,
        }
    }
}
