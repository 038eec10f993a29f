//! Finds rows and the lists of their columns in the same object, at any depth.

use std::collections::HashSet;

use portion_json::containers::{items, members};
use portion_json::path::escape_step;
use portion_json::scan::{JsonKind, JsonReader, quote, unescape};
use portion_json::span::Span;
use portion_text::names::split_name;

use super::first_row::{is_spreadsheet, names_in_first_row};
use super::{CellForm, MAX_COLUMNS, NamedRows, member_named, name_and_value, written_cells};
use crate::snapshot::ObjectIndex;

/// Levels of objects around rows, and of arrays of such objects.
const MAX_DEPTH: usize = 6;
const MAX_GROUP_DEPTH: usize = 2;
/// Shortest text or object that a value may be about in place of a table, in bytes.
const MIN_LONG_BYTES: usize = 1 << 10;
/// Longest records of joined tables, in bytes.
const MAX_JOINED_BYTES: usize = 64 << 20;
/// Most objects of an array that are searched for tables.
const MAX_GROUPS: usize = 64;
/// Words in the names of members that list columns, and of those that hold rows.
const COLUMN_WORDS: [&str; 8] = ["col", "cols", "column", "columns", "field", "fields", "header", "headers"];
const ROW_WORDS: [&str; 8] = ["data", "record", "records", "result", "results", "row", "rows", "values"];
/// Names, as words, of the member that names a column, the best first.
const COLUMN_NAMES: [&str; 7] = ["name", "column name", "field name", "field", "label", "title", "id"];

/// Rows in a JSON text whose cells are named.
#[derive(Clone, Debug)]
pub struct NamedTable {
    /// JSON Pointer of the array of rows.
    pub pointer: String,
    /// Span of the array of rows.
    pub span: Span,
    /// Names of the cells.
    pub rows: NamedRows,
    /// Span of the object around it, if that is one of an array.
    pub group: Option<Span>,
    /// True if rows and columns are members of the outermost object, and have names of such.
    is_outermost: bool,
}

/// An array in an object.
struct NestedArray {
    name: String,
    pointer: String,
    span: Span,
    /// Number of the object around it.
    object: usize,
    /// True if that is a range of a spreadsheet.
    is_spreadsheet: bool,
}

impl NestedArray {
    /// Returns true if it has a name of arrays of rows.
    fn holds_rows(&self) -> bool {
        split_name(&self.name).iter().any(|word| ROW_WORDS.contains(&word.as_str()))
    }
}

/// Finds the named rows in a value, in the order of the text.
pub fn named_tables(text: &str, value: Span) -> Vec<NamedTable> {
    search(text, value).0
}

/// Returns the table that a value is about: it stands in the outermost object, or what else there is, is smaller than its rows
/// and columns.
pub fn main_table(text: &str, value: Span) -> Option<NamedTable> {
    let (mut tables, seen) = search(text, value);
    let is_inside = |inner: &Span, outer: &Span| outer.start <= inner.start && inner.end <= outer.end;
    let is_of_table = |array: &Span| {
        tables
            .iter()
            .flat_map(|table| table.rows.schemas.iter().chain([&table.span]))
            .any(|own| is_inside(own, array))
    };
    let largest = seen.iter().filter(|other| !is_of_table(other)).map(|array| array.len()).max().unwrap_or(0);
    let at = (0..tables.len()).max_by_key(|at| (tables[*at].is_outermost, tables[*at].len()))?;
    // Of several results, later ones are about the first: its status, its statistics.
    let is_grouped = |table: &NamedTable| table.group.is_some();
    let first = tables.iter().position(is_grouped).filter(|_| is_grouped(&tables[at]));
    let main = tables.swap_remove(first.unwrap_or(at));
    (main.is_outermost || main.len() >= largest).then_some(main)
}

/// Returns the tables of a value, each in an object of an array, that have the same columns as its main table.
pub fn tables_alike(text: &str, value: Span, main: &NamedTable) -> Vec<NamedTable> {
    let is_alike = |other: &NamedTable| other.group.is_some() && other.rows.names == main.rows.names;
    named_tables(text, value).into_iter().filter(is_alike).collect()
}

