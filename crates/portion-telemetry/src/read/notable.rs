//! Finds the requests behind a conspicuous figure, and the alerts that are active.

use std::collections::HashSet;
use std::time::Duration;

use portion_core::event::AlertChanged;
use rusqlite::{OptionalExtension as _, params, params_from_iter};

use super::{Filter, ReadError, Reader, Record};
use crate::record::count;

/// Time after which an alert of a silent process is no longer active. A process that has ended does not report the end
/// of its alert.
const SILENCE: Duration = Duration::from_mins(5);
/// Maximum age and number of the alert events that are read.
const LOOKBACK: (Duration, usize) = (Duration::from_hours(7 * 24), 500);

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

impl Reader {
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
    pub fn last_of(&self, process: u64) -> Result<Option<u64>, ReadError> {
        let of = |request: u64| (u128::from(process) << 64 | u128::from(request)).to_be_bytes();
        // Request numbers rise with time and are indexed.
        let sql = "SELECT at FROM requests WHERE request BETWEEN ? AND ? ORDER BY request DESC LIMIT 1";
        let mut statement = self.connection.prepare(sql)?;
        Ok(statement.query_row(params![of(0), of(u64::MAX)], |row| count(row, 0)).optional()?)
    }
}
