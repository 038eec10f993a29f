//! A small MCP client over stdio: starts a server, opens a session, lists and calls tools, measures time.
//!
//! It reads the wire itself, because its callers measure what a client receives.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};
use std::{fmt, thread};

use portion_mcp::upstream::process_group::GroupLeader;
use portion_mcp::upstream::{StderrLines, StderrTail};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use thiserror::Error;

/// The revision asked for: the newest that begins with `initialize`.
const PROTOCOL_VERSION: &str = "2025-11-25";
/// Time that a server may take to exit after its stdin was closed.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
/// Time that a server may take to exit after it closed its stdout.
const EXIT_GRACE: Duration = Duration::from_millis(500);
/// Longest wait for the end of stderr: descendants of the server may hold the pipe open.
const STDERR_GRACE: Duration = Duration::from_millis(500);
/// Longest line of a server, as `upstreamMessageLimit` is without configuration.
const MAX_LINE_BYTES: u64 = 256 << 20;
/// Characters of a line on stdout that is no message, in errors.
const NOISE_CHARS: usize = 60;

/// Options with which `portion wrap` writes no record, exports nothing and raises no alert.
pub(crate) const NO_TELEMETRY_ARGS: [&str; 6] =
    ["--telemetry", "off", "--otlp", "off", "--alert-oversized", "off"];

/// A running server and the connection to it; dropping it ends both.
#[derive(Debug)]
pub(crate) struct Client {
    server: GroupLeader,
    stdin: Option<ChildStdin>,
    lines: Receiver<io::Result<String>>,
    last_id: u64,
    timeout: Duration,
    /// The result of `tools/list`, JSON.
    pub(crate) tools: Box<RawValue>,
    stderr: Option<StderrTail>,
    /// Beginning of the first line on stdout that is no message.
    pub(crate) noise: Option<String>,
}

/// Response of a tool.
#[derive(Debug)]
pub(crate) struct ToolResponse {
    /// The text blocks, in order.
    #[cfg_attr(not(feature = "demo"), expect(dead_code, reason = "only the demo reads them"))]
    pub(crate) texts: Vec<String>,
    /// The whole result, JSON.
    pub(crate) result: Box<RawValue>,
    /// Bytes of the whole message on the wire, its newline included.
    pub(crate) bytes: usize,
    /// From the request's first byte written to the answer's last byte read.
    pub(crate) elapsed: Duration,
}

/// Reason why there is no response.
#[derive(Debug, Error)]
pub(crate) enum ClientError {
    #[error("cannot start the server {program}: {source}")]
    Start { program: String, source: io::Error },
    #[error("the connection to the server failed: {0}")]
    Disconnected(#[from] io::Error),
    #[error("the server ended before it answered {call}{exit}")]
    ServerExited { call: String, exit: ExitReport },
    #[error("no answer to {call} within {seconds} s{exit}", seconds = .limit.as_secs())]
    Timeout { call: String, limit: Duration, exit: ExitReport },
    #[error("the answer to {call} cannot be read: {source}")]
    InvalidResponse { call: String, source: serde_json::Error },
    #[error("{call} was refused: {message}")]
    ErrorResponse { call: String, message: String },
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(default)]
    id: Value,
    method: Option<String>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolResult {
    #[serde(default)]
    content: Vec<Block>,
    #[serde(default)]
    is_error: bool,
}

#[derive(Deserialize)]
struct Block {
    text: Option<String>,
}

impl Client {
    /// Starts a server, opens a session under this client name, and lists the tools. If its stderr is piped, errors have
    /// the end of it.
    pub(crate) fn start_as(
        name: &str,
        command: &mut Command,
        timeout: Duration,
    ) -> Result<Self, ClientError> {
        let program = command.get_program().to_string_lossy().into_owned();
        // A measurement must not open a browser.
        command.env("PORTION_NO_LOGIN", "1").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server =
            GroupLeader::spawn(command).map_err(|source| ClientError::Start { program, source })?;
        let child = server.child();
        let stdin = child.stdin.take();
        let stderr = child.stderr.take().and_then(|pipe| StderrTail::follow(pipe, io::sink()).ok());
        // A server that writes faster than it is read waits.
        let (sender, lines) = sync_channel(1);
        if let Some(stdout) = child.stdout.take() {
            // A thread of its own, so that waiting for a line can end.
            thread::spawn(move || {
                let mut stdout = BufReader::new(stdout);
                while let Some(line) = read_line(&mut stdout).transpose() {
                    if sender.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        let tools = RawValue::NULL.to_owned();
        let mut client = Self { server, stdin, lines, last_id: 0, timeout, tools, stderr, noise: None };
        client.request(
            "initialize",
            "initialize",
            &json!({
                "protocolVersion": PROTOCOL_VERSION,
                "capabilities": {},
                "clientInfo": {"name": name, "version": env!("CARGO_PKG_VERSION")},
            }),
        )?;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        let line = client.request("tools/list", "tools/list", &json!({}))?;
        let invalid = |source| ClientError::InvalidResponse { call: "tools/list".into(), source };
        let message: Message = serde_json::from_str(&line).map_err(invalid)?;
        client.tools = message.result.unwrap_or(RawValue::NULL).to_owned();
        Ok(client)
    }

    /// Calls a tool; an answer that is an error is `ClientError::ErrorResponse`.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<ToolResponse, ClientError> {
        let since = Instant::now();
        let line = self.request(tool, "tools/call", &json!({"name": tool, "arguments": arguments}))?;
        let elapsed = since.elapsed();
        let unreadable = |source| ClientError::InvalidResponse { call: tool.into(), source };
        let message: Message = serde_json::from_str(&line).map_err(unreadable)?;
        let raw = message.result.unwrap_or(RawValue::NULL).to_owned();
        let result: ToolResult = serde_json::from_str(raw.get()).map_err(unreadable)?;
        let texts: Vec<String> = result.content.into_iter().filter_map(|block| block.text).collect();
        if result.is_error {
            return Err(ClientError::ErrorResponse { call: tool.into(), message: texts.join("\n") });
        }
        Ok(ToolResponse { texts, result: raw, bytes: line.len() + 1, elapsed })
    }

    /// Sends a request and returns the line that answers it; `call` names it in errors.
    fn request(&mut self, call: &str, method: &str, params: &Value) -> Result<String, ClientError> {
        self.last_id += 1;
        let id = json!(self.last_id);
        let until = Instant::now() + self.timeout;
        match self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})) {
            // It may have said why before it ended: read on.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            sent => sent?,
        }
        loop {
            let line = match self.next_line(until) {
                Ok(line) => line?,
                Err(RecvTimeoutError::Timeout) => {
                    let exit = self.exit(Duration::ZERO);
                    return Err(ClientError::Timeout { call: call.into(), limit: self.timeout, exit });
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let exit = self.exit(EXIT_GRACE);
                    return Err(ClientError::ServerExited { call: call.into(), exit });
                }
            };
            // Servers print greetings and warnings; the SDK clients skip such lines, too.
            let Ok(message) = serde_json::from_str::<Message>(&line) else {
                self.noise.get_or_insert_with(|| line.chars().take(NOISE_CHARS).collect());
                continue;
            };
            match (message.method, message.error) {
                (Some(method), _) => self.answer_server_request(&message.id, &method)?,
                (None, Some(error)) if message.id == id => {
                    let message = error.get("message").and_then(Value::as_str).map(str::to_owned);
                    let message = message.unwrap_or_else(|| error.to_string());
                    return Err(ClientError::ErrorResponse { call: call.into(), message });
                }
                (None, None) if message.id == id => return Ok(line),
                (None, _) => {}
            }
        }
    }

