//! Sources of records: the main list, another array, or a single object.

use std::sync::Arc;

use portion_core::snapshot::{Layout, List, ListProfile, NamedRows, NamedTable, Slice};
use portion_json::containers;
use portion_json::scan::{JsonKind, JsonReader, quote};
use portion_json::span::Span;
use portion_text::column_form::FormLearner;
use portion_text::names::UniqueNames;

use super::tree::FieldTree;
use super::{ColumnRole, ItemStats, RecordRows, tree};
use crate::cell::ValueKinds;
use crate::column::ColumnDef;
use crate::limits::QueryDeadline;
use crate::table_rows::{RowSource, TableRows, should_stop_at};
use crate::text::TextPart;

/// The main list of a text.
pub(crate) struct ListSource {
    pub(crate) text: Slice,
    pub(crate) list: Arc<List>,
}

/// A value in a text whose parts are rows.
pub(crate) struct ValueSource {
    pub(crate) text: Slice,
    pub(crate) span: Span,
    pub(crate) kind: RowKind,
}

/// The parts of a value that are rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowKind {
    /// The items of an array.
    Array,
    /// The members of an object.
    Map,
    /// The object itself.
    Object,
}

impl ValueSource {
    /// Returns the rows of records that were joined to one array.
    pub(crate) fn joined(records: String) -> Self {
        let span = Span::new(0, records.len());
        Self { text: Slice::new(records), span, kind: RowKind::Array }
    }
}

impl RowSource for ListSource {
    fn open(&self, deadline: &QueryDeadline) -> Option<Arc<dyn TableRows>> {
        let ranked_fields = self.list.profile.fields.iter().map(|field| field.path.clone()).collect();
        let records = match &self.list.layout {
            Layout::Array => {
                RecordScanner::new().scan_array(&self.text, self.list.span, deadline)?.finish(&self.text)
            }
            Layout::Map => {
                RecordScanner::new().scan_map(&self.text, self.list.span, deadline)?.finish(&self.text)
            }
            Layout::Lines => {
                RecordScanner::new().scan_lines(&self.text, &self.list, deadline)?.finish(&self.text)
            }
            Layout::Table { columns, .. } => {
                named_records(&self.text, self.list.span, NamedRows::plain(columns.clone()), deadline)?
            }
        };
        Some(Arc::new(RecordRows { ranked_fields, ..records }))
    }
}

impl RowSource for ValueSource {
    fn open(&self, deadline: &QueryDeadline) -> Option<Arc<dyn TableRows>> {
        let mut scanner = RecordScanner::new();
        let scanner = match self.kind {
            RowKind::Array => scanner.scan_array(&self.text, self.span, deadline)?,
            RowKind::Map => scanner.scan_map(&self.text, self.span, deadline)?,
            RowKind::Object => {
                let _ = scanner.add_item(&mut JsonReader::resume(&self.text, self.span.start as usize));
                scanner
            }
        };
        Some(Arc::new(scanner.finish(&self.text).with_ranking_of_first()))
    }
}

/// An array of rows whose cells are named elsewhere.
pub(crate) struct NamedRowsSource {
    pub(crate) text: Slice,
    pub(crate) span: Span,
    pub(crate) rows: NamedRows,
}

impl NamedRowsSource {
    pub(crate) fn new(text: &Slice, table: NamedTable) -> Self {
        Self { text: text.clone(), span: table.span, rows: table.rows }
    }
}

impl RowSource for NamedRowsSource {
    fn open(&self, deadline: &QueryDeadline) -> Option<Arc<dyn TableRows>> {
        Some(Arc::new(named_records(&self.text, self.span, self.rows.clone(), deadline)?))
    }
}

/// Blocks, each of which is one record. Their texts are joined when the table is opened.
pub(crate) struct BlocksSource(pub(crate) Vec<(Slice, Span)>);

impl RowSource for BlocksSource {
    fn open(&self, deadline: &QueryDeadline) -> Option<Arc<dyn TableRows>> {
        let records: Vec<&str> = self.0.iter().map(|(text, span)| span.slice(text)).collect();
        let array = format!("[{}]", records.join(","));
        ValueSource::joined(array).open(deadline)
    }
}

/// Blocks, each of which is a list of records. Rows begin with the block that they are in, where they have no such field.
pub(crate) struct ListBlocksSource(pub(crate) Vec<(TextPart, Arc<List>)>);

impl RowSource for ListBlocksSource {
    fn open(&self, deadline: &QueryDeadline) -> Option<Arc<dyn TableRows>> {
        let has_field = |name: &str| {
            self.0.iter().any(|(_, list)| list.profile.fields.iter().any(|field| field.path == name))
        };
        let mut array = String::from("[");
        for (part, list) in &self.0 {
            let own = [("part", Some(part.address.as_str())), ("name", part.name.as_deref())];
            let own = own.into_iter().filter(|(name, _)| !has_field(name));
            let prefix: String =
                own.filter_map(|(name, value)| Some(format!("\"{name}\":{},", quote(value?)))).collect();
            for item in list.iter_from(&part.text, 0) {
                if should_stop_at(item.index, deadline) {
                    return None;
                }
                array.push_str(if array.len() > 1 { "," } else { "" });
                match item.value.slice(&part.text).strip_prefix('{') {
                    Some(rest) if rest.trim_start().starts_with('}') => {
                        array.extend(["{", prefix.trim_end_matches(','), rest]);
                    }
                    Some(rest) => array.extend(["{", prefix.as_str(), rest]),
                    None => array.push_str(item.value.slice(&part.text)),
                }
            }
        }
        array.push(']');
        ValueSource::joined(array).open(deadline)
    }
}

