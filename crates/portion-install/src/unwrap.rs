//! Takes Portion out of the servers of a file.

use crate::document::{Args, CommandLine, Entry, Launch, ParseError};
use crate::edit::{Edited, Outcome, edit_servers};
use crate::format::Format;
use crate::invocation::{Installed, Invocation, recognise};
use crate::remote;
use crate::splice::Splice;

const BY_USER: &str = "it starts Portion, but not as install writes it";

/// Takes Portion out of the selected servers, where [`install`](crate::install) put it in.
///
/// If the text is that of `install`, the result has the bytes from before. Servers with a URL get one back that means
/// the same; its headers may be written otherwise.
///
/// # Errors
/// Returns the place where the text is not valid.
pub fn uninstall(
    text: &str,
    format: Format,
    is_selected: &dyn Fn(&str) -> bool,
) -> Result<Edited, ParseError> {
    edit_servers(text, format, is_selected, |entry, before| {
        let Restored { outcome, edits, after } = match &entry.launch {
            Launch::Command(command) => unwrap_command(text, entry, command, format),
            Launch::Unsupported(reason) => {
                Restored { outcome: Outcome::Skipped(reason), ..Restored::unchanged(before) }
            }
            Launch::Remote(_) => Restored::unchanged(before),
        };
        (outcome, edits, after)
    })
}

/// The result for one server.
struct Restored {
    outcome: Outcome,
    edits: Vec<Splice>,
    after: Vec<String>,
}

impl Restored {
    fn unchanged(words: &[String]) -> Self {
        Self { outcome: Outcome::Unchanged, edits: Vec::new(), after: words.to_vec() }
    }
}

fn unwrap_command(text: &str, entry: &Entry, command: &CommandLine, format: Format) -> Restored {
    let words = command.words();
    let skipped =
        |words: &[String]| Restored { outcome: Outcome::Skipped(BY_USER), ..Restored::unchanged(words) };
    let args: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    let installed = match recognise(&command.program.value, &args) {
        Invocation::Direct => return Restored::unchanged(&words),
        Invocation::Manual => return skipped(&words),
        Invocation::Installed(installed) => installed,
    };
    let Installed { program_index: Some(index), adds_args } = installed else {
        return match remote::unwrap(entry, command, format) {
            Some((edits, url)) => Restored { outcome: Outcome::Restored, edits, after: vec![url] },
            None => skipped(&words),
        };
    };
    let after = words.iter().skip(1 + index).cloned().collect();
    match edits(text, command, index, adds_args) {
        Some(edits) => Restored { outcome: Outcome::Restored, edits, after },
        None => skipped(&words),
    }
}

/// Returns the edits that restore a program, which is at `index` among the arguments of Portion.
fn edits(text: &str, command: &CommandLine, index: usize, adds_args: bool) -> Option<Vec<Splice>> {
    let items = command.args.items();
    let (first, program) = (items.first()?, items.get(index)?);
    let source = text.get(program.range.clone())?;
    let restore = Splice::replace(command.program.range.clone(), source);
    match &command.args {
        Args::Missing { .. } => None,
        Args::Rest(_) => Some(vec![Splice::remove(command.program.range.start..program.range.start)]),
        Args::Member { removal, .. } if adds_args => Some(vec![restore, Splice::remove(removal.clone())]),
        Args::Member { .. } => {
            let end = items.get(index + 1).map_or_else(
                || {
                    // A comma after the last item would be left alone in the list.
                    let rest = text.get(program.range.end..).unwrap_or_default();
                    let comma = rest.trim_start().starts_with(',');
                    let skipped = rest.find(',').filter(|_| comma).map_or(0, |at| at + 1);
                    program.range.end + skipped
                },
                |next| next.range.start,
            );
            Some(vec![restore, Splice::remove(first.range.start..end)])
        }
    }
}
