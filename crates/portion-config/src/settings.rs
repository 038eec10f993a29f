//! What was written at one place: values by key, each with where it comes from.

use std::collections::BTreeMap;

use crate::key::Key;
use crate::origin::Origin;
use crate::value::Value;

/// What was written at one place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// By [slot](Key::slot): `pageSize` and `defaultPageSize` are one.
    by_slot: BTreeMap<&'static str, Setting>,
}

/// What was written for one key.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The key, as it was written.
    pub key: &'static Key,
    /// The value.
    pub value: Value,
    /// Where it comes from.
    pub origin: Origin,
}

/// The same key and value, wherever they come from.
impl PartialEq for Setting {
    fn eq(&self, other: &Self) -> bool {
        self.key.name == other.key.name && self.value == other.value
    }
}

impl Settings {
    /// What was written for a key.
    pub fn get(&self, slot: &str) -> Option<&Setting> {
        self.by_slot.get(slot)
    }

    /// Everything, by slot.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Setting)> {
        self.by_slot.iter().map(|(slot, set)| (*slot, set))
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Setting> {
        self.by_slot.values_mut()
    }

    /// Puts a value in, and returns the one that was there.
    pub(crate) fn insert(&mut self, set: Setting) -> Option<Setting> {
        self.by_slot.insert(set.key.slot(), set)
    }

    /// What counts more, over this.
    pub(crate) fn overlay(&mut self, above: Self) {
        self.by_slot.extend(above.by_slot);
    }
}
