//! Tables that are written column by column.

use std::sync::Arc;

use portion_core::snapshot::{ColumnArrays, Slice};
use portion_json::scan::quote;
use portion_json::span::Span;
use portion_text::column_form::FormLearner;
use portion_text::names::UniqueNames;

use super::{ColumnRole, tree};
use crate::cell::{Cell, ValueKinds};
use crate::column::ColumnDef;
use crate::limits::QueryDeadline;
use crate::table_rows::{RowBuffer, RowSource, TableRows};

/// Arrays of equal length, each of which is a column.
pub(crate) struct ColumnArraysSource {
    pub(crate) text: Slice,
    pub(crate) arrays: ColumnArrays,
}

impl RowSource for ColumnArraysSource {
    fn open(&self, deadline: &QueryDeadline) -> Option<Arc<dyn TableRows>> {
        let mut cells = Vec::new();
        for column in &self.arrays.columns {
            if deadline.is_over() {
                return None;
            }
            cells.push(ColumnArrays::items(&self.text, column, self.arrays.row_count));
        }
        let names = self.arrays.names(&self.text);
        Some(Arc::new(ColumnRows::new(&self.text, names, cells, self.arrays.row_count)))
    }
}

/// Rows whose cells are kept by column.
struct ColumnRows {
    text: Slice,
    /// Names of the columns as JSON strings.
    quoted_names: Vec<String>,
    /// Values of each column. A missing one is empty.
    cells: Vec<Vec<Span>>,
    row_count: usize,
    columns: Vec<ColumnDef>,
    /// Content of each column.
    roles: Vec<ColumnRole>,
}

impl ColumnRows {
    fn new(text: &Slice, names: Vec<String>, cells: Vec<Vec<Span>>, row_count: usize) -> Self {
        let quoted_names = names.iter().map(|name| quote(name)).collect();
        let (mut columns, mut roles) = (Vec::new(), Vec::new());
        let (mut unique, mut unlike) = (UniqueNames::default(), names);
        UniqueNames::number_variants(&mut unlike);
        for (at, (name, cells)) in unlike.iter().zip(&cells).enumerate().take(super::MAX_COLUMNS) {
            let (mut kinds, mut learner) = (ValueKinds::default(), FormLearner::default());
            let values = cells.iter().filter(|cell| !cell.is_empty()).map(|cell| cell.slice(text));
            values.for_each(|value| tree::learn_value(value, &mut kinds, &mut learner));
            columns.push(ColumnDef::new(unique.unique(name), kinds, row_count).with_form(&learner));
            roles.push(ColumnRole::Field(at as u32));
        }
        ColumnDef::push_record_columns(&mut columns, &mut unique, row_count);
        roles.extend([ColumnRole::Record, ColumnRole::Index]);
        Self { text: text.clone(), quoted_names, cells, row_count, columns, roles }
    }

    fn value(&self, column: usize, row: usize) -> Option<&str> {
        let span = self.cells.get(column)?.get(row).filter(|span| !span.is_empty())?;
        Some(span.slice(&self.text))
    }

    fn row_as_object(&self, row: usize) -> String {
        let members = self.quoted_names.iter().enumerate();
        let members = members.filter_map(|(at, name)| Some(format!("{name}:{}", self.value(at, row)?)));
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }
}

impl TableRows for ColumnRows {
    fn columns(&self) -> &[ColumnDef] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.row_count
    }

    fn source_text(&self) -> Slice {
        self.text.clone()
    }

    fn cell<'a>(&'a self, row: &'a RowBuffer, column: usize) -> Cell<'a> {
        match self.roles.get(column) {
            Some(ColumnRole::Field(at)) => {
                self.value(*at as usize, row.index).map_or(Cell::Null, Cell::from_json)
            }
            Some(ColumnRole::Record) => Cell::Text(self.row_as_object(row.index).into()),
            Some(ColumnRole::Index) => Cell::from_count(row.index),
            _ => Cell::Null,
        }
    }

    fn unlisted_field_count(&self) -> usize {
        self.quoted_names.len().saturating_sub(super::MAX_COLUMNS)
    }
}
