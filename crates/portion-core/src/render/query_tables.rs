//! Tables that a query on a result can read, as its notice names them.

use portion_json::containers::members;
use portion_json::path::step_from_quoted;
use portion_json::scan::JsonKind;
use portion_json::span::Span;
use portion_text::chunk::TextKind;
use serde_json::{Map, Value};

use crate::snapshot::{
    ColumnArrays, IndexedText, Layout, LineIndex, List, MIN_LIST_BYTES, Member, NamedTable, ObjectIndex,
    Snapshot, Structure, column_list, header_row, list_blocks, main_lists, record_blocks,
};
use crate::view::ResolvedRequest;

/// Tables of a result, the most useful first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QueryTables {
    tables: Vec<QueryTable>,
    /// True if the result is a text, in which a search finds words as well.
    is_text: bool,
    /// Pointer of the value that the tables are of, if it is not the whole.
    pub path: Option<String>,
}

/// A table and its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
struct QueryTable {
    name: String,
    /// Names of the columns; empty if another member lists them.
    columns: String,
    /// Further facts, in words.
    note: Option<String>,
}

/// Maximum bytes of the documents whose leaves are a table.
pub const MAX_LEAVES_BYTES: usize = 8 << 20;
/// Columns of the tables that are not records.
const LEAVES: &str = "path,key,value,type";
const LINES: &str = "number,text";
const ENTRIES: &str = "start_line,time,level,text";
const SECTIONS: &str = "title,text,start_line";
/// Largest number of characters that the columns of a table in a document take.
const MAX_COLUMN_CHARS: usize = 160;
/// Most tables of an object that are named.
const MAX_NAMED_TABLES: usize = 3;

impl QueryTable {
    fn new(name: impl Into<String>, columns: impl Into<String>) -> Self {
        Self { name: name.into(), columns: columns.into(), note: None }
    }

    /// Returns the table of the list at a path.
    fn at_path(path: &str) -> Self {
        Self::new(format!("items('{path}')"), "")
    }

    /// Returns the table of the records of several blocks.
    fn of_blocks(columns: String, block_count: usize) -> Self {
        Self { note: Some(format!("= {block_count} blocks")), ..Self::new("items", columns) }
    }

    fn written(&self) -> String {
        let Self { name, columns, note } = self;
        let note = note.as_ref().map_or_else(String::new, |note| format!(" ({note})"));
        if columns.is_empty() { format!("{name}{note}") } else { format!("{name}({columns}){note}") }
    }
}

impl QueryTables {
    /// Returns the tables that a query on a result of this size can read, if there are any.
    pub(super) fn within(mut self, bytes: usize) -> Option<Self> {
        self.tables.retain(|table| table.name != "leaves" || bytes <= MAX_LEAVES_BYTES);
        (!self.tables.is_empty()).then_some(self)
    }

    /// Returns the tables of an answer.
    pub(super) fn of_answer() -> Self {
        Self { tables: vec![QueryTable::new("items", "")], is_text: false, path: None }
    }

    /// Returns the tables of a JSON list. The columns of `items` are the fields of its records, or the names in its first row;
    /// of another list of texts, numbers or arrays there is one, `value`.
    pub(super) fn of_list(text: &str, list: &List) -> Self {
        let has_records = !list.profile.fields.is_empty() || list.is_empty();
        let is_table = matches!(list.layout, Layout::Table { .. });
        let (mut columns, mut below) = (String::new(), "");
        let pointer = list.pointer.as_str();
        if let Some(rows) = header_row(text, list) {
            columns = column_list(&rows.names, MAX_COLUMN_CHARS);
            below = if rows.skipped > 0 { "below the first row" } else { "" };
        } else if !has_records && !is_table {
            "value".clone_into(&mut columns);
        }
        let path = if pointer.len() > MAX_PATH_BYTES { "" } else { pointer };
        let mut items = QueryTable::new("items", columns);
        items.note = match (path, below) {
            ("", "") => None,
            ("", below) => Some(below.to_owned()),
            (path, "") => Some(format!("= {path}")),
            (path, below) => Some(format!("= {path} {below}")),
        };
        let others = match list.layout {
            Layout::Lines => Some(QueryTable::new("lines", LINES)),
            Layout::Table { .. } => None,
            Layout::Array | Layout::Map => Some(QueryTable::new("leaves", LEAVES)),
        };
        let siblings = sibling_lists(text, list).into_iter().map(|path| QueryTable::at_path(&path));
        Self {
            tables: std::iter::once(items).chain(siblings).chain(others).collect(),
            is_text: false,
            path: None,
        }
    }

