//! Settings with their origins, and the problems that are found in them.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::document::TextPosition;
use crate::key::Key;
use crate::value::Value;

/// The origin of a value, in order of increasing priority.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Origin {
    /// The built-in default.
    #[default]
    Default,
    /// This profile.
    Profile(&'static str),
    /// A file and the position in it.
    File(Arc<str>, FilePosition),
    /// An environment variable.
    Variable(Arc<str>),
    /// An option, without dashes.
    Option(Arc<str>),
}

/// A position in a file: line and column, from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePosition {
    /// Line number.
    pub line: usize,
    /// Column, in characters.
    pub column: usize,
}

impl From<TextPosition> for FilePosition {
    fn from(position: TextPosition) -> Self {
        Self { line: position.line, column: position.column }
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

/// A problem in a configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

/// Writes one line: the place, the problem, the remedy.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.origin, self.message, self.fix)
    }
}

impl Error for Problem {}

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

impl Error for Errors {}
