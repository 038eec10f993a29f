//! Detects the data of Kubernetes secrets: `{"kind": "Secret", "data": {…}}`.

use portion_json::scan::JsonReader;

use super::super::manifest::{ITEMS_KEY, KIND_KEY, SECRET_KIND, SECRET_LIST_KIND, is_data_key};
use super::{JsonRedactor, MAX_TABLE_DEPTH};

impl<'a> JsonRedactor<'a, '_> {
    /// Records the kind of the innermost object, if the member at the reader is its kind, or the items of a list whose kind
    /// follows.
    pub(super) fn note_kind(&mut self, name: &str, reader: &JsonReader<'a>) {
        if !self.rules.hides_secrets {
            return;
        }
        let is_list = name == ITEMS_KEY
            && self.open_objects.len() <= MAX_TABLE_DEPTH
            && self.is_before_kind(reader.clone(), SECRET_LIST_KIND).unwrap_or_default();
        let kind = (name == KIND_KEY).then(|| reader.clone().skip().ok()).flatten();
        let kind = kind.map(|kind| kind.slice(self.text).trim_matches('"'));
        let Some(open) = self.open_objects.last_mut() else { return };
        open.is_secret_list |= is_list || kind == Some(SECRET_LIST_KIND);
        open.is_secret = kind.map_or(open.is_secret, |kind| kind == SECRET_KIND);
    }

    /// Returns true if the innermost object is an item of a list of secrets.
    fn is_item_of_secrets(&self) -> bool {
        let list = self.open_objects.iter().rev().nth(1);
        list.filter(|list| list.is_secret_list && list.array_depth == 1)
            .and_then(|list| list.key)
            .is_some_and(|key| self.decode_key(key) == ITEMS_KEY)
    }

    /// Returns true if the object at the reader is the data of a secret. In deep objects the members after it are not
    /// searched, so that the work stays proportional to the text.
    pub(super) fn is_secret_data(&self, reader: &JsonReader<'a>) -> bool {
        let Some(around) = self.open_objects.last().filter(|around| around.array_depth == 0) else {
            return false;
        };
        self.rules.hides_secrets
            && around.key.is_some_and(|key| is_data_key(&self.decode_key(key)))
            && (around.is_secret
                || self.is_item_of_secrets()
                || self.open_objects.len() <= MAX_TABLE_DEPTH
                    && self.is_before_kind(reader.clone(), SECRET_KIND).unwrap_or_default())
    }

    /// Returns true if this kind follows the member whose value is at the reader.
    fn is_before_kind(&self, mut reader: JsonReader<'a>, kind: &str) -> Option<bool> {
        reader.skip().ok()?;
        while let Some(key) = reader.next_key().ok()? {
            let value = reader.skip().ok()?;
            if self.decode_key(key) == KIND_KEY {
                return Some(value.slice(self.text).trim_matches('"') == kind);
            }
        }
        None
    }
}
