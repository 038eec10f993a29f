//! The shelf itself: what stands on it, what has to go, without locks or waiting.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use portion_core::cursor::{Scope, SnapshotId, ViewId};
use portion_core::snapshot::Snapshot;
use portion_core::view::View;

use super::accounts::{Accounts, Entry, Turn};
use super::gone::{Gone, Grave};
use super::views::{self, Views};
use crate::call::{Endpoint, ReuseKey};
use crate::rules::Rule;
use crate::store::{Deposit, Figures, Held, Limits, Missing, Refused};

/// Bytes that a snapshot costs besides what it holds: its places in the indexes, its root view.
const OVERHEAD: usize = 1024;

#[derive(Debug)]
pub(super) struct Shelf {
    limits: Limits,
    slots: HashMap<SnapshotId, Slot>,
    /// All snapshots, the least recently used first. As each use starts the same time to live anew, that is
    /// the order in which they expire as well.
    recency: BTreeMap<Turn, SnapshotId>,
    accounts: Accounts,
    gone: Gone,
    bytes: usize,
    turns: Turn,
    /// The latest time heard of: of two that use the store at once, the later may come first.
    clock: Option<Instant>,
    departed: Vec<Departed>,
    evicted: u64,
    expired: u64,
    refused: u64,
}

#[derive(Debug)]
struct Slot {
    id: SnapshotId,
    scope: Scope,
    snapshot: Arc<Snapshot>,
    views: Views,
    endpoint: Option<Arc<Endpoint>>,
    rule: Option<Arc<Rule>>,
    origin: SnapshotId,
    reuse: Option<ReuseKey>,
    bytes: usize,
    turn: Turn,
    /// `None`: beyond what the clock can tell.
    expires: Option<Instant>,
}

/// A snapshot that is no longer on the shelf, to be freed.
#[derive(Debug)]
pub(super) struct Departed {
    slot: Slot,
    pub(super) why: Why,
}

/// Why a snapshot departed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Evicted,
    Expired,
}

impl Departed {
    #[cfg(test)]
    pub(super) fn id(&self) -> SnapshotId {
        self.slot.id
    }

    pub(super) fn bytes(&self) -> usize {
        self.slot.bytes
    }

    pub(super) fn endpoint(&self) -> Cow<'_, str> {
        Endpoint::told(self.slot.endpoint.as_deref())
    }
}

