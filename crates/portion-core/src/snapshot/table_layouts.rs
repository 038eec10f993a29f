//! Finds tables that are no list of objects: written column by column, `{"time":["00:00",…],"temperature":[1.5,…]}`, or a
//! block a record.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use portion_json::containers::{self, items, members};
use portion_json::path::step_from_quoted;
use portion_json::scan::{JsonKind, JsonReader, is_equivalent_json, unescape};
use portion_json::span::Span;

use super::indexed_text::{IndexedText, Structure};
use super::list::{Layout, List};
use super::object::{Member, ObjectIndex};
use super::slice::Slice;

/// Smallest number of columns and of their items.
const MIN_COLUMNS: usize = 2;
const MIN_ITEMS: usize = 4;
/// Maximum levels of objects that are searched.
const MAX_DEPTH: usize = 3;
/// Maximum tables that are found in one object.
const MAX_TABLES: usize = 16;

/// Arrays of equal length in one object, each of which is a column. A column may also be an object whose keys number its values:
/// `{"0":5,"1":4}`.
///
/// ```
/// use portion_core::snapshot::{ColumnArrays, ObjectIndex};
/// use portion_json::scan::JsonReader;
///
/// let text = r#"{"unit":"C","hour":[0,1,2,3],"temperature":[5,5,4,4]}"#;
/// let object = ObjectIndex::parse(&mut JsonReader::new(text))?;
/// let table = ColumnArrays::detect(text, &object.listed).unwrap();
/// assert_eq!((table.names(text), table.row_count), (vec!["hour".to_owned(), "temperature".to_owned()], 4));
/// # Ok::<(), portion_json::scan::ScanError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnArrays {
    /// The members that are columns.
    pub columns: Vec<Member>,
    /// Number of items of each column.
    pub row_count: usize,
}

impl ColumnArrays {
    /// Detects the columns among the members of an object: all of its arrays have equal lengths and hold no objects, and at
    /// least two of them no arrays.
    pub fn detect(text: &str, members: &[Member]) -> Option<Self> {
        let is_column = |member: &&Member| member.kind == JsonKind::Array || is_numbered(text, member.value);
        let arrays: Vec<Member> = members.iter().filter(is_column).copied().collect();
        let names: HashSet<String> = members.iter().map(|member| unescape(member.key.slice(text))).collect();
        if arrays.len() < MIN_COLUMNS || names.len() < members.len() {
            return None;
        }
        let (mut row_count, mut nested_count) = (None, 0);
        for array in &arrays {
            let ItemCount { count, is_nested } = count_items(text, array.value)?;
            nested_count += usize::from(is_nested);
            if *row_count.get_or_insert(count) != count {
                return None;
            }
        }
        if arrays.len() - nested_count < MIN_COLUMNS {
            return None;
        }
        let row_count = row_count.filter(|count| *count >= MIN_ITEMS)?;
        Some(Self { columns: arrays, row_count })
    }

    /// Finds the tables in the object at a pointer and in the objects in it, with the JSON Pointers of the objects that they
    /// fill.
    pub fn find_in(text: &str, pointer: &str, object: &ObjectIndex) -> Vec<(String, Self)> {
        let mut found = Vec::new();
        let mut open = vec![(pointer.to_owned(), object.listed.clone(), object.len(), MAX_DEPTH)];
        while let Some((pointer, members, member_count, depth)) = open.pop() {
            if found.len() >= MAX_TABLES || member_count > members.len() {
                continue;
            }
            if let Some(table) = Self::detect(text, &members) {
                found.push((pointer.clone(), table));
            }
            let objects = members.iter().filter(|member| depth > 1 && member.kind == JsonKind::Object);
            let inner = objects.filter_map(|member| {
                let mut reader = JsonReader::resume(text, member.value.start as usize);
                let object = ObjectIndex::parse(&mut reader).ok()?;
                let pointer = format!("{pointer}/{}", step_from_quoted(member.key.slice(text)));
                let count = object.len();
                Some((pointer, object.listed, count, depth - 1))
            });
            // The first one is searched first.
            let inner: Vec<_> = inner.collect();
            open.extend(inner.into_iter().rev());
        }
        found
    }

    /// Returns the names of the columns.
    pub fn names(&self, text: &str) -> Vec<String> {
        self.columns.iter().map(|column| unescape(column.key.slice(text))).collect()
    }

    /// Returns the spans of the items of a column, at most `limit` of them.
    pub fn items(text: &str, column: &Member, limit: usize) -> Vec<Span> {
        values(text, column.value).take(limit).collect()
    }
}

/// The number of items of an array.
struct ItemCount {
    count: usize,
    /// True if an item is an array.
    is_nested: bool,
}

/// Counts the values of a column; `None` if one is an object.
fn count_items(text: &str, column: Span) -> Option<ItemCount> {
    let mut counted = ItemCount { count: 0, is_nested: false };
    for value in values(text, column) {
        match JsonKind::of_value(value.slice(text)) {
            JsonKind::Object => return None,
            kind => counted.is_nested |= kind == JsonKind::Array,
        }
        counted.count += 1;
    }
    Some(counted)
}