    /// Returns the tables of a JSON object, in which these are the paths of lists of records, and of lists of values.
    pub(super) fn of_object(records: &[String], values: &[String]) -> Self {
        let with_column = |path: &String| {
            let note = Some("column value".to_owned());
            QueryTable { note, ..QueryTable::at_path(path) }
        };
        let records = records.iter().map(|path| QueryTable::at_path(path));
        let lists = records.chain(values.iter().map(with_column));
        Self {
            tables: lists.chain([QueryTable::new("leaves", LEAVES)]).collect(),
            is_text: false,
            path: None,
        }
    }

    /// Returns the tables of an object that is about one table, or of several such tables, which a query joins.
    pub(super) fn of_named_rows(table: &NamedTable, table_count: usize) -> Self {
        let note = Some(&table.pointer).filter(|pointer| pointer.len() <= MAX_PATH_BYTES);
        let several = if table_count > 1 { format!("{table_count} like ") } else { String::new() };
        let items = QueryTable {
            note: note.map(|pointer| format!("= {several}{pointer}")),
            ..QueryTable::new("items", column_list(&table.rows.names, MAX_COLUMN_CHARS))
        };
        Self { tables: vec![items, QueryTable::new("leaves", LEAVES)], is_text: false, path: None }
    }

    /// Returns the tables of an object of columns.
    pub(super) fn of_columns(names: &[String]) -> Self {
        let items = QueryTable::new("items", column_list(names, MAX_COLUMN_CHARS));
        Self { tables: vec![items, QueryTable::new("leaves", LEAVES)], is_text: false, path: None }
    }

    /// Returns the tables of an object with objects of columns in it, at these paths.
    pub(super) fn of_column_arrays(text: &str, found: &[(String, ColumnArrays)]) -> Self {
        let is_named = |path: &&(String, _)| path.0.len() <= MAX_PATH_BYTES && !path.0.contains('\'');
        let named = found.iter().filter(is_named).take(MAX_NAMED_TABLES);
        let tables = named.map(|(path, arrays)| QueryTable {
            columns: column_list(&arrays.names(text), MAX_COLUMN_CHARS),
            ..if path.is_empty() { QueryTable::new("items", "") } else { QueryTable::at_path(path) }
        });
        Self {
            tables: tables.chain([QueryTable::new("leaves", LEAVES)]).collect(),
            is_text: false,
            path: None,
        }
    }

    /// Returns the tables of a first reply to blocks that are records, or to several texts.
    pub(super) fn of_blocks_in(
        snapshot: &Snapshot,
        request: &ResolvedRequest,
        is_first_reply: bool,
    ) -> Option<Self> {
        if !is_first_reply || snapshot.parts().len() < 2 {
            return None;
        }
        let subjects = request.view.subjects(snapshot);
        let blocks = record_blocks(subjects.iter().map(|(_, subject)| *subject));
        if let Some(block) = blocks.first() {
            let columns = column_list(&block.names(), MAX_COLUMN_CHARS);
            let items = QueryTable::of_blocks(columns, blocks.len());
            let tables = vec![items, QueryTable::new("leaves", LEAVES)];
            return Self { tables, is_text: false, path: None }.within(snapshot.payload_bytes());
        }
        if subjects.len() < 2 {
            return None;
        }
        let mut tables = Self::lists_of(snapshot, &subjects);
        let is_text = |subject: &IndexedText| matches!(subject.structure, Structure::Text(_));
        let text_count = subjects.iter().filter(|(_, subject)| is_text(subject)).count();
        if tables.len() < 2 && text_count < 2 {
            return None;
        }
        tables.extend(Self::of_texts(&subjects));
        if text_count < subjects.len() {
            tables.push(QueryTable::new("leaves", LEAVES));
        }
        Self { tables, is_text: false, path: None }.within(snapshot.payload_bytes())
    }

