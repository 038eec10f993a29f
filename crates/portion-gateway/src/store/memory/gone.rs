//! What snapshots came from that are no longer kept, so that a late cursor is told which call to repeat.
//!
//! Bounded by bytes and besides `snapshotMemory`. What falls out of it is merely advised less well.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use portion_core::cursor::{Scope, SnapshotId};

use crate::call::Endpoint;

/// Bytes remembered: some 5,000 snapshots.
const ROOM: usize = 1 << 20;
/// Bytes that one costs besides its endpoint's name.
const OVERHEAD: usize = 192;

#[derive(Debug, Default)]
pub(super) struct Gone {
    graves: HashMap<SnapshotId, Grave>,
    order: VecDeque<SnapshotId>,
    bytes: usize,
}

/// What is remembered of one.
#[derive(Debug)]
pub(super) struct Grave {
    pub(super) scope: Scope,
    pub(super) endpoint: Option<Arc<Endpoint>>,
    pub(super) origin: SnapshotId,
}

impl Gone {
    /// Remembers that a snapshot was here.
    pub(super) fn add(&mut self, id: SnapshotId, grave: Grave) {
        self.bytes += grave.bytes();
        match self.graves.insert(id, grave) {
            Some(before) => self.bytes -= before.bytes(),
            None => self.order.push_back(id),
        }
        while self.bytes > ROOM
            && let Some(oldest) = self.order.pop_front()
        {
            self.bytes -= self.graves.remove(&oldest).map_or(0, |grave| grave.bytes());
        }
    }

    /// What is remembered of a snapshot, if it is known to have been here and that scope's.
    pub(super) fn find(&self, scope: &Scope, id: SnapshotId) -> Option<&Grave> {
        self.graves.get(&id).filter(|grave| grave.scope == *scope)
    }
}

impl Grave {
    fn bytes(&self) -> usize {
        OVERHEAD + self.endpoint.as_ref().map_or(0, |endpoint| endpoint.name.len())
    }
}

#[cfg(test)]
mod tests {
    use super::{Gone, Grave, ROOM};
    use crate::call::{Endpoint, EndpointKind};
    use portion_core::cursor::Scope;
    use std::sync::Arc;

    #[test]
    fn remembers_the_latest_within_its_room() {
        let (scope, mut gone) = (Scope::of("ada"), Gone::default());
        for n in 0..20_000_u64 {
            let name = "x".repeat(n as usize % 700);
            let endpoint = Endpoint { name, kind: EndpointKind::Tool, read_only: true, idempotent: true };
            let id = n.to_be_bytes();
            gone.add(id, Grave { scope, endpoint: Some(Arc::new(endpoint)), origin: id });
            assert!(gone.bytes <= ROOM);
            assert_eq!(gone.graves.len(), gone.order.len());
        }
        assert!(gone.find(&scope, 0_u64.to_be_bytes()).is_none());
        assert!(gone.find(&scope, 19_999_u64.to_be_bytes()).is_some());
        assert!(gone.find(&Scope::of("bob"), 19_999_u64.to_be_bytes()).is_none());
    }
}
