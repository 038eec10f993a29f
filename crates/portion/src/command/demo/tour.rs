//! The tour: the calls that the demo makes, in order, and their figures.

use std::path::Path;
use std::process::Command;
use std::time::Duration;
use std::{env, io};

use portion_client::read::{FieldNames, ReadError, read_chunks};
use portion_client::select::{Fill, select};
use portion_config::key::LEVEL_VARIABLE;
use portion_tokens::{Factor, Tokenizer};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use thiserror::Error;

use super::report::{self, Comparison, Cost, Report, Retrieval, Step, milliseconds};
use crate::run::setup::MAX_MCP_OUTPUT_TOKENS;
use crate::run::stdio_client::{Client, ClientError, NO_TELEMETRY_ARGS, ToolResponse};

/// Name of the client in `initialize`.
const CLIENT_NAME: &str = "portion-demo";
/// Time limit of each response.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(1);
/// A school that everybody knows, for the drill-down.
const BERKELEY: &str = r#"{"unitid":110635,"#;
/// The booking that arrives last.
const LAST_BOOKING: &str = r#"{"id":40499,"#;
/// Questions whose answers would need every record.
const TOP_STATES_SQL: &str =
    "SELECT state, count(*) AS schools FROM items GROUP BY state ORDER BY schools DESC LIMIT 3";
const OPEN_PAYMENTS_SQL: &str = "SELECT listingName, count(*) AS bookings, sum(totalPrice) AS open FROM items \
                     WHERE \"financial.paid\" = 0 GROUP BY listingName ORDER BY open DESC LIMIT 3";
const LOG_ERRORS_SQL: &str = "SELECT level, count(*) AS entries, min(time) AS first FROM entries \
                     WHERE severity IN ('error', 'fatal') GROUP BY level";
/// An entry of many lines, somewhere in the log.
const DEADLOCK: &str = "ERROR:  deadlock detected";

