//! Prints comparisons, for people in 80 columns and as JSON.

use std::io::{self, Write as _};

use anstyle::Style;
use portion_telemetry::show::grouped;
use serde_json::{Value, json};

use super::comparison::{Comparison, Reply};
use crate::command::excerpt::excerpt_lines;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
/// Lines shown of a reply.
const LINES: usize = 4;
/// Width of an excerpt, within 80 columns.
const WIDTH: usize = 74;

pub(super) fn print(comparisons: &[Comparison], omitted_count: usize, as_json: bool) -> io::Result<()> {
    if as_json {
        let calls: Vec<Value> = comparisons.iter().map(to_json).collect();
        return writeln!(
            io::stdout().lock(),
            "{:#}",
            json!({"tokenizer": "o200k", "calls": calls, "left": omitted_count})
        );
    }
    let mut out = anstream::stdout().lock();
    for comparison in comparisons {
        let arguments = Value::Object(comparison.call.arguments.clone());
        let arguments =
            if comparison.call.arguments.is_empty() { String::new() } else { arguments.to_string() };
        writeln!(out, "{BOLD}{}({arguments}){BOLD:#}", comparison.call.tool)?;
        write_reply(&mut out, "directly", &comparison.direct, "")?;
        let note = match (comparison.is_complete(), comparison.ratio()) {
            (false, _) => String::new(),
            (true, Some(ratio)) if ratio >= 1.05 => format!("  {ratio:.1} times fewer"),
            (true, _) => "  small: not shortened".to_owned(),
        };
        write_reply(&mut out, "through Portion", &comparison.portion, &note)?;
        writeln!(out)?;
    }
    if omitted_count > 0 {
        writeln!(out, "{omitted_count} more tools can be tried with --tool NAME.")?;
    }
    out.flush()
}

fn write_reply(out: &mut impl io::Write, way: &str, reply: &Reply, note: &str) -> io::Result<()> {
    let measured = match reply {
        Ok(measured) => measured,
        Err(error) => {
            writeln!(out, "  {way:<16} failed")?;
            for line in excerpt_lines(error, LINES, WIDTH) {
                writeln!(out, "    {line}")?;
            }
            return Ok(());
        }
    };
    let (tokens, bytes) = (grouped(measured.tokens as u64), grouped(measured.bytes as u64));
    writeln!(out, "  {way:<16} {tokens:>10} tokens {bytes:>12} bytes{note}")?;
    for line in excerpt_lines(&measured.text, LINES, WIDTH) {
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