/// Returns the rows of tables with the same columns as records in one JSON array; `None` if they are too long. Each begins with
/// what stands beside its table, other than arrays.
pub fn joined_rows(text: &str, tables: &[NamedTable]) -> Option<String> {
    let mut records = String::from("[");
    for NamedTable { span, rows, group, .. } in tables {
        let beside = members(text, group.unwrap_or_default()).filter(|member| {
            let names_column = || rows.names.contains(&unescape(member.key.slice(text)));
            JsonKind::of_value(member.value.slice(text)) != JsonKind::Array && !names_column()
        });
        let beside: Vec<&str> = beside.map(|member| member.span().slice(text)).collect();
        let mut cells = vec![Span::default(); rows.names.len()];
        for row in items(text, *span).skip(rows.skipped) {
            rows.read_cells(text, row, &mut cells);
            let named = rows.names.iter().zip(&cells).filter(|(_, cell)| !cell.is_empty());
            let named = named.map(|(name, cell)| format!("{}:{}", quote(name), cell.slice(text)));
            let record: Vec<String> = beside.iter().map(|member| (*member).to_owned()).chain(named).collect();
            records.push_str(if records.len() > 1 { ",{" } else { "{" });
            records.push_str(&record.join(","));
            records.push('}');
            if records.len() > MAX_JOINED_BYTES {
                return None;
            }
        }
    }
    records.push(']');
    Some(records)
}

impl NamedTable {
    /// Returns the bytes of rows and columns.
    fn len(&self) -> usize {
        self.span.len() + self.rows.schemas.iter().map(|schema| schema.len()).sum::<usize>()
    }

    /// Returns the index of the member with the columns, if it stands beside the rows, and names the items of each.
    pub(in crate::snapshot) fn header(&self, members: &ObjectIndex) -> Option<usize> {
        let is_plain = self.rows.form == CellForm::Plain && self.rows.skipped == 0;
        members.listed.iter().position(|member| is_plain && self.rows.schemas == [member.value])
    }
}

/// Finds the named rows in a value, and all that was looked at.
fn search(text: &str, value: Span) -> (Vec<NamedTable>, Vec<Span>) {
    let (mut tables, mut seen) = (Vec::new(), Vec::new());
    let mut open = vec![(value, String::new(), 0)];
    while let Some((scope, pointer, depth)) = open.pop() {
        let arrays = arrays_in(text, scope, pointer, &mut seen);
        for array in &arrays {
            seen.push(array.span);
            if let Some(table) = table_of(text, array, &arrays) {
                tables.push(NamedTable { group: (depth > 0).then_some(scope), ..table });
            } else if depth < MAX_GROUP_DEPTH {
                let groups: Vec<Span> = items(text, array.span).take(MAX_GROUPS + 1).collect();
                let is_object =
                    |(_, item): &(usize, &Span)| JsonKind::of_value(item.slice(text)) == JsonKind::Object;
                let few = groups.iter().enumerate().filter(|_| groups.len() <= MAX_GROUPS);
                open.extend(
                    few.filter(is_object)
                        .map(|(at, group)| (*group, format!("{}/{at}", array.pointer), depth + 1)),
                );
            }
        }
    }
    tables.sort_by_key(|table| table.span.start);
    (tables, seen)
}

/// Returns the arrays in an object, and in the objects in it; `seen` receives long texts and objects.
fn arrays_in(text: &str, scope: Span, pointer: String, seen: &mut Vec<Span>) -> Vec<NestedArray> {
    let (mut arrays, mut object) = (Vec::new(), 0);
    let mut open = vec![(scope, pointer, 0)];
    while let Some((outer, pointer, depth)) = open.pop() {
        for member in members(text, outer).take(ObjectIndex::MAX_LISTED) {
            let kind = JsonKind::of_value(member.value.slice(text));
            if kind != JsonKind::Array && member.value.len() >= MIN_LONG_BYTES {
                seen.push(member.value);
            }
            if !kind.is_container() {
                continue;
            }
            let name = unescape(member.key.slice(text));
            let pointer = format!("{pointer}/{}", escape_step(&name));
            if kind == JsonKind::Array {
                let keys = members(text, outer).map(|member| member.key);
                let is_spreadsheet = is_spreadsheet(text, &name, keys);
                arrays.push(NestedArray { name, pointer, span: member.value, object, is_spreadsheet });
            } else if depth < MAX_DEPTH {
                open.push((member.value, pointer, depth + 1));
            }
        }
        object += 1;
    }
    arrays
}

