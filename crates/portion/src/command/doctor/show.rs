//! Prints findings.

use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};
use serde_json::json;

use super::finding::{Finding, Level};

/// Prints the findings: errors first, then by check.
pub(super) fn print(findings: &[Finding], as_json: bool) -> io::Result<()> {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| finding.level);
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    let (errors, warnings) = (count(Level::Error), count(Level::Warning));
    if as_json {
        let report = json!({"errors": errors, "warnings": warnings, "findings": sorted});
        return writeln!(io::stdout().lock(), "{report:#}");
    }
    let mut out = anstream::stdout().lock();
    for Finding { level, subject, message, fix, .. } in sorted {
        let style = match level {
            Level::Error => AnsiColor::Red.on_default().bold(),
            Level::Warning => AnsiColor::Yellow.on_default(),
            Level::Info => Style::new().dimmed(),
            Level::Ok => AnsiColor::Green.on_default(),
        };
        writeln!(out, "{style}{:<8}{style:#}{subject}", level.name())?;
        for line in wrapped(message) {
            writeln!(out, "        {line}")?;
        }
        if let Some(fix) = fix {
            writeln!(out, "        > {fix}")?;
        }
    }
    writeln!(out, "{}, {}", counted(errors, "error"), counted(warnings, "warning"))?;
    out.flush()
}

/// Breaks a message into lines of at most 72 characters, between words.
fn wrapped(message: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in message.lines() {
        let mut line = String::new();
        for word in part.split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > 72 {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
