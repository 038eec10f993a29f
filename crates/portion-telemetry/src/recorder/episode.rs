//! What goes wrong is told once, and once more when it is over.

use std::time::{Duration, Instant};

/// How long nothing must have gone wrong until it is over.
const QUIET: Duration = Duration::from_secs(10);

/// Whether something goes wrong.
#[derive(Debug, Default)]
pub(super) struct Episode {
    /// When it last went wrong, where it does.
    open: Option<Instant>,
    /// Dropped events, as of the last look.
    dropped: u64,
}

/// What is to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// It begins.
    Begins,
    /// It is over.
    Ends,
}

impl Episode {
    /// What is to be told after a look at how it goes: whether writing fails, and how many events are dropped by now.
    pub(super) fn look(&mut self, now: Instant, failing: bool, dropped: u64) -> Option<Told> {
        let wrong = failing || dropped > self.dropped;
        self.dropped = dropped;
        match &mut self.open {
            None if wrong => {
                self.open = Some(now);
                Some(Told::Begins)
            }
            Some(last) if wrong => {
                *last = now;
                None
            }
            Some(last) if now.saturating_duration_since(*last) >= QUIET => {
                self.open = None;
                Some(Told::Ends)
            }
            _ => None,
        }
    }
}

/// Tells it: what is wrong, and how many events were dropped that were not told of.
pub(super) fn tell(told: Told, why: Option<&str>, dropped: impl FnOnce() -> u64) {
    match (told, why) {
        (Told::Begins, Some(error)) => {
            tracing::warn!(error, "telemetry cannot be written: requests are served, their records wait");
        }
        (Told::Begins, None) => {
            tracing::warn!("telemetry is behind: requests are served, some without a record");
        }
        (Told::Ends, _) => match dropped() {
            0 => tracing::info!("telemetry is written again, and nothing is lost"),
            dropped => tracing::warn!(dropped, "telemetry is written again, but records are lost"),
        },
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
        assert_eq!(look(13, false, 7), Some(Told::Ends));
        assert_eq!(look(14, false, 7), None);
        assert_eq!(look(15, false, 8), Some(Told::Begins), "another one");
    }
}
