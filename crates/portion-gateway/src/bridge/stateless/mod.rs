//! Clients of 2026-07-28 and later: no sessions, one link for all, dialled when somebody asks.
//!
//! - `headers`: the header fields say what the body says
//! - `trunk`: the link
//! - `table`: whose is what its server says
//! - `exchange`: a post and its answer

mod exchange;
mod headers;
mod request_table;
mod shared_connection;

use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use hyper::header::HeaderMap;
use hyper::{Response, StatusCode};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::post_response::{AcceptedTypes, PostResponse, respond};
use super::{accepted, bad_request};
use crate::frame::Frame;
use crate::front::http::Principal;
use crate::front::http::http_error::{HttpError, json_response};
use crate::http::body::Body;
use crate::mcp::error_code::{
    HEADER_MISMATCH, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, MISSING_CAPABILITY,
    PARSE_ERROR, UNSUPPORTED_VERSION,
};
use crate::mcp::{McpProcessorFactory, MessageKind, MessageView, ParsedBatch};
use crate::relay::{MessageProcessor as _, OutgoingMessage};
use crate::upstream::link::Connector;
use exchange::StatelessExchange;
use shared_connection::SharedConnection;

/// How long a server that has never said anything may take for `server/discover`. Clients wait 10 s, and servers of
/// earlier revisions may say nothing before `initialize`.
const DISCOVER_TIMEOUT: Duration = Duration::from_secs(8);
/// How often the link is looked at.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(15);

/// The link that all of them share, and how it is made.
pub(super) struct StatelessClients {
    connector: Arc<dyn Connector>,
    processor_factory: McpProcessorFactory,
    idle_timeout: Duration,
    connection: Mutex<Option<Arc<SharedConnection>>>,
}

impl StatelessClients {
    pub(super) fn new(dial: Arc<dyn Connector>, lanes: McpProcessorFactory, idle: Duration) -> Self {
        Self { connector: dial, processor_factory: lanes, idle_timeout: idle, connection: Mutex::default() }
    }

    /// Answers what was posted.
    pub(super) async fn handle_post(
        self: &Arc<Self>,
        principal: &Principal,
        headers: &HeaderMap,
        text: &str,
        heard: &ParsedBatch<'_>,
    ) -> Result<Response<Body>, HttpError> {
        let [note] = &*heard.messages else {
            return Err(bad_request("a batch; this revision has none: post one message"));
        };
        match note.kind() {
            _ if heard.is_batch => Err(bad_request("a batch; this revision has none: post one message")),
            MessageKind::Response => Err(bad_request("an answer; in this revision servers ask nothing")),
            MessageKind::Notification => self.handle_notification(principal, text, note).await,
            MessageKind::Request => self
                .handle_request(principal, headers, text, note)
                .await
                .map_err(|refusal| refusal.for_request(note.id())),
        }
    }

    /// Ends the link, and waits until the server has left.
    pub(super) async fn close(&self) {
        if let Some(trunk) = self.connection.lock().await.take() {
            trunk.end();
            trunk.ended().await;
        }
    }

    async fn handle_request(
        self: &Arc<Self>,
        principal: &Principal,
        headers: &HeaderMap,
        text: &str,
        note: &MessageView<'_>,
    ) -> Result<Response<Body>, HttpError> {
        let mut accept = AcceptedTypes::from_headers(headers).require_any()?;
        let method = note.method();
        if method == "subscriptions/listen" {
            if !accept.accepts_stream {
                let message = "a subscription is heard as text/event-stream; send Accept with it";
                return Err(HttpError::new(StatusCode::NOT_ACCEPTABLE, INVALID_REQUEST, message));
            }
            accept.accepts_json = false;
        }
        headers::check_standard_headers(headers, note)?;
        if method == "initialize" {
            return Err(initialize_unsupported());
        }
        let (trunk, mut exchange) = self.open_exchange(principal, headers, note).await?;
        let is_probe = method == "server/discover";
        if is_probe && trunk.is_unresponsive() {
            return Err(discover_unanswered());
        }
        exchange.send_request(text).await;
        let mut reply = pin!(respond(exchange, accept, false, None));
        let reply = match timeout(DISCOVER_TIMEOUT, &mut reply).await {
            Ok(reply) => reply,
            Err(_) if is_probe && !trunk.has_received() => {
                trunk.mark_unresponsive();
                return Err(discover_unanswered());
            }
            Err(_) => reply.await,
        };
        match reply {
            PostResponse::Json(answer) => Ok(json_response(http_status(&answer), answer)),
            PostResponse::Stream(response) => Ok(response),
            PostResponse::Lost(why) => Err(HttpError::new(StatusCode::BAD_GATEWAY, INTERNAL_ERROR, why)),
        }
    }

