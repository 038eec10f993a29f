//! Options that stand for a value of a key.

use super::{Key, KeyGroup};

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
        doc: "Smaller replies: replyTarget 1200, hardCap 4000, rows auto, redact secrets",
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
