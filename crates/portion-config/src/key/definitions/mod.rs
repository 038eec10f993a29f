//! The table of all keys. A new key is added here and interpreted in [`config`](crate::config), which
//! makes an [`EndpointConfig`](portion_policy::policy_source::EndpointConfig) of it; everything else is
//! derived.

mod limits;
mod payloads;
mod program;
mod replies;
mod servers;

use portion_core::policy;

use super::{CliFlag, Key, KeyGroup, Placement, ValueKind};

const MIN_BUDGET: u64 = policy::MIN_BUDGET as u64;
const MIN_BYTES: u64 = policy::MIN_BYTE_LIMIT as u64;
/// Upper bound for all counts: far above what any model accepts.
const MAX_COUNT: u64 = 1_000_000_000;

/// Properties that most keys share.
const KEY_DEFAULTS: Key = Key {
    name: "",
    kind: ValueKind::Boolean,
    keywords: &[],
    default: "",
    value_name: "",
    doc: "",
    group: KeyGroup::Limits,
    placement: Placement::Everywhere,
    is_reloadable: true,
    flag: CliFlag::FromName,
};

/// Yields all keys, group by group.
pub(super) fn all() -> impl Iterator<Item = &'static Key> {
    [limits::KEYS, payloads::KEYS, replies::KEYS, servers::KEYS, program::KEYS].into_iter().flatten()
}
