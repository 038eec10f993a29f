//! A pending post and the server messages for it.
//!
//! A client that disconnects cancels its request: the exchange is dropped, and the server is notified.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use portion_core::cursor::Scope;
use portion_gateway::paged_call::PageError;
use tokio::sync::mpsc;

use super::shared_connection::SharedConnection;
use crate::bridge::post_response::{MessageSource, ResponseMessage, SourceItem};
use crate::frame::Frame;
use crate::mcp::{
    McpProcessor, MessageKind, MessageView, OwnedBatch, ParsedBatch, ResponseFuture, UpstreamCaller,
};
use crate::message_processor::{MessageProcessor as _, OutgoingMessage};

/// Messages queued for one post. A slower client is disconnected, because others wait for the same server.
const QUEUE_LIMIT: usize = 256;

/// A post on a shared connection. When it is dropped, its pending requests are cancelled at the server.
pub(super) struct OpenPost {
    connection: Arc<SharedConnection>,
    id: u64,
    receiver: mpsc::Receiver<Result<Frame, String>>,
}

impl OpenPost {
    /// Opens the post of a request. Returns `None` if the link is closed.
    pub(super) fn open(
        connection: &Arc<SharedConnection>,
        scope: Scope,
        request: &MessageView<'_>,
    ) -> Option<Self> {
        let (sender, receiver) = mpsc::channel(QUEUE_LIMIT);
        let id = connection.requests.lock().register_post(sender, scope, request)?;
        Some(Self { connection: Arc::clone(connection), id, receiver })
    }

    /// Sends a message to the server. The post is notified separately if the link is closed.
    async fn send(&self, message: Vec<u8>) {
        let message = self.connection.requests.lock().rewrite_outbound(self.id, message);
        self.connection.send_verbatim(message).await;
    }
}

impl Drop for OpenPost {
    fn drop(&mut self) {
        self.connection.close_post(self.id, Instant::now());
    }
}

/// A pending post and its processor.
pub(super) struct StatelessExchange {
    post: OpenPost,
    processor: McpProcessor,
    /// Input that was received and not yet processed.
    next_input: Option<ExchangeInput>,
    queued_messages: VecDeque<ResponseMessage>,
    state: ExchangeState,
}

/// Input of an exchange.
enum ExchangeInput {
    Frame(Frame),
    /// The request timed out; the messages to send.
    TimedOut(Vec<OutgoingMessage>),
    /// The connection was closed, for this reason.
    Closed(String),
    Overrun,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExchangeState {
    Waiting,
    Answered,
    /// The client reads so slowly that it would delay other clients.
    Overrun,
}

impl StatelessExchange {
    /// Creates the exchange of a post.
    pub(super) fn new(post: OpenPost, processor: McpProcessor) -> Self {
        let (queued_messages, state) = (VecDeque::new(), ExchangeState::Waiting);
        Self { post, processor, next_input: None, queued_messages, state }
    }

    /// Sends the posted request to the server.
    pub(super) async fn send_request(&mut self, posted: OwnedBatch) {
        let outgoing = self.processor.process_client_batch(posted).await;
        self.dispatch(outgoing).await;
    }

    async fn dispatch(&mut self, outgoing: Vec<OutgoingMessage>) {
        for outgoing in outgoing {
            match outgoing {
                OutgoingMessage::ToClient(data) => {
                    // Exactly one request was posted: if none is pending, this is its response.
                    let is_response = self.processor.pending_count() == 0;
                    if is_response {
                        self.state = ExchangeState::Answered;
                    }
                    self.queued_messages.push_back(ResponseMessage {
                        event_id: None,
                        data: data.into(),
                        is_response,
                    });
                }
                OutgoingMessage::ToServer(message) | OutgoingMessage::InternalRequest(message) => {
                    self.post.send(message).await;
                }
            }
        }
    }
}

impl MessageSource for StatelessExchange {
    async fn wait(&mut self) {
        if self.queued_messages.is_empty()
            && self.next_input.is_none()
            && self.state == ExchangeState::Waiting
        {
            self.next_input = Some(tokio::select! {
                input = self.post.receiver.recv() => match input {
                    Some(Ok(frame)) => ExchangeInput::Frame(frame),
                    Some(Err(reason)) => ExchangeInput::Closed(reason),
                    None => ExchangeInput::Overrun,
                },
                outgoing = self.processor.next_timeout() => ExchangeInput::TimedOut(outgoing),
            });
        }
    }

    async fn take(&mut self) -> SourceItem {
        if self.queued_messages.is_empty() && self.state == ExchangeState::Waiting {
            match self.next_input.take() {
                Some(ExchangeInput::Frame(frame)) => {
                    let outgoing = self.processor.process_server_frame(frame).await;
                    self.dispatch(outgoing).await;
                }
                Some(ExchangeInput::TimedOut(mut outgoing)) => {
                    // The server gets the cancellation when this is dropped.
                    outgoing.retain(|outgoing| !is_cancellation(outgoing));
                    self.dispatch(outgoing).await;
                }
                Some(ExchangeInput::Closed(reason)) => {
                    let outgoing = self.processor.on_server_gone(&reason);
                    self.dispatch(outgoing).await;
                    self.state = ExchangeState::Answered;
                }
                Some(ExchangeInput::Overrun) => self.state = ExchangeState::Overrun,
                None => {}
            }
        }
        match (self.queued_messages.pop_front(), self.state) {
            (Some(message), _) => SourceItem::Message(message),
            (None, ExchangeState::Waiting) => SourceItem::Pending,
            (None, ExchangeState::Answered) => SourceItem::End,
            (None, ExchangeState::Overrun) => SourceItem::Truncated("the client reads too slowly"),
        }
    }
}

/// Returns true for a message to the server that cancels a request.
fn is_cancellation(outgoing: &OutgoingMessage) -> bool {
    let OutgoingMessage::ToServer(message) = outgoing else { return false };
    let cancels = |message: &MessageView<'_>| message.method() == "notifications/cancelled";
    ParsedBatch::read(message, |batch| batch.messages.iter().all(cancels)) == Some(true)
}

/// Calls the server of a shared link for one principal.
pub(super) struct SharedLinkCaller {
    pub(super) connection: Arc<SharedConnection>,
    pub(super) scope: Scope,
}

impl UpstreamCaller for SharedLinkCaller {
    fn call<'a>(&'a self, id: &'a str, request: Vec<u8>) -> ResponseFuture<'a> {
        Box::pin(async move {
            let post = ParsedBatch::read(&request, |batch| {
                OpenPost::open(&self.connection, self.scope, batch.messages.first()?)
            });
            let Some(mut post) = post.flatten() else { return Err(PageError::Closed) };
            post.send(request).await;
            while let Some(input) = post.receiver.recv().await {
                match input {
                    Ok(Frame::Message(message)) if is_response(&message, id) => return Ok(message),
                    Ok(Frame::Message(_)) => {}
                    Ok(Frame::TooLarge(_)) => {
                        return Err(PageError::Failed("the response is too large".into()));
                    }
                    Err(_) => break,
                }
            }
            Err(PageError::Closed)
        })
    }
}

fn is_response(message: &[u8], id: &str) -> bool {
    let answers = |first: &MessageView<'_>| first.kind() == MessageKind::Response && first.id() == id;
    ParsedBatch::read(message, |batch| batch.messages.first().is_some_and(answers)) == Some(true)
}
