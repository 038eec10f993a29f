//! JSON lists as tables: one row per item, one column per field.

mod column_rows;
mod leaves;
mod source;
mod tree;

pub(crate) use column_rows::ColumnArraysSource;
pub(crate) use leaves::{LEAF_COLUMNS, LEAF_VALUE, LeafDocument, LeavesSource};
pub(crate) use source::{BlocksSource, ListBlocksSource, ListSource, NamedRowsSource, RowKind, ValueSource};
pub(crate) use tree::MAX_DEPTH;

use std::cmp::Reverse;

use portion_core::snapshot::{NamedRows, Slice, with_key_field};
use portion_json::scan::{JsonReader, quote};
use portion_json::span::Span;
use portion_text::column_form::FormLearner;
use portion_text::names::UniqueNames;

use crate::cell::{Cell, ValueKinds};
use crate::column::ColumnDef;
use crate::table_rows::{ColumnSet, RowBuffer, TableRows};
use tree::{ChildField, FieldNode, FieldTree};

/// The rows of a list, whose items and fields were scanned once.
pub(crate) struct RecordRows {
    text: Slice,
    /// Values of the items.
    items: Vec<Span>,
    /// Keys of the items of a map.
    keys: Vec<Span>,
    /// Fields; for a columnar table, its columns.
    field_tree: FieldTree,
    /// Names of the cells, if the items are rows.
    rows: Option<NamedRows>,
    columns: Vec<ColumnDef>,
    /// Content of each column.
    roles: Vec<ColumnRole>,
    /// Names of fields, the most informative first.
    ranked_fields: Vec<String>,
    dropped_field_count: usize,
}

/// The content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnRole {
    /// A field: a node of the tree.
    Field(u32),
    /// The key of an item in a map.
    Key,
    /// An item that is not an object.
    Value,
    /// The whole item.
    Record,
    /// The index of the item, from 0.
    Index,
}

impl RecordRows {
    fn item(&self, row: &RowBuffer) -> &str {
        self.items.get(row.index).map_or("", |span| span.slice(&self.text))
    }

    /// Returns an object of a map with its key as the first member.
    fn keyed_object(&self, row: &RowBuffer) -> Option<String> {
        with_key_field(self.keys.get(row.index)?.slice(&self.text), self.item(row))
    }

    /// Returns a row as an object. Missing cells are left out.
    fn row_as_object(&self, rows: &NamedRows, row: &RowBuffer) -> String {
        let mut cells = vec![Span::default(); rows.names.len()];
        rows.read_cells(&self.text, self.items.get(row.index).copied().unwrap_or_default(), &mut cells);
        let cells = rows.names.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
        let members = cells.map(|(name, cell)| format!("{}:{}", quote(name), cell.slice(&self.text)));
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }
}

impl TableRows for RecordRows {
    fn columns(&self) -> &[ColumnDef] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.items.len()
    }

    fn source_text(&self) -> Slice {
        self.text.clone()
    }

    fn heap_bytes(&self) -> usize {
        size_of_val(self.items.as_slice()) + size_of_val(self.keys.as_slice())
    }

    fn new_row(&self, wanted: ColumnSet) -> RowBuffer {
        let mut row = RowBuffer {
            wanted_columns: wanted,
            wanted_nodes: vec![false; self.field_tree.len()],
            ..RowBuffer::default()
        };
        for (column, role) in self.roles.iter().enumerate() {
            if let ColumnRole::Field(node) = role
                && wanted.contains(column)
                && let Some(slot) = row.wanted_nodes.get_mut(*node as usize)
            {
                *slot = true;
                row.wanted_node_count += 1;
            }
        }
        row
    }

    fn read_row(&self, at: usize, row: &mut RowBuffer) {
        row.index = at;
        row.spans.clear();
        row.spans.resize(self.field_tree.len(), Span::default());
        let Some(item) = self.items.get(at) else { return };
        let mut reader = JsonReader::resume(&self.text, item.start as usize);
        if let Some(rows) = &self.rows {
            rows.read_cells(&self.text, *item, &mut row.spans);
        } else if row.wanted_node_count > 0 {
            self.field_tree.read_fields(
                &mut reader,
                &row.wanted_nodes,
                row.wanted_node_count,
                &mut row.spans,
            );
        }
    }

    fn cell<'a>(&'a self, row: &'a RowBuffer, column: usize) -> Cell<'a> {
        let text: &str = &self.text;
        match self.roles.get(column) {
            Some(ColumnRole::Field(node)) => match row.spans.get(*node as usize) {
                Some(span) if !span.is_empty() => Cell::from_json(span.slice(text)),
                _ => Cell::Null,
            },
            Some(ColumnRole::Key) => {
                self.keys.get(row.index).map_or(Cell::Null, |key| Cell::from_json(key.slice(text)))
            }
            Some(ColumnRole::Value) => match self.item(row) {
                object if object.starts_with('{') => Cell::Null,
                value => Cell::from_json(value),
            },
            Some(ColumnRole::Record) => match &self.rows {
                Some(rows) => Cell::Text(self.row_as_object(rows, row).into()),
                None => match self.keyed_object(row) {
                    Some(object) => Cell::Text(object.into()),
                    None => Cell::text(self.item(row)),
                },
            },
            Some(ColumnRole::Index) => Cell::from_count(row.index),
            None => Cell::Null,
        }
    }

    fn ranked_columns(&self) -> Vec<String> {
        self.ranked_fields.clone()
    }

    fn unlisted_field_count(&self) -> usize {
        self.dropped_field_count
    }
}

