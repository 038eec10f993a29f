//! What the value of a key may be, and how it is read.

use std::net::SocketAddr;
use std::time::Duration;

use portion_core::nearest::nearest;
use portion_core::redact::Redact;

use crate::document::{Node, Spot, Tree};
use crate::reference::Secret;
use crate::value::Value;

/// The most characters of a text.
const MOST_CHARACTERS: usize = 4_096;

/// What the value of a key may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A whole number from the first to the second.
    Whole(u64, u64),
    /// A share, above 0 and up to 1.
    Share,
    /// Per cent, from 0 to 100.
    Percent,
    /// Bytes, from the first to the second.
    Size(u64, u64),
    /// A time, seconds from the first to the second.
    Time(u64, u64),
    /// `true` or `false`.
    Truth,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Text.
    Text,
    /// A name that every client takes for a tool's: `[a-zA-Z0-9_-]{1,64}`.
    ToolName,
    /// Several texts: a list, or one text with commas.
    Names,
    /// Names of fields whose values are hidden.
    Redact,
    /// Names of fields, by the name of the section that they are.
    Sections,
    /// `{split: 50}`.
    Experiment,
    /// An address to listen at: `127.0.0.1:8765`.
    Address,
    /// A URL, in which secrets stand as references.
    Url,
    /// A command: a list of words, or a line of them.
    Command,
    /// Texts by name, secrets as references.
    Secrets,
    /// Settings by pattern.
    Endpoints,
    /// Servers by name.
    Upstreams,
}

/// Why a value is not one of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Where.
    pub spot: Spot,
    /// What was given, where it can be shown.
    pub given: Option<String>,
    /// What it is: `is no whole number`.
    pub is: String,
    /// The way on.
    pub fix: String,
}

impl Wrong {
    pub(crate) fn new(node: &Node, is: impl Into<String>, fix: impl Into<String>) -> Self {
        let given = match &node.tree {
            Tree::Scalar { text, .. } => Some(text.chars().take(60).collect()),
            _ => None,
        };
        Self { spot: node.spot, given, is: is.into(), fix: fix.into() }
    }

    /// In words, with what was given where that may be shown.
    pub fn message(&self, key: &str, shown: bool) -> String {
        match &self.given {
            Some(given) if shown => format!("{key} is `{}`, which {}", given.escape_debug(), self.is),
            _ => format!("{key} {}", self.is),
        }
    }

    /// The same with the way on.
    pub(crate) fn told(&self, key: &str, shown: bool) -> String {
        format!("{}; {}", self.message(key, shown), self.fix)
    }
}

impl Kind {
    /// Whether its values may be written as flow text: `{a: [b, c]}`.
    pub(crate) fn is_structured(self) -> bool {
        matches!(
            self,
            Self::Names
                | Self::Redact
                | Self::Sections
                | Self::Experiment
                | Self::Command
                | Self::Secrets
                | Self::Endpoints
                | Self::Upstreams
        )
    }

    /// What it is, in a few words.
    pub fn what(self) -> String {
        match self {
            Self::Whole(least, most) if most == u64::MAX => format!("a whole number from {least}"),
            Self::Whole(least, most) => format!("a whole number from {least} to {most}"),
            Self::Share => "a share above 0 and up to 1".into(),
            Self::Percent => "per cent from 0 to 100".into(),
            Self::Size(0, u64::MAX) => "a size".into(),
            Self::Size(least, u64::MAX) => format!("a size from {}", Value::Size(least)),
            Self::Size(least, most) => {
                format!("a size from {} to below {}", Value::Size(least), Value::Size(most.saturating_add(1)))
            }
            Self::Time(..) => "a time from 1s".into(),
            Self::Truth => "true or false".into(),
            Self::Word(words) => words.join(", "),
            Self::Text => "text".into(),
            Self::ToolName => "1 to 64 letters, digits, `_` or `-`".into(),
            Self::Names | Self::Redact => "a list of names".into(),
            Self::Sections => "lists of fields by name".into(),
            Self::Experiment => "{split: PERCENT}".into(),
            Self::Address => "an address with a port".into(),
            Self::Url => "a URL".into(),
            Self::Command => "a command line or a list of its words".into(),
            Self::Secrets => "texts by name".into(),
            Self::Endpoints => "settings by pattern".into(),
            Self::Upstreams => "servers by name".into(),
        }
    }

