//! `portion demo` in a build without the feature `demo`.

use clap::Args;
use thiserror::Error;

use super::CommandResult;

/// Options of `portion demo`.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// The error of the commands of the demo.
#[derive(Debug, Error)]
#[error(
    "this portion was built without the demo; build it with the Cargo feature `demo`, or run `portion try -- COMMAND`"
)]
struct NotBuiltIn;

/// Fails.
pub(crate) fn run(_: &Options) -> CommandResult {
    Err(NotBuiltIn.into())
}

/// Fails.
pub(crate) fn serve() -> CommandResult {
    Err(NotBuiltIn.into())
}