/// Maximum fields that are columns; `SQLite` allows 2,000.
const MAX_COLUMNS: usize = 1_900;
/// Minimum fields of an object that may be a map, whose keys are values rather than names.
const MAP_MIN_FIELDS: usize = 16;
/// On average, each field of a map occurs in at most one of this many objects.
const MAP_SHARE: usize = 8;

/// The columns of records and their content.
struct RecordShape {
    field_tree: FieldTree,
    columns: Vec<ColumnDef>,
    roles: Vec<ColumnRole>,
    dropped_field_count: usize,
}

/// Facts about the items other than their fields.
#[derive(Clone, Debug, Default)]
struct ItemStats {
    item_count: usize,
    /// True if the items have keys.
    has_keys: bool,
    /// Number of items that are not objects, and their kinds.
    scalar_count: usize,
    scalar_kinds: ValueKinds,
    scalar_learner: FormLearner,
}

/// Builds the columns for the fields of a tree. Objects are flattened: for `price: {total}` the column is
/// `price.total`, and `price` is a hidden column.
fn build_shape(learnt: FieldTree, others: &ItemStats) -> RecordShape {
    let (tree, dropped) = trim_fields(learnt);
    let mut names = UniqueNames::default();
    let (mut columns, mut roles) = (Vec::new(), Vec::new());
    let mut fields = Vec::new();
    let mut paths: Vec<String> = tree.nodes.iter().skip(1).map(|node| node.path.clone()).collect();
    UniqueNames::number_variants(&mut paths);
    for ((at, node), path) in tree.nodes.iter().enumerate().skip(1).zip(paths) {
        let column =
            ColumnDef::new(names.unique(&path), node.kinds, node.present_count).with_form(&node.learner);
        let other = ValueKinds::NUMERIC.union(ValueKinds::TEXT).union(ValueKinds::ARRAY);
        let through = !node.children.is_empty() && !node.kinds.intersects(other);
        fields.push((if through { column.into_hidden() } else { column }, ColumnRole::Field(at as u32)));
    }
    if others.has_keys {
        let mut keys = ColumnDef::new(names.unique_builtin("_key"), ValueKinds::TEXT, others.item_count);
        keys.has_number_codes = true;
        columns.push(keys);
        roles.push(ColumnRole::Key);
    }
    for (column, role) in fields {
        columns.push(column);
        roles.push(role);
    }
    if others.scalar_count > 0 {
        let values = ColumnDef::new(names.unique_builtin("value"), others.scalar_kinds, others.scalar_count);
        columns.push(values.with_form(&others.scalar_learner));
        roles.push(ColumnRole::Value);
    }
    ColumnDef::push_record_columns(&mut columns, &mut names, others.item_count);
    roles.extend([ColumnRole::Record, ColumnRole::Index]);
    RecordShape { field_tree: tree, columns, roles, dropped_field_count: dropped }
}

/// Removes the fields inside maps, and the rarest fields beyond the column limit. Returns the tree, its
/// nodes in the order of columns, and the number of fields removed for the limit.
fn trim_fields(mut learnt: FieldTree) -> (FieldTree, usize) {
    let maps: Vec<usize> = (1..learnt.nodes.len()).filter(|at| is_map(&learnt, *at)).collect();
    for at in maps {
        if let Some(node) = learnt.nodes.get_mut(at) {
            node.children.clear();
            node.child_by_raw_key.clear();
        }
    }
    let mut order = preorder(&learnt);
    let fields = order.len();
    if fields > MAX_COLUMNS + 1 {
        let mut kept: Vec<(usize, u32)> = order.iter().copied().enumerate().collect();
        // A field is never rarer than its children and comes before them, so the kept fields stay
        // connected.
        kept.sort_by_key(|(position, at)| {
            (*at != 0, Reverse(learnt.nodes[*at as usize].present_count), *position)
        });
        kept.truncate(MAX_COLUMNS + 1);
        kept.sort_unstable();
        order = kept.into_iter().map(|(_, at)| at).collect();
    }
    let mut number = vec![None; learnt.nodes.len()];
    for (new, old) in order.iter().enumerate() {
        number[*old as usize] = Some(new as u32);
    }
    let dropped = fields - order.len();
    let nodes =
        order.iter().map(|at| renumber_children(std::mem::take(&mut learnt.nodes[*at as usize]), &number));
    (FieldTree { nodes: nodes.collect() }, dropped)
}

fn is_map(tree: &FieldTree, at: usize) -> bool {
    let node = &tree.nodes[at];
    let present: usize =
        node.children.iter().map(|below| tree.nodes[below.node as usize].present_count).sum();
    node.children.len() >= MAP_MIN_FIELDS
        && present.saturating_mul(MAP_SHARE) < node.children.len().saturating_mul(node.object_count)
}

/// Returns all reachable nodes, each before its children.
fn preorder(tree: &FieldTree) -> Vec<u32> {
    let mut order = Vec::new();
    let mut open = vec![0_u32];
    while let Some(at) = open.pop() {
        order.push(at);
        open.extend(tree.nodes[at as usize].children.iter().rev().map(|below| below.node));
    }
    order
}

fn renumber_children(mut node: FieldNode, number: &[Option<u32>]) -> FieldNode {
    let position: Vec<Option<u32>> = {
        let mut next = 0;
        let kept = node.children.iter().map(|below| number[below.node as usize].map(|_| (next, next += 1).0));
        kept.collect()
    };
    node.children = node
        .children
        .into_iter()
        .filter_map(|below| Some(ChildField { node: number[below.node as usize]?, ..below }))
        .collect();
    node.child_by_raw_key.retain(|_, at| match position.get(*at as usize) {
        Some(Some(new)) => {
            *at = *new;
            true
        }
        _ => false,
    });
    node
}