    async fn handle_notification(
        self: &Arc<Self>,
        principal: &Principal,
        text: &str,
        note: &MessageView<'_>,
    ) -> Result<Response<Body>, HttpError> {
        // Its id would be one of another's: who wants to cancel leaves.
        if note.method() != "notifications/cancelled" {
            let trunk = self.connection().await?;
            let frame = Frame::Message(text.as_bytes().to_vec());
            for said in trunk.processor_for(principal).process_client_frame(frame).await {
                if let OutgoingMessage::ToServer(message) = said {
                    trunk.send_verbatim(message).await;
                }
            }
        }
        Ok(accepted())
    }

    /// A place on the link, for a request whose header fields are right.
    async fn open_exchange(
        self: &Arc<Self>,
        principal: &Principal,
        headers: &HeaderMap,
        note: &MessageView<'_>,
    ) -> Result<(Arc<SharedConnection>, StatelessExchange), HttpError> {
        loop {
            let trunk = self.connection().await?;
            let lane = trunk.processor_for(principal);
            headers::check_param_headers(headers, note, &lane)?;
            if let Some(exchange) = trunk.open_exchange(lane, principal.sessionless_scope(), note) {
                return Ok((trunk, exchange));
            }
        }
    }

    async fn connection(self: &Arc<Self>) -> Result<Arc<SharedConnection>, HttpError> {
        let mut current = self.connection.lock().await;
        if let Some(trunk) = current.as_ref().filter(|trunk| !trunk.is_over()) {
            return Ok(Arc::clone(trunk));
        }
        let link = self.connector.connect().await;
        let link =
            link.map_err(|error| HttpError::new(StatusCode::BAD_GATEWAY, INTERNAL_ERROR, error.to_string()))?;
        let trunk = SharedConnection::start(self.processor_factory.clone(), link);
        tokio::spawn(close_when_idle(Arc::downgrade(&trunk), self.idle_timeout));
        *current = Some(Arc::clone(&trunk));
        Ok(trunk)
    }
}

/// Ends a link that nobody has used for so long.
async fn close_when_idle(trunk: Weak<SharedConnection>, idle: Duration) {
    loop {
        tokio::time::sleep(IDLE_CHECK_INTERVAL).await;
        let Some(trunk) = trunk.upgrade().filter(|trunk| !trunk.is_over()) else { return };
        if trunk.idle_since().is_some_and(|since| Instant::now().duration_since(since) > idle) {
            tracing::info!("ended the server of clients without sessions, for it was idle");
            trunk.end();
        }
    }
}

/// What makes a client of several revisions go on with `initialize`.
fn discover_unanswered() -> HttpError {
    let message =
        "the server does not answer server/discover; it may be of an earlier revision: send initialize";
    HttpError::new(StatusCode::NOT_FOUND, METHOD_NOT_FOUND, message)
}

/// A server that knows both kinds of revisions might begin a session with it, on the link that is everybody's.
fn initialize_unsupported() -> HttpError {
    let message =
        "this revision has no initialize; send what you want to ask, or initialize as 2025-11-25 has it";
    HttpError::new(StatusCode::NOT_FOUND, METHOD_NOT_FOUND, message)
}

/// The status that an answer has in this revision.
fn http_status(answer: &[u8]) -> StatusCode {
    let text = String::from_utf8_lossy(answer);
    let code = ParsedBatch::parse(&text)
        .ok()
        .and_then(|heard| heard.messages.first().and_then(MessageView::error_code));
    let is = |known: i32| code == Some(known.into());
    if is(METHOD_NOT_FOUND) {
        StatusCode::NOT_FOUND
    } else if [PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, HEADER_MISMATCH].into_iter().any(is)
        || [MISSING_CAPABILITY, UNSUPPORTED_VERSION].into_iter().any(is)
    {
        StatusCode::BAD_REQUEST
    } else {
        StatusCode::OK
    }
}
