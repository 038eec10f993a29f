//! Settings with their origins, and the problems that are found in them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use crate::document::TextPosition;
use crate::key::Key;
use crate::value::Value;

/// Maximum characters of a line that are shown.
const MAX_SNIPPET_CHARS: usize = 120;

/// The origin of a value, in order of increasing priority.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Origin {
    /// The built-in default.
    #[default]
    Default,
    /// This profile.
    Profile(&'static str),
    /// A file and the position in it.
    File(Arc<str>, TextPosition),
    /// An environment variable.
    Variable(Arc<str>),
    /// An option, without dashes.
    Option(Arc<str>),
}

impl Origin {
    /// Returns the origin of a value at a position of the same source.
    pub(crate) fn at(&self, position: TextPosition) -> Self {
        match self {
            Self::File(file, _) => Self::File(Arc::clone(file), position),
            source => source.clone(),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Profile(name) => write!(f, "profile {name}"),
            Self::File(file, place) => write!(f, "{file}:{}:{}", place.line, place.column),
            Self::Variable(name) => f.write_str(name),
            Self::Option(name) => write!(f, "--{name}"),
        }
    }
}

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

/// A problem in a configuration. Displays as one line: the place, the problem, the remedy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Error)]
#[error("{origin}: {message}; {fix}")]
pub struct Problem {
    /// Place of the problem.
    pub origin: Origin,
    /// Description of the problem.
    pub message: String,
    /// Remedy.
    pub fix: String,
    /// The line with a mark below the place; `None` if it may contain a secret.
    pub snippet: Option<String>,
}

/// All errors, ordered by place. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errors(pub Vec<Problem>);

/// Problems that do not prevent the use of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warnings(pub Vec<Problem>);

impl Problem {
    pub(crate) fn new(at: Origin, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { origin: at, message: message.into(), fix: fix.into(), snippet: None }
    }
}

/// Writes one line per error, each followed by its snippet.
impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            write!(f, "{}{problem}", if i == 0 { "" } else { "\n" })?;
            if let Some(snippet) = &problem.snippet {
                write!(f, "\n{snippet}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Errors {}

/// The lines of a file that may be shown.
pub(crate) struct SourceLines<'a> {
    lines: Vec<&'a str>,
    secret_ranges: &'a [(usize, usize)],
}

impl<'a> SourceLines<'a> {
    /// Creates the lines of a text; `hidden` holds the first and last line of each secret range.
    pub(crate) fn new(text: &'a str, hidden: &'a [(usize, usize)]) -> Self {
        Self { lines: text.lines().collect(), secret_ranges: hidden }
    }

    /// Adds the line at the place of a problem to it.
    pub(crate) fn add_snippet(&self, problem: &mut Problem) {
        if let Origin::File(_, place) = &problem.origin {
            problem.snippet = self.snippet(*place);
        }
    }

    fn snippet(&self, TextPosition { line, column }: TextPosition) -> Option<String> {
        let text = self.lines.get(line.checked_sub(1)?)?;
        if column > MAX_SNIPPET_CHARS {
            return None;
        }
        let key;
        let mut text = *text;
        let mut ranges = self.secret_ranges.iter().filter(|(first, last)| (*first..=*last).contains(&line));
        if let Some((first, _)) = ranges.next() {
            if *first != line || ranges.any(|(first, _)| *first != line) {
                return None;
            }
            key = format!("{} …", key_at(text, column)?);
            text = &key;
        }
        // Tabs keep their width, so that the mark is below its place.
        let shown: String = text
            .chars()
            .take(MAX_SNIPPET_CHARS)
            .map(|c| if c.is_control() && c != '\t' { ' ' } else { c })
            .collect();
        let before: String =
            shown.chars().take(column.saturating_sub(1)).map(|c| if c == '\t' { c } else { ' ' }).collect();
        let number = line.to_string();
        let gutter = " ".repeat(number.len());
        Some(format!("  {number} | {shown}\n  {gutter} | {before}^"))
    }
}

/// Returns the line up to the colon of the key that begins at `column` (from 1), if nothing is before the key.
fn key_at(text: &str, column: usize) -> Option<&str> {
    let (start, _) = text.char_indices().nth(column.checked_sub(1)?)?;
    let is_indented = text[..start].chars().all(|c| matches!(c, ' ' | '\t' | '-'));
    let (key, _) = text[start..].split_once(':')?;
    let is_name =
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    (is_indented && is_name).then(|| &text[..=start + key.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_line_with_a_secret_only_its_key_is_shown() {
        let text = "tokn: hunter2\n  - keey: hunter2\n{a: hunter2, b: c}\ntext: |\n  pass: hunter2";
        let hidden = [(1, 1), (2, 2), (3, 3), (4, 5)];
        let lines = SourceLines::new(text, &hidden);
        let check = |line, column, expect: Option<&str>| {
            assert_eq!(lines.snippet(TextPosition { line, column }).as_deref(), expect, "{line}:{column}");
        };
        check(1, 1, Some("  1 | tokn: …\n    | ^"));
        check(2, 5, Some("  2 |   - keey: …\n    |     ^"));
        check(1, 7, None);
        check(3, 13, None);
        check(5, 3, None);
    }
}
