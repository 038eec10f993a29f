//! The properties of a configuration key, and the groups of keys for help and documentation.

use std::fmt;

use portion_core::policy;

use super::{InvalidValue, ValueKind};
use crate::document::Node;
use crate::value::Value;

/// A configuration key.
#[derive(Debug)]
pub struct Key {
    /// Name in files.
    pub name: &'static str,
    /// Kind of its value.
    pub kind: ValueKind,
    /// Keywords that are allowed instead of a value of that kind: `none`, `auto`.
    pub keywords: &'static [&'static str],
    /// Default as text; empty if there is none.
    pub default: &'static str,
    /// Placeholder for the value in help: `TOKENS`.
    pub value_name: &'static str,
    /// Description of its effect.
    pub doc: &'static str,
    /// Group for help and documentation.
    pub group: KeyGroup,
    /// Levels at which it is allowed.
    pub placement: Placement,
    /// True if a change takes effect without a restart.
    pub is_reloadable: bool,
    /// Form of its command-line option.
    pub flag: CliFlag,
}

/// The command-line option of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CliFlag {
    /// Named after the key, as `--hard-cap`.
    FromName,
    /// With another name.
    Renamed(&'static str),
    /// Named after the key; without a value it means this one.
    OptionalValue(&'static str),
    /// No option: its value is too complex, or the name has another meaning there.
    Disabled,
}

/// The levels at which a key is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// At the top, in an upstream, in an endpoint.
    Everywhere,
    /// At the top and in an upstream.
    TopOrUpstream,
    /// At the top.
    Top,
    /// In an upstream.
    Upstream,
    /// In an endpoint.
    Endpoint,
}

/// A level of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsLevel {
    /// For everything.
    Top,
    /// For one server.
    Upstream,
    /// For the endpoints that match a pattern.
    Endpoint,
}

impl Key {
    /// Returns the name of its environment variable: `PORTION_HARD_CAP`. Keys for upstreams or endpoints
    /// only have none.
    pub fn variable(&self) -> Option<String> {
        self.is_allowed_at(SettingsLevel::Top)
            .then(|| format!("PORTION_{}", split_camel_case(self.name, '_').to_ascii_uppercase()))
    }

    /// Returns the name of its option, without dashes: `hard-cap`.
    pub fn option(&self) -> Option<String> {
        match self.flag {
            _ if !self.is_allowed_at(SettingsLevel::Top) => None,
            CliFlag::Disabled => None,
            CliFlag::Renamed(name) => Some(name.to_owned()),
            CliFlag::FromName | CliFlag::OptionalValue(_) => Some(split_camel_case(self.name, '-')),
        }
    }

    /// Returns the value that its option has when it is given without one.
    pub fn bare_value(&self) -> Option<&'static str> {
        match self.flag {
            CliFlag::OptionalValue(value) => Some(value),
            _ => None,
        }
    }

    /// Returns true if its option may be repeated, each one adding to the list.
    pub fn is_repeatable(&self) -> bool {
        matches!(self.kind, ValueKind::Names | ValueKind::Redact | ValueKind::TokenHashes)
    }

    /// Returns the help text: its effect and its default.
    pub fn help(&self) -> String {
        match self.default {
            "" => self.doc.to_owned(),
            default => format!("{} (default: {default})", self.doc),
        }
    }

    /// Returns true if it is allowed at this level.
    pub fn is_allowed_at(&self, level: SettingsLevel) -> bool {
        match self.placement {
            Placement::Everywhere => true,
            Placement::TopOrUpstream => level != SettingsLevel::Endpoint,
            Placement::Top => level == SettingsLevel::Top,
            Placement::Upstream => level == SettingsLevel::Upstream,
            Placement::Endpoint => level == SettingsLevel::Endpoint,
        }
    }

    /// Returns the name of the setting that it belongs to: `defaultPageSize` for `pageSize`, for most
    /// keys their own name.
    pub fn slot(&self) -> &'static str {
        match self.name {
            "pageSize" => "defaultPageSize",
            "split" => "experiment",
            name => name,
        }
    }

    /// Parses a text from an option or a variable.
    ///
    /// # Errors
    /// The problem and its remedy, if the text is not valid.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let node = self.parse_node(text)?;
        self.parse_value(&node).map_err(|wrong| {
            wrong.iter().map(|wrong| wrong.message_with_fix(self.name, true)).collect::<Vec<_>>().join("; ")
        })
    }

    /// Converts a text from an option or a variable to a document node.
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

    /// Parses the value of a document node.
    pub(crate) fn parse_value(&self, node: &Node) -> Result<Value, Vec<InvalidValue>> {
        self.kind.parse(node, self.keywords, self.default).map(|value| match (self.name, value) {
            ("split", Value::Number(percent)) => Value::Split(percent),
            (_, value) => value,
        })
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

/// The group of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyGroup {
    /// Listing of tools.
    Tools,
    /// Size limits of replies.
    Limits,
    /// Retention of payloads for follow-ups.
    Retention,
    /// Knowledge about payloads, and their treatment.
    Payloads,
    /// Format of replies.
    Replies,
    /// Selection of the sessions whose replies are shaped.
    Rollout,
    /// Addresses to listen at.
    Listeners,
    /// Logs and records for the operator.
    Log,
    /// Alerts for the operator.
    Alerts,
    /// Upstream servers, and rules for their endpoints.
    Servers,
}

impl KeyGroup {
    /// All groups, in display order.
    pub const ALL: [Self; 10] = [
        Self::Limits,
        Self::Retention,
        Self::Payloads,
        Self::Replies,
        Self::Rollout,
        Self::Tools,
        Self::Servers,
        Self::Listeners,
        Self::Log,
        Self::Alerts,
    ];

    /// Returns the heading.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Tools => "Tools",
            Self::Limits => "Limits",
            Self::Retention => "Storage",
            Self::Payloads => "Payloads",
            Self::Replies => "Replies",
            Self::Rollout => "Rollout",
            Self::Listeners => "Listeners",
            Self::Log => "Log",
            Self::Alerts => "Alerts",
            Self::Servers => "Servers",
        }
    }
}

/// Splits a camel-case name into words, with `between` between them.
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

pub(in crate::key) const MIN_BUDGET: u64 = policy::MIN_BUDGET as u64;
pub(in crate::key) const MIN_BYTES: u64 = policy::MIN_BYTE_LIMIT as u64;
/// Upper bound for all counts: far above what any model accepts.
pub(in crate::key) const MAX_COUNT: u64 = 1_000_000_000;

/// Properties that most keys share.
pub(in crate::key) const KEY_DEFAULTS: Key = Key {
    name: "",
    kind: ValueKind::Boolean,
    keywords: &[],
    default: "",
    value_name: "",
    doc: "",
    group: KeyGroup::Limits,
    placement: Placement::Everywhere,
    is_reloadable: true,
    flag: CliFlag::FromName,
};
