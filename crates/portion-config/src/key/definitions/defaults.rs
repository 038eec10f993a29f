//! Properties that keys share.

use portion_core::policy;

use crate::key::{CliFlag, Key, KeyGroup, Placement, ValueKind};

pub(super) const MIN_BUDGET: u64 = policy::MIN_BUDGET as u64;
pub(super) const MIN_BYTES: u64 = policy::MIN_BYTE_LIMIT as u64;
/// Upper bound for all counts: far above what any model accepts.
pub(super) const MAX_COUNT: u64 = 1_000_000_000;

/// Properties that most keys share.
pub(super) const KEY_DEFAULTS: Key = Key {
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
