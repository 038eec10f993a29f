//! Suggestions for errors of the command line that the parser cannot make.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

/// Adds a suggestion to the error, if there is one. `line` is the command line.
pub(crate) fn with_tips(mut error: Error, line: &[OsString], command: &Command) -> Error {
    if let Some(ContextValue::Strings(names)) = error.get(ContextKind::SuggestedSubcommand) {
        let is_hidden = |name: &String| command.find_subcommand(name).is_some_and(Command::is_hide_set);
        let mut names = names.clone();
        names.retain(|name| !is_hidden(name));
        error.remove(ContextKind::SuggestedSubcommand);
        if names.is_empty() {
            // The empty list of other suggestions would be printed as an empty line.
            error.remove(ContextKind::Suggested);
        } else {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(names));
        }
    }
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
