//! The report for people: what both ways cost, what a model sees, the proof. 80 columns wide.
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use portion_telemetry::show::{TextCell, TextTable};

use super::figures::{duration_text, grouped};
use super::report::{Comparison, Cost, Proof, Report, Retrieval, Step};
use crate::command::excerpt;

/// Columns of the page.
const WIDTH: usize = 80;
/// Columns left beside the margin and the rule of an excerpt.
const EXCERPT_WIDTH: usize = WIDTH - 4;
/// Rows of the first portion and of its notice.
const FIRST_ROWS: (usize, usize) = (10, 5);
/// Rows of what came after.
const NEXT_ROWS: usize = 5;
/// Columns of the bars that compare tokens.
const BAR_WIDTH: usize = 24;
/// Spaces before a table, and between its columns.
const TABLE_MARGIN: usize = 2;
const COLUMN_GAP: usize = 3;
/// Tokens that many models can read at once, to compare with.
const CONTEXT_WINDOW_TOKENS: usize = 200_000;

const PLAIN: Style = Style::new();
const BOLD: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const CALL: Style = AnsiColor::Cyan.on_default();
const NOTICE: Style = AnsiColor::Yellow.on_default();

/// Prints the whole report.
pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n  {BOLD}Portion{BOLD:#}   one MCP server, called directly and through Portion")?;
    for comparison in [&report.list, &report.log, &report.bookings] {
        write_comparison(comparison, out)?;
    }
    write_retrieval(&report.rules, out)?;
    write_proofs([&report.list.proof, &report.log.proof, &report.bookings.proof], out)?;
    writeln!(
        out,
        "\n  Try yours:  {CALL}portion wrap -- COMMAND{CALL:#}  {FAINT}(COMMAND starts your MCP server){FAINT:#}\n"
    )
}

fn write_comparison(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let Comparison { tool, directly, first, next, .. } = comparison;
    write_rule(&format!("{tool}()"), out)?;
    let mut table = TextTable::new(TABLE_MARGIN, COLUMN_GAP);
    table.row(["", "tokens", "bytes", "time"].map(|head| right(head, FAINT)));
    table.row(cost_cells("directly", directly, directly.tokens, BAD));
    table.row(cost_cells("through Portion", &first.cost, directly.tokens, GOOD));
    write!(out, "{table}")?;
    let (tokens, windows) = (directly.tokens as f64, directly.tokens as f64 / CONTEXT_WINDOW_TOKENS as f64);
    writeln!(
        out,
        "\n  {GOOD}{:.0} times fewer tokens.{GOOD:#} The plain answer is {windows:.1} context windows of {}.",
        tokens / first.cost.tokens.max(1) as f64,
        grouped(CONTEXT_WINDOW_TOKENS),
    )?;

    writeln!(out, "\n  {BOLD}{}{BOLD:#}", first.title)?;
    let (text_rows, notice_rows) = FIRST_ROWS;
    write_excerpt(&excerpt::excerpt_lines(&first.text, text_rows, EXCERPT_WIDTH), PLAIN, out)?;
    write_excerpt(&excerpt::wrap(&first.notice, notice_rows, EXCERPT_WIDTH), NOTICE, out)?;
    next.iter().try_for_each(|step| write_step(step, out))
}

fn write_retrieval(rules: &Retrieval, out: &mut dyn Write) -> io::Result<()> {
    write_rule("Retrieved rules, by the budgeted client (portion fetch)", out)?;
    writeln!(out, "  {CALL}{}{CALL:#}", rules.call)?;
    writeln!(
        out,
        "  {} chunks, {} tokens → {GOOD}{} best ones, {} of {}{GOOD:#}; {} left out",
        rules.chunks,
        grouped(rules.directly.tokens),
        rules.kept,
        grouped(rules.tokens),
        grouped(rules.budget),
        rules.dropped,
    )?;
    write_excerpt(&excerpt::wrap(&rules.best, 2, EXCERPT_WIDTH), PLAIN, out)
}

fn left(text: impl Into<String>, style: Style) -> TextCell {
    TextCell::left(text).styled(style.render(), style.render_reset())
}

fn right(text: impl Into<String>, style: Style) -> TextCell {
    TextCell::right(text).styled(style.render(), style.render_reset())
}

fn cost_cells(way: &str, cost: &Cost, of: usize, style: Style) -> [TextCell; 5] {
    [
        left(way, BOLD),
        right(grouped(cost.tokens), style),
        right(grouped(cost.bytes), PLAIN),
        right(duration_text(cost.milliseconds), PLAIN),
        left(bar(cost.tokens, of), style),
    ]
}

/// A bar in proportion to `part` of `whole`, in eighths of a column, and never nothing.
fn bar(part: usize, whole: usize) -> String {
    let eighths = (part * BAR_WIDTH * 8).div_ceil(whole.max(1)).clamp(1, BAR_WIDTH * 8);
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    "█".repeat(eighths / 8) + rest
}

