//! Typed access to the values in force.

use std::time::Duration;

use portion_core::policy::LimitValue;

use crate::settings::Settings;
use crate::value::Value;

impl TypedValues for Settings {
    fn value(&self, key: &str) -> Option<&Value> {
        self.get(key).map(|set| &set.value)
    }
}

/// Writes the method that returns a value of one type.
macro_rules! getter {
    ($name:ident, $variant:ident($value:ident) -> $type:ty, $result:expr) => {
        fn $name(&self, key: &str) -> Option<$type> {
            match self.value(key) {
                Some(Value::$variant($value)) => Some($result),
                _ => None,
            }
        }
    };
}

/// Values by key. Each method returns `None` for a key without a value of its type.
pub(crate) trait TypedValues {
    /// Returns the value of a key.
    fn value(&self, key: &str) -> Option<&Value>;

    getter!(integer, Integer(number) -> usize, usize::try_from(*number).unwrap_or(usize::MAX));
    getter!(size, Size(bytes) -> usize, usize::try_from(*bytes).unwrap_or(usize::MAX));
    getter!(number, Number(number) -> f64, *number);
    getter!(boolean, Boolean(truth) -> bool, *truth);
    getter!(choice, Choice(word) -> &'static str, word);
    getter!(text, Text(text) -> &str, text);
    getter!(names, Names(names) -> Vec<String>, names.clone());
    getter!(duration, Duration(time) -> Duration, *time);
    // A text with its references followed, which may be secret.
    getter!(revealed, Reference(secret) -> &str, secret.reveal());

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

    /// Returns texts by name, with their references followed.
    fn secrets(&self, key: &str) -> Vec<(String, String)> {
        match self.value(key) {
            Some(Value::Secrets(secrets)) => {
                secrets.iter().map(|(name, secret)| (name.clone(), secret.reveal().to_owned())).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the headers of each request, `Name: value`.
    fn headers(&self) -> Vec<String> {
        self.secrets("headers").iter().map(|(name, value)| format!("{name}: {value}")).collect()
    }
}
