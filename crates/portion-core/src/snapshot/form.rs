//! What a text turns out to be.

use std::sync::Arc;

use super::lines::Text;
use super::list::List;
use super::object::Members;
use super::pointed::list_at;
use super::shape;
use super::slice::Slice;
use crate::scan::{Kind, decoded};
use crate::span::Span;

/// Text that can be rendered, with what is known of it.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Its bytes.
    pub text: Slice,
    /// What it is.
    pub form: Form,
}

/// What a text is, which decides how it is portioned.
#[derive(Clone, Debug)]
pub enum Form {
    /// A list, paged.
    List(Arc<List>),
    /// An object, summarized.
    Object(Arc<Members>),
    /// Anything else, chunked.
    Text(Arc<Text>),
}

impl Subject {
    /// The subject of a payload's text: JSON where it is, else newline-delimited JSON, else text.
    pub fn of_payload(text: Slice) -> Self {
        let begins = text.bytes().find(|b| !b.is_ascii_whitespace());
        if matches!(begins, Some(b'{' | b'['))
            && let Some(form) = shape::of_json(&text).or_else(|| shape::of_lines(&text))
        {
            return Self { text, form };
        }
        Self::of_text(text)
    }

    /// The same with the list at a path, where there is one.
    pub(crate) fn of_list_at(text: &Slice, path: &str) -> Option<Self> {
        list_at(text, path).map(|form| Self { text: text.clone(), form })
    }

    /// The subject of a value inside JSON that was captured: a string is shown as the text it stands for.
    pub fn of_value(value: &Slice) -> Self {
        match Kind::of(value) {
            Kind::String => Self::of_text(Slice::new(decoded(value))),
            kind if kind.is_container() => Self::of_payload(value.clone()),
            _ => Self::of_text(value.clone()),
        }
    }

    /// The same bytes as plain text.
    pub fn of_text(text: Slice) -> Self {
        let form = Form::Text(Arc::new(Text::index(&text)));
        Self { text, form }
    }

    /// Whether it is JSON.
    pub fn is_json(&self) -> bool {
        !matches!(self.form, Form::Text(_))
    }

    /// All of its text.
    pub fn span(&self) -> Span {
        Span::new(0, self.text.len())
    }

    /// Heap bytes held, text included.
    pub fn heap_bytes(&self) -> usize {
        let index = match &self.form {
            Form::List(list) => list.heap_bytes(),
            Form::Object(members) => members.heap_bytes(),
            Form::Text(text) => text.heap_bytes(),
        };
        self.text.heap_bytes() + index
    }
}

impl Members {
    fn heap_bytes(&self) -> usize {
        self.list.capacity() * size_of::<super::object::Member>() + self.keys.heap_bytes()
    }
}
