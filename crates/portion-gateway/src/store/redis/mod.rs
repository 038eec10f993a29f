//! Stores snapshots in Redis or Valkey, so that a walk begun at one instance goes on at any other.
//!
//! Each snapshot is one hash, which expires and is evicted as a whole. Its fields are the header, the meta,
//! pieces of the index, blocks of the text and views. Beside it are a sorted set with the last use of views that were
//! added later, the header, which outlives the snapshot for an hour, the claim of the instance that fetches the rest of a
//! list, and a mark while an instance may still have a snapshot that the store has refused. All of them have one hash tag,
//! so that a cluster keeps them together.
//!
//! Names of keys are keyed hashes. They reveal neither ids nor scopes, and nobody can compute them who does not have
//! the keys of the cursors.
//!
//! Connections belong to a thread of their own. A task there probes the store once a second, and connects again if it
//! is lost. After the store has refused a result, the probes write as much, until it accepts that or the time to live of
//! results is over. While it is lost, every operation fails at once, so that no reply waits for it. While it is slow, the
//! first operation waits [`RESPONSE_TIMEOUT`] at most.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use portion_gateway::store::redis::{RedisSettings, RedisStore, StoreUrl};
//!
//! let store = RedisStore::open(RedisSettings {
//!     url: StoreUrl::parse("rediss://user:password@redis.example.com/0")?,
//!     secrets: vec![[7; 32]],
//!     namespace: "bookings".into(),
//!     server: "the same server of every instance".into(),
//!     ttl: Duration::from_mins(10),
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules
//!
//! | module | subject |
//! | --- | --- |
//! | `store` | `SnapshotStore` in Redis or Valkey: one hash for each snapshot |
//! | `keeper` | the connection, on a thread of its own: probes, reconnects, and lets operations fail at once while the store is lost |
//! | `connection`, `url`, `failure` | one server, a cluster or sentinels; URLs of stores; what follows from an error |
//! | `claims` | the right of one instance to replace a snapshot, which expires |
//! | `names` | names of keys: keyed hashes |

mod claims;
mod connection;
mod failure;
mod keeper;
#[cfg(test)]
#[path = "../../../tests/it/samples/lines.rs"]
mod lines;
mod names;
mod operations;
mod store;
mod url;

pub use keeper::RESPONSE_TIMEOUT;
pub use store::{OpenError, RedisSettings, RedisStore};
pub use url::{StoreUrl, UrlError};
