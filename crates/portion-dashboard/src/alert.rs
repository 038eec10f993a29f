//! Alerts that stand.

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use portion_telemetry::read::{Alert, Filter, ReadError, Reader};

use crate::range::micros;

/// How long an alert stands whose process has fallen silent: one that has ended tells nobody that it is over.
const SILENCE: Duration = Duration::from_mins(5);
/// How far back is looked, and at how many.
const BACK: (Duration, usize) = (Duration::from_hours(7 * 24), 500);

/// The alerts that were raised and are not over, the newest first.
pub(crate) fn standing(reader: &Reader, now: SystemTime) -> Result<Vec<Alert>, ReadError> {
    let (back, limit) = BACK;
    let since = |ago: Duration| micros(now).saturating_sub(ago.as_micros() as u64);
    let events =
        reader.alerts(&Filter { since: Some(since(back)), limit: Some(limit), ..Filter::default() })?;
    let (mut seen, mut standing) = (HashSet::new(), Vec::new());
    for event in events {
        // The newest of a process says how it stands.
        if !seen.insert((event.process, event.alert.clone())) || !event.raised {
            continue;
        }
        let heard = event.at.max(reader.last_of(event.process)?.unwrap_or_default());
        if heard >= since(SILENCE) {
            standing.push(event);
        }
    }
    Ok(standing)
}
