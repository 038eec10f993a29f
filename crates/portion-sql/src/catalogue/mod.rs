//! Lists the tables of a view and names them.

mod arrays;
mod kept_parts;

use std::collections::HashMap;
use std::sync::Arc;

use portion_core::missing_codes::MissingCodes;
use portion_core::path::{ResolvedPath, UnresolvedPath, resolve_path};
use portion_core::snapshot::{
    ColumnArrays, IndexedText, Layout, ObjectIndex, Slice, Snapshot, Structure, header_row, holds_records,
    joined_records, joined_rows, list_blocks, main_table, named_tables, record_blocks, tables_alike,
    text_in_member,
};
use portion_core::view::View;
use portion_json::path::unescape_step;
use portion_json::scan::{JsonKind, JsonReader};
use portion_json::span::Span;
use portion_text::chunk::TextKind;
use portion_text::document_table::{document_tables, largest_table};
use portion_text::names::UniqueNames;
use portion_text::{delimited, diff};

use arrays::{
    ArrayLocation, MAX_DEPTH, MAX_TABLES, collect_arrays, empty_list, is_object_of_objects, joined_main,
    maps_of_objects, sibling_arrays,
};

use crate::dialect::PathTable;
use crate::fields::FieldsSource;
use crate::records::{
    BlocksSource, ColumnArraysSource, LeafDocument, LeavesSource, ListBlocksSource, ListSource,
    NamedRowsSource, RowKind, ValueSource,
};
use crate::sql_query::JoinedResult;
use crate::table::VirtualTable;
use crate::table_rows::RowSource;
use crate::text::{
    CsvSource, DiffSource, DocumentTableSource, EntriesSource, LinesSource, SectionsSource, TextPart,
};

/// The tables of a view, the main one first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalogue {
    pub(crate) tables: Vec<Arc<VirtualTable>>,
    /// Aliases of tables: the main list is `items`, and also has its name in the payload.
    pub(crate) aliases: Vec<(String, Arc<VirtualTable>)>,
    /// Dotted paths of redacted fields.
    pub(crate) redacted_fields: Arc<[String]>,
    /// Codes of missing values, of the view and of each other result.
    pub(crate) missing: Vec<MissingCodes>,
    /// Number of tables of documents that are not listed.
    pub(crate) unlisted_table_count: usize,
    /// The name of the list in `items`, and those of the other lists of its object that are not much smaller.
    pub(crate) lists: Vec<String>,
    /// Addresses of the blocks in the view with a list of their own: `items` is that of the first.
    pub(crate) blocks: Vec<String>,
}

/// Maximum tables of a document that are listed.
const MAX_DOCUMENT_TABLES: usize = 90;

impl Catalogue {
    /// Adds the tables of another result.
    fn extend(&mut self, other: Self) {
        self.unlisted_table_count += other.unlisted_table_count;
        self.tables.extend(other.tables);
        self.aliases.extend(other.aliases);
        self.missing.extend(other.missing);
        self.redacted_fields = self.redacted_fields.iter().chain(&*other.redacted_fields).cloned().collect();
    }

    /// Returns the table of a name or an alias.
    pub(crate) fn table(&self, name: &str) -> Option<&Arc<VirtualTable>> {
        let own = self.tables.iter().find(|table| table.name.eq_ignore_ascii_case(name));
        let alias = || self.aliases.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name));
        own.or_else(|| alias().map(|(_, table)| table))
    }

    /// Returns true if the main result has a table of this name or alias, so that another result cannot have it.
    pub(crate) fn has_own_table(&self, name: &str) -> bool {
        let is_table = self.tables.iter().any(|table| table.name.eq_ignore_ascii_case(name));
        let is_other = |table: &VirtualTable| table.name.split('.').next() == Some(name);
        let mut named = self.aliases.iter().filter(|(alias, _)| alias.eq_ignore_ascii_case(name));
        is_table || named.any(|(_, table)| !is_other(table))
    }
}

