//! Memory usage by scope, and the least recently used snapshot of each.

use std::collections::{BTreeMap, HashMap};

use portion_core::cursor::{Scope, SnapshotId};

use crate::call::ReuseKey;

/// Counter of uses of the store: lower values are older.
pub(super) type UseTick = u64;

#[derive(Debug, Default)]
pub(super) struct UsageByScope {
    by_scope: HashMap<Scope, ScopeUsage>,
    /// Scopes by their bytes; the serial number makes equal ones distinct.
    by_bytes: BTreeMap<(usize, u64), Scope>,
    next_serial: u64,
}

#[derive(Debug)]
struct ScopeUsage {
    serial: u64,
    bytes: usize,
    by_last_use: BTreeMap<UseTick, SnapshotId>,
    reuse_index: HashMap<ReuseKey, SnapshotId>,
}

/// Usage of one snapshot.
#[derive(Clone, Copy, Debug)]
pub(super) struct UsageEntry {
    pub(super) id: SnapshotId,
    pub(super) last_used: UseTick,
    pub(super) bytes: usize,
    pub(super) reuse_key: Option<ReuseKey>,
}

impl UsageByScope {
    /// Returns the number of scopes with snapshots.
    pub(super) fn scope_count(&self) -> usize {
        self.by_scope.len()
    }

    /// Returns the number of scopes with snapshots, including this one.
    pub(super) fn scope_count_with(&self, scope: &Scope) -> usize {
        self.scope_count() + usize::from(!self.by_scope.contains_key(scope))
    }

    /// Returns the bytes of a scope.
    pub(super) fn bytes(&self, scope: &Scope) -> usize {
        self.by_scope.get(scope).map_or(0, |account| account.bytes)
    }

    /// Returns the least recently used snapshot of a scope that is selected.
    pub(super) fn oldest(
        &self,
        scope: &Scope,
        is_selected: impl Fn(&SnapshotId) -> bool,
    ) -> Option<SnapshotId> {
        self.by_scope.get(scope)?.by_last_use.values().copied().find(is_selected)
    }

    /// Returns the other scopes with more than `bytes` bytes, the largest first.
    pub(super) fn others_above(&self, bytes: usize, scope: &Scope) -> impl Iterator<Item = &Scope> {
        self.by_bytes
            .range((bytes + 1, 0)..)
            .rev()
            .map(|(_, other)| other)
            .filter(move |other| *other != scope)
    }

    /// Returns the snapshot of a reuse key.
    pub(super) fn find_reusable(&self, scope: &Scope, reuse: ReuseKey) -> Option<SnapshotId> {
        self.by_scope.get(scope)?.reuse_index.get(&reuse).copied()
    }

    /// Clears a reuse key.
    pub(super) fn forget_reuse(&mut self, scope: &Scope, reuse: ReuseKey) {
        if let Some(account) = self.by_scope.get_mut(scope) {
            account.reuse_index.remove(&reuse);
        }
    }

    /// Adds a new snapshot.
    pub(super) fn add(&mut self, scope: Scope, entry: UsageEntry) {
        let account = self.by_scope.entry(scope).or_insert_with(|| {
            self.next_serial += 1;
            self.by_bytes.insert((0, self.next_serial), scope);
            ScopeUsage {
                serial: self.next_serial,
                bytes: 0,
                by_last_use: BTreeMap::new(),
                reuse_index: HashMap::new(),
            }
        });
        account.by_last_use.insert(entry.last_used, entry.id);
        if let Some(reuse) = entry.reuse_key {
            account.reuse_index.insert(reuse, entry.id);
        }
        let bytes = account.bytes + entry.bytes;
        self.update_rank(&scope, bytes);
    }

    /// Removes a snapshot, and its scope if that is empty.
    pub(super) fn remove(&mut self, scope: &Scope, entry: UsageEntry) {
        let Some(account) = self.by_scope.get_mut(scope) else { return };
        account.by_last_use.remove(&entry.last_used);
        if let Some(reuse) = entry.reuse_key
            && account.reuse_index.get(&reuse) == Some(&entry.id)
        {
            account.reuse_index.remove(&reuse);
        }
        let bytes = account.bytes - entry.bytes;
        let empty = account.by_last_use.is_empty();
        self.update_rank(scope, bytes);
        if empty && let Some(account) = self.by_scope.remove(scope) {
            self.by_bytes.remove(&(account.bytes, account.serial));
        }
    }

    /// Updates the last use of a snapshot.
    pub(super) fn touch(&mut self, scope: &Scope, before: UseTick, now: UseTick) {
        if let Some(account) = self.by_scope.get_mut(scope)
            && let Some(id) = account.by_last_use.remove(&before)
        {
            account.by_last_use.insert(now, id);
        }
    }

    /// Updates the size of a snapshot.
    pub(super) fn resize(&mut self, scope: &Scope, before: usize, now: usize) {
        let bytes = self.bytes(scope) - before + now;
        self.update_rank(scope, bytes);
    }

    fn update_rank(&mut self, scope: &Scope, bytes: usize) {
        if let Some(account) = self.by_scope.get_mut(scope) {
            self.by_bytes.remove(&(account.bytes, account.serial));
            account.bytes = bytes;
            self.by_bytes.insert((bytes, account.serial), *scope);
        }
    }
}

#[cfg(test)]
mod tests {
    use portion_core::cursor::Scope;

    use super::{UsageByScope, UsageEntry};

    #[test]
    fn scopes_of_equal_size_are_told_apart() {
        let mut usage = UsageByScope::default();
        let scopes = ["ada", "bob", "eve"].map(Scope::from_principal);
        let entry =
            |n: usize| UsageEntry { id: [n as u8; 6], last_used: n as u64, bytes: 10, reuse_key: None };
        for (n, scope) in scopes.iter().enumerate() {
            usage.add(*scope, entry(n));
        }
        for (n, scope) in scopes.iter().enumerate() {
            usage.remove(scope, entry(n));
            let left = &scopes[n + 1..];
            assert!(usage.others_above(9, scope).eq(left.iter().rev()), "{} are left", left.len());
            assert_eq!(usage.others_above(10, scope).next(), None);
        }
    }
}
