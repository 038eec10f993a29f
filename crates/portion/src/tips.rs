//! What the parser of the command line cannot know: what was probably meant.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

/// The error with a tip on how to go on, where there is one. `line` is the command line, `command` what it is
/// held against.
pub(crate) fn with_tips(mut error: Error, line: &[OsString], command: &Command) -> Error {
    if let Some(tip) = tip(&error, line, command) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    } else if error.kind() == ErrorKind::UnknownArgument {
        // "To pass it as a value, use `--`" is wrong here: what follows `--` is the server's command.
        error.insert(ContextKind::Suggested, ContextValue::None);
    }
    error
}

fn tip(error: &Error, line: &[OsString], command: &Command) -> Option<String> {
    let wraps = line.get(1).is_some_and(|name| name == "wrap");
    let parted = line.iter().any(|word| word == "--");
    let named = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(name)) => name.split_whitespace().next().unwrap_or_default(),
        _ => "",
    };
    match error.kind() {
        ErrorKind::UnknownArgument if wraps && !parted && !named.starts_with('-') => {
            Some(format!("the server's command stands after `--`: portion wrap -- {named} …"))
        }
        ErrorKind::MissingRequiredArgument if wraps => Some(
            "the command that starts your server stands after `--`: portion wrap -- npx -y SERVER; for one over HTTP: \
             portion wrap --url URL"
                .into(),
        ),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let variable = variable(named, line, command)?;
            Some(format!("the value was read from the environment variable {variable}"))
        }
        _ => None,
    }
}

/// The variable that an option was read from, where the command line does not give it.
fn variable(option: &str, line: &[OsString], command: &Command) -> Option<String> {
    let long = option.strip_prefix("--")?;
    let given = |word: &OsString| word.to_str().is_some_and(|word| word.split('=').next() == Some(option));
    let name = line.get(1)?.to_str()?;
    let argument = command.find_subcommand(name)?.get_arguments().find(|arg| arg.get_long() == Some(long))?;
    let variable = argument.get_env()?.to_string_lossy().into_owned();
    (!line.iter().take_while(|word| *word != "--").any(given)).then_some(variable)
}
