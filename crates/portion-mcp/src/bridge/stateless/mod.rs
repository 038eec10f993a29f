//! Clients of revisions since 2026-07-28, without sessions: all share one link, opened at the first request.
//!
//! - `shared_connection`: the link
//! - `request_table`: maps request ids, and routes server messages to posts
//! - `exchange`: a post and its response
//!
//! Header fields repeat parts of the body, so that intermediaries need not parse it. If they differ from it, neither may be
//! acted on.

mod exchange;
mod request_table;
mod shared_connection;

use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use hyper::StatusCode;
use hyper::header::HeaderMap;
use parking_lot::Mutex;
use portion_gateway::principal::Principal;
use portion_text::display::shortened;
use tokio::time::timeout;

use super::post_response::{AcceptedTypes, PostResponse, respond};
use super::session_mode::PROTOCOL_VERSION_HEADER;
use super::{BridgedServer, Sender, accepted, bad_gateway, bad_request};
use crate::front::http::http_error::{HttpError, HttpResult, json_response};
use crate::mcp::envelope::{
    HEADER_MISMATCH, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, MISSING_CAPABILITY, PARSE_ERROR,
    UNSUPPORTED_VERSION,
};
use crate::mcp::request_headers::{METHOD_HEADER, NAME_HEADER, PARAM_HEADER_PREFIX, decode_value};
use crate::mcp::{McpProcessor, MessageKind, MessageView, OwnedBatch, ParsedBatch};
use crate::message_processor::{GATEWAY_STOPS, OutgoingMessage};
use crate::once::{OneShotFlag, SharedAttempt};
use exchange::{OpenPost, StatelessExchange};
use shared_connection::SharedConnection;

/// Timeout of `server/discover` if the server has never sent anything. Clients wait 10 s, and servers of earlier
/// revisions may send nothing before `initialize`.
const DISCOVER_TIMEOUT: Duration = Duration::from_secs(8);

/// Interval at which the link is checked for idleness.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(15);

/// The shared link, and its server.
pub(super) struct StatelessClients {
    server: BridgedServer,
    connection: Mutex<Option<Arc<SharedConnection>>>,
    connecting: SharedAttempt<Result<Arc<SharedConnection>, Arc<str>>>,
    close_requested: OneShotFlag,
}

impl StatelessClients {
    pub(super) fn new(server: BridgedServer) -> Self {
        Self {
            server,
            connection: Mutex::default(),
            connecting: SharedAttempt::default(),
            close_requested: OneShotFlag::default(),
        }
    }

    /// Answers a post.
    pub(super) async fn handle_post(self: &Arc<Self>, sender: Sender<'_>, posted: OwnedBatch) -> HttpResult {
        let batch = posted.view();
        let [message] = &*batch.messages else {
            return Err(bad_request("this revision has no batches: post one message"));
        };
        match message.kind() {
            _ if batch.is_batch => Err(bad_request("this revision has no batches: post one message")),
            MessageKind::Response => {
                Err(bad_request("this revision has no server requests: do not post responses"))
            }
            MessageKind::Notification => {
                // Its id could be that of another client's request. Clients cancel by disconnecting.
                if message.method() == "notifications/cancelled" {
                    return Ok(accepted());
                }
                self.forward_notification(sender.principal, posted).await
            }
            MessageKind::Request => {
                let id = message.id().to_owned();
                let response = self.handle_request(sender, posted).await;
                response.map_err(|error| error.for_request(&id))
            }
        }
    }

    /// Closes the link, because the gateway stops, and waits until the server has ended.
    pub(super) async fn close(&self) {
        self.close_requested.set();
        self.connecting.ended().await;
        let connection = self.connection.lock().take();
        if let Some(connection) = connection {
            let _ = connection.end_request.set(GATEWAY_STOPS);
            connection.ended.wait().await;
        }
    }

