//! Tables of a view. Rows are found on first use; the columns that statements use are decoded once and kept.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use portion_core::missing_codes::MissingCodes;

use crate::cell::Cell;
use crate::column::{ColumnDef, Comparison};
use crate::index::{ColumnIndex, NumberCodes, sorted_rows};
use crate::limits::QueryDeadline;
use crate::redaction;
use crate::spellings::{Spelling, Spellings};
use crate::table_rows::{ColumnSet, FoundTable, RowBuffer, RowSource, TableRows, should_stop_at};
use crate::typed_column::{ColumnBuilder, TypedColumn};

/// A table of a view.
pub(crate) struct VirtualTable {
    pub(crate) name: String,
    source: Box<dyn RowSource>,
    /// Dotted paths of fields that were redacted, in this table or another.
    redacted_fields: Arc<[String]>,
    missing: MissingCodes,
    opened: OnceLock<Arc<OpenTable>>,
}

impl VirtualTable {
    pub(crate) fn new(
        name: String,
        source: impl RowSource + 'static,
        redacted: Arc<[String]>,
        missing: MissingCodes,
    ) -> Self {
        Self { name, source: Box::new(source), redacted_fields: redacted, missing, opened: OnceLock::new() }
    }

    /// Returns the rows if they were found.
    pub(crate) fn opened(&self) -> Option<&Arc<OpenTable>> {
        self.opened.get()
    }

    /// Returns the rows, found once; `None` if the deadline was reached.
    pub(crate) fn open(&self, deadline: &QueryDeadline) -> Option<Arc<OpenTable>> {
        if let Some(opened) = self.opened.get() {
            return Some(Arc::clone(opened));
        }
        let mut found = self.source.open(deadline)?;
        redaction::mark_redacted(&mut found, &self.redacted_fields, deadline)?;
        let opened = Arc::new(OpenTable { found, missing: self.missing.clone(), kept: Mutex::default() });
        Some(Arc::clone(self.opened.get_or_init(|| opened)))
    }

    /// Returns the heap size of what is kept beside the rows.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.opened().map_or(0, |opened| opened.lock_kept().bytes + opened.found.heap_bytes)
    }

    /// Drops the decoded columns and the indexes.
    pub(crate) fn drop_columns(&self) {
        if let Some(opened) = self.opened() {
            *opened.lock_kept() = Kept::default();
        }
    }
}

impl fmt::Debug for VirtualTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A table whose rows and columns are known.
pub(crate) struct OpenTable {
    pub(crate) found: FoundTable,
    missing: MissingCodes,
    kept: Mutex<Kept>,
}

/// Columns and indexes that were built.
#[derive(Default)]
struct Kept {
    columns: HashMap<usize, Arc<TypedColumn>>,
    indexes: HashMap<(usize, Comparison), Arc<ColumnIndex>>,
    orders: HashMap<(usize, bool), Arc<[u32]>>,
    codes: HashMap<usize, Arc<NumberCodes>>,
    spellings: HashMap<usize, Arc<Spellings>>,
    bytes: usize,
}

impl OpenTable {
    pub(crate) fn columns(&self) -> &[ColumnDef] {
        &self.found.columns
    }

    pub(crate) fn len(&self) -> usize {
        self.found.row_count
    }

    /// Returns the rows as they are written.
    pub(crate) fn rows(&self) -> &dyn TableRows {
        &*self.found.rows
    }