/// Records that are being scanned.
struct RecordScanner {
    field_tree: FieldTree,
    items: Vec<Span>,
    keys: Vec<Span>,
    item_stats: ItemStats,
}

impl RecordScanner {
    fn new() -> Self {
        Self {
            field_tree: FieldTree::new(),
            items: Vec::new(),
            keys: Vec::new(),
            item_stats: ItemStats::default(),
        }
    }

    /// Adds the item at the reader; `None` if there is none.
    fn add_item(&mut self, reader: &mut JsonReader<'_>) -> Option<()> {
        let kind = reader.peek().ok()?;
        let start = reader.at();
        if kind == JsonKind::Object {
            if self.field_tree.add_record(reader, self.items.len() + 1).is_break() {
                return None;
            }
        } else {
            let value = reader.skip().ok()?;
            self.item_stats.scalar_count += 1;
            let ItemStats { scalar_kinds, scalar_learner, .. } = &mut self.item_stats;
            tree::learn_value(reader.text(value), scalar_kinds, scalar_learner);
        }
        self.items.push(Span::new(start, reader.at()));
        Some(())
    }

    fn scan_array(mut self, text: &str, span: Span, deadline: &QueryDeadline) -> Option<Self> {
        let mut reader = JsonReader::resume(text, span.start as usize);
        if reader.enter_array().is_ok() {
            while reader.next_item() == Ok(true) && self.add_item(&mut reader).is_some() {
                if should_stop_at(self.items.len(), deadline) {
                    return None;
                }
            }
        }
        Some(self)
    }

    fn scan_map(mut self, text: &str, span: Span, deadline: &QueryDeadline) -> Option<Self> {
        let mut reader = JsonReader::resume(text, span.start as usize);
        self.item_stats.has_keys = true;
        if reader.enter_object().is_ok() {
            while let Ok(Some(key)) = reader.next_key()
                && self.add_item(&mut reader).is_some()
            {
                self.keys.push(key);
                if should_stop_at(self.items.len(), deadline) {
                    return None;
                }
            }
        }
        Some(self)
    }

    fn scan_lines(mut self, text: &str, list: &List, deadline: &QueryDeadline) -> Option<Self> {
        for line in list.iter_from(text, 0) {
            if self.add_item(&mut JsonReader::resume(text, line.value.start as usize)).is_none()
                || should_stop_at(self.items.len(), deadline)
            {
                return None;
            }
        }
        Some(self)
    }

    fn finish(mut self, text: &Slice) -> RecordRows {
        self.item_stats.item_count = self.items.len();
        let shape = super::build_shape(self.field_tree, &self.item_stats);
        RecordRows {
            text: text.clone(),
            items: self.items,
            keys: self.keys,
            field_tree: shape.field_tree,
            rows: None,
            columns: shape.columns,
            roles: shape.roles,
            ranked_fields: Vec::new(),
            dropped_field_count: shape.dropped_field_count,
        }
    }
}

impl RecordRows {
    fn with_ranking_of_first(mut self) -> Self {
        let first = self.items.first().map_or("", |span| span.slice(&self.text));
        self.ranked_fields = ListProfile::record_fields(first).into_iter().map(|field| field.path).collect();
        self
    }
}

/// Scans rows whose cells are named elsewhere.
fn named_records(text: &Slice, span: Span, rows: NamedRows, deadline: &QueryDeadline) -> Option<RecordRows> {
    let width = rows.names.len();
    let mut learnt = vec![(ValueKinds::default(), FormLearner::default()); width];
    let (mut items, mut cells) = (Vec::new(), vec![Span::default(); width]);
    for row in containers::items(text, span).skip(rows.skipped) {
        rows.read_cells(text, row, &mut cells);
        for ((kinds, learner), cell) in learnt.iter_mut().zip(&cells).filter(|(_, cell)| !cell.is_empty()) {
            tree::learn_value(cell.slice(text), kinds, learner);
        }
        items.push(row);
        if should_stop_at(items.len(), deadline) {
            return None;
        }
    }
    let mut names = UniqueNames::default();
    let (mut columns, mut roles) = (Vec::new(), Vec::new());
    let mut unlike = rows.names.clone();
    UniqueNames::number_variants(&mut unlike);
    for (at, (name, (kinds, learner))) in unlike.iter().zip(&learnt).enumerate().take(super::MAX_COLUMNS) {
        columns.push(ColumnDef::new(names.unique(name), *kinds, items.len()).with_form(learner));
        roles.push(ColumnRole::Field(at as u32));
    }
    let dropped = width - columns.len();
    ColumnDef::push_record_columns(&mut columns, &mut names, items.len());
    roles.extend([ColumnRole::Record, ColumnRole::Index]);
    Some(RecordRows {
        text: text.clone(),
        items,
        keys: Vec::new(),
        field_tree: FieldTree::from_cells(width),
        rows: Some(rows),
        columns,
        roles,
        ranked_fields: Vec::new(),
        dropped_field_count: dropped,
    })
}
