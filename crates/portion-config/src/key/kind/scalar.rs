//! Parses values that are one text: numbers, sizes, durations, words.

use std::net::{AddrParseError, SocketAddr};
use std::time::Duration;

use portion_policy::access::TokenHash;
use portion_policy::store_url::{has_unknown_parameter, without_secrets};
use portion_text::names::closest_name;
use portion_tokens::Factor;

use super::{InvalidValue, Scalar, ValueKind, join_choices};
use crate::document::{Node, NodeValue};
use crate::reference::{ExpandError, Secret, has_credentials};
use crate::value::Value;

/// Maximum characters of a text.
const MAX_TEXT_CHARS: usize = 4_096;

impl ValueKind {
    pub(super) fn parse_number(self, node: &Node, text: &str, plain: bool, default: &str) -> Scalar {
        let example = match self {
            _ if default.starts_with(|c: char| c.is_ascii_digit()) => default.to_owned(),
            Self::Integer(min, _) => min.max(50).to_string(),
            _ => "50".to_owned(),
        };
        let is = if matches!(self, Self::Integer(..)) { "is not a whole number" } else { "is not a number" };
        let fix = || format!("write {}, such as {example}", self.description());
        if !plain && text.parse::<f64>().is_ok() {
            return Err(InvalidValue::new(node, "is text", format!("write {text} without quotes")));
        }
        let out = |is: &str| Err(InvalidValue::new(node, is, fix()));
        if let Self::Integer(min, max) = self {
            return match text.parse::<u64>() {
                Ok(number) if number < min => out("is too small"),
                Ok(number) if number > max => {
                    Err(InvalidValue::new(node, "is too large", format!("write at most {max}")))
                }
                Ok(number) => Ok(Value::Integer(number)),
                Err(_) if text.parse::<i64>().is_ok() => out("is too small"),
                Err(_) => out(is),
            };
        }
        let Some(number) = text.parse::<f64>().ok().filter(|number| number.is_finite()) else {
            return out(is);
        };
        match self {
            Self::Fraction if number > 0.0 && number <= 1.0 => Ok(Value::Number(number)),
            Self::Percent if (0.0..=100.0).contains(&number) => Ok(Value::Number(number)),
            Self::Factor => match Factor::from_f64(number) {
                Some(factor) => Ok(Value::Number(factor.as_f64())),
                None => out(if number < Factor::MIN { "is too small" } else { "is too large" }),
            },
            Self::Price if number >= 0.0 => Ok(Value::Number(number)),
            Self::Price => out("is too small"),
            Self::Fraction => out("is out of range"),
            _ => out("is not a percentage"),
        }
    }

    pub(super) fn parse_text(self, node: &Node, text: &str) -> Scalar {
        let fix = "write text without control characters";
        if matches!((&node.value, text), (NodeValue::Scalar { is_plain: true, .. }, "true" | "false")) {
            let fix = match self {
                Self::Redact => "write secrets, names of fields, or none",
                _ => "write text, in quotes if it is this word",
            };
            return Err(InvalidValue::new(node, "is not text", fix));
        }
        if text.trim().is_empty() {
            return Err(InvalidValue::new(node, "is empty", "write a value, or remove the key"));
        }
        if text.chars().any(char::is_control) || text.chars().count() > MAX_TEXT_CHARS {
            return Err(InvalidValue::hidden(node, "is too long, or has control characters", fix));
        }
        Ok(Value::Text(text.to_owned()))
    }

    /// Parses a text that may be a URL. One with a password is refused, and not shown.
    pub(super) fn parse_text_or_url(self, node: &Node, text: &str) -> Scalar {
        if has_credentials(text) {
            return Err(InvalidValue::hidden(node, "contains a user or password", "remove it"));
        }
        self.parse_text(node, text)
    }
}

pub(super) fn parse_choice(node: &Node, text: &str, known: &'static [&'static str]) -> Scalar {
    if let Some(word) = known.iter().find(|word| **word == text) {
        return Ok(Value::Choice(word));
    }
    let fix = match closest_name(text, known.iter().copied()) {
        Some(meant) => format!("did you mean {meant}? Allowed: {}", join_choices(known, &[])),
        None => format!("write {}", join_choices(known, &[])),
    };
    Err(InvalidValue::new(node, "is not known", fix))
}

