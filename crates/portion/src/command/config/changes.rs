//! Formats changes of a configuration.

use std::fmt::Write as _;

use portion_core::event::ConfigChange;

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
