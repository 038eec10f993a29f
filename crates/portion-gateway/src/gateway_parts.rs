//! Parts of a gateway, assembled before it starts.

use std::sync::Arc;
use std::time::Instant;

use portion_core::event::Observer;

use crate::rules::EndpointRules;
use crate::store::CachedStore;

/// Returns the current time; replaceable in tests.
pub type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

/// The parts of a [`Gateway`](crate::gateway::Gateway).
pub struct GatewayParts {
    /// Endpoint rules.
    pub rules: EndpointRules,
    /// Secret that signs cursors: random for each process, or configured if processes share a store.
    pub cursor_secret: [u8; 32],
    /// Secrets that signed cursors earlier. Their cursors are accepted as long as their snapshots live.
    pub earlier_cursor_secrets: Vec<[u8; 32]>,
    /// Store of snapshots.
    pub store: CachedStore,
    /// Clock.
    pub clock: Clock,
    /// Receives the records of requests.
    pub observer: Arc<dyn Observer>,
}

impl GatewayParts {
    /// Creates parts with the system clock and without an observer.
    pub fn new(rules: EndpointRules, store: impl Into<CachedStore>, secret: [u8; 32]) -> Self {
        let store = store.into();
        Self {
            rules,
            cursor_secret: secret,
            earlier_cursor_secrets: Vec::new(),
            store,
            clock: Arc::new(Instant::now),
            observer: Arc::new(()),
        }
    }
}

/// Returns a random secret for one process.
///
/// # Errors
/// If the system has no randomness.
pub fn random_secret() -> Result<[u8; 32], getrandom::Error> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret)?;
    Ok(secret)
}
