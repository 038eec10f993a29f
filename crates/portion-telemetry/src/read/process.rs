//! Queries about one process of a user.

use rusqlite::{OptionalExtension as _, params};

use super::{ReadError, Reader};
use crate::record::count;

impl Reader {
    /// Returns the time of the last request that a process recorded, in microseconds since 1970. `process` is the
    /// upper half of its request numbers.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn last_of(&self, process: u64) -> Result<Option<u64>, ReadError> {
        let of = |request: u64| (u128::from(process) << 64 | u128::from(request)).to_be_bytes();
        // Request numbers rise with time and are indexed.
        let sql = "SELECT at FROM requests WHERE request BETWEEN ? AND ? ORDER BY request DESC LIMIT 1";
        let mut statement = self.connection.prepare(sql)?;
        Ok(statement.query_row(params![of(0), of(u64::MAX)], |row| count(row, 0)).optional()?)
    }
}
