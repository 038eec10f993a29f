//! `portion config check`: lists all errors and warnings of a configuration, as text or as JSON.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use portion_config::{Config, Errors, Problem, Warnings};
use portion_text::display::counted;
use serde_json::{Value, json};

use super::sources::{print, print_errors, print_json, sources};
use crate::cli::failure::StartError;
use crate::command::{CommandResult, WRONG_USAGE, serve};
use crate::run::access::{self, Upstreams};
use crate::run::storage;

/// Options of `portion config check`.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// File to check, instead of --config
    file: Option<PathBuf>,
    /// Check the configuration with this profile, such as hostaway or education-data
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
}

pub(super) fn run(named: Option<&Path>, options: &Options, as_json: bool) -> CommandResult {
    let sources = sources(options.file.as_deref().or(named), options.profile.as_deref())?;
    let loaded = Config::load(&sources, 0);
    let start_errors = loaded.as_ref().map_or_else(|_| Vec::new(), |(config, _)| start_errors(config));
    match loaded {
        Ok(_) if !start_errors.is_empty() => {
            if as_json {
                let object = |error: &StartError| json!({ "place": error.place, "message": error.message });
                return print_errors(&start_errors.iter().map(object).collect::<Vec<_>>());
            }
            let errors: Vec<String> = start_errors.iter().map(ToString::to_string).collect();
            let count = counted(errors.len(), "error");
            crate::cli::terminal::print_stderr!("portion: {}\n{count}", errors.join("\n"));
            Ok(ExitCode::from(WRONG_USAGE))
        }
        Ok((config, Warnings(warnings))) if as_json => {
            let file = config.file().map(|file| file.display().to_string());
            print_json(&json!({ "file": file, "errors": [], "warnings": list(&warnings) }))
        }
        Ok((config, Warnings(warnings))) => {
            for warning in &warnings {
                crate::cli::terminal::print_stderr!("portion: {warning}");
            }
            let about = match config.file() {
                Some(file) => file.display().to_string(),
                None => "no file; environment variables only".into(),
            };
            print(&format!("{about}: valid, {}\n", counted(warnings.len(), "warning")))
        }
        Err(Errors(errors)) if as_json => print_errors(&list(&errors)),
        Err(errors) => {
            crate::cli::terminal::print_stderr!("portion: {errors}\n{}", counted(errors.0.len(), "error"));
            Ok(ExitCode::from(WRONG_USAGE))
        }
    }
}

/// Returns the errors for which a command that listens, or has a store, would not start, although the configuration is valid.
/// Servers are not looked at: the command line may name others, and their programs and documents may be on another machine.
fn start_errors(config: &Config) -> Vec<StartError> {
    let callers = access::caller_error(config, serve::listener(config), &Upstreams::Unknown);
    let admin = access::admin_error(config, config.explicit_admin(), false);
    callers.into_iter().chain(admin).chain(storage::start_errors(config, None)).collect()
}

fn list(problems: &[Problem]) -> Vec<Value> {
    let object = |problem: &Problem| json!({ "place": problem.origin.to_string(), "message": problem.message, "fix": problem.fix });
    problems.iter().map(object).collect()
}