    fn lock_kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a cell of the row that was read last, in its storage class, and true if its number stands for a missing value.
    pub(crate) fn cell<'a>(&self, cell: Cell<'a>, column: usize) -> (Cell<'a>, bool) {
        let Some(def) = self.columns().get(column) else { return (Cell::Null, false) };
        let cell = def.typed(cell);
        let number = match cell {
            _ if self.missing.is_empty() => return (cell, false),
            Cell::Integer(number) => number,
            Cell::Real(number) if number.fract() == 0.0 => number as i64,
            _ => return (cell, false),
        };
        if self.missing.has(number, &def.name) { (Cell::Null, true) } else { (cell, false) }
    }

    /// Returns true if the values of a column are kept once they were decoded.
    pub(crate) fn is_kept(&self, column: usize) -> bool {
        self.columns().get(column).is_some_and(|def| !def.is_computed && !def.is_record)
    }

    /// Returns the decoded values of a column, if they are kept.
    pub(crate) fn kept_column(&self, column: usize) -> Option<Arc<TypedColumn>> {
        self.lock_kept().columns.get(&column).map(Arc::clone)
    }

    /// Decodes columns in one pass, and keeps them; `None` if the deadline was reached.
    pub(crate) fn decode(
        &self,
        columns: &[usize],
        deadline: &QueryDeadline,
    ) -> Option<Vec<Arc<TypedColumn>>> {
        let wanted: Vec<usize> = {
            let kept = self.lock_kept();
            columns.iter().copied().filter(|column| !kept.columns.contains_key(column)).collect()
        };
        let source = &self.found.text;
        let mut builders: Vec<ColumnBuilder> =
            wanted.iter().map(|_| ColumnBuilder::new(source.clone(), self.len())).collect();
        if !wanted.is_empty() {
            let set = wanted.iter().fold(ColumnSet(0), |set, column| set.with(*column));
            let mut row = self.rows().new_row(set);
            for at in 0..self.len() {
                if should_stop_at(at + 1, deadline) {
                    return None;
                }
                self.rows().read_row(at, &mut row);
                for (column, builder) in wanted.iter().zip(&mut builders) {
                    let (cell, is_missing) = self.cell(self.rows().cell(&row, *column), *column);
                    if !builder.push(&cell) {
                        return None;
                    }
                    builder.has_missing |= is_missing;
                }
            }
        }
        let mut kept = self.lock_kept();
        for (column, builder) in wanted.into_iter().zip(builders) {
            let decoded = Arc::new(builder.finish());
            kept.bytes += decoded.heap_bytes();
            kept.columns.insert(column, decoded);
        }
        Some(columns.iter().filter_map(|column| kept.columns.get(column).map(Arc::clone)).collect())
    }

    /// Calls `visit` with the value of each row of a column, which is not kept; `None` if the deadline was reached.
    fn computed_values(
        &self,
        column: usize,
        deadline: &QueryDeadline,
    ) -> impl Iterator<Item = Option<Cell<'static>>> {
        let mut row = self.rows().new_row(ColumnSet::of(column));
        (0..self.len()).map(move |at| {
            if should_stop_at(at + 1, deadline) {
                return None;
            }
            self.rows().read_row(at, &mut row);
            Some(self.cell(self.rows().cell(&row, column), column).0.into_owned())
        })
    }

    /// Returns an index of a column that was built, if there is one.
    pub(crate) fn kept_index(&self, column: usize, comparison: Comparison) -> Option<Arc<ColumnIndex>> {
        self.lock_kept().indexes.get(&(column, comparison)).map(Arc::clone)
    }

    /// Returns the index of a column, built on first use; `None` if the deadline was reached.
    pub(crate) fn index(
        &self,
        column: usize,
        comparison: Comparison,
        deadline: &QueryDeadline,
    ) -> Option<Arc<ColumnIndex>> {
        self.keep(
            |kept| &mut kept.indexes,
            (column, comparison),
            || {
                let index = if self.is_kept(column) {
                    let values = self.decode(&[column], deadline)?.pop()?;
                    let value = |at| (!should_stop_at(at + 1, deadline)).then(|| values.value(at));
                    ColumnIndex::build(comparison, (0..self.len()).map(value))?
                } else {
                    ColumnIndex::build(comparison, self.computed_values(column, deadline))?
                };
                let bytes = index.heap_bytes();
                Some((Arc::new(index), bytes))
            },
        )
    }

    /// Returns the rows in the order of a column, sorted once; `None` if the deadline was reached.
    pub(crate) fn order(
        &self,
        column: usize,
        is_descending: bool,
        deadline: &QueryDeadline,
    ) -> Option<Arc<[u32]>> {
        self.keep(
            |kept| &mut kept.orders,
            (column, is_descending),
            || {
                let comparison = self.columns().get(column)?.comparison();
                let values = self.decode(&[column], deadline)?.pop()?;
                let order = sorted_rows(self.len(), is_descending, comparison, |at| values.value(at));
                let bytes = size_of_val(order.as_slice());
                Some((order.into(), bytes))
            },
        )
    }

    /// Returns the codes of a column by their numbers, found on first use; `None` if the deadline was reached.
    pub(crate) fn number_codes(&self, column: usize, deadline: &QueryDeadline) -> Option<Arc<NumberCodes>> {
        self.keep(
            |kept| &mut kept.codes,
            column,
            || {
                let values = self.decode(&[column], deadline)?.pop()?;
                let codes = NumberCodes::build(values, self.len(), |at| should_stop_at(at + 1, deadline))?;
                let bytes = codes.heap_bytes();
                Some((Arc::new(codes), bytes))
            },
        )
    }

    /// Returns what is kept under a key, or builds it, with its size in bytes, and keeps it.
    fn keep<K: Eq + Hash, T: ?Sized>(
        &self,
        map: fn(&mut Kept) -> &mut HashMap<K, Arc<T>>,
        key: K,
        build: impl FnOnce() -> Option<(Arc<T>, usize)>,
    ) -> Option<Arc<T>> {
        if let Some(known) = map(&mut self.lock_kept()).get(&key) {
            return Some(Arc::clone(known));
        }
        let (value, bytes) = build()?;
        let mut kept = self.lock_kept();
        kept.bytes += bytes;
        map(&mut kept).insert(key, Arc::clone(&value));
        Some(value)
    }

    /// Returns how a number in a column is written: in a row, or if that is not known, in all of them.
    pub(crate) fn spelling(
        &self,
        column: usize,
        number: &Cell<'_>,
        row: Option<usize>,
        deadline: &QueryDeadline,
    ) -> Option<Spelling> {
        let Some(at) = row else { return self.spellings(column, deadline)?.get(number).cloned() };
        let mut row = self.rows().new_row(ColumnSet::of(column));
        self.rows().read_row(at, &mut row);
        let (typed, written) = self.written(&row, column)?;
        Spelling::of(written).filter(|_| typed == *number)
    }

    /// Returns a cell of the row that was read last, in its storage class and as it is written.
    fn written<'a>(&'a self, row: &'a RowBuffer, column: usize) -> Option<(Cell<'a>, Cell<'a>)> {
        let typed = self.columns().get(column)?.typed(self.rows().cell(row, column));
        Some((typed, self.rows().written_cell(row, column)))
    }

    /// Returns how the numbers of a column are written, found on first use; `None` if the deadline was reached.
    pub(crate) fn spellings(&self, column: usize, deadline: &QueryDeadline) -> Option<Arc<Spellings>> {
        self.keep(
            |kept| &mut kept.spellings,
            column,
            || {
                let (mut spellings, mut row) =
                    (Spellings::default(), self.rows().new_row(ColumnSet::of(column)));
                for at in 0..self.len() {
                    if should_stop_at(at + 1, deadline) {
                        return None;
                    }
                    self.rows().read_row(at, &mut row);
                    if let Some((typed, written)) = self.written(&row, column) {
                        spellings.insert(&typed, written);
                    }
                }
                let bytes = spellings.heap_bytes();
                Some((Arc::new(spellings), bytes))
            },
        )
    }

    /// Calls `find` with the values of a column in the first `max` rows, until it returns a value.
    pub(crate) fn find_in_column<T>(
        &self,
        column: usize,
        max: usize,
        mut find: impl FnMut(Cell<'_>) -> Option<T>,
    ) -> Option<T> {
        let mut row: RowBuffer = self.rows().new_row(ColumnSet::of(column));
        (0..self.len().min(max)).find_map(|at| {
            self.rows().read_row(at, &mut row);
            find(self.cell(self.rows().cell(&row, column), column).0)
        })
    }

    /// Returns the first text of a column, as it is written, that satisfies a condition.
    pub(crate) fn find_written(
        &self,
        column: usize,
        max: usize,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Option<String> {
        let mut row = self.rows().new_row(ColumnSet::of(column));
        (0..self.len().min(max)).find_map(|at| {
            self.rows().read_row(at, &mut row);
            match self.rows().written_cell(&row, column) {
                Cell::Text(text) if is_wanted(&text) => Some(text.into_owned()),
                _ => None,
            }
        })
    }
}
