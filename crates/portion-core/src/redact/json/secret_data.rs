//! Detects the data of Kubernetes secrets: `{"kind": "Secret", "data": {…}}`.

use portion_json::scan::JsonReader;

use super::super::manifest::{KIND_KEY, SECRET_KIND, is_data_key};
use super::{JsonRedactor, MAX_TABLE_DEPTH};

impl<'a> JsonRedactor<'a, '_> {
    /// Records the kind of the innermost object, if the member at the reader is its kind.
    pub(super) fn note_kind(&mut self, name: &str, reader: &JsonReader<'a>) {
        if name == KIND_KEY && self.rules.hides_secrets {
            let is_secret = reader.clone().skip().is_ok_and(|value| is_secret_kind(value.slice(self.text)));
            self.open_objects.last_mut().into_iter().for_each(|open| open.is_secret = is_secret);
        }
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
                || self.open_objects.len() <= MAX_TABLE_DEPTH
                    && self.is_before_secret_kind(reader.clone()).unwrap_or_default())
    }

    /// Returns true if the kind of a secret follows the member whose value is at the reader.
    fn is_before_secret_kind(&self, mut reader: JsonReader<'a>) -> Option<bool> {
        reader.skip().ok()?;
        while let Some(key) = reader.next_key().ok()? {
            let value = reader.skip().ok()?;
            if self.decode_key(key) == KIND_KEY {
                return Some(is_secret_kind(value.slice(self.text)));
            }
        }
        None
    }
}

fn is_secret_kind(value: &str) -> bool {
    value.trim_matches('"') == SECRET_KIND
}