/// Builds the catalogue of a view, with the tables at `paths` and those of other results.
///
/// # Errors
/// A path that leads nowhere.
pub(crate) fn build(
    snapshot: &Snapshot,
    view: &View,
    paths: &[PathTable],
    joined: &[JoinedResult<'_>],
) -> Result<Catalogue, UnresolvedPath> {
    let paths_of = |result: Option<&str>| {
        let of_result = paths.iter().filter(move |table| table.result.as_deref() == result);
        of_result.map(|table| table.path.as_str()).collect::<Vec<_>>()
    };
    let mut catalogue = kept_parts::part(snapshot, view, None, &paths_of(None))?;
    for other in joined {
        let part =
            kept_parts::part(other.snapshot, other.view, Some(other.name), &paths_of(Some(other.name)))?;
        let main = part.tables.first().cloned();
        catalogue.extend(part);
        let alias = main.filter(|_| catalogue.table(other.name).is_none());
        catalogue.aliases.extend(alias.map(|main| (other.name.to_owned(), main)));
    }
    // A text has no items but its entries, or its lines.
    if catalogue.table("items").is_none() {
        let of_text = ["entries", "lines"].iter().find_map(|name| catalogue.table(name)).cloned();
        catalogue.aliases.extend(of_text.map(|table| ("items".to_owned(), table)));
    }
    // Under another name if the payload has a table `fields`.
    let name = if catalogue.table("fields").is_none() { "fields" } else { "portion_fields" };
    let source = FieldsSource(catalogue.tables.clone());
    let fields = VirtualTable::new(name.to_owned(), source, Arc::default(), MissingCodes::default());
    catalogue.tables.push(Arc::new(fields));
    Ok(catalogue)
}

/// Counts what a statement left with the snapshots that it read.
pub(crate) fn settle(snapshot: &Snapshot, joined: &[JoinedResult<'_>]) {
    std::iter::once(snapshot).chain(joined.iter().map(|other| other.snapshot)).for_each(kept_parts::settle);
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
    /// JSON documents of the view whose tables are added.
    leaf_documents: Vec<LeafDocument>,
    /// Name of the result, if it is another one than the main one.
    prefix: Option<String>,
    /// The main table of each block, by its address.
    block_tables: Vec<(String, Arc<VirtualTable>)>,
    /// Numbers of the tables and of the aliases that are not at paths which statements name.
    own_counts: (usize, usize),
}

impl CatalogueBuilder {
    fn of_view(snapshot: &Snapshot, view: &View, prefix: Option<&str>) -> Self {
        let mut builder = Self { prefix: prefix.map(str::to_owned), ..Self::default() };
        // The names of table-valued functions stay reserved.
        for reserved in ["json_each", "json_tree"] {
            builder.names.unique(reserved);
        }
        builder.catalogue.redacted_fields = snapshot.redacted().into();
        builder.catalogue.missing = vec![snapshot.missing_codes().clone()];
        builder.add_view(snapshot, view);
        builder.own_counts = (builder.catalogue.tables.len(), builder.catalogue.aliases.len());
        builder
    }

    /// Returns the tables of the view and those at paths.
    fn part(
        &mut self,
        snapshot: &Snapshot,
        view: &View,
        paths: &[&str],
    ) -> Result<Catalogue, UnresolvedPath> {
        paths.iter().try_for_each(|path| self.add_path(snapshot, view, path))?;
        let names: Vec<String> = paths.iter().map(|path| self.full_name(path)).collect();
        let (tables, aliases) = self.own_counts;
        let mut part = self.catalogue.clone();
        let mut at = 0..;
        part.tables.retain(|table| at.next() < Some(tables) || names.contains(&table.name));
        let mut at = 0..;
        part.aliases.retain(|(name, _)| at.next() < Some(aliases) || names.contains(name));
        Ok(part)
    }

    fn tables(&self) -> &[Arc<VirtualTable>] {
        &self.catalogue.tables
    }

    /// Returns the number of tables at paths.
    fn path_count(&self) -> usize {
        self.catalogue.tables.len() - self.own_counts.0
    }

    fn add_view(&mut self, snapshot: &Snapshot, view: &View) {
        let (mut subjects, mut in_order) = (subjects(snapshot, view), view.subjects(snapshot));
        // An object that is mostly one text is read as that.
        let inner = match &in_order[..] {
            [(path, subject @ IndexedText { structure: Structure::Object(members), .. })] => {
                let found = text_in_member(&subject.text, members);
                found.map(|(pointer, text)| (format!("{path}{pointer}"), text, (path.clone(), *subject)))
            }
            _ => None,
        };
        if let Some((path, text, _)) = &inner {
            in_order = vec![(path.clone(), text)];
            subjects.clone_from(&in_order);
        }
        let blocks: Vec<(Slice, Span)> = record_blocks(in_order.iter().map(|(_, subject)| *subject))
            .into_iter()
            .map(|block| (block.text.clone(), block.members.span))
            .collect();
        let has_blocks = !blocks.is_empty();
        if has_blocks {
            self.add_table("items", BlocksSource(blocks));
        }
        let wholes = snapshot.parts_at(in_order.iter().map(|(path, _)| path.as_str()));
        let parts: Vec<TextPart> = in_order
            .iter()
            .zip(wholes)
            .map(|((path, subject), whole)| TextPart::new(path, subject, whole))
            .collect();
        let lists = list_blocks(in_order.iter().map(|(_, subject)| *subject));
        let has_lists = !lists.is_empty();
        if has_lists {
            let lists = lists.into_iter().map(|(at, list)| (parts[at].clone(), Arc::clone(list)));
            self.add_table("items", ListBlocksSource(lists.collect()));
        }
        let indexes: HashMap<&str, usize> =
            in_order.iter().enumerate().map(|(at, (path, _))| (path.as_str(), at)).collect();
        for (path, subject) in subjects {
            let list = match &subject.structure {
                Structure::List(list) if has_lists => Some(list),
                _ => None,
            };
            let is_full = self.tables().len() >= MAX_TABLES;
            if list.is_some() || is_full || subject.is_json() && has_blocks {
                let document = || LeafDocument::new(&path, &subject.text, list);
                self.leaf_documents.extend(subject.is_json().then(document));
                continue;
            }
            let first = self.tables().len();
            self.add_subject(&path, subject);
            let added = self.tables().get(first).cloned();
            if let (Some(table), Some(at)) = (added, indexes.get(path.as_str())) {
                let address = &parts[*at].address;
                self.catalogue.blocks.extend(self.prefix.is_none().then(|| address.clone()));
                self.block_tables.push((address.clone(), table));
            }
        }
        if let Some((_, _, (path, whole))) = &inner {
            if self.is_free("items") {
                self.add_subject(path, whole);
            } else {
                let (text, span) = (whole.text.clone(), whole.span());
                self.add_table("record", ValueSource { text, span, kind: RowKind::Object });
                self.leaf_documents.push(LeafDocument::new(path, &whole.text, None));
            }
        }
        // Servers return a list without items as no content.
        if snapshot.parts().is_empty() {
            self.add_subject("", &IndexedText::from_payload(Slice::new("[]".to_owned())));
        }
        let subjects = in_order.iter().map(|(_, subject)| *subject);
        self.add_texts(subjects.zip(parts), has_blocks);
        if let Some(source) = LeavesSource::new(std::mem::take(&mut self.leaf_documents)) {
            let name = if self.is_free("leaves") { "leaves" } else { "portion_leaves" };
            self.add_table(name, source);
        }
    }

    /// Adds the tables of all texts, in the order of the result. The lines of JSON are a text if they are no `blocks`.
    fn add_texts<'a>(&mut self, parts: impl Iterator<Item = (&'a IndexedText, TextPart)>, has_blocks: bool) {
        let (mut texts, mut headed, mut logs) = (Vec::new(), Vec::new(), Vec::new());
        for (subject, part) in parts {
            let index = match &subject.structure {
                Structure::Text(index) => Some(index),
                Structure::List(list) if list.layout == Layout::Lines && !has_blocks => None,
                Structure::List(_) | Structure::Object(_) => continue,
            };
            if let Some(index) = index {
                if index.has_headings(&part.text) {
                    headed.push((part.clone(), Arc::clone(index)));
                }
                if index.chunker.kind() == TextKind::Log {
                    logs.push((part.clone(), Arc::clone(index)));
                }
            }
            texts.push(part);
        }
        if !texts.is_empty() {
            self.add_table("lines", LinesSource(texts));
        }
        if !headed.is_empty() {
            self.add_table("sections", SectionsSource(headed));
        }
        if !logs.is_empty() {
            self.add_table("entries", EntriesSource(logs));
        }
    }

    /// Adds the list at a path of the main subject, or of the only other one that has it. The path is the name of the table.
    fn add_path(&mut self, snapshot: &Snapshot, view: &View, path: &str) -> Result<(), UnresolvedPath> {
        let found = subjects(snapshot, view);
        let Some((_, main)) = found.first() else { return Ok(()) };
        if !self.is_free(path) {
            return Ok(());
        }
        // The main list is `items` with its own layout.
        let is_main = matches!(&main.structure, Structure::List(list)
            if list.pointer.trim_matches('/') == path.trim_start_matches('$').trim_matches(['/', '.']));
        let items = self.catalogue.tables.first();
        let items = items.filter(|table| is_main && table.name.rsplit('.').next() == Some("items"));
        let block = || self.block_tables.iter().find(|(address, _)| address == path);
        if let Some(table) = items.or_else(|| block().map(|(_, table)| table)).cloned() {
            let name = self.unique_name(path);
            self.catalogue.aliases.push((name, table));
            return Ok(());
        }
        if path.contains('*') {
            // The records of a list are those of `*` below it.
            let list = path.strip_suffix("/*").filter(|list| list.contains('*')).unwrap_or(path);
            let blocks = record_blocks(found.iter().map(|(_, subject)| *subject));
            let of_blocks = || {
                let records = blocks.iter().map(|block| block.members.span.slice(block.text));
                Slice::new(format!("[{}]", records.collect::<Vec<_>>().join(",")))
            };
            let text = if blocks.is_empty() { main.text.clone() } else { of_blocks() };
            let span = if blocks.is_empty() { main.span() } else { Span::new(0, text.len()) };
            let joined = |path| joined_records(&text, span, path);
            if let Some(joined) = joined(path).or_else(|| joined(list)) {
                self.add_table(path, ValueSource::joined(joined));
                return Ok(());
            }
        }
        let plain = path.trim_start_matches(['$', '.']);
        // A path that the main subject lacks may be one of another subject.
        let (subject, ResolvedPath { span, .. }) =
            resolve_path(main, plain).map(|reached| (*main, reached)).or_else(|unresolved| {
                let mut others = found[1..]
                    .iter()
                    .filter_map(|(_, other)| Some((*other, resolve_path(other, plain).ok()?)));
                others.next().filter(|_| others.next().is_none()).ok_or(unresolved)
            })?;
        let text = subject.text.clone();
        let value = span.slice(&text);
        let reader = || JsonReader::resume(&text, span.start as usize);
        let mut tables = named_tables(&text, subject.span()).into_iter();
        if let Some(table) = tables.find(|table| table.span == span) {
            self.add_table(path, NamedRowsSource::new(&text, table));
            return Ok(());
        }
        let kind = match value.as_bytes().first() {
            Some(b'[') => RowKind::Array,
            Some(b'{') if is_object_of_objects(&text, span) => RowKind::Map,
            Some(b'{') if holds_records(&text, span) => {
                if let Some(joined) = joined_records(&text, span, "") {
                    self.add_table(path, ValueSource::joined(joined));
                }
                return Ok(());
            }
            Some(b'{') => RowKind::Object,
            _ => return Ok(()),
        };
        let object = ObjectIndex::parse(&mut reader()).ok().filter(|_| kind == RowKind::Object);
        match object.and_then(|object| ColumnArrays::detect(&text, &object.listed)) {
            Some(arrays) => self.add_table(path, ColumnArraysSource { text: text.clone(), arrays }),
            None => self.add_table(path, ValueSource { text: text.clone(), span, kind }),
        };
        Ok(())
    }

    /// Returns the unique name of a table, after the name of the result that it belongs to.
    fn unique_name(&mut self, name: &str) -> String {
        let name = self.full_name(name);
        self.names.unique(&name)
    }

    fn full_name(&self, name: &str) -> String {
        match &self.prefix {
            Some(prefix) => format!("{prefix}.{name}"),
            None => table_name(name),
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
                let rows = header_row(text, list);
                let schemas = rows.as_ref().map(|rows| rows.schemas.clone()).unwrap_or_default();
                let source = text.clone();
                let items = match rows {
                    Some(rows) => {
                        self.add_table("items", NamedRowsSource { text: source, span: list.span, rows })
                    }
                    None => self.add_table("items", ListSource { text: source, list: Arc::clone(list) }),
                };
                self.add_alias(name.clone(), items);
                let mut siblings = sibling_arrays(text, list);
                siblings.retain(|array| !schemas.contains(&array.span));
                self.name_lists(name.as_deref().unwrap_or_default(), list.span, &siblings);
                siblings.iter().for_each(|array| self.add_array(text, array));
                self.leaf_documents.push(LeafDocument::new(path, text, Some(list)));
            }
            Structure::Object(members) => {
                self.add_object(path, text, members.span);
                self.leaf_documents.push(LeafDocument::new(path, text, None));
            }
            Structure::Text(index) => {
                let is_log = index.chunker.kind() == TextKind::Log;
                let changes = diff::file_changes(text);
                if !changes.is_empty() {
                    let items = self.add_table("items", DiffSource { text: text.clone(), changes });
                    self.add_alias(Some("files".to_owned()), items);
                } else if let Some(format) = delimited::detect(text, index.chunker) {
                    self.add_table("items", CsvSource { text: text.clone(), format });
                } else if !is_log {
                    self.add_document_tables(text);
                }
            }
        }
    }

    /// Adds the arrays of an object, or the object as one row if it has none.
    fn add_object(&mut self, path: &str, text: &Slice, span: Span) {
        let mut arrays = Vec::new();
        collect_arrays(text, span, "", MAX_DEPTH, &mut arrays);
        let records = |array: &&ArrayLocation| array.first_kind == Some(JsonKind::Object);
        let named = arrays.iter().filter(records).position(|array| array.name == "items");
        let mut of_records: Vec<ArrayLocation> = arrays.iter().filter(records).cloned().collect();
        let largest = (0..of_records.len()).rev().max_by_key(|at| of_records[*at].span.len());
        let bytes = |arrays: &ColumnArrays| arrays.columns.iter().map(|column| column.value.len()).sum();
        let of_columns: usize =
            column_arrays(text, span).iter().map(|(_, arrays)| bytes(arrays)).max().unwrap_or_default();
        let largest = largest.filter(|at| of_records[*at].span.len() >= of_columns);
        let maps = maps_of_objects(text, span);
        let main = if let Some(table) = main_table(text, span) {
            let name = last_step(&table.pointer);
            of_records.retain(|array| !table.rows.schemas.contains(&array.span));
            let tables = tables_alike(text, span, &table);
            let joined = joined_rows(text, &tables).filter(|_| tables.len() > 1);
            let items = match joined {
                Some(joined) => self.add_table("items", ValueSource::joined(joined)),
                None => self.add_table("items", NamedRowsSource::new(text, table)),
            };
            Some((name, items))
        } else if let Some((name, records)) = joined_main(text, span, &of_records) {
            Some((name, self.add_table("items", ValueSource::joined(records))))
        } else if let Some(main) = named.or(largest) {
            let main = of_records.remove(main);
            let items = self.add_array_table("items", text, &main);
            self.name_lists(&main.name, main.span, &of_records);
            Some((Some(main.name), items))
        } else {
            None
        };
        if let Some((name, items)) = main {
            self.add_alias(name, items);
            of_records.iter().for_each(|array| self.add_array(text, array));
            let empty = arrays.iter().filter(|array| array.first_kind.is_none() && array.is_table());
            empty.for_each(|array| self.add_array(text, array));
        } else if let Some(empty) = empty_list(text, span, &arrays) {
            let items = self.add_array_table("items", text, &empty);
            self.add_alias(Some(empty.name), items);
        } else {
            let name = if self.add_column_arrays(text, span) { "record" } else { "items" };
            let items = self.add_table(name, ValueSource { text: text.clone(), span, kind: RowKind::Object });
            self.add_alias(last_step(path), items);
            let some = arrays.iter().filter(|array| array.first_kind.is_some() || array.is_table());
            some.for_each(|array| self.add_array(text, array));
        }
        for map in maps {
            let is_alias =
                self.catalogue.aliases.iter().any(|(alias, _)| alias.eq_ignore_ascii_case(&map.name));
            if self.is_free(&map.name) && !is_alias {
                self.add_table(
                    &map.name,
                    ValueSource { text: text.clone(), span: map.span, kind: RowKind::Map },
                );
            }
        }
    }

    /// Adds the objects of columns in an object; the largest is `items`. Returns true if there are some.
    fn add_column_arrays(&mut self, text: &Slice, span: Span) -> bool {
        let mut found = column_arrays(text, span);
        found.sort_by_key(|(_, arrays)| std::cmp::Reverse(arrays.row_count * arrays.columns.len()));
        let is_any = !found.is_empty();
        for (at, (pointer, arrays)) in found.into_iter().enumerate() {
            let name = last_step(&pointer);
            let source = ColumnArraysSource { text: text.clone(), arrays };
            if at == 0 {
                let items = self.add_table("items", source);
                self.add_alias(name, items);
            } else if let Some(name) = name {
                self.add_table(&name, source);
            }
        }
        is_any
    }

    /// Adds the tables of a document: the largest is `items`, and each has its number. Those with its columns are named with it.
    fn add_document_tables(&mut self, text: &Slice) {
        let found = document_tables(text);
        let largest = largest_table(&found);
        if let Some(largest) = largest.filter(|_| self.catalogue.lists.is_empty()) {
            let header = found[largest].header(text);
            let is_alike = |at: &usize| *at != largest && found[*at].header(text) == header;
            let alike = (0..found.len().min(MAX_DOCUMENT_TABLES)).filter(is_alike);
            let names: Vec<String> =
                std::iter::once(largest).chain(alike).map(|at| format!("table_{}", at + 1)).collect();
            self.catalogue.lists = if names.len() > 1 { names } else { Vec::new() };
        }
        self.catalogue.unlisted_table_count += found.len().saturating_sub(MAX_DOCUMENT_TABLES);
        let others = (0..found.len()).filter(|at| Some(*at) != largest);
        for at in largest.into_iter().chain(others).take(MAX_DOCUMENT_TABLES) {
            let source = DocumentTableSource { text: text.clone(), table: found[at].clone() };
            let number = format!("table_{}", at + 1);
            if Some(at) == largest && self.is_free("items") {
                let items = self.add_table("items", source);
                self.add_alias(Some(number), items);
            } else {
                self.add_table(&number, source);
            }
        }
    }

    /// Remembers the list in `items`, and others of at least a quarter of its size.
    fn name_lists(&mut self, main: &str, span: Span, others: &[ArrayLocation]) {
        let is_large =
            |array: &&ArrayLocation| array.span.len() * 4 >= span.len() && self.is_free(&array.name);
        let names: Vec<String> = others.iter().filter(is_large).map(|array| array.name.clone()).collect();
        if self.catalogue.lists.is_empty() && !names.is_empty() {
            self.catalogue.lists = std::iter::once(main.to_owned()).chain(names).collect();
        }
    }

    fn add_array(&mut self, text: &Slice, array: &ArrayLocation) {
        // Of several arrays with one name, later ones are named by their path.
        let name = if self.is_free(&array.name) { &array.name } else { &array.path };
        self.add_array_table(name, text, array);
    }

    fn add_array_table(&mut self, name: &str, text: &Slice, array: &ArrayLocation) -> Arc<VirtualTable> {
        match &array.map_list {
            Some((text, list)) => {
                self.add_table(name, ListSource { text: text.clone(), list: Arc::clone(list) })
            }
            None => self
                .add_table(name, ValueSource { text: text.clone(), span: array.span, kind: RowKind::Array }),
        }
    }

    fn add_table(&mut self, name: &str, source: impl RowSource + 'static) -> Arc<VirtualTable> {
        let name = self.unique_name(name);
        let table = Arc::new(VirtualTable::new(
            name,
            source,
            Arc::clone(&self.catalogue.redacted_fields),
            self.catalogue.missing.first().cloned().unwrap_or_default(),
        ));
        self.catalogue.tables.push(Arc::clone(&table));
        table
    }

    fn add_alias(&mut self, name: Option<String>, table: Arc<VirtualTable>) {
        if let Some(name) = name.map(|name| table_name(&name))
            && !name.eq_ignore_ascii_case(table.name.rsplit('.').next().unwrap_or(&table.name))
        {
            let name = self.unique_name(&name);
            self.catalogue.aliases.push((name, table));
        }
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
    let name = unescape_step(last);
    (!name.is_empty() && !name.bytes().all(|b| b.is_ascii_digit())).then_some(name)
}
/// Returns the objects of columns in an object, with their pointers.
fn column_arrays(text: &Slice, span: Span) -> Vec<(String, ColumnArrays)> {
    let object = ObjectIndex::parse(&mut JsonReader::resume(text, span.start as usize));
    object.map(|object| ColumnArrays::find_in(text, "", &object)).unwrap_or_default()
}
