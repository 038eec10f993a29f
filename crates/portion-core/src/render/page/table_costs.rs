//! Computes what records cost as a table, in which names and shared values are written once.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use portion_tokens::TokenCounter;

use super::costs::{Cost, CostedField, RecordCost, RecordCosts};

const HASHER: FixedState = FixedState::with_seed(7);
/// The members of a table without their content.
const FRAME: &str = "{\"columns\":[],\"rows\":[]}";
const CONSTANTS: &str = "\"constants\":{},";
const ABSENT: &str = "\"nullIsAbsent\":[],";

/// Records as a table.
pub(super) struct TableCosts<'a> {
    pub costs: &'a RecordCosts,
    pub records: &'a [RecordCost],
    /// For each field, true if it is written.
    pub keeps: &'a [bool],
    pub counter: &'a dyn TokenCounter,
}

/// A column of a table.
#[derive(Clone, Default)]
struct Column {
    /// Cost of its values.
    sum: Cost,
    value_count: usize,
    /// Hash of its first value, if all so far are equal.
    constant: Option<u64>,
    has_null: bool,
}

/// A value of a row.
struct Value {
    column: usize,
    cost: Cost,
    hash: u64,
    is_null: bool,
}

impl TableCosts<'_> {
    /// Returns the cost of the records: the lower one of objects in them as columns, and as values.
    pub(super) fn total(&self) -> Cost {
        let (nested, has_gaps) = self.with_columns(&|field| field.column);
        if !has_gaps {
            return nested;
        }
        let (flat, _) = self.with_columns(&|field| field.flat_column);
        if flat.bytes < nested.bytes { flat } else { nested }
    }

    /// Returns the cost of a table with these columns, and whether a record lacks a value.
    fn with_columns(&self, column_of: &dyn Fn(&CostedField) -> usize) -> (Cost, bool) {
        let separator = self.costs.separator;
        let mut columns = vec![Column::default(); self.costs.columns.len()];
        let rows: Vec<Vec<Value>> = self.records.iter().map(|record| self.row(record, column_of)).collect();
        let mut sum = Cost::of(FRAME, self.counter);
        for (at, row) in rows.iter().enumerate() {
            sum += self.records[at].key;
            sum += separator;
            for value in row {
                let column = &mut columns[value.column];
                column.sum += value.cost;
                column.constant = if at == 0 {
                    Some(value.hash)
                } else {
                    column.constant.filter(|first| *first == value.hash)
                };
                column.value_count += 1;
                column.has_null |= value.is_null;
            }
        }
        let mut shown: Vec<usize> = Vec::new();
        for (at, column) in columns.iter().enumerate().filter(|(_, column)| column.value_count > 0) {
            sum += self.costs.name_costs[at].plus(separator);
            if column.constant.is_some() && column.value_count == rows.len() {
                let first = rows.first().and_then(|row| row.iter().find(|value| value.column == at));
                sum += first.map_or(separator, |value| value.cost);
            } else {
                sum += column.sum;
                shown.push(at);
            }
        }
        if shown.len() < columns.iter().filter(|column| column.value_count > 0).count() {
            sum += Cost::of(CONSTANTS, self.counter);
        }
        sum += self.gaps(&rows, shown, &columns);
        let has_gaps = columns.iter().any(|column| column.value_count > 0 && column.value_count < rows.len());
        (sum, has_gaps)
    }

    /// Returns the values of a row.
    fn row(&self, record: &RecordCost, column_of: &dyn Fn(&CostedField) -> usize) -> Vec<Value> {
        let mut row: Vec<Value> = Vec::new();
        for cell in &record.cells {
            let Some(at) = cell.field.filter(|at| self.keeps.get(*at) == Some(&true)) else { continue };
            let column = column_of(&self.costs.fields[at]);
            if self.costs.columns[column] == self.costs.fields[at].path {
                row.push(Value { column, cost: cell.bare, hash: cell.hash, is_null: cell.is_null });
                continue;
            }
            let cost = cell.named.plus(cell.opening);
            if let Some(value) = row.last_mut().filter(|value| value.column == column) {
                value.cost += cost;
                value.hash = HASHER.hash_one((value.hash, at, cell.hash));
            } else {
                let cost = cost.plus(self.costs.separator);
                row.push(Value { column, cost, hash: cell.hash, is_null: false });
            }
        }
        row
    }

    /// Returns the cost of missing values: a null each, unless all after it in the row are missing, and their marks.
    fn gaps(&self, rows: &[Vec<Value>], mut shown: Vec<usize>, columns: &[Column]) -> Cost {
        shown.sort_by_key(|column| rows.len().saturating_sub(columns[*column].value_count));
        let mut place = vec![None; columns.len()];
        shown.iter().enumerate().for_each(|(at, column)| place[*column] = Some(at));
        let (null, index) = (Cost::of("null,", self.counter), Cost::of("99,", self.counter));
        let mut sum = Cost::default();
        for row in rows {
            let mut places: Vec<usize> = row.iter().filter_map(|value| place[value.column]).collect();
            places.sort_unstable();
            let length = places.last().map_or(0, |last| last + 1);
            let missing = (0..length).filter(|at| places.binary_search(at).is_err());
            for column in missing.map(|at| &columns[shown[at]]) {
                sum += null;
                sum += if column.has_null { index } else { Cost::default() };
            }
        }
        if sum != Cost::default() {
            sum += Cost::of(ABSENT, self.counter);
            let marked = shown.iter().filter(|column| columns[**column].value_count < rows.len());
            marked.for_each(|column| sum += self.costs.name_costs[*column].plus(self.costs.separator));
        }
        sum
    }
}
