//! The report for people: what both ways cost, what a model sees, the proof. 80 columns wide.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use portion_telemetry::show::{TextCell, TextTable};

use super::report::{Comparison, Cost, Proof, Report, Retrieval, Step, duration_text, grouped};
use crate::cli::terminal::{self, fold};

/// Columns of the page.
pub(super) const WIDTH: usize = 80;
/// Columns of the narrowest page.
const MIN_WIDTH: usize = 20;
/// Columns of the margin and the rule of an excerpt.
const EXCERPT_MARGINS: usize = 4;
/// Columns of a rule beside its title and its line.
const RULE_ENDS: usize = 5;
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

/// The page that is written, and its columns.
struct Page<'a> {
    out: &'a mut dyn Write,
    width: usize,
}

/// Prints the whole report, at most 80 columns wide.
pub(super) fn write(report: &Report, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let page = &mut Page { out, width: width.clamp(MIN_WIDTH, WIDTH) };
    page.blank()?;
    page.text(&format!("{BOLD}Portion{BOLD:#}   one MCP server, called directly and through Portion"))?;
    for comparison in [&report.list, &report.log, &report.bookings] {
        page.comparison(comparison)?;
    }
    page.retrieval(&report.rules)?;
    page.proofs([&report.list.proof, &report.log.proof, &report.bookings.proof], report.tokenizer)?;
    page.blank()?;
    page.text(&format!(
        "Try yours:  {CALL}portion wrap -- COMMAND{CALL:#}  {FAINT}(COMMAND starts your MCP server){FAINT:#}"
    ))?;
    page.blank()
}

