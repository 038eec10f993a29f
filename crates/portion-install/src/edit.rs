//! Edits of a file, and the check that they do what is reported.
//!
//! ```
//! use portion_install::edit::unified_diff;
//!
//! let shown = unified_diff("mcp.json", "{\n}\n", "{\n  \"servers\": {}\n}\n");
//! assert!(shown.contains("+  \"servers\": {}"));
//! ```

use similar::{Algorithm, TextDiff};

use crate::document::{Entry, Launch, ParseError, Splice, apply, servers};
use crate::format::Format;

/// Lines of context.
const CONTEXT: usize = 3;

/// Longest line shown whole. A client may write its file on a single line.
const LINE_WIDTH: usize = 400;

/// Longest line that is not broken. An edit may make a line longer, which must be broken before and after it.
const BREAK_WIDTH: usize = LINE_WIDTH / 2;

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

impl Edit {
    /// Returns the edit as one that is not made.
    fn skipped(&self) -> Self {
        let Change { outcome, before, .. } = &self.change;
        let outcome = if outcome.is_edit() { Outcome::Skipped(OTHER_FORM) } else { *outcome };
        let change = Change { outcome, after: before.clone(), ..self.change.clone() };
        Self { change, splices: Vec::new(), index: self.index }
    }
}

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

/// Returns the difference between two texts, without line ends of Windows; empty if there is none.
///
/// If a line is too long to be shown whole, long lines are broken at commas and brackets, as a formatter would do:
/// otherwise the change could be in the part that is left out.
pub fn unified_diff(name: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    if has_long_line(old) || has_long_line(new) {
        return difference(name, &broken(old), &broken(new));
    }
    difference(name, old, new)
}

/// Returns the command line of a server, or its URL.
fn words(entry: &Entry) -> Vec<String> {
    match &entry.launch {
        Launch::Command(command) => command.words(),
        Launch::Remote(remote) => vec![remote.url.clone()],
        Launch::Unsupported(_) => Vec::new(),
    }
}

fn has_long_line(text: &str) -> bool {
    text.lines().any(|line| line.chars().nth(LINE_WIDTH).is_some())
}

fn difference(name: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::configure().algorithm(Algorithm::Patience).diff_lines(old, new);
    let mut unified = diff.unified_diff();
    let text = unified.context_radius(CONTEXT).header(name, name).to_string();
    let mut shown = String::with_capacity(text.len());
    for line in text.lines() {
        let line = line.trim_end_matches('\r');
        match line.char_indices().nth(LINE_WIDTH) {
            None => shown.push_str(line),
            Some((at, _)) => {
                shown.push_str(&line[..at]);
                shown.push_str(" … (");
                shown.push_str(&line[at..].chars().count().to_string());
                shown.push_str(" more characters)");
            }
        }
        shown.push('\n');
    }
    shown
}

/// Returns a text whose long lines are broken.
fn broken(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for line in text.split_inclusive('\n') {
        if line.chars().nth(BREAK_WIDTH).is_some() {
            break_line(line, &mut out);
        } else {
            out.push_str(line);
        }
    }
    out
}

/// Adds a line with a line end after each comma and each opening bracket, and before each closing one, outside of strings.
fn break_line(line: &str, out: &mut String) {
    let (mut in_string, mut is_escaped, mut is_broken) = (false, false, false);
    for char in line.chars() {
        if is_broken && char == ' ' {
            continue;
        }
        is_broken = false;
        if !in_string && matches!(char, '}' | ']') {
            end_line(out);
        }
        out.push(char);
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' if in_string => is_escaped = true,
            '"' => in_string = !in_string,
            ',' | '{' | '[' if !in_string => {
                end_line(out);
                is_broken = true;
            }
            _ => {}
        }
    }
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_shown_with_context() {
        assert_eq!(unified_diff("f", "a", "a"), "");
        let shown = unified_diff("f", "a\r\nb\r\nc", "a\r\nB\r\nc");
        let expect = "--- f\n+++ f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n\\ No newline at end of file\n";
        assert_eq!(shown, expect);
        let long = unified_diff("f", &"x".repeat(500), &"y".repeat(500));
        assert!(long.contains("+yyyy") && long.contains(" … (101 more characters)"), "{long}");
    }

    #[test]
    fn the_change_of_a_file_on_one_line_is_shown() {
        let text = |command: &str| {
            let history = "\"a \\\"quoted\\\", word\",".repeat(100);
            format!(r#"{{"history":[{history}1],"mcpServers":{{"git":{{"command":{command}}}}}}}"#)
        };
        let new = text(r#""portion","args":["wrap","--","uvx"]"#);
        let shown = unified_diff("f", &text(r#""uvx""#), &new);
        for line in ["-\"command\":\"uvx\"\n", "+\"command\":\"portion\",\n", "+\"wrap\",\n", " \"git\":{\n"]
        {
            assert!(shown.contains(line), "{line} in {shown}");
        }
        assert!(!shown.contains("more characters"), "{shown}");
    }
}
