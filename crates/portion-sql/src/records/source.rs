//! Sources of records: the main list, another array, or a single object.

use std::sync::Arc;

use portion_core::snapshot::{Layout, List, ListProfile, NamedRows, Slice};
use portion_json::scan::{JsonKind, JsonReader, quote};
use portion_json::span::Span;
use portion_text::column_form::FormLearner;

use super::named_cells::NamedRowsSource;
use super::tree::{self, FieldTree};
use crate::cell::ValueKinds;
use crate::limits::QueryDeadline;
use crate::table_rows::{FoundTable, RowSource, should_stop_at};
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
    fn open(&self, deadline: &QueryDeadline) -> Option<FoundTable> {
        let (text, span) = (self.text.clone(), self.list.span);
        let ranked_columns = self.list.profile.fields.iter().map(|field| field.path.clone()).collect();
        let records = |kind| Some(RecordScanner::scan(&text, span, kind, deadline)?.finish(&text));
        let table = match &self.list.layout {
            Layout::Array => records(RowKind::Array)?,
            Layout::Map => records(RowKind::Map)?,
            Layout::Lines => RecordScanner::scan_lines(&text, &self.list, deadline)?.finish(&text),
            Layout::Table { columns, .. } => {
                let rows = NamedRows::plain(columns.clone());
                NamedRowsSource { text, span, rows }.open(deadline)?
            }
        };
        Some(FoundTable { ranked_columns, ..table })
    }
}

impl RowSource for ValueSource {
    fn open(&self, deadline: &QueryDeadline) -> Option<FoundTable> {
        let scanner = RecordScanner::scan(&self.text, self.span, self.kind, deadline)?;
        let first = scanner.items.first().map_or("", |span| span.slice(&self.text));
        let ranked_columns = ListProfile::record_fields(first).into_iter().map(|field| field.path).collect();
        Some(FoundTable { ranked_columns, ..scanner.finish(&self.text) })
    }
}

/// Blocks, each of which is one record. Their texts are joined when the table is opened.
pub(crate) struct BlocksSource(pub(crate) Vec<(Slice, Span)>);

impl RowSource for BlocksSource {
    fn open(&self, deadline: &QueryDeadline) -> Option<FoundTable> {
        let records: Vec<&str> = self.0.iter().map(|(text, span)| span.slice(text)).collect();
        let array = format!("[{}]", records.join(","));
        ValueSource::joined(array).open(deadline)
    }
}

/// Blocks, each of which is a list of records. Rows begin with the block that they are in, where they have no such field.
pub(crate) struct ListBlocksSource(pub(crate) Vec<(TextPart, Arc<List>)>);

impl RowSource for ListBlocksSource {
    fn open(&self, deadline: &QueryDeadline) -> Option<FoundTable> {
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
#[derive(Default)]
pub(super) struct RecordScanner {
    pub(super) field_tree: FieldTree,
    pub(super) items: Vec<Span>,
    /// Keys of the items of a map.
    pub(super) keys: Option<Vec<Span>>,
    /// Number of items that are not objects, their kinds, and the form of their texts.
    pub(super) scalar_count: usize,
    pub(super) scalar_kinds: ValueKinds,
    pub(super) scalar_learner: FormLearner,
}

impl RecordScanner {
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
            self.scalar_count += 1;
            tree::learn_value(reader.text(value), &mut self.scalar_kinds, &mut self.scalar_learner);
        }
        self.items.push(Span::new(start, reader.at()));
        Some(())
    }

    /// Scans the rows of a value; `None` if the deadline was reached.
    fn scan(text: &str, value: Span, kind: RowKind, deadline: &QueryDeadline) -> Option<Self> {
        let (mut scanner, mut reader) = (Self::default(), JsonReader::resume(text, value.start as usize));
        let is_entered = match kind {
            RowKind::Array => reader.enter_array().is_ok(),
            RowKind::Map => reader.enter_object().is_ok(),
            RowKind::Object => {
                let _ = scanner.add_item(&mut reader);
                false
            }
        };
        let next = |reader: &mut JsonReader<'_>| match kind {
            RowKind::Map => reader.next_key().ok().flatten(),
            _ => (reader.next_item() == Ok(true)).then(Span::default),
        };
        let mut keys = Vec::new();
        while let Some(key) = next(&mut reader).filter(|_| is_entered)
            && scanner.add_item(&mut reader).is_some()
        {
            keys.push(key);
            if should_stop_at(scanner.items.len(), deadline) {
                return None;
            }
        }
        scanner.keys = (kind == RowKind::Map).then_some(keys);
        Some(scanner)
    }

    fn scan_lines(text: &str, list: &List, deadline: &QueryDeadline) -> Option<Self> {
        let mut scanner = Self::default();
        for line in list.iter_from(text, 0) {
            scanner.add_item(&mut JsonReader::resume(text, line.value.start as usize))?;
            if should_stop_at(scanner.items.len(), deadline) {
                return None;
            }
        }
        Some(scanner)
    }
}
