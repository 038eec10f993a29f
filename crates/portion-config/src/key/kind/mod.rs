//! Parses the values of keys, by kind.

mod scalar;
mod structured;
mod tools;

use portion_text::names::find_misspelled;
use portion_tokens::Factor;

use crate::document::{Node, NodeValue, TextPosition};
use crate::reference::Secret;
use crate::value::Value;
pub use scalar::parse_socket_address;
use scalar::{
    parse_address, parse_choice, parse_command_line, parse_cursor_keys, parse_duration, parse_size,
    parse_store, parse_token_hashes, parse_tool_name, parse_url,
};
use structured::parse_pushdown;

/// Maximum above which a limit is not mentioned in a description.
const UNBOUNDED_FROM: u64 = 1_000_000_000;

/// The kind of value of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueKind {
    /// An integer in this range.
    Integer(u64, u64),
    /// A share, above 0 and up to 1.
    Fraction,
    /// A percentage from 0 to 100.
    Percent,
    /// A factor for token counts.
    Factor,
    /// A price in US dollars.
    Price,
    /// A size in bytes, in this range.
    Size(u64, u64),
    /// A duration, in seconds, in this range.
    Duration(u64, u64),
    /// `true` or `false`.
    Boolean,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Text.
    Text,
    /// Text that may be a URL, without a user or password.
    TextOrUrl,
    /// A tool name that every client accepts: `[a-zA-Z0-9_-]{1,64}`.
    ToolName,
    /// Several texts: a list, or one text with commas.
    Names,
    /// Names of fields whose values are hidden.
    Redact,
    /// Names of tokens, each with the hash of the token. A token written here by mistake is not shown.
    TokenHashes,
    /// Names of sections, each with the names of its fields.
    Sections,
    /// The name of a preset, or settings of a pushdown by name.
    Pushdown,
    /// An experiment such as `{split: 50}`.
    Experiment,
    /// An address to listen at: `127.0.0.1:8765`.
    Address,
    /// A URL in which secrets are references.
    Url,
    /// A URL whose path may be secret and is not shown.
    Webhook,
    /// A URL of a store, whose password is not shown.
    StoreUrl,
    /// A file with keys, or the keys, which are not shown.
    CursorKeys,
    /// A command: a list of words, or a command line.
    Command,
    /// Texts by name, with secrets as references.
    Secrets,
    /// Descriptions of tools by name.
    Tools,
    /// Settings by pattern.
    Endpoints,
    /// Servers by name.
    Upstreams,
}

impl ValueKind {
    /// Returns true if its values may be written as YAML flow text: `{a: [b, c]}`.
    pub(crate) fn is_structured(self) -> bool {
        matches!(
            self,
            Self::Names
                | Self::Redact
                | Self::TokenHashes
                | Self::Sections
                | Self::Pushdown
                | Self::Experiment
                | Self::Command
                | Self::Secrets
                | Self::Tools
                | Self::Endpoints
                | Self::Upstreams
        )
    }

    /// Returns true if its values may contain secrets, which messages must not show.
    pub fn may_be_secret(self) -> bool {
        matches!(
            self,
            Self::TextOrUrl
                | Self::Url
                | Self::Webhook
                | Self::StoreUrl
                | Self::CursorKeys
                | Self::TokenHashes
        )
    }

    /// Describes the kind in a few words.
    pub fn description(self) -> String {
        match self {
            Self::Integer(min, max) if max >= UNBOUNDED_FROM => format!("a whole number from {min}"),
            Self::Integer(min, max) => format!("a whole number from {min} to {max}"),
            Self::Fraction => "a number above 0 and at most 1".into(),
            Self::Percent => "a percentage from 0 to 100".into(),
            Self::Factor => format!("a number from {} to {}", Factor::MIN, Factor::MAX),
            Self::Price => "a price from 0".into(),
            Self::Size(0, u64::MAX) => "a size".into(),
            Self::Size(min, u64::MAX) => format!("a size from {}", Value::Size(min)),
            Self::Size(min, max) => {
                format!("a size from {} to below {}", Value::Size(min), Value::Size(max.saturating_add(1)))
            }
            Self::Duration(..) => "a duration from 1s".into(),
            Self::Boolean => "true or false".into(),
            Self::Choice(words) => words.join(", "),
            Self::Text | Self::TextOrUrl => "text".into(),
            Self::ToolName => "1 to 64 letters, digits, `_` or `-`".into(),
            Self::Names | Self::Redact => "a list of names".into(),
            Self::TokenHashes => "a list of NAME=sha256:HEX".into(),
            Self::Sections => "a map of field lists".into(),
            Self::Pushdown => "a preset, or a map of settings".into(),
            Self::Experiment => "{split: PERCENT}".into(),
            Self::Address => "an address with a port".into(),
            Self::Url | Self::Webhook | Self::StoreUrl => "a URL".into(),
            Self::CursorKeys => "a file, or keys in base64".into(),
            Self::Command => "a command line or a list of its words".into(),
            Self::Secrets => "a map of texts".into(),
            Self::Tools => "a map of tools".into(),
            Self::Endpoints => "a map of settings by pattern".into(),
            Self::Upstreams => "a map of servers".into(),
        }
    }

