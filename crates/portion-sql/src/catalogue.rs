//! Lists the tables of a view and names them.

use std::sync::Arc;

use portion_core::path::{ResolvedPath, UnresolvedPath, resolve_path};
use portion_core::snapshot::{IndexedText, Layout, List, Slice, Snapshot, Structure};
use portion_core::view::View;
use portion_json::scan::{JsonKind, JsonReader, unescape};
use portion_json::span::Span;

use crate::JoinedResult;
use crate::column::UniqueNames;
use crate::fields::FieldsSource;
use crate::records::{ArraySource, LeavesSource, ListSource, MapSource, ObjectSource};
use crate::table::{RowSource, VirtualTable};
use crate::text::{CsvSource, EntriesSource, LinesSource, SectionsSource, looks_like_csv};

/// Maximum levels of objects that are searched for arrays of objects.
const MAX_DEPTH: usize = 3;
/// Maximum number of tables.
const MAX_TABLES: usize = 100;

/// The tables of a view, the main one first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalogue {
    pub(crate) tables: Vec<Arc<VirtualTable>>,
    /// Aliases of tables: the main list is `items`, and also has its name in the payload.
    pub(crate) aliases: Vec<(String, Arc<VirtualTable>)>,
    /// Dotted paths of redacted fields.
    pub(crate) redacted_fields: Arc<[String]>,
}

impl Catalogue {
    /// Returns the table of a name or an alias.
    pub(crate) fn table(&self, name: &str) -> Option<&Arc<VirtualTable>> {
        let own = self.tables.iter().find(|table| table.name.eq_ignore_ascii_case(name));
        let alias = || self.aliases.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name));
        own.or_else(|| alias().map(|(_, table)| table))
    }

    fn has_alias(&self, name: &str) -> bool {
        self.aliases.iter().any(|(alias, _)| alias.eq_ignore_ascii_case(name))
    }

    /// Returns the name of the table of all columns.
    pub(crate) fn fields_name(&self) -> &str {
        self.tables.last().map_or("fields", |table| &table.name)
    }
}

/// Builds the catalogue of a view, with the tables at `paths` and those of other results.
///
/// # Errors
/// A path that leads nowhere.
pub(crate) fn build(
    snapshot: &Snapshot,
    view: &View,
    paths: &[String],
    joined: &[JoinedResult<'_>],
) -> Result<Catalogue, UnresolvedPath> {
    let mut builder = CatalogueBuilder::default();
    // The names of table-valued functions stay reserved.
    for reserved in ["json_each", "json_tree"] {
        builder.names.unique(reserved);
    }
    builder.add_view(snapshot, view);
    for path in paths {
        builder.add_path(snapshot, view, path)?;
    }
    for other in joined {
        builder.has_leaves = false;
        builder.prefix = Some(other.name.to_owned());
        let first = builder.catalogue.tables.len();
        builder.add_view(other.snapshot, other.view);
        let main = builder.catalogue.tables.get(first).cloned();
        builder.prefix = None;
        if builder.names.is_free(other.name) {
            builder.add_alias(Some(other.name.to_owned()), main);
        }
    }
    Ok(builder.finish())
}

/// Returns the subjects of a view, the main one first.
fn subjects<'a>(snapshot: &'a Snapshot, view: &'a View) -> Vec<(String, &'a IndexedText)> {
    let mut subjects = view.subjects(snapshot);
    let size = |at: &usize| subjects.get(*at).map(|(path, subject)| (path.is_empty(), subject.text.len()));
    if let Some(main) = (0..subjects.len()).rev().max_by_key(size) {
        let main = subjects.remove(main);
        subjects.insert(0, main);
    }
    subjects
}

#[derive(Default)]
struct CatalogueBuilder {
    names: UniqueNames,
    catalogue: Catalogue,
    has_leaves: bool,
    /// Redacted fields of the snapshot whose tables are added.
    redacted: Arc<[String]>,
    /// Name of the other result whose tables are added.
    prefix: Option<String>,
}

impl CatalogueBuilder {
    fn add_view(&mut self, snapshot: &Snapshot, view: &View) {
        self.redacted = snapshot.redacted().into();
        self.catalogue.redacted_fields =
            self.catalogue.redacted_fields.iter().chain(snapshot.redacted()).cloned().collect();
        for (path, subject) in subjects(snapshot, view) {
            self.add_subject(&path, subject);
        }
    }

