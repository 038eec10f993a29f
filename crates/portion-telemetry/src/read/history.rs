//! Reads configurations, refused configurations and alerts, and finds the requests behind a conspicuous figure.

use std::collections::HashSet;
use std::time::Duration;

use portion_core::event::{AlertChanged, ConfigApplied, ConfigChange, ConfigRejected};
use rusqlite::{OptionalExtension as _, Row, params, params_from_iter};

use super::{Filter, ReadError, Reader, Record, rows};
use crate::record::{count, list, time};

/// Time after which an alert of a silent process is no longer active. A process that has ended does not report the end
/// of its alert.
const SILENCE: Duration = Duration::from_mins(5);

/// Maximum age and number of the alert events that are read.
const LOOKBACK: (Duration, usize) = (Duration::from_hours(7 * 24), 500);

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

    /// Returns the matching records that are notable, the newest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn notable(&self, filter: &Filter, notable: Notable) -> Result<Vec<Record>, ReadError> {
        let mut records = Vec::new();
        self.newest_records(filter, notable.condition(), |record| records.push(record))?;
        Ok(records)
    }

    /// Counts the newest matching records up to [`Filter::limit`], and the notable ones among them.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn count_notable(&self, filter: &Filter, notable: Notable) -> Result<(u64, u64), ReadError> {
        let (clause, values) = filter.clause("");
        let (limit, condition) = (filter.sql_limit(), notable.condition());
        let newest =
            format!("SELECT {condition} AS notable FROM requests {clause} ORDER BY at DESC LIMIT {limit}");
        let sql = format!("SELECT count(*), coalesce(sum(notable), 0) FROM ({newest})");
        Ok(self
            .connection
            .query_row(&sql, params_from_iter(values), |row| Ok((count(row, 0)?, count(row, 1)?)))?)
    }

    /// Returns the alerts that are raised and not over at `now` (microseconds since 1970), the newest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn active_alerts(&self, now: u64) -> Result<Vec<AlertChanged>, ReadError> {
        let (lookback, limit) = LOOKBACK;
        let since = |ago: Duration| now.saturating_sub(ago.as_micros() as u64);
        let events =
            self.alerts(&Filter { since: Some(since(lookback)), limit: Some(limit), ..Filter::default() })?;
        let (mut seen, mut active) = (HashSet::new(), Vec::new());
        for event in events {
            // The newest event of a process decides.
            if !seen.insert((event.process, event.alert_name.clone())) || !event.is_raised {
                continue;
            }
            let last_activity = event.at.max(self.last_of(event.process)?.unwrap_or_default());
            if last_activity >= since(SILENCE) {
                active.push(event);
            }
        }
        Ok(active)
    }

    /// Returns the time of the last request that a process recorded, in microseconds since 1970. `process` is the
    /// upper half of its request numbers.
    ///
    /// # Errors
    /// The file cannot be read.
    fn last_of(&self, process: u64) -> Result<Option<u64>, ReadError> {
        let of = |request: u64| (u128::from(process) << 64 | u128::from(request)).to_be_bytes();
        // Request numbers rise with time and are indexed.
        let sql = "SELECT at FROM requests WHERE request BETWEEN ? AND ? ORDER BY request DESC LIMIT 1";
        let mut statement = self.connection.prepare(sql)?;
        Ok(statement.query_row(params![of(0), of(u64::MAX)], |row| count(row, 0)).optional()?)
    }
}

/// Condition that makes a request notable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notable {
    /// The reply is an error, from Portion or from the upstream.
    Errors,
    /// A first call whose payload exceeded the budget in force then.
    Oversized,
}

impl Notable {
    /// All conditions.
    pub const ALL: [Self; 2] = [Self::Errors, Self::Oversized];

    /// Returns the name of the condition.
    pub fn name(self) -> &'static str {
        match self {
            Self::Errors => "errors",
            Self::Oversized => "oversized",
        }
    }

    /// Returns the condition of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|notable| notable.name() == name)
    }

    fn condition(self) -> &'static str {
        match self {
            Self::Errors => "error IS NOT NULL",
            // The same rule as in the statistics: an uncounted payload is taken as four bytes per token; the default
            // budget is 4,000.
            Self::Oversized => {
                "NOT follow_up AND coalesce(original_tokens, CASE WHEN outcome IN ('untouched', 'unshaped')
                 THEN coalesce(estimated_tokens, response_bytes / 4) END) > coalesce(budget, 4000)"
            }
        }
    }
}
