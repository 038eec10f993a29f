//! All configuration keys with their properties.
//!
//! ```
//! use portion_config::key::Key;
//!
//! let key = Key::by_name("hardCap").unwrap();
//! assert_eq!(key.variable().as_deref(), Some("PORTION_HARD_CAP"));
//! assert_eq!(Key::from_variable("PORTION_HARD_CAP").unwrap().name, key.name);
//! ```

mod definitions;
mod group;
mod key_definition;
mod kind;
mod log_level;
mod shorthand;

use portion_text::spelling::closest_name;

pub use group::KeyGroup;
pub use key_definition::{CliFlag, Key, Placement, SettingsLevel};
pub use kind::{InvalidValue, ValueKind, parse_socket_address};
pub use log_level::{InvalidLevel, LEVEL_VARIABLE, level_choices, parse_level};
pub use shorthand::{SHORTHANDS, Shorthand};

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
