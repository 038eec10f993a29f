//! Sessions that got an oversized result of an endpoint a short time ago.

use std::collections::HashSet;
use std::hash::BuildHasher as _;
use std::time::Duration;

use portion_core::event::RequestServed;

/// Maximum number of remembered pairs of session and endpoint in each of the two sets.
const MAX_PAIRS: usize = 4_096;
/// Arguments by which a caller says how much it wants.
const NARROWING: [&str; 3] = ["limit", "fields", "maxTokens"];

/// Pairs of session and endpoint with an oversized result in the last window. A pair is remembered for one to two
/// windows, because the pairs are kept in two sets and the older one is dropped as a whole.
#[derive(Clone, Debug, Default)]
pub(super) struct Repeats {
    /// Hashes of pairs.
    recent: HashSet<u64>,
    older: HashSet<u64>,
    /// Start of `recent`.
    since: Duration,
    hasher: foldhash::fast::RandomState,
}

impl Repeats {
    /// Adds an oversized call. Returns true if its session got an oversized result of the same endpoint before, and
    /// the call did not say how much it wants.
    pub(super) fn add(&mut self, now: Duration, window: Duration, served: &RequestServed) -> bool {
        if now.saturating_sub(self.since) >= window * 2 {
            self.recent.clear();
        }
        if now.saturating_sub(self.since) >= window || self.recent.len() >= MAX_PAIRS {
            self.older = std::mem::take(&mut self.recent);
            self.since = now;
        }
        let pair = (served.session, &served.upstream, served.kind, &served.endpoint);
        let pair = self.hasher.hash_one(pair);
        let is_known = !self.recent.insert(pair) || self.older.contains(&pair);
        is_known && !served.arguments.iter().any(|name| NARROWING.contains(&name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn only_a_session_that_asks_again_counts() {
        let window = Duration::from_mins(5);
        let mut repeats = Repeats::default();
        let mut add = |seconds, session, endpoint: &str, arguments: &[&str]| {
            let arguments = arguments.iter().map(|name| (*name).to_owned()).collect();
            let endpoint = Arc::from(endpoint);
            let served = RequestServed { session, endpoint, arguments, ..RequestServed::default() };
            repeats.add(Duration::from_secs(seconds), window, &served)
        };
        assert!(!add(0, 1, "list", &[]), "the first large result is normal");
        assert!(!add(0, 2, "list", &[]), "so is that of another session");
        assert!(!add(0, 1, "search", &[]), "and that of another endpoint");
        assert!(add(1, 1, "list", &["query"]));
        assert!(!add(1, 1, "list", &["limit"]), "it said how much it wants");
        assert!(add(299, 2, "list", &[]));
        assert!(add(400, 2, "list", &[]), "101 seconds later");
        assert!(!add(2_000, 2, "list", &[]), "long after");
    }

    #[test]
    fn pairs_are_bounded() {
        let mut repeats = Repeats::default();
        for session in 0..20_000 {
            let served = RequestServed { session, ..RequestServed::default() };
            assert!(!repeats.add(Duration::ZERO, Duration::from_mins(5), &served));
        }
        assert!(repeats.recent.len() + repeats.older.len() <= 2 * MAX_PAIRS);
    }
}
