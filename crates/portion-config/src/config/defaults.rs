//! Values in force for keys that were not configured.

use std::fmt;

use portion_core::policy::{ClientLimits, PolicyProfile};
use serde_json::Value as Json;

use super::Cascade;
use crate::key::Key;
use crate::origin::Origin;
use crate::value::Value;

/// The value of a key that was not configured.
#[derive(Debug)]
pub(crate) enum DefaultValue {
    /// A value that follows from other keys.
    Derived(Value),
    /// The default of the key: a value as YAML, or a description of it.
    Described(&'static str),
}

impl Cascade<'_> {
    /// Returns the value in force for a key that was not configured, and its origin; `None` if there is no such value.
    pub(crate) fn effective_default(&self, key: &Key) -> Option<(DefaultValue, Origin)> {
        if key.name == "redact" && self.profile() == PolicyProfile::Lean {
            return Some((DefaultValue::Described("secrets"), Origin::Profile("lean")));
        }
        if let Some(limit) = self.limit_overrides().resolve(ClientLimits::UNKNOWN).limit(key.name) {
            return Some((DefaultValue::Derived(limit.into()), self.default_origin(key.name)));
        }
        (!key.default.is_empty()).then_some((DefaultValue::Described(key.default), Origin::Default))
    }
}

impl DefaultValue {
    /// Returns the value as JSON; a description is a text.
    pub(crate) fn to_json(&self, key: &Key) -> Json {
        match self {
            Self::Derived(value) => value.to_json(),
            Self::Described(text) => {
                key.parse(text).map_or_else(|_| Json::from(*text), |value| value.to_json())
            }
        }
    }
}

/// Writes the value as YAML in one line.
impl fmt::Display for DefaultValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Derived(value) => value.fmt(f),
            Self::Described(text) => f.write_str(text),
        }
    }
}
