//! What a gateway is made of, decided before it starts.

use std::sync::Arc;
use std::time::Instant;

use portion_core::policy::Policy;
use portion_core::tokens::TokenCounter;

use crate::store::SnapshotStore;

/// Tells the time, so that a test can.
pub type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

/// The parts of a [`Gateway`](crate::gateway::Gateway).
pub struct Settings {
    /// The limits that replies obey.
    pub policy: Policy,
    /// Counts what a reply costs.
    pub counter: &'static dyn TokenCounter,
    /// Counts anew what an estimating counter let through, to catch it where it is badly wrong; `None` where the
    /// counter is exact or errs upwards.
    pub auditor: Option<&'static dyn TokenCounter>,
    /// Signs cursors: random for each process, or set by the operator where processes share a store.
    pub secret: [u8; 32],
    /// Keeps what was captured.
    pub store: Arc<dyn SnapshotStore>,
    /// Tells the time.
    pub clock: Clock,
}

impl Settings {
    /// The defaults around a counter, a store and a secret.
    pub fn new(counter: &'static dyn TokenCounter, store: Arc<dyn SnapshotStore>, secret: [u8; 32]) -> Self {
        let (policy, clock) = (Policy::default(), Arc::new(Instant::now));
        Self { policy, counter, auditor: None, secret, store, clock }
    }
}

/// A secret that nobody knows, for one process.
///
/// # Errors
/// Where the system has no randomness to give.
pub fn random_secret() -> Result<[u8; 32], getrandom::Error> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret)?;
    Ok(secret)
}
