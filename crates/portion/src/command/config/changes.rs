//! Changes of a configuration, for people.

use std::fmt::Write as _;

use portion_core::event::Change;

/// A line for each.
pub(super) fn told(changes: &[Change]) -> String {
    let mut out = String::new();
    for Change { key, old, new } in changes {
        let _ = match (old, new) {
            (Some(old), Some(new)) => writeln!(out, "~ {key}: {old} -> {new}"),
            (None, Some(new)) => writeln!(out, "+ {key}: {new}"),
            (Some(old), None) => writeln!(out, "- {key}: {old}"),
            (None, None) => Ok(()),
        };
    }
    out
}
