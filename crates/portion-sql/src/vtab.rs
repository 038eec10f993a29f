//! The bridge to SQLite: virtual tables that it reads through callbacks.
//!
//! This is the only `unsafe` code of Portion. It promises what the traits of rusqlite require: both
//! structs begin with the base struct of SQLite, as in C inheritance. They own what they read from
//! (`Arc`s), so nothing is borrowed across calls. A panic must not unwind into C, so every callback that
//! does work catches panics.
#![allow(unsafe_code)]

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use portion_text::column_form::ColumnForm;
use rusqlite::types::Null;
use rusqlite::vtab::{
    Context, DistinctMode, Filters, IndexConstraint, IndexConstraintOp, IndexInfo, Module, VTab, VTabConfig,
    VTabConnection, VTabCursor, sqlite3_vtab, sqlite3_vtab_cursor,
};
use rusqlite::{Connection, Error, Result, ffi};

use crate::cell::Cell;
use crate::column::{ColumnDef, Comparison, Redaction};
use crate::functions::interrupted_error;
use crate::index::NumberCodes;
use crate::limits::QueryDeadline;
use crate::table::{OpenTable, VirtualTable};
use crate::table_rows::{ColumnSet, RowBuffer};
use crate::typed_column::TypedColumn;
use crate::usage::StatementUsage;

/// Rows that are read from the text before the columns of a statement are decoded as a whole.
const ROWS_BEFORE_DECODING: usize = 48;

/// Registers a table with a connection under a name. `number`: its place in the catalogue.
pub(crate) fn register(
    connection: &Connection,
    name: &str,
    (number, table): (usize, &Arc<VirtualTable>),
    deadline: &Arc<QueryDeadline>,
    usage: &Arc<StatementUsage>,
) -> Result<()> {
    const MODULE: Module<'_, TableHandle> = Module::eponymous_only_module();
    let (table, deadline, usage) = (Arc::clone(table), Arc::clone(deadline), Arc::clone(usage));
    connection.create_module(name, &MODULE, Some(TableContext { number, table, deadline, usage }))
}

/// The context with which a table is opened.
struct TableContext {
    number: usize,
    table: Arc<VirtualTable>,
    deadline: Arc<QueryDeadline>,
    usage: Arc<StatementUsage>,
}

/// A table that a statement names.
#[repr(C)]
struct TableHandle {
    base: sqlite3_vtab,
    table: Arc<OpenTable>,
    deadline: Arc<QueryDeadline>,
    usage: Arc<StatementUsage>,
}

/// A cursor over the rows of a table.
#[repr(C)]
struct RowCursor {
    base: sqlite3_vtab_cursor,
    table: Arc<OpenTable>,
    deadline: Arc<QueryDeadline>,
    usage: Arc<StatementUsage>,
    /// Rows to visit, if not all.
    visited: Visited,
    /// Number of rows visited since the last start, and in all.
    rows_done: usize,
    rows_in_all: usize,
    read: RefCell<ReadState>,
}

/// The rows that a cursor visits.
enum Visited {
    All,
    Sorted(Arc<[u32]>),
    Found(Vec<u32>),
}

/// Columns as far as they are decoded, and the row whose cells were read from the text last.
#[derive(Default)]
struct ReadState {
    decoded: Vec<Option<Arc<TypedColumn>>>,
    /// Columns that were read from the text.
    undecoded: BTreeSet<usize>,
    row: RowBuffer,
    /// True if it is the row at the cursor.
    is_current: bool,
}

/// A plan of SQLite as its number.
#[derive(Clone, Copy)]
enum Plan {
    Scan,
    /// The column that equals a value, and true for the comparison of the column rather than the plain one.
    Equals(usize, bool),
    /// The column to sort by, and true for the descending order.
    Order(usize, bool),
}

