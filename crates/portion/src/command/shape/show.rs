//! The output of `portion shape`: the reply as a model gets it, reasons for people, and all of it as JSON; and the
//! answers to a program: each line of stdin is a result or a follow-up, each line of stdout its reply.

use std::io::{self, BufRead as _};
use std::process::ExitCode;
use std::sync::Arc;

use portion_config::Config;
use portion_core::policy::Policy;
use portion_core::render::{FirstReply, Portion};
use portion_core::snapshot::{Layout, Snapshot, Structure};
use portion_gateway::call::Fault;
use portion_telemetry::show::grouped;
use portion_text::display::counted;
use portion_tokens::{TextSize, TokenCounter, Tokenizer, estimate_size};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::CommandResult;
use crate::cli::failure::Failure;
use crate::cli::terminal::print_stdout;
use crate::run::shaper::{Shaped, Shaper, ToolName};

/// Largest file, in bytes, that is counted whole: takes about a second.
const MAX_COUNTED_BYTES: usize = 16 << 20;

/// A file, or the result of a query on it, with the reply.
#[derive(Clone, Copy)]
pub(super) struct ShapedFile<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) reply: &'a FirstReply,
    pub(super) counter: &'a dyn TokenCounter,
    pub(super) budget: usize,
}

impl ShapedFile<'_> {
    /// Prints the reply.
    pub(super) fn print(self) -> io::Result<()> {
        match self.reply {
            FirstReply::Untouched { .. } => print_stdout(self.text()),
            FirstReply::Portion(portion) => {
                let pieces = portion.pieces().iter().map(|piece| piece.body.as_str());
                let blocks = pieces.chain(portion.separate_notice());
                print_stdout(&blocks.flat_map(|block| [block, "\n"]).collect::<String>())
            }
        }
    }

    /// Prints the reply and its figures as one JSON object.
    pub(super) fn print_json(self) -> io::Result<()> {
        print_stdout(&format!("{:#}\n", self.to_json()))
    }

    /// Returns the size of the file and the tokens of the reply, in a line.
    pub(super) fn summary(self) -> String {
        let measure = Tokenizer::MEASURE.counter();
        let size = self.size(measure);
        let mark = if size.is_exact { "" } else { "≈" };
        let tokens = grouped(size.tokens as u64);
        let file = format!("{}, {mark}{tokens} tokens", shown_bytes(self.text().len()));
        let FirstReply::Portion(portion) = self.reply else { return format!("{file}: shown as it is") };
        let blocks =
            portion.pieces().iter().map(|piece| piece.body.as_str()).chain(portion.separate_notice());
        let served: usize = blocks.map(|block| measure.count(block)).sum();
        let ratio = size.tokens as f64 / served.max(1) as f64;
        let ratio = if ratio < 10.0 { format!("{ratio:.1}") } else { format!("{ratio:.0}") };
        format!("{file} → {} ({ratio} ×)", grouped(served as u64))
    }

    /// Prints on stderr how the file was detected and shown.
    pub(super) fn explain(self, policy: &Policy) {
        crate::cli::terminal::print_stderr!("detected    {}", describe_form(self.snapshot));
        let [size, measured] = [self.counter, Tokenizer::MEASURE.counter()]
            .map(|counter| format!("{} tokens by {}", self.size(counter), counter.name()));
        let by_both = if size == measured { size } else { format!("{size}, {measured}") };
        crate::cli::terminal::print_stderr!("size        {} bytes, {by_both}", self.text().len());
        match self.reply {
            FirstReply::Untouched { .. } => {
                crate::cli::terminal::print_stderr!(
                    "shown       unchanged: below all thresholds of its kind"
                );
            }
            FirstReply::Portion(portion) => explain_portion(portion, policy, self.budget),
        }
    }

    fn to_json(self) -> Value {
        let TextSize { tokens, is_exact } = self.size(self.counter);
        let measure = Tokenizer::MEASURE.counter();
        let reply = match self.reply {
            FirstReply::Untouched { .. } => {
                json!({ "shaped": false, "content": [self.text()] })
            }
            FirstReply::Portion(portion) => {
                let pieces = portion.pieces().iter().map(|piece| piece.body.as_str());
                json!({
                    "shaped": true,
                    "kind": portion.kind().name(),
                    "tokens": portion.tokens(),
                    "budget": self.budget,
                    "stages": portion.stage_names(),
                    "plan": portion.plan().map(ToString::to_string),
                    "content": pieces.chain(portion.separate_notice()).collect::<Vec<_>>(),
                })
            }
        };
        json!({
            "detected": describe_form(self.snapshot),
            "bytes": self.text().len(),
            "tokens": tokens,
            "estimated": !is_exact,
            "tokenizer": self.counter.name(),
            "measured": {"tokens": self.size(measure).tokens, "tokenizer": measure.name()},
            "reply": reply,
        })
    }

    fn text(&self) -> &str {
        self.snapshot.parts()[0].text()
    }

    fn size(&self, counter: &dyn TokenCounter) -> TextSize {
        let text = self.text();
        if text.len() > MAX_COUNTED_BYTES {
            return estimate_size(counter, text);
        }
        TextSize { tokens: counter.count(text), is_exact: true }
    }
}

