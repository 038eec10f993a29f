//! A second process that ends the servers if this one is killed. It runs the same program.

use std::path::Path;
use std::process::{Command, ExitCode};

use portion_mcp::upstream::group_registry;

/// Hidden command of the watchdog.
const COMMAND: &str = "watch-groups";
/// Path of this program, which stays valid if its file is replaced.
const SELF_EXE: &str = "/proc/self/exe";

/// Arranges that a watchdog is started together with the first server. Windows needs none: it ends the jobs of the servers.
pub(crate) fn register() {
    if cfg!(windows) {
        return;
    }
    let myself = if Path::new(SELF_EXE).exists() { Ok(SELF_EXE.into()) } else { std::env::current_exe() };
    match myself {
        Ok(myself) => {
            let mut command = Command::new(myself);
            command.arg(COMMAND);
            group_registry::set_watchdog_command(command);
        }
        Err(error) => {
            tracing::warn!(%error, "the watchdog did not start: servers keep running if this process is killed");
        }
    }
}

/// Runs the watchdog until the process that started it has ended.
pub(crate) fn run() -> ExitCode {
    group_registry::run_watchdog(std::io::stdin().lock());
    ExitCode::SUCCESS
}
