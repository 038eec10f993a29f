//! Link to a server over streamable HTTP, of any revision.
//!
//! Each message is a POST. The response is JSON or a stream of events. Before 2026-07-28 there is one more stream, for
//! unsolicited messages of the server, and there are sessions, which the client behind a link does not see.
//!
//! - `session`: a message of the client with its
//!   session headers, and a new session in place of one that the server has ended
//! - `exchange`: posts a message and forwards the response
//! - `session` also keeps the stream for unsolicited messages open

mod exchange;
mod session;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::super::http::{EventStream, RequestError, ResponseContent, ResumePoint, ServerClient};
use super::{InFlight, LinkClosed, LinkEvent, to_single_line, with_response_id};
use crate::frame::{DroppedLine, Frame, response_ids};
use crate::mcp::request_headers::RequestHeaders;
use crate::mcp::{MessageKind, MessageView, ParsedBatch};
use crate::once::OneShotFlag;
use exchange::MessageExchange;
use session::{OutboundMessage, SESSION_ID_HEADER, UpstreamSession, open_listening_stream};

/// Longest delay of the next message until a notification or a response has been posted.
const POST_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout for ending the session at the server.
const SESSION_END_TIMEOUT: Duration = Duration::from_secs(1);

/// Link to one server.
pub(super) struct StreamableLink {
    server: Arc<ServerHandle>,
}

/// The first message, after it was posted, and the outcome.
pub(super) struct FirstExchange {
    exchange: MessageExchange,
    pub(super) posted: Result<PostOutcome, RequestError>,
}

impl StreamableLink {
    pub(super) fn new(client: ServerClient, incoming: mpsc::Sender<LinkEvent>) -> Self {
        Self { server: Arc::new(ServerHandle::new(client, incoming)) }
    }

    /// Posts the first message; the caller decides from the outcome whether the server speaks this transport.
    pub(super) async fn post_first(&self, message: &Bytes) -> FirstExchange {
        let exchange = self.new_exchange(message);
        let posted = self.server.post(&exchange.message).await;
        FirstExchange { exchange, posted }
    }

    /// Processes the response to the first message.
    pub(super) async fn continue_first(&self, first: FirstExchange) {
        let FirstExchange { exchange, posted } = first;
        if exchange.message.is_initialize {
            exchange.continue_with(posted).await;
        } else {
            self.server.spawn(exchange.continue_with(posted));
        }
    }

    /// Sends messages until the channel is closed, and waits for the pending requests.
    pub(super) async fn run(&self, outgoing: &mut mpsc::Receiver<Vec<u8>>) {
        while let Some(message) = outgoing.recv().await {
            self.send(message.into()).await;
        }
        self.server.in_flight.wait_until_complete().await;
    }

    /// Ends all tasks and the session.
    pub(super) async fn close(&self) {
        let server = &self.server;
        server.is_closed.set();
        let session = server.session.lock().clone();
        if session.id.is_some()
            && !matches!(
                timeout(SESSION_END_TIMEOUT, server.client.delete(session.headers())).await,
                Ok(Ok(()))
            )
        {
            tracing::debug!("the end of the session could not be sent to the server");
        }
    }

    /// Sends one message.
    pub(super) async fn send(&self, message: Bytes) {
        let exchange = self.new_exchange(&message);
        let outbound = &exchange.message;
        if outbound.cancelled_id.as_deref().is_some_and(|id| self.cancel(id)) {
            return;
        }
        if outbound.is_initialize {
            // No other message is sent before the session has begun.
            return exchange.run().await;
        }
        if !outbound.request_ids.is_empty() {
            return self.server.spawn(exchange.run());
        }
        let initialized = outbound.is_initialized_notification.then(|| outbound.bytes.clone());
        let taken = Arc::new(OneShotFlag::default());
        let posted = Arc::clone(&taken);
        self.server.spawn(async move {
            post_one_way(exchange).await;
            posted.set();
        });
        let _ = timeout(POST_TIMEOUT, taken.wait()).await;
        if initialized.is_some() {
            self.server.session.lock().initialized_message = initialized;
            open_listening_stream(&self.server).await;
        }
    }

    fn new_exchange(&self, message: &Bytes) -> MessageExchange {
        let outbound = self.server.parse_message(message);
        if outbound.is_initialize {
            self.server.session.lock().begin(outbound.bytes.clone());
        }
        MessageExchange { server: Arc::clone(&self.server), message: outbound }
    }

    /// Cancels a request. Since 2026-07-28 closing its stream is the cancellation, and the notification is not posted;
    /// before, it is. Returns true if it must not be posted.
    fn cancel(&self, raw_id: &str) -> bool {
        // The response is not wanted any more, even if it is not pending.
        let Some(request) = self.server.in_flight.complete(raw_id) else {
            return self.server.session.lock().is_stateless;
        };
        if request.is_stateless {
            request.cancelled.set();
        }
        request.is_stateless
    }
}

