//! Finds tables that are no list of objects: written column by column, `{"time":["00:00",…],"temperature":[1.5,…]}`, row
//! by row below a row of names, or a block a record.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use portion_json::path::{key_matches, step_from_quoted};
use portion_json::scan::{JsonKind, JsonReader, unescape};
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

/// Rows that are looked at.
const SAMPLED_ROWS: usize = 200;
/// Members beside the rows of a spreadsheet (<https://developers.google.com/workspace/sheets/api/reference/rest/v4/spreadsheets.values>).
const SPREADSHEET_KEYS: [&str; 2] = ["majorDimension", "range"];

/// Returns the column names in the first row of a list of arrays; `None` if the first row looks like the others.
///
/// The names are distinct words, and no later row is longer. They are names if a column has only numbers below its name, or
/// if the list is the `values` of a spreadsheet. A value that occurs again in its own column, or is there in another
/// number (`ORDER-1` above `ORDER-2`), is no name.
pub fn header_row(text: &str, list: &List) -> Option<Vec<String>> {
    if list.layout != Layout::Array || list.len() < 3 {
        return None;
    }
    let mut rows = list.iter_from(text, 0).take(SAMPLED_ROWS).map(|item| cells(item.value.slice(text)));
    let names = names(&rows.next()??)?;
    let mut numbers = vec![0; names.len()];
    let mut others = vec![0; names.len()];
    let shapes: Vec<String> = names.iter().map(|name| shape(name)).collect();
    for row in rows {
        let row = row.filter(|row| row.len() <= names.len())?;
        for (at, cell) in row.into_iter().enumerate() {
            if JsonKind::of_value(cell) == JsonKind::String && shape(&unescape(cell)) == shapes[at] {
                return None;
            }
            match JsonKind::of_value(cell) {
                JsonKind::Object | JsonKind::Array => return None,
                JsonKind::Null => {}
                JsonKind::Number => numbers[at] += 1,
                JsonKind::String if is_number(cell) => numbers[at] += 1,
                JsonKind::String if cell.len() == 2 => {}
                JsonKind::String | JsonKind::Bool => others[at] += 1,
            }
        }
    }
    let has_numbers = numbers.iter().zip(&others).any(|(numbers, others)| *numbers > 1 && *others == 0);
    (has_numbers || is_spreadsheet(text, list)).then_some(names)
}

fn is_spreadsheet(text: &str, list: &List) -> bool {
    let Some(level) = list.enclosing_objects.last() else { return false };
    let is_named = |name: &str| level.members.iter().any(|member| key_matches(text, member.key, name));
    list.pointer.ends_with("/values") && SPREADSHEET_KEYS.iter().any(|name| is_named(name))
}

/// Returns the cells of a row; `None` if it is no array.
fn cells(row: &str) -> Option<Vec<&str>> {
    let mut reader = JsonReader::new(row);
    reader.enter_array().ok()?;
    let mut cells = Vec::new();
    while reader.next_item().ok()? {
        let cell = reader.skip().ok()?;
        cells.push(cell.slice(row));
    }
    Some(cells)
}

/// Returns a text with one mark for each run of digits.
fn shape(text: &str) -> String {
    let mut shape = String::new();
    for c in text.chars() {
        let mark = if c.is_ascii_digit() { '#' } else { c };
        if !(mark == '#' && shape.ends_with('#')) {
            shape.push(mark);
        }
    }
    shape
}

/// Returns true for a word as columns are named: it begins with a letter, and stands neither for a missing value nor for an
/// address.
fn is_word(name: &str) -> bool {
    let is_missing = ["n/a", "na", "none", "null", "nil", "unknown", "true", "false"]
        .iter()
        .any(|word| name.eq_ignore_ascii_case(word));
    name.starts_with(|c: char| c.is_alphabetic() || c == '_') && !is_missing && !name.contains("://")
}

/// Returns the names in a row; `None` if it has other values, or one of them twice.
fn names(row: &[&str]) -> Option<Vec<String>> {
    let texts = row.iter().filter(|cell| JsonKind::of_value(cell) == JsonKind::String);
    let names: Vec<String> = texts.map(|cell| unescape(cell)).filter(|name| is_word(name)).collect();
    let distinct: HashSet<&String> = names.iter().collect();
    (names.len() > 1 && names.len() == row.len() && distinct.len() == names.len()).then_some(names)
}

/// Returns true for a string with a number.
fn is_number(cell: &str) -> bool {
    cell.trim_matches('"').trim().parse::<f64>().is_ok_and(f64::is_finite)
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
pub fn list_blocks<'a>(subjects: impl Iterator<Item = &'a IndexedText>) -> Vec<(usize, &'a Arc<List>)> {
    let lists = subjects.enumerate().filter_map(|(at, subject)| match &subject.structure {
        Structure::List(list) => Some((at, list)),
        Structure::Object(_) | Structure::Text(_) => None,
    });
    let blocks: Vec<(usize, &Arc<List>)> = lists.collect();
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
    use super::{header_row, record_blocks};
    use crate::snapshot::{IndexedText, Slice, Structure};

    fn header(text: &str) -> Option<String> {
        let subject = IndexedText::from_payload(Slice::new(text.to_owned()));
        let Structure::List(list) = &subject.structure else { return None };
        header_row(text, list).map(|names| names.join(","))
    }

    #[test]
    fn the_first_row_may_name_the_columns() {
        for (text, expect) in [
            (r#"[["name","age"],["Ann",31],["Bob",4]]"#, Some("name,age")),
            (r#"[["name","age"],["Ann","31"],["Bob",""],["Eve","7"],[]]"#, Some("name,age")),
            (r#"{"range":"A1:B3","values":[["from","to"],["a","b"],["c","d"]]}"#, Some("from,to")),
            (r#"[["a","b"],["c","d"],["e","f"]]"#, None),
            (r#"[["name","age"],["Ann",31],["Bob",4,5]]"#, None),
            (r#"[["name","name"],["Ann",31],["Bob",4]]"#, None),
            (r#"[["Eve",1],["Ann",31],["Bob",4]]"#, None),
            (r#"[["10.0.0.1","timeout"],["10.0.0.2",0],["10.0.0.3",1]]"#, None),
            (r#"[["ORDER-1","free"],["ORDER-2",0],["ORDER-3",5]]"#, None),
            (r#"[["Jan","-"],["Feb",0],["Mar",5]]"#, None),
            (r#"[["open","high"],["closed",0],["open",1]]"#, None),
            (r#"[["N/A","level"],["a",0],["b",1]]"#, None),
            (r#"[["https://a.b/c","error"],["https://a.b/d",0],["x",1]]"#, None),
            (r#"[["name","age"],["Ann",31]]"#, None),
        ] {
            assert_eq!(header(text).as_deref(), expect, "{text}");
        }
    }

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
