//! Options that stand for a value of a key.

/// An option that stands for a value of a key.
#[derive(Debug)]
pub struct Shorthand {
    /// Its name, without dashes.
    pub option: &'static str,
    /// The key.
    pub key: &'static str,
    /// The value.
    pub value: &'static str,
    /// What it does.
    pub doc: &'static str,
}

/// Options that stand for values of keys.
pub const SHORTHANDS: &[Shorthand] = &[Shorthand {
    option: "lean",
    key: "profile",
    value: "lean",
    doc: "Aim at smaller replies: replyTarget 1200, hardCap 4000, rows auto, redact secrets",
}];
