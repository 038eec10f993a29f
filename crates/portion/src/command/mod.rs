//! The commands: a file each, with its options and what it does; and what several of them share.

pub(crate) mod calibrate;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod dashboard;
#[cfg_attr(not(feature = "demo"), path = "no_demo.rs")]
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod fetch;
pub(crate) mod http;
pub(crate) mod install;
pub(crate) mod login;
pub(crate) mod man;
pub(crate) mod replay;
pub(crate) mod serve;
pub(crate) mod shape;
pub(crate) mod stats;
pub(crate) mod token;
pub(crate) mod top;
pub(crate) mod try_tools;
pub(crate) mod wrap;

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use portion_text::names::closest_name;
use serde_json::{Map, Value};

/// The end of a command: an exit code, or an error that `main` prints.
pub(crate) type CommandResult = Result<ExitCode, Box<dyn Error>>;

/// Exit code for an invalid command line or configuration.
pub(crate) const WRONG_USAGE: u8 = 2;

/// Parses a time limit in seconds. Nothing can answer within 0 s.
fn parse_seconds(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds @ 1..) => Ok(Duration::from_secs(seconds)),
        _ => Err("write a whole number of seconds from 1".to_owned()),
    }
}

/// Parses arguments of a tool, a JSON object.
fn parse_arguments(text: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err("it is JSON, but not an object; write {\"name\": value}".to_owned()),
        Err(error) => Err(format!("not JSON: {error}; write {{\"name\": value}}, quoted for your shell")),
    }
}

/// Most names that are listed.
const MAX_NAMES: usize = 20;

/// Returns the error: with the name that was probably meant, else with the names that there are.
fn unknown_tool(name: &str, tools: &[&str]) -> String {
    if let Some(meant) = closest_name(name, tools.iter().copied()) {
        return format!("the server has no tool {name}; did you mean {meant}?");
    }
    match tools.get(..MAX_NAMES) {
        _ if tools.is_empty() => format!("the server has no tool {name}: it lists no tools"),
        Some(first) if tools.len() > MAX_NAMES => {
            format!(
                "the server has no tool {name}, but {} and {} more",
                first.join(", "),
                tools.len() - MAX_NAMES
            )
        }
        _ => format!("the server has no tool {name}, but {}", tools.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::unknown_tool;

    #[test]
    fn the_meant_name_or_all_names_are_said() {
        let check = |name: &str, tools: &[&str], expect: &str| {
            assert_eq!(unknown_tool(name, tools), format!("the server has no tool {name}{expect}"));
        };
        check("list_booking", &["get_booking", "list_bookings"], "; did you mean list_bookings?");
        check("other", &["get", "list"], ", but get, list");
        check("other", &[], ": it lists no tools");
        check("other", &["x"; 22], &format!(", but {} and 2 more", ["x"; 20].join(", ")));
    }
}
