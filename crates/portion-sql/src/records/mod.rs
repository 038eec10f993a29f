//! Lists of JSON as tables: a row an item, a column a field.

mod shape;
mod source;
mod tree;

pub(crate) use source::{ArrayAt, ListOf, ObjectAt};

use portion_core::scan::Reader;
use portion_core::snapshot::{Slice, keyed};
use portion_core::span::Span;

use crate::cell::Cell;
use crate::column::Column;
use crate::table::{Row, Rows, Wanted};
use tree::Tree;

/// A list whose items were looked at once: where they are, and which fields they have.
pub(crate) struct Records {
    text: Slice,
    /// The values of the items.
    items: Vec<Span>,
    /// Their keys, of a map.
    keys: Vec<Span>,
    /// The fields; of a columnar table, its columns.
    tree: Tree,
    /// The names above the cells of a row, quoted, of a columnar table.
    header: Option<Vec<String>>,
    columns: Vec<Column>,
    /// What each column shows.
    roles: Vec<Role>,
    /// Names of fields, the most telling first.
    telling: Vec<String>,
    dropped: usize,
}

/// What a column shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
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

impl Records {
    fn item(&self, row: &Row) -> &str {
        self.items.get(row.at).map_or("", |span| span.of(&self.text))
    }

    /// An object of a map with its key, by which it is known, before all else.
    fn with_key(&self, row: &Row) -> Option<String> {
        keyed(self.keys.get(row.at)?.of(&self.text), self.item(row))
    }

    /// A row of a columnar table as the object that it stands for.
    fn object(&self, names: &[String], row: &Row) -> String {
        let mut object = String::from("{");
        for (name, cell) in names.iter().zip(tree::cells(self.item(row))) {
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

impl Rows for Records {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.items.len()
    }

    fn blank(&self, wanted: Wanted) -> Row {
        let mut row = Row { wanted, places: vec![false; self.tree.len()], ..Row::default() };
        for (column, role) in self.roles.iter().enumerate() {
            if let Role::Field(node) = role
                && wanted.has(column)
                && let Some(place) = row.places.get_mut(*node as usize)
            {
                *place = true;
                row.count += 1;
            }
        }
        row
    }

    fn read(&self, at: usize, row: &mut Row) {
        row.at = at;
        row.spans.clear();
        row.spans.resize(self.tree.len(), Span::default());
        let Some(item) = self.items.get(at) else { return };
        let mut reader = Reader::resume(&self.text, item.start as usize);
        if self.header.is_some() {
            tree::read_cells(&mut reader, &mut row.spans);
        } else if row.count > 0 {
            self.tree.read(&mut reader, &row.places, row.count, &mut row.spans);
        }
    }

    fn cell<'a>(&'a self, row: &'a Row, column: usize) -> Cell<'a> {
        let text: &str = &self.text;
        match self.roles.get(column) {
            Some(Role::Field(node)) => match row.spans.get(*node as usize) {
                Some(span) if !span.is_empty() => Cell::of_json(span.of(text)),
                _ => Cell::Null,
            },
            Some(Role::Key) => self.keys.get(row.at).map_or(Cell::Null, |key| Cell::of_json(key.of(text))),
            Some(Role::Value) => match self.item(row) {
                object if object.starts_with('{') => Cell::Null,
                value => Cell::of_json(value),
            },
            Some(Role::Record) => match &self.header {
                Some(names) => Cell::Text(self.object(names, row).into()),
                None => match self.with_key(row) {
                    Some(object) => Cell::Text(object.into()),
                    None => Cell::text(self.item(row)),
                },
            },
            Some(Role::Index) => Cell::count(row.at),
            None => Cell::Null,
        }
    }

    fn telling(&self) -> Vec<String> {
        self.telling.clone()
    }

    fn without_column(&self) -> usize {
        self.dropped
    }
}