/// State shared by the tasks of a link.
struct ServerHandle {
    client: ServerClient,
    in_flight: InFlight,
    /// Channel for messages of the server.
    incoming: mpsc::Sender<LinkEvent>,
    /// Set when the link has ended; all tasks end then.
    is_closed: OneShotFlag,
    /// Held while a new session is started.
    renewal_lock: tokio::sync::Mutex<()>,
    session: Mutex<UpstreamSession>,
    request_headers: Mutex<RequestHeaders>,
}

/// Outcome of posting a message.
pub(super) enum PostOutcome {
    Content(ResponseContent),
    /// The server does not know the session of this generation (any more), and has not processed the message.
    SessionLost(u64, RequestError),
}

impl ServerHandle {
    fn new(client: ServerClient, incoming: mpsc::Sender<LinkEvent>) -> Self {
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
    fn spawn(self: &Arc<Self>, task: impl Future<Output = ()> + Send + 'static) {
        let server = Arc::clone(self);
        tokio::spawn(async move {
            tokio::select! {
                () = server.is_closed.wait() => {}
                () = task => {}
            }
        });
    }

    /// Parses a message of the client.
    fn parse_message(&self, message: &Bytes) -> OutboundMessage {
        OutboundMessage::parse(message, &self.request_headers.lock(), &self.in_flight)
    }

    /// Posts a message.
    async fn post(&self, outbound: &OutboundMessage) -> Result<PostOutcome, RequestError> {
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
    async fn open_stream(&self, resume: ResumePoint) -> Result<EventStream, RequestError> {
        let fields = self.session.lock().headers();
        self.client.get(fields, resume).await
    }

    /// Forwards a message, or data that is none. `outbound` is the message that it responds to.
    ///
    /// # Errors
    /// Returns [`LinkClosed`] if the inbox has been dropped.
    async fn receive(&self, bytes: Vec<u8>, outbound: Option<&OutboundMessage>) -> Result<(), LinkClosed> {
        let corrected = {
            let text = String::from_utf8_lossy(&bytes);
            if let Ok(batch) = ParsedBatch::parse(&text) {
                self.complete_requests(&text, &batch, outbound)
            } else {
                // Its processor counts it, and answers the requests in its place.
                for ids in response_ids(&bytes) {
                    let _ = ids.iter().find_map(|id| self.in_flight.complete(id));
                }
                None
            }
        };
        let message = to_single_line(corrected.unwrap_or(bytes));
        self.forward(Frame::Message(message)).await
    }

    /// Reports a dropped message over the limit as the response to the pending requests of `outbound`.
    async fn receive_too_large(
        &self,
        bytes: u64,
        outbound: Option<&OutboundMessage>,
    ) -> Result<(), LinkClosed> {
        let ids = outbound.map(|outbound| outbound.request_ids.as_slice()).unwrap_or_default();
        let pending = ids.iter().filter(|id| self.in_flight.complete(id).is_some());
        let dropped = DroppedLine::of_responses(pending.map(|id| Box::<str>::from(id.as_str())), bytes);
        if dropped.messages.is_empty() {
            return Ok(());
        }
        self.forward(Frame::TooLarge(dropped)).await
    }

    /// Sends a frame to the inbox.
    async fn forward(&self, frame: Frame) -> Result<(), LinkClosed> {
        self.incoming.send(LinkEvent::Frame(frame)).await.map_err(|_| LinkClosed)
    }

    /// Marks requests as answered. If only one request was posted, an error without an id is its response, and is returned with
    /// the id. Any other response with an unknown id answers nothing.
    fn complete_requests(
        &self,
        text: &str,
        batch: &ParsedBatch<'_>,
        outbound: Option<&OutboundMessage>,
    ) -> Option<Vec<u8>> {
        let responses = batch.messages.iter().filter(|message| message.kind() == MessageKind::Response);
        for response in responses {
            let request = self.in_flight.complete(response.id());
            if let Some(outbound) = outbound.filter(|_| request.is_some()) {
                self.record_response(response, outbound);
            }
        }
        let [id] = outbound?.request_ids.as_slice() else { return None };
        let answer = batch.error_without_id()?;
        self.in_flight.complete(id)?;
        Some(with_response_id(text, answer, id))
    }

    fn record_response(&self, response: &MessageView<'_>, outbound: &OutboundMessage) {
        if outbound.is_initialize
            && let Some(version) = response.negotiated_version()
        {
            self.session.lock().set_negotiated_version(&version);
        }
        if outbound.is_tools_list {
            self.request_headers.lock().learn_tools(response);
        }
    }
}

/// Posts a message without a response. An error of the server is forwarded if it is a message.
async fn post_one_way(exchange: MessageExchange) {
    let MessageExchange { server, message: outbound } = &exchange;
    match server.post(outbound).await {
        Ok(PostOutcome::Content(ResponseContent::Json(json))) => drop(server.receive(json, None).await),
        Ok(PostOutcome::Content(_)) => {}
        Ok(PostOutcome::SessionLost(_, trouble)) | Err(trouble) => {
            tracing::warn!(%trouble, "the server did not accept a message");
        }
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
