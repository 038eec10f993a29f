//! The table of all keys. A key is added here, and given its meaning where [`config`](crate::config) makes a
//! [`EndpointConfig`](portion_gateway::policy_source::EndpointConfig) of it; all else follows.

mod limits;
mod payloads;
mod program;
mod replies;
mod servers;

use portion_core::policy;

use super::{CliFlag, Key, KeyGroup, Placement, ValueKind};

const MIN_BUDGET: u64 = policy::MIN_BUDGET as u64;
const MIN_BYTES: u64 = policy::MIN_BYTE_LIMIT as u64;
/// The most of anything that is counted: far above what any model takes.
const MAX_COUNT: u64 = 1_000_000_000;

/// What most keys are.
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

/// Every key, group by group.
pub(super) fn all() -> impl Iterator<Item = &'static Key> {
    [limits::KEYS, payloads::KEYS, replies::KEYS, servers::KEYS, program::KEYS].into_iter().flatten()
}