    /// Adds the list at a path of the main subject. The path is the name of the table.
    fn add_path(&mut self, snapshot: &Snapshot, view: &View, path: &str) -> Result<(), UnresolvedPath> {
        let found = subjects(snapshot, view);
        let Some((_, subject)) = found.first() else { return Ok(()) };
        if !self.names.is_free(path) {
            return Ok(());
        }
        let ResolvedPath { span, .. } = resolve_path(subject, path)?;
        let text = subject.text.clone();
        let value = span.slice(&text);
        if value.starts_with('[') {
            self.add_table(path, ArraySource { text: text.clone(), span });
        } else if value.starts_with('{')
            && is_object_of_objects(JsonReader::resume(&text, span.start as usize))
        {
            self.add_table(path, MapSource { text: text.clone(), span });
        } else if value.starts_with('{') {
            self.add_table(path, ObjectSource { text: text.clone(), span });
        }
        Ok(())
    }

    /// Returns the unique name of a table, after the name of the result that it belongs to.
    fn unique_name(&mut self, name: &str) -> String {
        match &self.prefix {
            Some(prefix) => self.names.unique(&format!("{prefix}.{name}")),
            None => self.names.unique(&table_name(name)),
        }
    }

    /// Returns true if a table can have this name.
    fn is_free(&self, name: &str) -> bool {
        match &self.prefix {
            Some(prefix) => self.names.is_free(&format!("{prefix}.{name}")),
            None => self.names.is_free(name),
        }
    }

    fn add_subject(&mut self, path: &str, subject: &IndexedText) {
        let text = &subject.text;
        match &subject.structure {
            Structure::List(list) => {
                let name = last_step(&list.pointer).or_else(|| last_step(path));
                let items =
                    self.add_table("items", ListSource { text: text.clone(), list: Arc::clone(list) });
                self.add_alias(name, items);
                sibling_arrays(text, list).iter().for_each(|array| self.add_array(text, array));
                if list.layout == Layout::Lines {
                    self.add_table("lines", LinesSource(text.clone()));
                }
                self.add_leaves(text, Some(list));
            }
            Structure::Object(members) => {
                self.add_object(path, text, members.span);
                self.add_leaves(text, None);
            }
            Structure::Text(index) => {
                let is_log = portion_text::log_entry::entries(text, index.chunker).is_some();
                if let Some(delimiter) = looks_like_csv(text).filter(|_| !is_log) {
                    self.add_table("items", CsvSource { text: text.clone(), delimiter });
                }
                self.add_table("lines", LinesSource(text.clone()));
                if index.has_headings() {
                    self.add_table("sections", SectionsSource(text.clone()));
                }
                if is_log {
                    self.add_table("entries", EntriesSource { text: text.clone(), index: Arc::clone(index) });
                }
            }
        }
    }

    /// Adds the arrays of an object, or the object as one row if it has none.
    fn add_object(&mut self, path: &str, text: &Slice, span: Span) {
        let mut arrays = Vec::new();
        collect_arrays(text, &mut JsonReader::resume(text, span.start as usize), "", MAX_DEPTH, &mut arrays);
        let records = |array: &&ArrayLocation| array.first_kind == Some(JsonKind::Object);
        let named = arrays.iter().filter(records).position(|array| array.name == "items");
        let mut of_records: Vec<ArrayLocation> = arrays.iter().filter(records).cloned().collect();
        let largest = (0..of_records.len()).rev().max_by_key(|at| of_records[*at].span.len());
        let maps = maps_of_objects(text, span);
        if let Some(main) = named.or(largest) {
            let main = of_records.remove(main);
            let items = self.add_array_table("items", text, &main);
            self.add_alias(Some(main.name), items);
            of_records.iter().for_each(|array| self.add_array(text, array));
        } else {
            let items = self.add_table("items", ObjectSource { text: text.clone(), span });
            self.add_alias(last_step(path), items);
            let some = arrays.iter().filter(|array| array.first_kind.is_some());
            some.for_each(|array| self.add_array(text, array));
        }
        for map in maps {
            if self.is_free(&map.name) && !self.catalogue.has_alias(&map.name) {
                self.add_table(&map.name, MapSource { text: text.clone(), span: map.span });
            }
        }
    }