    /// What the node stands for; one of the words `or` is always taken.
    pub(crate) fn read(
        self,
        node: &Node,
        or: &'static [&'static str],
        default: &'static str,
    ) -> Result<Value, Vec<Wrong>> {
        let (text, plain) = match &node.tree {
            Tree::Scalar { text, plain } => (text.as_str(), *plain),
            Tree::Null => {
                return Err(vec![Wrong::new(node, "has no value", "write one, or leave the key out")]);
            }
            _ => return self.structured(node, or),
        };
        if let Some(word) = or.iter().find(|word| **word == text) {
            return Ok(Value::Word(word));
        }
        let one = |result: Result<Value, Wrong>| result.map_err(|wrong| vec![wrong]);
        match self {
            Self::Whole(..) | Self::Share | Self::Percent => one(self.number(node, text, plain, default)),
            Self::Size(least, most) => one(size(node, text, least, most)),
            Self::Time(least, most) => one(time(node, text, least, most)),
            Self::Truth => one(match (text, plain) {
                ("true", true) => Ok(Value::Truth(true)),
                ("false", true) => Ok(Value::Truth(false)),
                ("true" | "false", false) => {
                    Err(Wrong::new(node, "is text", format!("write {text} without quotes")))
                }
                _ => Err(Wrong::new(
                    node,
                    "is neither true nor false",
                    format!("write {}", words(&["true", "false"], or)),
                )),
            }),
            Self::Word(known) => one(word(node, text, known)),
            Self::Text => one(self.text(node, text)),
            Self::ToolName => one(tool_name(node, text)),
            Self::Names | Self::Redact => self.names(node, text.split(',').map(|name| (name.trim(), node))),
            Self::Address => one(address(node, text)),
            Self::Url => one(url(node, text)),
            Self::Command => one(command(node, text)),
            Self::Experiment => {
                Err(vec![Wrong::new(node, "is no experiment", "write none, shadow or {split: 50}")])
            }
            Self::Sections | Self::Secrets | Self::Endpoints | Self::Upstreams => {
                Err(vec![Wrong::new(node, "is text", format!("write {}", self.what()))])
            }
        }
    }

    fn structured(self, node: &Node, or: &[&str]) -> Result<Value, Vec<Wrong>> {
        match (self, &node.tree) {
            (Self::Names | Self::Redact, Tree::List(items)) => {
                self.names(node, items.iter().map(|item| (scalar(item), item)))
            }
            (Self::Command, Tree::List(items)) => {
                let Value::Names(words) =
                    Self::Names.names(node, items.iter().map(|item| (scalar(item), item)))?
                else {
                    return Err(vec![]);
                };
                if words.is_empty() {
                    return Err(vec![Wrong::new(node, "is empty", "name a program")]);
                }
                Ok(Value::Names(words))
            }
            (Self::Sections, Tree::Map(entries)) => {
                let (sections, wrong) =
                    apart(entries.iter().map(|(name, node)| match Self::Names.read(node, &[], "")? {
                        Value::Names(fields) if !fields.is_empty() => Ok((name.text.clone(), fields)),
                        _ => Err(vec![Wrong::new(node, "has an empty section", "name its fields")]),
                    }));
                if wrong.is_empty() { Ok(Value::Sections(sections)) } else { Err(wrong) }
            }
            (Self::Experiment, Tree::Map(entries)) => match entries.as_slice() {
                [(name, percent)] if name.text == "split" => match Self::Percent.read(percent, &[], "50")? {
                    Value::Number(percent) => Ok(Value::Split(percent)),
                    _ => Err(vec![]),
                },
                _ => Err(vec![Wrong::new(node, "is no experiment", "write none, shadow or {split: 50}")]),
            },
            (Self::Secrets, Tree::Map(entries)) => {
                let (secrets, wrong) = apart(entries.iter().map(|(name, node)| {
                    let Tree::Scalar { text, .. } = &node.tree else {
                        return Err(vec![Wrong::new(
                            node,
                            "has something else than text",
                            "write text for each name",
                        )]);
                    };
                    Secret::named(&name.text, text)
                        .map(|secret| (name.text.clone(), secret))
                        .map_err(|error| vec![Wrong::new(node, error.is(&name.text), error.fix())])
                }));
                if wrong.is_empty() { Ok(Value::Secrets(secrets)) } else { Err(wrong) }
            }
            _ => {
                let fix = match self {
                    Self::Word(known) => words(known, or),
                    _ => words(&[&self.what()], or),
                };
                Err(vec![Wrong::new(node, format!("is {}", node.what()), format!("write {fix}"))])
            }
        }
    }

    fn number(self, node: &Node, text: &str, plain: bool, default: &str) -> Result<Value, Wrong> {
        let example = if default.starts_with(|c: char| c.is_ascii_digit()) { default } else { "50" };
        let is = if matches!(self, Self::Whole(..)) { "is no whole number" } else { "is no number" };
        let fix = || format!("write {}, such as {example}", self.what());
        if !plain && text.parse::<f64>().is_ok() {
            return Err(Wrong::new(node, "is text", format!("write {text} without quotes")));
        }
        let out = |is: &str| Err(Wrong::new(node, is, fix()));
        if let Self::Whole(least, most) = self {
            return match text.parse::<u64>() {
                Ok(number) if number < least => out("is too small"),
                Ok(number) if number > most => out("is too large"),
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
            Self::Share => out("is no share of the budget"),
            _ => out("is no percentage"),
        }
    }

    fn text(self, node: &Node, text: &str) -> Result<Value, Wrong> {
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

    fn names<'a>(
        self,
        whole: &Node,
        names: impl Iterator<Item = (&'a str, &'a Node)>,
    ) -> Result<Value, Vec<Wrong>> {
        let (names, wrong) = apart(names.map(|(name, node)| match Self::Text.text(node, name) {
            Ok(Value::Text(name)) => Ok(name),
            Ok(_) => Err(vec![]),
            Err(wrong) if matches!(node.tree, Tree::Scalar { .. }) => {
                Err(vec![Wrong { given: None, is: format!("has a name that {}", wrong.is), ..wrong }])
            }
            Err(wrong) => {
                let is = format!("has {} in place of a name", node.what());
                Err(vec![Wrong { given: None, is, fix: "write a list of names".into(), ..wrong }])
            }
        }));
        if !wrong.is_empty() {
            return Err(wrong);
        }
        if self == Self::Redact
            && !names.is_empty()
            && let Err(error) = Redact::parse(&names.join(","))
        {
            let fix = "name the members, such as [password, guest.phone, '*Code'], or write none";
            return Err(vec![Wrong::new(whole, format!("cannot be obeyed: {error}"), fix)]);
        }
        Ok(Value::Names(names))
    }
}