    async fn handle_request(self: &Arc<Self>, sender: Sender<'_>, posted: OwnedBatch) -> HttpResult {
        let mut accept = AcceptedTypes::from_headers(sender.headers).require_any()?;
        let batch = posted.view();
        let [request] = &*batch.messages else { return Err(bad_request("post one message")) };
        let method = request.method();
        if method == "subscriptions/listen" {
            if !accept.accepts_stream {
                let message = "a subscription is a text/event-stream; send Accept with it";
                return Err(HttpError::new(StatusCode::NOT_ACCEPTABLE, INVALID_REQUEST, message));
            }
            accept.accepts_json = false;
        }
        check_standard_headers(sender.headers, request)?;
        if method == "initialize" {
            // A server of both kinds of revisions might begin a session on the shared link.
            let message = "this revision has no initialize; send requests directly, or initialize with revision 2025-11-25";
            return Err(HttpError::new(StatusCode::NOT_FOUND, METHOD_NOT_FOUND, message));
        }
        let (connection, mut exchange) = self.open_exchange(sender, request).await?;
        let is_probe = method == "server/discover";
        if is_probe && connection.is_unresponsive() {
            return Err(discover_unanswered());
        }
        exchange.send_request(posted).await;
        let mut response = pin!(respond(exchange, accept, false, None));
        let response = match timeout(DISCOVER_TIMEOUT, &mut response).await {
            Ok(response) => response,
            Err(_) if is_probe && !connection.has_received() => {
                connection.mark_unresponsive();
                return Err(discover_unanswered());
            }
            Err(_) => response.await,
        };
        match response {
            PostResponse::Json(json) => Ok(json_response(http_status(&json), json)),
            PostResponse::Stream(response) => Ok(response),
            PostResponse::Lost(reason) => Err(bad_gateway(&reason)),
        }
    }

    async fn forward_notification(
        self: &Arc<Self>,
        principal: &Principal,
        notification: OwnedBatch,
    ) -> HttpResult {
        let connection = self.connection().await?;
        for outgoing in connection.processor_for(principal).process_client_batch(notification).await {
            if let OutgoingMessage::ToServer(message) = outgoing {
                connection.send_notification(principal.sessionless_scope, message).await;
            }
        }
        Ok(accepted())
    }

    /// Opens an exchange on the link, after the argument headers have been checked.
    async fn open_exchange(
        self: &Arc<Self>,
        sender: Sender<'_>,
        request: &MessageView<'_>,
    ) -> Result<(Arc<SharedConnection>, StatelessExchange), HttpError> {
        loop {
            let connection = self.connection().await?;
            let processor = connection.processor_for(sender.principal);
            check_param_headers(sender.headers, request, &processor)?;
            if let Some(post) = OpenPost::open(&connection, sender.principal.sessionless_scope, request) {
                return Ok((connection, StatelessExchange::new(post, processor)));
            }
        }
    }

    /// Returns the link. Requests that need it while it is being opened wait for the same attempt.
    async fn connection(self: &Arc<Self>) -> Result<Arc<SharedConnection>, HttpError> {
        if let Some(connection) = self.open_connection() {
            return Ok(connection);
        }
        let clients = Arc::clone(self);
        let outcome = self.connecting.join_or_start(|| async move { clients.connect().await }).await;
        let outcome = outcome.unwrap_or_else(|| Err("the connection attempt failed".into()));
        outcome.map_err(|reason| bad_gateway(&reason))
    }

    async fn connect(&self) -> Result<Arc<SharedConnection>, Arc<str>> {
        // An attempt may have ended after the caller looked for the link.
        if let Some(connection) = self.open_connection() {
            return Ok(connection);
        }
        let link = tokio::select! {
            link = self.server.connector.connect() => link.map_err(|error| Arc::from(error.to_string()))?,
            () = self.close_requested.wait() => return Err("the gateway is stopping".into()),
        };
        let connection = SharedConnection::start(self.server.processor_factory.clone(), link);
        tokio::spawn(close_when_idle(Arc::downgrade(&connection), self.server.limits.idle_timeout));
        *self.connection.lock() = Some(Arc::clone(&connection));
        Ok(connection)
    }

