//! A streamable-HTTP server as all tasks of a link see it.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use hyper::StatusCode;
use tokio::sync::mpsc;

use super::super::LinkEvent;
use super::super::in_flight::InFlight;
use super::outbound_message::OutboundMessage;
use super::session::{SESSION_ID_HEADER, UpstreamSession};
use crate::mcp::request_headers::RequestHeaders;
use crate::mcp::{MessageKind, ParsedBatch};
use crate::one_shot_flag::OneShotFlag;
use crate::upstream::http::{EventStream, RequestError, ResponseContent, ResumePoint, ServerClient};

/// What the tasks of a link share.
pub(super) struct ServerHandle {
    pub(super) client: ServerClient,
    pub(super) in_flight: InFlight,
    /// What the server says goes here.
    pub(super) incoming: mpsc::Sender<LinkEvent>,
    /// Set when the link has ended: all tasks end with it.
    pub(super) is_closed: OneShotFlag,
    /// Held while a new session is begun.
    pub(super) renewal_lock: tokio::sync::Mutex<()>,
    session: Mutex<UpstreamSession>,
    request_headers: Mutex<RequestHeaders>,
}

/// What came of posting a message.
pub(super) enum PostOutcome {
    Content(ResponseContent),
    /// The server does not know the session of this number (any more): it has not looked at the message.
    SessionLost(u64, RequestError),
}

impl ServerHandle {
    pub(super) fn new(wire: ServerClient, incoming: mpsc::Sender<LinkEvent>) -> Self {
        Self {
            client: wire,
            in_flight: InFlight::default(),
            incoming,
            is_closed: OneShotFlag::default(),
            renewal_lock: tokio::sync::Mutex::default(),
            session: Mutex::default(),
            request_headers: Mutex::default(),
        }
    }

    /// Runs a task until it has come to its end, or the link to its.
    pub(super) fn spawn(self: &Arc<Self>, task: impl Future<Output = ()> + Send + 'static) {
        let server = Arc::clone(self);
        tokio::spawn(async move {
            tokio::select! {
                () = server.is_closed.wait() => {}
                () = task => {}
            }
        });
    }

    pub(super) fn session(&self) -> MutexGuard<'_, UpstreamSession> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn request_headers(&self) -> MutexGuard<'_, RequestHeaders> {
        self.request_headers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a message of the client.
    pub(super) fn parse_message(&self, message: &Bytes) -> OutboundMessage {
        OutboundMessage::parse(message, &self.request_headers(), &self.in_flight)
    }

    /// Posts a message.
    pub(super) async fn post(&self, letter: &OutboundMessage) -> Result<PostOutcome, RequestError> {
        let (fields, number) = {
            let mut session = self.session();
            (session.headers_for(letter), session.generation)
        };
        let in_session = fields.contains_key(SESSION_ID_HEADER);
        let answered = self.client.post(None, fields, letter.bytes.clone()).await?;
        if answered.status.is_success() {
            if letter.is_initialize {
                self.session().id = answered.headers.get(SESSION_ID_HEADER).cloned();
            }
            return Ok(PostOutcome::Content(answered.content));
        }
        let is_meant = is_response_to(&answered.content, |id| letter.has_request_id(id));
        let session_ended = in_session
            && match answered.status {
                StatusCode::NOT_FOUND => !is_meant,
                StatusCode::BAD_REQUEST => reports_unknown_session(&answered.content),
                _ => false,
            };
        // These speak for themselves, unless the answer is certainly to this very request.
        let says_enough = matches!(answered.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        if !session_ended && (is_meant || (!says_enough && is_response_to(&answered.content, |_| true))) {
            return Ok(PostOutcome::Content(answered.content));
        }
        let refusal = answered.to_error_status().into();
        if session_ended { Ok(PostOutcome::SessionLost(number, refusal)) } else { Err(refusal) }
    }

    /// Opens the server's own stream, or resumes one.
    pub(super) async fn open_stream(&self, resume: ResumePoint) -> Result<EventStream, RequestError> {
        let fields = self.session().headers();
        self.client.get(fields, resume).await
    }
}

/// Whether it says that the session is none, as servers do that began as the official SDKs' older examples, which answer
/// 400 where the specification has 404.
fn reports_unknown_session(answer: &ResponseContent) -> bool {
    const WORDS: [&str; 3] = ["no valid session", "invalid session", "session not found"];
    let said = match answer {
        ResponseContent::Json(said) => String::from_utf8_lossy(said).to_lowercase(),
        ResponseContent::Text(said) => said.to_lowercase(),
        _ => return false,
    };
    WORDS.iter().any(|words| said.contains(words))
}

/// Whether it is the answer to a request with such an id.
fn is_response_to(answer: &ResponseContent, such: impl Fn(&str) -> bool) -> bool {
    let ResponseContent::Json(json) = answer else { return false };
    let text = String::from_utf8_lossy(json);
    ParsedBatch::parse(&text).is_ok_and(|heard| {
        heard.messages.iter().any(|note| note.kind() == MessageKind::Response && such(note.id()))
    })
}
