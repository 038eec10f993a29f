//! Measures the replies to one call, and prints comparisons, for people in at most 80 columns and as JSON.

use std::ffi::OsString;
use std::io::{self, Write as _};

use anstyle::Style;
use portion_client::check::{Observation, Tool};
use portion_telemetry::show::grouped;
use portion_text::display::{counted, printable_name};
use portion_tokens::Tokenizer;
use serde_json::{Value, json};

use super::{Call, tool_options};
use crate::cli::terminal::{columns, excerpt_lines, fold, print_stdout};
use crate::run::stdio_client::ToolResponse;

/// Commands that are printed.
const MAX_COMMANDS: usize = 5;
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

/// The tools that were not called.
#[derive(Debug)]
pub(super) struct Uncalled {
    /// Names, each with the command that calls it.
    commands: Vec<(String, String)>,
    /// Names of those that may write.
    writers: Vec<String>,
}

impl Uncalled {
    /// Creates the commands for tools, with the arguments that they lack.
    pub(super) fn new(tools: &[(Tool, Vec<String>)], writers: Vec<String>, server: &[OsString]) -> Self {
        let server: Vec<String> = server.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let server = shlex::try_join(server.iter().map(String::as_str)).unwrap_or_else(|_| server.join(" "));
        let command = |(tool, missing): &(Tool, Vec<String>)| {
            let options = tool_options(tool, !missing.is_empty());
            (tool.name.clone(), format!("portion try {options} -- {server}"))
        };
        Self { commands: tools.iter().map(command).collect(), writers }
    }

    fn write(&self, out: &mut impl io::Write, width: usize) -> io::Result<()> {
        if !self.commands.is_empty() {
            writeln!(out, "Not called, with the command that does:")?;
        }
        // Commands are not folded, so that they can be copied.
        for (_, command) in self.commands.iter().take(MAX_COMMANDS) {
            writeln!(out, "  {}", printable_name(command))?;
        }
        if let Some(more) = self.commands.len().checked_sub(MAX_COMMANDS).filter(|more| *more > 0) {
            let names = self.commands.iter().skip(MAX_COMMANDS).map(|(name, _)| name.as_str());
            let text =
                format!("  and {}: {}", counted(more, "more tool"), names.collect::<Vec<_>>().join(", "));
            fold(&printable_name(&text), width).iter().try_for_each(|line| writeln!(out, "{line}"))?;
        }
        if !self.writers.is_empty() {
            let text = format!(
                "Not called, because they may write (--tool NAME --allow-writes calls one): {}",
                self.writers.join(", ")
            );
            fold(&printable_name(&text), width).iter().try_for_each(|line| writeln!(out, "{line}"))?;
        }
        Ok(())
    }
}

/// A measured reply, or why there is none.
pub(super) type Reply = Result<Measured, String>;

/// Cost of a reply, and the text that a model reads.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) tokens: usize,
    /// Bytes on the wire.
    pub(super) bytes: usize,
    pub(super) milliseconds: f64,
    /// The first text.
    pub(super) text: String,
    /// True if Portion says that something is missing.
    pub(super) is_shortened: bool,
}

/// A call, directly and through Portion.
#[derive(Clone, Debug)]
pub(super) struct Comparison {
    pub(super) call: Call,
    pub(super) direct: Reply,
    pub(super) portion: Reply,
}

impl Comparison {
    /// Returns true if both calls have a reply.
    pub(super) fn is_complete(&self) -> bool {
        self.direct.is_ok() && self.portion.is_ok()
    }

    fn is_shortened(&self) -> bool {
        self.portion.as_ref().is_ok_and(|reply| reply.is_shortened)
    }

    /// Returns how many times fewer tokens Portion served; `None` if the reply passed unchanged.
    pub(super) fn ratio(&self) -> Option<f64> {
        let (Ok(direct), Ok(portion)) = (&self.direct, &self.portion) else { return None };
        (portion.tokens > 0 && direct.tokens > portion.tokens)
            .then(|| direct.tokens as f64 / portion.tokens as f64)
    }
}

/// Measures a reply: of its text and its `structuredContent` the one that costs more. A result without both costs its JSON.
pub(super) fn measure(response: &ToolResponse) -> Measured {
    let counter = Tokenizer::MEASURE.counter();
    let result: Value = serde_json::from_str(response.result.get()).unwrap_or_default();
    let observation = Observation::from_result(&result);
    let shown = Some(observation.shown()).filter(|texts| !texts.is_empty());
    let shown = shown.unwrap_or_else(|| vec![response.result.get()]);
    Measured {
        tokens: shown.iter().map(|text| counter.count(text)).sum(),
        bytes: response.bytes,
        milliseconds: response.elapsed.as_secs_f64() * 1_000.0,
        text: shown.first().map(|text| (*text).to_owned()).unwrap_or_default(),
        is_shortened: result.pointer("/_meta/io.portion~1notice").is_some(),
    }
}

/// Returns the tokens of all calls that both ways answered, in a sentence.
fn total(comparisons: &[Comparison]) -> String {
    let pairs =
        comparisons.iter().filter_map(|one| Some((one.direct.as_ref().ok()?, one.portion.as_ref().ok()?)));
    let (direct, portion) =
        pairs.fold((0, 0), |sum, (direct, portion)| (sum.0 + direct.tokens, sum.1 + portion.tokens));
    let called = counted(comparisons.len(), "tool");
    let tokens =
        format!("{} tokens directly, {} through Portion", grouped(direct as u64), grouped(portion as u64));
    let ratio = direct as f64 / portion.max(1) as f64;
    let figure = if ratio >= 1.05 {
        format!("{ratio:.1} times fewer")
    } else {
        "small results stay as they are, and portion demo shows large ones".into()
    };
    format!("{called} called: {tokens}; {figure}.")
}

pub(super) fn print(comparisons: &[Comparison], uncalled: &Uncalled, as_json: bool) -> io::Result<()> {
    if as_json {
        let calls: Vec<Value> = comparisons.iter().map(to_json).collect();
        let left: Vec<Value> = uncalled
            .commands
            .iter()
            .map(|(name, command)| json!({"tool": name, "command": command}))
            .collect();
        let report = json!({
            "tokenizer": Tokenizer::MEASURE.counter().name(), "calls": calls, "left": left.len(),
            "notCalled": left, "mayWrite": uncalled.writers,
        });
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
            (true, _) if comparison.is_shortened() => "not smaller".to_owned(),
            (true, _) => "small: not shortened".to_owned(),
        };
        write_reply(&mut out, "through Portion", &comparison.portion, &note, width)?;
        writeln!(out)?;
    }
    uncalled.write(&mut out, width)?;
    let last = format!("{} Tokens are counted by {}.", total(comparisons), Tokenizer::MEASURE);
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
