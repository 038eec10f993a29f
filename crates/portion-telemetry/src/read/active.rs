//! Finds alerts that are active.

use std::collections::HashSet;
use std::time::Duration;

use portion_core::event::AlertChanged;

use super::{Filter, ReadError, Reader};

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
}