    /// Parses the value of a node; the keywords in `or` are always accepted.
    pub(crate) fn parse(self, node: &Node, or: &'static [&'static str], default: &'static str) -> Structured {
        let (text, plain) = match &node.value {
            NodeValue::Scalar { text, is_plain: plain } => (text.as_str(), *plain),
            NodeValue::Null => {
                return Err(vec![InvalidValue::new(node, "has no value", "write one, or remove the key")]);
            }
            _ => return self.parse_structured(node, or),
        };
        if let Some(word) = or.iter().find(|word| **word == text) {
            return Ok(Value::Choice(word));
        }
        let one = |result: Scalar| result.map_err(|wrong| vec![wrong]);
        match self {
            Self::Integer(..) | Self::Fraction | Self::Percent | Self::Factor | Self::Price => {
                one(self.parse_number(node, text, plain, default))
            }
            Self::Size(min, max) => one(parse_size(node, text, min, max)),
            Self::Duration(min, max) => one(parse_duration(node, text, min, max)),
            Self::Boolean => one(match (text, plain) {
                ("true", true) => Ok(Value::Boolean(true)),
                ("false", true) => Ok(Value::Boolean(false)),
                ("true" | "false", false) => {
                    Err(InvalidValue::new(node, "is text", format!("write {text} without quotes")))
                }
                _ => Err(InvalidValue::new(
                    node,
                    "is neither true nor false",
                    format!("write {}", join_choices(&["true", "false"], or)),
                )),
            }),
            Self::Choice(known) => one(parse_choice(node, text, known)),
            Self::Text => one(self.parse_text(node, text)),
            Self::TextOrUrl => one(self.parse_text_or_url(node, text)),
            Self::ToolName => one(parse_tool_name(node, text)),
            Self::Names | Self::Redact => {
                // A misspelled keyword would be a name that matches nothing.
                if let Some(meant) = find_misspelled(text.trim(), or.iter().copied()) {
                    let fix = format!("did you mean {meant}? To use it as a name, write a list: [{text}]");
                    return Err(vec![InvalidValue::new(node, "is not known", fix)]);
                }
                self.parse_names(node, text.split(',').map(|name| (name.trim(), node)))
            }
            Self::TokenHashes => one(parse_token_hashes(text.split(',').map(|entry| (entry, node)))),
            Self::Address => one(parse_address(node, text)),
            Self::Url => one(parse_url(node, Secret::in_url(text))),
            Self::Webhook => one(parse_url(node, Secret::in_webhook(text))),
            Self::StoreUrl => one(parse_store(node, text)),
            Self::CursorKeys => one(parse_cursor_keys(node, text)),
            Self::Command => one(parse_command_line(node, text)),
            Self::Pushdown => parse_pushdown(node, &[("preset".into(), text.to_owned(), node)]),
            Self::Experiment => Err(structured::no_experiment(node)),
            Self::Sections | Self::Secrets | Self::Tools | Self::Endpoints | Self::Upstreams => {
                Err(vec![InvalidValue::new(node, "is text", format!("write {}", self.description()))])
            }
        }
    }
}

/// A value, or what is wrong with it.
type Scalar = Result<Value, InvalidValue>;
/// A value with parts, or what is wrong with each.
type Structured = Result<Value, Vec<InvalidValue>>;

/// Joins choices for a message: `a, b or c`.
pub(super) fn join_choices(some: &[&str], more: &[&str]) -> String {
    let all: Vec<&str> = some.iter().chain(more).copied().collect();
    match all.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        Some((last, _)) => (*last).to_owned(),
        None => String::new(),
    }
}

/// Longest value that is shown, in characters.
const MAX_SHOWN_CHARS: usize = 60;

/// The error for an invalid value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidValue {
    /// Position of the value.
    pub position: TextPosition,
    /// The given value, if it may be shown.
    pub raw_value: Option<String>,
    /// Description of the problem: `is not a whole number`.
    pub problem: String,
    /// Remedy.
    pub fix: String,
}

impl InvalidValue {
    pub(crate) fn new(node: &Node, is: impl Into<String>, fix: impl Into<String>) -> Self {
        let raw_value = node.text().map(shorten);
        Self { position: node.position, raw_value, problem: is.into(), fix: fix.into() }
    }

    /// Creates the error for a value that may be secret, and is not shown.
    pub(crate) fn hidden(node: &Node, is: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { raw_value: None, ..Self::new(node, is, fix) }
    }

    /// Shows another text in place of the given value.
    pub(crate) fn showing(self, text: &str) -> Self {
        Self { raw_value: Some(shorten(text)), ..self }
    }

    /// Returns the message, with the given value if `shown` is true.
    pub fn message(&self, key: &str, shown: bool) -> String {
        match &self.raw_value {
            Some(given) if shown => format!("{key} is `{}`, which {}", given.escape_debug(), self.problem),
            _ => format!("{key} {}", self.problem),
        }
    }

    /// Returns the message with the remedy.
    pub(crate) fn message_with_fix(&self, key: &str, shown: bool) -> String {
        format!("{}; {}", self.message(key, shown), self.fix)
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(MAX_SHOWN_CHARS).collect()
}
