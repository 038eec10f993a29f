//! Redacts strings in JSON. Most strings need no search.

use portion_json::scan::{quote, unescape};
use portion_json::span::Span;

use super::super::delimited::may_be_single_column;
use super::super::prefilter::{self, places_in};
use super::{JsonRedactor, REDACTED_STRING, SecretKind, is_secret_json};

/// Parts of keys whose values may stand before the word of a secret: those of values in pairs, and `kind: Secret`.
const EARLY_KEY_PARTS: [&str; 8] = ["val", "Val", "VAL", "ontent", "ONTENT", "laintext", "LAINTEXT", "kind"];

impl JsonRedactor<'_, '_> {
    /// Redacts a string, which may be the item after the flag of a command: `["--password", "…"]`.
    pub(super) fn redact_item(&mut self, value: Span) {
        let quoted = value.slice(self.text);
        if self.redact_key_line(value) {
            return;
        }
        if let Some(open) = self.open.last_mut().filter(|open| open.is_array) {
            let is_next = |flag: &Span| self.text[flag.end as usize..value.start as usize].trim() == ",";
            if let Some(flag) = open.flag.take().filter(is_next)
                && is_secret_json(SecretKind::Password, "", quoted)
                && !quoted.starts_with("\"-")
            {
                let name = self.text[flag.start as usize + 1..flag.end as usize - 1].to_owned();
                self.hide(value, REDACTED_STRING, vec![name]);
                return;
            }
            let flag = quoted.trim_matches('"').strip_prefix("--");
            open.flag = flag.filter(|name| self.rules.match_name(name).is_hidden()).map(|_| value);
        }
        self.redact_string(value);
    }

    /// Hides a string that is a line of a private key, between its markers in other items or in members of the same key. Returns true
    /// if it is one.
    fn redact_key_line(&mut self, value: Span) -> bool {
        let line = value.slice(self.text).trim_matches('"');
        let line = line.trim_end_matches("\\n").trim_end_matches("\\r");
        let key = self.open.last().and_then(|open| open.key).map_or("", |key| key.slice(self.text));
        let is_key = |c: char| c.is_ascii_alphanumeric() || "+/=\\".contains(c);
        if line.starts_with("-----BEGIN ") && line.contains("PRIVATE KEY") {
            self.open_key = (!line.contains("-----END")).then_some(key);
        } else if self.open_key == Some(key) && line.starts_with("-----END") {
            self.open_key = None;
        } else if self.open_key == Some(key) && !line.is_empty() && line.chars().all(is_key) {
            self.hide(value, REDACTED_STRING, vec!["private key".to_owned()]);
            return true;
        }
        false
    }

    /// Redacts a string: the JSON, the settings and the tables in it, as in a text. Inside too many strings, a string that
    /// may hold a hidden value is hidden as a whole.
    pub(super) fn redact_string(&mut self, value: Span) {
        let quoted = value.slice(self.text);
        let is_column = || may_be_single_column(self.rules, &quoted[1..], "\\n");
        let is_searched = if self.rules.patterns.is_empty() {
            let places = places_in(&self.places, value.start, value.end);
            // A URL without a user has no password.
            let first = places.iter().find(|place| !place.is_url || quoted.contains('@'));
            first.is_some_and(|first| {
                may_hide(quoted, (first.offset - value.start) as usize)
                    || is_column()
                    || places.iter().any(|place| place.is_token)
            })
        } else {
            may_hide(quoted, 0) || is_column() || prefilter::may_hold(quoted)
        };
        if !is_searched {
            return;
        }
        let Some(strings) = self.remaining_string_depth.checked_sub(1) else {
            self.hide_member(value, REDACTED_STRING);
            return;
        };
        if let Some((without, names)) = self.rules.redact_within(&unescape(quoted), strings) {
            self.hide(value, quote(&without), names);
        }
    }
}

/// Returns true if a string, as written in JSON, may hold the name of a hidden value from the offset `first` on: JSON, markup, a
/// setting, or lines, which may be those of a table. A value stands after its name, but for some keys.
fn may_hide(quoted: &str, first: usize) -> bool {
    let has_key = || EARLY_KEY_PARTS.iter().any(|part| quoted.contains(part));
    // A character that is written as `\u003d` may be any.
    quoted.contains(['{', '<', '|', '&', '│', '┃', '║', '：', '＝'])
        || quoted.contains('[') && quoted.contains("\\\"")
        || ["--", "\\u", "\\n", "\\r", " '", "ENV ", "env ", "set -", "#define ", "password "]
            .iter()
            .any(|mark| quoted.contains(mark))
        || quoted[first..].contains([':', '='])
        || quoted.contains([':', '=']) && has_key()
        || quoted.contains('(') && ["alues", "ALUES"].iter().any(|rows| quoted.contains(rows))
}
