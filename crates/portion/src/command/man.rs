//! `portion man`: prints the manual page, or writes those of all commands.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::CommandResult;
use crate::cli::terminal::reported;

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
        return reported(io::stdout().lock().write_all(&page(&root)?), None, ExitCode::SUCCESS);
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
    let notes = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    // The generator would put them below a heading EXTRA.
    Man::new(command.clone().after_help(None)).render(&mut text)?;
    text.extend(note_sections(&notes).to_roff().into_bytes());
    Ok(text)
}

/// Returns the paragraphs below the options of a help as sections with the usual names of manual pages.
fn note_sections(notes: &str) -> Roff {
    let mut page = Roff::new();
    let mut current = "";
    for paragraph in notes.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
        let (section, body) = match paragraph.split_once(':') {
            Some(("Example" | "Examples", lines)) => ("EXAMPLES", lines),
            Some(("Exit codes", codes)) => ("EXIT STATUS", codes),
            _ => ("NOTES", paragraph),
        };
        if section == current {
            page.control("PP", []);
        } else {
            page.control("SH", [section]);
        }
        current = section;
        // Lines of examples are commands, which must not be joined.
        let is_verbatim = section == "EXAMPLES";
        if is_verbatim {
            page.control("nf", []);
        }
        for line in body.lines().filter(|line| !line.trim().is_empty()) {
            page.text([roman(line.trim())]);
        }
        if is_verbatim {
            page.control("fi", []);
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::note_sections;

    #[test]
    fn notes_become_sections() {
        let check = |notes: &str, expect: &str| assert_eq!(note_sections(notes).to_roff(), expect, "{notes}");
        check("", "");
        check(
            "Examples:\n  portion a\n  portion b\n\nA note:\nit goes on.\n\nOne more.\n\nExit codes: 0 or 1.",
            ".SH EXAMPLES\n.nf\nportion a\nportion b\n.fi\n.SH NOTES\nA note:\nit goes on.\n.PP\nOne more.\n\
             .SH \"EXIT STATUS\"\n0 or 1.\n",
        );
    }
}
