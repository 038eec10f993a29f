//! Reads configurations, refused configurations and alerts.

use portion_core::event::{AlertChanged, ConfigApplied, ConfigChange, ConfigRejected};
use rusqlite::params;

use super::{Filter, ReadError, Reader};
use crate::record::{count, list, time};

impl Reader {
    /// Returns alerts that were raised or ended, the newest first. Only times and limit of the filter apply.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn alerts(&self, filter: &Filter) -> Result<Vec<AlertChanged>, ReadError> {
        let sql = "SELECT at, alert, raised, share, threshold, requests, counted, span, process FROM alerts
                   WHERE at >= ? AND at < ? ORDER BY at DESC, id DESC LIMIT ?";
        let mut statement = self.connection.prepare(sql)?;
        let alerts =
            statement.query_map(params![since(filter), until(filter), filter.sql_limit()], |row| {
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
            })?;
        Ok(alerts.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the configurations that came into force, the newest first. Only times and limit of the filter apply.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn configurations(&self, filter: &Filter) -> Result<Vec<ConfigApplied>, ReadError> {
        let sql = "SELECT id, at, version, source FROM configurations WHERE at >= ? AND at < ?
                   ORDER BY at DESC, id DESC LIMIT ?";
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query(params![since(filter), until(filter), filter.sql_limit()])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let changes = self.changes(row.get(0)?)?;
            found.push(ConfigApplied {
                at: count(row, 1)?,
                version: count(row, 2)?,
                source: row.get(3)?,
                changes,
            });
        }
        Ok(found)
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
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query(params![number(version), number(before)])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let changes = self.changes(row.get(0)?)?;
            found.push(ConfigApplied { at: count(row, 1)?, version, source: row.get(2)?, changes });
        }
        Ok(found)
    }

    /// Returns the configurations that were refused, the newest first. Only times and limit of the filter apply.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn misconfigurations(&self, filter: &Filter) -> Result<Vec<ConfigRejected>, ReadError> {
        let sql = "SELECT at, source, errors FROM misconfigurations WHERE at >= ? AND at < ?
                   ORDER BY at DESC, id DESC LIMIT ?";
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query(params![since(filter), until(filter), filter.sql_limit()])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(ConfigRejected { at: count(row, 0)?, source: row.get(1)?, errors: list(row, 2)? });
        }
        Ok(found)
    }

    fn changes(&self, configuration: i64) -> Result<Vec<ConfigChange>, ReadError> {
        let sql = "SELECT key, old, new FROM changes WHERE configuration = ? ORDER BY rowid";
        let mut statement = self.connection.prepare(sql)?;
        let changes = statement.query_map([configuration], |row| {
            Ok(ConfigChange { key: row.get(0)?, old: row.get(1)?, new: row.get(2)? })
        })?;
        Ok(changes.collect::<rusqlite::Result<_>>()?)
    }
}

fn since(filter: &Filter) -> i64 {
    filter.since.map_or(0, |since| i64::try_from(since).unwrap_or(i64::MAX))
}

fn until(filter: &Filter) -> i64 {
    filter.until.map_or(i64::MAX, |until| i64::try_from(until).unwrap_or(i64::MAX))
}
