//! The terminal of a person: its width, and lines that say what takes long.

use std::error::Error;
use std::fmt::Arguments;
use std::io::{self, IsTerminal as _, Write as _};

use portion_text::printable::printable_lines;
use portion_text::width::display_width;

/// Prints a line to stderr.
macro_rules! print_stderr {
    ($($argument:tt)*) => { $crate::terminal::write_stderr(format_args!($($argument)*)) };
}
pub(crate) use print_stderr;

/// Writes a line to stderr, which may have text of a server. That it cannot be written, for example to a full disk, is no
/// reason to stop.
pub(crate) fn write_stderr(line: Arguments<'_>) {
    let _ = writeln!(anstream::stderr(), "{}", printable_lines(&line.to_string()));
}

/// Returns the error of a stdout that cannot be written after a command has changed files. `done` says what it did. A
/// reader that has gone stays no failure.
pub(crate) fn unreported(done: &str, error: Box<dyn Error>) -> Box<dyn Error> {
    if is_closed_pipe(error.as_ref()) {
        return error;
    }
    format!("{done}, but stdout cannot be written: {error}").into()
}

/// Returns the columns of the terminal on stdout; `None` if stdout is no terminal.
pub(crate) fn width() -> Option<usize> {
    let size = terminal_size::terminal_size_of(io::stdout());
    size.map(|(width, _)| usize::from(width.0)).filter(|width| *width > 0)
}

/// Returns the columns of the terminal on stdout; `most` at the most, and where stdout is no terminal.
pub(crate) fn columns(most: usize) -> usize {
    width().unwrap_or(most).min(most)
}

/// Prints what a command waits for, if a person can read it.
pub(crate) fn show_progress(message: &str) {
    if io::stderr().is_terminal() {
        print_stderr!("portion: {message}");
    }
}

/// Returns the lines of a text as they are printed on stdout: broken at the width of a terminal. Comments of a
/// configuration stay on their lines, so that they can be copied.
pub(crate) fn folded(text: &str) -> String {
    fold_with_comments(text, columns(usize::MAX))
}

fn fold_with_comments(text: &str, width: usize) -> String {
    let is_kept = |line: &str| line.is_empty() || line.trim_start().starts_with('#');
    let lines =
        text.lines().flat_map(|line| if is_kept(line) { vec![line.to_owned()] } else { fold(line, width) });
    lines.map(|line| line + "\n").collect()
}

/// Breaks lines that are longer than `width` columns between words. Each part keeps the indentation of its line. Colours
/// have no width.
pub(crate) fn fold(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in text.lines() {
        if visible_width(part) <= width {
            lines.push(part.to_owned());
            continue;
        }
        let indentation = &part[..part.len() - part.trim_start().len()];
        let mut line = String::new();
        for word in part.split_whitespace() {
            if !line.is_empty() && visible_width(&line) + 1 + visible_width(word) > width {
                lines.push(std::mem::take(&mut line));
            }
            line.push_str(if line.is_empty() { indentation } else { " " });
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}

fn visible_width(text: &str) -> usize {
    display_width(&anstream::adapter::strip_str(text).to_string())
}

/// Returns true if the reader of stdout has closed it, as in `portion demo | head`. That is no failure.
///
/// Only an error of stdout is bare; errors of other connections are inside an error that names them.
pub(crate) fn is_closed_pipe(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::{fold, fold_with_comments};

    #[test]
    fn lines_are_broken_between_words() {
        let check = |text: &str, expect: &[&str]| assert_eq!(fold(text, 10), expect, "{text}");
        check("", &[]);
        check("one two three", &["one two", "three"]);
        check("one\n\ntwo", &["one", "", "two"]);
        check("a-very-long-word is whole", &["a-very-long-word", "is whole"]);
        check("a   b", &["a   b"]);
        check("  one two three", &["  one two", "  three"]);
        check("\u{1b}[1mone\u{1b}[0m two three", &["\u{1b}[1mone\u{1b}[0m two", "three"]);
        check("客房 列表 ab", &["客房 列表", "ab"]);
    }

    #[test]
    fn comments_and_empty_lines_stay() {
        let check = |text: &str, expect: &str| assert_eq!(fold_with_comments(text, 10), expect, "{text}");
        check("", "");
        check("one two three\n\nfour", "one two\nthree\n\nfour\n");
        check("  # one two three\n", "  # one two three\n");
    }
}
