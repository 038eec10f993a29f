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
mod log_level;

use portion_text::names::closest_name;

pub use key_definition::{CliFlag, Key, KeyGroup, Placement, SettingsLevel};
pub use kind::{InvalidValue, ValueKind, parse_socket_address};
pub use log_level::{InvalidLevel, LEVEL_VARIABLE, level_choices, parse_level};

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
