//! The configuration that a command reads, and its output.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use portion_config::{Sources, find};
use serde_json::Value;

use crate::command::CommandResult;

/// Returns the sources of a Portion started here, without options.
pub(super) fn sources(named: Option<&Path>) -> Result<Sources, find::UnreadableFile> {
    find(named, Vec::new())
}

/// Returns the configuration file, or an error if there is none.
pub(super) fn require_file(named: Option<&Path>) -> Result<PathBuf, String> {
    find::locate_file(named).ok_or_else(|| "there is no configuration file; set one with --config".into())
}

/// Prints a text as it is.
pub(super) fn print(text: &str) -> CommandResult {
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a JSON value.
pub(super) fn print_json(value: &Value) -> CommandResult {
    print(&format!("{value:#}\n"))
}
