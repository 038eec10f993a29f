//! Prints comparisons, for people in at most 80 columns and as JSON.

use std::io::{self, Write as _};

use anstyle::Style;
use portion_telemetry::show::grouped;
use portion_text::counted::counted;
use portion_text::printable::printable_name;
use portion_tokens::Tokenizer;
use serde_json::{Value, json};

use super::comparison::{Comparison, Reply};
use crate::command::excerpt::excerpt_lines;
use crate::terminal::{columns, fold, print_stdout};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
/// Lines shown of a reply.
const LINES: usize = 4;
/// Columns of the report.
const WIDTH: usize = 80;
/// Columns in which the figures of a reply are on one line.
const LINE_WIDTH: usize = 72;
/// Columns that an excerpt leaves free.
const MARGINS: usize = 6;

pub(super) fn print(comparisons: &[Comparison], omitted_count: usize, as_json: bool) -> io::Result<()> {
    if as_json {
        let calls: Vec<Value> = comparisons.iter().map(to_json).collect();
        let report =
            json!({"tokenizer": Tokenizer::MEASURE.counter().name(), "calls": calls, "left": omitted_count});
        return print_stdout(&format!("{report:#}\n"));
    }
    let mut out = anstream::stdout().lock();
    let width = columns(WIDTH);
    for comparison in comparisons {
        let arguments = Value::Object(comparison.call.arguments.clone());
        let arguments =
            if comparison.call.arguments.is_empty() { String::new() } else { arguments.to_string() };
        let call = printable_name(&format!("{}({arguments})", comparison.call.tool));
        for line in fold(&call, width) {
            writeln!(out, "{BOLD}{line}{BOLD:#}")?;
        }
        write_reply(&mut out, "directly", &comparison.direct, "", width)?;
        let note = match (comparison.is_complete(), comparison.ratio()) {
            (false, _) => String::new(),
            (true, Some(ratio)) if ratio >= 1.05 => format!("{ratio:.1} times fewer"),
            (true, _) => "small: not shortened".to_owned(),
        };
        write_reply(&mut out, "through Portion", &comparison.portion, &note, width)?;
        writeln!(out)?;
    }
    let mut last = format!("Tokens are counted by {}.", Tokenizer::MEASURE);
    if omitted_count > 0 {
        last = format!("{last} {} can be tried with --tool NAME.", counted(omitted_count, "more tool"));
    }
    for line in fold(&last, width) {
        writeln!(out, "{line}")?;
    }
    out.flush()
}

fn write_reply(
    out: &mut impl io::Write,
    way: &str,
    reply: &Reply,
    note: &str,
    width: usize,
) -> io::Result<()> {
    let excerpt = |text: &str| excerpt_lines(text, LINES, width.saturating_sub(MARGINS).max(1));
    let measured = match reply {
        Ok(measured) => measured,
        Err(error) => {
            writeln!(out, "  {way:<16} failed")?;
            for line in excerpt(error) {
                writeln!(out, "    {line}")?;
            }
            return Ok(());
        }
    };
    let (tokens, bytes) = (grouped(measured.tokens as u64), grouped(measured.bytes as u64));
    if width < LINE_WIDTH {
        writeln!(out, "  {way}")?;
        for figure in [format!("{tokens} tokens"), format!("{bytes} bytes"), note.to_owned()] {
            if !figure.is_empty() {
                writeln!(out, "    {figure}")?;
            }
        }
    } else {
        let space = if note.is_empty() { "" } else { "  " };
        writeln!(out, "  {way:<16} {tokens:>10} tokens {bytes:>12} bytes{space}{note}")?;
    }
    for line in excerpt(&measured.text) {
        writeln!(out, "    {DIM}{line}{DIM:#}")?;
    }
    Ok(())
}

fn to_json(comparison: &Comparison) -> Value {
    let reply = |reply: &Reply| match reply {
        Ok(one) => json!({"tokens": one.tokens, "bytes": one.bytes, "milliseconds": one.milliseconds}),
        Err(error) => json!({"error": error}),
    };
    json!({
        "tool": comparison.call.tool,
        "arguments": comparison.call.arguments,
        "directly": reply(&comparison.direct),
        "portion": reply(&comparison.portion),
    })
}
