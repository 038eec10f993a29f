//! Edits of a file, and the check that they do what is reported.

use crate::document::{Entry, Launch, ParseError, Splice, apply, servers};
use crate::format::Format;

/// An edited file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// The new text.
    pub text: String,
    /// One per server of the file that was selected, in its order.
    pub changes: Vec<Change>,
}

/// Record of the change of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Project of the server, where a file has several.
    pub scope: Option<String>,
    /// Name of the server.
    pub name: String,
    /// Line of its name in the old text, from 1.
    pub line: usize,
    /// Outcome of the edit.
    pub outcome: Outcome,
    /// Old command line; the URL of a server that has one.
    pub before: Vec<String>,
    /// New command line, or URL.
    pub after: Vec<String>,
}

/// Outcome of the edit of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Portion was put in front of it.
    Wrapped,
    /// It was started by Portion at another path, or with other options.
    Updated,
    /// Portion was taken out.
    Restored,
    /// Nothing: it is as requested.
    Unchanged,
    /// Nothing, for this reason.
    Skipped(&'static str),
}

impl Outcome {
    /// Returns true if the entry was edited.
    pub fn is_edit(self) -> bool {
        matches!(self, Self::Wrapped | Self::Updated | Self::Restored)
    }
}

/// The outcome for a server, with the words that start it afterwards.
pub(crate) struct EntryEdit {
    pub(crate) outcome: Outcome,
    pub(crate) splices: Vec<Splice>,
    pub(crate) after: Vec<String>,
}

impl EntryEdit {
    /// Leaves a server as it is.
    pub(crate) fn none(outcome: Outcome, words: &[String]) -> Self {
        Self { outcome, splices: Vec::new(), after: words.to_vec() }
    }
}

/// The edit of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Edit {
    /// Place of the server among those of the file.
    index: usize,
    change: Change,
    splices: Vec<Splice>,
}

const OTHER_FORM: &str = "its form is not supported: write it as an object or a table of its own";

/// Edits the selected servers of a file. `edit` gets a server and the words that start it.
///
/// # Errors
/// Returns the place where the text is not valid.
pub(crate) fn edit_servers(
    text: &str,
    format: Format,
    is_selected: &dyn Fn(&str) -> bool,
    edit: impl Fn(&Entry, &[String]) -> EntryEdit,
) -> Result<Edited, ParseError> {
    let entries = servers(text, format)?;
    let count = entries.len();
    let selected = entries.into_iter().enumerate().filter(|(_, entry)| is_selected(&entry.name));
    let edits = selected.map(|(index, entry)| {
        let before = words(&entry);
        let EntryEdit { outcome, splices, after } = edit(&entry, &before);
        let Entry { scope, name, line, .. } = entry;
        Edit { index, change: Change { scope, name, line, outcome, before, after }, splices }
    });
    Ok(apply_checked(text, format, count, edits.collect()))
}

/// Applies the edits of a file with `count` servers, and reads the result again. An edit after which a server starts
/// anything else than planned is not made.
fn apply_checked(text: &str, format: Format, count: usize, mut edits: Vec<Edit>) -> Edited {
    let apply_all =
        |edits: &[Edit]| apply(text, edits.iter().flat_map(|edit| edit.splices.clone()).collect());
    let mut edited = apply_all(&edits);
    if !is_as_planned(&edited, format, count, &edits) {
        for at in 0..edits.len() {
            let alone: Vec<Edit> = edits
                .iter()
                .enumerate()
                .map(|(i, edit)| if i == at { edit.clone() } else { edit.skipped() })
                .collect();
            if !is_as_planned(&apply_all(&alone), format, count, &alone) {
                edits[at] = edits[at].skipped();
            }
        }
        edited = apply_all(&edits);
    }
    Edited { text: edited, changes: edits.into_iter().map(|edit| edit.change).collect() }
}

impl Edit {
    /// Returns the edit as one that is not made.
    fn skipped(&self) -> Self {
        let Change { outcome, before, .. } = &self.change;
        let outcome = if outcome.is_edit() { Outcome::Skipped(OTHER_FORM) } else { *outcome };
        let change = Change { outcome, after: before.clone(), ..self.change.clone() };
        Self { change, splices: Vec::new(), index: self.index }
    }
}

fn is_as_planned(edited: &str, format: Format, count: usize, edits: &[Edit]) -> bool {
    let Ok(entries) = servers(edited, format) else { return false };
    entries.len() == count
        && edits.iter().all(|edit| {
            let entry = entries.get(edit.index);
            entry.is_some_and(|entry| entry.name == edit.change.name && words(entry) == edit.change.after)
        })
}

/// Sets the words that start the servers to those of a text.
pub(crate) fn set_words_after(changes: &mut [Change], text: &str, format: Format) {
    for entry in servers(text, format).unwrap_or_default() {
        let is_same = |change: &&mut Change| change.name == entry.name && change.scope == entry.scope;
        if let Some(change) = changes.iter_mut().find(is_same) {
            change.after = words(&entry);
        }
    }
}

/// Returns the command line of a server, or its URL.
fn words(entry: &Entry) -> Vec<String> {
    match &entry.launch {
        Launch::Command(command) => command.words(),
        Launch::Remote(remote) => vec![remote.url.clone()],
        Launch::Unsupported(_) => Vec::new(),
    }
}
