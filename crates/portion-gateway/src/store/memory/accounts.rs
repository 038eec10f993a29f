//! Who holds how much, and what of it was used longest ago.

use std::collections::{BTreeMap, HashMap};

use portion_core::cursor::{Scope, SnapshotId};

use crate::call::ReuseKey;

/// A tick that every use of the store takes one of: the lower, the longer ago.
pub(super) type Turn = u64;

#[derive(Debug, Default)]
pub(super) struct Accounts {
    of: HashMap<Scope, Account>,
    /// Scopes by the bytes they hold; the serial number tells equal ones apart.
    ranked: BTreeMap<(usize, u64), Scope>,
    serials: u64,
}

#[derive(Debug)]
struct Account {
    serial: u64,
    bytes: usize,
    recency: BTreeMap<Turn, SnapshotId>,
    reuse: HashMap<ReuseKey, SnapshotId>,
}

/// One snapshot as its account knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) id: SnapshotId,
    pub(super) turn: Turn,
    pub(super) bytes: usize,
    pub(super) reuse: Option<ReuseKey>,
}

impl Accounts {
    /// Scopes that hold anything.
    pub(super) fn len(&self) -> usize {
        self.of.len()
    }

    /// Scopes that hold anything, and this one.
    pub(super) fn len_with(&self, scope: &Scope) -> usize {
        self.len() + usize::from(!self.of.contains_key(scope))
    }

    /// Bytes that a scope holds.
    pub(super) fn bytes(&self, scope: &Scope) -> usize {
        self.of.get(scope).map_or(0, |account| account.bytes)
    }

    /// What a scope used longest ago.
    pub(super) fn oldest(&self, scope: &Scope) -> Option<SnapshotId> {
        self.of.get(scope)?.recency.first_key_value().map(|(_, id)| *id)
    }

    /// Who holds most, this one aside.
    pub(super) fn largest_besides(&self, scope: &Scope) -> Option<Scope> {
        self.ranked.values().rev().find(|other| *other != scope).copied()
    }

    /// The snapshot that a reuse key stands for.
    pub(super) fn recall(&self, scope: &Scope, reuse: ReuseKey) -> Option<SnapshotId> {
        self.of.get(scope)?.reuse.get(&reuse).copied()
    }

    /// Lets a reuse key stand for nothing.
    pub(super) fn forget(&mut self, scope: &Scope, reuse: ReuseKey) {
        if let Some(account) = self.of.get_mut(scope) {
            account.reuse.remove(&reuse);
        }
    }

    /// Enters a snapshot that is new.
    pub(super) fn add(&mut self, scope: Scope, entry: Entry) {
        let account = self.of.entry(scope).or_insert_with(|| {
            self.serials += 1;
            self.ranked.insert((0, self.serials), scope);
            Account { serial: self.serials, bytes: 0, recency: BTreeMap::new(), reuse: HashMap::new() }
        });
        account.recency.insert(entry.turn, entry.id);
        if let Some(reuse) = entry.reuse {
            account.reuse.insert(reuse, entry.id);
        }
        let bytes = account.bytes + entry.bytes;
        self.rank(&scope, bytes);
    }

    /// Strikes a snapshot out, and its account if that is empty then.
    pub(super) fn remove(&mut self, scope: &Scope, entry: Entry) {
        let Some(account) = self.of.get_mut(scope) else { return };
        account.recency.remove(&entry.turn);
        if let Some(reuse) = entry.reuse
            && account.reuse.get(&reuse) == Some(&entry.id)
        {
            account.reuse.remove(&reuse);
        }
        let bytes = account.bytes - entry.bytes;
        let empty = account.recency.is_empty();
        self.rank(scope, bytes);
        if empty && let Some(account) = self.of.remove(scope) {
            self.ranked.remove(&(account.bytes, account.serial));
        }
    }

    /// Notes that a snapshot was used.
    pub(super) fn touch(&mut self, scope: &Scope, before: Turn, now: Turn) {
        if let Some(account) = self.of.get_mut(scope)
            && let Some(id) = account.recency.remove(&before)
        {
            account.recency.insert(now, id);
        }
    }

    /// Notes that a snapshot of a scope weighs more or less than it did.
    pub(super) fn reweigh(&mut self, scope: &Scope, before: usize, now: usize) {
        let bytes = self.bytes(scope) - before + now;
        self.rank(scope, bytes);
    }

    fn rank(&mut self, scope: &Scope, bytes: usize) {
        if let Some(account) = self.of.get_mut(scope) {
            self.ranked.remove(&(account.bytes, account.serial));
            account.bytes = bytes;
            self.ranked.insert((bytes, account.serial), *scope);
        }
    }
}
