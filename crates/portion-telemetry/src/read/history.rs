//! Reads configurations, refused configurations and alerts.

use portion_core::event::{AlertChanged, ConfigApplied, ConfigChange, ConfigRejected};
use rusqlite::{Row, params};

use super::{Filter, ReadError, Reader, rows};
use crate::record::{count, list, time};

impl Reader {
    /// Returns alerts that were raised or ended, the newest first. Only times and limit of the filter apply.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn alerts(&self, filter: &Filter) -> Result<Vec<AlertChanged>, ReadError> {
        let columns = "at, alert, raised, share, threshold, requests, counted, span, process";
        self.newest(columns, "alerts", filter, |row| {
            Ok(AlertChanged {
                at: count(row, 0)?,
                alert_name: row.get::<_, String>(1)?.into(),
                is_raised: row.get(2)?,
                share: row.get(3)?,
                threshold: row.get(4)?,
                requests: count(row, 5)?,
                matching_requests: count(row, 6)?,
                window: time(row, 7)?,
                process: row.get::<_, i64>(8)? as u64,
            })
        })
    }

    /// Returns the configurations that came into force, the newest first. Only times and limit of the filter apply.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn configurations(&self, filter: &Filter) -> Result<Vec<ConfigApplied>, ReadError> {
        self.newest("id, at, version, source", "configurations", filter, |row| {
            let changes = self.changes(row.get(0)?)?;
            Ok(ConfigApplied { at: count(row, 1)?, version: count(row, 2)?, source: row.get(3)?, changes })
        })
    }

    /// Returns the latest configuration of that version up to `before` (microseconds since 1970) for each file that
    /// has one, the newest first. Each file numbers its own versions, so only the time tells which one applied.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn configured(&self, version: u64, before: u64) -> Result<Vec<ConfigApplied>, ReadError> {
        let sql = "SELECT id, max(at), source FROM configurations WHERE version = ? AND at <= ?
                   GROUP BY source ORDER BY max(at) DESC";
        let number = |number| i64::try_from(number).unwrap_or(i64::MAX);
        rows(&self.connection, sql, params![number(version), number(before)], |row| {
            let changes = self.changes(row.get(0)?)?;
            Ok(ConfigApplied { at: count(row, 1)?, version, source: row.get(2)?, changes })
        })
    }

    /// Returns the configurations that were refused, the newest first. Only times and limit of the filter apply.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn misconfigurations(&self, filter: &Filter) -> Result<Vec<ConfigRejected>, ReadError> {
        self.newest("at, source, errors", "misconfigurations", filter, |row| {
            Ok(ConfigRejected { at: count(row, 0)?, source: row.get(1)?, errors: list(row, 2)? })
        })
    }

    /// Reads rows of a table in the time range of a filter, the newest first.
    fn newest<T>(
        &self,
        columns: &str,
        table: &str,
        filter: &Filter,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, ReadError> {
        let sql = format!(
            "SELECT {columns} FROM {table} WHERE at >= ? AND at < ? ORDER BY at DESC, id DESC LIMIT ?"
        );
        let times = filter.times();
        rows(&self.connection, &sql, params![times.start, times.end, filter.sql_limit()], read)
    }

    fn changes(&self, configuration: i64) -> rusqlite::Result<Vec<ConfigChange>> {
        let sql = "SELECT key, old, new FROM changes WHERE configuration = ? ORDER BY rowid";
        let mut statement = self.connection.prepare(sql)?;
        let changes = statement.query_map([configuration], |row| {
            Ok(ConfigChange { key: row.get(0)?, old: row.get(1)?, new: row.get(2)? })
        })?;
        changes.collect()
    }
}
