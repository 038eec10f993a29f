//! A client session: its key, and the tokens that it has been served.
//!
//! ```
//! use portion_core::cursor::Scope;
//! use portion_gateway::session::ClientSession;
//!
//! let session = |id| ClientSession::with_id(Scope::from_principal("ada"), id);
//! assert_eq!(session("1").key, session("1").key);
//! assert_ne!(session("1").key, session("2").key);
//! ```

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use portion_core::cursor::Scope;
use sha2::{Digest as _, Sha256};

use crate::query_limiter::QueryLimiter;

/// Maximum characters of a client's name; the rest is cut.
const MAX_CLIENT_NAME: usize = 64;

/// Session of one client, or all requests of a principal without sessions.
#[derive(Debug)]
pub struct ClientSession {
    /// Key of the session, which reveals nothing else.
    pub key: u64,
    /// Tokens of all replies so far.
    served_tokens: AtomicU64,
    /// Limiter of its queries.
    pub(crate) query_limiter: QueryLimiter,
    client_name: OnceLock<Arc<str>>,
}

impl ClientSession {
    /// Returns the session with this id of a principal; an empty id stands for all requests of the principal.
    pub fn with_id(scope: Scope, id: &str) -> Arc<Self> {
        let mut hash = Sha256::new();
        hash.update(scope.as_bytes());
        hash.update(id);
        Self::with_key(leading_u64(hash))
    }

    /// Creates a session with a random key.
    pub fn new_unique() -> Arc<Self> {
        // Without randomness all sessions share a key and count as one session.
        Self::with_key(getrandom::u64().unwrap_or_default())
    }

    fn with_key(key: u64) -> Arc<Self> {
        Arc::new(Self {
            key,
            served_tokens: AtomicU64::new(0),
            query_limiter: QueryLimiter::default(),
            client_name: OnceLock::new(),
        })
    }

    /// Hashes the session into [0, 1): stable for the same session, purpose and salt, and evenly spread over
    /// sessions.
    pub(crate) fn uniform_hash(&self, purpose: &str, salt: &str) -> f64 {
        let mut hash = Sha256::new();
        hash.update(self.key.to_be_bytes());
        hash.update(purpose);
        hash.update([0]);
        hash.update(salt);
        // A float holds the upper 53 bits.
        (leading_u64(hash) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Sets the name that the client gives itself, for records. The first one stays; an empty one is ignored.
    pub fn set_client_name(&self, name: &str) {
        if self.client_name.get().is_some() {
            return;
        }
        let is_visible = |character: &char| !character.is_control();
        let name: String = name.trim().chars().filter(is_visible).take(MAX_CLIENT_NAME).collect();
        if !name.is_empty() {
            let _ = self.client_name.set(name.into());
        }
    }

    /// Returns the name that the client gave itself.
    pub fn client_name(&self) -> Option<Arc<str>> {
        self.client_name.get().cloned()
    }

    /// Adds the tokens of a served reply.
    pub(crate) fn charge(&self, tokens: usize) {
        self.served_tokens.fetch_add(tokens as u64, Ordering::Relaxed);
    }

    /// Returns the tokens of all replies so far.
    pub fn served_tokens(&self) -> usize {
        self.served_tokens.load(Ordering::Relaxed) as usize
    }
}

fn leading_u64(hash: Sha256) -> u64 {
    let digest = hash.finalize();
    u64::from_be_bytes(std::array::from_fn(|i| digest[i]))
}

#[cfg(test)]
mod tests {
    use portion_core::cursor::Scope;

    use super::ClientSession;

    #[test]
    fn a_session_is_identified_by_its_principal_and_its_id() {
        let key =
            |principal: &str, id: &str| ClientSession::with_id(Scope::from_principal(principal), id).key;
        assert_eq!(key("a", "1"), key("a", "1"));
        assert_ne!(key("a", "1"), key("a", "2"));
        assert_ne!(key("a", "1"), key("b", "1"));
        assert_ne!(ClientSession::new_unique().key, ClientSession::new_unique().key);
    }

    #[test]
    fn hashes_are_stable_and_evenly_spread() {
        let lot = |n: usize, salt: &str| {
            ClientSession::with_id(Scope::from_principal("a"), &n.to_string()).uniform_hash("rollout", salt)
        };
        // The same in every process and every version: a session must not change its arm after a restart.
        assert_eq!(format!("{:.6}", lot(1, "list_*")), LOT);
        for percent in [5, 25, 50] {
            let share = |salt: &str| {
                (0..10_000).filter(|n| lot(*n, salt) * 100.0 < f64::from(percent)).count() as f64 / 100.0
            };
            assert!((share("a") - f64::from(percent)).abs() < 2.0, "{percent} {}", share("a"));
            let both = (0..10_000).filter(|n| lot(*n, "a").max(lot(*n, "b")) * 100.0 < f64::from(percent));
            let expect = f64::from(percent * percent) / 100.0;
            assert!((both.count() as f64 / 100.0 - expect).abs() < 2.0, "salts decide each for itself");
        }
    }

    const LOT: &str = "0.395127";
}
