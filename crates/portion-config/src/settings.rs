//! What was written at one place: values by key, each with where it comes from.

use std::collections::BTreeMap;

use crate::key::Key;
use crate::origin::Origin;
use crate::value::Value;

/// What was written at one place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// By [slot](Key::slot): `pageSize` and `defaultPageSize` are one.
    sets: BTreeMap<&'static str, Set>,
}

/// What was written for one key.
#[derive(Clone, Debug)]
pub struct Set {
    /// The key, as it was written.
    pub key: &'static Key,
    /// The value.
    pub value: Value,
    /// Where it comes from.
    pub origin: Origin,
}

/// The same key and value, wherever they come from.
impl PartialEq for Set {
    fn eq(&self, other: &Self) -> bool {
        self.key.name == other.key.name && self.value == other.value
    }
}

impl Settings {
    /// What was written for a key.
    pub fn get(&self, slot: &str) -> Option<&Set> {
        self.sets.get(slot)
    }

    /// Everything, by slot.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Set)> {
        self.sets.iter().map(|(slot, set)| (*slot, set))
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Set> {
        self.sets.values_mut()
    }

    /// Puts a value in, and returns the one that was there.
    pub(crate) fn put(&mut self, set: Set) -> Option<Set> {
        self.sets.insert(set.key.slot(), set)
    }

    /// What counts more, over this.
    pub(crate) fn overlay(&mut self, above: Self) {
        self.sets.extend(above.sets);
    }
}
