//! `portion completions`: prints a completion script for a shell.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

use super::CommandResult;
use crate::cli::terminal::reported;

const AFTER_HELP: &str = "\
Examples:
  mkdir -p ~/.local/share/bash-completion/completions
  portion completions bash > ~/.local/share/bash-completion/completions/portion
  mkdir -p ~/.zfunc && portion completions zsh > ~/.zfunc/_portion
  portion completions fish > ~/.config/fish/completions/portion.fish
  portion completions powershell >> $PROFILE";

/// Options of `portion completions`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Options {
    /// Shell
    shell: Shell,
}

/// Prints the script for the command line `program`.
pub(crate) fn run(options: &Options, mut program: Command) -> CommandResult {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut program, "portion", &mut script);
    reported(io::stdout().lock().write_all(&script), None, ExitCode::SUCCESS)
}