/// Yields the values of an array or of an object.
fn values(text: &str, column: Span) -> impl Iterator<Item = Span> {
    items(text, column).chain(members(text, column).map(|member| member.value))
}

/// Returns true for an object whose keys are the numbers of its values, from 0.
fn is_numbered(text: &str, object: Span) -> bool {
    let is_next =
        |(at, member): (usize, containers::Member)| unescape(member.key.slice(text)).parse() == Ok(at);
    members(text, object).next().is_some() && members(text, object).enumerate().all(is_next)
}

/// Number of blocks from which lists in them are fields of records.
const MANY_BLOCKS: usize = 3;

/// A block that is one record.
#[derive(Clone, Debug)]
pub struct RecordBlock<'a> {
    /// The text of the block.
    pub text: &'a Slice,
    /// Its members.
    pub members: &'a ObjectIndex,
}

/// Returns the blocks that are JSON objects, in order, if there are several, no other JSON, and all have similar members. Two
/// objects with lists of records in them are no table.
pub fn record_blocks<'a>(subjects: impl Iterator<Item = &'a IndexedText>) -> Vec<RecordBlock<'a>> {
    let (mut blocks, mut first_keys) = (Vec::new(), BTreeSet::new());
    for subject in subjects {
        let Structure::Object(members) = &subject.structure else {
            if subject.is_json() {
                return Vec::new();
            }
            continue;
        };
        let block = RecordBlock { text: &subject.text, members };
        let keys: BTreeSet<String> = block.names().into_iter().collect();
        if blocks.is_empty() {
            first_keys.clone_from(&keys);
        }
        if !are_similar(&keys, &first_keys) {
            return Vec::new();
        }
        blocks.push(block);
    }
    let is_few = blocks.len() < MANY_BLOCKS && blocks.first().is_some_and(RecordBlock::has_records);
    if blocks.len() < 2 || is_few { Vec::new() } else { blocks }
}

/// Returns the blocks that are lists of records, with their index in `subjects`, if there are several and all have similar fields.
/// Two lists of the same records, in two notations, are one.
pub fn list_blocks<'a>(subjects: impl Iterator<Item = &'a IndexedText>) -> Vec<(usize, &'a Arc<List>)> {
    let lists = subjects.enumerate().filter_map(|(at, subject)| match &subject.structure {
        Structure::List(list) => Some((list.span.slice(&subject.text), (at, list))),
        Structure::Object(_) | Structure::Text(_) => None,
    });
    let (texts, blocks): (Vec<&str>, Vec<(usize, &Arc<List>)>) = lists.unzip();
    if let [one, other] = texts[..]
        && is_equivalent_json(one, other)
    {
        return Vec::new();
    }
    let keys = |list: &List| -> BTreeSet<String> {
        let names = list.profile.fields.iter().map(|field| field.path.split('.').next().unwrap_or_default());
        names.map(str::to_owned).collect()
    };
    let first_keys = blocks.first().map(|(_, list)| keys(list)).unwrap_or_default();
    let is_similar = |list: &List| {
        matches!(list.layout, Layout::Array | Layout::Lines) && are_similar(&keys(list), &first_keys)
    };
    if blocks.len() > 1 && blocks.iter().all(|(_, list)| is_similar(list)) { blocks } else { Vec::new() }
}

/// Returns true if more than half of the names are in both sets.
fn are_similar(names: &BTreeSet<String>, others: &BTreeSet<String>) -> bool {
    2 * names.intersection(others).count() > names.len().max(others.len())
}

impl RecordBlock<'_> {
    /// Returns the names of its members, in order.
    pub fn names(&self) -> Vec<String> {
        self.members.listed.iter().map(|member| unescape(member.key.slice(self.text))).collect()
    }

    fn has_records(&self) -> bool {
        let first_kind = |array: u32| JsonReader::resume(self.text, array as usize + 1).peek().ok();
        let arrays = self.members.listed.iter().filter(|member| member.kind == JsonKind::Array);
        arrays.into_iter().any(|member| first_kind(member.value.start) == Some(JsonKind::Object))
    }
}

#[cfg(test)]
mod tests {
    use super::record_blocks;
    use crate::snapshot::{IndexedText, Slice};

    fn check(blocks: &[&str], expect: usize) {
        let subjects: Vec<IndexedText> =
            blocks.iter().map(|text| IndexedText::from_payload(Slice::new((*text).to_owned()))).collect();
        assert_eq!(record_blocks(subjects.iter()).len(), expect, "{blocks:?}");
    }

    #[test]
    fn similar_objects_are_records() {
        let (one, two) = (r#"{"id":1,"name":"a"}"#, r#"{"id":2,"name":"b","n":1}"#);
        check(&[one, two], 2);
        check(&["Found two.", one, two], 2);
        check(&[one], 0);
        check(&[one, r#"{"url":"x","size":1}"#], 0);
        check(&[one, two, "[1,2]"], 0);
        let team = r#"{"team":"A team with a long name","city":"Oslo","members":[{"id":1}]}"#;
        check(&[team, team], 0);
        check(&[team, team, team], 3);
    }
}