/// A line of stdin.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum RequestLine {
    Result(ResultLine),
    FollowUp(FollowUpLine),
}

/// A result of a tool, with arguments of `portion_read` or `portion_query`.
#[derive(Debug, Deserialize)]
struct ResultLine {
    text: String,
    tool: Option<String>,
    #[serde(flatten)]
    arguments: Map<String, Value>,
}

/// Arguments of `portion_read` or `portion_query`.
#[derive(Debug, Deserialize)]
struct FollowUpLine {
    cursor: String,
    #[serde(flatten)]
    arguments: Map<String, Value>,
}

/// Answers lines until stdin ends.
pub(super) fn answer_all(config: Config) -> CommandResult {
    let shaper = Shaper::new(&Arc::new(config), None)?;
    for line in io::stdin().lock().lines() {
        let answer = match serde_json::from_str(&line?) {
            Ok(request) => answer(&shaper, request).unwrap_or_else(|fault| fault.to_json()),
            Err(error) => {
                let message = format!("a line of stdin is no request: {error}");
                json!({ "error": Failure::from_message(message).to_json() }).to_string()
            }
        };
        print_stdout(&format!("{answer}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn shown_bytes(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..10_000_000 => format!("{} KB", grouped(bytes.div_ceil(1_000) as u64)),
        _ => format!("{} MB", grouped(bytes.div_ceil(1_000_000) as u64)),
    }
}

fn explain_portion(portion: &Portion, policy: &Policy, budget: usize) {
    crate::cli::terminal::print_stderr!(
        "shown       a {} of {} tokens, budget {budget}",
        portion.kind().name(),
        portion.tokens()
    );
    if let Some(plan) = portion.plan() {
        crate::cli::terminal::print_stderr!("plan        {plan}");
    }
    if !portion.stages().is_empty() {
        crate::cli::terminal::print_stderr!("to fit      {}", portion.stage_names().join(", then "));
    }
    crate::cli::terminal::print_stderr!(
        "thresholds  lists {} items or {} tokens, objects {}, text {}, anything {}",
        policy.default_page_size,
        policy.token_budget_threshold,
        policy.summarize_above,
        policy.chunk_above,
        policy.full_below
    );
}

fn describe_form(snapshot: &Snapshot) -> String {
    let Some(subject) = snapshot.parts()[0].indexed_text() else { return "a binary block".into() };
    match &subject.structure {
        Structure::List(list) => {
            let layout = match &list.layout {
                Layout::Array => "an array",
                Layout::Map => "a map of objects",
                Layout::Table { .. } => "a table",
                Layout::Lines => "JSON lines",
            };
            let place = if list.pointer.is_empty() { "the root" } else { &list.pointer };
            format!("a list of {} at {place}, written as {layout}", counted(list.len(), "item"))
        }
        Structure::Object(members) => format!("an object of {}", counted(members.len(), "member")),
        Structure::Text(text) => {
            format!("{} text of {}", text.chunker.name(), counted(text.line_count(), "line"))
        }
    }
}

/// Returns the reply as a line of JSON. A result that passes unchanged is not repeated.
fn answer(shaper: &Shaper, request: RequestLine) -> Result<String, Fault> {
    let reply = match request {
        RequestLine::Result(ResultLine { text, tool, arguments }) => {
            let tool = tool.as_deref().map(|name| ToolName { server: None, name });
            let has_arguments = !arguments.is_empty();
            let texts = [text];
            let reply = shaper.shape(tool, &texts, false, &Value::Object(arguments).to_string())?;
            // The notice of a result that fits the budget it was asked for has no news.
            let has_news =
                |reply: &Shaped| reply.next_cursor.is_some() || reply.texts.first() != texts.first();
            reply.filter(|reply| !has_arguments || has_news(reply))
        }
        RequestLine::FollowUp(FollowUpLine { cursor, mut arguments }) => {
            arguments.insert("cursor".to_owned(), cursor.as_str().into());
            shaper.follow_up(&cursor, &Value::Object(arguments).to_string())?
        }
    };
    let answer = match reply {
        None => json!({ "shortened": false }),
        Some(Shaped { texts, notice, cursor, next_cursor, tokens, .. }) => json!({
            "shortened": true,
            "text": texts.join("\n"),
            "notice": notice,
            "cursor": cursor,
            "nextCursor": next_cursor,
            "tokens": tokens,
        }),
    };
    Ok(answer.to_string())
}
