//! Another Portion behind this one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use portion_core::cursor::Scope;

use crate::gateway::Gateway;

/// Records if the upstream is another Portion, whose cursors are passed on to it. Clones share the record.
#[derive(Clone, Debug, Default)]
pub struct NestedPortion(Arc<AtomicBool>);

impl NestedPortion {
    /// Records a notice of another Portion in a result.
    pub fn record(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns true if a cursor probably belongs to the other Portion.
    pub fn owns(&self, gateway: &Gateway, scope: &Scope, cursor: &str) -> bool {
        self.0.load(Ordering::Relaxed) && !gateway.has_issued(scope, cursor)
    }
}
