//! The server of the demo with `portion wrap` in front, with the built-in defaults whatever the user has configured.
use std::env;
use std::path::Path;
use std::process::Command;

use portion_config::key::LEVEL_VARIABLE;

use crate::environment::MAX_MCP_OUTPUT_TOKENS;
use crate::stdio_client::NO_TELEMETRY_ARGS;

/// Variables with the directory in which the user's configuration directory is looked for.
const CONFIG_HOMES: [&str; 2] = ["XDG_CONFIG_HOME", "APPDATA"];

/// Returns the command, which records nothing: these calls are nobody's work. `empty` is a directory without a
/// configuration file.
pub(super) fn command(program: &Path, empty: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("wrap").args(NO_TELEMETRY_ARGS).arg("--").arg(program).arg("demo-server").current_dir(empty);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        // The level of the log changes no reply.
        if (text.starts_with("PORTION_") && text != LEVEL_VARIABLE) || text == MAX_MCP_OUTPUT_TOKENS {
            command.env_remove(&name);
        }
    }
    command.envs(CONFIG_HOMES.map(|name| (name, empty)));
    command
}
