//! A payload, captured once: its bytes and an index of what is in them.
//!
//! Everything served is a rendering of a snapshot; nothing that follows asks the upstream again. A snapshot
//! never changes and holds no time: how long it is kept is the store's affair.

mod form;
mod lines;
mod list;
mod object;
mod pointed;
mod profile;
mod reading;
mod shape;
mod slice;
mod twins;
mod upstream;

pub use form::{Form, Subject};
pub use lines::Text;
pub(crate) use list::cells;
pub use list::{Item, Layout, Level, List, Rows, keyed};
pub(crate) use object::is_key;
pub use object::{Member, Members};
pub(crate) use profile::salience;
pub use profile::{Field, Profile, Rank, leaves};
pub(crate) use reading::locate;
pub use reading::{Holder, Origin};
pub(crate) use shape::{HEADERS, ROWS, column_names, has_identity};
pub use slice::Slice;
pub use upstream::UpstreamPage;

use std::sync::Arc;

use crate::payload::{Answered, Binary, Content, Label, Payload};
use crate::redact::Redact;
use crate::span::Span;

/// An immutable payload with its index.
#[derive(Clone, Debug)]
pub struct Snapshot {
    parts: Vec<Part>,
    invalid_utf8: usize,
    lone_surrogates: usize,
    text_only: bool,
    frame: usize,
    answer: Option<Answered>,
    redacted: Vec<String>,
    misled: bool,
    paging: Arc<[String]>,
}

/// One part of a payload.
#[derive(Clone, Debug)]
pub struct Part {
    /// Where it stood in the result, a JSON Pointer: `/content/0/text`.
    pub address: String,
    /// What it is.
    pub body: PartBody,
    /// Set on `structuredContent` that says the same as another part.
    pub twin: Option<Twin>,
    /// What the result says around it.
    pub label: Label,
    /// Set where its subject is JSON that was found in a text: that text.
    pub origin: Option<Origin>,
    /// Whether the upstream gave each item of this list a text block of its own, from `ADDRESS/0/text` on.
    pub item_blocks: bool,
}

/// What a part is.
#[derive(Clone, Debug)]
pub enum PartBody {
    /// Text or JSON, indexed.
    Readable(Subject),
    /// A block that is passed whole or described.
    Atomic {
        /// The block, JSON.
        json: Slice,
        /// Set for images, audio and blobs.
        binary: Option<Binary>,
        /// Whether it stands beside the content, where it cannot be described.
        aside: bool,
    },
}

/// How `structuredContent` repeats a text part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Twin {
    /// The index of the part that it repeats.
    pub of: usize,
    /// Its sole key, quotes included, where it repeats the part under one: `{"result": …}`.
    pub under: Option<Span>,
    /// Whether the part stands there as a string, even if its text is JSON.
    pub as_string: bool,
}

/// Captures a payload: takes its bytes over, without what is to be hidden of them, and indexes them.
///
/// Total: whatever is no JSON is text.
pub fn capture(payload: Payload) -> Snapshot {
    let mut parts: Vec<Part> = Vec::with_capacity(payload.blocks.len());
    let mut redacted = Vec::new();
    let items = payload.items.as_deref();
    let (mut json, mut found) = (false, false);
    // An answer is as we wrote it.
    let answers = payload.answer.is_some();
    let mut read = |text: Slice, looks_inside: bool| {
        let subject = items.and_then(|path| Subject::of_list_at(&text, path));
        found |= subject.is_some();
        let known = subject.is_some();
        let subject = subject.unwrap_or_else(|| Subject::of_payload(text.clone()));
        let inside =
            (looks_inside && !answers && !known).then(|| reading::of(&text, &subject.form)).flatten();
        let (subject, origin) = inside.map_or((subject, None), |(subject, origin)| (subject, Some(origin)));
        json |= subject.is_json();
        (PartBody::Readable(subject), origin)
    };
    for block in payload.blocks {
        let content = match &payload.redact {
            Some(redact) => hide(redact, block.content, &mut redacted),
            None => block.content,
        };
        let atomic = |json, binary, aside| (PartBody::Atomic { json: Slice::new(json), binary, aside }, None);
        let (body, origin) = match content {
            Content::Text(text) => read(Slice::new(text), true),
            // A string that a program reads is what its schema says.
            Content::Structured(text) => read(Slice::new(text), false),
            Content::Atomic { json, binary } => atomic(json, binary, false),
            Content::Aside(json) => atomic(json, None, true),
        };
        let (address, label) = (block.address, block.label);
        parts.push(Part { address, body, twin: None, label, origin, item_blocks: false });
    }
    if let Some(at) = parts.iter().position(|part| part.address == STRUCTURED) {
        parts[at].twin = twins::find(&parts, at);
        twins::leave_text(&mut parts, at);
        if parts[at].twin.is_none() {
            twins::gather_items(&mut parts, at);
        }
    }
    let misled = items.is_some() && json && !found;
    let twin = parts.iter().any(|part| part.twin.is_some());
    let Payload { lone_surrogates: of_texts, structured_surrogates: of_structured, .. } = payload;
    // What is said twice is told once.
    let lone_surrogates = if twin { of_texts.max(of_structured) } else { of_texts + of_structured };
    let Payload { invalid_utf8, text_only, frame, answer, paging, .. } = payload;
    Snapshot { parts, invalid_utf8, lone_surrogates, text_only, frame, answer, redacted, misled, paging }
}

