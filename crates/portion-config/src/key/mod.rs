//! What may be written: every key, with all that is known of it.

mod definitions;
mod group;
mod kind;
mod shorthand;

use std::fmt;

use portion_core::spelling::closest_name;

pub use group::KeyGroup;
pub use kind::{InvalidValue, ValueKind};
pub use shorthand::{SHORTHANDS, Shorthand};

use crate::document::Node;
use crate::value::Value;

/// Something that may be written.
#[derive(Debug)]
pub struct Key {
    /// As it is written in files.
    pub name: &'static str,
    /// What its value is.
    pub kind: ValueKind,
    /// Words that may stand in place of such a value: `none`, `auto`.
    pub keywords: &'static [&'static str],
    /// What is in force where nothing was written, as text; empty where there is no such thing.
    pub default: &'static str,
    /// What stands for the value in help: `TOKENS`.
    pub value_name: &'static str,
    /// What it decides.
    pub doc: &'static str,
    /// What it belongs to.
    pub group: KeyGroup,
    /// Where it may stand.
    pub placement: Placement,
    /// Whether another value is obeyed without a restart.
    pub is_reloadable: bool,
    /// How it is written on the command line.
    pub flag: CliFlag,
}

/// How a key is written on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CliFlag {
    /// By its name, as `--hard-cap`.
    FromName,
    /// By another name.
    Renamed(&'static str),
    /// By its name; without a value it means this one.
    OptionalValue(&'static str),
    /// Not at all: its value is too large for that, or the name means something else there.
    Disabled,
}

/// Where a key may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// At the top, at an upstream, at an endpoint.
    Everywhere,
    /// At the top and at an upstream.
    TopOrUpstream,
    /// At the top.
    Top,
    /// At an upstream.
    Upstream,
    /// At an endpoint.
    Endpoint,
}

/// What settings are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsLevel {
    /// Everything.
    Top,
    /// What one server offers.
    Upstream,
    /// What a pattern matches.
    Endpoint,
}

impl Key {
    /// Every key, group by group.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        definitions::all()
    }

    /// The key of this name.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        Key::all().find(|key| key.name == name)
    }

    /// The key that a variable is for.
    pub fn from_variable(variable: &str) -> Option<&'static Self> {
        Key::all().find(|key| key.variable().as_deref() == Some(variable))
    }

    /// The name of its variable: `PORTION_HARD_CAP`. What is for upstreams or endpoints alone has none.
    pub fn variable(&self) -> Option<String> {
        self.is_allowed_at(SettingsLevel::Top)
            .then(|| format!("PORTION_{}", split_camel_case(self.name, '_').to_ascii_uppercase()))
    }

    /// The name of its option, without dashes: `hard-cap`.
    pub fn option(&self) -> Option<String> {
        match self.flag {
            _ if !self.is_allowed_at(SettingsLevel::Top) => None,
            CliFlag::Disabled => None,
            CliFlag::Renamed(name) => Some(name.to_owned()),
            CliFlag::FromName | CliFlag::OptionalValue(_) => Some(split_camel_case(self.name, '-')),
        }
    }

    /// What its option means without a value.
    pub fn bare_value(&self) -> Option<&'static str> {
        match self.flag {
            CliFlag::OptionalValue(value) => Some(value),
            _ => None,
        }
    }

    /// Whether its option may be given several times, each adding to the list.
    pub fn is_repeatable(&self) -> bool {
        matches!(self.kind, ValueKind::Names | ValueKind::Redact)
    }

    /// What it decides, and what is in force where nothing is written.
    pub fn help(&self) -> String {
        match self.default {
            "" => self.doc.to_owned(),
            default => format!("{} (default: {default})", self.doc),
        }
    }

    /// Whether it may stand there.
    pub fn is_allowed_at(&self, level: SettingsLevel) -> bool {
        match self.placement {
            Placement::Everywhere => true,
            Placement::TopOrUpstream => level != SettingsLevel::Endpoint,
            Placement::Top => level == SettingsLevel::Top,
            Placement::Upstream => level == SettingsLevel::Upstream,
            Placement::Endpoint => level == SettingsLevel::Endpoint,
        }
    }

    /// The key that decides the same: `defaultPageSize` for `pageSize`, for all others themselves.
    pub fn slot(&self) -> &'static str {
        match self.name {
            "pageSize" => "defaultPageSize",
            "split" => "experiment",
            name => name,
        }
    }

    /// The value of a text from an option or a variable.
    ///
    /// # Errors
    /// Where it is none of the kind: what is wrong, and the way on.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let node = self.parse_node(text)?;
        self.parse_value(&node).map_err(|wrong| {
            wrong.iter().map(|wrong| wrong.message_with_fix(self.name, true)).collect::<Vec<_>>().join("; ")
        })
    }

    /// A text from an option or a variable as a document would have it.
    pub(crate) fn parse_node(&self, text: &str) -> Result<Node, String> {
        let flows = text.trim_start().starts_with(['[', '{']);
        if !flows || !self.kind.is_structured() {
            return Ok(Node::plain_scalar(text));
        }
        let document = crate::document::yaml::parse(text).map_err(|fault| fault.message)?;
        match document.errors.first() {
            Some(fault) => Err(fault.message.clone()),
            None => Ok(document.root),
        }
    }

    /// The value that a document has for it.
    pub(crate) fn parse_value(&self, node: &Node) -> Result<Value, Vec<InvalidValue>> {
        self.kind.parse(node, self.keywords, self.default).map(|value| match (self.name, value) {
            ("split", Value::Number(percent)) => Value::Split(percent),
            (_, value) => value,
        })
    }

    /// The names of all keys that may stand there.
    pub(crate) fn names(level: SettingsLevel) -> impl Iterator<Item = &'static str> {
        Key::all().filter(move |key| key.is_allowed_at(level)).map(|key| key.name)
    }

    /// The key that was probably meant by a name that is none.
    pub(crate) fn nearest(name: &str, level: SettingsLevel) -> Option<String> {
        closest_name(name, Self::names(level))
    }
}

impl fmt::Display for SettingsLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Top => "at the top",
            Self::Upstream => "at an upstream",
            Self::Endpoint => "at an endpoint",
        })
    }
}

/// `hardCap` in words, between which this stands.
fn split_camel_case(name: &str, between: char) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            out.push(between);
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}