/// Reason why the tour could not be finished.
#[derive(Debug, Error)]
pub(crate) enum TourError {
    #[error("cannot find this program to start it again: {0}")]
    CurrentExe(io::Error),
    #[error("cannot make a temporary directory: {0}; name a writable one by TMPDIR")]
    TemporaryDir(io::Error),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Chunks(#[from] ReadError),
    #[error("the answer to {call} has no {missing}")]
    Missing { call: String, missing: &'static str },
    #[error("the answer to {call} is not a page of records: {source}")]
    NotAPage { call: String, source: serde_json::Error },
}

/// Both ways to the same server.
pub(super) struct Clients {
    direct: Client,
    proxied: Client,
}

/// A list of the demo as it is on the wire, its records untouched.
#[derive(Deserialize)]
pub(super) struct RecordsPage<'a> {
    #[serde(borrow, alias = "schools", alias = "bookings")]
    pub(super) records: Vec<&'a RawValue>,
}

/// Runs all of it.
pub(crate) fn run() -> Result<Report, TourError> {
    let myself = env::current_exe().map_err(TourError::CurrentExe)?;
    let empty = tempfile::tempdir().map_err(TourError::TemporaryDir)?;
    let mut ways = Clients {
        direct: Client::start_as(CLIENT_NAME, Command::new(&myself).arg("demo-server"), RESPONSE_TIMEOUT)?,
        proxied: Client::start_as(
            CLIENT_NAME,
            &mut wrapped_command(&myself, empty.path()),
            RESPONSE_TIMEOUT,
        )?,
    };
    Ok(Report {
        tokenizer: Tokenizer::MEASURE.counter().name(),
        list: compare_list(&mut ways, &SCHOOLS)?,
        log: compare_log(&mut ways)?,
        bookings: compare_list(&mut ways, &BOOKINGS)?,
        rules: retrieve(&mut ways.direct)?,
    })
}

/// The calls of a list, and the names of its parts.
struct ListTour {
    tool: &'static str,
    /// Name of the list and of its records.
    records: &'static str,
    fields: &'static str,
    query: (&'static str, &'static str),
    record: (&'static str, &'static str),
}

const SCHOOLS: ListTour = ListTour {
    tool: "search_schools",
    records: "schools",
    fields: "name,city,location.latitude",
    query: ("A query: schools per state", TOP_STATES_SQL),
    record: ("One school, whole", BERKELEY),
};
const BOOKINGS: ListTour = ListTour {
    tool: "search_bookings",
    records: "bookings",
    fields: "guestName,arrivalDate,totalPrice,listingName",
    query: ("A query: open payments per listing", OPEN_PAYMENTS_SQL),
    record: ("One booking, whole", LAST_BOOKING),
};

fn compare_list(ways: &mut Clients, list: &ListTour) -> Result<Comparison, TourError> {
    let tool = list.tool;
    let original = ways.direct.call(tool, &json!({}))?;
    let (first, notice) = ways.call_step("The first page, as the model sees it", tool, &json!({}))?;
    let here = notice.cursor()?;

    let text = original.texts.first().map_or("", String::as_str);
    let records = RecordsPage::parse(tool, text)?.records;
    let (title, begins) = list.record;
    let known = records.iter().position(|record| record.get().starts_with(begins)).unwrap_or_default();
    let fewer = ways.read_portion("Selected fields", &json!({"cursor": here, "fields": list.fields}))?;
    let one =
        ways.read_portion(title, &json!({"cursor": here, "path": format!("/{}/{known}", list.records)}))?;
    let next = ways.read_portion("The next page", &json!({"cursor": notice.next_cursor()?}))?;
    let query_step = ways.query(list.query.0, &json!({"cursor": here, "sql": list.query.1}))?;
    let proof = report::verify_list(&mut ways.proxied, &here, list.records, &records)?;
    Ok(Comparison { tool, directly: cost(&original), first, next: vec![query_step, fewer, one, next], proof })
}

fn compare_log(ways: &mut Clients) -> Result<Comparison, TourError> {
    let tool = "read_log";
    let original = ways.direct.call(tool, &json!({}))?;
    let (first, notice) = ways.call_step("The first chunk, as the model sees it", tool, &json!({}))?;
    let here = notice.cursor()?;
    let next = ways.read_portion("The next chunk", &json!({"cursor": notice.next_cursor()?}))?;
    let text = original.texts.first().map_or("", String::as_str);
    let line = 1 + text.lines().position(|line| line.contains(DEADLOCK)).unwrap_or_default();
    let lines = ways.read_portion(
        "A line range: a deadlock",
        &json!({"cursor": here, "startLine": line, "endLine": line + 7}),
    )?;
    let tail = ways.read_portion("The last lines", &json!({"cursor": here, "startLine": -4}))?;
    let query_step =
        ways.query("A query: errors by severity", &json!({"cursor": here, "sql": LOG_ERRORS_SQL}))?;
    let proof = report::verify_log(&mut ways.proxied, &here, text)?;
    Ok(Comparison {
        tool,
        directly: cost(&original),
        first,
        next: vec![query_step, next, lines, tail],
        proof,
    })
}

impl Clients {
    fn read_portion(&mut self, title: &'static str, arguments: &Value) -> Result<Step, TourError> {
        Ok(self.call_step(title, "portion_read", arguments)?.0)
    }

    fn query(&mut self, title: &'static str, arguments: &Value) -> Result<Step, TourError> {
        Ok(self.call_step(title, "portion_query", arguments)?.0)
    }

    /// Calls a tool through Portion and keeps what came of it.
    fn call_step(
        &mut self,
        title: &'static str,
        tool: &str,
        arguments: &Value,
    ) -> Result<(Step, ReplyNotice), TourError> {
        let answer = self.proxied.call(tool, arguments)?;
        let call = format_call(tool, arguments);
        let (texts, notice_text) = split_notice(&answer);
        let step =
            Step { title, cost: cost(&answer), text: texts.concat(), notice: notice_text.into(), call };
        let notice = ReplyNotice::parse(&step.call, &answer);
        Ok((step, notice))
    }
}

impl<'a> RecordsPage<'a> {
    pub(super) fn parse(call: &str, text: &'a str) -> Result<Self, TourError> {
        serde_json::from_str(text).map_err(|source| TourError::NotAPage { call: call.into(), source })
    }
}

/// Returns the texts of a shaped answer and the notice, which is the last text block.
pub(super) struct ReplyNotice {
    call: String,
    fields: Map<String, Value>,
}

impl ReplyNotice {
    pub(super) fn parse(call: &str, answer: &ToolResponse) -> Self {
        Self { call: call.into(), fields: serde_json::from_str(split_notice(answer).1).unwrap_or_default() }
    }

