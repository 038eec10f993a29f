//! Alerts that stand.

use std::collections::HashSet;
use std::time::Duration;

use portion_core::event::Alerted;

use super::{Filter, ReadError, Reader};

/// How long an alert stands whose process has fallen silent: one that has ended tells nobody that it is over.
const SILENCE: Duration = Duration::from_mins(5);
/// How far back is looked, and at how many.
const BACK: (Duration, usize) = (Duration::from_hours(7 * 24), 500);

impl Reader {
    /// The alerts that were raised and are not over at that moment, in microseconds since 1970, the newest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn standing(&self, now: u64) -> Result<Vec<Alerted>, ReadError> {
        let (back, limit) = BACK;
        let since = |ago: Duration| now.saturating_sub(ago.as_micros() as u64);
        let events =
            self.alerts(&Filter { since: Some(since(back)), limit: Some(limit), ..Filter::default() })?;
        let (mut seen, mut standing) = (HashSet::new(), Vec::new());
        for event in events {
            // The newest of a process says how it stands.
            if !seen.insert((event.process, event.alert.clone())) || !event.raised {
                continue;
            }
            let heard = event.at.max(self.last_of(event.process)?.unwrap_or_default());
            if heard >= since(SILENCE) {
                standing.push(event);
            }
        }
        Ok(standing)
    }
}