/// Returns the rows in an array with the names that they have in others.
fn table_of(text: &str, array: &NestedArray, arrays: &[NestedArray]) -> Option<NamedTable> {
    let first = items(text, array.span).next()?;
    let form = CellForm::of_row(text, first)?;
    let table = |names, skipped, schemas: &[&NestedArray]| NamedTable {
        pointer: array.pointer.clone(),
        span: array.span,
        group: None,
        is_outermost: array.holds_rows()
            && schemas.iter().chain([&array]).all(|part| part.pointer.matches('/').count() == 1),
        rows: NamedRows { names, skipped, schemas: schemas.iter().map(|part| part.span).collect(), form },
    };
    if form == CellForm::Pairs {
        return Some(table(pair_names(text, array.span)?, 0, &[]));
    }
    if array.is_spreadsheet && form == CellForm::Plain {
        let (names, skipped) = names_in_first_row(text, array.span, true)?;
        return Some(table(names, skipped, &[]));
    }
    let width = written_cells(text, first).count();
    let (names, schemas) = columns_of(text, array, arrays, width)?;
    // A column cannot be named in a row with a different number of cells.
    if !has_width(text, array.span, width) {
        return None;
    }
    let is_name = |(name, cell): (&String, Span)| {
        cell.slice(text).starts_with('"') && unescape(cell.slice(text)) == *name
    };
    let repeats = names.iter().zip(form.cells(text, first)).all(is_name);
    Some(table(names, usize::from(repeats), &schemas))
}

/// Returns true if all rows of an array have as many cells.
fn has_width(text: &str, rows: Span, width: usize) -> bool {
    let mut reader = JsonReader::resume(text, rows.start as usize);
    let is_array = reader.enter_array().is_ok();
    while is_array && reader.next_item() == Ok(true) {
        let count = match reader.peek() {
            Ok(JsonKind::Array) => count_items(&mut reader),
            _ => reader.skip().ok().map(|row| written_cells(text, row).count()),
        };
        if count != Some(width) {
            return false;
        }
    }
    is_array
}

/// Counts the items of the array at the reader.
fn count_items(reader: &mut JsonReader<'_>) -> Option<usize> {
    reader.enter_array().ok()?;
    let mut count = 0;
    while reader.next_item().ok()? {
        reader.skip().ok()?;
        count += 1;
    }
    Some(count)
}

/// Returns the names of as many columns, and the arrays that have them: the nearest one, or all of one object.
fn columns_of<'a>(
    text: &str,
    rows: &NestedArray,
    arrays: &'a [NestedArray],
    width: usize,
) -> Option<(Vec<String>, Vec<&'a NestedArray>)> {
    let lists = arrays.iter().filter(|array| array.span != rows.span);
    let candidates: Vec<(&NestedArray, Vec<String>)> = lists
        .filter_map(|array| Some((array, column_names(text, array, rows.holds_rows(), width)?)))
        .collect();
    let whole = candidates.iter().filter(|(_, names)| names.len() == width);
    if let Some((array, names)) = whole.min_by_key(|(array, _)| array.object != rows.object) {
        return Some((names.clone(), vec![*array]));
    }
    candidates.iter().find_map(|(first, _)| {
        let of_object = candidates.iter().filter(|(array, _)| array.object == first.object);
        let (schemas, names): (Vec<_>, Vec<_>) = of_object.cloned().unzip();
        Some((names.concat(), schemas)).filter(|(names, _)| names.len() == width)
    })
}

/// Returns the names of columns in an array, at most `max`: strings, or objects with a name. The name of the array says that it
/// lists columns, or each has a type.
fn column_names(text: &str, array: &NestedArray, are_rows: bool, max: usize) -> Option<Vec<String>> {
    let words = split_name(&array.name);
    let lists_columns = words.iter().any(|word| COLUMN_WORDS.contains(&word.as_str()));
    let has_type = |column: Span| {
        let mut keys = members(text, column).map(|member| split_name(&unescape(member.key.slice(text))));
        keys.any(|words| words.iter().any(|word| word == "type"))
    };
    let mut names = Vec::new();
    for column in items(text, array.span) {
        let json = column.slice(text);
        let name = match JsonKind::of_value(json) {
            JsonKind::String if lists_columns => unescape(json),
            JsonKind::Object if lists_columns || are_rows && has_type(column) => {
                member_named(text, column, &COLUMN_NAMES)?
            }
            _ => return None,
        };
        names.push(name);
        if names.len() > max {
            return None;
        }
    }
    (!names.is_empty()).then_some(names)
}

