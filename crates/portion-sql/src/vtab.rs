//! The bridge to SQLite: virtual tables that it reads through callbacks.
//!
//! This is the only `unsafe` code of Portion. It promises what the traits of rusqlite require: both
//! structs begin with the base struct of SQLite, as in C inheritance. They own what they read from
//! (`Arc`s), so nothing is borrowed across calls. A panic must not unwind into C, so every callback that
//! does work catches panics.
#![allow(unsafe_code)]

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::types::Null;
use rusqlite::vtab::{
    Context, Filters, IndexConstraintOp, IndexInfo, Module, VTab, VTabConfig, VTabConnection, VTabCursor,
    sqlite3_vtab, sqlite3_vtab_cursor,
};
use rusqlite::{Connection, Error, Result, ffi};

use crate::cell::Cell;
use crate::column::{ColumnDef, Redaction};
use crate::index::{ColumnIndex, IndexLookup};
use crate::limits::QueryDeadline;
use crate::table::VirtualTable;
use crate::table_rows::{ColumnSet, RowBuffer, TableRows};
use crate::usage::RedactionUsage;

/// Registers a table with a connection under a name.
pub(crate) fn register(
    connection: &Connection,
    name: &str,
    table: &Arc<VirtualTable>,
    deadline: &Arc<QueryDeadline>,
    usage: &Arc<RedactionUsage>,
) -> Result<()> {
    const MODULE: Module<'_, TableHandle> = Module::eponymous_only_module();
    let context =
        TableContext { table: Arc::clone(table), deadline: Arc::clone(deadline), usage: Arc::clone(usage) };
    connection.create_module(name, &MODULE, Some(context))
}

/// The context with which a table is opened.
struct TableContext {
    table: Arc<VirtualTable>,
    deadline: Arc<QueryDeadline>,
    usage: Arc<RedactionUsage>,
}

/// A table that a statement names.
#[repr(C)]
struct TableHandle {
    base: sqlite3_vtab,
    rows: Arc<dyn TableRows>,
    indexes: ColumnIndexes,
    deadline: Arc<QueryDeadline>,
    usage: Arc<RedactionUsage>,
}

/// Indexes by column, as far as they were built.
type ColumnIndexes = Arc<Mutex<HashMap<usize, Arc<ColumnIndex>>>>;

/// A cursor over the rows of a table.
#[repr(C)]
struct RowCursor {
    base: sqlite3_vtab_cursor,
    rows: Arc<dyn TableRows>,
    indexes: ColumnIndexes,
    deadline: Arc<QueryDeadline>,
    usage: Arc<RedactionUsage>,
    /// Rows to visit, if not all.
    row_filter: Option<(Arc<ColumnIndex>, IndexLookup)>,
    /// Number of rows visited.
    rows_done: usize,
    row: RefCell<CurrentRow>,
}

/// The row whose cells were requested last.
#[derive(Default)]
struct CurrentRow {
    row: RowBuffer,
    /// True if it is the row at the cursor.
    is_current: bool,
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
        _: &[u8],
        _: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, Self)> {
        catch_panic(|| {
            let TableContext { table, deadline, usage } =
                context.ok_or_else(|| Error::ModuleError("no table".into()))?;
            connection.config(VTabConfig::Innocuous)?;
            let rows = table.rows(deadline).ok_or_else(|| unread_error(&table.name, deadline))?;
            let declared: Vec<String> = rows.columns().iter().map(ColumnDef::declaration).collect();
            let statement = CString::new(format!("CREATE TABLE x({})", declared.join(", ")))?;
            let (base, deadline, usage) = (sqlite3_vtab::default(), Arc::clone(deadline), Arc::clone(usage));
            Ok((
                Cow::Owned(statement),
                Self { base, rows, indexes: ColumnIndexes::default(), deadline, usage },
            ))
        })
    }

    /// Chooses between reading all rows, and reading those with a value in a column that is known only
    /// during a join. Both plans pass on which columns are used.
    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        let rows = self.rows.len() as f64;
        if let Some((constraint, column)) = join_constraint(info)? {
            info.constraint_usage(constraint).set_argv_index(1);
            info.set_idx_num(column + 1);
            info.set_estimated_rows((rows.sqrt() as i64).max(1));
            info.set_estimated_cost(rows.sqrt() + 10.0);
        } else {
            info.set_estimated_rows(rows as i64);
            info.set_estimated_cost(rows * 10.0 + 10.0);
        }
        info.set_idx_str(&format!("{:x}", info.col_used()));
        Ok(true)
    }

    fn open(&mut self) -> Result<RowCursor> {
        Ok(RowCursor {
            base: sqlite3_vtab_cursor::default(),
            rows: Arc::clone(&self.rows),
            indexes: Arc::clone(&self.indexes),
            deadline: Arc::clone(&self.deadline),
            usage: Arc::clone(&self.usage),
            row_filter: None,
            rows_done: 0,
            row: RefCell::default(),
        })
    }
}