    /// Returns the tables of the lists in several blocks: one of all, or one of each.
    fn lists_of(snapshot: &Snapshot, subjects: &[(String, &IndexedText)]) -> Vec<QueryTable> {
        let lists = list_blocks(subjects.iter().map(|(_, subject)| *subject));
        if let Some((_, list)) = lists.first() {
            let names: Vec<String> = list.profile.fields.iter().map(|field| field.path.clone()).collect();
            let columns = format!("part,name,{}", column_list(&names, MAX_COLUMN_CHARS));
            return vec![QueryTable::of_blocks(columns, lists.len())];
        }
        let wholes = snapshot.parts_at(subjects.iter().map(|(path, _)| path.as_str()));
        let has_list = |subject: &IndexedText| match &subject.structure {
            Structure::List(_) => true,
            Structure::Text(index) => index.tables(&subject.text).items.is_some(),
            Structure::Object(_) => false,
        };
        let own = wholes.into_iter().zip(subjects).filter(|(_, (_, subject))| has_list(subject));
        let addresses: Vec<&str> =
            own.map(|(whole, (path, _))| whole.map_or(path.as_str(), |part| part.address.as_str())).collect();
        match addresses[..] {
            [_] => vec![QueryTable::new("items", "")],
            _ => addresses.into_iter().take(MAX_NAMED_TABLES).map(QueryTable::at_path).collect(),
        }
    }

    /// Returns the tables of several texts.
    fn of_texts(subjects: &[(String, &IndexedText)]) -> Vec<QueryTable> {
        let text = |subject: &IndexedText| match &subject.structure {
            Structure::Text(index) => Some(Self::of_text(&subject.text, index)),
            Structure::List(_) | Structure::Object(_) => None,
        };
        let texts: Vec<Self> = subjects.iter().filter_map(|(_, subject)| text(subject)).collect();
        let origin = if texts.len() < 2 { "" } else { "part,name," };
        let mut tables: Vec<QueryTable> = Vec::new();
        for table in texts.into_iter().flat_map(|text| text.tables) {
            let own = [("entries", ENTRIES), ("sections", SECTIONS), ("lines", LINES)];
            if let Some((name, columns)) = own.iter().find(|(name, _)| *name == table.name)
                && tables.iter().all(|known| known.name != *name)
            {
                tables.push(QueryTable::new(*name, format!("{origin}{columns}")));
            }
        }
        tables.sort_by_key(|table| table.name == "lines");
        tables
    }

    /// Returns the tables of a text.
    pub(super) fn of_text(text: &str, index: &LineIndex) -> Self {
        let found = index.tables(text);
        let mut tables = Vec::new();
        if index.chunker.kind() == TextKind::Log {
            tables.push(QueryTable::new("entries", ENTRIES));
        }
        if index.has_headings(text) {
            tables.push(QueryTable::new("sections", SECTIONS));
        }
        if let Some(items) = &found.items {
            // The description has the columns.
            let columns =
                if items.is_described(text) { String::new() } else { items.typed_columns(MAX_COLUMN_CHARS) };
            let mut table = QueryTable::new("items", columns);
            if found.further_count > 0 {
                table.note = Some(format!("+{} more: SHOW TABLES", found.further_count));
            }
            tables.push(table);
        }
        tables.push(QueryTable::new("lines", LINES));
        Self { tables, is_text: true, path: None }
    }

    /// Returns the tables of a text in a member of an object.
    pub(super) fn of_member(pointer: String, subject: &IndexedText) -> Option<Self> {
        let Structure::Text(index) = &subject.structure else { return None };
        Some(Self { path: Some(pointer), ..Self::of_text(&subject.text, index) })
    }

    /// Returns a query, as an example. `rows` says which records are in the table, if the result says
    /// that there are more.
    pub(super) fn example(&self, rows: Option<usize>) -> String {
        let mut names: Vec<String> = self.tables.iter().map(QueryTable::written).collect();
        if let Some(rows) = rows {
            names[0] = format!("{} (the {rows} here)", names[0]);
        }
        // A text always has lines, whose columns a reader can guess.
        if self.is_text && names.len() > 1 {
            names.pop();
            names.push("lines".to_owned());
        }
        let text = if self.is_text { "text or " } else { "" };
        let last = names.pop().unwrap_or_default();
        let or = if names.is_empty() { "" } else { " or " };
        format!("{text}SELECT … FROM {}{or}{last}", names.join(", "))
    }