    /// The place where the answer began.
    pub(super) fn cursor(&self) -> Result<String, TourError> {
        let cursor = self.fields.get("meta").and_then(|meta| meta.get("cursor")).and_then(Value::as_str);
        self.require(cursor, "meta.cursor")
    }

    /// The place where the next one begins.
    pub(super) fn next_cursor(&self) -> Result<String, TourError> {
        self.require(self.fields.get("nextCursor").and_then(Value::as_str), "nextCursor")
    }

    fn require(&self, text: Option<&str>, missing: &'static str) -> Result<String, TourError> {
        text.map(str::to_owned).ok_or_else(|| TourError::Missing { call: self.call.clone(), missing })
    }
}

/// The texts of the payload, and the notice after them; no notice where the payload passed whole.
pub(super) fn split_notice(answer: &ToolResponse) -> (&[String], &str) {
    match answer.texts.as_slice() {
        [texts @ .., notice] if !texts.is_empty() => (texts, notice),
        texts => (texts, ""),
    }
}

/// Returns the tokens, bytes and time of an answer.
pub(super) fn cost(answer: &ToolResponse) -> Cost {
    let tokens = answer.texts.iter().map(|text| tokens(text)).sum();
    Cost { tokens, bytes: answer.bytes, milliseconds: milliseconds(answer.elapsed) }
}

/// Tokens of a text by o200k.
fn tokens(text: &str) -> usize {
    Tokenizer::MEASURE.reference_counter(Factor::ONE).count(text)
}

/// A call as one would write it down, with the cursor by its name.
pub(super) fn format_call(tool: &str, arguments: &Value) -> String {
    let arguments: Vec<String> = arguments
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| if key == "cursor" { key.clone() } else { format!("{key}={value}") })
        .collect();
    format!("{tool}({})", arguments.join(", "))
}

/// Default of `portion fetch --max-context-tokens`.
const BUDGET: usize = 8192;
const TOOL: &str = "search_rules";
const QUERY: &str = "deposit late arrival";

/// Calls the tool and keeps its best chunks.
fn retrieve(client: &mut Client) -> Result<Retrieval, TourError> {
    let arguments = json!({"query": QUERY});
    let answer = client.call(TOOL, &arguments)?;
    let content: Vec<_> = answer.texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
    let chunks = read_chunks(&json!({"content": content}).to_string(), &FieldNames::default())?;
    let count = chunks.len();
    let kept = select(chunks, BUDGET, Tokenizer::Len4.counter(), Fill::Stop);
    let best = kept.chunks.first().map(|chunk| {
        let id = chunk.id.as_deref().unwrap_or_default().trim_matches('"');
        format!("{id}: {}", chunk.text.as_deref().unwrap_or_default())
    });
    Ok(Retrieval {
        call: format_call(TOOL, &arguments),
        directly: cost(&answer),
        budget: BUDGET,
        chunks: count,
        kept: kept.chunks.len(),
        dropped: kept.dropped.len(),
        tokens: kept.tokens,
        best: best.unwrap_or_default(),
    })
}

/// Variables with the directory in which the user's configuration directory is looked for.
const CONFIG_HOMES: [&str; 2] = ["XDG_CONFIG_HOME", "APPDATA"];

/// Returns the command, which records nothing: these calls are nobody's work. `empty` is a directory without a
/// configuration file.
fn wrapped_command(program: &Path, empty: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("wrap").args(NO_TELEMETRY_ARGS).arg("--").arg(program).arg("demo-server").current_dir(empty);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        // The level of the log changes no reply.
        if (text.starts_with("PORTION_") && text != LEVEL_VARIABLE) || text == MAX_MCP_OUTPUT_TOKENS {
            command.env_remove(&name);
        }
    }
    command.envs(CONFIG_HOMES.map(|name| (name, empty)));
    command
}
