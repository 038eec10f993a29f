//! The settings of one level: values by key, each with its origin.

use std::collections::BTreeMap;

use crate::key::Key;
use crate::origin::Origin;
use crate::value::Value;

/// Values by key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Values by [slot](Key::slot): `pageSize` and `defaultPageSize` share one.
    by_slot: BTreeMap<&'static str, Setting>,
}

/// The value of one key.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The key as written.
    pub key: &'static Key,
    /// The value.
    pub value: Value,
    /// Origin of the value.
    pub origin: Origin,
}

/// Compares key and value, but not the origin.
impl PartialEq for Setting {
    fn eq(&self, other: &Self) -> bool {
        self.key.name == other.key.name && self.value == other.value
    }
}

impl Settings {
    /// Returns the setting of a key.
    pub fn get(&self, slot: &str) -> Option<&Setting> {
        self.by_slot.get(slot)
    }

    /// Yields all settings, by slot.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Setting)> {
        self.by_slot.iter().map(|(slot, set)| (*slot, set))
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Setting> {
        self.by_slot.values_mut()
    }

    /// Inserts a setting and returns the previous one.
    pub(crate) fn insert(&mut self, set: Setting) -> Option<Setting> {
        self.by_slot.insert(set.key.slot(), set)
    }

    /// Overrides these settings by those of a higher priority.
    pub(crate) fn overlay(&mut self, above: Self) {
        self.by_slot.extend(above.by_slot);
    }
}