    /// Adds the table of all leaves, once.
    fn add_leaves(&mut self, text: &Slice, list: Option<&Arc<List>>) {
        if !self.has_leaves
            && let Some(source) = LeavesSource::new(text, list)
        {
            self.has_leaves = true;
            let name = if self.is_free("leaves") { "leaves" } else { "portion_leaves" };
            self.add_table(name, source);
        }
    }

    fn add_array(&mut self, text: &Slice, array: &ArrayLocation) {
        // Of several arrays with one name, later ones are named by their path.
        let name = if self.is_free(&array.name) { &array.name } else { &array.path };
        self.add_array_table(name, text, array);
    }

    fn add_array_table(
        &mut self,
        name: &str,
        text: &Slice,
        array: &ArrayLocation,
    ) -> Option<Arc<VirtualTable>> {
        match &array.map_list {
            Some((text, list)) => {
                self.add_table(name, ListSource { text: text.clone(), list: Arc::clone(list) })
            }
            None => self.add_table(name, ArraySource { text: text.clone(), span: array.span }),
        }
    }

    fn add_table(&mut self, name: &str, source: impl RowSource + 'static) -> Option<Arc<VirtualTable>> {
        if self.catalogue.tables.len() >= MAX_TABLES {
            return None;
        }
        let name = self.unique_name(name);
        let table = Arc::new(VirtualTable::new(name, source, Arc::clone(&self.redacted)));
        self.catalogue.tables.push(Arc::clone(&table));
        Some(table)
    }

    fn add_alias(&mut self, name: Option<String>, table: Option<Arc<VirtualTable>>) {
        if let (Some(name), Some(table)) = (name.map(|name| table_name(&name)), table)
            && !name.eq_ignore_ascii_case(table.name.rsplit('.').next().unwrap_or(&table.name))
        {
            let name = self.unique_name(&name);
            self.catalogue.aliases.push((name, table));
        }
    }

    /// Adds the table of all columns, under another name if the payload has a table `fields`.
    fn finish(mut self) -> Catalogue {
        let fields = if self.names.is_free("fields") { "fields" } else { "portion_fields" };
        let name = self.names.unique(fields);
        let tables = self.catalogue.tables.clone();
        self.catalogue.tables.push(Arc::new(VirtualTable::new(name, FieldsSource(tables), Arc::default())));
        self.catalogue
    }
}

/// Returns a table name that SQLite accepts.
fn table_name(name: &str) -> String {
    // Reserved prefix: <https://www.sqlite.org/fileformat2.html#internal_schema_objects>
    if name.to_ascii_lowercase().starts_with("sqlite_") { format!("_{name}") } else { name.to_owned() }
}

/// Returns the last step of a JSON Pointer, if it is a name.
fn last_step(pointer: &str) -> Option<String> {
    let (_, last) = pointer.rsplit_once('/')?;
    let name = last.replace("~1", "/").replace("~0", "~");
    (!name.is_empty() && !name.bytes().all(|b| b.is_ascii_digit())).then_some(name)
}

/// An array in an object, or a map that is treated as one.
#[derive(Clone, Debug)]
struct ArrayLocation {
    name: String,
    /// Path from the searched object: `owner.pets`.
    path: String,
    span: Span,
    /// Kind of the first item.
    first_kind: Option<JsonKind>,
    /// Set for a map of similar objects, which is treated as a list.
    map_list: Option<(Slice, Arc<List>)>,
}

/// Returns the other arrays of objects around a list.
fn sibling_arrays(text: &Slice, list: &List) -> Vec<ArrayLocation> {
    let mut found = Vec::new();
    for (at, level) in list.enclosing_objects.iter().enumerate() {
        let innermost = at + 1 == list.enclosing_objects.len();
        for (place, member) in level.members.iter().enumerate() {
            let header = matches!(list.layout, Layout::Table { header, .. } if innermost && header == place);
            if place != level.list_member && !header {
                let mut reader = JsonReader::resume(text, member.value.start as usize);
                let name = unescape(member.key.slice(text));
                match member.kind {
                    JsonKind::Array => found.extend(read_array(&mut reader, name.clone(), name)),
                    JsonKind::Object => match read_map(text, &reader, name.clone(), name.clone()) {
                        Some(map) => found.push(map),
                        None => collect_arrays(text, &mut reader, &name, MAX_DEPTH - 1, &mut found),
                    },
                    _ => {}
                }
            }
        }
    }
    found.retain(|array| array.first_kind == Some(JsonKind::Object));
    found
}