// SAFETY: `TableHandle` is `repr(C)` and its first field is the `sqlite3_vtab`.
unsafe impl VTab<'_> for TableHandle {
    type Aux = TableContext;
    type Cursor = RowCursor;

    fn connect(
        connection: &mut VTabConnection,
        context: Option<&TableContext>,
        _: &[u8],
        _: &[u8],
        name: &[u8],
        _: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, Self)> {
        catch_panic(|| {
            let TableContext { number, table, deadline, usage } =
                context.ok_or_else(|| Error::ModuleError("no table".into()))?;
            connection.config(VTabConfig::Innocuous)?;
            let opened = table.open(deadline).ok_or_else(|| match deadline.stop_reason() {
                Some(_) => interrupted_error(),
                None => Error::ModuleError(format!(
                    "{} cannot be read: its cells span too many columns and rows; use lines, or find",
                    table.name
                )),
            })?;
            let name = String::from_utf8_lossy(name);
            let mut declared = Vec::with_capacity(opened.columns().len());
            // A list without elements has one column that `*` selects, as each table of SQLite has.
            let has_none = opened.columns().iter().all(|column| column.is_hidden);
            for (at, column) in opened.columns().iter().enumerate() {
                if let ColumnForm::Time(order) = column.form {
                    usage.date_orders.fetch_or(order as u8, Ordering::Relaxed);
                }
                if let Some(collation) = column.code_collation(&name, at) {
                    // SAFETY: the connection is open during this call, and a borrowed one does not close it.
                    let borrowed = unsafe { Connection::from_handle(connection.handle())? };
                    let (table, deadline) = (Arc::clone(&opened), Arc::clone(deadline));
                    let codes = OnceLock::new();
                    borrowed.create_collation(collation.as_str(), move |a, b| {
                        if !NumberCodes::may_mean(a) && !NumberCodes::may_mean(b) {
                            return a.cmp(b);
                        }
                        let codes = codes.get_or_init(|| table.number_codes(at, &deadline));
                        codes.as_ref().map_or_else(|| a.cmp(b), |codes| codes.meant(a).cmp(&codes.meant(b)))
                    })?;
                }
                declared.push(column.declaration((*number, &name), at, column.is_hidden && !has_none));
            }
            let statement = CString::new(format!("CREATE TABLE x({})", declared.join(", ")))?;
            let (base, deadline, usage) = (sqlite3_vtab::default(), Arc::clone(deadline), Arc::clone(usage));
            Ok((Cow::Owned(statement), Self { base, table: opened, deadline, usage }))
        })
    }

    /// Chooses the rows with a value in a column, rows in the order of a column, or all rows. The plan passes on which
    /// columns are used.
    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        let rows = self.table.len() as f64;
        let mut plan = Plan::Scan;
        if let Some((at, column, comparison)) = self.equality(info)? {
            info.constraint_usage(at).set_argv_index(1);
            let kept = self.table.kept_index(column, comparison);
            let found = kept.map_or(rows.sqrt(), |index| index.rows_per_value()).max(1.0);
            info.set_estimated_rows(found as i64);
            info.set_estimated_cost(found * 10.0 + 10.0);
            plan = Plan::Equals(column, comparison != Comparison::Binary);
        } else {
            info.set_estimated_rows(rows as i64);
            info.set_estimated_cost(rows * 10.0 + 10.0);
            // The values of DISTINCT stay in the order of the rows.
            let is_order = info.distinct() != DistinctMode::Distinct;
            let mut orders = info.order_bys();
            if is_order
                && let (Some(order), None) = (orders.next(), orders.next())
                && let Ok(column) = usize::try_from(order.column())
                && self.table.is_kept(column)
                // Hidden values must not be sorted unseen.
                && self.table.columns()[column].redaction != Redaction::Whole
            {
                plan = Plan::Order(column, order.is_order_by_desc());
            }
            info.set_order_by_consumed(matches!(plan, Plan::Order(..)));
        }
        info.set_idx_num(plan.number());
        info.set_idx_str(&format!("{:x}", info.col_used()));
        Ok(true)
    }

    fn open(&mut self) -> Result<RowCursor> {
        self.usage.cursor_count.fetch_add(1, Ordering::Relaxed);
        Ok(RowCursor {
            base: sqlite3_vtab_cursor::default(),
            table: Arc::clone(&self.table),
            deadline: Arc::clone(&self.deadline),
            usage: Arc::clone(&self.usage),
            visited: Visited::All,
            rows_done: 0,
            rows_in_all: 0,
            read: RefCell::default(),
        })
    }
}

