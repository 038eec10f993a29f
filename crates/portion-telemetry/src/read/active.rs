//! Finds alerts that are active: those of processes that still record requests.

use std::collections::HashSet;
use std::time::Duration;

use portion_core::event::AlertChanged;
use rusqlite::{OptionalExtension as _, params};

use super::{Filter, ReadError, Reader};
use crate::record::count;

/// Time after which an alert of a silent process is no longer active. A process that has ended does not report the end
/// of its alert.
const SILENCE: Duration = Duration::from_mins(5);
/// Maximum age and number of the alert events that are read.
const LOOKBACK: (Duration, usize) = (Duration::from_hours(7 * 24), 500);

impl Reader {
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
