//! Puts Portion in front of the servers of a file.

use crate::document::{Args, CommandLine, Entry, Launch, List, ParseError, Splice, quote};
use crate::edit::{Edited, EntryEdit, Outcome, edit_servers};
use crate::format::{Format, Syntax};
use crate::invocation::{
    Installed, Invocation, SEPARATOR, Target, WrapOption, name_problem, recognise, wrap_args,
};
use crate::remote;

const BY_USER: &str = "it starts Portion by a command of its own";
const HAS_URL: &str = "it has a URL: add --http to wrap it";

const WRITTEN_OTHERWISE: &str = "it starts Portion, but not as install writes it";

/// Puts Portion in front of the selected servers. A server that is already behind Portion keeps its arguments, but gets the
/// options that are asked for.
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
        let skipped = |reason| EntryEdit::none(Outcome::Skipped(reason), before);
        if let Some(problem) = name_problem(&entry.name) {
            return skipped(problem);
        }
        match &entry.launch {
            Launch::Command(command) => wrap_command(text, entry, command, target, format.syntax),
            Launch::Remote(remote) if target.include_http => {
                remote::refusal(entry, remote, format.references)
                    .map_or_else(|| remote::wrap(entry, remote, target, format), skipped)
            }
            Launch::Remote(_) => skipped(HAS_URL),
            Launch::Unsupported(reason) => skipped(reason),
        }
    })
}

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
    edit_servers(text, format, is_selected, |entry, before| match &entry.launch {
        Launch::Command(command) => unwrap_command(text, entry, command, format),
        Launch::Unsupported(reason) => EntryEdit::none(Outcome::Skipped(reason), before),
        Launch::Remote(_) => EntryEdit::none(Outcome::Unchanged, before),
    })
}

fn wrap_command(
    text: &str,
    entry: &Entry,
    command: &CommandLine,
    target: &Target<'_>,
    syntax: Syntax,
) -> EntryEdit {
    let old = command.words();
    let args: Vec<&str> = old.iter().skip(1).map(String::as_str).collect();
    let program = Splice::replace(command.program.range.clone(), quote(target.program, syntax));
    let new = |args: &[String]| -> Vec<String> {
        std::iter::once(target.program.to_owned()).chain(args.iter().cloned()).collect()
    };
    match recognise(&command.program.value, &args) {
        Invocation::Manual => return EntryEdit::none(Outcome::Skipped(BY_USER), &old),
        Invocation::Installed(_) => {
            let (options, args) = set_options(text, command, target.options, syntax);
            let after = new(&args);
            if after == old {
                return EntryEdit::none(Outcome::Unchanged, &old);
            }
            let program = (command.program.value != target.program).then_some(program);
            let splices = program.into_iter().chain(options).collect();
            return EntryEdit { outcome: Outcome::Updated, splices, after };
        }
        Invocation::Direct => {}
    }
    let prefix = wrap_args(&entry.name, target.options, matches!(command.args, Args::Missing { .. }));
    let source = text.get(command.program.range.clone()).unwrap_or_default();
    let mut words: Vec<String> = prefix.iter().map(|word| quote(word, syntax)).collect();
    let splices = match &command.args {
        Args::Missing { at, prefix } => {
            words.push(source.to_owned());
            let insertion = Splice::insert(*at, format!("{prefix}[{}]", words.join(", ")));
            vec![program, insertion]
        }
        Args::Member { list, .. } => {
            words.push(source.to_owned());
            vec![program, insertion(text, list, 0, &words)]
        }
        Args::Rest(list) => {
            words.insert(0, quote(target.program, syntax));
            // The program itself is the first item of this list.
            let mut whole = list.clone();
            whole.items.insert(0, command.program.clone());
            vec![insertion(text, &whole, 0, &words)]
        }
    };
    let after: Vec<String> = prefix.into_iter().chain(old).collect();
    EntryEdit { outcome: Outcome::Wrapped, splices, after: new(&after) }
}

/// Returns the edits after which an installed entry has these options, and the arguments of Portion then.
fn set_options(
    text: &str,
    command: &CommandLine,
    options: &[WrapOption],
    syntax: Syntax,
) -> (Vec<Splice>, Vec<String>) {
    let mut args = command.words().split_off(1);
    let (Args::Member { list, .. } | Args::Rest(list)) = &command.args else { return (Vec::new(), args) };
    let (mut edits, mut added) = (Vec::new(), Vec::new());
    for option in options {
        let given = args.iter().take_while(|arg| *arg != SEPARATOR).position(|arg| arg == option.name);
        match (given, &option.value) {
            (Some(at), Some(value)) => {
                let Some(old) = list.items.get(at + 1).filter(|old| old.value != *value) else { continue };
                value.clone_into(&mut args[at + 1]);
                edits.push(Splice::replace(old.range.clone(), quote(value, syntax)));
            }
            (Some(_), None) => {}
            (None, _) => added.extend(option.words()),
        }
    }
    if !added.is_empty() {
        let quoted: Vec<String> = added.iter().map(|word| quote(word, syntax)).collect();
        edits.push(insertion(text, list, 1, &quoted));
        args.splice(1..1, added);
    }
    (edits, args)
}

/// Inserts words into a list before the item of an index, separated as its items are.
fn insertion(text: &str, list: &List, at: usize, words: &[String]) -> Splice {
    let (Some(first), Some(next)) = (list.items.first(), list.items.get(at)) else {
        return Splice::insert(list.open, words.join(", "));
    };
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
        next.range.start,
        words.iter().flat_map(|word| [word.as_str(), separator]).collect::<String>(),
    )
}

fn unwrap_command(text: &str, entry: &Entry, command: &CommandLine, format: Format) -> EntryEdit {
    let words = command.words();
    let skipped = |words: &[String]| EntryEdit::none(Outcome::Skipped(WRITTEN_OTHERWISE), words);
    let args: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    let installed = match recognise(&command.program.value, &args) {
        Invocation::Direct => return EntryEdit::none(Outcome::Unchanged, &words),
        Invocation::Manual => return skipped(&words),
        Invocation::Installed(installed) => installed,
    };
    let Installed { program_index: Some(index), adds_args } = installed else {
        return match remote::unwrap(entry, command, format) {
            Some((splices, url)) => EntryEdit { outcome: Outcome::Restored, splices, after: vec![url] },
            None => skipped(&words),
        };
    };
    let after = words.iter().skip(1 + index).cloned().collect();
    match edits(text, command, index, adds_args) {
        Some(splices) => EntryEdit { outcome: Outcome::Restored, splices, after },
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
