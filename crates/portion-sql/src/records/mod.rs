//! JSON lists as tables: one row per item, one column per field.

mod leaves;
mod named_cells;
mod source;
mod tree;

pub(crate) use leaves::{LEAF_COLUMNS, LEAF_VALUE, LeafDocument, LeavesSource};
pub(crate) use named_cells::{ColumnArraysSource, NamedRowsSource};
pub(crate) use source::{BlocksSource, ListBlocksSource, ListSource, RowKind, ValueSource};
pub(crate) use tree::MAX_DEPTH;

use std::cmp::Reverse;

use portion_core::snapshot::{Slice, with_key_field};
use portion_json::scan::JsonReader;
use portion_json::span::Span;
use portion_text::names::UniqueNames;

use crate::cell::{Cell, ValueKinds};
use crate::column::ColumnDef;
use crate::table_rows::{ColumnSet, FoundTable, RowBuffer, TableRows};
use source::RecordScanner;
use tree::{FieldNode, FieldTree};

/// The rows of a list, whose items and fields were scanned once.
struct RecordRows {
    text: Slice,
    /// Values of the items.
    items: Vec<Span>,
    /// Keys of the items of a map.
    keys: Option<Vec<Span>>,
    field_tree: FieldTree,
    field_count: usize,
    /// True if some items are not objects.
    has_scalars: bool,
}

impl TableRows for RecordRows {
    fn new_row(&self, wanted: ColumnSet) -> RowBuffer {
        let first_field = usize::from(self.keys.is_some());
        let fields = first_field..first_field + self.field_count;
        let wanted_fields: Vec<bool> = fields.map(|column| wanted.contains(column)).collect();
        RowBuffer {
            wanted_columns: wanted,
            wanted_field_count: wanted_fields.iter().filter(|is_wanted| **is_wanted).count(),
            wanted_fields,
            ..RowBuffer::default()
        }
    }

    fn read_row(&self, at: usize, row: &mut RowBuffer) {
        row.index = at;
        row.spans.clear();
        row.spans.resize(self.field_count, Span::default());
        if let Some(item) = self.items.get(at)
            && row.wanted_field_count > 0
        {
            let mut reader = JsonReader::resume(&self.text, item.start as usize);
            let wanted = (&*row.wanted_fields, row.wanted_field_count);
            self.field_tree.read_fields(&mut reader, wanted, &mut row.spans);
        }
    }

    fn cell<'a>(&'a self, row: &'a RowBuffer, column: usize) -> Cell<'a> {
        let text: &str = &self.text;
        let key = self.keys.as_ref().and_then(|keys| keys.get(row.index)).map(|key| key.slice(text));
        let Some(field) = column.checked_sub(usize::from(self.keys.is_some())) else {
            return key.map_or(Cell::Null, Cell::from_json);
        };
        let Some(other) = field.checked_sub(self.field_count) else {
            return match row.spans.get(field) {
                Some(span) if !span.is_empty() => Cell::from_json(span.slice(text)),
                _ => Cell::Null,
            };
        };
        let item = self.items.get(row.index).map_or("", |span| span.slice(text));
        match other + usize::from(!self.has_scalars) {
            0 if item.starts_with('{') => Cell::Null,
            0 => Cell::from_json(item),
            // An object of a map has its key as the first member.
            1 => match key.and_then(|key| with_key_field(key, item)) {
                Some(object) => Cell::Text(object.into()),
                None => Cell::text(item),
            },
            _ => Cell::from_count(row.index),
        }
    }
}

/// Maximum fields that are columns; `SQLite` allows 2,000.
const MAX_COLUMNS: usize = 1_900;
/// Minimum fields of an object that may be a map, whose keys are values rather than names.
const MAP_MIN_FIELDS: usize = 16;
/// On average, each field of a map occurs in at most one of this many objects.
const MAP_SHARE: usize = 8;

