//! A pending post and the server messages for it.
//!
//! A client that disconnects cancels its request: the exchange is dropped, and the server is notified.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use portion_core::cursor::Scope;
use portion_gateway::paged_call::PageError;
use tokio::sync::mpsc;

use super::shared_connection::SharedConnection;
use crate::bridge::post_response::{MessageSource, ResponseMessage, SourceItem};
use crate::frame::Frame;
use crate::mcp::{McpProcessor, MessageKind, OwnedBatch, ParsedBatch, ResponseFuture, UpstreamCaller};
use crate::message_processor::{MessageProcessor as _, OutgoingMessage};

/// Messages queued for one call: notifications before its response.
const QUEUE_LIMIT: usize = 256;

/// A pending post.
pub(super) struct StatelessExchange {
    connection: Arc<SharedConnection>,
    processor: McpProcessor,
    post_id: u64,
    receiver: mpsc::Receiver<Result<Frame, String>>,
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
    /// Creates the exchange of a post on a shared connection.
    pub(super) fn new(
        connection: &Arc<SharedConnection>,
        processor: McpProcessor,
        post_id: u64,
        receiver: mpsc::Receiver<Result<Frame, String>>,
    ) -> Self {
        let (connection, queued_messages) = (Arc::clone(connection), VecDeque::new());
        Self {
            connection,
            processor,
            post_id,
            receiver,
            next_input: None,
            queued_messages,
            state: ExchangeState::Waiting,
        }
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
                    self.connection.send_for_post(self.post_id, message).await;
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
                input = self.receiver.recv() => match input {
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
    let text = String::from_utf8_lossy(message);
    ParsedBatch::parse(&text)
        .is_ok_and(|batch| batch.messages.iter().all(|message| message.method() == "notifications/cancelled"))
}

impl Drop for StatelessExchange {
    fn drop(&mut self) {
        self.connection.close_post(self.post_id, Instant::now());
    }
}

/// Calls the server of a shared link for one principal.
pub(super) struct SharedLinkCaller {
    pub(super) connection: Arc<SharedConnection>,
    pub(super) scope: Scope,
}

impl fmt::Debug for SharedLinkCaller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedLinkCaller")
    }
}

impl UpstreamCaller for SharedLinkCaller {
    fn call<'a>(&'a self, id: &'a str, request: Vec<u8>) -> ResponseFuture<'a> {
        Box::pin(async move {
            let (sender, mut receiver) = mpsc::channel(QUEUE_LIMIT);
            let post_id = {
                let text = String::from_utf8_lossy(&request);
                let batch = ParsedBatch::parse(&text).ok();
                let message = batch.as_ref().and_then(|batch| batch.messages.first());
                message.and_then(|message| self.connection.register_post(sender, self.scope, message))
            };
            let Some(post_id) = post_id else { return Err(PageError::Closed) };
            // Cancels the request at the server if no one waits for it any more.
            let _guard = PostGuard { connection: &self.connection, post_id };
            self.connection.send_for_post(post_id, request).await;
            while let Some(input) = receiver.recv().await {
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

struct PostGuard<'a> {
    connection: &'a SharedConnection,
    post_id: u64,
}

impl Drop for PostGuard<'_> {
    fn drop(&mut self) {
        self.connection.close_post(self.post_id, Instant::now());
    }
}

fn is_response(message: &[u8], id: &str) -> bool {
    let text = String::from_utf8_lossy(message);
    let Ok(batch) = ParsedBatch::parse(&text) else { return false };
    batch
        .messages
        .first()
        .is_some_and(|message| message.kind() == MessageKind::Response && message.id() == id)
}