/// Returns the names of the values of rows of pairs, in the order in which they occur; `None` if the rows are not alike.
fn pair_names(text: &str, rows: Span) -> Option<Vec<String>> {
    let (mut names, mut known): (Vec<String>, HashSet<String>) = (Vec::new(), HashSet::new());
    for row in items(text, rows) {
        let (mut own, mut shared, first_count) = (HashSet::new(), 0, names.len());
        for pair in items(text, row) {
            let (name, _) = name_and_value(text, pair)?;
            if known.insert(name.clone()) {
                names.push(name.clone());
            } else {
                shared += 1;
            }
            own.insert(name).then_some(())?;
        }
        if names.len() > MAX_COLUMNS || first_count > 0 && shared * 2 < own.len() {
            return None;
        }
    }
    (!names.is_empty()).then_some(names)
}

#[cfg(test)]
mod tests {
    use portion_json::span::Span;

    use crate::snapshot::{IndexedText, Slice};
    use crate::snapshot::{Layout, Structure, main_table, named_tables};

    /// Checks the pointer of the table that a text is about, its columns, and the cells of its last row.
    fn check(text: &str, expect: Option<(&str, &str, &str)>) {
        let found = main_table(text, Span::new(0, text.len())).map(|table| {
            let mut cells = vec![Span::default(); table.rows.names.len()];
            let last = portion_json::containers::items(text, table.span).last().unwrap_or_default();
            table.rows.read_cells(text, last, &mut cells);
            let cells: Vec<&str> = cells.iter().map(|cell| cell.slice(text)).collect();
            (table.pointer, table.rows.names.join(","), cells.join(","))
        });
        let found = found.as_ref().map(|(pointer, names, cells)| (&**pointer, &**names, &**cells));
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn columns_are_found_at_any_depth() {
        check(
            r#"{"manifest":{"schema":{"columns":[{"name":"id","type":"LONG"},{"name":"city","type":"STRING"}]},"chunks":[{"chunk_index":0,"rows":2}]},"result":{"data_array":[["1","Oslo"],["2",null]]}}"#,
            Some(("/result/data_array", "id,city", r#""2",null"#)),
        );
        check(
            r#"{"Tables":[{"TableName":"T","Columns":[{"ColumnName":"Level","ColumnType":"string"},{"ColumnName":"Count","ColumnType":"long"}],"Rows":[["Error",3],["Warn",14]]}]}"#,
            Some(("/Tables/0/Rows", "Level,Count", r#""Warn",14"#)),
        );
        check(
            r#"{"results":[{"statement_id":0,"series":[{"name":"cpu","columns":["time","usage"],"values":[["t1",1.5],["t2",2]]}]}]}"#,
            Some(("/results/0/series/0/values", "time,usage", r#""t2",2"#)),
        );
        check(
            r#"{"meta":{"view":{"id":"ab","columns":[{"id":1,"name":"sid","dataTypeName":"text"},{"id":2,"name":"Cost","dataTypeName":"number"}]}},"data":[["a","1"],["b",[1,2]]]}"#,
            Some(("/data", "sid,Cost", r#""b",[1,2]"#)),
        );
        check(
            r#"{"resultSetMetaData":{"rowType":[{"name":"ID","type":"fixed"}]},"data":[["9"],["10"]]}"#,
            Some(("/data", "ID", r#""10""#)),
        );
    }

    #[test]
    fn the_first_of_several_results_is_the_answer() {
        let status =
            r#"{"Columns":["Time","Status","Text"],"Rows":[["t",0,"completed"],["t",1,"a longer text"]]}"#;
        check(
            &format!(r#"{{"Tables":[{{"Columns":["State","n"],"Rows":[["TEXAS",4701]]}},{status}]}}"#),
            Some(("/Tables/0/Rows", "State,n", r#""TEXAS",4701"#)),
        );
    }

    #[test]
    fn wrapped_values_and_pairs_are_cells() {
        check(
            r#"{"schema":{"fields":[{"name":"a","type":"STRING"},{"name":"b","type":"INTEGER"}]},"rows":[{"f":[{"v":"x"},{"v":"9"}]},{"f":[{"v":"y"},{"v":null}]}]}"#,
            Some(("/rows", "a,b", r#""y",null"#)),
        );
        check(
            r#"{"ResultSet":{"Rows":[{"Data":[{"VarCharValue":"region"},{"VarCharValue":"n"}]},{"Data":[{"VarCharValue":"eu"},{}]}],"ResultSetMetadata":{"ColumnInfo":[{"TableName":"","Name":"region","Type":"varchar"},{"TableName":"","Name":"n","Type":"integer"}]}}}"#,
            Some(("/ResultSet/Rows", "region,n", r#""eu","#)),
        );
        check(
            r#"{"Records":[[{"longValue":1},{"stringValue":"a"}],[{"longValue":2},{"isNull":true}]],"ColumnMetadata":[{"name":"id"},{"name":"city"}]}"#,
            Some(("/Records", "id,city", "2,")),
        );
        check(
            r#"{"dimensionHeaders":[{"name":"country"}],"metricHeaders":[{"name":"users"},{"name":"sessions"}],"rows":[{"dimensionValues":[{"value":"NO"}],"metricValues":[{"value":"9"},{"value":"20"}]}]}"#,
            Some(("/rows", "country,users,sessions", r#""NO","9","20""#)),
        );
        check(
            r#"{"results":[[{"field":"t","value":"1"},{"field":"n","value":"2"}],[{"field":"t","value":"3"},{"field":"level","value":"x"},{"field":"n","value":"4"}]]}"#,
            Some(("/results", "t,n,level", r#""3","4","x""#)),
        );
    }

    #[test]
    fn other_arrays_stay_as_they_are() {
        for text in [
            r#"{"type":"LineString","coordinates":[[1,2],[3,4]]}"#,
            r#"{"type":"FeatureCollection","features":[{"id":1,"type":"Feature","geometry":{"coordinates":[[1,2],[3,4]]}},{"id":2,"type":"Feature"}]}"#,
            r#"{"legend":["low","high"],"map":[[1,2],[3,4]]}"#,
            r#"{"legend":[{"name":"low","type":"x"},{"name":"high","type":"y"}],"map":[[1,2],[3,4]]}"#,
            r#"{"layers":[{"name":"a","type":"x"},{"name":"b","type":"y"}],"bounds":[[0,1],[2,3]]}"#,
            r#"{"fields":["id","tags"],"items":[{"id":1,"tags":["a","b"]},{"id":2,"tags":["c","d"]}]}"#,
            r#"{"columns":["a","b","c"],"rows":[[1,2],[3,4]]}"#,
            &format!(
                r#"{{"text":"{}","table":{{"columns":["a","b"],"rows":[[1,2],[3,4]]}}}}"#,
                "words ".repeat(200)
            )[..],
            r#"{"columns":["a","b"],"rows":[[1,2],[3,4,5]]}"#,
            r#"{"columns":["a","b"],"rows":[]}"#,
            r#"{"choices":[[{"name":"red","value":1}],[{"name":"small","value":2}]]}"#,
            r#"{"fields":["a","b"],"box":[[1,2]],"facets":[{"field":"a","counts":"a longer text"}]}"#,
        ] {
            check(text, None);
        }
    }

    #[test]
    fn ranges_of_spreadsheets_have_their_names_in_the_first_row() {
        let range =
            |values: &str| format!(r#"{{"range":"S!A1:B9","majorDimension":"ROWS","values":{values}}}"#);
        let first = range(r#"[["Name","2023","2024"],["a","1","2"],["b","3","4"]]"#);
        let one = format!(r#"{{"spreadsheetId":"x","valueRanges":[{first}]}}"#);
        check(&one, Some(("/valueRanges/0/values", "Name,2023,2024", r#""b","3","4""#)));
        let second = range(r#"[["Kind","Sum"],["a",1],["b",2]]"#);
        let two = format!(r#"{{"spreadsheetId":"x","valueRanges":[{first},{second}]}}"#);
        assert_eq!(named_tables(&two, Span::new(0, two.len())).len(), 2);
        check(r#"{"groups":[{"label":"g","values":[["Name","Sum"],["a",1],["b",2]]}]}"#, None);
    }

    #[test]
    fn a_table_is_the_list_of_its_text() {
        let layout = |text: &str| match IndexedText::from_payload(Slice::new(text.to_owned())).structure {
            Structure::List(list) => Some((list.pointer.clone(), list.len(), list.layout != Layout::Array)),
            Structure::Object(_) | Structure::Text(_) => None,
        };
        let beside = r#"{"Columns":["a","b"],"Rows":[[1,2],[3,4]]}"#;
        assert_eq!(layout(beside), Some(("/Rows".to_owned(), 2, true)));
        let apart = r#"{"schema":{"fields":["a","b"]},"rows":[[1,2],[3,4]]}"#;
        assert_eq!(layout(apart), Some(("/rows".to_owned(), 2, false)));
        let several = format!(r#"{{"Tables":[{beside},{beside}]}}"#);
        assert_eq!(layout(&several), None);
        assert_eq!(named_tables(&several, Span::new(0, several.len())).len(), 2);
    }
}
