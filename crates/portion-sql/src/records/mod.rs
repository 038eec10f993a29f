//! Lists of JSON as tables: a row an item, a column a field.

mod shape;
mod source;
mod tree;

pub(crate) use source::{ArraySource, ListSource, ObjectSource};

use portion_core::scan::JsonReader;
use portion_core::snapshot::{Slice, with_key_field};
use portion_core::span::Span;

use crate::cell::Cell;
use crate::column::ColumnDef;
use crate::table::{ColumnSet, RowBuffer, TableRows};
use tree::FieldTree;

/// A list whose items were looked at once: where they are, and which fields they have.
pub(crate) struct RecordRows {
    text: Slice,
    /// The values of the items.
    items: Vec<Span>,
    /// Their keys, of a map.
    keys: Vec<Span>,
    /// The fields; of a columnar table, its columns.
    field_tree: FieldTree,
    /// The names above the cells of a row, quoted, of a columnar table.
    header_names: Option<Vec<String>>,
    columns: Vec<ColumnDef>,
    /// What each column shows.
    roles: Vec<ColumnRole>,
    /// Names of fields, the most telling first.
    ranked_fields: Vec<String>,
    dropped_field_count: usize,
}

/// What a column shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnRole {
    /// A field: a node of the tree.
    Field(u32),
    /// The key of an item in a map.
    Key,
    /// An item that is no object.
    Value,
    /// All of an item.
    Record,
    /// Its place, from 0.
    Index,
}

impl RecordRows {
    fn item(&self, row: &RowBuffer) -> &str {
        self.items.get(row.index).map_or("", |span| span.slice(&self.text))
    }

    /// An object of a map with its key, by which it is known, before all else.
    fn keyed_object(&self, row: &RowBuffer) -> Option<String> {
        with_key_field(self.keys.get(row.index)?.slice(&self.text), self.item(row))
    }

    /// A row of a columnar table as the object that it stands for.
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

    fn new_row(&self, wanted: ColumnSet) -> RowBuffer {
        let mut row = RowBuffer {
            wanted_columns: wanted,
            wanted_nodes: vec![false; self.field_tree.len()],
            ..RowBuffer::default()
        };
        for (column, role) in self.roles.iter().enumerate() {
            if let ColumnRole::Field(node) = role
                && wanted.contains(column)
                && let Some(place) = row.wanted_nodes.get_mut(*node as usize)
            {
                *place = true;
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
