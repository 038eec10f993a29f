//! A post and what the server says of it, for as long as the client waits.
//!
//! The client's going is a cancellation: then this is dropped, and the server hears of it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc;

use super::shared_connection::SharedConnection;
use crate::bridge::post_response::{MessageSource, ResponseMessage, SourceItem};
use crate::frame::Frame;
use crate::mcp::McpProcessor;
use crate::relay::{MessageProcessor as _, OutgoingMessage};

/// A post that waits.
pub(super) struct StatelessExchange {
    connection: Arc<SharedConnection>,
    processor: McpProcessor,
    post_id: u64,
    receiver: mpsc::Receiver<Result<Frame, String>>,
    /// What was heard and not yet dealt with.
    next_input: Option<ExchangeInput>,
    queued_messages: VecDeque<ResponseMessage>,
    state: ExchangeState,
}

/// What a post hears.
enum ExchangeInput {
    Frame(Frame),
    /// The server has been silent for too long.
    TimedOut(Vec<OutgoingMessage>),
    /// Nothing follows, for this reason.
    Closed(String),
    Overrun,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExchangeState {
    Waiting,
    Answered,
    /// It reads so slowly that what others wait for would have to wait for it.
    Overrun,
}

impl StatelessExchange {
    /// The post of this number on a trunk.
    pub(super) fn new(
        trunk: &Arc<SharedConnection>,
        lane: McpProcessor,
        post: u64,
        hears: mpsc::Receiver<Result<Frame, String>>,
    ) -> Self {
        let (trunk, pieces) = (Arc::clone(trunk), VecDeque::new());
        Self {
            connection: trunk,
            processor: lane,
            post_id: post,
            receiver: hears,
            next_input: None,
            queued_messages: pieces,
            state: ExchangeState::Waiting,
        }
    }

    /// Carries what was posted to the server.
    pub(super) async fn send_request(&mut self, text: &str) {
        let said = self.processor.process_client_frame(Frame::Message(text.as_bytes().to_vec())).await;
        self.dispatch(said).await;
    }

    async fn dispatch(&mut self, said: Vec<OutgoingMessage>) {
        for said in said {
            match said {
                OutgoingMessage::ToClient(data) => {
                    // One request was posted: once none waits, this answers it.
                    let answer = self.processor.pending_count() == 0;
                    if answer {
                        self.state = ExchangeState::Answered;
                    }
                    self.queued_messages.push_back(ResponseMessage {
                        event_id: None,
                        data: data.into(),
                        is_response: answer,
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
                said = self.receiver.recv() => match said {
                    Some(Ok(frame)) => ExchangeInput::Frame(frame),
                    Some(Err(why)) => ExchangeInput::Closed(why),
                    None => ExchangeInput::Overrun,
                },
                said = self.processor.next_timeout() => ExchangeInput::TimedOut(said),
            });
        }
    }

    async fn take(&mut self) -> SourceItem {
        if self.queued_messages.is_empty() && self.state == ExchangeState::Waiting {
            match self.next_input.take() {
                Some(ExchangeInput::Frame(frame)) => {
                    let said = self.processor.process_server_frame(frame).await;
                    self.dispatch(said).await;
                }
                Some(ExchangeInput::TimedOut(mut said)) => {
                    // The server hears of it when this is dropped.
                    said.retain(|said| matches!(said, OutgoingMessage::ToClient(_)));
                    self.dispatch(said).await;
                }
                Some(ExchangeInput::Closed(why)) => {
                    let said = self.processor.on_server_gone(&why);
                    self.dispatch(said).await;
                    self.state = ExchangeState::Answered;
                }
                Some(ExchangeInput::Overrun) => self.state = ExchangeState::Overrun,
                None => {}
            }
        }
        match (self.queued_messages.pop_front(), self.state) {
            (Some(piece), _) => SourceItem::Message(piece),
            (None, ExchangeState::Waiting) => SourceItem::Pending,
            (None, ExchangeState::Answered) => SourceItem::End,
            (None, ExchangeState::Overrun) => SourceItem::Truncated("the client reads too slowly"),
        }
    }
}

impl Drop for StatelessExchange {
    fn drop(&mut self) {
        self.connection.close_post(self.post_id, Instant::now());
    }
}
