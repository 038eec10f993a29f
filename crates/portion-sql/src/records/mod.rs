//! JSON lists as tables: one row per item, one column per field.

mod column_rows;
mod leaves;
mod shape;
mod source;
mod tree;

use portion_core::snapshot::{Slice, with_key_field};
use portion_json::scan::JsonReader;
use portion_json::span::Span;

use crate::cell::Cell;
use crate::column::ColumnDef;
use crate::table_rows::{ColumnSet, RowBuffer, TableRows};
pub(crate) use column_rows::ColumnArraysSource;
pub(crate) use leaves::{LEAF_COLUMNS, LEAF_VALUE, LeafDocument, LeavesSource};
pub(crate) use source::{BlocksSource, HeaderRowSource, ListBlocksSource, ListSource, RowKind, ValueSource};
use tree::FieldTree;
pub(crate) use tree::MAX_DEPTH;

/// The rows of a list, whose items and fields were scanned once.
pub(crate) struct RecordRows {
    text: Slice,
    /// Values of the items.
    items: Vec<Span>,
    /// Keys of the items of a map.
    keys: Vec<Span>,
    /// Fields; for a columnar table, its columns.
    field_tree: FieldTree,
    /// Quoted column names of a columnar table.
    header_names: Option<Vec<String>>,
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

    /// Returns a row of a columnar table as an object.
    fn row_as_object(&self, names: &[String], row: &RowBuffer) -> String {
        let mut object = String::from("{");
        for (name, cell) in names.iter().zip(tree::row_cells(self.item(row))) {
            if object.len() > 1 {
                object.push(',');
            }
            object.push_str(name);
            object.push(':');
            object.push_str(cell);
        }
        object.push('}');
        object
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
        if self.header_names.is_some() {
            tree::read_cell_spans(&mut reader, &mut row.spans);
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
            Some(ColumnRole::Record) => match &self.header_names {
                Some(names) => Cell::Text(self.row_as_object(names, row).into()),
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
