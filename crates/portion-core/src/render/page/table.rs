//! Writes similar records as a table: field names once, one row per record, shared values once.
//!
//! `[{"id":1,"price":{"total":9},"state":"CA"},{"id":2,"price":{"total":7},"state":"CA"}]` becomes
//! `{"constants":{"state":"CA"},"columns":["id","price.total"],"rows":[[1,9],[2,7]]}`. Every value keeps its
//! bytes, and the records can be restored, possibly with keys in another order. A row that ends early lacks
//! the fields of the last columns. In the columns of `nullIsAbsent`, `null` stands for a missing field. If a
//! column also holds `null` values, `absentAt` lists the rows, counted from 0, that lack its field.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use portion_json::scan::{JsonKind, JsonReader};
use portion_tokens::TokenCounter;

use super::costs::{Cost, CostedField, RecordCost, RecordCosts};

/// Levels of objects that become dotted names. Deeper objects are single values.
const MAX_DEPTH: usize = 4;
/// Largest number of cells of a table. More would not fit any reply.
const MAX_CELLS: usize = 1 << 20;
/// Column with the keys of a map.
const KEY_COLUMN: &str = "_key";

/// A record as it would be in the list, minified.
pub(super) struct TableRecord {
    /// Its key in a map, quotes included.
    pub key: Option<String>,
    /// Its value.
    pub json: String,
}

/// Records split into columns.
pub(super) struct RecordTable<'a> {
    /// Names of the fields without quotes, in the order of first occurrence.
    column_names: Vec<String>,
    /// Column and value of each field, per record.
    records: Vec<Vec<(usize, &'a str)>>,
}

impl<'a> RecordTable<'a> {
    /// Splits records into columns, objects inside them too if `nested` is set. Returns `None` if the records
    /// could not be restored from a table: a value that is no object, a duplicate key, or a key with a dot.
    pub(super) fn from_records(records: &'a [TableRecord], nested: bool) -> Option<Self> {
        let mut table = Self { column_names: Vec::new(), records: Vec::with_capacity(records.len()) };
        let mut index = HashMap::new();
        for record in records {
            let mut taken = Vec::new();
            if let Some(key) = &record.key {
                taken.push((column_index(&mut table.column_names, &mut index, KEY_COLUMN), key.as_str()));
            }
            let mut reader = JsonReader::new(&record.json);
            if reader.peek() != Ok(JsonKind::Object) {
                return None;
            }
            let levels = DepthLimit { is_nested: false, remaining: if nested { MAX_DEPTH } else { 0 } };
            let mut visit = |path: &str, value: &'a str| {
                let at = column_index(&mut table.column_names, &mut index, path);
                // A field may have the same name as the key column.
                (at > 0 || record.key.is_none()).then(|| taken.push((at, value)))
            };
            visit_leaves(&record.json, &mut reader, &mut String::new(), levels, &mut visit)?;
            table.records.push(taken);
        }
        (table.column_names.len().saturating_mul(records.len()) <= MAX_CELLS).then_some(table)
    }

    /// Writes the first `count` records as a table.
    pub(super) fn write(&self, count: usize) -> String {
        let count = count.min(self.records.len());
        let mut columns: Vec<Column<'_>> =
            self.column_names.iter().map(|name| Column::new(name, count)).collect();
        for (row, record) in self.records.iter().take(count).enumerate() {
            for (at, value) in record {
                if let Some(cell) = columns.get_mut(*at).and_then(|column| column.cells.get_mut(row)) {
                    *cell = Some(value);
                }
            }
        }
        columns.retain(|column| column.cells.iter().any(Option::is_some));
        let (constants, mut columns): (Vec<_>, Vec<_>) = columns.into_iter().partition(Column::is_constant);
        // Columns with many gaps come last, where missing cells need no marker.
        columns.sort_by_key(Column::missing_count);
        let lengths: Vec<usize> = (0..count)
            .map(|row| columns.iter().rposition(|column| column.cells[row].is_some()).map_or(0, |at| at + 1))
            .collect();
        let mut members = Vec::new();
        if !constants.is_empty() {
            let constant = |column: &Column<'_>| {
                let value = column.cells.first().copied().flatten();
                format!("\"{}\":{}", column.name, value.unwrap_or("null"))
            };
            members.push(format!("\"constants\":{{{}}}", join(constants.iter().map(constant))));
        }
        members.push(format!("\"columns\":[{}]", join(columns.iter().map(Column::quoted_name))));
        members.extend(absence_markers(&columns, &lengths));
        let row = |(row, length): (usize, &usize)| {
            let cells =
                columns.iter().take(*length).map(|column| column.cells[row].unwrap_or("null").to_owned());
            format!("[{}]", join(cells))
        };
        members.push(format!("\"rows\":[{}]", join(lengths.iter().enumerate().map(row))));
        format!("{{{}}}", members.join(","))
    }

    /// Returns true if a record lacks a field that another one has.
    pub(super) fn has_gaps(&self) -> bool {
        self.records.iter().any(|record| record.len() < self.column_names.len())
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

    fn quoted_name(&self) -> String {
        format!("\"{}\"", self.name)
    }

    fn is_constant(&self) -> bool {
        let first = self.cells.first().copied().flatten();
        first.is_some() && self.cells.iter().all(|cell| *cell == first)
    }

    fn missing_count(&self) -> usize {
        self.cells.iter().filter(|cell| cell.is_none()).count()
    }
}

