//! Findings of `portion doctor`.

use std::fmt::Write as _;
use std::path::Path;

use portion_text::display::is_printable;
use serde::Serialize;

/// Weight of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    /// Something does not work.
    Error,
    /// Something works, but not as it could.
    Warning,
    /// A fact.
    Info,
    /// A check that passed.
    Ok,
}

impl Level {
    /// Returns the name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
            Self::Ok => "ok",
        }
    }
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) level: Level,
    /// Name of the check, for programs.
    pub(super) check: &'static str,
    /// Subject of the check: a file, a server or an endpoint.
    pub(super) subject: String,
    pub(super) message: String,
    /// Command that shows the problem by itself.
    pub(super) reproduce: Option<String>,
    /// Command that fixes it.
    pub(super) fix: Option<String>,
}

impl Finding {
    /// Creates a finding without a command.
    pub(super) fn new(
        level: Level,
        check: &'static str,
        subject: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self { level, check, subject: subject.into(), message: message.into(), reproduce: None, fix: None }
    }

    /// Adds the command that shows the problem by itself.
    pub(super) fn with_reproduction(self, line: impl Into<String>) -> Self {
        Self { reproduce: Some(line.into()), ..self }
    }

    /// Adds the command that fixes it.
    pub(super) fn with_fix(self, fix: impl Into<String>) -> Self {
        self.with_possible_fix(Some(fix.into()))
    }

    /// Adds the command that fixes it, if there is one.
    pub(super) fn with_possible_fix(self, fix: Option<String>) -> Self {
        Self { fix, ..self }
    }
}

/// Returns a word as a shell takes it, on one line.
pub(super) fn shell_word(word: &str) -> String {
    if !word.chars().all(is_printable) {
        return escaped_word(word);
    }
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), std::borrow::Cow::into_owned)
}

/// Returns a word in the quotes `$'…'`, in which bytes are written as octal numbers.
pub(super) fn escaped_word(word: &str) -> String {
    let mut quoted = String::from("$'");
    for char in word.chars() {
        match char {
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\'' | '\\' => quoted.extend(['\\', char]),
            _ if is_printable(char) => quoted.push(char),
            _ => {
                for byte in char.encode_utf8(&mut [0; 4]).bytes() {
                    let _ = write!(quoted, "\\{byte:03o}");
                }
            }
        }
    }
    quoted.push('\'');
    quoted
}

/// Returns a path as a shell takes it.
pub(super) fn shell_path(path: &Path) -> String {
    shell_word(&path.display().to_string())
}

/// Returns the command that opens a file in the editor of the user.
pub(super) fn edit_command(file: &Path) -> String {
    let editor = if cfg!(windows) { "notepad" } else { "${EDITOR:-vi}" };
    format!("{editor} {}", shell_path(file))
}

/// Returns a command line as a shell takes it.
pub(super) fn shell_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(shell_word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::shell_word;

    #[test]
    fn a_word_stays_on_its_line() {
        let check = |word: &str, expect: &str| assert_eq!(shell_word(word), expect);
        check("plain", "plain");
        check("a b", "'a b'");
        check("it's\n\tC:\\x", r"$'it\'s\n\tC:\\x'");
        check("é\u{1b}[2J\u{202e}1", r"$'é\033[2J\342\200\2561'");
    }
}
