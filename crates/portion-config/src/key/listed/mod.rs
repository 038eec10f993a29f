//! The table of all keys. A key is added here, and given its meaning where [`config`](crate::config) makes a
//! [`Written`](portion_gateway::book::Written) of it; all else follows.

mod limits;
mod payloads;
mod program;
mod replies;
mod servers;

use portion_core::policy;

use super::{Flag, Group, Key, Kind, Standing};

const LEAST_BUDGET: u64 = policy::LEAST_BUDGET as u64;
const LEAST_BYTES: u64 = policy::LEAST_BYTES as u64;
/// The most of anything that is counted: far above what any model takes.
const MOST: u64 = 1_000_000_000;

/// What most keys are.
const USUAL: Key = Key {
    name: "",
    kind: Kind::Truth,
    or: &[],
    default: "",
    value_name: "",
    doc: "",
    group: Group::Limits,
    standing: Standing::Everywhere,
    reloads: true,
    flag: Flag::Named,
};

/// Every key, group by group.
pub(super) fn all() -> impl Iterator<Item = &'static Key> {
    [limits::KEYS, payloads::KEYS, replies::KEYS, servers::KEYS, program::KEYS].into_iter().flatten()
}
