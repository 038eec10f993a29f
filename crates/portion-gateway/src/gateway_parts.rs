//! What a gateway is made of, decided before it starts.

use std::sync::Arc;
use std::time::Instant;

use portion_core::event::Observer;

use crate::rules::EndpointRules;
use crate::store::SnapshotStore;

/// Tells the time, so that a test can.
pub type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

/// The parts of a [`Gateway`](crate::gateway::Gateway).
pub struct GatewayParts {
    /// Decide what replies obey.
    pub rules: EndpointRules,
    /// Signs cursors: random for each process, or set by the operator where processes share a store.
    pub cursor_secret: [u8; 32],
    /// Keeps what was captured.
    pub store: Arc<dyn SnapshotStore>,
    /// Tells the time.
    pub clock: Clock,
    /// Hears what is served.
    pub observer: Arc<dyn Observer>,
}

impl GatewayParts {
    /// These parts, the time of the system, and nobody who listens.
    pub fn new(rules: EndpointRules, store: Arc<dyn SnapshotStore>, secret: [u8; 32]) -> Self {
        Self { rules, cursor_secret: secret, store, clock: Arc::new(Instant::now), observer: Arc::new(()) }
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
