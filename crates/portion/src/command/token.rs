//! `portion token`: makes a bearer token, and its entry for the configuration.

use std::process::ExitCode;

use clap::Args;
use portion_auth::{new_token, token_entry};
use portion_policy::access::TokenHash;
use serde_json::json;

use super::CommandResult;
use crate::cli::failure::UsageError;
use crate::cli::terminal::{print_stdout, reported};

const AFTER_HELP: &str = "\
Examples:
  portion token ci
  portion serve --auth bearer --token-hash ci=sha256:… -- npx -y SERVER

The client sends the token as Authorization: Bearer TOKEN. Portion needs only the entry, and cannot show the token again.
To replace a token, add a second entry of the same name, and remove the first when no client uses it: tokens of one name
belong to one caller.";

/// Options of `portion token`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Options {
    /// Name of the caller: letters, digits, `_`, `-`, `.` and `@`
    name: String,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Prints a new token with its entry.
pub(crate) fn run(options: &Options) -> CommandResult {
    let name = &options.name;
    let token = new_token()?;
    let entry = token_entry(name, &token).to_string();
    if entry.parse::<TokenHash>().is_err() {
        return Err(UsageError::from(format!(
            "`{}` is not a name of a caller: write 1 to 64 letters, digits, `_`, `-`, `.` or `@`",
            name.escape_debug()
        ))
        .into());
    }
    let text = if options.json {
        format!("{}\n", json!({ "name": name, "token": token, "entry": entry }))
    } else {
        format!(
            "Token for the client, shown only now:\n  {token}\n\nEntry for tokenHashes, or --token-hash:\n  {entry}\n"
        )
    };
    reported(print_stdout(&text), None, ExitCode::SUCCESS)
}
