//! The commands: a file each, with its options and what it does.
pub(crate) mod calibrate;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod dashboard;
#[cfg_attr(not(feature = "demo"), path = "no_demo.rs")]
pub(crate) mod demo;
pub(crate) mod doctor;
mod excerpt;
pub(crate) mod fetch;
pub(crate) mod http;
pub(crate) mod install;
mod known_paths;
pub(crate) mod login;
pub(crate) mod man;
pub(crate) mod replay;
mod rule_lookup;
pub(crate) mod serve;
pub(crate) mod shape;
pub(crate) mod stats;
mod time_limit;
pub(crate) mod token;
mod tool_name;
pub(crate) mod top;
pub(crate) mod try_tools;
pub(crate) mod wrap;

use std::error::Error;
use std::process::ExitCode;

/// The end of a command: an exit code, or an error that `main` prints.
pub(crate) type CommandResult = Result<ExitCode, Box<dyn Error>>;

/// Exit code for an invalid command line or configuration.
pub(crate) const WRONG_USAGE: u8 = 2;
