//! Requests and responses on a link, and the handshake of a session. The server's own requests are answered; its notifications are ignored.

use portion_json::scan::quote;
use portion_mcp::frame::Frame;
use portion_mcp::upstream::link::{CloseReason, Inbox, Link, LinkEvent, Outbox};

use super::ClientError;
use crate::read::json;

/// JSON-RPC code of a method that a peer does not have.
const METHOD_NOT_FOUND: i32 = -32601;

/// A link with numbered requests, one at a time.
#[derive(Debug)]
pub(super) struct Connection {
    outbox: Outbox,
    inbox: Inbox,
    last_id: u64,
    /// Method of the last request.
    pub(super) method: String,
    /// Members of `_meta` in each request; empty if there are none.
    meta: String,
}

/// A message of the server.
enum Incoming {
    Result(String),
    Error(String),
    Other,
}

impl Connection {
    pub(super) fn new(link: Link) -> Self {
        let Link { outbox, inbox } = link;
        Self { outbox, inbox, last_id: 0, method: String::new(), meta: String::new() }
    }

    /// Sends a request and returns the `result` of its response. `params` is a JSON object.
    pub(super) async fn request(&mut self, method: &str, params: &str) -> Result<String, ClientError> {
        self.last_id += 1;
        method.clone_into(&mut self.method);
        let (id, params) = (self.last_id, self.with_meta(params));
        let quoted = quote(method);
        self.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{quoted},"params":{params}}}"#)).await;
        let during = || format!("`{method}`");
        loop {
            let frame = match self.inbox.next().await {
                Some(LinkEvent::Frame(frame)) => frame,
                Some(LinkEvent::Closed(reason)) => {
                    return Err(ClientError::Closed { during: during(), reason });
                }
                None => {
                    let reason = CloseReason::new("the connection ended");
                    return Err(ClientError::Closed { during: during(), reason });
                }
            };
            match frame {
                Frame::TooLarge(dropped) if dropped.has_response_to(&id.to_string()) => {
                    return Err(ClientError::TooLarge { during: during(), bytes: dropped.bytes });
                }
                Frame::TooLarge(_) => {}
                Frame::Message(bytes) => match self.receive(&String::from_utf8_lossy(&bytes), id).await {
                    Incoming::Result(result) => return Ok(result),
                    Incoming::Error(message) => {
                        return Err(ClientError::Refused { during: during(), message });
                    }
                    Incoming::Other => {}
                },
            }
        }
    }

    /// Sends a notification without parameters.
    pub(super) async fn notify(&mut self, method: &str) {
        self.send(format!(r#"{{"jsonrpc":"2.0","method":{}}}"#, quote(method))).await;
    }

    /// Tells the server that the last request is not awaited any more.
    pub(super) async fn cancel(&mut self) {
        let id = self.last_id;
        let params = format!(r#"{{"requestId":{id},"reason":"timeout"}}"#);
        let method = "notifications/cancelled";
        self.send(format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)).await;
    }

    /// Closes the link and waits until the server has ended.
    pub(super) async fn close(self) {
        let Self { outbox, mut inbox, .. } = self;
        drop(outbox);
        while inbox.next().await.is_some() {}
    }

    /// Sends a message. If the link is closed, its inbox tells why.
    async fn send(&self, message: String) {
        let _ = self.outbox.send(message.into_bytes()).await;
    }

    /// Returns the params with `_meta`. A result may be whole: a Portion on the way passes it on if its operator allows.
    fn with_meta(&self, params: &str) -> String {
        let whole = if self.method == "tools/call" { r#""io.portion/whole":true"# } else { "" };
        let members = [whole, &self.meta].into_iter().filter(|members| !members.is_empty());
        let members = members.collect::<Vec<_>>().join(",");
        let inside = params.trim().trim_start_matches('{').trim_start();
        match (members.is_empty(), inside.starts_with('}')) {
            (true, _) => params.to_owned(),
            (false, true) => format!(r#"{{"_meta":{{{members}}}}}"#),
            (false, false) => format!(r#"{{"_meta":{{{members}}},{inside}"#),
        }
    }

    /// Reads a message or a batch, and answers requests in it.
    async fn receive(&self, text: &str, id: u64) -> Incoming {
        let batch = json::items(text).unwrap_or_else(|| vec![text]);
        let mut incoming = Incoming::Other;
        for message in batch {
            let Some(members) = json::members(message) else { continue };
            let their_id = json::member(&members, "id");
            if let Some(method) = json::member(&members, "method") {
                if let Some(their_id) = their_id {
                    self.send(response_to(their_id, &json::string(method).unwrap_or_default())).await;
                }
            } else if their_id.is_some_and(|theirs| theirs == id.to_string()) {
                incoming = match (json::member(&members, "result"), json::member(&members, "error")) {
                    (Some(result), _) => Incoming::Result(result.to_owned()),
                    (None, error) => Incoming::Error(error_message(error)),
                };
            }
        }
        incoming
    }
}

/// Opens a session. A server that refuses is asked for the revision without sessions.
///
/// This order needs one exchange with all servers that have sessions. The opposite order would wait for the time-out of
/// servers that ignore unknown requests before a session.
pub(super) async fn open_session(connection: &mut Connection) -> Result<(), ClientError> {
    let params = format!(
        r#"{{"protocolVersion":"{SESSION_REVISION}","capabilities":{{}},"clientInfo":{CLIENT_INFO}}}"#
    );
    let refusal = match connection.request("initialize", &params).await {
        Ok(_) => {
            connection.notify("notifications/initialized").await;
            return Ok(());
        }
        Err(refusal @ ClientError::Refused { .. }) => refusal,
        Err(error) => return Err(error),
    };
    let prefix = "io.modelcontextprotocol/";
    connection.meta = format!(
        r#""{prefix}protocolVersion":"{STATELESS_REVISION}","{prefix}clientCapabilities":{{}},"{prefix}clientInfo":{CLIENT_INFO}"#
    );
    if connection.request("server/discover", "{}").await.is_err() {
        return Err(refusal);
    }
    // Some tools require arguments in header fields. The link learns them from the list.
    connection.request("tools/list", "{}").await.map(drop)
}

/// Answers a request of the server: a ping, and nothing else.
fn response_to(id: &str, method: &str) -> String {
    if method == "ping" {
        return format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
    }
    let message = quote(&format!("unknown method: {method}"));
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{METHOD_NOT_FOUND},"message":{message}}}}}"#)
}

fn error_message(error: Option<&str>) -> String {
    let members = error.and_then(json::members).unwrap_or_default();
    let message = json::member(&members, "message").and_then(json::string).unwrap_or_default();
    match (message.is_empty(), json::member(&members, "code")) {
        (false, Some(code)) => format!("{message} ({code})"),
        (false, None) => message,
        (true, Some(code)) => format!("error {code}"),
        (true, None) => "without a message".to_owned(),
    }
}

/// Newest revision with sessions.
const SESSION_REVISION: &str = "2025-11-25";
/// First revision without sessions.
const STATELESS_REVISION: &str = "2026-07-28";
const CLIENT_INFO: &str =
    concat!(r#"{"name":"portion-fetch","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#);