/// Parses a size in bytes: `65536`, `64KiB`, `5MiB`.
pub(super) fn parse_size(node: &Node, text: &str, min: u64, max: u64) -> Scalar {
    let fix = || format!("write {}, such as 64KiB or 5MiB", ValueKind::Size(min, max).description());
    let parsed = text.parse::<bytesize::ByteSize>().ok().filter(|_| !text.trim().is_empty());
    match parsed.map(|size| size.as_u64()) {
        Some(bytes) if bytes < min => Err(InvalidValue::new(node, "is too small", fix())),
        Some(bytes) if bytes > max => Err(InvalidValue::new(node, "is too large", fix())),
        Some(bytes) => Ok(Value::Size(bytes)),
        None => Err(InvalidValue::new(node, "is not a size", fix())),
    }
}

/// Parses a duration: `90s`, `10m`, `1h`.
pub(super) fn parse_duration(node: &Node, text: &str, min: u64, max: u64) -> Scalar {
    let fix = "write a number with a unit, such as 90s, 10m or 1h";
    match humantime::parse_duration(text) {
        Ok(time) if time < Duration::from_secs(min) => Err(InvalidValue::new(node, "is too short", fix)),
        Ok(time) if time > Duration::from_secs(max) => Err(InvalidValue::new(node, "is too long", fix)),
        Ok(time) => Ok(Value::Duration(time)),
        Err(_) => Err(InvalidValue::new(node, "is not a duration", fix)),
    }
}

pub(super) fn parse_tool_name(node: &Node, text: &str) -> Scalar {
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if plain && (1..=64).contains(&text.len()) {
        return Ok(Value::Text(text.to_owned()));
    }
    Err(InvalidValue::new(node, "is not a tool name", "write 1 to 64 letters, digits, `_` or `-`"))
}

/// Parses hashes of tokens. An entry may be a token by mistake and is never part of a message.
pub(super) fn parse_token_hashes<'a>(entries: impl Iterator<Item = (&'a str, &'a Node)>) -> Scalar {
    let parse = |(entry, node): (&str, &Node)| {
        let fix = "make a token and its entry by: portion token NAME";
        let parsed = entry.parse::<TokenHash>().map(|entry| entry.to_string());
        parsed.map_err(|error| InvalidValue::hidden(node, error.to_string(), fix))
    };
    entries.map(parse).collect::<Result<Vec<_>, _>>().map(Value::Names)
}

/// Parses an IP address and a port. `localhost:PORT` and `:PORT` are at the loopback address.
///
/// # Errors
/// The text is no address.
pub fn parse_socket_address(text: &str) -> Result<SocketAddr, AddrParseError> {
    match text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':')) {
        Some(port) => format!("127.0.0.1:{port}").parse(),
        None => text.parse(),
    }
}

pub(super) fn parse_address(node: &Node, text: &str) -> Scalar {
    parse_socket_address(text).map(|address| Value::Text(address.to_string())).map_err(|_| {
        InvalidValue::new(
            node,
            "is not an address",
            "write an address and a port, such as 127.0.0.1:8765 or localhost:8765",
        )
    })
}

pub(super) fn parse_url(node: &Node, read: Result<Secret, ExpandError>) -> Scalar {
    read.map(Value::Reference).map_err(|error| InvalidValue::hidden(node, error.problem("url"), error.fix()))
}

/// Parses the URL of a store. Its password is masked, and never part of a message.
pub(super) fn parse_store(node: &Node, text: &str) -> Scalar {
    if !text.contains("://") {
        let fix = "write memory, file, or the URL of a Redis or Valkey: redis://HOST:PORT";
        return Err(InvalidValue::new(node, "is not a store", fix).showing(&without_secrets(text)));
    }
    if has_unknown_parameter(text) {
        let fix = "the parameters are ca, a file, and prefix; a password stands before the host: redis://:PASSWORD@HOST";
        return Err(InvalidValue::hidden(node, "has a parameter that is not known", fix));
    }
    parse_url(node, Secret::in_store(text))
}

/// Parses the name of a file with keys, or the keys.
pub(super) fn parse_cursor_keys(node: &Node, text: &str) -> Scalar {
    if text.trim().is_empty() {
        return Err(InvalidValue::new(node, "is empty", "name a file with a key in base64 on each line"));
    }
    parse_url(node, Secret::in_cursor_keys(text))
}

pub(super) fn parse_command_line(node: &Node, text: &str) -> Scalar {
    let fix = "write a shell command line, or a list of words";
    let odd = || InvalidValue::hidden(node, "is not a command line", fix);
    parse_command(node, shlex::split(text).ok_or_else(odd)?)
}

/// Parses a program with its arguments.
pub(super) fn parse_command(node: &Node, words: Vec<String>) -> Scalar {
    if words.is_empty() {
        return Err(InvalidValue::hidden(node, "is empty", "name a program"));
    }
    let hidden = |error: ExpandError| InvalidValue::hidden(node, error.problem("command"), error.fix());
    Secret::in_command(words).map(Value::Command).map_err(hidden)
}
