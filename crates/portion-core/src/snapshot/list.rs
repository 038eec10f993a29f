//! Lists, however they are written: an array, rows under columns, a map of like objects, a line each.

use std::sync::{Arc, OnceLock};

use super::object::Member;
use super::profile::ListProfile;
use crate::describe::ListFacts;
use crate::noise::null_columns;
use crate::scan::{JsonReader, SparseOffsets};
use crate::span::Span;

/// A list of items in a JSON text. All spans are relative to the text it was found in.
#[derive(Clone, Debug)]
pub struct List {
    /// How its items are written.
    pub layout: Layout,
    /// Where each item begins (for a map, its key).
    pub item_offsets: SparseOffsets,
    /// The list itself, brackets included; for lines, all of the text.
    pub span: Span,
    /// The objects around it, outermost first.
    pub enclosing_objects: Vec<EnclosingObject>,
    /// Where it stands in the text, a JSON Pointer: `/data/items`.
    pub pointer: String,
    /// What its items look like.
    pub profile: ListProfile,
    /// What all of them tell, once that was asked.
    pub(crate) facts: OnceLock<Arc<ListFacts>>,
    /// The columns of a table that hold nothing but `null`, once that was asked.
    pub(crate) null_columns: OnceLock<Arc<[String]>>,
}

/// How the items of a list are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `[item, item]`
    Array,
    /// `{"key": item, "key": item}`
    Map,
    /// `{"columns": […], "rows": [[…], […]]}`
    Table {
        /// Names of the columns, in order.
        columns: Vec<String>,
        /// The member that holds them, of the innermost level.
        header: usize,
    },
    /// One JSON value a line.
    Lines,
}

/// An object on the way to a list.
#[derive(Clone, Debug)]
pub struct EnclosingObject {
    /// Its members.
    pub members: Vec<Member>,
    /// Which of them leads on to the list.
    pub list_member: usize,
}

/// One item of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListItem {
    /// Its place in the list as the upstream wrote it.
    pub index: usize,
    /// Its key, quotes included, in a map.
    pub key: Option<Span>,
    /// Its value.
    pub value: Span,
}

impl List {
    /// How many items there are.
    pub fn len(&self) -> usize {
        self.item_offsets.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.item_offsets.is_empty()
    }

    /// The items from one on, in the order of the payload. The work before the first is bounded.
    pub fn iter_from<'a>(&'a self, text: &'a str, from: usize) -> impl Iterator<Item = ListItem> + 'a {
        let (mut index, at) =
            if from < self.len() { self.item_offsets.at_or_before_index(from) } else { None }
                .unwrap_or((usize::MAX, 0));
        let mut reader = JsonReader::resume(text, at);
        let mut line = at;
        std::iter::from_fn(move || {
            loop {
                if index >= self.len() {
                    return None;
                }
                let item = match self.layout {
                    Layout::Lines => {
                        next_nonblank_line(text, &mut line).map(|value| ListItem { index, key: None, value })
                    }
                    Layout::Map => {
                        let key = reader.next_key().ok().flatten()?;
                        reader.skip().ok().map(|value| ListItem { index, key: Some(key), value })
                    }
                    Layout::Array | Layout::Table { .. } => {
                        reader.next_item().ok().filter(|more| *more)?;
                        reader.skip().ok().map(|value| ListItem { index, key: None, value })
                    }
                }?;
                index += 1;
                if item.index >= from {
                    return Some(item);
                }
            }
        })
    }

    /// The item that holds a byte of the text.
    pub fn item_at(&self, text: &str, byte: usize) -> Option<ListItem> {
        let (near, _) = self.item_offsets.at_or_before_byte(byte)?;
        self.iter_from(text, near).find(|item| byte < item.value.end as usize)
    }

    /// The pointer of an item within the text, a JSON Pointer.
    pub fn pointer_to(&self, text: &str, item: &ListItem) -> String {
        let step = item.key.map_or_else(
            || item.index.to_string(),
            |key| crate::json_pointer::step_from_quoted(key.slice(text)),
        );
        format!("{}/{step}", self.pointer)
    }

    /// What all items tell, found once.
    pub fn facts(&self, text: &str) -> &ListFacts {
        self.facts.get_or_init(|| Arc::new(ListFacts::from_list(text, self)))
    }

    /// The columns of a table that hold nothing but `null`, found once.
    pub(crate) fn null_columns(&self, text: &str) -> &[String] {
        self.null_columns.get_or_init(|| null_columns(text, self).into())
    }

    /// Heap bytes held.
    pub fn heap_bytes(&self) -> usize {
        let levels =
            self.enclosing_objects.iter().map(|level| level.members.capacity() * size_of::<Member>());
        self.item_offsets.heap_bytes()
            + levels.sum::<usize>()
            + self.profile.heap_bytes()
            + self.facts.get().map_or(0, |facts| facts.heap_bytes())
            + self.null_columns.get().map_or(0, |nulls| nulls.iter().map(String::capacity).sum())
    }
}

/// The next line that is not blank, without the space around it.
fn next_nonblank_line(text: &str, at: &mut usize) -> Option<Span> {
    loop {
        let rest = text.get(*at..)?;
        if rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
        let start = *at;
        *at += (end + 1).min(rest.len());
        let line = &rest[..end];
        if !line.trim().is_empty() {
            let lead = line.len() - line.trim_start().len();
            return Some(Span::new(start + lead, start + line.trim_end().len()));
        }
    }
}

/// A list in an order: its own, or one that was asked for.
#[derive(Clone, Copy, Debug)]
pub struct OrderedList<'a> {
    /// The text it is in.
    pub text: &'a str,
    /// The list.
    pub list: &'a List,
    /// The order asked for: indices of items.
    pub order: Option<&'a Arc<[u32]>>,
}

impl<'a> OrderedList<'a> {
    /// The items from one on, in this order.
    pub fn iter_from(self, from: usize) -> Box<dyn Iterator<Item = ListItem> + 'a> {
        match self.order {
            None => Box::new(self.list.iter_from(self.text, from)),
            Some(order) => Box::new(
                order
                    .iter()
                    .skip(from)
                    .filter_map(move |i| self.list.iter_from(self.text, *i as usize).next()),
            ),
        }
    }

    /// The rank in this order of an item.
    pub fn position_of(self, item: &ListItem) -> usize {
        let found = self.order.and_then(|order| order.iter().position(|i| *i as usize == item.index));
        found.unwrap_or(item.index)
    }
}

/// A record of a map with its key, quotes included, beside its fields, as `_key`; `None` where it is no object.
pub fn with_key_field(key: &str, record: &str) -> Option<String> {
    let rest = record.strip_prefix('{')?;
    let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
    Some(format!("{{\"_key\":{key}{comma}{rest}"))
}

/// The cells of a row: the items of an array.
pub(crate) fn cell_spans(row: &str) -> Vec<Span> {
    let mut reader = JsonReader::new(row);
    let mut cells = Vec::new();
    if reader.enter_array().is_ok() {
        while reader.next_item() == Ok(true)
            && let Ok(cell) = reader.skip()
        {
            cells.push(cell);
        }
    }
    cells
}
