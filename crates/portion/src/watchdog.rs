//! The second process that ends our servers if this one is killed: this program again.

use std::path::Path;
use std::process::{Command, ExitCode};

use portion_gateway::upstream::groups;

/// The hidden command that it runs.
const COMMAND: &str = "watch-groups";
/// This program, also when its file has been replaced since it was started.
const MYSELF: &str = "/proc/self/exe";

/// Has one started with the first server.
pub(crate) fn prepare() {
    let myself = if Path::new(MYSELF).exists() { Ok(MYSELF.into()) } else { std::env::current_exe() };
    match myself {
        Ok(myself) => {
            let mut command = Command::new(myself);
            command.arg(COMMAND);
            groups::watch_by(command);
        }
        Err(error) => tracing::warn!(%error, "servers would outlive this process if it were killed"),
    }
}

/// Watches, until the process that started us has ended.
pub(crate) fn run() -> ExitCode {
    groups::watch(std::io::stdin().lock());
    ExitCode::SUCCESS
}
