//! Room for a new snapshot: each scope is guaranteed an equal share of the disk, by the rules of
//! [`MemoryStore`](super::super::MemoryStore).

use std::collections::HashMap;

/// A stored snapshot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) row: i64,
    pub(super) scope: [u8; 32],
    pub(super) bytes: u64,
}

/// Returns the snapshots that have to go for `bytes` more of a scope, so that all fit into `limit`; `None` if they do not fit
/// all the same. `entries`: the least recently used first. `spares_own`: those of the same scope stay.
pub(super) fn evicted_for(
    mut entries: Vec<Entry>,
    own: [u8; 32],
    bytes: u64,
    limit: u64,
    spares_own: bool,
) -> Option<Vec<Entry>> {
    let mut used: HashMap<[u8; 32], u64> = HashMap::from([(own, 0)]);
    for entry in &entries {
        *used.entry(entry.scope).or_default() += entry.bytes;
    }
    let share = limit / used.len() as u64;
    let mut total: u64 = used.values().sum();
    let mut evicted = Vec::new();
    while total + bytes > limit {
        let of_own = used.get(&own).copied().unwrap_or_default();
        let victim = if of_own > 0 && of_own + bytes > share {
            (!spares_own).then_some(own)?
        } else {
            let others = used.iter().filter(|(scope, bytes)| **scope != own && **bytes > 0);
            *others.max_by_key(|(_, bytes)| **bytes)?.0
        };
        let oldest = entries.iter().position(|entry| entry.scope == victim)?;
        let entry = entries.remove(oldest);
        total -= entry.bytes;
        if let Some(used) = used.get_mut(&victim) {
            *used -= entry.bytes;
        }
        evicted.push(entry);
    }
    Some(evicted)
}

#[cfg(test)]
mod tests {
    use super::{Entry, evicted_for};

    /// Checks which snapshots go: `used` has the scope and bytes of each, the least recently used first.
    #[track_caller]
    fn check(used: &[(u8, u64)], own: u8, bytes: u64, gone: &[i64]) {
        let entry = |(at, (scope, bytes)): (usize, &(u8, u64))| Entry {
            row: at as i64,
            scope: [*scope; 32],
            bytes: *bytes,
        };
        let entries: Vec<Entry> = used.iter().enumerate().map(entry).collect();
        let evicted = |spares_own| {
            let evicted = evicted_for(entries.clone(), [own; 32], bytes, 100, spares_own);
            evicted.map(|evicted| evicted.iter().map(|entry| entry.row).collect::<Vec<_>>())
        };
        assert_eq!(evicted(false).as_deref(), Some(gone));
        let is_own = gone.iter().any(|row| used[*row as usize].0 == own);
        assert_eq!(evicted(true).as_deref(), (!is_own).then_some(gone));
    }

    #[test]
    fn the_least_recently_used_of_the_largest_scope_goes() {
        check(&[(0, 40), (0, 40)], 0, 20, &[]);
        check(&[(0, 40), (0, 40)], 0, 30, &[0]);
        check(&[(0, 40), (0, 40)], 1, 30, &[0]);
        check(&[(1, 20), (0, 60), (0, 20)], 1, 20, &[1]);
        check(&[(1, 10), (0, 60), (1, 30)], 1, 20, &[0, 1]);
        check(&[(0, 50), (1, 30)], 1, 20, &[]);
        check(&[(0, 80)], 1, 60, &[0]);
    }
}
