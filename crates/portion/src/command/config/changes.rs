//! Formats changes of a configuration.

use std::fmt::Write as _;

use portion_core::event::ConfigChange;
use serde_json::{Value, json};

/// Returns one line for each change.
pub(super) fn format_changes(changes: &[ConfigChange]) -> String {
    let mut out = String::new();
    for ConfigChange { key, old, new } in changes {
        let _ = match (old, new) {
            (Some(old), Some(new)) => writeln!(out, "~ {key}: {old} -> {new}"),
            (None, Some(new)) => writeln!(out, "+ {key}: {new}"),
            (Some(old), None) => writeln!(out, "- {key}: {old}"),
            (None, None) => Ok(()),
        };
    }
    out
}

/// Returns the changes as JSON: the key, and its values before and after.
pub(super) fn changes_json(changes: &[ConfigChange]) -> Value {
    let value =
        |text: &Option<String>| text.as_deref().and_then(|json| serde_json::from_str::<Value>(json).ok());
    let object = |change: &ConfigChange| json!({ "key": change.key, "old": value(&change.old), "new": value(&change.new) });
    changes.iter().map(object).collect()
}