/// Returns the markers that distinguish missing fields from `null` values.
fn absence_markers(columns: &[Column<'_>], lengths: &[usize]) -> Vec<String> {
    let (mut whole, mut rows) = (Vec::new(), Vec::new());
    for (at, column) in columns.iter().enumerate() {
        let cells = column.cells.iter().zip(lengths).enumerate();
        let marked = cells.filter(|(_, (cell, length))| cell.is_none() && at < **length);
        let absent: Vec<usize> = marked.map(|(row, _)| row).collect();
        if absent.is_empty() {
            continue;
        }
        if column.cells.contains(&Some("null")) {
            rows.push(format!("{}:[{}]", column.quoted_name(), join(absent.iter().map(usize::to_string))));
        } else {
            whole.push(column.quoted_name());
        }
    }
    let whole = (!whole.is_empty()).then(|| format!("\"nullIsAbsent\":[{}]", whole.join(",")));
    let rows = (!rows.is_empty()).then(|| format!("\"absentAt\":{{{}}}", rows.join(",")));
    whole.into_iter().chain(rows).collect()
}

fn join(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<_>>().join(",")
}

fn column_index(names: &mut Vec<String>, index: &mut HashMap<String, usize>, name: &str) -> usize {
    if let Some(at) = index.get(name) {
        return *at;
    }
    index.insert(name.to_owned(), names.len());
    names.push(name.to_owned());
    names.len() - 1
}

/// Depth of a traversal.
#[derive(Clone, Copy)]
struct DepthLimit {
    /// True below the record itself.
    is_nested: bool,
    /// Levels that may still be entered.
    remaining: usize,
}

/// Visits the values of an object, and those of nested objects under dotted names. Returns `None` if names
/// are ambiguous or the visitor returns `None`. Recursion is bounded by `levels.remaining`, not by the input.
fn visit_leaves<'a>(
    text: &'a str,
    reader: &mut JsonReader<'a>,
    path: &mut String,
    levels: DepthLimit,
    visit: &mut dyn FnMut(&str, &'a str) -> Option<()>,
) -> Option<()> {
    let mut keys = HashSet::new();
    reader.enter_object().ok()?;
    while let Some(key) = reader.next_key().ok()? {
        let key = plain_key(key.slice(text)).filter(|key| keys.insert(*key))?;
        let before = path.len();
        if levels.is_nested {
            path.push('.');
        }
        path.push_str(key);
        let mut inside = reader.clone();
        let kind = reader.peek().ok()?;
        let value = reader.skip().ok()?.slice(text);
        if kind == JsonKind::Object && levels.remaining > 0 && is_flattenable(value) {
            let levels = DepthLimit { is_nested: true, remaining: levels.remaining - 1 };
            visit_leaves(text, &mut inside, path, levels, visit)?;
        } else {
            visit(path, value)?;
        }
        path.truncate(before);
    }
    Some(())
}

/// Returns a key without its quotes, or `None` if it contains a dot, or an escape, which could stand for a
/// dot or spell another key.
fn plain_key(key: &str) -> Option<&str> {
    let name = key.strip_prefix('"')?.strip_suffix('"')?;
    (!name.contains(['.', '\\'])).then_some(name)
}

/// Returns true if the members of an object can be columns: it has members, and their names are unambiguous.
fn is_flattenable(object: &str) -> bool {
    let (mut reader, mut keys) = (JsonReader::new(object), HashSet::new());
    if reader.enter_object().is_err() {
        return false;
    }
    while let Ok(Some(key)) = reader.next_key() {
        let told_apart = plain_key(key.slice(object)).is_some_and(|name| keys.insert(name));
        if !told_apart || reader.skip().is_err() {
            return false;
        }
    }
    !keys.is_empty()
}

const HASHER: FixedState = FixedState::with_seed(7);
/// The members of a table without their content.
const FRAME: &str = "{\"columns\":[],\"rows\":[]}";
const CONSTANTS: &str = "\"constants\":{},";
const ABSENT: &str = "\"nullIsAbsent\":[],";

/// Records as a table.
pub(super) struct TableCosts<'a> {
    pub costs: &'a RecordCosts,
    pub records: &'a [RecordCost],
    /// For each field, true if it is written.
    pub keeps: &'a [bool],
    pub counter: &'a dyn TokenCounter,
}

