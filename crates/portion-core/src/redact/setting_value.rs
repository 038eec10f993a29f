//! The value of a setting in text, and how it is hidden.

use std::ops::Range;

use super::text_value::{ValueExtent, container_after, typed_value_start, value_after};
use super::text_value_rest::extended_end;
use super::yaml_value::after_properties;
use super::{REDACTED, TextEdit};

/// Values that are no secrets.
const NO_SECRETS: [&str; 7] = ["[]", "{}", "true", "false", "null", "None", "nil"];

/// The value of a setting.
pub(super) struct SettingValue {
    /// The value without quotes.
    pub value: Range<usize>,
    /// The bytes to replace: the value. If it has a tag or an anchor, these and its quotes, too.
    pub replaced: Range<usize>,
    pub is_container: bool,
}

impl SettingValue {
    /// Finds the value after the separator at `at`, outside of JSON.
    pub(super) fn find(text: &str, at: usize, extent: ValueExtent, may_be_container: bool) -> Option<Self> {
        if let Some(from) = typed_value_start(text, at) {
            return Self::read(text, (from - 1, from), extent, may_be_container);
        }
        let properties = if text.as_bytes()[at] == b':' { after_properties(text, at + 1) } else { None };
        let tagged = properties.and_then(|from| Self::read(text, (at, from), extent, may_be_container));
        match tagged {
            Some(tagged) => Some(tagged.with_properties(text, at + 1)),
            None => Self::read(text, (at, at + 1), extent, may_be_container),
        }
    }

    /// Finds the value after the separator at `at` in JSON. Its lines do not continue values, and containers have rules of their
    /// own.
    pub(super) fn find_in_json(
        text: &str,
        at: usize,
        extent: ValueExtent,
        may_be_container: bool,
    ) -> Option<Self> {
        let from = typed_value_start(text, at).unwrap_or(at + 1);
        if may_be_container && container_after(text, from).is_some() {
            return None;
        }
        let (start, end) = value_after(text, from, extent)?;
        Some(Self { value: start..end, replaced: start..end, is_container: false })
    }

    /// Reads the value that begins at the second offset. The first one is that of its separator.
    pub(super) fn read(
        text: &str,
        (at, from): (usize, usize),
        extent: ValueExtent,
        may_be_container: bool,
    ) -> Option<Self> {
        let container = if may_be_container { container_after(text, from) } else { None };
        let is_container = container.is_some();
        let (start, end) = container.or_else(|| {
            let (start, end) = value_after(text, from, extent)?;
            Some((start, extended_end(text, at, (start, end), extent)))
        })?;
        Some(Self { value: start..end, replaced: start..end, is_container })
    }

    /// Extends the replaced bytes to the tag and the anchor before the value, which begin after the white space at `from`.
    fn with_properties(mut self, text: &str, from: usize) -> Self {
        let Range { start, end } = self.value.clone();
        let quote = text[..start].chars().next_back().filter(|quote| matches!(quote, '"' | '\''));
        let is_closed = quote.is_some_and(|quote| text[end..].starts_with(quote));
        let properties = text.len() - text[from..].trim_start_matches([' ', '\t']).len();
        self.replaced = properties..end + usize::from(is_closed);
        self
    }

    /// Returns the edit that hides the value, or `None` if it is no secret. A container gets the quotes of its name.
    pub(super) fn edit(&self, text: &str, name_quote: &str) -> Option<TextEdit> {
        if NO_SECRETS.contains(&&text[self.value.clone()]) {
            return None;
        }
        let replacement = if self.is_container {
            format!("{name_quote}{REDACTED}{name_quote}").into()
        } else {
            REDACTED.into()
        };
        Some(TextEdit { start: self.replaced.start, end: self.replaced.end, replacement })
    }
}
