//! Classifies a text as a list, an object or plain text, and indexes it; reads lists at paths.

use std::sync::Arc;

use portion_json::path::{PathSteps, key_matches, step_from_quoted};
use portion_json::scan::{JsonKind, JsonReader, SparseOffsets, unescape};
use portion_json::span::Span;

use super::line_index::LineIndex;
use super::list::{EnclosingObject, Layout, List};
use super::list_detection;
use super::list_detection::DetectedList;
use super::named_rows::{NamedTable, main_table, named_tables};
use super::object::{ObjectIndex, read_item_offsets};
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
            && let Some(form) = table_in(&text)
                .or_else(|| list_detection::detect_json(&text))
                .or_else(|| list_detection::detect_lines(&text))
        {
            return Self { text, structure: form };
        }
        Self::from_text(text)
    }

    /// Indexes a text with the list at `path`; `None` where no list is there.
    pub(crate) fn with_list_at(text: &Slice, path: &str) -> Option<Self> {
        let tables = named_tables(text, Span::new(0, text.len()));
        list_at(text, path, &tables).map(|form| Self { text: text.clone(), structure: form })
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

/// Maximum enclosing objects that are entered.
const MAX_LEVELS: usize = 16;

/// Indexes a JSON text that is about a table: its rows are the list, unless an array of tables is around them.
fn table_in(text: &str) -> Option<Structure> {
    let table = main_table(text, Span::new(0, text.len()))?;
    let object = || {
        let mut reader = JsonReader::new(text);
        let object = ObjectIndex::parse(&mut reader).ok()?;
        reader.expect_end().ok()?;
        Some(Structure::Object(Arc::new(ObjectIndex { largest_array: None, ..object })))
    };
    list_at(text, &table.pointer, std::slice::from_ref(&table))
        .filter(|form| matches!(form, Structure::List(list) if list.span == table.span))
        .or_else(object)
}

/// Indexes a JSON text with the list at a path, a JSON Pointer or dotted. Returns `None` if the text is
/// not JSON, or if the value there is neither an array nor an object of objects. `tables` are those of the text.
pub(super) fn list_at(text: &str, path: &str, tables: &[NamedTable]) -> Option<Structure> {
    let (mut levels, mut pointer): (Vec<EnclosingObject>, _) = (Vec::new(), String::new());
    let mut reader = JsonReader::new(text);
    let mut rest = PathSteps::parse(path);
    let mut known: Option<(SparseOffsets, Layout)> = None;
    while !rest.is_empty() {
        if reader.peek().ok()? != JsonKind::Object || levels.len() == MAX_LEVELS {
            return None;
        }
        let mut members = ObjectIndex::parse(&mut reader).ok()?;
        if levels.is_empty() {
            reader.expect_end().ok()?;
        }
        let named = |name: &str| members.listed.iter().position(|member| key_matches(text, member.key, name));
        let (inner, taken) =
            rest.next_candidates().into_iter().find_map(|taken| Some((named(&taken.name)?, taken)))?;
        if members.len() > ObjectIndex::MAX_LISTED {
            return None;
        }
        let member = members.listed[inner];
        rest = taken.rest;
        known = if member.kind == JsonKind::Array && rest.is_empty() {
            let table = tables.iter().find(|table| table.span == member.value);
            let layout = table.and_then(|table| {
                Some(Layout::Table { header: table.header(&members)?, columns: table.rows.names.clone() })
            });
            Some((members.take_item_offsets(text, inner)?, layout.unwrap_or(Layout::Array)))
        } else {
            None
        };
        reader = JsonReader::resume(text, member.value.start as usize);
        pointer = format!("{pointer}/{}", step_from_quoted(member.key.slice(text)));
        levels.push(EnclosingObject { members: members.listed, list_member: inner });
    }
    reader.peek().ok()?;
    let start = reader.at();
    let (items, layout, end) = match known {
        Some((items, layout)) => {
            (items, layout, levels.last()?.members.get(levels.last()?.list_member)?.value.end as usize)
        }
        None => read_records(&mut reader)?,
    };
    if levels.is_empty() {
        reader.expect_end().ok()?;
    }
    let span = Span::new(start, end);
    Some(
        DetectedList { layout, item_offsets: items, span, enclosing_objects: levels, pointer }
            .into_structure(text),
    )
}

/// Reads the items of the array at the reader, or the entries of the object of objects, and its end.
fn read_records(reader: &mut JsonReader<'_>) -> Option<(SparseOffsets, Layout, usize)> {
    if reader.peek().ok()? == JsonKind::Array {
        let items = read_item_offsets(reader).ok()?;
        return Some((items, Layout::Array, reader.at()));
    }
    let members = ObjectIndex::parse(reader).ok()?;
    let of_objects =
        !members.is_empty() && members.listed.iter().all(|member| member.kind == JsonKind::Object);
    of_objects.then_some((members.key_offsets, Layout::Map, reader.at()))
}

#[cfg(test)]
mod tests {
    use portion_json::span::Span;

    use super::{list_at, named_tables};
    use crate::snapshot::{Layout, Structure};

    fn check(text: &str, path: &str, expect: Option<(&str, usize)>) {
        let found = list_at(text, path, &[]);
        let found_list = found.as_ref().map(|form| match form {
            Structure::List(list) => (list.pointer.as_str(), list.iter_from(text, 0).count()),
            _ => panic!("no list: {form:?}"),
        });
        assert_eq!(found_list, expect, "{text} {path}");
    }

    #[test]
    fn a_list_is_found_at_its_path() {
        let text = r#" {"id":1,"big":["aaaaaaaaaaaaaaaaaaaaaaaaa"],"data":{"x":0,"the results":[{"a":1},{"a":2}]}} "#;
        check(text, "data.the results", Some(("/data/the results", 2)));
        check(text, "/data/the results", Some(("/data/the results", 2)));
        check(text, "$.big", Some(("/big", 1)));
        check(text, "data", None);
        check(text, "data.results", None);
        check(text, "id", None);
        check(text, "data.the results.0", None);
        check("[1,2]", "", Some(("", 2)));
        check("[1,2", "", None);
        check("[1,2] x", "", None);
        check(r#"{"a":[1]} x"#, "a", None);
        check(r#"{"a":[]}"#, "a", Some(("/a", 0)));
        check(r#"{"a.b":[1],"a":{"b":[1,2]}}"#, "a.b", Some(("/a.b", 1)));
        check(r#"{"a/b":{"c":[1]}}"#, "/a~1b/c", Some(("/a~1b/c", 1)));
    }

    #[test]
    fn an_object_of_objects_is_a_map_and_columns_are_kept() {
        check(r#"{"people":{"x":{"a":1},"y":{}}}"#, "people", Some(("/people", 2)));
        check(r#"{"x":{"a":1},"y":{"a":2}}"#, "$", Some(("", 2)));
        check(r#"{"people":{"x":1}}"#, "people", None);
        let table = r#"{"t":{"columns":["a"],"rows":[[1],[2]]}}"#;
        let tables = named_tables(table, Span::new(0, table.len()));
        let Some(Structure::List(list)) = list_at(table, "t.rows", &tables) else { panic!("no list") };
        assert!(matches!(list.layout, Layout::Table { .. }));
    }
}
