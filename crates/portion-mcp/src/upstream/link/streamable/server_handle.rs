//! State of a streamable HTTP server, shared by all tasks of a link.

use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use hyper::StatusCode;
use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::super::LinkEvent;
use super::session::{OutboundMessage, SESSION_ID_HEADER, UpstreamSession};
use crate::mcp::request_headers::RequestHeaders;
use crate::mcp::{MessageKind, MessageView, ParsedBatch};
use crate::once::OneShotFlag;
use crate::upstream::http::{EventStream, RequestError, ResponseContent, ResumePoint, ServerClient};
use crate::upstream::link::InFlight;

/// State shared by the tasks of a link.
pub(super) struct ServerHandle {
    pub(super) client: ServerClient,
    pub(super) in_flight: InFlight,
    /// Channel for messages of the server.
    pub(super) incoming: mpsc::Sender<LinkEvent>,
    /// Set when the link has ended; all tasks end then.
    pub(super) is_closed: OneShotFlag,
    /// Held while a new session is started.
    pub(super) renewal_lock: tokio::sync::Mutex<()>,
    pub(super) session: Mutex<UpstreamSession>,
    pub(super) request_headers: Mutex<RequestHeaders>,
}

/// Outcome of posting a message.
pub(in super::super) enum PostOutcome {
    Content(ResponseContent),
    /// The server does not know the session of this generation (any more), and has not processed the message.
    SessionLost(u64, RequestError),
}

impl ServerHandle {
    pub(super) fn new(client: ServerClient, incoming: mpsc::Sender<LinkEvent>) -> Self {
        Self {
            client,
            in_flight: InFlight::default(),
            incoming,
            is_closed: OneShotFlag::default(),
            renewal_lock: tokio::sync::Mutex::default(),
            session: Mutex::default(),
            request_headers: Mutex::default(),
        }
    }

    /// Runs a task until it ends or the link is closed.
    pub(super) fn spawn(self: &Arc<Self>, task: impl Future<Output = ()> + Send + 'static) {
        let server = Arc::clone(self);
        tokio::spawn(async move {
            tokio::select! {
                () = server.is_closed.wait() => {}
                () = task => {}
            }
        });
    }

    /// Parses a message of the client.
    pub(super) fn parse_message(&self, message: &Bytes) -> OutboundMessage {
        OutboundMessage::parse(message, &self.request_headers.lock(), &self.in_flight)
    }

    /// Posts a message.
    pub(super) async fn post(&self, outbound: &OutboundMessage) -> Result<PostOutcome, RequestError> {
        let (headers, generation) = {
            let mut session = self.session.lock();
            (session.headers_for(outbound), session.generation)
        };
        let in_session = headers.contains_key(SESSION_ID_HEADER);
        let response = self.client.post(None, headers, outbound.bytes.clone()).await?;
        if response.status.is_success() {
            if outbound.is_initialize {
                self.session.lock().id = response.headers.get(SESSION_ID_HEADER).cloned();
            }
            return Ok(PostOutcome::Content(response.content));
        }
        let is_own = |id: &str| outbound.request_ids.iter().any(|own| own == id);
        let is_own_response = is_response_to(&response.content, is_own);
        let session_ended = in_session
            && match response.status {
                StatusCode::NOT_FOUND => !is_own_response,
                StatusCode::BAD_REQUEST => reports_unknown_session(&response.content),
                _ => false,
            };
        // The status matters more than the body, unless the body is certainly the response to this request.
        let status_suffices = matches!(response.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        if !session_ended
            && (is_own_response || (!status_suffices && is_response_to(&response.content, |_| true)))
        {
            return Ok(PostOutcome::Content(response.content));
        }
        let error = response.to_error_status().into();
        if session_ended { Ok(PostOutcome::SessionLost(generation, error)) } else { Err(error) }
    }

    /// Opens the stream for unsolicited messages, or resumes a stream.
    pub(super) async fn open_stream(&self, resume: ResumePoint) -> Result<EventStream, RequestError> {
        let fields = self.session.lock().headers();
        self.client.get(fields, resume).await
    }
}

/// Returns true if the body reports an unknown session. Servers based on older examples of the official SDKs answer 400
/// where the specification requires 404.
fn reports_unknown_session(content: &ResponseContent) -> bool {
    const WORDS: [&str; 3] = ["no valid session", "invalid session", "session not found"];
    let text = match content {
        ResponseContent::Json(text) => String::from_utf8_lossy(text).to_lowercase(),
        ResponseContent::Text(text) => text.to_lowercase(),
        _ => return false,
    };
    WORDS.iter().any(|words| text.contains(words))
}

/// Returns true if the content is the response to a request whose id matches.
fn is_response_to(content: &ResponseContent, matches_id: impl Fn(&str) -> bool) -> bool {
    let ResponseContent::Json(json) = content else { return false };
    let is_it =
        |message: &MessageView<'_>| message.kind() == MessageKind::Response && matches_id(message.id());
    ParsedBatch::read(json, |batch| batch.messages.iter().any(is_it)) == Some(true)
}
