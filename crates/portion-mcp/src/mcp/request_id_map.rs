//! A map by request id.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::envelope::id_key;

/// Values by request id; a string id matches in any escaping.
///
/// Servers that read numbers as doubles respell large ids, so a number without an exact match is looked up by
/// value.
#[derive(Debug)]
pub struct RequestIdMap<T>(HashMap<String, T>);

impl<T> Default for RequestIdMap<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T> RequestIdMap<T> {
    /// Returns true if the map contains exactly this id.
    pub fn contains(&self, raw_id: &str) -> bool {
        self.0.contains_key(&id_key(raw_id))
    }

    /// Inserts or replaces the value of an id.
    pub fn insert(&mut self, raw_id: &str, thing: T) {
        self.0.insert(id_key(raw_id), thing);
    }

    /// Returns the value for the id of a response.
    pub fn get(&self, raw_id: &str) -> Option<&T> {
        self.0.get(&self.find_key(raw_id)?)
    }

    /// Removes and returns the value for the id of a response.
    pub fn take(&mut self, raw_id: &str) -> Option<T> {
        self.0.remove(&self.find_key(raw_id)?)
    }

    /// Retains the values for which `keep` returns true.
    pub fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        self.0.retain(|_, thing| keep(thing));
    }

    /// Returns all values, in no particular order.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.values()
    }

    fn find_key(&self, raw_id: &str) -> Option<String> {
        let key = id_key(raw_id);
        if self.0.contains_key(&key) { Some(key) } else { self.find_equal_number(&key) }
    }

    fn find_equal_number(&self, key: &str) -> Option<String> {
        let number = |key: &str| key.parse::<f64>().ok().filter(|_| !key.starts_with('"'));
        let wanted = number(key)?;
        // Zero equals negative zero, which JavaScript writes as `0`.
        let is_equal =
            |key: &&String| number(key).and_then(|n| n.partial_cmp(&wanted)).is_some_and(Ordering::is_eq);
        let mut equal = self.0.keys().filter(is_equal);
        let found = equal.next()?;
        equal.next().is_none().then(|| found.clone())
    }
}
