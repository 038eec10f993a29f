//! Things by the ids of requests, as they were written.

use std::collections::HashMap;

use super::envelope::id_key;

/// What belongs to requests, by their ids: a string is the same however it is escaped.
///
/// Servers that read numbers as doubles spell a large id anew, so a number that nobody wrote is looked for by its value.
#[derive(Debug)]
pub struct RequestIdMap<T>(HashMap<String, T>);

impl<T> Default for RequestIdMap<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T> RequestIdMap<T> {
    /// Whether exactly this id is taken.
    pub fn contains(&self, raw_id: &str) -> bool {
        self.0.contains_key(&id_key(raw_id))
    }

    /// Adds what belongs to an id, in place of what did.
    pub fn insert(&mut self, raw_id: &str, thing: T) {
        self.0.insert(id_key(raw_id), thing);
    }

    /// What belongs to the id that an answer has.
    pub fn get(&self, raw_id: &str) -> Option<&T> {
        self.0.get(&self.find_key(raw_id)?)
    }

    /// The same, and forgets it.
    pub fn take(&mut self, raw_id: &str) -> Option<T> {
        self.0.remove(&self.find_key(raw_id)?)
    }

    /// Forgets all but those of which `keep` says so.
    pub fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        self.0.retain(|_, thing| keep(thing));
    }

    /// What belongs to all of them, in no order.
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
        let mut equal = self.0.keys().filter(|key| number(key).is_some_and(|n| n.total_cmp(&wanted).is_eq()));
        let found = equal.next()?;
        equal.next().is_none().then(|| found.clone())
    }
}