    fn open_connection(&self) -> Option<Arc<SharedConnection>> {
        self.connection.lock().as_ref().filter(|connection| !connection.is_over()).cloned()
    }
}

/// Closes the link after it has been idle for `idle`.
async fn close_when_idle(connection: Weak<SharedConnection>, idle: Duration) {
    loop {
        tokio::time::sleep(IDLE_CHECK_INTERVAL).await;
        let Some(connection) = connection.upgrade().filter(|connection| !connection.is_over()) else {
            return;
        };
        if connection.idle_since().is_some_and(|since| Instant::now().duration_since(since) > idle) {
            tracing::info!("ended the idle server of clients without sessions");
            let _ = connection.end_request.set("the idle server was stopped");
        }
    }
}

/// Returns the error that makes a client of several revisions fall back to `initialize`.
fn discover_unanswered() -> HttpError {
    let message =
        "the server does not answer server/discover; it may use an earlier revision: send initialize";
    HttpError::new(StatusCode::NOT_FOUND, METHOD_NOT_FOUND, message)
}

/// Returns the HTTP status of a response, by its error code.
fn http_status(response: &[u8]) -> StatusCode {
    let code = ParsedBatch::read(response, |batch| batch.messages.first().and_then(MessageView::error_code));
    match code.flatten().and_then(|code| i32::try_from(code).ok()) {
        Some(METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(
            PARSE_ERROR | INVALID_REQUEST | INVALID_PARAMS | HEADER_MISMATCH | MISSING_CAPABILITY
            | UNSUPPORTED_VERSION,
        ) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// Checks that revision, method and name are the same in the header fields.
///
/// # Errors
/// Returns [`HttpError`], which names the differing field.
fn check_standard_headers(headers: &HeaderMap, request: &MessageView<'_>) -> HttpResult<()> {
    for name in [PROTOCOL_VERSION_HEADER, METHOD_HEADER, NAME_HEADER] {
        require_single(headers, name)?;
    }
    let Some(version) = request.protocol_version() else {
        let message = "params._meta lacks the revision: io.modelcontextprotocol/protocolVersion is missing";
        return Err(HttpError::new(StatusCode::BAD_REQUEST, INVALID_PARAMS, message));
    };
    let field = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if field(PROTOCOL_VERSION_HEADER) != Some(&version) {
        return Err(header_mismatch("MCP-Protocol-Version", "the revision in the body"));
    }
    if field(METHOD_HEADER) != Some(&*request.method()) {
        return Err(header_mismatch("Mcp-Method", "the method in the body"));
    }
    // Tasks are an extension: clients that support only the core send no name for them.
    let is_optional = request.method().starts_with("tasks/") && !headers.contains_key(NAME_HEADER);
    match request.name().filter(|_| !is_optional) {
        Some(name) if field(NAME_HEADER).and_then(decode_value).as_deref() != Some(&name) => {
            Err(header_mismatch("Mcp-Name", "the name in the body"))
        }
        _ => Ok(()),
    }
}

/// Checks that the arguments that a known tool wants repeated are the same in the header fields.
///
/// # Errors
/// Returns [`HttpError`], which names the differing field.
fn check_param_headers(
    headers: &HeaderMap,
    request: &MessageView<'_>,
    processor: &McpProcessor,
) -> HttpResult<()> {
    let Some(tool) = request.name().filter(|_| request.method() == "tools/call") else { return Ok(()) };
    for mirrored in processor.header_params(&tool) {
        let name = format!("{PARAM_HEADER_PREFIX}{}", mirrored.header.to_ascii_lowercase());
        let shown = format!("Mcp-Param-{}", mirrored.header);
        require_single(headers, &name)?;
        let field = headers.get(&*name).map(|value| value.to_str().ok().and_then(decode_value));
        let is_same = match (field, mirrored.find_argument(request.arguments().unwrap_or_default())) {
            (None, argument) => argument.is_none_or(|argument| argument.is_unrepresentable()),
            (Some(value), Some(argument)) => value.is_some_and(|value| argument.matches_header(&value)),
            (Some(_), None) => false,
        };
        if !is_same {
            return Err(header_mismatch(&shown, "the argument in the body"));
        }
    }
    Ok(())
}

fn require_single(headers: &HeaderMap, name: &str) -> HttpResult<()> {
    if headers.get_all(name).iter().nth(1).is_none() {
        return Ok(());
    }
    let message = format!("the header field {} is repeated", shortened(name));
    Err(HttpError::new(StatusCode::BAD_REQUEST, HEADER_MISMATCH, message))
}

fn header_mismatch(name: &str, what: &str) -> HttpError {
    let name = shortened(name);
    let message = format!("the header field {name} is missing or differs from {what}; send equal values");
    HttpError::new(StatusCode::BAD_REQUEST, HEADER_MISMATCH, message)
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;
    use hyper::header::{HeaderName, HeaderValue};

    use super::check_standard_headers;
    use crate::mcp::ParsedBatch;

    /// Checks the result; `expect` is a part of the error.
    fn say(fields: &[(&str, &str)], method: &str, params: &str, expect: Option<&str>) {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            let name: HeaderName = name.parse().expect("a name");
            headers.append(name, HeaderValue::from_bytes(value.as_bytes()).expect("a value"));
        }
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
        let params = if params.is_empty() { meta.to_owned() } else { format!("{params},{meta}") };
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}}}}}"#);
        let batch = ParsedBatch::parse(&text).expect("a message");
        let result =
            check_standard_headers(&headers, &batch.messages[0]).map_err(|refusal| format!("{refusal:?}"));
        match (&result, expect) {
            (Ok(()), None) => {}
            (Err(result), Some(expect)) if result.contains(expect) && result.contains("-32020") => {}
            _ => panic!("{fields:?} {text}: {result:?} instead of {expect:?}"),
        }
    }

    #[test]
    fn header_fields_must_equal_the_body() {
        let version = ("mcp-protocol-version", "2026-07-28");
        let list = ("mcp-method", "tools/list");
        say(&[version, list], "tools/list", "", None);
        say(&[version, list, ("mcp-name", "whatever")], "tools/list", "", None);
        say(&[list], "tools/list", "", Some("MCP-Protocol-Version"));
        say(&[("mcp-protocol-version", "2026-07-29"), list], "tools/list", "", Some("MCP-Protocol-Version"));
        say(&[version], "tools/list", "", Some("Mcp-Method"));
        say(&[version, ("mcp-method", "TOOLS/LIST")], "tools/list", "", Some("Mcp-Method"));
        say(&[version, list, list], "tools/list", "", Some("is repeated"));
        let call = ("mcp-method", "tools/call");
        let named = r#""name":"é""#;
        say(&[version, call, ("mcp-name", "=?base64?w6k=?=")], "tools/call", named, None);
        say(&[version, call, ("mcp-name", "=?base64?w6l=?=")], "tools/call", named, Some("Mcp-Name"));
        say(&[version, call, ("mcp-name", "=?base64?/w==?=")], "tools/call", named, Some("Mcp-Name"));
        say(&[version, call, ("mcp-name", "é")], "tools/call", named, Some("Mcp-Name"));
        say(&[version, call], "tools/call", named, Some("Mcp-Name"));
        say(&[version, call, ("mcp-name", "x")], "tools/call", r#""name":"x""#, None);
        say(
            &[version, ("mcp-method", "resources/read"), ("mcp-name", "a:b")],
            "resources/read",
            r#""uri":"a:b""#,
            None,
        );
        say(
            &[version, ("mcp-method", "tasks/get"), ("mcp-name", "a")],
            "tasks/get",
            r#""taskId":"b""#,
            Some("Mcp-Name"),
        );
        say(
            &[version, ("mcp-method", "prompts/get"), ("mcp-name", "a")],
            "prompts/get",
            r#""name":"b""#,
            Some("Mcp-Name"),
        );
    }
}
