//! `portion doctor`: checks the configuration, the clients, their servers and the records.

mod clients;
mod configuration;
mod launch;
mod records;
mod reference;
mod secret;
mod start;

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use clap::Args;
use portion_config::find;
use portion_install::client::Places;
use portion_install::file::State;
use portion_text::display::{counted, display_width, is_printable, printable_lines, printable_name};
use serde::Serialize;
use serde_json::json;

use self::start::Progress;
use super::{CommandResult, parse_seconds};
use crate::cli::options::FILE_HELP;
use crate::cli::terminal::{columns, fold, print_stdout, reported};

const AFTER_HELP: &str = "\
Examples:
  portion doctor
  portion doctor --no-start --json

Checks: the configuration, its rules, the store and the records; each server of each client: whether Portion is in \
front of it, whether it starts, the tokens of its list of tools, and whether the client has dropped it. A finding \
names after `>` the command that fixes it, and after `$` one that shows it by itself. Nothing is recorded.

Exit codes: 0 without errors, 1 if a finding is an error, 2 for wrong usage.";

/// Options of `portion doctor`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Options {
    /// Do not start servers
    #[arg(long)]
    no_start: bool,
    /// Time limit of the start of a server, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = parse_seconds)]
    timeout: Duration,
    /// Print the findings as one JSON object
    #[arg(long)]
    json: bool,
    #[arg(long, value_name = "FILE", help = FILE_HELP)]
    config: Option<PathBuf>,
}

/// Runs all checks and prints the findings.
pub(crate) fn run(options: &Options) -> CommandResult {
    let mut findings = Vec::new();
    let config = configuration::check(options.config.as_deref(), &mut findings);
    let places = Places::from_environment().ok_or("the home directory is unknown: set HOME")?;
    let state = find::install_dir().map(State);
    let servers = clients::check(&places, state.as_ref(), &mut findings);
    let mut started = Vec::new();
    // With an invalid configuration, no server starts.
    if let Some(config) = config.as_ref().filter(|_| !options.no_start) {
        let progress = if options.json { Progress::Hidden } else { Progress::Shown };
        started = start::check(&servers, config, (options.timeout, progress), &mut findings);
    }
    if let Some(config) = &config {
        clients::check_limits(&servers, config, &mut findings);
        configuration::check_store(config, &mut findings);
        let recorded = records::check(config, &mut findings);
        configuration::check_rules(config, &started, &recorded, &mut findings);
    }
    let failed = findings.iter().any(|finding| finding.level == Level::Error);
    let code = if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    reported(print(&findings, options.json), None, code)
}

/// Columns of the report.
const MAX_WIDTH: usize = 80;
/// Columns that are used even of a narrower terminal.
const MIN_WIDTH: usize = 20;
/// Columns of the level in front of a subject.
const LEVEL_WIDTH: usize = 8;

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
struct Finding {
    level: Level,
    /// Name of the check, for programs.
    check: &'static str,
    /// Subject of the check: a file, a server or an endpoint.
    subject: String,
    message: String,
    /// Command that shows the problem by itself.
    reproduce: Option<String>,
    /// Command that fixes it.
    fix: Option<String>,
}

impl Finding {
    /// Creates a finding without a command.
    fn new(
        level: Level,
        check: &'static str,
        subject: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self { level, check, subject: subject.into(), message: message.into(), reproduce: None, fix: None }
    }

    /// Adds the command that shows the problem by itself.
    fn with_reproduction(self, line: impl Into<String>) -> Self {
        Self { reproduce: Some(line.into()), ..self }
    }

    /// Adds the command that fixes it.
    fn with_fix(self, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }
}

/// Returns a word as a shell takes it, on one line.
fn shell_word(word: &str) -> String {
    if !word.chars().all(is_printable) {
        return escaped_word(word);
    }
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), std::borrow::Cow::into_owned)
}

/// Returns a word in the quotes `$'…'`, in which bytes are written as octal numbers.
fn escaped_word(word: &str) -> String {
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
fn shell_path(path: &Path) -> String {
    shell_word(&path.display().to_string())
}

/// Returns the command that opens a file in the editor of the user.
fn edit_command(file: &Path) -> String {
    let editor = if cfg!(windows) { "notepad" } else { "${EDITOR:-vi}" };
    format!("{editor} {}", shell_path(file))
}

/// Returns a command line as a shell takes it.
fn shell_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(shell_word).collect::<Vec<_>>().join(" ")
}

/// Prints the findings: errors first, then by check.
fn print(findings: &[Finding], as_json: bool) -> io::Result<()> {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| finding.level);
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    let (errors, warnings) = (count(Level::Error), count(Level::Warning));
    if as_json {
        let report = json!({"errors": errors, "warnings": warnings, "findings": sorted});
        return print_stdout(&format!("{report:#}\n"));
    }
    let mut out = anstream::stdout().lock();
    let width = columns(MAX_WIDTH).max(MIN_WIDTH);
    // A narrow terminal has no columns to spare.
    let margin = " ".repeat(if width < MAX_WIDTH { 2 } else { LEVEL_WIDTH });
    for Finding { level, subject, message, reproduce, fix, .. } in sorted {
        let style = match level {
            Level::Error => AnsiColor::Red.on_default().bold(),
            Level::Warning => AnsiColor::Yellow.on_default(),
            Level::Info => Style::new().dimmed(),
            Level::Ok => AnsiColor::Green.on_default(),
        };
        let subject = printable_name(subject);
        if LEVEL_WIDTH + display_width(&subject) <= width || width == MAX_WIDTH {
            writeln!(out, "{style}{:<LEVEL_WIDTH$}{style:#}{subject}", level.name())?;
        } else {
            writeln!(out, "{style}{}{style:#}", level.name())?;
            for line in fold(&subject, width - margin.len()) {
                writeln!(out, "{margin}{line}")?;
            }
        }
        for line in fold(&printable_lines(message), width - margin.len()) {
            writeln!(out, "{margin}{line}")?;
        }
        // Commands are not folded, so that they can be copied.
        if let Some(line) = reproduce {
            writeln!(out, "{margin}$ {}", printable_name(line))?;
        }
        if let Some(fix) = fix {
            writeln!(out, "{margin}> {}", printable_name(fix))?;
        }
    }
    writeln!(out, "{}, {}", counted(errors, "error"), counted(warnings, "warning"))?;
    out.flush()
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
