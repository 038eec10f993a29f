//! `portion man`: prints the manual page, or writes those of all commands.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command};
use clap_mangen::Man;

use super::CommandResult;

const AFTER_HELP: &str = "\
Examples:
  portion man | man -l -
  portion man --dir ~/.local/share/man/man1";

/// Options of `portion man`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Options {
    /// Write a page per command to this directory
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Prints or writes the pages of the command line `program`.
pub(crate) fn run(options: &Options, program: Command) -> CommandResult {
    let mut root = program.disable_help_subcommand(true);
    root.build();
    let Some(folder) = &options.dir else {
        io::stdout().lock().write_all(&page(&root)?)?;
        return Ok(ExitCode::SUCCESS);
    };
    let failed = |error: io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(failed)?;
    let mut remaining = vec![(root.get_name().to_owned(), &root)];
    while let Some((name, command)) = remaining.pop() {
        let titled = command.clone().name(name.clone());
        fs::write(folder.join(format!("{name}.1")), page(&titled)?).map_err(failed)?;
        let below = command.get_subcommands().filter(|below| !below.is_hide_set());
        remaining.extend(below.map(|below| (format!("{name}-{}", below.get_name()), below)));
    }
    Ok(ExitCode::SUCCESS)
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    Man::new(command.clone()).render(&mut text)?;
    Ok(text)
}
