//! The arguments of a call, as written: numbers keep their spelling.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use thiserror::Error;

/// Result of making a request of arguments.
pub(crate) type Result<T, E = ArgumentError> = std::result::Result<T, E>;

/// Reason that arguments make up no request.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ArgumentError {
    /// The arguments are not an object.
    #[error("the arguments are not a JSON object; send an object")]
    NotAnObject,
    /// Arguments that the tool does not have.
    #[error("unknown argument {unknown}; this tool takes {known}")]
    Unknown {
        /// Names that are not known.
        unknown: String,
        /// Names that the tool takes.
        known: String,
    },
    /// Arguments that are missing or null.
    #[error("required argument {0} is missing; add it")]
    Missing(String),
    /// A path parameter that would address another path.
    #[error(
        "{0} {1}; it is one part of a path and must not be empty, `.` or `..`, nor contain such a part or a control character"
    )]
    InvalidPath(String, &'static str),
    /// A value that is not valid in a header.
    #[error("{0} has characters that are not allowed in an HTTP header; use printable ASCII on one line")]
    InvalidHeader(String),
    /// A nested value where only plain values can be written.
    #[error("{0} is nested too deeply to be written in the {1}; use text, numbers or true/false there")]
    TooDeep(String, &'static str),
    /// A member that would replace a parameter that is set by the operator.
    #[error("{0} has a member `{1}`, which is configured and cannot be set; remove it")]
    Reserved(String, String),
    /// A member that would set the parameter of another argument.
    #[error("{argument} has a member `{member}`, which the argument `{owner}` sets; use that argument")]
    MemberOfArgument {
        /// Argument with the member.
        argument: String,
        /// Name of the member.
        member: String,
        /// Argument that is sent under this name.
        owner: String,
    },
    /// More values than one call may request.
    #[error("{0} has too many values: one call makes at most {1} requests; call again for the others")]
    TooManyRequests(String, usize),
    /// A file that is not base64.
    #[error("{0} is not base64; encode the bytes as base64 text")]
    NotBase64(String),
    /// A value of another type than the body needs.
    #[error("{0} must be {1}")]
    WrongType(String, &'static str),
}

/// The members of a JSON object, with values as written.
#[derive(Debug, Default)]
pub(crate) struct Members(pub(crate) Vec<(String, Box<RawValue>)>);

/// A value, one level deep.
#[derive(Debug)]
pub(crate) enum Shape {
    Null,
    /// The text of a string, or a number or boolean as written.
    Scalar(String),
    List(Vec<Box<RawValue>>),
    Object(Members),
}

impl Members {
    /// Parses an object. Of equal names, the last one counts.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let text = if text.trim().is_empty() { "{}" } else { text };
        serde_json::from_str(text).map_err(|_| ArgumentError::NotAnObject)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&RawValue> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| &**value)
    }

    /// Returns a copy in which a member of the object `argument` has another value.
    pub(crate) fn with_member(&self, argument: &str, member: &str, value: &RawValue) -> Self {
        let changed = |object: &RawValue| {
            let Shape::Object(object) = Shape::of(object) else { return object.to_owned() };
            let pairs = object.0.iter().map(|(name, old)| {
                let value = if name == member { value } else { old };
                format!("{}:{}", Value::from(name.as_str()), value.get())
            });
            let text = format!("{{{}}}", pairs.collect::<Vec<_>>().join(","));
            RawValue::from_string(text).unwrap_or_default()
        };
        let copied = self.0.iter().map(|(name, value)| {
            (name.clone(), if name == argument { changed(value) } else { value.clone() })
        });
        Self(copied.collect())
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members: Vec<(String, Box<RawValue>)> = Vec::new();
                let mut places = std::collections::HashMap::new();
                while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    if let Some(&at) = places.get(&name) {
                        let member: &mut (String, Box<RawValue>) = &mut members[at];
                        member.1 = value;
                    } else {
                        places.insert(name.clone(), members.len());
                        members.push((name, value));
                    }
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(MembersVisitor)
    }
}

impl Shape {
    pub(crate) fn of(value: &RawValue) -> Self {
        let text = value.get();
        let scalar = || Self::Scalar(text.to_owned());
        match text.as_bytes().first() {
            Some(b'n') => Self::Null,
            Some(b'"') => serde_json::from_str(text).map_or_else(|_| scalar(), Self::Scalar),
            Some(b'[') => serde_json::from_str(text).map_or_else(|_| scalar(), Self::List),
            Some(b'{') => serde_json::from_str(text).map_or_else(|_| scalar(), Self::Object),
            _ => scalar(),
        }
    }

    /// Returns a plain value. An empty text stands for null.
    pub(crate) fn into_scalar(self) -> Option<String> {
        match self {
            Self::Scalar(text) => Some(text),
            Self::Null => Some(String::new()),
            Self::List(_) | Self::Object(_) => None,
        }
    }

    /// Returns the plain values of a list, or one plain value.
    pub(crate) fn into_texts(self) -> Option<Vec<String>> {
        match self {
            Self::List(items) => items.iter().map(|item| Self::of(item).into_scalar()).collect(),
            shape => shape.into_scalar().map(|text| vec![text]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Members, Shape};

    #[test]
    fn values_keep_their_spelling() {
        let members = Members::parse(r#" {"a": 1.50e3, "b": "\u00e9", "a": 12345678901234567890123} "#)
            .expect("an object");
        let scalar = |name: &str| Shape::of(members.get(name).expect("given")).into_scalar();
        assert_eq!(scalar("a").as_deref(), Some("12345678901234567890123"));
        assert_eq!(scalar("b").as_deref(), Some("é"));
        assert_eq!(members.names().collect::<Vec<_>>(), ["a", "b"]);
        assert!(
            Members::parse("[]").is_err() && Members::parse("null").is_err() && Members::parse("{").is_err()
        );
        assert_eq!(Members::parse("").expect("empty").0.len(), 0);
    }
}