/// Reads the array at the reader and moves past it.
fn read_array(reader: &mut JsonReader<'_>, name: String, path: String) -> Option<ArrayLocation> {
    let mut inside = reader.clone();
    let some = inside.enter_array().is_ok() && inside.next_item() == Ok(true);
    let first = if some { inside.peek().ok() } else { None };
    let span = reader.skip().ok()?;
    Some(ArrayLocation { name, path, span, first_kind: first, map_list: None })
}

/// Reads the object at the reader if it is a map of similar objects.
fn read_map(text: &Slice, reader: &JsonReader<'_>, name: String, path: String) -> Option<ArrayLocation> {
    let mut inside = reader.clone();
    inside.enter_object().ok()?;
    inside.next_key().ok()??;
    let first = inside.peek().ok().filter(|kind| *kind == JsonKind::Object)?;
    let span = reader.clone().skip().ok()?;
    let subject = IndexedText::from_value(&text.subslice(span));
    let Structure::List(list) = subject.structure else { return None };
    let map =
        (list.layout == Layout::Map && list.enclosing_objects.is_empty()).then_some((subject.text, list))?;
    Some(ArrayLocation { name, path, span, first_kind: Some(first), map_list: Some(map) })
}

/// Returns the members of an object, and theirs, that are objects of objects, however different: the `paths` of
/// an `OpenAPI` document. Their members are rows.
fn maps_of_objects(text: &Slice, span: Span) -> Vec<ArrayLocation> {
    let mut found = Vec::new();
    let mut open = vec![(JsonReader::resume(text, span.start as usize), String::new())];
    while let Some((mut reader, path)) = open.pop() {
        if reader.enter_object().is_err() {
            continue;
        }
        while let Ok(Some(key)) = reader.next_key() {
            let name = unescape(reader.text(key));
            let inner = reader.clone();
            let is_object = reader.peek() == Ok(JsonKind::Object);
            let Ok(span) = reader.skip() else { break };
            if !is_object || found.len() >= MAX_TABLES {
                continue;
            }
            let full = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            if is_object_of_objects(inner.clone()) {
                let first_kind = Some(JsonKind::Object);
                found.push(ArrayLocation { name, path: full.clone(), span, first_kind, map_list: None });
            }
            if path.is_empty() {
                open.push((inner, full));
            }
        }
    }
    found
}

/// Returns true if the object at the reader has at least two members, all of them objects.
fn is_object_of_objects(mut reader: JsonReader<'_>) -> bool {
    let mut count = 0;
    if reader.enter_object().is_err() {
        return false;
    }
    while let Ok(Some(_)) = reader.next_key() {
        if reader.peek() != Ok(JsonKind::Object) || reader.skip().is_err() {
            return false;
        }
        count += 1;
    }
    count >= 2
}

/// Collects the arrays, and the maps of similar objects, in the object at the reader; recursion is
/// bounded by `depth`.
fn collect_arrays(
    text: &Slice,
    reader: &mut JsonReader<'_>,
    path: &str,
    depth: usize,
    found: &mut Vec<ArrayLocation>,
) {
    if reader.enter_object().is_err() {
        return;
    }
    while let Ok(Some(key)) = reader.next_key() {
        let Ok(kind) = reader.peek() else { return };
        if !kind.is_container() || found.len() >= MAX_TABLES || (kind == JsonKind::Object && depth <= 1) {
            if reader.skip().is_err() {
                return;
            }
            continue;
        }
        let name = unescape(reader.text(key));
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let map_location =
            (kind == JsonKind::Object).then(|| read_map(text, reader, name.clone(), path.clone())).flatten();
        if let Some(map) = map_location {
            found.push(map);
            if reader.skip().is_err() {
                return;
            }
        } else if kind == JsonKind::Object {
            collect_arrays(text, reader, &path, depth - 1, found);
        } else if let Some(array) = read_array(reader, name, path) {
            found.push(array);
        } else {
            return;
        }
    }
}
