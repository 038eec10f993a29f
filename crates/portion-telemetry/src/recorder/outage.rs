//! Logs an outage of the recorder once when it starts and once when it ends.

use std::time::{Duration, Instant};

/// Time without trouble after which an outage is over.
const QUIET: Duration = Duration::from_secs(10);

/// Tracks whether recording fails or drops events.
#[derive(Debug, Default)]
pub(super) struct OutageTracker {
    /// Time of the last failure during an outage.
    open: Option<Instant>,
    /// Dropped events as of the last update.
    dropped: u64,
}

/// Change of an outage, to be logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transition {
    /// The outage starts.
    Started,
    /// The outage is over.
    Recovered,
}

impl OutageTracker {
    /// Updates the state: `failing` if the last write failed, `dropped` is the total of dropped events. Returns a
    /// change to log.
    pub(super) fn update(&mut self, now: Instant, failing: bool, dropped: u64) -> Option<Transition> {
        let wrong = failing || dropped > self.dropped;
        self.dropped = dropped;
        match &mut self.open {
            None if wrong => {
                self.open = Some(now);
                Some(Transition::Started)
            }
            Some(last) if wrong => {
                *last = now;
                None
            }
            Some(last) if now.saturating_duration_since(*last) >= QUIET => {
                self.open = None;
                Some(Transition::Recovered)
            }
            _ => None,
        }
    }
}

/// Logs a change. `why` is the error, `dropped` returns the events dropped and not logged yet.
pub(super) fn log(transition: Transition, why: Option<&str>, dropped: impl FnOnce() -> u64) {
    match (transition, why) {
        (Transition::Started, Some(error)) => {
            tracing::warn!(error, "telemetry cannot be written; requests are served, records are queued");
        }
        (Transition::Started, None) => {
            tracing::warn!("telemetry is too slow; requests are served, some records are dropped");
        }
        (Transition::Recovered, _) => match dropped() {
            0 => tracing::info!("telemetry is written again; no record was lost"),
            dropped => tracing::warn!(dropped, "telemetry is written again; some records were lost"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_reported_when_it_starts_and_when_it_ends() {
        let start = Instant::now();
        let mut outage = OutageTracker::default();
        let mut update =
            |seconds, failing, dropped| outage.update(start + Duration::from_secs(seconds), failing, dropped);
        assert_eq!(update(0, false, 0), None);
        assert_eq!(update(1, true, 0), Some(Transition::Started));
        assert_eq!(update(2, true, 5), None);
        assert_eq!(update(3, false, 7), None);
        assert_eq!(update(12, false, 7), None, "it may come back");
        assert_eq!(update(13, false, 7), Some(Transition::Recovered));
        assert_eq!(update(14, false, 7), None);
        assert_eq!(update(15, false, 8), Some(Transition::Started), "another one");
    }
}
