//! Output for people and programs: the width of a terminal, lines on stdout and stderr, what takes long, and the log on
//! stderr. Stdout may belong to the protocol.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::Arguments;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use portion_config::key::{LEVEL_VARIABLE, level_choices, parse_level};
use portion_text::display::{display_width, printable_lines};
use terminal_size::{Height, Width};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

use crate::cli::failure::Result;

/// Prints a line to stderr.
macro_rules! print_stderr {
    ($($argument:tt)*) => { $crate::cli::terminal::write_stderr(format_args!($($argument)*)) };
}
pub(crate) use print_stderr;

/// Writes a line to stderr, which may have text of a server.
pub(crate) fn write_stderr(line: Arguments<'_>) {
    write_styled_stderr(&printable_lines(&line.to_string()));
}

/// Writes lines to stderr, which may have colours: broken at the width of a terminal. That they cannot be written, for
/// example to a full disk, is no reason to stop.
pub(crate) fn write_styled_stderr(text: &str) {
    let width = columns_of(terminal_size::terminal_size_of(io::stderr())).unwrap_or(usize::MAX);
    let _ = writeln!(anstream::stderr(), "{}", fold(text, width).join("\n"));
}

/// Prints a text on stdout, which may have text from elsewhere.
pub(crate) fn print_stdout(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(for_stdout(text).as_bytes())?;
    out.flush()
}

/// Returns a text as stdout gets it: whole for a program, and for a terminal without what controls it.
pub(crate) fn for_stdout(text: &str) -> Cow<'_, str> {
    if io::stdout().is_terminal() { printable_lines(text).into() } else { text.into() }
}

/// Ends a command that has printed its result, or could not. A reader that has gone changes no exit code; a stdout that
/// cannot be written makes a success a failure. `done` says what the command has changed.
pub(crate) fn reported(printed: io::Result<()>, done: Option<&str>, code: ExitCode) -> Result<ExitCode> {
    let Err(error) = printed else { return Ok(code) };
    if is_closed_pipe(&error) {
        return Ok(code);
    }
    let done = done.map(|done| format!("{done}, but ")).unwrap_or_default();
    let message = format!("{done}stdout cannot be written: {error}");
    if code == ExitCode::SUCCESS {
        return Err(message.into());
    }
    print_stderr!("portion: {message}");
    Ok(code)
}

/// Returns the columns of the terminal on stdout; `None` if stdout is no terminal.
pub(crate) fn width() -> Option<usize> {
    columns_of(terminal_size::terminal_size_of(io::stdout()))
}

/// Starts the log of a command without a configuration, which would report an invalid `PORTION_LOG`.
pub(crate) fn start_log_without_config(json: bool) {
    start_log(None, json);
    if let Err(named) = level_of_variable() {
        tracing::warn!("{LEVEL_VARIABLE} is {named}; it must be {}", level_choices());
    }
}

/// Starts the log at the level of `PORTION_LOG`, else at the configured one, else at `warn`.
pub(crate) fn start_log(written: Option<&str>, json: bool) {
    let by_variable = level_of_variable().unwrap_or_default();
    let level = by_variable.or_else(|| written.and_then(|level| parse_level(level).unwrap_or_default()));
    let filter = match level {
        Some(level) => Targets::new().with_default(level),
        None => Targets::new().with_default(LevelFilter::WARN).with_target(CONFIG_TARGET, LevelFilter::INFO),
    };
    let plain = fmt::layer().with_writer(io::stderr).with_target(false).log_internal_errors(false);
    let layer = if json { plain.json().flatten_event(true).boxed() } else { plain.boxed() };
    tracing_subscriber::registry().with(layer.with_filter(filter)).init();
}

fn columns_of(size: Option<(Width, Height)>) -> Option<usize> {
    size.map(|(width, _)| usize::from(width.0)).filter(|width| *width > 0)
}

/// Returns the columns of the terminal on stdout; `max` at the most, and where stdout is no terminal.
pub(crate) fn columns(max: usize) -> usize {
    width().unwrap_or(max).min(max)
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

/// Breaks lines that are longer than `width` columns between words. Each part keeps the indentation of its line, and the
/// spaces between its words. Colours have no width.
pub(crate) fn fold(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in text.lines() {
        if visible_width(part) <= width {
            lines.push(part.to_owned());
            continue;
        }
        let indentation = &part[..part.len() - part.trim_start().len()];
        let mut line = String::new();
        for word in part.trim().split(char::is_whitespace) {
            if !line.is_empty() && visible_width(&line) + 1 + visible_width(word) > width {
                lines.push(std::mem::take(&mut line).trim_end().to_owned());
            }
            // A break replaces all spaces.
            if line.is_empty() && word.is_empty() {
                continue;
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

/// Crate whose events are logged from `info` on: an operator sees that a changed configuration is in force.
const CONFIG_TARGET: &str = "portion_config";

/// Returns the level of `PORTION_LOG`, or its value if that is none.
fn level_of_variable() -> Result<Option<LevelFilter>, String> {
    let named = std::env::var(LEVEL_VARIABLE).unwrap_or_default();
    parse_level(&named).map_err(|_| named)
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind};
    use std::process::ExitCode;

    use super::{fold, fold_with_comments, reported};

    #[test]
    fn a_stdout_that_cannot_be_written_is_a_failure() {
        let check = |error: Option<ErrorKind>, code: ExitCode, expect: Result<ExitCode, &str>| {
            let printed = error.map_or(Ok(()), |kind| Err(io::Error::from(kind)));
            let end = reported(printed, Some("a was written"), code).map_err(|error| error.to_string());
            assert_eq!(end, expect.map_err(str::to_owned));
        };
        for code in [ExitCode::SUCCESS, ExitCode::FAILURE, ExitCode::from(2)] {
            check(None, code, Ok(code));
            check(Some(ErrorKind::BrokenPipe), code, Ok(code));
        }
        let full = Some(ErrorKind::StorageFull);
        check(full, ExitCode::from(2), Ok(ExitCode::from(2)));
        let message = "a was written, but stdout cannot be written: no storage space";
        check(full, ExitCode::SUCCESS, Err(message));
    }

    #[test]
    fn lines_are_broken_between_words() {
        let check = |text: &str, expect: &[&str]| assert_eq!(fold(text, 10), expect, "{text}");
        check("", &[]);
        check("one two three", &["one two", "three"]);
        check("one\n\ntwo", &["one", "", "two"]);
        check("a-very-long-word is whole", &["a-very-long-word", "is whole"]);
        check("a   b", &["a   b"]);
        check("a   b ccc ddd   eee", &["a   b ccc", "ddd   eee"]);
        check("aaaaaaaaa   b", &["aaaaaaaaa", "b"]);
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
