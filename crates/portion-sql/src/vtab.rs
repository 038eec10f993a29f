//! The bridge to SQLite: tables that it reads through callbacks.
//!
//! The only `unsafe` code of Portion's. All that it promises is what rusqlite's traits ask for: that both structs
//! begin with SQLite's own, as C does inheritance. They own what they read from (`Arc`s), so nothing
//! is borrowed across calls. A panic must not unwind into C: every callback that does work is caught.
#![allow(unsafe_code)]

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rusqlite::types::Null;
use rusqlite::vtab::{
    Context, Filters, IndexInfo, Module, VTab, VTabConfig, VTabConnection, VTabCursor, sqlite3_vtab,
    sqlite3_vtab_cursor,
};
use rusqlite::{Connection, Error, Result, ffi};

use crate::cell::Cell;
use crate::limits::Clock;
use crate::table::{Row, Rows, Table, Wanted};

/// Makes a table known to a connection under a name.
pub(crate) fn register(
    connection: &Connection,
    name: &str,
    table: &Arc<Table>,
    clock: &Arc<Clock>,
) -> Result<()> {
    const MODULE: Module<'_, Tab> = Module::eponymous_only_module();
    let opening = Opening { table: Arc::clone(table), clock: Arc::clone(clock) };
    connection.create_module(name, &MODULE, Some(opening))
}

/// What a table is opened with.
struct Opening {
    table: Arc<Table>,
    clock: Arc<Clock>,
}

/// A table that a statement names.
#[repr(C)]
struct Tab {
    base: sqlite3_vtab,
    rows: Arc<dyn Rows>,
    clock: Arc<Clock>,
}

/// A walk through its rows.
#[repr(C)]
struct Cursor {
    base: sqlite3_vtab_cursor,
    rows: Arc<dyn Rows>,
    clock: Arc<Clock>,
    at: usize,
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
            let Opening { table, clock } = opening.ok_or_else(|| Error::ModuleError("no table".into()))?;
            connection.config(VTabConfig::Innocuous)?;
            let rows = table.rows(clock).ok_or_else(interrupted)?;
            let declared: Vec<String> = rows.columns().iter().map(|column| column.declaration()).collect();
            let statement = CString::new(format!("CREATE TABLE x({})", declared.join(", ")))?;
            let tab = Self { base: sqlite3_vtab::default(), rows, clock: Arc::clone(clock) };
            Ok((Cow::Owned(statement), tab))
        })
    }

    /// There is one way to read: all rows, of which the columns used are told.
    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        let rows = self.rows.len();
        info.set_estimated_rows(i64::try_from(rows).unwrap_or(i64::MAX));
        info.set_estimated_cost(rows as f64 * 10.0 + 10.0);
        info.set_idx_str(&format!("{:x}", info.col_used()));
        Ok(true)
    }

    fn open(&mut self) -> Result<Cursor> {
        Ok(Cursor {
            base: sqlite3_vtab_cursor::default(),
            rows: Arc::clone(&self.rows),
            clock: Arc::clone(&self.clock),
            at: 0,
            row: RefCell::default(),
        })
    }
}

// SAFETY: `Cursor` is `repr(C)` and its first field is the `sqlite3_vtab_cursor`.
unsafe impl VTabCursor for Cursor {
    fn filter(&mut self, _: c_int, used: Option<&str>, _: &Filters<'_>) -> Result<()> {
        caught(|| {
            let used = used.and_then(|used| u64::from_str_radix(used, 16).ok());
            let row = self.rows.blank(used.map_or_else(Wanted::default, Wanted));
            self.row = RefCell::new(Read { row, current: false });
            self.at = 0;
            if self.clock.is_over() { Err(interrupted()) } else { Ok(()) }
        })
    }

    fn next(&mut self) -> Result<()> {
        self.at += 1;
        self.row.get_mut().current = false;
        Ok(())
    }

    fn eof(&self) -> bool {
        self.at >= self.rows.len()
    }

    fn column(&self, context: &mut Context, column: c_int) -> Result<()> {
        caught(|| {
            let mut read = self.row.borrow_mut();
            let column = usize::try_from(column).unwrap_or(usize::MAX);
            if !read.row.wanted.has(column) {
                read.row = self.rows.blank(Wanted::default());
                read.current = false;
            }
            if !read.current {
                self.rows.read(self.at, &mut read.row);
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
        Ok(i64::try_from(self.at).unwrap_or(i64::MAX))
    }
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
