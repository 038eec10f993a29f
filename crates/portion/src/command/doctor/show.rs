//! Prints findings.

use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};
use portion_text::counted::counted;
use portion_text::printable::{printable_lines, printable_name};
use portion_text::width::display_width;
use serde_json::json;

use super::finding::{Finding, Level};
use crate::terminal::{columns, fold, print_stdout};

/// Columns of the report.
const MAX_WIDTH: usize = 80;
/// Columns that are used even of a narrower terminal.
const MIN_WIDTH: usize = 20;
/// Columns of the level in front of a subject.
const LEVEL_WIDTH: usize = 8;

/// Prints the findings: errors first, then by check.
pub(super) fn print(findings: &[Finding], as_json: bool) -> io::Result<()> {
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
