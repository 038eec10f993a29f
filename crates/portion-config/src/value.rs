//! The parsed value of a key.

use std::fmt;
use std::time::Duration;

use bytesize::ByteSize;
use portion_core::policy::LimitValue;
use portion_policy::tool_description::ToolDescription;
use portion_text::display::yaml_scalar;
use serde_json::{Map, Value as Json};

use crate::reference::Secret;

/// The parsed value of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An integer.
    Integer(u64),
    /// A number.
    Number(f64),
    /// A size in bytes.
    Size(u64),
    /// A duration.
    Duration(Duration),
    /// A boolean.
    Boolean(bool),
    /// One of the choices of the key.
    Choice(&'static str),
    /// Text.
    Text(String),
    /// Several texts.
    Names(Vec<String>),
    /// Names, each with its fields.
    Sections(Vec<(String, Vec<String>)>),
    /// Settings of a pushdown, each with its text.
    Pushdown(Vec<(String, String)>),
    /// Descriptions of tools.
    Tools(Box<DescribedTools>),
    /// A split experiment between this percentage of sessions and the rest.
    Split(f64),
    /// A text with references to secrets.
    Reference(Secret),
    /// Several texts with references.
    Command(Vec<Secret>),
    /// Names, each with a text with references.
    Secrets(Vec<(String, Secret)>),
}

/// Tools of a REST API that are described in the configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribedTools {
    /// The tools.
    pub tools: Vec<ToolDescription>,
    /// The tools as written, by name.
    pub written: Map<String, Json>,
}

impl From<LimitValue> for Value {
    fn from(limit: LimitValue) -> Self {
        match limit {
            LimitValue::Count(number) => Self::Integer(number as u64),
            LimitValue::Bytes(bytes) => Self::Size(bytes as u64),
            LimitValue::Share(share) => Self::Number(share),
            LimitValue::Choice(name) => Self::Choice(name),
        }
    }
}

impl Value {
    /// Returns the value as JSON. Secrets are replaced by `(set)`.
    pub fn to_json(&self) -> Json {
        let texts = |texts: &[String]| Json::Array(texts.iter().cloned().map(Json::String).collect());
        match self {
            Self::Integer(number) => Json::from(*number),
            Self::Number(number) => number_json(*number),
            Self::Size(_) | Self::Duration(_) => Json::String(self.to_string()),
            Self::Boolean(truth) => Json::Bool(*truth),
            Self::Choice(word) => Json::String((*word).to_owned()),
            Self::Text(text) => Json::String(text.clone()),
            Self::Names(names) => texts(names),
            Self::Sections(sections) => {
                Json::Object(sections.iter().map(|(name, fields)| (name.clone(), texts(fields))).collect())
            }
            Self::Pushdown(settings) => {
                let json = |text: &String| {
                    text.parse::<u64>().map_or_else(|_| Json::from(text.as_str()), Json::from)
                };
                Json::Object(settings.iter().map(|(name, text)| (name.clone(), json(text))).collect())
            }
            Self::Tools(tools) => Json::Object(tools.written.clone()),
            Self::Split(percent) => Json::Object(Map::from_iter([("split".into(), number_json(*percent))])),
            Self::Reference(secret) => Json::String(secret.masked_text().to_owned()),
            Self::Command(words) => words.iter().map(|word| Json::from(word.masked_text())).collect(),
            Self::Secrets(secrets) => {
                Json::Object(secrets.iter().map(|(name, _)| (name.clone(), Json::from("(set)"))).collect())
            }
        }
    }

    /// Returns true if it must not be shown.
    pub fn is_secret(&self) -> bool {
        matches!(self, Self::Secrets(_))
    }
}

/// Returns a number as JSON, without a fraction if it is whole: 25, not 25.0.
fn number_json(number: f64) -> Json {
    if number.fract() == 0.0 && number.abs() < 1e15 { Json::from(number as i64) } else { Json::from(number) }
}

/// Writes the value as YAML in one line.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size(bytes) => {
                let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
                let unit = units.iter().find(|(unit, _)| *bytes >= *unit && bytes % unit == 0);
                match unit {
                    Some((unit, name)) => write!(f, "{}{name}", bytes / unit),
                    None => write!(f, "{}", ByteSize(*bytes).as_u64()),
                }
            }
            Self::Duration(time) => {
                let text = humantime::format_duration(*time).to_string();
                text.split(' ').try_for_each(|part| f.write_str(part))
            }
            Self::Choice(word) => f.write_str(word),
            Self::Names(names) => f.write_str(&list_text(names.iter().map(String::as_str))),
            Self::Command(words) => f.write_str(&list_text(words.iter().map(Secret::masked_text))),
            Self::Sections(sections) => {
                let list = |fields: &Vec<String>| list_text(fields.iter().map(String::as_str));
                f.write_str(&map_text(sections.iter().map(|(name, fields)| (name, list(fields)))))
            }
            Self::Pushdown(settings) => {
                let scalar = |text: &str| {
                    if text.parse::<f64>().is_ok() { text.to_owned() } else { yaml_scalar(text) }
                };
                f.write_str(&map_text(settings.iter().map(|(name, text)| (name, scalar(text)))))
            }
            Self::Split(percent) => write!(f, "{{split: {percent}}}"),
            Self::Text(text) => f.write_str(&yaml_scalar(text)),
            Self::Reference(secret) => f.write_str(&yaml_scalar(secret.masked_text())),
            Self::Secrets(secrets) => {
                f.write_str(&map_text(secrets.iter().map(|(name, _)| (name, "(set)".to_owned()))))
            }
            other => write!(f, "{}", other.to_json()),
        }
    }
}

fn list_text<'a>(names: impl Iterator<Item = &'a str>) -> String {
    format!("[{}]", names.map(yaml_scalar).collect::<Vec<_>>().join(", "))
}

fn map_text<'a>(entries: impl Iterator<Item = (&'a String, String)>) -> String {
    let entries: Vec<String> = entries.map(|(name, text)| format!("{}: {text}", yaml_scalar(name))).collect();
    format!("{{{}}}", entries.join(", "))
}
