//! Like records as a table: the names of fields once, each record a row, what all share told once.
//!
//! `[{"id":1,"price":{"total":9},"state":"CA"},{"id":2,"price":{"total":7},"state":"CA"}]` is
//! `{"constants":{"state":"CA"},"columns":["id","price.total"],"rows":[[1,9],[2,7]]}`. Every value keeps its bytes, and
//! the records can be had back, their keys in another order perhaps. A row that ends early lacks the fields of the last
//! columns. In columns named by `nullIsAbsent`, `null` stands for a field that is not there; where a column holds
//! `null` as a value too, `absentAt` names the rows, from 0, that lack its field.

use std::collections::{HashMap, HashSet};

use crate::scan::{Kind, Reader};

/// Levels of objects that become dotted names; what lies deeper is one value.
const LEVELS: usize = 4;
/// Cells beyond which nothing is made a table: more would not fit any reply.
const MOST_CELLS: usize = 1 << 20;
/// The column that the keys of a map become.
const KEY: &str = "_key";

/// A record as it would stand in the list, minified.
pub(super) struct Record {
    /// Its key, quotes included, in a map.
    pub key: Option<String>,
    /// Its value.
    pub json: String,
}

/// Records taken apart.
pub(super) struct Table<'a> {
    /// The names of the fields, in the order of first sight, as they stand between quotes.
    names: Vec<String>,
    /// Of each record, what it has of which field.
    records: Vec<Vec<(usize, &'a str)>>,
}

impl<'a> Table<'a> {
    /// Takes records apart, objects inside them too where `nested`. `None` where they could not be put together again
    /// from a table: what is no object, a key twice, or one with a dot.
    pub(super) fn of(records: &'a [Record], nested: bool) -> Option<Self> {
        let mut table = Self { names: Vec::new(), records: Vec::with_capacity(records.len()) };
        let mut index = HashMap::new();
        for record in records {
            let mut taken = Vec::new();
            if let Some(key) = &record.key {
                taken.push((column(&mut table.names, &mut index, KEY), key.as_str()));
            }
            let mut reader = Reader::new(&record.json);
            if reader.peek() != Ok(Kind::Object) {
                return None;
            }
            let levels = Levels { inside: false, left: if nested { LEVELS } else { 0 } };
            let mut visit = |path: &str, value: &'a str| {
                let at = column(&mut table.names, &mut index, path);
                // A map's key may have the name of a field.
                (at > 0 || record.key.is_none()).then(|| taken.push((at, value)))
            };
            leaves(&record.json, &mut reader, &mut String::new(), levels, &mut visit)?;
            table.records.push(taken);
        }
        (table.names.len().saturating_mul(records.len()) <= MOST_CELLS).then_some(table)
    }

    /// The first so many records as a table.
    pub(super) fn write(&self, count: usize) -> String {
        let count = count.min(self.records.len());
        let mut columns: Vec<Column<'_>> = self.names.iter().map(|name| Column::new(name, count)).collect();
        for (row, record) in self.records.iter().take(count).enumerate() {
            for (at, value) in record {
                if let Some(cell) = columns.get_mut(*at).and_then(|column| column.cells.get_mut(row)) {
                    *cell = Some(value);
                }
            }
        }
        columns.retain(|column| column.cells.iter().any(Option::is_some));
        let (constants, mut columns): (Vec<_>, Vec<_>) = columns.into_iter().partition(Column::is_constant);
        // What is often missing stands last, where it needs no mark.
        columns.sort_by_key(Column::missing);
        let lengths: Vec<usize> = (0..count)
            .map(|row| columns.iter().rposition(|column| column.cells[row].is_some()).map_or(0, |at| at + 1))
            .collect();
        let mut out = String::from("{");
        if !constants.is_empty() {
            let constant = |column: &Column<'_>| {
                format!("\"{}\":{}", column.name, column.cells.first().copied().flatten().unwrap_or("null"))
            };
            out.push_str(&format!("\"constants\":{{{}}},", joined(constants.iter().map(constant))));
        }
        let name = |column: &Column<'_>| format!("\"{}\"", column.name);
        out.push_str(&format!("\"columns\":[{}],", joined(columns.iter().map(name))));
        write_absent(&columns, &lengths, &mut out);
        let row = |(row, length): (usize, &usize)| {
            let cells =
                columns.iter().take(*length).map(|column| column.cells[row].unwrap_or("null").to_owned());
            format!("[{}]", joined(cells))
        };
        out.push_str(&format!("\"rows\":[{}]}}", joined(lengths.iter().enumerate().map(row))));
        out
    }

    /// Whether any record lacks a field that another has.
    pub(super) fn has_gaps(&self) -> bool {
        self.records.iter().any(|record| record.len() < self.names.len())
    }
}

