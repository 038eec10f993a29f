//! Snapshots in this process's memory.
//!
//! # Who makes room for whom
//! Each principal has an equal share of the memory guaranteed, and may use what others leave idle. When a
//! snapshot comes that does not fit, then, one snapshot after the other:
//!
//! 1. While its principal would hold more than its share, its own least recently used goes.
//! 2. Then whoever holds most gives back of what it borrowed, its least recently used first. There is always
//!    someone: if all kept to their shares, the snapshot would fit.
//!
//! So nobody within its share ever loses anything to anyone else, and the total is never exceeded. A
//! snapshot larger than a share that does not fit besides what the others hold is refused, and nothing
//! goes for it. Shares are equal parts for all who hold anything at that moment and who comes with it:
//! memory divided by principals, so one that is alone has it all.
//!
//! What is expired goes before anything else, whenever the store is used. Nothing runs in the background.

mod accounts;
mod gone;
#[cfg(test)]
mod laws;
mod shelf;
mod views;

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use portion_core::cursor::{Scope, SnapshotId, ViewId};
use portion_core::view::View;

use self::shelf::{Departed, Shelf, Why};
use super::{Deposit, Figures, Held, Limits, Missing, Pending, Refused, SnapshotStore};
use crate::call::ReuseKey;

/// Keeps snapshots in memory, within a number of bytes.
#[derive(Debug)]
pub struct MemoryStore {
    shelf: Mutex<Shelf>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new(limits: Limits) -> Self {
        Self { shelf: Mutex::new(Shelf::new(limits)) }
    }

    /// Does something with the shelf. What departs is logged and freed after the lock is released, for
    /// both can take long.
    fn on_shelf<T>(&self, act: impl FnOnce(&mut Shelf) -> T) -> T {
        let (answer, departed) = {
            let mut guard = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
            let answer = act(&mut guard);
            (answer, guard.take_departed())
        };
        departed.iter().for_each(log);
        answer
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl SnapshotStore for MemoryStore {
    fn put<'a>(
        &'a self,
        scope: &'a Scope,
        deposit: Deposit,
        now: Instant,
    ) -> Pending<'a, Result<(), Refused>> {
        Box::pin(async move { self.on_shelf(|shelf| shelf.put(scope, deposit, now)) })
    }

    fn keep_view<'a>(
        &'a self,
        scope: &'a Scope,
        id: SnapshotId,
        view: View,
        now: Instant,
    ) -> Pending<'a, Result<(), Refused>> {
        Box::pin(async move { self.on_shelf(|shelf| shelf.keep_view(scope, id, view, now)) })
    }

    fn find<'a>(
        &'a self,
        scope: &'a Scope,
        id: SnapshotId,
        view: ViewId,
        now: Instant,
    ) -> Pending<'a, Result<Held, Missing>> {
        Box::pin(async move { self.on_shelf(|shelf| shelf.find(scope, id, view, now)) })
    }

    fn recall<'a>(&'a self, scope: &'a Scope, reuse: ReuseKey, now: Instant) -> Pending<'a, Option<Held>> {
        Box::pin(async move { self.on_shelf(|shelf| shelf.recall(scope, reuse, now)) })
    }

    fn forget<'a>(&'a self, scope: &'a Scope, reuse: ReuseKey) -> Pending<'a, ()> {
        Box::pin(async move { self.on_shelf(|shelf| shelf.forget(scope, reuse)) })
    }

    fn figures(&self, now: Instant) -> Figures {
        self.on_shelf(|shelf| shelf.figures(now))
    }
}

fn log(departed: &Departed) {
    let endpoint = &*departed.endpoint();
    let bytes = departed.bytes();
    match departed.why {
        Why::Evicted => {
            tracing::info!(endpoint, bytes, "snapshot evicted to make room; its cursors read cursor_expired");
        }
        Why::Expired => tracing::debug!(endpoint, bytes, "snapshot expired"),
    }
}