/// The text of a scalar, else none at all.
fn scalar(node: &Node) -> &str {
    match &node.tree {
        Tree::Scalar { text, .. } => text,
        _ => "",
    }
}

/// What is right, and everything that is wrong.
fn apart<T>(results: impl Iterator<Item = Result<T, Vec<Wrong>>>) -> (Vec<T>, Vec<Wrong>) {
    let (mut right, mut wrong) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(value) => right.push(value),
            Err(more) => wrong.extend(more),
        }
    }
    (right, wrong)
}

/// Words to choose between: `a, b or c`.
fn words(some: &[&str], more: &[&str]) -> String {
    let all: Vec<&str> = some.iter().chain(more).copied().collect();
    match all.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        Some((last, _)) => (*last).to_owned(),
        None => String::new(),
    }
}

fn word(node: &Node, text: &str, known: &'static [&'static str]) -> Result<Value, Wrong> {
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
fn size(node: &Node, text: &str, least: u64, most: u64) -> Result<Value, Wrong> {
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
fn time(node: &Node, text: &str, least: u64, most: u64) -> Result<Value, Wrong> {
    let fix = "write a number with a unit, such as 90s, 10m or 1h";
    match humantime::parse_duration(text) {
        Ok(time) if time < Duration::from_secs(least) => Err(Wrong::new(node, "is too short", fix)),
        Ok(time) if time > Duration::from_secs(most) => Err(Wrong::new(node, "is too long", fix)),
        Ok(time) => Ok(Value::Time(time)),
        Err(_) => Err(Wrong::new(node, "is no time", fix)),
    }
}

fn tool_name(node: &Node, text: &str) -> Result<Value, Wrong> {
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if plain && (1..=64).contains(&text.len()) {
        return Ok(Value::Text(text.to_owned()));
    }
    Err(Wrong::new(node, "is no name of a tool", "a tool's name is 1 to 64 letters, digits, `_` or `-`"))
}

fn address(node: &Node, text: &str) -> Result<Value, Wrong> {
    let address: Result<SocketAddr, _> = text.parse();
    address
        .map(|address| Value::Text(address.to_string()))
        .map_err(|_| Wrong::new(node, "is no address", "write a number and a port, such as 127.0.0.1:8765"))
}

fn url(node: &Node, text: &str) -> Result<Value, Wrong> {
    Secret::in_url(text)
        .map(Value::Reference)
        .map_err(|error| Wrong { given: None, ..Wrong::new(node, error.is("url"), error.fix()) })
}

fn command(node: &Node, text: &str) -> Result<Value, Wrong> {
    let words = shlex::split(text).filter(|words| !words.is_empty());
    words.map(Value::Names).ok_or_else(|| {
        let fix = "write it as a shell would take it, or as a list of words";
        Wrong { given: None, ..Wrong::new(node, "is no command line", fix) }
    })
}