impl RecordScanner {
    /// Builds the table of the items. Objects are flattened: for `price: {total}` the column is `price.total`, and `price` is a
    /// hidden column.
    fn finish(mut self, text: &Slice) -> FoundTable {
        let (fields, unlisted_field_count) = list_fields(&mut self.field_tree);
        let item_count = self.items.len();
        let mut names = UniqueNames::default();
        let mut paths: Vec<String> = fields.iter().map(|node| node.path.clone()).collect();
        UniqueNames::number_variants(&mut paths);
        let field_column = |(node, path): (&&FieldNode, &String)| {
            let column =
                ColumnDef::new(names.unique(path), node.kinds, node.present_count).with_form(&node.learner);
            let other = ValueKinds::NUMERIC.union(ValueKinds::TEXT).union(ValueKinds::ARRAY);
            let is_through = !node.children.is_empty() && !node.kinds.intersects(other);
            if is_through { column.into_hidden() } else { column }
        };
        let mut columns: Vec<ColumnDef> = fields.iter().zip(&paths).map(field_column).collect();
        let (field_count, has_scalars) = (columns.len(), self.scalar_count > 0);
        if self.keys.is_some() {
            let mut keys = ColumnDef::new(names.unique_builtin("_key"), ValueKinds::TEXT, item_count);
            keys.has_number_codes = true;
            columns.insert(0, keys);
        }
        if has_scalars {
            let values = ColumnDef::new(names.unique_builtin("value"), self.scalar_kinds, self.scalar_count);
            columns.push(values.with_form(&self.scalar_learner));
        }
        ColumnDef::push_record_columns(&mut columns, &mut names, item_count);
        let Self { field_tree, items, keys, .. } = self;
        let spans = items.len() + keys.as_ref().map_or(0, Vec::len);
        let rows = RecordRows { text: text.clone(), items, keys, field_tree, field_count, has_scalars };
        let table = FoundTable::new(text, columns, item_count, rows);
        FoundTable { heap_bytes: spans * size_of::<Span>(), unlisted_field_count, ..table }
    }
}

/// Numbers the fields that are columns, and returns them with the number of the others: those inside maps are none, and neither
/// are the rarest beyond the column limit.
fn list_fields(tree: &mut FieldTree) -> (Vec<&FieldNode>, usize) {
    let maps: Vec<usize> = (1..tree.nodes.len()).filter(|at| is_map(tree, *at)).collect();
    for at in maps {
        tree.nodes[at].children.clear();
        tree.nodes[at].child_by_raw_key.clear();
    }
    // Each field comes before those inside it.
    let (mut order, mut open) = (Vec::new(), vec![0_u32]);
    while let Some(at) = open.pop() {
        order.push(at as usize);
        open.extend(tree.nodes[at as usize].children.iter().rev().map(|below| below.node));
    }
    order.remove(0);
    let unlisted = order.len().saturating_sub(MAX_COLUMNS);
    if unlisted > 0 {
        let mut kept: Vec<(usize, usize)> = order.into_iter().enumerate().collect();
        // A field is never rarer than those inside it, so the kept fields stay connected.
        kept.sort_by_key(|(position, at)| (Reverse(tree.nodes[*at].present_count), *position));
        kept.truncate(MAX_COLUMNS);
        kept.sort_unstable();
        order = kept.into_iter().map(|(_, at)| at).collect();
    }
    for (column, at) in order.iter().enumerate() {
        tree.nodes[*at].column = Some(column as u32);
    }
    (order.into_iter().map(|at| &tree.nodes[at]).collect(), unlisted)
}

fn is_map(tree: &FieldTree, at: usize) -> bool {
    let node = &tree.nodes[at];
    let present: usize =
        node.children.iter().map(|below| tree.nodes[below.node as usize].present_count).sum();
    node.children.len() >= MAP_MIN_FIELDS
        && present.saturating_mul(MAP_SHARE) < node.children.len().saturating_mul(node.object_count)
}
