//! Which tables a view has, and what they are called.

use std::sync::Arc;

use portion_core::scan::{Kind, Reader, decoded};
use portion_core::snapshot::{Form, Layout, List, Slice, Snapshot, Subject};
use portion_core::span::Span;
use portion_core::view::View;

use crate::column::Names;
use crate::fields::FieldsOf;
use crate::records::{ArrayAt, ListOf, ObjectAt};
use crate::table::{Source, Table};
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
    /// Dotted paths of fields that were redacted.
    pub(crate) redacted: Arc<[String]>,
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
    making.found.redacted = snapshot.redacted().into();
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
                beside(text, list).iter().for_each(|array| self.array(text, array));
            }
            Form::Object(members) => self.object(path, text, members.span),
            Form::Text(index) => {
                let is_log = portion_core::entry::entries(text, index).is_some();
                if let Some(delimiter) = looks_like_csv(text).filter(|_| !is_log) {
                    self.add("items", CsvOf { text: text.clone(), delimiter });
                }
                self.add("lines", LinesOf(text.clone()));
                if index.has_headings() {
                    self.add("sections", SectionsOf(text.clone()));
                }
                if is_log {
                    self.add("entries", EntriesOf { text: text.clone(), index: Arc::clone(index) });
                }
            }
        }
    }

    /// The arrays of an object; without any, the object as a row.
    fn object(&mut self, path: &str, text: &Slice, span: Span) {
        let mut arrays = Vec::new();
        arrays_in(text, &mut Reader::resume(text, span.start as usize), "", DEPTH, &mut arrays);
        let records = |array: &&Array| array.first == Some(Kind::Object);
        let named = arrays.iter().filter(records).position(|array| array.name == "items");
        let mut of_records: Vec<Array> = arrays.iter().filter(records).cloned().collect();
        let largest = (0..of_records.len()).rev().max_by_key(|at| of_records[*at].span.len());
        if let Some(main) = named.or(largest) {
            let main = of_records.remove(main);
            let items = self.add_list("items", text, &main);
            self.alias(Some(main.name), items);
            of_records.iter().for_each(|array| self.array(text, array));
        } else {
            let items = self.add("items", ObjectAt { text: text.clone(), span });
            self.alias(last_step(path), items);
            let some = arrays.iter().filter(|array| array.first.is_some());
            some.for_each(|array| self.array(text, array));
        }
    }

    fn array(&mut self, text: &Slice, array: &Array) {
        // Of several with one name, the later ones are called by where they are.
        let name = if self.names.is_free(&array.name) { &array.name } else { &array.path };
        self.add_list(name, text, array);
    }

    fn add_list(&mut self, name: &str, text: &Slice, array: &Array) -> Option<Arc<Table>> {
        match &array.map {
            Some((text, list)) => self.add(name, ListOf { text: text.clone(), list: Arc::clone(list) }),
            None => self.add(name, ArrayAt { text: text.clone(), span: array.span }),
        }
    }

    fn add(&mut self, name: &str, source: impl Source + 'static) -> Option<Arc<Table>> {
        if self.found.tables.len() >= MOST {
            return None;
        }
        let redacted = Arc::clone(&self.found.redacted);
        let table = Arc::new(Table::new(self.names.unique(&table_name(name)), source, redacted));
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
        self.found.tables.push(Arc::new(Table::new(name, FieldsOf(tables), Arc::default())));
        self.found
    }
}

/// A name that SQLite takes for a table.
fn table_name(name: &str) -> String {
    // Reserved: <https://www.sqlite.org/fileformat2.html#internal_schema_objects>
    if name.to_ascii_lowercase().starts_with("sqlite_") { format!("_{name}") } else { name.to_owned() }
}

/// The last step of a JSON Pointer, where it is a name.
fn last_step(pointer: &str) -> Option<String> {
    let (_, last) = pointer.rsplit_once('/')?;
    let name = last.replace("~1", "/").replace("~0", "~");
    (!name.is_empty() && !name.bytes().all(|b| b.is_ascii_digit())).then_some(name)
}

/// An array in an object, or what is as good as one.
#[derive(Clone, Debug)]
struct Array {
    name: String,
    /// Where it is, from the object that was looked through: `owner.pets`.
    path: String,
    span: Span,
    /// What its first item is.
    first: Option<Kind>,
    /// Set where it is none, but a map of like objects: a list in all but its brackets.
    map: Option<(Slice, Arc<List>)>,
}

/// The other arrays of objects around a list.
fn beside(text: &Slice, list: &List) -> Vec<Array> {
    let mut found = Vec::new();
    for (at, level) in list.levels.iter().enumerate() {
        let innermost = at + 1 == list.levels.len();
        for (place, member) in level.members.iter().enumerate() {
            let header = matches!(list.layout, Layout::Table { header, .. } if innermost && header == place);
            if place != level.inner && !header {
                let mut reader = Reader::resume(text, member.value.start as usize);
                let name = decoded(member.key.of(text));
                match member.kind {
                    Kind::Array => found.extend(array(&mut reader, name.clone(), name)),
                    Kind::Object => match map(text, &reader, name.clone(), name.clone()) {
                        Some(map) => found.push(map),
                        None => arrays_in(text, &mut reader, &name, DEPTH - 1, &mut found),
                    },
                    _ => {}
                }
            }
        }
    }
    found.retain(|array| array.first == Some(Kind::Object));
    found
}

/// The array that the reader is before, which is then behind it.
fn array(reader: &mut Reader<'_>, name: String, path: String) -> Option<Array> {
    let mut inside = reader.clone();
    let some = inside.enter_array().is_ok() && inside.next_item() == Ok(true);
    let first = if some { inside.peek().ok() } else { None };
    let span = reader.skip().ok()?;
    Some(Array { name, path, span, first, map: None })
}

/// The object that the reader is before, where it is a map of like objects.
fn map(text: &Slice, reader: &Reader<'_>, name: String, path: String) -> Option<Array> {
    let mut inside = reader.clone();
    inside.enter_object().ok()?;
    inside.next_key().ok()??;
    let first = inside.peek().ok().filter(|kind| *kind == Kind::Object)?;
    let span = reader.clone().skip().ok()?;
    let subject = Subject::of_value(&text.part(span));
    let Form::List(list) = subject.form else { return None };
    let map = (list.layout == Layout::Map && list.levels.is_empty()).then_some((subject.text, list))?;
    Some(Array { name, path, span, first: Some(first), map: Some(map) })
}

/// The arrays, and the maps of like objects, in the object that the reader is before. Bounded by `depth`, not by the input.
fn arrays_in(text: &Slice, reader: &mut Reader<'_>, path: &str, depth: usize, found: &mut Vec<Array>) {
    if reader.enter_object().is_err() {
        return;
    }
    while let Ok(Some(key)) = reader.next_key() {
        let Ok(kind) = reader.peek() else { return };
        if !kind.is_container() || found.len() >= MOST || (kind == Kind::Object && depth <= 1) {
            if reader.skip().is_err() {
                return;
            }
            continue;
        }
        let name = decoded(reader.text(key));
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let like = (kind == Kind::Object).then(|| map(text, reader, name.clone(), path.clone())).flatten();
        if let Some(map) = like {
            found.push(map);
            if reader.skip().is_err() {
                return;
            }
        } else if kind == Kind::Object {
            arrays_in(text, reader, &path, depth - 1, found);
        } else if let Some(array) = array(reader, name, path) {
            found.push(array);
        } else {
            return;
        }
    }
}