impl TableHandle {
    /// Finds the constraint that a column equals a value with the fewest rows, and returns it with the column and the
    /// comparison.
    fn equality(&self, info: &IndexInfo) -> Result<Option<(usize, usize, Comparison)>> {
        let is_equality =
            |of: &IndexConstraint<'_>| of.operator() == IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ;
        let has_choice = info.constraints().filter(is_equality).count() > 1;
        let mut best = None;
        for (at, constraint) in info.constraints().enumerate() {
            if constraint.is_usable()
                && is_equality(&constraint)
                && let Ok(column) = usize::try_from(constraint.column())
                && let Some(comparison) = Comparison::of_collation(info.collation(at)?)
                // SQLite compares each value of IN with a text column by its text, in which `2.0` may be `2`.
                && (self.table.columns()[column].is_numeric() || !info.is_in_constraint(at)?)
                // The index has one comparison for the column beside the plain one.
                && (comparison == Comparison::Binary || comparison == self.table.columns()[column].comparison())
            {
                let found = (at, column, comparison);
                if !has_choice {
                    return Ok(Some(found));
                }
                let index = self.table.index(column, comparison, &self.deadline);
                let rows = index.ok_or_else(interrupted_error)?.rows_per_value();
                best = best.filter(|(least, _)| *least <= rows).or(Some((rows, found)));
            }
        }
        Ok(best.map(|(_, found)| found))
    }
}

impl Plan {
    fn number(self) -> c_int {
        let code = match self {
            Self::Scan => 0,
            Self::Equals(column, is_own) => 1 + 4 * column + usize::from(is_own),
            Self::Order(column, is_descending) => 3 + 4 * column + usize::from(is_descending),
        };
        c_int::try_from(code).unwrap_or(0)
    }

    fn of_number(code: c_int) -> Self {
        match usize::try_from(code).ok().and_then(|code| code.checked_sub(1)) {
            None => Self::Scan,
            Some(code) if code % 4 < 2 => Self::Equals(code / 4, code % 4 == 1),
            Some(code) => Self::Order(code / 4, code % 4 == 3),
        }
    }
}

// SAFETY: `RowCursor` is `repr(C)` and its first field is the `sqlite3_vtab_cursor`.
unsafe impl VTabCursor for RowCursor {
    fn filter(&mut self, plan: c_int, used_columns: Option<&str>, values: &Filters<'_>) -> Result<()> {
        catch_panic(|| {
            let used_columns =
                used_columns.and_then(|used_columns| u64::from_str_radix(used_columns, 16).ok());
            let used_columns = used_columns.map_or_else(ColumnSet::default, ColumnSet);
            self.rows_done = 0;
            if self.deadline.is_over() {
                return Err(interrupted_error());
            }
            let state = self.read.get_mut();
            state.is_current = false;
            if state.decoded.is_empty() {
                state.row = self.table.rows().new_row(used_columns);
                state.decoded = (0..self.table.columns().len())
                    .map(|column| {
                        used_columns.contains(column).then(|| self.table.kept_column(column)).flatten()
                    })
                    .collect();
                state
                    .decoded
                    .iter()
                    .flatten()
                    .for_each(|column| self.usage.record_missing(column.has_missing));
            }
            self.visited = match (Plan::of_number(plan), values.iter().next()) {
                (Plan::Equals(column, is_own), Some(value)) => {
                    let own = self.table.columns().get(column).filter(|_| is_own);
                    let comparison = own.map_or(Comparison::Binary, ColumnDef::comparison);
                    let index = self.table.index(column, comparison, &self.deadline);
                    index.ok_or_else(interrupted_error)?.lookup(value).map_or(Visited::All, Visited::Found)
                }
                (Plan::Order(column, is_descending), _) => {
                    let order = self.table.order(column, is_descending, &self.deadline);
                    Visited::Sorted(order.ok_or_else(interrupted_error)?)
                }
                _ => Visited::All,
            };
            Ok(())
        })
    }

