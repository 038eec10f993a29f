//! A small MCP client: connects to a server, calls a tool, returns the whole result as JSON.
//!
//! It opens a session with `initialize`, for revisions up to 2025-11-25. A server that refuses gets
//! `server/discover` and requests without a session, as of 2026-07-28. A result that a Portion on the way shortened is
//! read to its end.
//!
//! ```no_run
//! use std::time::Duration;
//! use portion_client::client::Client;
//! use portion_mcp::upstream::link::ChildConnector;
//! use portion_mcp::upstream::stdio::Program;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let server = ChildConnector { program: Program::new("my-server", [""; 0]), message_limit: 256 << 20 };
//! let mut client = Client::connect(&server, Duration::from_secs(60)).await?;
//! let result = client.call_tool("search", r#"{"query":"grapple"}"#).await?;
//! client.close(Duration::from_millis(500)).await;
//! # Ok(()) }
//! ```

mod connection;
mod shortened;

use std::time::Duration;

use portion_json::scan::quote;
use portion_mcp::upstream::link::{CloseReason, ConnectError, Connector};
use thiserror::Error;
use tokio::time::{Instant, timeout_at};

use crate::read::json;
use connection::Connection;

/// Share of the time limit that is left for the end of the server, as a divisor, and its maximum.
const END_SHARE: u32 = 8;
const MAX_END_TIME: Duration = Duration::from_millis(400);

/// Most pages of a list of tools.
const MAX_TOOL_PAGES: usize = 1000;

/// Connection to a server.
#[derive(Debug)]
pub struct Client {
    connection: Connection,
    time_limit: Duration,
    /// Time by which a result must be read.
    deadline: Instant,
}

impl Client {
    /// Connects to a server and opens a session. `time_limit` holds for everything, the end of the server included.
    ///
    /// # Errors
    /// Returns [`ClientError`] if the server cannot be reached, refuses, or does not answer in time.
    pub async fn connect(server: &dyn Connector, time_limit: Duration) -> Result<Self, ClientError> {
        let deadline = Instant::now() + time_limit - end_time(time_limit);
        let timed_out = |during: &str| ClientError::Timeout { during: during.to_owned(), time_limit };
        let link =
            timeout_at(deadline, server.connect()).await.map_err(|_| timed_out("the connection"))??;
        let mut client = Self { connection: Connection::new(link), time_limit, deadline };
        match timeout_at(deadline, connection::open_session(&mut client.connection)).await {
            Ok(opened) => opened.map(|()| client),
            Err(_) => Err(timed_out(&client.connection.method)),
        }
    }

    /// Calls a tool and returns the `result` member of the response. `arguments` is a JSON object.
    ///
    /// # Errors
    /// Returns [`ClientError`] if the server refuses the call, ends, or does not answer in time. A result with `isError`
    /// is a result.
    pub async fn call_tool(&mut self, name: &str, arguments: &str) -> Result<String, ClientError> {
        let params = format!(r#"{{"name":{},"arguments":{arguments}}}"#, quote(name));
        let called = async {
            let result = self.connection.request("tools/call", &params).await?;
            shortened::read_whole(&mut self.connection, result).await
        };
        if let Ok(result) = timeout_at(self.deadline, called).await {
            return result;
        }
        let _ = timeout_at(self.deadline + end_time(self.time_limit) / 2, self.connection.cancel()).await;
        Err(ClientError::Timeout { during: format!("the tool `{name}`"), time_limit: self.time_limit })
    }

    /// Returns all tools of the server, as listed, each a JSON object.
    ///
    /// # Errors
    /// Returns [`ClientError`] if the server refuses, ends, or does not answer in time.
    pub async fn list_tools(&mut self) -> Result<Vec<String>, ClientError> {
        let (mut tools, mut cursor) = (Vec::new(), None::<String>);
        for _ in 0..MAX_TOOL_PAGES {
            let params =
                cursor.take().map_or_else(|| "{}".to_owned(), |json| format!(r#"{{"cursor":{json}}}"#));
            let listed = timeout_at(self.deadline, self.connection.request("tools/list", &params)).await;
            let timed_out = |_| ClientError::Timeout {
                during: "the list of tools".to_owned(),
                time_limit: self.time_limit,
            };
            let result = listed.map_err(timed_out)??;
            let members = json::members(&result).unwrap_or_default();
            let page = json::member(&members, "tools").and_then(json::items).unwrap_or_default();
            tools.extend(page.into_iter().map(str::to_owned));
            match json::member(&members, "nextCursor") {
                Some(next) if next != "null" && next != "\"\"" => cursor = Some(next.to_owned()),
                _ => break,
            }
        }
        Ok(tools)
    }

    /// Restarts the time limit, for another call.
    pub fn renew_deadline(&mut self) {
        self.deadline = Instant::now() + self.time_limit - end_time(self.time_limit);
    }

    /// Ends the session and waits for the server to end: up to `grace`, and not beyond the time limit.
    pub async fn close(self, grace: Duration) {
        let end = (self.deadline + end_time(self.time_limit)).min(Instant::now() + grace);
        let _ = timeout_at(end, self.connection.close()).await;
    }
}

/// Reason that there is no result.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The server cannot be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The connection ended before the response.
    #[error("the server did not answer {during}: {reason}")]
    Closed {
        /// The request.
        during: String,
        /// Reason that the link gave.
        reason: CloseReason,
    },
    /// The server answered with an error.
    #[error("the server refused {during}: {message}")]
    Refused {
        /// The request.
        during: String,
        /// Message of the server.
        message: String,
    },
    /// The response is larger than a message may be.
    #[error("the answer to {during} has {bytes} bytes, more than a message may have")]
    TooLarge {
        /// The request.
        during: String,
        /// Size of the response.
        bytes: u64,
    },
    /// There was no response in time.
    #[error("no answer from {during} within {} s: raise --timeout, or ask for less", time_limit.as_secs_f64())]
    Timeout {
        /// The request.
        during: String,
        /// Time limit of the whole call.
        time_limit: Duration,
    },
    /// A Portion on the way shortened the result, and the rest cannot be read.
    #[error("a Portion before the server shortened the result, and the rest cannot be read: {0}")]
    Shortened(String),
}

impl ClientError {
    /// Returns the error without the last lines of the server's stderr, for callers whose own stderr has a copy of them.
    #[must_use]
    pub fn without_stderr(self) -> Self {
        match self {
            Self::Closed { during, reason } => Self::Closed { during, reason: reason.without_stderr() },
            other => other,
        }
    }
}

/// Returns the part of a time limit in which a server is told to end.
fn end_time(time_limit: Duration) -> Duration {
    (time_limit / END_SHARE).min(MAX_END_TIME)
}

#[cfg(test)]
mod tests {

    #[cfg(unix)]
    #[test]
    fn the_last_lines_of_stderr_are_apart_from_the_message() {
        use std::time::Duration;

        use portion_mcp::upstream::link::ChildConnector;
        use portion_mcp::upstream::stdio::Program;

        use super::Client;

        let connector = ChildConnector {
            program: Program::new("sh", ["-c", "echo boom >&2; read line; exit 3"]),
            message_limit: 1024,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let error = runtime
            .block_on(Client::connect(&connector, Duration::from_secs(30)))
            .expect_err("the server ends without an answer");
        let message = "the server did not answer `initialize`: the server `sh` exited with code 3";
        assert_eq!(error.to_string(), format!("{message}\nIts stderr ended with:\nboom"));
        assert_eq!(error.without_stderr().to_string(), message);
    }
}
