//! Sources of removed snapshots, so that a fault for an expired cursor can name the call to repeat.
//!
//! Bounded by bytes, in addition to `snapshotMemory`. Without a tombstone the advice is less specific.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use portion_core::cursor::{Scope, SnapshotId};
use portion_policy::endpoint::Endpoint;

/// Memory limit in bytes: about 5,000 snapshots.
const MAX_BYTES: usize = 1 << 20;
/// Bytes per tombstone besides the name of its endpoint and its arguments.
const OVERHEAD_BYTES: usize = 192;

#[derive(Debug, Default)]
pub(super) struct Tombstones {
    by_id: HashMap<SnapshotId, Tombstone>,
    order: VecDeque<SnapshotId>,
    bytes: usize,
}

/// Record of a removed snapshot.
#[derive(Debug)]
pub(super) struct Tombstone {
    pub(super) scope: Scope,
    pub(super) endpoint: Option<Arc<Endpoint>>,
    pub(super) arguments: Option<Arc<str>>,
    pub(super) origin_snapshot: SnapshotId,
}

impl Tombstones {
    /// Adds a tombstone, and drops the oldest ones beyond the limit.
    pub(super) fn add(&mut self, id: SnapshotId, tombstone: Tombstone) {
        self.bytes += tombstone.bytes();
        match self.by_id.insert(id, tombstone) {
            Some(before) => self.bytes -= before.bytes(),
            None => self.order.push_back(id),
        }
        while self.bytes > MAX_BYTES
            && let Some(oldest) = self.order.pop_front()
        {
            self.bytes -= self.by_id.remove(&oldest).map_or(0, |tombstone| tombstone.bytes());
        }
    }

    /// Returns the tombstone of a snapshot of this scope, if there is one.
    pub(super) fn find(&self, scope: &Scope, id: SnapshotId) -> Option<&Tombstone> {
        self.by_id.get(&id).filter(|tombstone| tombstone.scope == *scope)
    }
}

impl Tombstone {
    fn bytes(&self) -> usize {
        let name = self.endpoint.as_ref().map_or(0, |endpoint| endpoint.name.len());
        OVERHEAD_BYTES + name + self.arguments.as_ref().map_or(0, |arguments| arguments.len())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use portion_core::cursor::{Scope, SnapshotId};
    use portion_policy::endpoint::{Endpoint, EndpointKind};

    use super::{MAX_BYTES, Tombstone, Tombstones};

    fn numbered(n: u64) -> SnapshotId {
        let [_, _, id @ ..] = n.to_be_bytes();
        id
    }

    #[test]
    fn keeps_the_latest_within_its_limit() {
        let (scope, mut tombstones) = (Scope::from_principal("ada"), Tombstones::default());
        for n in 0..20_000_u64 {
            let name = "x".repeat(n as usize % 700);
            let endpoint = Endpoint { name, kind: EndpointKind::Tool, read_only: true, idempotent: true };
            let (id, arguments) = (numbered(n), (n % 2 == 0).then(|| "{}".into()));
            let endpoint = Some(Arc::new(endpoint));
            tombstones.add(id, Tombstone { scope, endpoint, arguments, origin_snapshot: id });
            assert!(tombstones.bytes <= MAX_BYTES);
            assert_eq!(tombstones.by_id.len(), tombstones.order.len());
        }
        let bytes: usize = tombstones.by_id.values().map(Tombstone::bytes).sum();
        assert_eq!(tombstones.bytes, bytes);
        assert!(tombstones.find(&scope, numbered(0)).is_none());
        assert!(tombstones.find(&scope, numbered(19_999)).is_some());
        assert!(tombstones.find(&Scope::from_principal("bob"), numbered(19_999)).is_none());
    }

    #[test]
    fn a_tombstone_that_is_replaced_counts_once() {
        let (scope, mut tombstones) = (Scope::from_principal("ada"), Tombstones::default());
        let (id, name) = (numbered(1), "list".to_owned());
        let endpoint =
            Some(Arc::new(Endpoint { name, kind: EndpointKind::Tool, read_only: true, idempotent: true }));
        for n in 0..20_000_u64 {
            let arguments = (n % 2 == 0).then(|| "{}".into());
            let endpoint = endpoint.clone();
            tombstones.add(id, Tombstone { scope, endpoint, arguments, origin_snapshot: numbered(n) });
            assert_eq!(tombstones.bytes, 192 + 4 + if n % 2 == 0 { 2 } else { 0 });
        }
        assert_eq!((tombstones.by_id.len(), tombstones.order.len()), (1, 1));
        assert_eq!(tombstones.find(&scope, id).map(|found| found.origin_snapshot), Some(numbered(19_999)));
    }
}
