//! Reads lists in any layout: an array, rows under columns, a map of similar objects, or one value per
//! line.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use portion_json::path::value_at;
use portion_json::scan::{JsonReader, SparseOffsets};
use portion_json::span::Span;

use super::object::Member;
use super::profile::{FieldType, ListProfile};
use super::slice::Slice;

/// A list of items in a JSON text. All spans are relative to that text.
#[derive(Clone, Debug)]
pub struct List {
    /// Layout of the items.
    pub layout: Layout,
    /// Offset of each item; in a map, of its key.
    pub item_offsets: SparseOffsets,
    /// Span of the list, brackets included; for lines, of the whole text.
    pub span: Span,
    /// Objects that enclose the list, outermost first.
    pub enclosing_objects: Vec<EnclosingObject>,
    /// JSON Pointer of the list: `/data/items`.
    pub pointer: String,
    /// Fields of the items, learnt from a sample.
    pub profile: ListProfile,
    /// Facts about all items, computed on first use.
    pub(crate) facts: OnceLock<Arc<ListFacts>>,
    /// Columns of a table that hold only `null`, computed on first use.
    pub(crate) null_columns: OnceLock<Arc<[String]>>,
}

/// The layout of the items of a list.
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
        /// Index of the member with the column names, in the innermost enclosing object.
        header: usize,
    },
    /// One JSON value per line.
    Lines,
}

/// An object on the path to a list.
#[derive(Clone, Debug)]
pub struct EnclosingObject {
    /// All listed members.
    pub members: Vec<Member>,
    /// Index of the member that contains the list.
    pub list_member: usize,
}

/// Facts about all records of a list: exact, and collected in one pass.
#[derive(Clone, Debug, Default)]
pub struct ListFacts {
    /// Fields with their descriptions, the most useful first.
    pub(crate) lines: Vec<(String, String)>,
    /// Types of the fields, in the same order.
    pub(crate) types: Vec<FieldType>,
    /// Number of fields, from the first on, whose descriptions answer questions.
    pub(crate) telling_count: usize,
}

/// One item of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListItem {
    /// Index in the list as the upstream wrote it.
    pub index: usize,
    /// Key in a map, quotes included.
    pub key: Option<Span>,
    /// Span of the value.
    pub value: Span,
}

impl ListFacts {
    /// Returns the heap bytes held.
    pub fn heap_bytes(&self) -> usize {
        let lines: usize = self.lines.iter().map(|(path, text)| path.capacity() + text.capacity()).sum();
        lines
            + self.lines.capacity() * size_of::<(String, String)>()
            + self.types.capacity() * size_of::<FieldType>()
    }
}

impl List {
    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.item_offsets.len()
    }

    /// Returns true if there are no items.
    pub fn is_empty(&self) -> bool {
        self.item_offsets.is_empty()
    }

    /// Yields the items from index `from`, in the order of the payload. Seeking to the first one takes
    /// bounded work.
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

    /// Returns the JSON Pointer of an item within the text.
    pub fn pointer_to(&self, text: &str, item: &ListItem) -> String {
        let step = item.key.map_or_else(
            || item.index.to_string(),
            |key| portion_json::path::step_from_quoted(key.slice(text)),
        );
        format!("{}/{step}", self.pointer)
    }

    /// Returns the columns of a table that hold only `null`, computed once.
    pub(crate) fn null_columns(&self, text: &str) -> &[String] {
        self.null_columns.get_or_init(|| null_columns(text, self).into())
    }

    /// Returns the heap size in bytes.
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

/// Returns the next line that is not blank, without surrounding white space.
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

/// A list in its own order or in a requested one.
#[derive(Clone, Copy, Debug)]
pub struct OrderedList<'a> {
    /// The text that contains the list.
    pub text: &'a Slice,
    /// The list.
    pub list: &'a List,
    /// Requested order: indices of items.
    pub order: Option<&'a Arc<[u32]>>,
}

impl<'a> OrderedList<'a> {
    /// Yields the items from position `from`, in this order.
    pub fn iter_from(self, from: usize) -> Box<dyn Iterator<Item = ListItem> + 'a> {
        match self.order {
            None => Box::new(self.iter_as_written(from)),
            Some(order) => Box::new(
                order.iter().skip(from).filter_map(move |i| self.iter_as_written(*i as usize).next()),
            ),
        }
    }

    /// Yields the items from index `from`, in the order of the payload. Needs only the blocks that contain them.
    fn iter_as_written(self, from: usize) -> impl Iterator<Item = ListItem> + 'a {
        let Self { text, list, .. } = self;
        let mut items = list.iter_from(text.loaded(), from);
        let (mut next, mut at) = (from, list.item_offsets.at_or_before_index(from).map_or(0, |(_, at)| at));
        std::iter::from_fn(move || {
            let item = items.next();
            match &item {
                // Lines are also counted across gaps, so all that was read is needed. A number or a line may go on in a
                // gap, so the byte after it is needed, too.
                Some(item) => {
                    let end = item.value.end as usize;
                    text.need(Span::new(at, end + 1));
                    (next, at) = (item.index + 1, end);
                }
                // Reading ended at a gap. The whole item is needed, however many blocks that are.
                None if next < list.len() => {
                    let end = list.item_offsets.after_index(next).unwrap_or(list.span.end as usize);
                    text.need(Span::new(at, end));
                    text.need_next(at);
                }
                None => {}
            }
            item
        })
    }

    /// Returns the item that contains a byte of the text.
    pub fn item_at(self, byte: usize) -> Option<ListItem> {
        let (near, _) = self.list.item_offsets.at_or_before_byte(byte)?;
        self.iter_as_written(near).find(|item| byte < item.value.end as usize)
    }

    /// Returns the text at a span.
    pub fn slice(self, span: Span) -> &'a str {
        self.text.at(span)
    }

    /// Returns the JSON Pointer of an item within the text.
    pub fn pointer_to(self, item: &ListItem) -> String {
        self.list.pointer_to(self.text.loaded(), item)
    }

    /// Returns the position of an item in this order.
    pub fn position_of(self, item: &ListItem) -> usize {
        let found = self.order.and_then(|order| order.iter().position(|i| *i as usize == item.index));
        found.unwrap_or(item.index)
    }
}

/// Returns a map's record with its key, quotes included, as the additional field `_key`; `None` if the
/// record is not an object.
pub fn with_key_field(key: &str, record: &str) -> Option<String> {
    let rest = record.strip_prefix('{')?;
    let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
    let mut name = "_key".to_owned();
    while value_at(record, Span::new(0, record.len()), &name).is_some() {
        name.insert(0, '_');
    }
    Some(format!("{{\"{name}\":{key}{comma}{rest}"))
}

/// Returns the cells of a row: the items of an array.
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

/// Returns the columns that are `null` in every row, out of those that are `null` in the sample of a
/// table.
fn null_columns(text: &str, list: &List) -> Vec<String> {
    let Layout::Table { columns, .. } = &list.layout else { return Vec::new() };
    let mut nulls: BTreeSet<String> = list.profile.null_fields.iter().cloned().collect();
    for item in list.iter_from(text, 0) {
        if nulls.is_empty() {
            break;
        }
        let row = item.value.slice(text);
        for (name, _) in columns.iter().zip(cell_spans(row)).filter(|(_, cell)| cell.slice(row) != "null") {
            nulls.remove(name);
        }
    }
    nulls.into_iter().collect()
}