/// A field of all records.
struct Column<'a> {
    name: &'a str,
    cells: Vec<Option<&'a str>>,
}

impl<'a> Column<'a> {
    fn new(name: &'a str, count: usize) -> Self {
        Self { name, cells: vec![None; count] }
    }

    fn is_constant(&self) -> bool {
        let first = self.cells.first().copied().flatten();
        first.is_some() && self.cells.iter().all(|cell| *cell == first)
    }

    fn missing(&self) -> usize {
        self.cells.iter().filter(|cell| cell.is_none()).count()
    }
}

/// Tells `null` that is no value from `null` that is one.
fn write_absent(columns: &[Column<'_>], lengths: &[usize], out: &mut String) {
    let (mut whole, mut rows) = (Vec::new(), Vec::new());
    for (at, column) in columns.iter().enumerate() {
        let marked = |(row, cell): (usize, &Option<&str>)| {
            (cell.is_none() && lengths.get(row).is_some_and(|length| at < *length)).then_some(row)
        };
        let absent: Vec<usize> = column.cells.iter().enumerate().filter_map(marked).collect();
        if absent.is_empty() {
            continue;
        }
        if column.cells.contains(&Some("null")) {
            let absent = joined(absent.iter().map(usize::to_string));
            rows.push(format!("\"{}\":[{absent}]", column.name));
        } else {
            whole.push(format!("\"{}\"", column.name));
        }
    }
    if !whole.is_empty() {
        out.push_str(&format!("\"nullIsAbsent\":[{}],", joined(whole.into_iter())));
    }
    if !rows.is_empty() {
        out.push_str(&format!("\"absentAt\":{{{}}},", joined(rows.into_iter())));
    }
}

fn joined(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<_>>().join(",")
}

fn column(names: &mut Vec<String>, index: &mut HashMap<String, usize>, name: &str) -> usize {
    if let Some(at) = index.get(name) {
        return *at;
    }
    index.insert(name.to_owned(), names.len());
    names.push(name.to_owned());
    names.len() - 1
}

/// How deep a walk is.
#[derive(Clone, Copy)]
struct Levels {
    /// Below the record itself.
    inside: bool,
    /// Levels that may still be looked into.
    left: usize,
}

/// Visits the values of an object, those of objects inside under dotted names. `None` where names could not be told
/// apart, or where the visitor says so. Bounded by `levels.left`, not by the input.
fn leaves<'a>(
    text: &'a str,
    reader: &mut Reader<'a>,
    path: &mut String,
    levels: Levels,
    visit: &mut dyn FnMut(&str, &'a str) -> Option<()>,
) -> Option<()> {
    let mut keys = HashSet::new();
    reader.enter_object().ok()?;
    while let Some(key) = reader.next_key().ok()? {
        let key = text.get(key.start as usize + 1..(key.end as usize).checked_sub(1)?)?;
        // An escape could spell a dot, or another key.
        if key.contains(['.', '\\']) || !keys.insert(key) {
            return None;
        }
        let before = path.len();
        if levels.inside {
            path.push('.');
        }
        path.push_str(key);
        let mut inside = reader.clone();
        let kind = reader.peek().ok()?;
        let value = reader.skip().ok()?.of(text);
        if kind == Kind::Object && levels.left > 0 && value != "{}" {
            let levels = Levels { inside: true, left: levels.left - 1 };
            leaves(text, &mut inside, path, levels, visit)?;
        } else {
            visit(path, value)?;
        }
        path.truncate(before);
    }
    Some(())
}
