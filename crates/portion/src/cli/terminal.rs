//! Output for people and programs: the width of a terminal, lines on stdout and stderr, what takes long, and the log on
//! stderr. Stdout may belong to the protocol.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::Arguments;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use portion_config::key::{LEVEL_VARIABLE, level_choices, parse_level};
use portion_text::display::{
    display_width, is_printable, printable_lines, split_at_width, truncate, truncate_start,
};
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

/// Mark of an omission.
const ELLIPSIS: char = '…';

/// Mark in place of a character that is not printable.
const UNPRINTABLE: char = '·';

/// Least number of lines that are omitted.
const MIN_ELIDED_LINES: usize = 4;

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

/// Returns about `rows` lines of at most `width` columns: the beginning and the end of a text.
pub(crate) fn excerpt_lines(text: &str, rows: usize, width: usize) -> Vec<String> {
    let lines = split_lines(text);
    if let [line] = lines.as_slice() {
        return wrap(line, rows, width);
    }
    let mut shown: Vec<String> = lines.iter().map(|line| truncate(line, width)).collect();
    if shown.len() >= rows + MIN_ELIDED_LINES {
        let middle = rows.saturating_sub(2)..shown.len() - 1;
        let mark = format!("{ELLIPSIS} {} more {ELLIPSIS}", middle.len());
        shown.splice(middle, [mark]);
    }
    shown
}

/// Returns a text in at most `rows` rows of `width` columns. A longer text is cut in the middle.
pub(crate) fn wrap(text: &str, rows: usize, width: usize) -> Vec<String> {
    let printed: String = text.chars().map(|c| if is_printable(c) { c } else { UNPRINTABLE }).collect();
    let (mut shown, mut rest) = (Vec::new(), printed.as_str());
    while !rest.is_empty() && shown.len() <= rows {
        let (row, after) = split_at_width(rest, width);
        shown.push(row.to_owned());
        rest = after;
    }
    if shown.len() > rows {
        shown.truncate(rows.saturating_sub(1));
        shown.push(truncate_start(&printed, width));
    }
    shown
}

/// Crate whose events are logged from `info` on: an operator sees that a changed configuration is in force.
const CONFIG_TARGET: &str = "portion_config";

/// Returns the level of `PORTION_LOG`, or its value if that is none.
fn level_of_variable() -> Result<Option<LevelFilter>, String> {
    let named = std::env::var(LEVEL_VARIABLE).unwrap_or_default();
    parse_level(&named).map_err(|_| named)
}

/// Returns the lines of a text. The lines of JSON are the items of its list.
fn split_lines(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let is_json = text.starts_with(['{', '[']);
    let (mut depth, mut in_list, mut quoted, mut escaped) = (0_usize, false, false, false);
    for char in text.chars() {
        if let Some(line) = lines.last_mut() {
            match char {
                '\n' => {}
                '\t' => line.push_str("    "),
                other if !is_printable(other) => line.push(UNPRINTABLE),
                other => line.push(other),
            }
        }
        let ends = match char {
            '\n' => true,
            _ if !is_json => false,
            '"' if !escaped => {
                quoted = !quoted;
                false
            }
            '[' | '{' if !quoted => {
                depth += 1;
                if depth <= 2 {
                    in_list = char == '[';
                }
                in_list && depth == 2
            }
            ']' | '}' if !quoted => {
                depth = depth.saturating_sub(1);
                false
            }
            ',' => !quoted && in_list && depth == 2,
            _ => false,
        };
        escaped = quoted && char == '\\' && !escaped;
        if ends {
            lines.push(String::new());
        }
    }
    if lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind};
    use std::process::ExitCode;

    use super::*;

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

    fn check(text: &str, expect: &[&str]) {
        assert_eq!(excerpt_lines(text, 4, 12), expect, "{text}");
    }

    #[test]
    fn shows_where_a_text_begins_and_ends() {
        check("", &[]);
        check("one\ntwo\n", &["one", "two"]);
        check("\ttab\nbell\u{7}", &["    tab", "bell·"]);
        check("a\u{202e}b\nc\u{2066}", &["a·b", "c·"]);
        check("1\n2\n3\n4\n5\n6\n7\n8", &["1", "2", "… 5 more …", "8"]);
        check("1\n2\n3\n4\n5\n6\n7", &["1", "2", "3", "4", "5", "6", "7"]);
        check("twelve chars\nthirteen char", &["twelve chars", "thirteen ch…"]);
    }

    #[test]
    fn breaks_json_at_the_items() {
        check(
            r#"{"c":2,"s":[{"a":1,"b":2},{"a":3}]}"#,
            &[r#"{"c":2,"s":["#, r#"{"a":1,"b":…"#, r#"{"a":3}]}"#],
        );
        check(r#"{"s":["a,\",]","b"]}"#, &[r#"{"s":["#, r#""a,\",]","#, r#""b"]}"#]);
    }

    #[test]
    fn wraps_what_has_no_lines() {
        check(r#"{"a":"0123456789"}"#, &[r#"{"a":"012345"#, r#"6789"}"#]);
        check(r#"{"a":{"b":1,"c":2}}"#, &[r#"{"a":{"b":1,"#, r#""c":2}}"#]);
        assert_eq!(wrap("abcdefghij", 2, 3), ["abc", "…ij"]);
        assert_eq!(wrap("a\u{202e}b", 1, 3), ["a·b"]);
        assert_eq!(wrap("客房列表", 2, 5), ["客房", "列表"]);
        assert_eq!(wrap("客房列表客房", 2, 5), ["客房", "…客房"]);
    }
}