    /// Returns the next line, unless the time is over, whatever the server has written since.
    fn next_line(&self, until: Instant) -> Result<io::Result<String>, RecvTimeoutError> {
        match until.checked_duration_since(Instant::now()) {
            Some(left) => self.lines.recv_timeout(left),
            None => Err(RecvTimeoutError::Timeout),
        }
    }

    /// Returns what the server left, after a wait for its exit.
    fn exit(&mut self, grace: Duration) -> ExitReport {
        let until = Instant::now() + grace;
        let mut status = self.server.try_wait();
        while status.is_none() && Instant::now() < until {
            thread::sleep(Duration::from_millis(10));
            status = self.server.try_wait();
        }
        let until = Instant::now() + STDERR_GRACE;
        while self.stderr.as_ref().is_some_and(|stderr| !stderr.is_read()) && Instant::now() < until {
            thread::sleep(Duration::from_millis(10));
        }
        let stderr = self.stderr.as_ref().map(StderrTail::lines).unwrap_or_default();
        ExitReport { status, noise: self.noise.clone(), stderr }
    }

    /// Answers what the server asks of us: a ping, and nothing else.
    fn answer_server_request(&mut self, id: &Value, method: &str) -> io::Result<()> {
        match method {
            _ if id.is_null() => Ok(()),
            "ping" => self.send(&json!({"jsonrpc": "2.0", "id": id, "result": {}})),
            _ => self.send(&json!({
                "jsonrpc": "2.0", "id": id,
                "error": {"code": -32601, "message": format!("unknown method: {method}")},
            })),
        }
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        let stdin = self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        stdin.write_all(format!("{message}\n").as_bytes())?;
        stdin.flush()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Most servers end then. The others end, with their descendants, when `server` is dropped.
        self.stdin = None;
        let until = Instant::now() + SHUTDOWN_TIMEOUT;
        while self.next_line(until).is_ok() {}
    }
}

/// Exit status of a server, what it wrote to stdout in place of messages, and the end of its stderr.
#[derive(Debug, Default)]
pub(crate) struct ExitReport {
    status: Option<ExitStatus>,
    noise: Option<String>,
    stderr: StderrLines,
}

impl fmt::Display for ExitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(status) = self.status {
            write!(f, " ({status})")?;
        }
        if let Some(noise) = &self.noise {
            write!(f, "; its stdout has lines that are no messages, such as `{noise}`")?;
        }
        write!(f, "{}", self.stderr)?;
        self.stderr.cause().map_or(Ok(()), |cause| write!(f, "\n{cause}"))
    }
}

/// Reads a line without its end; `None` at the end of the stream.
fn read_line(stdout: &mut BufReader<ChildStdout>) -> io::Result<Option<String>> {
    let mut line = String::new();
    let read = stdout.take(MAX_LINE_BYTES).read_line(&mut line)?;
    if line.ends_with('\n') {
        line.truncate(line.trim_end_matches('\n').trim_end_matches('\r').len());
    } else if read as u64 == MAX_LINE_BYTES {
        return Err(io::Error::other(format!("a line has more than {} MiB", MAX_LINE_BYTES >> 20)));
    }
    Ok((read > 0).then_some(line))
}
