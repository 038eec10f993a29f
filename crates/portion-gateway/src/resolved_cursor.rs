//! Cursors of requests, resolved once: verified and looked up.

use std::sync::Arc;

use portion_core::cursor::{Position, SnapshotId};

use portion_policy::endpoint::Endpoint;

use crate::fault::Fault;
use crate::store::StoredSnapshot;

/// A cursor that was resolved for a caller, by
/// [`Gateway::caller_for_cursor`](crate::gateway::Gateway::caller_for_cursor).
#[derive(Clone, Debug)]
pub struct ResolvedCursor {
    pub(crate) token: String,
    pub(crate) target: Result<(StoredSnapshot, Position), UnresolvedCursor>,
}

/// A cursor that could not be resolved, and what is known about its target, for the record.
#[derive(Clone, Debug)]
pub(crate) struct UnresolvedCursor {
    pub(crate) fault: Fault,
    pub(crate) endpoint: Option<Arc<Endpoint>>,
    pub(crate) origin_snapshot: Option<SnapshotId>,
}
