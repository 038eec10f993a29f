//! Classifies a text as a list, an object or plain text, and indexes it.

use std::sync::Arc;

use portion_json::scan::{JsonKind, unescape};
use portion_json::span::Span;

use super::line_index::LineIndex;
use super::list::List;
use super::list_at_path::list_at;
use super::list_detection;
use super::object::ObjectIndex;
use super::slice::Slice;

/// A text that can be rendered, with its index.
#[derive(Clone, Debug)]
pub struct IndexedText {
    /// The text.
    pub text: Slice,
    /// Its structure and index.
    pub structure: Structure,
}

/// The structure of a text, which decides how it is split into portions.
#[derive(Clone, Debug)]
pub enum Structure {
    /// A list, split into pages.
    List(Arc<List>),
    /// An object, summarized.
    Object(Arc<ObjectIndex>),
    /// Anything else, split into chunks.
    Text(Arc<LineIndex>),
}

impl IndexedText {
    /// Indexes a text of a payload: as JSON if it is, else as newline-delimited JSON, else as plain text.
    pub fn from_payload(text: Slice) -> Self {
        let begins = text.bytes().find(|b| !b.is_ascii_whitespace());
        if matches!(begins, Some(b'{' | b'['))
            && let Some(form) =
                list_detection::detect_json(&text).or_else(|| list_detection::detect_lines(&text))
        {
            return Self { text, structure: form };
        }
        Self::from_text(text)
    }

    /// Indexes a text with the list at `path`; `None` where no list is there.
    pub(crate) fn with_list_at(text: &Slice, path: &str) -> Option<Self> {
        list_at(text, path).map(|form| Self { text: text.clone(), structure: form })
    }

    /// Indexes a value inside captured JSON. A string is decoded.
    pub fn from_value(value: &Slice) -> Self {
        match JsonKind::of_value(value) {
            JsonKind::String => Self::from_text(Slice::new(unescape(value))),
            kind if kind.is_container() => Self::from_payload(value.clone()),
            _ => Self::from_text(value.clone()),
        }
    }

    /// Indexes the text as plain text.
    pub fn from_text(text: Slice) -> Self {
        let form = Structure::Text(Arc::new(LineIndex::new(&text)));
        Self { text, structure: form }
    }

    /// Returns true if the text is JSON.
    pub fn is_json(&self) -> bool {
        !matches!(self.structure, Structure::Text(_))
    }

    /// Returns the span of the whole text.
    pub fn span(&self) -> Span {
        Span::new(0, self.text.len())
    }

    /// Returns the heap size in bytes, text included.
    pub fn heap_bytes(&self) -> usize {
        let index = match &self.structure {
            Structure::List(list) => list.heap_bytes(),
            Structure::Object(members) => members.heap_bytes(),
            Structure::Text(text) => text.heap_bytes(),
        };
        self.text.heap_bytes() + index
    }
}

impl ObjectIndex {
    fn heap_bytes(&self) -> usize {
        self.listed.capacity() * size_of::<super::object::Member>() + self.key_offsets.heap_bytes()
    }
}