/// A column of a table.
#[derive(Clone, Default)]
struct ColumnCost {
    /// Cost of its values.
    sum: Cost,
    value_count: usize,
    /// Hash of its first value, if all so far are equal.
    constant: Option<u64>,
    has_null: bool,
}

/// A value of a row.
struct Value {
    column: usize,
    cost: Cost,
    hash: u64,
    is_null: bool,
}

impl TableCosts<'_> {
    /// Returns the cost of the records: the lower one of objects in them as columns, and as values.
    pub(super) fn total(&self) -> Cost {
        let (nested, has_gaps) = self.with_columns(&|field| field.column);
        if !has_gaps {
            return nested;
        }
        let (flat, _) = self.with_columns(&|field| field.flat_column);
        if flat.bytes < nested.bytes { flat } else { nested }
    }

    /// Returns the cost of a table with these columns, and whether a record lacks a value.
    fn with_columns(&self, column_of: &dyn Fn(&CostedField) -> usize) -> (Cost, bool) {
        let separator = self.costs.separator;
        let mut columns = vec![ColumnCost::default(); self.costs.columns.len()];
        let rows: Vec<Vec<Value>> = self.records.iter().map(|record| self.row(record, column_of)).collect();
        let mut sum = Cost::of(FRAME, self.counter);
        for (at, row) in rows.iter().enumerate() {
            sum += self.records[at].key;
            sum += separator;
            for value in row {
                let column = &mut columns[value.column];
                column.sum += value.cost;
                column.constant = if at == 0 {
                    Some(value.hash)
                } else {
                    column.constant.filter(|first| *first == value.hash)
                };
                column.value_count += 1;
                column.has_null |= value.is_null;
            }
        }
        let mut shown: Vec<usize> = Vec::new();
        for (at, column) in columns.iter().enumerate().filter(|(_, column)| column.value_count > 0) {
            sum += self.costs.name_costs[at].plus(separator);
            if column.constant.is_some() && column.value_count == rows.len() {
                let first = rows.first().and_then(|row| row.iter().find(|value| value.column == at));
                sum += first.map_or(separator, |value| value.cost);
            } else {
                sum += column.sum;
                shown.push(at);
            }
        }
        if shown.len() < columns.iter().filter(|column| column.value_count > 0).count() {
            sum += Cost::of(CONSTANTS, self.counter);
        }
        sum += self.gaps(&rows, shown, &columns);
        let has_gaps = columns.iter().any(|column| column.value_count > 0 && column.value_count < rows.len());
        (sum, has_gaps)
    }

    /// Returns the values of a row.
    fn row(&self, record: &RecordCost, column_of: &dyn Fn(&CostedField) -> usize) -> Vec<Value> {
        let mut row: Vec<Value> = Vec::new();
        for cell in record.cells.iter() {
            let Some(at) = cell.field.filter(|at| self.keeps.get(*at) == Some(&true)) else { continue };
            let column = column_of(&self.costs.fields[at]);
            if self.costs.columns[column] == self.costs.fields[at].path {
                row.push(Value { column, cost: cell.bare, hash: cell.hash, is_null: cell.is_null });
                continue;
            }
            let cost = cell.named.plus(cell.opening);
            if let Some(value) = row.last_mut().filter(|value| value.column == column) {
                value.cost += cost;
                value.hash = HASHER.hash_one((value.hash, at, cell.hash));
            } else {
                let cost = cost.plus(self.costs.separator);
                row.push(Value { column, cost, hash: cell.hash, is_null: false });
            }
        }
        row
    }

    /// Returns the cost of missing values: a null each, unless all after it in the row are missing, and their marks.
    fn gaps(&self, rows: &[Vec<Value>], mut shown: Vec<usize>, columns: &[ColumnCost]) -> Cost {
        shown.sort_by_key(|column| rows.len().saturating_sub(columns[*column].value_count));
        let mut place = vec![None; columns.len()];
        shown.iter().enumerate().for_each(|(at, column)| place[*column] = Some(at));
        let (null, index) = (Cost::of("null,", self.counter), Cost::of("99,", self.counter));
        let mut sum = Cost::default();
        for row in rows {
            let mut places: Vec<usize> = row.iter().filter_map(|value| place[value.column]).collect();
            places.sort_unstable();
            let length = places.last().map_or(0, |last| last + 1);
            let missing = (0..length).filter(|at| places.binary_search(at).is_err());
            for column in missing.map(|at| &columns[shown[at]]) {
                sum += null;
                sum += if column.has_null { index } else { Cost::default() };
            }
        }
        if sum != Cost::default() {
            sum += Cost::of(ABSENT, self.counter);
            let marked = shown.iter().filter(|column| columns[**column].value_count < rows.len());
            marked.for_each(|column| sum += self.costs.name_costs[*column].plus(self.costs.separator));
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::{RecordTable, TableRecord};

    fn check(records: &[&str], nested: bool, expect: Option<&str>) {
        let records: Vec<TableRecord> =
            records.iter().map(|json| TableRecord { key: None, json: (*json).to_owned() }).collect();
        let table = RecordTable::from_records(&records, nested).map(|table| table.write(records.len()));
        assert_eq!(table.as_deref(), expect);
    }

    #[test]
    fn field_names_and_constants_are_written_once() {
        check(
            &[
                r#"{"id":1,"price":{"total":9.50},"state":"CA"}"#,
                r#"{"id":2,"price":{"total":7},"state":"CA"}"#,
            ],
            true,
            Some(r#"{"constants":{"state":"CA"},"columns":["id","price.total"],"rows":[[1,9.50],[2,7]]}"#),
        );
        check(
            &[r#"{"id":1,"price":{"total":9}}"#, r#"{"id":2,"price":{"total":7}}"#],
            false,
            Some(r#"{"columns":["id","price"],"rows":[[1,{"total":9}],[2,{"total":7}]]}"#),
        );
    }

    #[test]
    fn absent_is_not_null() {
        // The last fields of a row are omitted. Before them a missing field is `null`, with a marker.
        check(&[r#"{"a":1,"b":2}"#, r#"{"a":3}"#], true, Some(r#"{"columns":["a","b"],"rows":[[1,2],[3]]}"#));
        check(
            &[r#"{"a":1,"b":2}"#, r#"{"a":3,"b":null}"#],
            true,
            Some(r#"{"columns":["a","b"],"rows":[[1,2],[3,null]]}"#),
        );
        check(
            &[r#"{"a":1,"b":2}"#, r#"{"a":3,"c":4}"#, r#"{"a":5,"c":6}"#],
            true,
            Some(r#"{"columns":["a","c","b"],"nullIsAbsent":["c"],"rows":[[1,null,2],[3,4],[5,6]]}"#),
        );
        check(
            &[r#"{"a":1,"b":2}"#, r#"{"a":3,"c":4}"#, r#"{"a":5,"c":null}"#],
            true,
            Some(r#"{"columns":["a","c","b"],"absentAt":{"c":[0]},"rows":[[1,null,2],[3,4],[5,null]]}"#),
        );
    }

    #[test]
    fn empty_objects_and_lists_are_single_values() {
        check(
            &[r#"{"a":{},"b":{"c":[]}}"#, r#"{"a":{"x":1},"b":{"c":[{"d":1}]}}"#],
            true,
            Some(r#"{"columns":["b.c","a","a.x"],"nullIsAbsent":["a"],"rows":[[[],{}],[[{"d":1}],null,1]]}"#),
        );
        check(&["{}", "{}"], true, Some(r#"{"columns":[],"rows":[[],[]]}"#));
        check(
            &[r#"{"":{"":1}}"#, r#"{"":2}"#],
            true,
            Some(r#"{"columns":[".",""],"nullIsAbsent":["."],"rows":[[1],[null,2]]}"#),
        );
    }

    #[test]
    fn records_that_could_not_be_restored_are_no_table() {
        check(&[r#"{"a.b":1}"#, r#"{"a.b":2}"#], true, None);
        check(&[r#"{"a\u002eb":1}"#], true, None);
        check(&[r#"{"a":1,"a":2}"#], true, None);
        check(&[r#"{"a":{"x":1},"a":{"y":1}}"#], true, None);
        // Nested objects like these are single values.
        check(
            &[r#"{"a":{"b.c":1},"d":{"e":1,"e":2}}"#, r#"{"a":{"b":1},"d":{"\u0065":1}}"#],
            true,
            Some(
                r#"{"columns":["d","a","a.b"],"nullIsAbsent":["a"],"rows":[[{"e":1,"e":2},{"b.c":1}],[{"\u0065":1},null,1]]}"#,
            ),
        );
        check(&["1", "{}"], true, None);
    }

    #[test]
    fn keys_of_a_map_are_a_column() {
        let record = |key: &str, json: &str| TableRecord { key: Some(key.into()), json: json.into() };
        let table = |records: &[TableRecord]| {
            RecordTable::from_records(records, true).map(|table| table.write(records.len()))
        };
        assert_eq!(
            table(&[record("\"x\"", r#"{"a":1}"#), record("\"y\"", r#"{"a":2}"#)]).as_deref(),
            Some(r#"{"columns":["_key","a"],"rows":[["x",1],["y",2]]}"#)
        );
        assert_eq!(table(&[record("\"x\"", r#"{"_key":1}"#)]), None);
    }
}