impl Shelf {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            slots: HashMap::new(),
            recency: BTreeMap::new(),
            accounts: Accounts::default(),
            gone: Gone::default(),
            bytes: 0,
            turns: 0,
            clock: None,
            departed: Vec::new(),
            evicted: 0,
            expired: 0,
            refused: 0,
        }
    }

    pub(super) fn put(&mut self, scope: &Scope, deposit: Deposit, now: Instant) -> Result<(), Refused> {
        let now = self.expire(now);
        let mut views = Views::of(&deposit.snapshot, &deposit.view);
        let name = deposit.endpoint.as_ref().map_or(0, |endpoint| endpoint.name.len());
        let mut bytes = deposit.snapshot.heap_bytes() + name + OVERHEAD;
        if deposit.view.id() != views.root().id() {
            let weight = views::weight(&deposit.view);
            views.add(deposit.view, weight);
            bytes += weight;
        }
        if views.bytes() > views.room() {
            return self.refuse(views.bytes(), views.room());
        }
        self.make_room(scope, bytes, 0)?;
        // Ids are random, so this is a repeated deposit, if it ever is.
        self.take(deposit.id);
        let (turn, expires) = (self.next_turn(), now.checked_add(self.limits.ttl));
        self.recency.insert(turn, deposit.id);
        self.accounts.add(*scope, Entry { id: deposit.id, turn, bytes, reuse: deposit.reuse });
        self.bytes += bytes;
        let Deposit { id, snapshot, endpoint, reuse, rule, origin, .. } = deposit;
        self.slots.insert(
            id,
            Slot { id, scope: *scope, snapshot, views, endpoint, rule, origin, reuse, bytes, turn, expires },
        );
        Ok(())
    }

    pub(super) fn keep_view(
        &mut self,
        scope: &Scope,
        id: SnapshotId,
        view: View,
        now: Instant,
    ) -> Result<(), Refused> {
        let now = self.expire(now);
        let Some(slot) = self.slots.get_mut(&id).filter(|slot| slot.scope == *scope) else {
            return Err(Refused::Gone);
        };
        if slot.views.get(view.id()).is_some() {
            slot.views.pace(&view);
            self.touch(id, now);
            return Ok(());
        }
        let (bytes, room) = (views::weight(&view), slot.views.room());
        if bytes > room {
            return self.refuse(bytes, room);
        }
        let freed = slot.views.make_room(bytes);
        let before = slot.bytes;
        self.reweigh(id, before - freed);
        // As the most recently used of its scope it is the last one to go, and with it nothing would fit.
        self.touch(id, now);
        self.make_room(scope, bytes, before - freed)?;
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.views.add(view, bytes);
        }
        self.reweigh(id, before - freed + bytes);
        Ok(())
    }

    pub(super) fn find(
        &mut self,
        scope: &Scope,
        id: SnapshotId,
        view: ViewId,
        now: Instant,
    ) -> Result<Held, Missing> {
        let now = self.expire(now);
        let Some(slot) = self.slots.get_mut(&id).filter(|slot| slot.scope == *scope) else {
            let gone =
                |grave: &Grave| Missing::Gone { endpoint: grave.endpoint.clone(), origin: grave.origin };
            return Err(self.gone.find(scope, id).map_or(Missing::Unknown, gone));
        };
        let found = match slot.views.get(view) {
            Some(view) => Ok(slot.held(view)),
            None => Err(Missing::View { root: Box::new(slot.held(slot.views.root().clone())) }),
        };
        self.touch(id, now);
        found
    }

    pub(super) fn recall(&mut self, scope: &Scope, reuse: ReuseKey, now: Instant) -> Option<Held> {
        let now = self.expire(now);
        let id = self.accounts.recall(scope, reuse)?;
        let slot = self.slots.get(&id)?;
        let held = slot.held(slot.views.root().clone());
        self.touch(id, now);
        Some(held)
    }

    pub(super) fn forget(&mut self, scope: &Scope, reuse: ReuseKey) {
        self.accounts.forget(scope, reuse);
    }

    pub(super) fn figures(&mut self, now: Instant) -> Figures {
        self.expire(now);
        Figures {
            snapshots: self.slots.len(),
            principals: self.accounts.len(),
            bytes: self.bytes,
            evicted: self.evicted,
            expired: self.expired,
            refused: self.refused,
        }
    }

    /// What has left the shelf since the last time of asking.
    pub(super) fn take_departed(&mut self) -> Vec<Departed> {
        std::mem::take(&mut self.departed)
    }

    /// Makes room for `bytes` more of a scope, by the rule of the [module](super). `fixed` of what the scope
    /// holds must stay, and is its most recently used.
    fn make_room(&mut self, scope: &Scope, bytes: usize, fixed: usize) -> Result<(), Refused> {
        let memory = self.limits.memory;
        let share = memory / self.accounts.len_with(scope);
        let others = self.bytes - self.accounts.bytes(scope);
        let room = (memory - others).max(share).saturating_sub(fixed);
        if bytes > room {
            return self.refuse(bytes, room);
        }
        while self.bytes + bytes > memory {
            let owner = if self.accounts.bytes(scope) + bytes > share {
                Some(*scope)
            } else {
                self.accounts.largest_besides(scope)
            };
            let oldest = owner.and_then(|owner| self.accounts.oldest(&owner));
            if !oldest.is_some_and(|id| self.depart(id, Why::Evicted)) {
                return self.refuse(bytes, room);
            }
        }
        Ok(())
    }

    /// Lets go what is out of its time. Returns the time, which never runs backwards.
    fn expire(&mut self, now: Instant) -> Instant {
        let now = self.clock.map_or(now, |clock| clock.max(now));
        self.clock = Some(now);
        while let Some((_, &id)) = self.recency.first_key_value()
            && self.slots.get(&id).is_some_and(|slot| slot.expires.is_some_and(|at| at <= now))
            && self.depart(id, Why::Expired)
        {}
        now
    }

    /// Lets a snapshot go. Returns whether it was there.
    fn depart(&mut self, id: SnapshotId, why: Why) -> bool {
        let Some(slot) = self.take(id) else { return false };
        let (scope, endpoint, origin) = (slot.scope, slot.endpoint.clone(), slot.origin);
        self.gone.add(id, Grave { scope, endpoint, origin });
        match why {
            Why::Evicted => self.evicted += 1,
            Why::Expired => self.expired += 1,
        }
        self.departed.push(Departed { slot, why });
        true
    }

    fn take(&mut self, id: SnapshotId) -> Option<Slot> {
        let slot = self.slots.remove(&id)?;
        let entry = Entry { id, turn: slot.turn, bytes: slot.bytes, reuse: slot.reuse };
        self.accounts.remove(&slot.scope, entry);
        self.recency.remove(&slot.turn);
        self.bytes -= slot.bytes;
        Some(slot)
    }

    fn touch(&mut self, id: SnapshotId, now: Instant) {
        let turn = self.next_turn();
        if let Some(slot) = self.slots.get_mut(&id) {
            self.recency.remove(&slot.turn);
            self.recency.insert(turn, id);
            self.accounts.touch(&slot.scope, slot.turn, turn);
            slot.turn = turn;
            slot.expires = now.checked_add(self.limits.ttl);
        }
    }

    fn reweigh(&mut self, id: SnapshotId, bytes: usize) {
        if let Some(slot) = self.slots.get_mut(&id) {
            self.accounts.reweigh(&slot.scope, slot.bytes, bytes);
            self.bytes = self.bytes - slot.bytes + bytes;
            slot.bytes = bytes;
        }
    }

    fn refuse(&mut self, bytes: usize, room: usize) -> Result<(), Refused> {
        self.refused += 1;
        Err(Refused::NoRoom { bytes, room })
    }

    fn next_turn(&mut self) -> Turn {
        self.turns += 1;
        self.turns
    }
}

impl Slot {
    fn held(&self, view: View) -> Held {
        let (endpoint, rule) = (self.endpoint.clone(), self.rule.clone());
        Held { id: self.id, snapshot: Arc::clone(&self.snapshot), view, endpoint, rule, origin: self.origin }
    }
}

#[cfg(test)]
impl Shelf {
    /// Bytes that a scope holds.
    pub(super) fn held(&self, scope: &Scope) -> usize {
        self.accounts.bytes(scope)
    }

    /// Scopes that hold anything, and this one.
    pub(super) fn principals_with(&self, scope: &Scope) -> usize {
        self.accounts.len_with(scope)
    }

    /// What is kept twice, for speed, agrees.
    pub(super) fn assert_consistent(&self) {
        assert_eq!(self.bytes, self.slots.values().map(|slot| slot.bytes).sum::<usize>());
        assert_eq!(self.recency.len(), self.slots.len());
        for (id, slot) in &self.slots {
            assert_eq!(self.recency.get(&slot.turn), Some(id));
            let own = self.slots.values().filter(|other| other.scope == slot.scope);
            assert_eq!(self.accounts.bytes(&slot.scope), own.map(|slot| slot.bytes).sum::<usize>());
            assert!(slot.views.bytes() <= slot.views.room());
        }
    }
}