/// A part without what is hidden of it, whose fields are named once each.
fn hide(redact: &Redact, mut content: Content, named: &mut Vec<String>) -> Content {
    let said = match &mut content {
        Content::Text(said) | Content::Structured(said) | Content::Aside(said) => said,
        // The rest of a binary block is base64, which says nothing by names.
        Content::Atomic { binary: Some(_), .. } => return content,
        Content::Atomic { json, .. } => json,
    };
    if let Some((without, names)) = redact.hide(said) {
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
pub const STRUCTURED: &str = "/structuredContent";

impl Snapshot {
    /// Its parts, in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The index of the part that has a form of its own for programs, `structuredContent`.
    pub fn structured(&self) -> Option<usize> {
        self.parts.iter().position(|part| part.address == STRUCTURED).filter(|_| !self.text_only)
    }

    /// How many byte sequences that are no UTF-8 were replaced by U+FFFD.
    pub fn invalid_utf8(&self) -> usize {
        self.invalid_utf8
    }

    /// How often anything that is no text was replaced by U+FFFD.
    pub fn replaced(&self) -> usize {
        self.invalid_utf8 + self.lone_surrogates
    }

    /// The fields of which something was hidden, as dotted paths.
    pub fn redacted(&self) -> &[String] {
        &self.redacted
    }

    /// Arguments of the tool that was called by which its own pages are walked.
    pub fn paging(&self) -> &[String] {
        &self.paging
    }

    /// Whether its list was said to be where none is.
    pub fn is_misled(&self) -> bool {
        self.misled
    }

    /// Wire bytes that pass beside its parts where they are shown in their own places.
    pub fn frame(&self) -> usize {
        self.frame
    }

    /// Set where this is the answer to a question about another snapshot.
    pub fn answer(&self) -> Option<&Answered> {
        self.answer.as_ref()
    }

    /// Heap bytes held, index included.
    pub fn heap_bytes(&self) -> usize {
        let parts = self.parts.iter().map(|part| {
            size_of::<Part>()
                + part.address.capacity()
                + match &part.body {
                    PartBody::Readable(subject) => {
                        let origin = part.origin.as_ref();
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
        let readable = |part: &Part| matches!(part.body, PartBody::Readable(_));
        let of = |structured: bool| {
            let parts = self.parts.iter().enumerate();
            let fitting = parts.filter(|(_, p)| readable(p) && (p.address == STRUCTURED) == structured);
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
        match (&self.origin, &self.body) {
            (Some(origin), _) => &origin.text,
            (None, PartBody::Readable(subject)) => &subject.text,
            (None, PartBody::Atomic { json, .. }) => json,
        }
    }

    /// The bytes that a value of its subject was written in.
    pub fn written(&self, value: Span) -> Option<Slice> {
        let own = || Some(self.subject()?.text.part(value));
        self.origin.as_ref().and_then(|origin| origin.written(value)).or_else(own)
    }

    /// The string that its subject was found in.
    pub fn holder(&self) -> Option<&Holder> {
        self.origin.as_ref()?.holder.as_ref()
    }

    /// Its index, where it has one.
    pub fn subject(&self) -> Option<&Subject> {
        match &self.body {
            PartBody::Readable(subject) => Some(subject),
            PartBody::Atomic { .. } => None,
        }
    }
}