fn write_step(step: &Step, out: &mut dyn Write) -> io::Result<()> {
    let cost = format!("{} tokens, {}", grouped(step.cost.tokens), duration_text(step.cost.milliseconds));
    let gap = " ".repeat((WIDTH - 2).saturating_sub(step.title.chars().count() + cost.chars().count()));
    writeln!(out, "\n  {BOLD}{}{BOLD:#}{gap}{FAINT}{cost}{FAINT:#}", step.title)?;
    writeln!(out, "  {CALL}{}{CALL:#}", step.call)?;
    write_excerpt(&excerpt::excerpt_lines(&step.text, NEXT_ROWS, EXCERPT_WIDTH), PLAIN, out)
}

fn write_excerpt(lines: &[String], style: Style, out: &mut dyn Write) -> io::Result<()> {
    lines.iter().try_for_each(|line| writeln!(out, "  {FAINT}│{FAINT:#} {style}{line}{style:#}"))
}

fn write_proofs(proofs: [&Proof; 3], out: &mut dyn Write) -> io::Result<()> {
    write_rule("Nothing is lost", out)?;
    let mut table = TextTable::new(TABLE_MARGIN, COLUMN_GAP);
    for proof in proofs {
        let verdict = if proof.identical { ("identical ✓", GOOD) } else { ("DIFFERENT ✗", BAD) };
        table.row([
            left(format!("all {} {}", grouped(proof.portions), proof.portions_are), BOLD),
            right(format!("{} {}", grouped(proof.units), proof.units_are), PLAIN),
            right(format!("{} bytes", grouped(proof.bytes)), PLAIN),
            right(duration_text(proof.milliseconds), PLAIN),
            left(verdict.0, verdict.1),
        ]);
    }
    write!(out, "{table}")?;
    writeln!(out)?;
    for Proof { portions_are, largest_tokens, sha256, .. } in proofs {
        let largest = grouped(*largest_tokens);
        writeln!(
            out,
            "  {FAINT}{portions_are:<6} joined: sha256 {sha256:.24}…, none above {largest} tokens{FAINT:#}",
        )?;
    }
    Ok(())
}

fn write_rule(title: &str, out: &mut dyn Write) -> io::Result<()> {
    let rest = "━".repeat(WIDTH.saturating_sub(5 + title.chars().count()));
    writeln!(out, "\n  {FAINT}━{FAINT:#} {BOLD}{title}{BOLD:#} {FAINT}{rest}{FAINT:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(identical: bool) -> Comparison {
        let cost = Cost { tokens: 1_234_567, bytes: 123_456_789, milliseconds: 59_999.0 };
        let step = |title| Step {
            title,
            call: "portion_read(cursor, startLine=10000, endLine=10008)".into(),
            cost,
            text: format!("[{{\"a\":\"{0}\"}},{{\"b\":\"{0}\"}}]", "long ".repeat(50)),
            notice: "{\"nextCursor\":\"…\"}".repeat(40),
        };
        let proof = Proof {
            portions_are: "chunks",
            portions: 1_000,
            units_are: "schools",
            units: 10_000,
            largest_tokens: 11_999,
            bytes: 10_000_000,
            sha256: "0123456789abcdef".repeat(4),
            identical,
            milliseconds: 59_999.0,
        };
        Comparison {
            tool: "search_schools",
            directly: cost,
            first: step("The first page"),
            next: vec![step("Next")],
            proof,
        }
    }

    fn written(identical: bool) -> String {
        let rules = Retrieval {
            call: "search_rules(query=\"deposit late arrival\")".into(),
            directly: comparison(true).directly,
            budget: 8_192,
            chunks: 100,
            kept: 100,
            dropped: 100,
            tokens: 8_192,
            best: "rule ".repeat(100),
        };
        let (list, bookings) = (comparison(true), comparison(true));
        let report = Report { tokenizer: "o200k", list, log: comparison(identical), bookings, rules };
        let mut out = Vec::new();
        write(&report, &mut anstream::StripStream::new(&mut out)).expect("memory can be written");
        String::from_utf8(out).expect("text is UTF-8")
    }

    #[test]
    fn fits_the_page() {
        let text = written(true);
        let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > WIDTH).collect();
        assert_eq!(wide, Vec::<&str>::new());
    }

    #[test]
    fn says_when_something_is_lost() {
        assert_eq!(written(true).matches("identical ✓").count(), 3);
        assert!(written(false).contains("DIFFERENT ✗"));
    }

    #[test]
    fn bars_are_in_proportion() {
        for (part, expect) in [(0, 1), (1, 1), (500, 12), (1_000, BAR_WIDTH)] {
            assert_eq!(bar(part, 1_000).chars().count(), expect, "{part}");
        }
    }
}
