//! The table of all keys. A new key is added here and interpreted in [`config`](crate::config), which
//! makes an [`EndpointConfig`](portion_policy::policy_source::EndpointConfig) of it; everything else is
//! derived.

mod limits;
mod payloads;
mod program;
mod replies;
mod servers;

use super::Key;

/// Yields all keys, group by group.
pub(super) fn all() -> impl Iterator<Item = &'static Key> {
    [limits::KEYS, payloads::KEYS, replies::KEYS, servers::KEYS, program::KEYS].into_iter().flatten()
}