    /// Returns the tables with their columns: `{"items":"","leaves":"path,key,value,type"}`. The columns of `items` are
    /// the available fields.
    pub(super) fn columns(&self) -> Map<String, Value> {
        self.tables.iter().map(|table| (table.name.clone(), table.columns.clone().into())).collect()
    }
}

/// Most lists that are named of an object, and beside a list.
const MAX_LISTS: usize = 2;
const MAX_SIBLINGS: usize = 1;
/// Longest path that is named, in bytes.
pub(super) const MAX_PATH_BYTES: usize = 60;

/// Returns the patterns of the largest lists of records in the object, the largest first.
pub(super) fn record_lists(text: &str, object: &ObjectIndex) -> Vec<String> {
    let found = main_lists(text, object.span).into_iter().map(|lists| (lists.byte_count, lists.pattern));
    largest(found.filter(|(bytes, _)| *bytes >= MIN_LIST_BYTES).collect(), MAX_LISTS)
}

/// Returns the JSON Pointers of the largest arrays of texts, numbers or arrays in an object, and in the objects in it.
pub(super) fn value_lists(text: &str, object: Span) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![(object, String::new())];
    while let Some((object, pointer)) = open.pop() {
        for member in members(text, object) {
            let path = format!("{pointer}/{}", step_from_quoted(member.key.slice(text)));
            match JsonKind::of_value(member.value.slice(text)) {
                JsonKind::Array if member.value.len() >= MIN_LIST_BYTES => {
                    let array = member.value.slice(text);
                    let has_records = array[1..].trim_start().starts_with('{');
                    found.extend((!has_records).then_some((array.len(), path)));
                }
                JsonKind::Object if pointer.is_empty() => open.push((member.value, path)),
                _ => {}
            }
        }
    }
    largest(found, MAX_LISTS)
}

/// Returns the patterns of the largest lists of records in the objects around a list, without the list.
pub(super) fn sibling_lists(text: &str, list: &List) -> Vec<String> {
    let (mut found, mut pointer) = (Vec::new(), String::new());
    for level in &list.enclosing_objects {
        let list_member = level.members[level.list_member];
        let path = |member: &Member| format!("{pointer}/{}", step_from_quoted(member.key.slice(text)));
        for member in level.members.iter().filter(|member| member.key != list_member.key) {
            let lists = main_lists(text, member.value).into_iter();
            found.extend(lists.map(|lists| (lists.byte_count, format!("{}{}", path(member), lists.pattern))));
        }
        pointer = path(&list_member);
    }
    found.retain(|(bytes, _)| *bytes >= MIN_LIST_BYTES);
    largest(found, MAX_SIBLINGS)
}

