//! Chooses the session that ends when there are too many.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use portion_core::cursor::Scope;

/// Sessions that were used within this time are not ended.
const MIN_IDLE_TO_EVICT: Duration = Duration::from_mins(1);

/// Returns the session to end, by its place; `None` if all are in use. Each session has an owner and the time since when it
/// is idle. The owner of the most sessions gives one up, so that a caller that opens many cannot end those of others.
pub(super) fn choose(sessions: &[(Scope, Option<Instant>)], now: Instant) -> Option<usize> {
    let mut counts: HashMap<Scope, usize> = HashMap::new();
    for (owner, _) in sessions {
        *counts.entry(*owner).or_default() += 1;
    }
    let idle = sessions.iter().enumerate().filter_map(|(place, (owner, since))| {
        let since = since.filter(|since| now.duration_since(*since) > MIN_IDLE_TO_EVICT)?;
        Some(((Reverse(counts[owner]), since), place))
    });
    idle.min().map(|(_, place)| place)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use portion_core::cursor::Scope;

    use super::choose;

    #[test]
    fn the_owner_of_the_most_sessions_gives_up_the_one_that_is_idle_longest() {
        let start = Instant::now();
        let now = start + Duration::from_hours(1);
        let check = |sessions: &[(&str, Option<u64>)], expect: Option<usize>| {
            let sessions: Vec<_> = sessions
                .iter()
                .map(|(owner, idle)| {
                    (
                        Scope::from_principal(owner),
                        idle.and_then(|idle| now.checked_sub(Duration::from_secs(idle))),
                    )
                })
                .collect();
            assert_eq!(choose(&sessions, now), expect, "{sessions:?}");
        };
        check(&[], None);
        check(&[("a", None), ("b", Some(60))], None);
        check(&[("a", Some(61)), ("b", Some(62))], Some(1));
        check(&[("a", Some(3000)), ("b", Some(70)), ("b", Some(80))], Some(2));
        check(&[("a", Some(3000)), ("b", None), ("b", Some(30))], Some(0));
    }
}
