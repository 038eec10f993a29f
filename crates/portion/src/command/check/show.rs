//! Prints the report, for people in at most 80 columns and as JSON.

use std::io::{self, Write as _};

use anstyle::Style;
use portion_client::check::{Estimate, Evidence, Finding, Proposal};
use portion_telemetry::show::grouped;
use portion_text::display::{counted, printable_lines, printable_name};
use portion_tokens::Tokenizer;
use serde_json::{Map, Value, json};

use super::WrittenFile;
use super::session::{CheckedTool, Report};
use crate::cli::terminal::{columns, fold, folded, print_stdout};

const BOLD: Style = Style::new().bold();
/// Columns of the report.
const MAX_WIDTH: usize = 80;
/// Columns that are used even of a narrower terminal.
const MIN_WIDTH: usize = 30;
/// Column at which texts begin.
const TEXT_COLUMN: usize = 14;
/// Columns of the name of a text, after two spaces.
const NAME_WIDTH: usize = TEXT_COLUMN - 2;
const INDENT: usize = 2;

pub(super) fn print(report: &Report, written: Option<&WrittenFile>, as_json: bool) -> io::Result<()> {
    if as_json {
        return print_stdout(&format!("{:#}\n", to_json(report, written)));
    }
    let mut out = anstream::stdout().lock();
    let width = columns(MAX_WIDTH).max(MIN_WIDTH);
    for checked in &report.checked {
        writeln!(out, "{BOLD}{}{BOLD:#}", printable_name(&checked.tool.name))?;
        let facts = match &checked.outcome {
            Ok(finding) => describe(finding),
            Err(error) => vec![("failed", error.clone())],
        };
        for (name, text) in facts {
            write_fact(&mut out, name, &text, width)?;
        }
        writeln!(out)?;
    }
    for skipped in &report.skipped {
        let text = format!("{}: not called; {}", skipped.name, skipped.reason);
        for line in fold(&printable_name(&text), width) {
            writeln!(out, "{line}")?;
        }
    }
    for sentence in &report.excesses {
        for line in fold(&printable_name(&format!("warning: {sentence}")), width) {
            writeln!(out, "{line}")?;
        }
    }
    if !report.skipped.is_empty() || !report.excesses.is_empty() {
        writeln!(out)?;
    }
    write_proposals(&mut out, report, written)?;
    if let Some(profile) = report.profile {
        let offer = format!(
            "These are tools of the profile {0}, which has rules for them: portion wrap --profile {0} -- CMD, or \
             portion install SERVER --profile {0}",
            profile.name
        );
        write!(out, "\n{}", folded(&offer))?;
    }
    out.flush()
}

/// Writes a fact with its name beside its first line.
fn write_fact(out: &mut impl io::Write, name: &str, text: &str, width: usize) -> io::Result<()> {
    let mut lines = fold(&printable_lines(text), width - TEXT_COLUMN).into_iter();
    let first = lines.next().unwrap_or_default();
    writeln!(out, "  {name:<NAME_WIDTH$}{first}")?;
    lines.try_for_each(|line| writeln!(out, "{:TEXT_COLUMN$}{line}", ""))
}

fn write_proposals(
    out: &mut impl io::Write,
    report: &Report,
    written: Option<&WrittenFile>,
) -> io::Result<()> {
    let proposals: Vec<(&Proposal, String)> = findings(report)
        .filter(|finding| !finding.proposal.is_empty())
        .map(|finding| (&finding.proposal, comment(finding)))
        .collect();
    if proposals.is_empty() {
        return write_no_proposal(out, report, written);
    }
    let Some(WrittenFile { file, written, .. }) = written else {
        let title = folded("Proposed configuration (add it with --write portion.yaml):");
        writeln!(out, "{title}\nendpoints:")?;
        for (proposal, comment) in proposals {
            writeln!(out, "  # {comment}")?;
            for line in proposal.to_yaml(INDENT) {
                writeln!(out, "{line}")?;
            }
        }
        return Ok(());
    };
    if !written.added.is_empty() {
        let added = format!("Added to {}: {}", file.display(), written.added.join(", "));
        write!(out, "{}", folded(&printable_name(&added)))?;
    }
    if !written.kept.is_empty() {
        let kept = format!("Kept as they are in {}: {}", file.display(), written.kept.join(", "));
        write!(out, "{}", folded(&printable_name(&kept)))?;
    }
    Ok(())
}

/// Says that nothing is proposed, and what became of the file.
fn write_no_proposal(
    out: &mut impl io::Write,
    report: &Report,
    written: Option<&WrittenFile>,
) -> io::Result<()> {
    let (called, all) = (findings(report).count(), report.checked.len() + report.skipped.len());
    let tools = counted(all, "tool");
    let message = match called {
        0 => "Nothing to propose: no tool was checked.".to_owned(),
        called if called == all => format!("{called} of {tools} called: the defaults fit."),
        called => {
            format!("{called} of {tools} called: the defaults fit. Call others with --args TOOL=JSON.")
        }
    };
    write!(out, "{}", folded(&message))?;
    match written {
        Some(WrittenFile { file, is_new: true, .. }) => {
            writeln!(out, "Made {} without settings.", file.display())
        }
        Some(WrittenFile { file, .. }) if file.exists() => {
            writeln!(out, "{} stays as it is.", file.display())
        }
        Some(WrittenFile { file, .. }) => writeln!(out, "{} was not made.", file.display()),
        None => Ok(()),
    }
}