fn largest(mut found: Vec<(usize, String)>, max: usize) -> Vec<String> {
    found.retain(|(_, path)| path.len() <= MAX_PATH_BYTES && !path.contains('\''));
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    found.into_iter().take(max).map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::{QueryTables, record_lists, sibling_lists, value_lists};
    use crate::snapshot::{ColumnArrays, IndexedText, Slice, Structure};

    fn check(text: &str, expect: &str) {
        let subject = IndexedText::from_payload(Slice::new(text.to_owned()));
        let tables = match &subject.structure {
            Structure::List(list) => QueryTables::of_list(text, list),
            Structure::Object(object) => {
                let columns = ColumnArrays::find_in(text, "", object);
                if !columns.is_empty() {
                    assert_eq!(QueryTables::of_column_arrays(text, &columns).example(None), expect);
                    return;
                }
                let values = value_lists(text, object.span);
                let records = if values.is_empty() { vec!["/a/b".to_owned()] } else { Vec::new() };
                QueryTables::of_object(&records, &values)
            }
            Structure::Text(index) => QueryTables::of_text(text, index),
        };
        assert_eq!(tables.example(None), expect);
    }

    #[test]
    fn tables_are_named_with_their_columns() {
        check("[{\"id\":1},{\"id\":2}]", "SELECT … FROM items or leaves(path,key,value,type)");
        check(
            "{\"data\":{\"pets\":[{\"id\":1},{\"id\":2}]}}",
            "SELECT … FROM items (= /data/pets) or leaves(path,key,value,type)",
        );
        check("[\"a\",\"b\"]", "SELECT … FROM items(value) or leaves(path,key,value,type)");
        let numbers = (0..300).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
        check(
            &format!("{{\"pop\":[{numbers}],\"n\":1}}"),
            "SELECT … FROM items('/pop') (column value) or leaves(path,key,value,type)",
        );
        check(
            &format!("{{\"a\":[{numbers},1],\"b\":{{\"c\":[{numbers}]}}}}"),
            "SELECT … FROM items('/a') (column value), items('/b/c') (column value) or leaves(path,key,value,type)",
        );
        check("{\"a\":{\"b\":[]}}", "SELECT … FROM items (= /a/b) or leaves(path,key,value,type)");
        check(
            r#"{"unit":"C","hourly":{"time":["00:00","01:00","02:00","03:00"],"wind":[1,2,3,4]}}"#,
            "SELECT … FROM items('/hourly')(time,wind) or leaves(path,key,value,type)",
        );
        check(
            r#"{"hourly":{"at":["00:00","01:00","02:00","03:00"],"n":[1,2,3,4]},"daily":{"at":[1,2,3,4],"n":[1,2,3,4]}}"#,
            "SELECT … FROM items('/hourly')(at,n), items('/daily')(at,n) or leaves(path,key,value,type)",
        );
        check(
            r#"{"range":"A1:B3","values":[["name","age"],["Ann","31"],["Bob","4"]]}"#,
            "SELECT … FROM items(name,age) (= /values below the first row) or leaves(path,key,value,type)",
        );
        check("{\"id\":1}\n{\"id\":2}\n", "SELECT … FROM items or lines(number,text)");
        check(
            "<html><body><h1>A</h1><p>x</p></body></html>",
            "text or SELECT … FROM sections(title,text,start_line) or lines",
        );
        check("id,name\n1,a\n2,b\n3,c\n", "text or SELECT … FROM items or lines");
        let tables = "# Sizes\n\n| name | size |\n|---|---|\n| a | 1 |\n| b | 2 |\n\n| x |\n|---|\n| 1 |\n";
        check(
            tables,
            "text or SELECT … FROM sections(title,text,start_line), items (+1 more: SHOW TABLES) or lines",
        );
        // The columns of a small table are not described.
        check(
            &format!("{tables}\n{}", "Words about sizes. ".repeat(20)),
            "text or SELECT … FROM sections(title,text,start_line), items(name,size number) (+1 more: SHOW TABLES) or lines",
        );
        check(
            "<html><body><table><tr><th>City</th><th>Day</th></tr><tr><td>Oslo</td><td>2024-05-01</td></tr></table></body></html>",
            "text or SELECT … FROM items or lines",
        );
        check(
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
            "text or SELECT … FROM items(path,added,removed,start_line,end_line,text) or lines",
        );
        check("Some words.", "text or SELECT … FROM lines(number,text)");
    }

    fn check_lists(text: &str, expect: &[&str]) {
        let subject = IndexedText::from_payload(Slice::new(text.to_owned()));
        let found = match &subject.structure {
            Structure::List(list) => sibling_lists(text, list),
            Structure::Object(object) => record_lists(text, object),
            Structure::Text(_) => Vec::new(),
        };
        assert_eq!(found, expect, "{text}");
    }

    /// Returns the members of a map of records.
    fn map(name: &str, count: usize) -> String {
        let member =
            |n: usize| format!(r#""{name}{n}":{{"a":{{"text":"{}"}},"b":{{"n":{n}}}}}"#, "x".repeat(90));
        (0..count).map(member).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn maps_of_records_are_found_among_other_members() {
        let (paths, schemas) = (map("/p", 30), map("S", 20));
        let document = |components: &str| {
            format!(r#"{{"info":{{"title":"t"}},"paths":{{{paths}}},"components":{{{components}}}}}"#)
        };
        check_lists(&document(&format!(r#""schemas":{{{schemas}}}"#)), &["/components/schemas"]);
        check_lists(
            &document(&format!(r#""schemas":{{{schemas}}},"security":{{"k":{{"in":"header"}}}}"#)),
            &["/components/schemas"],
        );
        let list = "{\"id\":1,\"name\":\"n\"}".to_owned() + &",{\"id\":2,\"name\":\"m\"}".repeat(40);
        check_lists(
            &format!(r#"{{"title":"t","latest":{{"users":[{list}],"note":"{}"}},"n":1}}"#, "y".repeat(9_000)),
            &["/latest/users"],
        );
    }
}
