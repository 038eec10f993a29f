//! Typed access to the values in force.

use std::time::Duration;

use portion_core::policy::LimitValue;

use crate::reference::Secret;
use crate::settings::Settings;
use crate::value::Value;

impl TypedValues for Settings {
    fn value(&self, key: &str) -> Option<&Value> {
        self.get(key).map(|set| &set.value)
    }
}

/// Values by key. Each method returns `None` for a key without a value of its type.
pub(crate) trait TypedValues {
    /// Returns the value of a key.
    fn value(&self, key: &str) -> Option<&Value>;

    fn integer(&self, key: &str) -> Option<usize> {
        match self.value(key) {
            Some(Value::Integer(number)) => Some(usize::try_from(*number).unwrap_or(usize::MAX)),
            _ => None,
        }
    }

    fn size(&self, key: &str) -> Option<usize> {
        match self.value(key) {
            Some(Value::Size(bytes)) => Some(usize::try_from(*bytes).unwrap_or(usize::MAX)),
            _ => None,
        }
    }

    /// Returns the configured value of a limit.
    fn limit_value(&self, key: &str) -> Option<LimitValue> {
        match self.value(key)? {
            Value::Integer(_) => self.integer(key).map(LimitValue::Count),
            Value::Size(_) => self.size(key).map(LimitValue::Bytes),
            Value::Number(share) => Some(LimitValue::Share(*share)),
            Value::Choice(name) => Some(LimitValue::Choice(name)),
            _ => None,
        }
    }

    fn number(&self, key: &str) -> Option<f64> {
        match self.value(key) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }

    fn boolean(&self, key: &str) -> Option<bool> {
        match self.value(key) {
            Some(Value::Boolean(truth)) => Some(*truth),
            _ => None,
        }
    }

    fn choice(&self, key: &str) -> Option<&'static str> {
        match self.value(key) {
            Some(Value::Choice(word)) => Some(word),
            _ => None,
        }
    }

    fn text(&self, key: &str) -> Option<&str> {
        match self.value(key) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    fn names(&self, key: &str) -> Option<Vec<String>> {
        match self.value(key) {
            Some(Value::Names(names)) => Some(names.clone()),
            _ => None,
        }
    }

    fn duration(&self, key: &str) -> Option<Duration> {
        match self.value(key) {
            Some(Value::Duration(time)) => Some(*time),
            _ => None,
        }
    }

    fn secrets(&self, key: &str) -> &[(String, Secret)] {
        match self.value(key) {
            Some(Value::Secrets(secrets)) => secrets,
            _ => &[],
        }
    }

    /// Returns a text with its references followed, which may be secret.
    fn revealed(&self, key: &str) -> Option<&str> {
        match self.value(key) {
            Some(Value::Reference(secret)) => Some(secret.reveal()),
            _ => None,
        }
    }
}