fn findings(report: &Report) -> impl Iterator<Item = &Finding> {
    report.checked.iter().filter_map(|checked| checked.outcome.as_ref().ok())
}

/// Returns the comment of an endpoint in the configuration.
pub(super) fn comment(finding: &Finding) -> String {
    let mut parts = Vec::new();
    if let Some(paging) = &finding.paging {
        parts.push(match (paging.total, paging.evidence) {
            (Some(total), Evidence::Checked) => {
                format!("a list in pages, checked; {} items by the tool's own count", grouped(total))
            }
            (None, Evidence::Checked) => "a list in pages, checked".to_owned(),
            (_, Evidence::Unchecked) => "a list in pages, not tested".to_owned(),
        });
    }
    parts.push(tokens(finding.estimate));
    parts.join("; ")
}

fn tokens(estimate: Estimate) -> String {
    let Estimate { direct, portion } = estimate;
    let (served, direct) = (grouped(portion as u64), grouped(direct as u64));
    let counter = Tokenizer::MEASURE;
    match estimate.saved_percent() {
        0 => format!("{direct} tokens ({counter}) a call, passed on as they are"),
        percent => format!("{served} of {direct} tokens ({counter}) a call, {percent} % less"),
    }
}

/// Returns the facts about a tool, each with its name.
fn describe(finding: &Finding) -> Vec<(&'static str, String)> {
    let mut facts = vec![("tokens", tokens(finding.estimate))];
    if let Some((count, pointer)) = &finding.list {
        let place = if pointer.is_empty() { "the root" } else { pointer };
        facts.push(("list", format!("{} items at {place}", grouped(*count as u64))));
    }
    if !finding.envelope.is_empty() {
        facts.push(("envelope", finding.envelope.join(", ")));
    }
    if let Some(paging) = &finding.paging {
        let settings: Vec<String> =
            paging.settings.iter().map(|(key, text)| format!("{key} {text}")).collect();
        let evidence = match paging.evidence {
            Evidence::Checked => "further calls returned the expected items",
            Evidence::Unchecked => "by names only: no further call could test it",
        };
        facts.push(("paging", format!("{} ({evidence})", settings.join(", "))));
    }
    if finding.is_rest_unreachable {
        facts.push((
            "paging",
            "the result says that there are more items, but no argument of the tool reaches them".to_owned(),
        ));
    }
    if let Some(truncation) = &finding.truncation {
        facts.push((
            "cut off",
            format!(
                "{truncation}. The server cut this result, and Portion cannot restore the rest: raise the server's limit, \
                 or ask for less"
            ),
        ));
    }
    if !finding.secrets.is_empty() {
        facts.push(("secrets", format!("{} (redact: secrets hides them)", finding.secrets.join(", "))));
    }
    if !finding.proposal.summary_fields.is_empty() {
        facts.push(("summary", finding.proposal.summary_fields.join(", ")));
    }
    facts
}

fn to_json(report: &Report, written: Option<&WrittenFile>) -> Value {
    let tools: Vec<Value> = report.checked.iter().map(tool_to_json).collect();
    let skipped: Vec<Value> = report
        .skipped
        .iter()
        .map(|skipped| json!({"tool": skipped.name, "reason": skipped.reason}))
        .collect();
    let proposals = findings(report).map(|finding| &finding.proposal).filter(|proposal| !proposal.is_empty());
    let endpoints: Map<String, Value> =
        proposals.map(|proposal| (proposal.tool.clone(), proposal.settings().into())).collect();
    let mut all = json!({
        "tokenizer": Tokenizer::MEASURE.counter().name(), "calls": report.calls, "tools": tools, "skipped": skipped, "endpoints": endpoints,
        "warnings": report.excesses,
        "profile": report.profile.map(|profile| profile.name),
    });
    if let Some(WrittenFile { file, is_new, written }) = written {
        all["written"] = json!({"file": file, "new": is_new, "added": written.added, "kept": written.kept});
    }
    all
}

fn tool_to_json(checked: &CheckedTool) -> Value {
    let (name, arguments) = (&checked.tool.name, &checked.arguments);
    let finding = match &checked.outcome {
        Ok(finding) => finding,
        Err(error) => return json!({"tool": name, "arguments": arguments, "error": error}),
    };
    let list = finding.list.as_ref().map(|(count, pointer)| json!({"items": count, "pointer": pointer}));
    let paging = finding.paging.as_ref().map(|paging| {
        let settings: Map<String, Value> = paging
            .settings
            .iter()
            .map(|(key, text)| ((*key).to_owned(), Value::from(text.as_str())))
            .collect();
        json!({"settings": settings, "total": paging.total, "checked": paging.evidence == Evidence::Checked})
    });
    json!({
        "tool": name,
        "arguments": arguments,
        "tokens": finding.estimate.direct,
        "tokensThroughPortion": finding.estimate.portion,
        "list": list,
        "envelope": finding.envelope,
        "paging": paging,
        "restUnreachable": finding.is_rest_unreachable,
        "cutOff": finding.truncation.as_ref().map(ToString::to_string),
        "secrets": finding.secrets,
    })
}
