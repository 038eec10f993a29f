//! What a text turns out to be.

use std::sync::Arc;

use super::line_index::LineIndex;
use super::list::List;
use super::list_at_path::list_at;
use super::list_detection;
use super::object::ObjectIndex;
use super::slice::Slice;
use crate::scan::{JsonKind, unescape};
use crate::span::Span;

/// Text that can be rendered, with what is known of it.
#[derive(Clone, Debug)]
pub struct IndexedText {
    /// Its bytes.
    pub text: Slice,
    /// What it is.
    pub structure: Structure,
}

/// What a text is, which decides how it is portioned.
#[derive(Clone, Debug)]
pub enum Structure {
    /// A list, paged.
    List(Arc<List>),
    /// An object, summarized.
    Object(Arc<ObjectIndex>),
    /// Anything else, chunked.
    Text(Arc<LineIndex>),
}

impl IndexedText {
    /// The subject of a payload's text: JSON where it is, else newline-delimited JSON, else text.
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

    /// The same with the list at a path, where there is one.
    pub(crate) fn with_list_at(text: &Slice, path: &str) -> Option<Self> {
        list_at(text, path).map(|form| Self { text: text.clone(), structure: form })
    }

    /// The subject of a value inside JSON that was captured: a string is shown as the text it stands for.
    pub fn from_value(value: &Slice) -> Self {
        match JsonKind::of_value(value) {
            JsonKind::String => Self::from_text(Slice::new(unescape(value))),
            kind if kind.is_container() => Self::from_payload(value.clone()),
            _ => Self::from_text(value.clone()),
        }
    }

    /// The same bytes as plain text.
    pub fn from_text(text: Slice) -> Self {
        let form = Structure::Text(Arc::new(LineIndex::new(&text)));
        Self { text, structure: form }
    }

    /// Whether it is JSON.
    pub fn is_json(&self) -> bool {
        !matches!(self.structure, Structure::Text(_))
    }

    /// All of its text.
    pub fn span(&self) -> Span {
        Span::new(0, self.text.len())
    }

    /// Heap bytes held, text included.
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
