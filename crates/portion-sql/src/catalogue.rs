//! Which tables a view has, and what they are called.

use std::sync::Arc;

use portion_core::scan::{Kind, Reader, decoded};
use portion_core::snapshot::{Form, Layout, List, Slice, Snapshot, Subject};
use portion_core::span::Span;
use portion_core::view::View;

use crate::cell::Cell;
use crate::column::{Column, Kinds, Names};
use crate::limits::Clock;
use crate::records::{ArrayAt, ListOf, ObjectAt};
use crate::table::{Row, Rows, Source, Table};
use crate::text::{CsvOf, EntriesOf, LinesOf, SectionsOf, looks_like_csv};

/// Levels of objects that are looked through for arrays of objects.
const DEPTH: usize = 3;
/// Tables at most.
const MOST: usize = 100;

/// The tables of a view, the main one first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalogue {
    pub(crate) tables: Vec<Arc<Table>>,
    /// Other names of tables: a list is `items`, and what the payload calls it.
    pub(crate) aliases: Vec<(String, Arc<Table>)>,
}

/// The tables of what a view looks at.
pub(crate) fn of(snapshot: &Snapshot, view: &View) -> Catalogue {
    let mut subjects = view.subjects(snapshot);
    let size = |at: &usize| subjects.get(*at).map(|(path, subject)| (path.is_empty(), subject.text.len()));
    if let Some(main) = (0..subjects.len()).rev().max_by_key(size) {
        let main = subjects.remove(main);
        subjects.insert(0, main);
    }
    let mut making = Making::default();
    // Table-valued functions keep their names.
    for taken in ["json_each", "json_tree"] {
        making.names.unique(taken);
    }
    for (path, subject) in &subjects {
        making.subject(path, subject);
    }
    making.finish()
}

#[derive(Default)]
struct Making {
    names: Names,
    found: Catalogue,
}

impl Making {
    fn subject(&mut self, path: &str, subject: &Subject) {
        let text = &subject.text;
        match &subject.form {
            Form::List(list) => {
                let name = last_step(&list.pointer).or_else(|| last_step(path));
                let items = self.add("items", ListOf { text: text.clone(), list: Arc::clone(list) });
                self.alias(name, items);
                for array in beside(text, list) {
                    self.array(text, array);
                }
            }
            Form::Object(members) => self.object(path, text, members.span),
            Form::Text(index) => {
                self.add("lines", LinesOf(text.clone()));
                if index.has_headings() {
                    self.add("sections", SectionsOf(text.clone()));
                }
                if portion_core::entry::entries(text, index).is_some() {
                    self.add("entries", EntriesOf { text: text.clone(), index: Arc::clone(index) });
                }
                if let Some(delimiter) = looks_like_csv(text) {
                    self.add("items", CsvOf { text: text.clone(), delimiter });
                }
            }
        }
    }

    /// The arrays of an object; without any, the object as a row.
    fn object(&mut self, path: &str, text: &Slice, span: Span) {
        let mut arrays = Vec::new();
        arrays_in(&mut Reader::resume(text, span.start as usize), DEPTH, &mut arrays);
        let records = |array: &&Array| array.first == Some(Kind::Object);
        let named = arrays.iter().filter(records).position(|array| array.name == "items");
        let mut of_records: Vec<Array> = arrays.iter().filter(records).cloned().collect();
        let largest = (0..of_records.len()).rev().max_by_key(|at| of_records[*at].span.len());
        match named.or(largest) {
            Some(main) => {
                let main = of_records.remove(main);
                let items = self.add("items", ArrayAt { text: text.clone(), span: main.span });
                self.alias(Some(main.name), items);
                for array in of_records {
                    self.array(text, array);
                }
            }
            None => {
                let items = self.add("items", ObjectAt { text: text.clone(), span });
                self.alias(last_step(path), items);
                for array in arrays.into_iter().filter(|array| array.first.is_some()) {
                    self.array(text, array);
                }
            }
        }
    }

    fn array(&mut self, text: &Slice, array: Array) {
        self.add(&array.name, ArrayAt { text: text.clone(), span: array.span });
    }

    fn add(&mut self, name: &str, source: impl Source + 'static) -> Option<Arc<Table>> {
        if self.found.tables.len() >= MOST {
            return None;
        }
        let table = Arc::new(Table::new(self.names.unique(&table_name(name)), source));
        self.found.tables.push(Arc::clone(&table));
        Some(table)
    }

    fn alias(&mut self, name: Option<String>, table: Option<Arc<Table>>) {
        if let (Some(name), Some(table)) = (name.map(|name| table_name(&name)), table)
            && !name.eq_ignore_ascii_case(&table.name)
        {
            self.found.aliases.push((self.names.unique(&name), table));
        }
    }

