//! The second process that ends our servers if this one is killed: this program again.

use std::path::Path;
use std::process::{Command, ExitCode};

use portion_mcp::upstream::group_registry;

/// The hidden command that it runs.
const COMMAND: &str = "watch-groups";
/// This program, also when its file has been replaced since it was started.
const SELF_EXE: &str = "/proc/self/exe";

/// Has one started with the first server.
pub(crate) fn register() {
    let myself = if Path::new(SELF_EXE).exists() { Ok(SELF_EXE.into()) } else { std::env::current_exe() };
    match myself {
        Ok(myself) => {
            let mut command = Command::new(myself);
            command.arg(COMMAND);
            group_registry::set_watchdog_command(command);
        }
        Err(error) => tracing::warn!(%error, "servers would outlive this process if it were killed"),
    }
}

/// Watches, until the process that started us has ended.
pub(crate) fn run() -> ExitCode {
    group_registry::run_watchdog(std::io::stdin().lock());
    ExitCode::SUCCESS
}
