//! One conversation: what tells it from others, and what it has been served.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use portion_core::cursor::Scope;
use sha2::{Digest as _, Sha256};

use crate::questions::Questions;

/// A conversation with one client, or all that a principal asks where it has none.
#[derive(Debug)]
pub struct Session {
    key: u64,
    /// Tokens of the replies so far.
    served: AtomicU64,
    questions: Questions,
}

impl Session {
    /// The session of that id, of a principal; one that has no id is all of the principal's.
    pub fn of(scope: Scope, id: &str) -> Arc<Self> {
        let mut hash = Sha256::new();
        hash.update(scope.bytes());
        hash.update(id);
        Self::keyed(first(hash))
    }

    /// A session that will never be met again.
    pub fn unique() -> Arc<Self> {
        let mut bytes = [0; 8];
        // Without randomness all are one, which is a session, too.
        let _ = getrandom::fill(&mut bytes);
        Self::keyed(u64::from_be_bytes(bytes))
    }

    fn keyed(key: u64) -> Arc<Self> {
        Arc::new(Self { key, served: AtomicU64::new(0), questions: Questions::default() })
    }

    /// What tells it from others, and nothing else.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// A number from 0 to below 1 that is always the same for a session, a purpose and a salt, and evenly spread over
    /// sessions.
    pub(crate) fn lot(&self, purpose: &str, salt: &str) -> f64 {
        let mut hash = Sha256::new();
        hash.update(self.key.to_be_bytes());
        hash.update(purpose);
        hash.update([0]);
        hash.update(salt);
        // The upper 53 bits are those that a float holds.
        (first(hash) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Its questions under way.
    pub(crate) fn questions(&self) -> &Questions {
        &self.questions
    }

    /// Takes note of a reply that was served.
    pub(crate) fn serve(&self, tokens: usize) {
        self.served.fetch_add(tokens as u64, Ordering::Relaxed);
    }

    /// Tokens of the replies so far.
    pub fn served(&self) -> usize {
        self.served.load(Ordering::Relaxed) as usize
    }
}

fn first(hash: Sha256) -> u64 {
    let digest = hash.finalize();
    u64::from_be_bytes(std::array::from_fn(|i| digest[i]))
}

#[cfg(test)]
mod tests {
    use portion_core::cursor::Scope;

    use super::Session;

    #[test]
    fn a_session_is_told_by_its_principal_and_its_id() {
        let key = |principal: &str, id: &str| Session::of(Scope::of(principal), id).key();
        assert_eq!(key("a", "1"), key("a", "1"));
        assert_ne!(key("a", "1"), key("a", "2"));
        assert_ne!(key("a", "1"), key("b", "1"));
        assert_ne!(Session::unique().key(), Session::unique().key());
    }

    #[test]
    fn lots_are_stable_and_evenly_spread() {
        let lot = |n: usize, salt: &str| Session::of(Scope::of("a"), &n.to_string()).lot("rollout", salt);
        // The same in every process and every version: a session must not change its arm when we are restarted.
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
