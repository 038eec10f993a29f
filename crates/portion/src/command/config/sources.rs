//! Shared parts of the commands of `portion config`: the configuration that they read, and their output.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use portion_config::{Sources, find};
use portion_core::event::ConfigChange;
use serde_json::{Value, json};

use crate::cli::terminal::{print_stdout, reported};
use crate::command::{CommandResult, WRONG_USAGE};

/// Returns the sources of a Portion started here, with no option but the profile.
pub(super) fn sources(named: Option<&Path>, profile: Option<&str>) -> Result<Sources, find::UnreadableFile> {
    find(named, profile.map(|name| ("profile".to_owned(), name.to_owned())).into_iter().collect())
}

/// Returns the configuration file, or an error if there is none.
pub(super) fn require_file(named: Option<&Path>) -> Result<PathBuf, String> {
    find::locate_file(named).ok_or_else(|| "there is no configuration file; set one with --config".into())
}

/// Prints a text.
pub(super) fn print(text: &str) -> CommandResult {
    reported(print_stdout(text), None, ExitCode::SUCCESS)
}

/// Prints a JSON value.
pub(super) fn print_json(value: &Value) -> CommandResult {
    print(&format!("{value:#}\n"))
}

/// Prints the errors of a configuration as JSON, which has no warnings then.
pub(super) fn print_errors(errors: &[Value]) -> CommandResult {
    let report = json!({ "errors": errors, "warnings": [] });
    reported(print_stdout(&format!("{report:#}\n")), None, ExitCode::from(WRONG_USAGE))
}

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
