//! Typed access to the values in force.

use portion_core::policy::LimitValue;

use super::Cascade;
use crate::value::Value;

impl Cascade<'_> {
    pub(super) fn value(&self, key: &str) -> Option<&Value> {
        self.get(key).map(|(set, _)| &set.value)
    }

    pub(super) fn integer(&self, key: &str) -> Option<usize> {
        match self.value(key) {
            Some(Value::Integer(number)) => Some(usize::try_from(*number).unwrap_or(usize::MAX)),
            _ => None,
        }
    }

    pub(super) fn size(&self, key: &str) -> Option<usize> {
        match self.value(key) {
            Some(Value::Size(bytes)) => Some(usize::try_from(*bytes).unwrap_or(usize::MAX)),
            _ => None,
        }
    }

    /// Returns the configured value of a limit.
    pub(super) fn limit_value(&self, key: &str) -> Option<LimitValue> {
        match self.value(key)? {
            Value::Integer(_) => self.integer(key).map(LimitValue::Count),
            Value::Size(_) => self.size(key).map(LimitValue::Bytes),
            Value::Number(share) => Some(LimitValue::Share(*share)),
            Value::Choice(name) => Some(LimitValue::Choice(name)),
            _ => None,
        }
    }

    pub(super) fn number(&self, key: &str) -> Option<f64> {
        match self.value(key) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn boolean(&self, key: &str) -> Option<bool> {
        match self.value(key) {
            Some(Value::Boolean(truth)) => Some(*truth),
            _ => None,
        }
    }

    pub(super) fn choice(&self, key: &str) -> Option<&'static str> {
        match self.value(key) {
            Some(Value::Choice(word)) => Some(word),
            _ => None,
        }
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        match self.value(key) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn names(&self, key: &str) -> Option<Vec<String>> {
        match self.value(key) {
            Some(Value::Names(names)) => Some(names.clone()),
            _ => None,
        }
    }
}
