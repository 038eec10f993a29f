//! Hides passwords under short names: `{"user": "ann", "pass": "hunter2"}`.

use portion_json::scan::{JsonKind, JsonReader, unescape};

use super::super::short_password::{is_login_name, is_short_name, may_be_password};
use super::{JsonRedactor, MAX_TABLE_DEPTH};

impl<'a> JsonRedactor<'a, '_> {
    /// Returns true if the member at the reader is a password under a short name. Records the name of a user.
    pub(super) fn is_short_password(&mut self, name: &str, kind: JsonKind, reader: &JsonReader<'a>) -> bool {
        if !self.rules.hides_secrets || kind != JsonKind::String {
            return false;
        }
        if let Some(open) = self.open_objects.last_mut() {
            open.has_login |= is_login_name(name);
        }
        if !is_short_name(name) {
            return false;
        }
        let has_login = self.has_login(reader);
        let value = reader.clone().skip().map(|value| unescape(value.slice(self.text)));
        value.is_ok_and(|value| may_be_password(&value, has_login))
    }

    /// Returns true if the innermost object has the name of a user. In deep objects the members after the one at the reader
    /// are not searched, so that the work stays proportional to the text.
    fn has_login(&mut self, reader: &JsonReader<'a>) -> bool {
        let may_search = self.open_objects.len() <= MAX_TABLE_DEPTH;
        let is_known = self.open_objects.last().is_none_or(|open| open.has_login || open.is_login_searched);
        let found = !is_known && may_search && self.finds_login_after(reader.clone()).unwrap_or_default();
        let Some(open) = self.open_objects.last_mut() else { return false };
        open.is_login_searched = true;
        open.has_login |= found;
        open.has_login
    }

    fn finds_login_after(&self, mut reader: JsonReader<'a>) -> Option<bool> {
        reader.skip().ok()?;
        while let Some(key) = reader.next_key().ok()? {
            let kind = reader.peek().ok()?;
            reader.skip().ok()?;
            if kind == JsonKind::String && is_login_name(&self.decode_key(key)) {
                return Some(true);
            }
        }
        None
    }
}