// SAFETY: `RowCursor` is `repr(C)` and its first field is the `sqlite3_vtab_cursor`.
unsafe impl VTabCursor for RowCursor {
    fn filter(&mut self, by: c_int, used_columns: Option<&str>, values: &Filters<'_>) -> Result<()> {
        catch_panic(|| {
            let used_columns =
                used_columns.and_then(|used_columns| u64::from_str_radix(used_columns, 16).ok());
            let row = self.rows.new_row(used_columns.map_or_else(ColumnSet::default, ColumnSet));
            self.row = RefCell::new(CurrentRow { row, is_current: false });
            (self.rows_done, self.row_filter) = (0, None);
            if self.deadline.is_over() {
                return Err(interrupted_error());
            }
            if let (Ok(column @ 1..), Some(value)) = (usize::try_from(by), values.iter().next()) {
                let index = self.index(column - 1)?;
                let found = index.lookup(value);
                self.row_filter = (found != IndexLookup::Unknown).then_some((index, found));
            }
            Ok(())
        })
    }

    fn next(&mut self) -> Result<()> {
        self.rows_done += 1;
        self.row.get_mut().is_current = false;
        Ok(())
    }

    fn eof(&self) -> bool {
        self.row_index().is_none()
    }

    fn column(&self, context: &mut Context, column: c_int) -> Result<()> {
        catch_panic(|| {
            let mut read = self.row.borrow_mut();
            let column = usize::try_from(column).unwrap_or(usize::MAX);
            if self.rows.columns().get(column).is_some_and(|column| column.redaction == Redaction::Whole) {
                self.usage.mark_read();
            }
            if !read.row.wanted_columns.contains(column) {
                read.row = self.rows.new_row(ColumnSet::default());
                read.is_current = false;
            }
            if !read.is_current {
                self.rows.read_row(self.row_index().unwrap_or(usize::MAX), &mut read.row);
                read.is_current = true;
            }
            match self.rows.cell(&read.row, column) {
                Cell::Null => context.set_result(Null),
                Cell::Integer(n) => context.set_result(n),
                Cell::Real(n) => context.set_result(n),
                Cell::Text(text) => context.set_result(&*text),
            }
        })
    }

    fn rowid(&self) -> Result<i64> {
        Ok(self.row_index().and_then(|at| i64::try_from(at).ok()).unwrap_or(i64::MAX))
    }
}

impl RowCursor {
    /// Returns the index of the current row; `None` after the last.
    fn row_index(&self) -> Option<usize> {
        match &self.row_filter {
            None => (self.rows_done < self.rows.len()).then_some(self.rows_done),
            Some((index, IndexLookup::Rows(found))) => index.row(*found, self.rows_done),
            Some(_) => None,
        }
    }

    /// Returns the index of a column, built on first use.
    fn index(&self, column: usize) -> Result<Arc<ColumnIndex>> {
        let mut indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = indexes.get(&column) {
            return Ok(Arc::clone(index));
        }
        let index = ColumnIndex::build(&*self.rows, column, &self.deadline).ok_or_else(interrupted_error)?;
        let index = Arc::new(index);
        indexes.insert(column, Arc::clone(&index));
        Ok(index)
    }
}

/// Finds a constraint that a column equals a value of another table, and the column.
fn join_constraint(info: &IndexInfo) -> Result<Option<(usize, c_int)>> {
    for (at, constraint) in info.constraints().enumerate() {
        if constraint.is_usable()
            && constraint.column() >= 0
            && constraint.operator() == IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ
            && info.rhs_value(at)?.is_none()
            && !info.is_in_constraint(at)?
            && info.collation(at)? == "BINARY"
        {
            return Ok(Some((at, constraint.column())));
        }
    }
    Ok(None)
}

/// Returns the error for a table that was not read: the query must stop, or cells of a document span too much of it.
fn unread_error(table: &str, deadline: &QueryDeadline) -> Error {
    if deadline.stop_reason().is_some() {
        return interrupted_error();
    }
    let problem = "its cells span too many columns and rows; use lines, or find";
    Error::ModuleError(format!("{table} cannot be read: {problem}"))
}

/// Returns the error that stops the statement.
fn interrupted_error() -> Error {
    Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_INTERRUPT), None)
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
        let most = unsafe { ffi::sqlite3_memory_highwater(1) };
        if most >= MIN_RELEASED_BYTES {
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
