//! All configuration keys with their properties, and options that stand for a value of a key.
//!
//! ```
//! use portion_config::key::Key;
//!
//! let key = Key::by_name("hardCap").unwrap();
//! assert_eq!(key.variable().as_deref(), Some("PORTION_HARD_CAP"));
//! assert_eq!(Key::from_variable("PORTION_HARD_CAP").unwrap().name, key.name);
//! ```

mod definitions;
mod key_definition;
mod kind;

use portion_text::names::closest_name;
use tracing::level_filters::LevelFilter;

pub use key_definition::{CliFlag, Key, KeyGroup, Placement, SettingsLevel};
use kind::join_choices;
pub use kind::{InvalidValue, ValueKind, parse_socket_address};

/// Variable with the level, for all commands.
pub const LEVEL_VARIABLE: &str = "PORTION_LOG";
/// Names of the levels, the one with the fewest messages first.
const LEVELS: &[&str] = &["off", "error", "warn", "info", "debug", "trace"];

impl Key {
    /// Yields all keys, group by group.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        definitions::all()
    }

    /// Returns the key of this name.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        Key::all().find(|key| key.name == name)
    }

    /// Returns the key of an environment variable.
    pub fn from_variable(variable: &str) -> Option<&'static Self> {
        Key::all().find(|key| key.variable().as_deref() == Some(variable))
    }

    /// Yields the names of all keys that are allowed at this level.
    pub(crate) fn names(level: SettingsLevel) -> impl Iterator<Item = &'static str> {
        Key::all().filter(move |key| key.is_allowed_at(level)).map(|key| key.name)
    }

    /// Returns the key that an unknown name probably means.
    pub(crate) fn nearest(name: &str, level: SettingsLevel) -> Option<String> {
        closest_name(name, Self::names(level))
    }
}

/// An option that stands for a value of a key.
#[derive(Debug)]
pub struct Shorthand {
    /// Name without dashes.
    pub option: &'static str,
    /// Name of the key.
    pub key: &'static str,
    /// Value of the key.
    pub value: &'static str,
    /// Description of its effect.
    pub doc: &'static str,
}

/// All shorthands.
pub const SHORTHANDS: &[Shorthand] = &[
    Shorthand {
        option: "lean",
        key: "profile",
        value: "lean",
        doc: "Smaller replies: replyTarget 1200, hardCap 4000, rankedTarget 600, firstRows sample, rows auto, \
              redact secrets",
    },
    Shorthand {
        option: "verbose",
        key: "logLevel",
        value: "info",
        doc: "Log the decision about each reply and its reasons on stderr: logLevel info",
    },
];

impl Shorthand {
    /// Returns the group of its key.
    pub fn group(&self) -> Option<KeyGroup> {
        Key::by_name(self.key).map(|key| key.group)
    }
}

/// The error for a text that is no level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidLevel;

/// Parses the value of [`LEVEL_VARIABLE`]: a name in any case, or a number from 0 (off) to 5. An empty text is no level.
///
/// # Errors
/// Returns [`InvalidLevel`] for any other text.
pub fn parse_level(text: &str) -> Result<Option<LevelFilter>, InvalidLevel> {
    // An empty text would be parsed as `error`.
    if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(|_| InvalidLevel) }
}

/// Returns the names of the levels, for messages: `off, error … or trace`.
pub fn level_choices() -> String {
    join_choices(LEVELS, &[])
}

#[cfg(test)]
mod tests {
    use tracing::level_filters::LevelFilter;

    use super::{InvalidLevel, Key, LEVELS, level_choices, parse_level};

    #[test]
    fn every_name_is_a_level() {
        let parsed: Vec<_> = LEVELS.iter().map(|name| parse_level(name)).collect();
        let expect = [
            LevelFilter::OFF,
            LevelFilter::ERROR,
            LevelFilter::WARN,
            LevelFilter::INFO,
            LevelFilter::DEBUG,
            LevelFilter::TRACE,
        ];
        assert_eq!(parsed, expect.map(|level| Ok(Some(level))));
        let key = Key::by_name("logLevel").expect("a key");
        assert!(key.doc.ends_with(&level_choices()), "{}", key.doc);
    }

    #[test]
    fn other_texts_are_none() {
        assert_eq!(parse_level(""), Ok(None));
        assert_eq!(parse_level("Info"), Ok(Some(LevelFilter::INFO)));
        assert_eq!(parse_level("verbose"), Err(InvalidLevel));
    }
}
