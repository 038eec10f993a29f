//! Finds tables that are written column by column: `{"time":["00:00",…],"temperature":[1.5,…]}`.

use std::collections::HashSet;

use portion_json::json_pointer::step_from_quoted;
use portion_json::scan::{JsonKind, JsonReader, unescape};
use portion_json::span::Span;

use super::object::{Member, ObjectIndex};

/// Smallest number of columns and of their items.
const MIN_COLUMNS: usize = 2;
const MIN_ITEMS: usize = 4;
/// Maximum levels of objects that are searched.
const MAX_DEPTH: usize = 3;
/// Maximum tables that are found in one object.
const MAX_TABLES: usize = 16;

/// Arrays of equal length in one object, each of which is a column.
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
        let arrays: Vec<Member> =
            members.iter().filter(|member| member.kind == JsonKind::Array).copied().collect();
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
        let mut reader = JsonReader::resume(text, column.value.start as usize);
        let mut items = Vec::new();
        if reader.enter_array().is_ok() {
            while items.len() < limit && reader.next_item() == Ok(true) {
                let Ok(item) = reader.skip() else { break };
                items.push(item);
            }
        }
        items
    }
}

/// The number of items of an array.
struct ItemCount {
    count: usize,
    /// True if an item is an array.
    is_nested: bool,
}

/// Counts the items of an array; `None` if one is an object.
fn count_items(text: &str, array: Span) -> Option<ItemCount> {
    let mut reader = JsonReader::resume(text, array.start as usize);
    reader.enter_array().ok()?;
    let mut counted = ItemCount { count: 0, is_nested: false };
    while reader.next_item().ok()? {
        match reader.peek().ok()? {
            JsonKind::Object => return None,
            kind => counted.is_nested |= kind == JsonKind::Array,
        }
        reader.skip().ok()?;
        counted.count += 1;
    }
    Some(counted)
}