impl Page<'_> {
    /// Returns true if the tables do not fit.
    fn is_narrow(&self) -> bool {
        self.width < WIDTH
    }

    fn excerpt_width(&self) -> usize {
        self.width - EXCERPT_MARGINS
    }

    fn blank(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    /// Writes a text, folded if it is too long.
    fn text(&mut self, text: &str) -> io::Result<()> {
        fold(text, self.width - TABLE_MARGIN).iter().try_for_each(|line| writeln!(self.out, "  {line}"))
    }

    fn comparison(&mut self, comparison: &Comparison) -> io::Result<()> {
        let Comparison { tool, directly, first, next, .. } = comparison;
        self.rule(&format!("{tool}()"))?;
        if self.is_narrow() {
            for (way, cost, style) in [("directly", directly, BAD), ("through Portion", &first.cost, GOOD)] {
                let (tokens, bytes) = (grouped(cost.tokens), grouped(cost.bytes));
                let time = duration_text(cost.milliseconds);
                self.text(&format!(
                    "{BOLD}{way}{BOLD:#} {style}{tokens} tokens{style:#}, {bytes} bytes, {time}"
                ))?;
            }
        } else {
            let mut table = TextTable::new(TABLE_MARGIN, COLUMN_GAP);
            table.row(["", "tokens", "bytes", "time"].map(|head| right(head, FAINT)));
            table.row(cost_cells("directly", directly, directly.tokens, BAD));
            table.row(cost_cells("through Portion", &first.cost, directly.tokens, GOOD));
            write!(self.out, "{table}")?;
        }
        let (tokens, windows) =
            (directly.tokens as f64, directly.tokens as f64 / CONTEXT_WINDOW_TOKENS as f64);
        self.blank()?;
        self.text(&format!(
            "{GOOD}{:.0} times fewer tokens.{GOOD:#} The plain answer is {windows:.1} context windows of {}.",
            tokens / first.cost.tokens.max(1) as f64,
            grouped(CONTEXT_WINDOW_TOKENS),
        ))?;
        self.blank()?;
        self.text(&format!("{BOLD}{}{BOLD:#}", first.title))?;
        let ((text_rows, notice_rows), width) = (FIRST_ROWS, self.excerpt_width());
        self.excerpt(&terminal::excerpt_lines(&first.text, text_rows, width), PLAIN)?;
        self.excerpt(&terminal::wrap(&first.notice, notice_rows, width), NOTICE)?;
        next.iter().try_for_each(|step| self.step(step))
    }

    fn retrieval(&mut self, rules: &Retrieval) -> io::Result<()> {
        self.rule("Retrieved rules, by the budgeted client (portion fetch)")?;
        self.text(&format!("{CALL}{}{CALL:#}", rules.call))?;
        self.text(&format!(
            "{} chunks, {} tokens → {GOOD}{} best ones, {} of {}{GOOD:#}; {} left out",
            rules.chunks,
            grouped(rules.directly.tokens),
            rules.kept,
            grouped(rules.tokens),
            grouped(rules.budget),
            rules.dropped,
        ))?;
        let width = self.excerpt_width();
        self.excerpt(&terminal::wrap(&rules.best, 2, width), PLAIN)
    }

    fn step(&mut self, step: &Step) -> io::Result<()> {
        let cost = format!("{} tokens, {}", grouped(step.cost.tokens), duration_text(step.cost.milliseconds));
        let used = TABLE_MARGIN + step.title.chars().count() + cost.chars().count();
        self.blank()?;
        if used < self.width {
            let gap = " ".repeat(self.width - used);
            writeln!(self.out, "  {BOLD}{}{BOLD:#}{gap}{FAINT}{cost}{FAINT:#}", step.title)?;
        } else {
            self.text(&format!("{BOLD}{}{BOLD:#}", step.title))?;
            self.text(&format!("{FAINT}{cost}{FAINT:#}"))?;
        }
        self.text(&format!("{CALL}{}{CALL:#}", step.call))?;
        let width = self.excerpt_width();
        self.excerpt(&terminal::excerpt_lines(&step.text, NEXT_ROWS, width), PLAIN)
    }

    fn excerpt(&mut self, lines: &[String], style: Style) -> io::Result<()> {
        lines.iter().try_for_each(|line| writeln!(self.out, "  {FAINT}│{FAINT:#} {style}{line}{style:#}"))
    }

    fn proofs(&mut self, proofs: [&Proof; 3], tokenizer: &str) -> io::Result<()> {
        self.rule("Nothing is lost")?;
        let mut table = TextTable::new(TABLE_MARGIN, COLUMN_GAP);
        for proof in proofs {
            let (verdict, style) =
                if proof.identical { ("identical ✓", GOOD) } else { ("DIFFERENT ✗", BAD) };
            let portions = format!("all {} {}", grouped(proof.portions), proof.portions_are);
            let units = format!("{} {}", grouped(proof.units), proof.units_are);
            let (bytes, time) =
                (format!("{} bytes", grouped(proof.bytes)), duration_text(proof.milliseconds));
            if self.is_narrow() {
                self.text(&format!(
                    "{BOLD}{portions}{BOLD:#}: {units}, {bytes}, {time}: {style}{verdict}{style:#}"
                ))?;
                continue;
            }
            table.row([
                left(portions, BOLD),
                right(units, PLAIN),
                right(bytes, PLAIN),
                right(time, PLAIN),
                left(verdict, style),
            ]);
        }
        write!(self.out, "{table}")?;
        self.blank()?;
        for Proof { portions_are, largest_tokens, sha256, .. } in proofs {
            let largest = grouped(*largest_tokens);
            self.text(&format!(
                "{FAINT}{portions_are:<6} joined: sha256 {sha256:.24}…, none above {largest} tokens{FAINT:#}",
            ))?;
        }
        self.text(&format!("{FAINT}Tokens are counted by {tokenizer}.{FAINT:#}"))
    }

    fn rule(&mut self, title: &str) -> io::Result<()> {
        self.blank()?;
        match self.width.checked_sub(RULE_ENDS + title.chars().count()) {
            Some(rest) => {
                let rest = "━".repeat(rest);
                writeln!(self.out, "  {FAINT}━{FAINT:#} {BOLD}{title}{BOLD:#} {FAINT}{rest}{FAINT:#}")?;
            }
            None => self.text(&format!("{FAINT}━{FAINT:#} {BOLD}{title}{BOLD:#}"))?,
        }
        self.blank()
    }
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

#[cfg(test)]
mod tests {
    use portion_tokens::Tokenizer;

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

    fn written(identical: bool, width: usize) -> String {
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
        let report = Report {
            tokenizer: Tokenizer::MEASURE.counter().name(),
            list,
            log: comparison(identical),
            bookings,
            rules,
        };
        let mut out = Vec::new();
        write(&report, width, &mut anstream::StripStream::new(&mut out)).expect("memory can be written");
        String::from_utf8(out).expect("text is UTF-8")
    }

    #[test]
    fn fits_the_page() {
        for width in [40, 60, WIDTH] {
            let text = written(true, width);
            let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > width).collect();
            assert_eq!(wide, Vec::<&str>::new());
            assert!(text.contains("1,234,567"), "{width}");
        }
    }

    #[test]
    fn says_when_something_is_lost() {
        assert_eq!(written(true, WIDTH).matches("identical ✓").count(), 3);
        assert!(written(false, 40).contains("DIFFERENT ✗"));
    }

    #[test]
    fn bars_are_in_proportion() {
        for (part, expect) in [(0, 1), (1, 1), (500, 12), (1_000, BAR_WIDTH)] {
            assert_eq!(bar(part, 1_000).chars().count(), expect, "{part}");
        }
    }
}
