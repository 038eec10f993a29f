//! Puts Portion in front of the servers of a file.

use crate::document::{Args, CommandLine, Entry, Launch, List, ParseError};
use crate::edit::{Edited, Outcome, edit_servers};
use crate::format::{Format, Syntax};
use crate::invocation::{Invocation, name_problem, recognise, wrap_args};
use crate::quote::quote;
use crate::remote;
use crate::splice::Splice;

/// Program that the entries are to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target<'a> {
    /// Absolute path of Portion.
    pub program: &'a str,
    /// True to wrap servers with a URL, too.
    pub include_http: bool,
}

const BY_USER: &str = "it starts Portion by a command of its own";
const HAS_URL: &str = "it has a URL: add --http to wrap it";

/// Puts Portion in front of the selected servers. A server that is already behind Portion keeps its arguments.
///
/// # Errors
/// Returns the place where the text is not valid.
pub fn install(
    text: &str,
    format: Format,
    target: &Target<'_>,
    is_selected: &dyn Fn(&str) -> bool,
) -> Result<Edited, ParseError> {
    edit_servers(text, format, is_selected, |entry, before| {
        if let Some(problem) = name_problem(&entry.name) {
            return (Outcome::Skipped(problem), Vec::new(), before.to_vec());
        }
        match &entry.launch {
            Launch::Command(command) => wrap_command(text, entry, command, target, format.syntax),
            Launch::Remote(remote) if target.include_http => {
                if let Some(reason) = remote::refusal(remote, format.references) {
                    return (Outcome::Skipped(reason), Vec::new(), before.to_vec());
                }
                let (splices, after) = remote::wrap(entry, remote, target.program, format);
                (Outcome::Wrapped, splices, after)
            }
            Launch::Remote(_) => (Outcome::Skipped(HAS_URL), Vec::new(), before.to_vec()),
            Launch::Unsupported(reason) => (Outcome::Skipped(reason), Vec::new(), Vec::new()),
        }
    })
}

fn wrap_command(
    text: &str,
    entry: &Entry,
    command: &CommandLine,
    target: &Target<'_>,
    syntax: Syntax,
) -> (Outcome, Vec<Splice>, Vec<String>) {
    let old = command.words();
    let args: Vec<&str> = old.iter().skip(1).map(String::as_str).collect();
    let program = Splice::replace(command.program.range.clone(), quote(target.program, syntax));
    let new = |args: &[String]| -> Vec<String> {
        std::iter::once(target.program.to_owned()).chain(args.iter().cloned()).collect()
    };
    match recognise(&command.program.value, &args) {
        Invocation::Manual => return (Outcome::Skipped(BY_USER), Vec::new(), old),
        Invocation::Installed(_) if command.program.value == target.program => {
            return (Outcome::Unchanged, Vec::new(), old);
        }
        Invocation::Installed(_) => {
            let after = new(&old[1..]);
            return (Outcome::Updated, vec![program], after);
        }
        Invocation::Direct => {}
    }
    let prefix = wrap_args(&entry.name, matches!(command.args, Args::Missing { .. }));
    let source = text.get(command.program.range.clone()).unwrap_or_default();
    let mut words: Vec<String> = prefix.iter().map(|word| quote(word, syntax)).collect();
    let edits = match &command.args {
        Args::Missing { at, prefix } => {
            words.push(source.to_owned());
            let insertion = Splice::insert(*at, format!("{prefix}[{}]", words.join(", ")));
            vec![program, insertion]
        }
        Args::Member { list, .. } => {
            words.push(source.to_owned());
            vec![program, insertion(text, list, list.open, &words)]
        }
        Args::Rest(list) => {
            words.insert(0, quote(target.program, syntax));
            // The program itself is the first item of this list.
            let mut whole = list.clone();
            whole.items.insert(0, command.program.clone());
            vec![insertion(text, &whole, list.open, &words)]
        }
    };
    let after: Vec<String> = prefix.into_iter().chain(old).collect();
    (Outcome::Wrapped, edits, new(&after))
}

/// Inserts words at the beginning of a list, separated as its items are.
fn insertion(text: &str, list: &List, open: usize, words: &[String]) -> Splice {
    let Some(first) = list.items.first() else { return Splice::insert(open, words.join(", ")) };
    let between = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    let lead = between(list.open, first.range.start);
    let separator = match list.items.get(1) {
        Some(second) => between(first.range.end, second.range.start).to_owned(),
        None if lead.contains('\n') => format!(",{lead}"),
        None => ", ".to_owned(),
    };
    // A comment must not be repeated.
    let is_plain = separator.trim() == ",";
    let separator = if is_plain { separator.as_str() } else { ", " };
    Splice::insert(
        first.range.start,
        words.iter().flat_map(|word| [word.as_str(), separator]).collect::<String>(),
    )
}
