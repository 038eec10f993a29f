//! What goes wrong is told once, and once more when it is over.

use std::fmt::Display;
use std::time::{Duration, Instant};

/// How long nothing must have gone wrong until it is over.
const QUIET: Duration = Duration::from_secs(10);

/// Whether something goes wrong.
#[derive(Debug, Default)]
pub(super) struct Episode {
    open: Option<Open>,
    /// Dropped events, as of the last look.
    dropped: u64,
}

#[derive(Debug)]
struct Open {
    /// When it last went wrong.
    last: Instant,
    /// Dropped events before it began.
    before: u64,
}

/// What is to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// It begins.
    Begins,
    /// It is over; so many events were dropped.
    Ends(u64),
}

impl Episode {
    /// What is to be told after a look at how it goes: whether writing fails, and how many events are dropped by now.
    pub(super) fn look(&mut self, now: Instant, failing: bool, dropped: u64) -> Option<Told> {
        let wrong = failing || dropped > self.dropped;
        let before = self.dropped;
        self.dropped = dropped;
        match &mut self.open {
            None if wrong => {
                self.open = Some(Open { last: now, before });
                Some(Told::Begins)
            }
            Some(open) if wrong => {
                open.last = now;
                None
            }
            Some(open) if now.saturating_duration_since(open.last) >= QUIET => {
                let lost = dropped - open.before;
                self.open = None;
                Some(Told::Ends(lost))
            }
            _ => None,
        }
    }
}

/// Tells it.
pub(super) fn tell(told: Told, why: Option<&dyn Display>) {
    match (told, why) {
        (Told::Begins, Some(error)) => {
            tracing::warn!(%error, "telemetry cannot be written: requests are served, their records wait");
        }
        (Told::Begins, None) => {
            tracing::warn!("telemetry is behind: requests are served, some without a record");
        }
        (Told::Ends(dropped), _) => tracing::info!(dropped, "telemetry is written again"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_episode_is_told_twice() {
        let start = Instant::now();
        let mut episode = Episode::default();
        let mut look =
            |seconds, failing, dropped| episode.look(start + Duration::from_secs(seconds), failing, dropped);
        assert_eq!(look(0, false, 0), None);
        assert_eq!(look(1, true, 0), Some(Told::Begins));
        assert_eq!(look(2, true, 5), None);
        assert_eq!(look(3, false, 7), None);
        assert_eq!(look(12, false, 7), None, "it may come back");
        assert_eq!(look(13, false, 7), Some(Told::Ends(7)));
        assert_eq!(look(14, false, 7), None);
        assert_eq!(look(15, false, 8), Some(Told::Begins), "another one");
    }
}
