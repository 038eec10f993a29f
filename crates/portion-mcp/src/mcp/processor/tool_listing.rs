//! A list of tools whose pages the gateway collects.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::time::Instant;

use portion_policy::client::ClientProfile;

/// Largest number of pages of a list.
const MAX_LIST_PAGES: usize = 1_000;

/// A list of tools of which the gateway requests the next page.
#[derive(Debug, Default)]
pub(super) struct ToolListing {
    /// Members of `_meta` that each request needs.
    pub(super) meta: String,
    /// List of a client; `None` if the gateway itself needs the tools.
    pub(super) client: Option<Box<ClientList>>,
    /// Hashes of the cursors that were followed.
    followed: Vec<u64>,
    /// Time until which pages are requested, from the first request of the gateway.
    pub(super) deadline: Option<Instant>,
}

/// The pages of a client's list that were received.
#[derive(Debug)]
pub(super) struct ClientList {
    /// Response with the first page, with the listings for clients.
    pub(super) response: String,
    /// Listings of the tools of the other pages.
    pub(super) further: Vec<String>,
    /// Size of the listings in bytes.
    pub(super) bytes: usize,
    /// Client that gets the list, if it is known.
    pub(super) client: Option<&'static ClientProfile>,
}

impl ToolListing {
    /// Starts a list.
    pub(super) fn new(meta: String, client: Option<Box<ClientList>>) -> Self {
        Self { meta, client, ..Self::default() }
    }

    /// Records the next page. Returns the reason why no further pages are requested, if there is one.
    pub(super) fn follow(
        &mut self,
        cursor: &str,
        max_bytes: usize,
        now: Instant,
    ) -> Result<(), &'static str> {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(cursor);
        if self.followed.contains(&hash) {
            return Err("a cursor repeats");
        }
        if self.followed.len() + 1 >= MAX_LIST_PAGES {
            return Err("it has too many pages");
        }
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            return Err("it takes too long");
        }
        if self.client.as_ref().is_some_and(|list| list.bytes > max_bytes) {
            return Err("it is larger than upstreamMessageLimit");
        }
        self.followed.push(hash);
        Ok(())
    }
}