    /// With the table of all columns, whose name gives way to what the payload has.
    fn finish(mut self) -> Catalogue {
        let fields = if self.names.is_free("fields") { "fields" } else { "portion_fields" };
        let name = self.names.unique(fields);
        let tables = self.found.tables.clone();
        self.found.tables.push(Arc::new(Table::new(name, FieldsOf(tables))));
        self.found
    }
}

/// A name that SQLite takes for a table.
fn table_name(name: &str) -> String {
    let name = name.replace('\0', "\u{fffd}");
    // Reserved: <https://www.sqlite.org/fileformat2.html#internal_schema_objects>
    if name.to_ascii_lowercase().starts_with("sqlite_") { format!("_{name}") } else { name }
}

/// The last step of a JSON Pointer, where it is a name.
fn last_step(pointer: &str) -> Option<String> {
    let (_, last) = pointer.rsplit_once('/')?;
    let name = last.replace("~1", "/").replace("~0", "~");
    (!name.is_empty() && !name.bytes().all(|b| b.is_ascii_digit())).then_some(name)
}

/// An array in an object.
#[derive(Clone, Debug)]
struct Array {
    name: String,
    span: Span,
    /// What its first item is.
    first: Option<Kind>,
}

/// The other arrays of objects around a list.
fn beside(text: &str, list: &List) -> Vec<Array> {
    let mut found = Vec::new();
    for (at, level) in list.levels.iter().enumerate() {
        let innermost = at + 1 == list.levels.len();
        for (place, member) in level.members.iter().enumerate() {
            let header = matches!(list.layout, Layout::Table { header, .. } if innermost && header == place);
            if place != level.inner && !header {
                let mut reader = Reader::resume(text, member.value.start as usize);
                match member.kind {
                    Kind::Array => found.extend(array(text, member.key, member.value)),
                    Kind::Object => arrays_in(&mut reader, DEPTH - 1, &mut found),
                    _ => {}
                }
            }
        }
    }
    found.retain(|array| array.first == Some(Kind::Object));
    found
}

fn array(text: &str, key: Span, value: Span) -> Option<Array> {
    let mut reader = Reader::resume(text, value.start as usize);
    reader.enter_array().ok()?;
    let first = if reader.next_item() == Ok(true) { reader.peek().ok() } else { None };
    Some(Array { name: decoded(key.of(text)), span: value, first })
}

/// The arrays in the object that the reader is before. Bounded by `depth`, not by the input.
fn arrays_in(reader: &mut Reader<'_>, depth: usize, found: &mut Vec<Array>) {
    if reader.enter_object().is_err() {
        return;
    }
    while found.len() < MOST
        && let Ok(Some(key)) = reader.next_key()
    {
        let name = decoded(reader.text(key));
        match reader.peek() {
            Ok(Kind::Object) if depth > 1 => arrays_in(reader, depth - 1, found),
            Ok(Kind::Array) => {
                let mut ahead = reader.clone();
                let some = ahead.enter_array().is_ok() && ahead.next_item() == Ok(true);
                let first = if some { ahead.peek().ok() } else { None };
                let Ok(span) = reader.skip() else { return };
                found.push(Array { name, span, first });
            }
            _ if reader.skip().is_err() => return,
            _ => {}
        }
    }
}

/// All columns of those tables.
struct FieldsOf(Vec<Arc<Table>>);

struct Fields {
    rows: Vec<(String, Column)>,
    columns: [Column; 4],
}

impl Source for FieldsOf {
    fn open(&self, clock: &Clock) -> Option<Arc<dyn Rows>> {
        let mut rows = Vec::new();
        for table in &self.0 {
            let columns = table.rows(clock)?;
            rows.extend(columns.columns().iter().map(|column| (table.name.clone(), column.clone())));
        }
        let column = |name: &str, kinds| Column::new(name, kinds, rows.len());
        let columns = [
            column("table_name", Kinds::TEXT),
            column("name", Kinds::TEXT),
            column("kind", Kinds::TEXT),
            column("present", Kinds::INTEGER),
        ];
        Some(Arc::new(Fields { rows, columns }))
    }
}

impl Rows for Fields {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn cell<'a>(&'a self, row: &'a Row, column: usize) -> Cell<'a> {
        let Some((table, of)) = self.rows.get(row.at) else { return Cell::Null };
        match column {
            0 => Cell::text(table),
            1 => Cell::text(&of.name),
            2 => Cell::Text(of.kinds.words().into()),
            _ => Cell::count(of.present),
        }
    }
}
