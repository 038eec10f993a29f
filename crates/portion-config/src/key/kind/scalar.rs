//! Values that are one text: numbers, sizes, times, words.

use std::net::SocketAddr;
use std::time::Duration;

use portion_core::nearest::nearest;
use portion_core::tokens::Factor;

use super::{Kind, Wrong, words};
use crate::document::{Node, Tree};
use crate::reference::{NotExpanded, Secret};
use crate::value::Value;

/// The most characters of a text.
const MOST_CHARACTERS: usize = 4_096;

impl Kind {
    pub(super) fn number(self, node: &Node, text: &str, plain: bool, default: &str) -> Result<Value, Wrong> {
        let example = match self {
            _ if default.starts_with(|c: char| c.is_ascii_digit()) => default.to_owned(),
            Self::Whole(least, _) => least.max(50).to_string(),
            _ => "50".to_owned(),
        };
        let is = if matches!(self, Self::Whole(..)) { "is no whole number" } else { "is no number" };
        let fix = || format!("write {}, such as {example}", self.what());
        if !plain && text.parse::<f64>().is_ok() {
            return Err(Wrong::new(node, "is text", format!("write {text} without quotes")));
        }
        let out = |is: &str| Err(Wrong::new(node, is, fix()));
        if let Self::Whole(least, most) = self {
            return match text.parse::<u64>() {
                Ok(number) if number < least => out("is too small"),
                Ok(number) if number > most => {
                    Err(Wrong::new(node, "is too large", format!("write one up to {most}")))
                }
                Ok(number) => Ok(Value::Whole(number)),
                Err(_) if text.parse::<i64>().is_ok() => out("is too small"),
                Err(_) => out(is),
            };
        }
        let Some(number) = text.parse::<f64>().ok().filter(|number| number.is_finite()) else {
            return out(is);
        };
        match self {
            Self::Share if number > 0.0 && number <= 1.0 => Ok(Value::Number(number)),
            Self::Percent if (0.0..=100.0).contains(&number) => Ok(Value::Number(number)),
            Self::Factor => match Factor::of(number) {
                Some(factor) => Ok(Value::Number(factor.value())),
                None => out(if number < Factor::LEAST { "is too small" } else { "is too large" }),
            },
            Self::Share => out("is no share of the budget"),
            _ => out("is no percentage"),
        }
    }

    pub(super) fn text(self, node: &Node, text: &str) -> Result<Value, Wrong> {
        let fix = "write text without control characters";
        if matches!((&node.tree, text), (Tree::Scalar { plain: true, .. }, "true" | "false")) {
            let fix = match self {
                Self::Redact => "write secrets, names of fields, or none",
                _ => "write text; in quotes, if this is what it is",
            };
            return Err(Wrong::new(node, "is no text", fix));
        }
        if text.trim().is_empty() {
            return Err(Wrong::new(node, "is empty", "write something, or leave the key out"));
        }
        if text.chars().any(char::is_control) || text.chars().count() > MOST_CHARACTERS {
            let given = Wrong::new(node, "is too long, or has control characters", fix);
            return Err(Wrong { given: None, ..given });
        }
        Ok(Value::Text(text.to_owned()))
    }
}

pub(super) fn word(node: &Node, text: &str, known: &'static [&'static str]) -> Result<Value, Wrong> {
    if let Some(word) = known.iter().find(|word| **word == text) {
        return Ok(Value::Word(word));
    }
    let fix = match nearest(text, known.iter().copied()) {
        Some(meant) => format!("did you mean {meant}? It is {}", words(known, &[])),
        None => format!("write {}", words(known, &[])),
    };
    Err(Wrong::new(node, "is not known", fix))
}

/// A size in bytes: `65536`, `64KiB`, `5MiB`.
pub(super) fn size(node: &Node, text: &str, least: u64, most: u64) -> Result<Value, Wrong> {
    let fix = || format!("write {}, such as 64KiB or 5MiB", Kind::Size(least, most).what());
    let parsed = text.parse::<bytesize::ByteSize>().ok().filter(|_| !text.trim().is_empty());
    match parsed.map(|size| size.as_u64()) {
        Some(bytes) if bytes < least => Err(Wrong::new(node, "is too small", fix())),
        Some(bytes) if bytes > most => Err(Wrong::new(node, "is too large", fix())),
        Some(bytes) => Ok(Value::Size(bytes)),
        None => Err(Wrong::new(node, "is no number of bytes", fix())),
    }
}

/// A time: `90s`, `10m`, `1h`.
pub(super) fn time(node: &Node, text: &str, least: u64, most: u64) -> Result<Value, Wrong> {
    let fix = "write a number with a unit, such as 90s, 10m or 1h";
    match humantime::parse_duration(text) {
        Ok(time) if time < Duration::from_secs(least) => Err(Wrong::new(node, "is too short", fix)),
        Ok(time) if time > Duration::from_secs(most) => Err(Wrong::new(node, "is too long", fix)),
        Ok(time) => Ok(Value::Time(time)),
        Err(_) => Err(Wrong::new(node, "is no time", fix)),
    }
}

pub(super) fn tool_name(node: &Node, text: &str) -> Result<Value, Wrong> {
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if plain && (1..=64).contains(&text.len()) {
        return Ok(Value::Text(text.to_owned()));
    }
    Err(Wrong::new(node, "is no name of a tool", "a tool's name is 1 to 64 letters, digits, `_` or `-`"))
}

pub(super) fn address(node: &Node, text: &str) -> Result<Value, Wrong> {
    let address: Result<SocketAddr, _> = text.parse();
    address
        .map(|address| Value::Text(address.to_string()))
        .map_err(|_| Wrong::new(node, "is no address", "write a number and a port, such as 127.0.0.1:8765"))
}

pub(super) fn url(node: &Node, read: Result<Secret, NotExpanded>) -> Result<Value, Wrong> {
    read.map(Value::Reference)
        .map_err(|error| Wrong { given: None, ..Wrong::new(node, error.is("url"), error.fix()) })
}

pub(super) fn command_line(node: &Node, text: &str) -> Result<Value, Wrong> {
    let fix = "write it as a shell would take it, or as a list of words";
    let odd = || Wrong { given: None, ..Wrong::new(node, "is no command line", fix) };
    command(node, shlex::split(text).ok_or_else(odd)?)
}

/// A program and its arguments.
pub(super) fn command(node: &Node, words: Vec<String>) -> Result<Value, Wrong> {
    if words.is_empty() {
        return Err(Wrong { given: None, ..Wrong::new(node, "is empty", "name a program") });
    }
    Secret::in_command(words)
        .map(Value::Command)
        .map_err(|error| Wrong { given: None, ..Wrong::new(node, error.is("command"), error.fix()) })
}
