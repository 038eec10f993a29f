//! Suggestions for errors of the command line that the parser cannot make.

use std::ffi::OsString;

use clap::Error;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Adds a suggestion to the error, if there is one. `line` is the command line.
pub(crate) fn with_tips(mut error: Error, line: &[OsString]) -> Error {
    if let Some(tip) = tip(&error, line) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    } else if error.kind() == ErrorKind::UnknownArgument {
        // "To pass it as a value, use `--`" is wrong here: what follows `--` is the server's command.
        error.insert(ContextKind::Suggested, ContextValue::None);
    }
    error
}

fn tip(error: &Error, line: &[OsString]) -> Option<String> {
    let starts_server = line.get(1).is_some_and(|name| name == "wrap" || name == "serve");
    let parted = line.iter().any(|word| word == "--");
    let has_tip = error.get(ContextKind::Suggested).is_some();
    match (error.kind(), error.get(ContextKind::InvalidValue)) {
        (ErrorKind::ValueValidation, Some(ContextValue::String(value)))
            if starts_server && !parted && !has_tip =>
        {
            Some(format!("if {value} begins the server's command, write `--` before it"))
        }
        _ => None,
    }
}