    fn next(&mut self) -> Result<()> {
        self.rows_done += 1;
        self.rows_in_all += 1;
        let state = self.read.get_mut();
        state.is_current = false;
        if self.rows_in_all < ROWS_BEFORE_DECODING || state.undecoded.is_empty() {
            return Ok(());
        }
        catch_panic(|| self.decode_columns())
    }

    fn eof(&self) -> bool {
        self.row_index().is_none()
    }

    fn column(&self, context: &mut Context, column: c_int) -> Result<()> {
        catch_panic(|| {
            let mut state = self.read.borrow_mut();
            let state = &mut *state;
            let column = usize::try_from(column).unwrap_or(usize::MAX);
            let Some(def) = self.table.columns().get(column) else { return context.set_result(Null) };
            if def.redaction == Redaction::Whole {
                self.usage.columns.was_read.store(true, Ordering::Relaxed);
            }
            let at = self.row_index().unwrap_or(usize::MAX);
            self.usage.row.store(at.saturating_add(1), Ordering::Relaxed);
            if let Some(Some(decoded)) = state.decoded.get(column) {
                return set_cell(context, &decoded.value(at));
            }
            if self.table.is_kept(column) {
                state.undecoded.insert(column);
            }
            if !state.row.wanted_columns.contains(column) {
                state.row = self.table.rows().new_row(ColumnSet::default());
                state.is_current = false;
            }
            if !state.is_current {
                self.table.rows().read_row(at, &mut state.row);
                state.is_current = true;
            }
            let (cell, is_missing) = self.table.cell(self.table.rows().cell(&state.row, column), column);
            self.usage.record_missing(is_missing);
            set_cell(context, &cell)
        })
    }

    fn rowid(&self) -> Result<i64> {
        Ok(self.row_index().and_then(|at| i64::try_from(at).ok()).unwrap_or(i64::MAX))
    }
}

impl RowCursor {
    /// Returns the index of the current row; `None` after the last.
    fn row_index(&self) -> Option<usize> {
        match &self.visited {
            Visited::All => (self.rows_done < self.table.len()).then_some(self.rows_done),
            Visited::Sorted(rows) => rows.get(self.rows_done).map(|row| *row as usize),
            Visited::Found(rows) => rows.get(self.rows_done).map(|row| *row as usize),
        }
    }

    /// Decodes the columns that were read from the text so far.
    fn decode_columns(&mut self) -> Result<()> {
        let state = self.read.get_mut();
        let columns: Vec<usize> = std::mem::take(&mut state.undecoded).into_iter().collect();
        let decoded = self.table.decode(&columns, &self.deadline).ok_or_else(interrupted_error)?;
        for (column, values) in columns.into_iter().zip(decoded) {
            self.usage.record_missing(values.has_missing);
            if let Some(slot) = state.decoded.get_mut(column) {
                *slot = Some(values);
            }
        }
        Ok(())
    }
}

fn set_cell(context: &mut Context, cell: &Cell<'_>) -> Result<()> {
    match cell {
        Cell::Null => context.set_result(Null),
        Cell::Integer(n) => context.set_result(*n),
        Cell::Real(n) => context.set_result(*n),
        Cell::Text(text) => context.set_result(&**text),
    }
}

/// Runs a callback and converts a panic into an error of the statement.
fn catch_panic<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(Error::UnwindingPanic))
}

/// Gives back to the system what statements have freed, if they needed much: glibc keeps free memory below a block in use.
/// Other allocators do so by themselves.
pub(crate) fn release_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        /// Use of memory from which it is given back.
        const MIN_RELEASED_BYTES: i64 = 16 << 20;
        // SAFETY: takes a number and returns one; may be called at any time.
        let max = unsafe { ffi::sqlite3_memory_highwater(1) };
        if max >= MIN_RELEASED_BYTES {
            // SAFETY: takes a number and returns one; may be called at any time, from any thread.
            unsafe { libc::malloc_trim(0) };
        }
    }
}

/// Returns the bytes allocated by SQLite in the whole process.
pub(crate) fn memory_used() -> i64 {
    // SAFETY: takes no arguments and returns a number; may be called at any time.
    unsafe { ffi::sqlite3_memory_used() }
}
