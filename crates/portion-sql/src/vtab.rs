//! The bridge to SQLite: tables that it reads through callbacks.
//!
//! The only `unsafe` code of Portion's. All that it promises is what rusqlite's traits ask for: that both structs
//! begin with SQLite's own, as C does inheritance. They own what they read from (`Arc`s), so nothing
//! is borrowed across calls. A panic must not unwind into C: every callback that does work is caught.
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
use crate::column::{Column, Hidden};
use crate::index::{Found, Index};
use crate::limits::Clock;
use crate::redacted::Usage;
use crate::table::{Row, Rows, Table, Wanted};

/// Makes a table known to a connection under a name.
pub(crate) fn register(
    connection: &Connection,
    name: &str,
    table: &Arc<Table>,
    clock: &Arc<Clock>,
    usage: &Arc<Usage>,
) -> Result<()> {
    const MODULE: Module<'_, Tab> = Module::eponymous_only_module();
    let opening = Opening { table: Arc::clone(table), clock: Arc::clone(clock), usage: Arc::clone(usage) };
    connection.create_module(name, &MODULE, Some(opening))
}

/// What a table is opened with.
struct Opening {
    table: Arc<Table>,
    clock: Arc<Clock>,
    usage: Arc<Usage>,
}

/// A table that a statement names.
#[repr(C)]
struct Tab {
    base: sqlite3_vtab,
    rows: Arc<dyn Rows>,
    indexes: Indexes,
    clock: Arc<Clock>,
    usage: Arc<Usage>,
}

/// Its indexes, by column, as far as they were asked for.
type Indexes = Arc<Mutex<HashMap<usize, Arc<Index>>>>;

/// A walk through its rows.
#[repr(C)]
struct Cursor {
    base: sqlite3_vtab_cursor,
    rows: Arc<dyn Rows>,
    indexes: Indexes,
    clock: Arc<Clock>,
    usage: Arc<Usage>,
    /// The rows to walk through, where not all.
    only: Option<(Arc<Index>, Found)>,
    /// How many rows of the walk are done.
    done: usize,
    row: RefCell<Read>,
}

/// The row that cells were last asked of.
#[derive(Default)]
struct Read {
    row: Row,
    /// Whether it is the row that the cursor is at.
    current: bool,
}

// SAFETY: `Tab` is `repr(C)` and its first field is the `sqlite3_vtab`.
unsafe impl VTab<'_> for Tab {
    type Aux = Opening;
    type Cursor = Cursor;

    fn connect(
        connection: &mut VTabConnection,
        opening: Option<&Opening>,
        _: &[u8],
        _: &[u8],
        _: &[u8],
        _: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, Self)> {
        caught(|| {
            let Opening { table, clock, usage } =
                opening.ok_or_else(|| Error::ModuleError("no table".into()))?;
            connection.config(VTabConfig::Innocuous)?;
            let rows = table.rows(clock).ok_or_else(interrupted)?;
            let declared: Vec<String> = rows.columns().iter().map(Column::declaration).collect();
            let statement = CString::new(format!("CREATE TABLE x({})", declared.join(", ")))?;
            let (base, clock, usage) = (sqlite3_vtab::default(), Arc::clone(clock), Arc::clone(usage));
            Ok((Cow::Owned(statement), Self { base, rows, indexes: Indexes::default(), clock, usage }))
        })
    }

    /// There are two ways to read: all rows, or those that have a value in a column which is only known once the walk
    /// through another table is under way. Either way the columns used are told.
    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        let rows = self.rows.len() as f64;
        if let Some((constraint, column)) = joined(info)? {
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

    fn open(&mut self) -> Result<Cursor> {
        Ok(Cursor {
            base: sqlite3_vtab_cursor::default(),
            rows: Arc::clone(&self.rows),
            indexes: Arc::clone(&self.indexes),
            clock: Arc::clone(&self.clock),
            usage: Arc::clone(&self.usage),
            only: None,
            done: 0,
            row: RefCell::default(),
        })
    }
}

// SAFETY: `Cursor` is `repr(C)` and its first field is the `sqlite3_vtab_cursor`.
unsafe impl VTabCursor for Cursor {
    fn filter(&mut self, by: c_int, used: Option<&str>, values: &Filters<'_>) -> Result<()> {
        caught(|| {
            let used = used.and_then(|used| u64::from_str_radix(used, 16).ok());
            let row = self.rows.blank(used.map_or_else(Wanted::default, Wanted));
            self.row = RefCell::new(Read { row, current: false });
            (self.done, self.only) = (0, None);
            if self.clock.is_over() {
                return Err(interrupted());
            }
            if let (Ok(column @ 1..), Some(value)) = (usize::try_from(by), values.iter().next()) {
                let index = self.index(column - 1)?;
                let found = index.find(value);
                self.only = (found != Found::Unknown).then_some((index, found));
            }
            Ok(())
        })
    }

    fn next(&mut self) -> Result<()> {
        self.done += 1;
        self.row.get_mut().current = false;
        Ok(())
    }

    fn eof(&self) -> bool {
        self.at().is_none()
    }

    fn column(&self, context: &mut Context, column: c_int) -> Result<()> {
        caught(|| {
            let mut read = self.row.borrow_mut();
            let column = usize::try_from(column).unwrap_or(usize::MAX);
            if self.rows.columns().get(column).is_some_and(|column| column.redacted == Hidden::Whole) {
                self.usage.note_read();
            }
            if !read.row.wanted.has(column) {
                read.row = self.rows.blank(Wanted::default());
                read.current = false;
            }
            if !read.current {
                self.rows.read(self.at().unwrap_or(usize::MAX), &mut read.row);
                read.current = true;
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
        Ok(self.at().and_then(|at| i64::try_from(at).ok()).unwrap_or(i64::MAX))
    }
}

impl Cursor {
    /// The row that the walk is at; `None` after the last.
    fn at(&self) -> Option<usize> {
        match &self.only {
            None => (self.done < self.rows.len()).then_some(self.done),
            Some((index, Found::Rows(found))) => index.row(*found, self.done),
            Some(_) => None,
        }
    }

    /// The index of a column, made where it is not there yet.
    fn index(&self, column: usize) -> Result<Arc<Index>> {
        let mut indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = indexes.get(&column) {
            return Ok(Arc::clone(index));
        }
        let index = Index::of(&*self.rows, column, &self.clock).ok_or_else(interrupted)?;
        let index = Arc::new(index);
        indexes.insert(column, Arc::clone(&index));
        Ok(index)
    }
}

/// The constraint that a column equals a value of another table, and the column.
fn joined(info: &IndexInfo) -> Result<Option<(usize, c_int)>> {
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

/// What stops the statement.
fn interrupted() -> Error {
    Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_INTERRUPT), None)
}

/// Does the work of a callback, a panic becoming an error of the statement.
fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(Error::UnwindingPanic))
}

/// Bytes that SQLite holds, in all of the process.
pub(crate) fn memory_used() -> i64 {
    // SAFETY: takes nothing and gives a number; may be called at any time.
    unsafe { ffi::sqlite3_memory_used() }
}
