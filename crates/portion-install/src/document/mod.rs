//! The servers of a configuration file, with the byte ranges of what an edit replaces.

mod json;
mod toml;

use std::ops::Range;

use thiserror::Error;

use crate::format::{Format, Syntax};

/// A server in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Project that the server belongs to, where a file has several.
    pub scope: Option<String>,
    /// Name of the server.
    pub name: String,
    /// Line of the name, from 1.
    pub line: usize,
    /// Variables that the client sets for the server.
    pub env: Vec<(String, String)>,
    /// Header fields that the client sends to the server, whether it can be wrapped or not.
    pub headers: Vec<(String, String)>,
    /// File with further variables.
    pub env_file: Option<String>,
    /// Working directory of the server.
    pub cwd: Option<String>,
    /// False if the client does not start the server.
    pub is_enabled: bool,
    /// Value of `type`.
    pub(crate) kind: Option<Literal>,
    /// Command or URL of the server.
    pub launch: Launch,
}

/// Command or URL by which a client reaches a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Launch {
    /// It starts a program.
    Command(CommandLine),
    /// It connects to a URL.
    Remote(Remote),
    /// Something else.
    Unsupported(&'static str),
}

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    pub(crate) program: Literal,
    /// The member with the program, name included.
    pub(crate) member: Range<usize>,
    pub(crate) args: Args,
    /// Member that names variables to pass on, if `install` wrote it for a token.
    pub(crate) token_variable: Option<(Range<usize>, String)>,
    /// Range of the variables of the server, with one comma.
    pub(crate) env_removal: Option<Range<usize>>,
}

/// Arguments of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Args {
    /// A member of their own. `removal` is the range of `member` with one comma or line end.
    Member { list: List, member: Range<usize>, removal: Range<usize> },
    /// The rest of the list that begins with the program.
    Rest(List),
    /// None. A member can be inserted: its text begins with `prefix`, which ends with the name and its separator.
    Missing { at: usize, prefix: String },
}

/// A list of strings. `items` do not contain the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct List {
    /// Position after the bracket.
    pub(crate) open: usize,
    pub(crate) items: Vec<Literal>,
}

/// A string in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Literal {
    pub(crate) range: Range<usize>,
    pub(crate) value: String,
}

/// A server with a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    pub(crate) url: String,
    pub(crate) url_key: String,
    /// The member with the URL, name included.
    pub(crate) member: Range<usize>,
    /// Text between a member and the next one on a line of its own.
    pub(crate) member_separator: String,
    /// Text between a name and its value.
    pub(crate) colon: String,
    pub(crate) headers: Vec<(String, String)>,
    /// Range of the member with the headers, if there are any.
    pub(crate) headers_member: Option<Range<usize>>,
    /// Member that names the variable with the bearer token, and that name.
    pub(crate) token_variable: Option<(Range<usize>, String)>,
}

/// A file that is not valid.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}, column {column}: {message}")]
pub struct ParseError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Description of the error.
    pub message: String,
}

impl CommandLine {
    /// Returns the program and its arguments.
    pub fn words(&self) -> Vec<String> {
        let args = self.args.items().iter();
        std::iter::once(&self.program).chain(args).map(|literal| literal.value.clone()).collect()
    }
}

impl Args {
    /// Returns the arguments.
    pub(crate) fn items(&self) -> &[Literal] {
        match self {
            Self::Member { list, .. } | Self::Rest(list) => &list.items,
            Self::Missing { .. } => &[],
        }
    }
}

impl Remote {
    /// Returns the URL.
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// Returns the servers of a file, in its order. A byte order mark is accepted. A key for servers that holds something else,
/// such as `null`, is an entry that is not supported.
///
/// # Errors
/// Returns the first place where the text is not valid.
pub fn servers(text: &str, format: Format) -> Result<Vec<Entry>, ParseError> {
    match format.syntax {
        Syntax::Json => json::servers(text, format),
        Syntax::Toml => toml::servers(text, format),
    }
}

/// A range and its new text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Splice {
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
}

impl Splice {
    /// Replaces a range.
    pub(crate) fn replace(range: Range<usize>, text: impl Into<String>) -> Self {
        Self { range, text: text.into() }
    }

    /// Inserts a text.
    pub(crate) fn insert(at: usize, text: impl Into<String>) -> Self {
        Self::replace(at..at, text)
    }

    /// Removes a range.
    pub(crate) fn remove(range: Range<usize>) -> Self {
        Self::replace(range, "")
    }
}

/// Returns the text with all replacements, whose ranges must not overlap.
pub(crate) fn apply(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|splice| (splice.range.start, splice.range.end));
    let mut edited = String::with_capacity(text.len() + 256 * splices.len());
    let mut copied = 0;
    for Splice { range, text: new } in splices {
        edited.push_str(text.get(copied..range.start).unwrap_or_default());
        edited.push_str(&new);
        copied = range.end.max(copied);
    }
    edited.push_str(text.get(copied..).unwrap_or_default());
    edited
}

/// Returns a list as source text.
pub(crate) fn list_text(words: &[String], syntax: Syntax) -> String {
    let words: Vec<String> = words.iter().map(|word| quote(word, syntax)).collect();
    format!("[{}]", words.join(", "))
}

/// Returns a string as source text. In TOML, a string without quotes and control characters can be literal, which
/// keeps the paths of Windows readable.
pub(crate) fn quote(word: &str, syntax: Syntax) -> String {
    let is_literal = word.contains('\\') && !word.contains('\'') && !word.chars().any(char::is_control);
    if syntax == Syntax::Toml && is_literal {
        return format!("'{word}'");
    }
    let quoted = serde_json::Value::from(word).to_string();
    // JSON allows it, TOML does not.
    if syntax == Syntax::Toml { quoted.replace('\u{7f}', "\\u007F") } else { quoted }
}

/// Returns the length of a byte order mark.
fn mark_length(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

/// Returns the line of a position, from 1.
fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

/// Returns an error at a position.
fn error_at(text: &str, at: usize, message: impl Into<String>) -> ParseError {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before[line_start..].chars().filter(|char| *char != '\u{feff}').count() + 1;
    ParseError { line: line_of(text, at), column, message: message.into() }
}

/// Returns the whitespace in front of a position, with the line end before it. Empty if something else is on the line.
fn indentation(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    let trimmed = before.trim_end_matches([' ', '\t']);
    let Some(line) = trimmed.strip_suffix('\n') else { return "" };
    let line = line.strip_suffix('\r').unwrap_or(line);
    &before[line.len()..]
}
