//! What the server says, whichever way it came.

use std::sync::LazyLock;
use std::time::Instant;

use super::super::message::{to_single_line, with_response_id};
use super::super::{LinkClosed, LinkEvent};
use super::outbound_message::OutboundMessage;
use super::server_handle::ServerHandle;
use crate::dropped_messages::LogRateLimit;
use crate::frame::Frame;
use crate::mcp::{MessageKind, MessageView, ParsedBatch};

/// How often it is logged that something is no message.
static INVALID_LOG_LIMIT: LazyLock<LogRateLimit> = LazyLock::new(LogRateLimit::default);

impl ServerHandle {
    /// Passes a message on. `letter`: it came in answer to that.
    ///
    /// # Errors
    /// [`LinkClosed`] where nobody listens any more.
    pub(super) async fn receive(
        &self,
        said: Vec<u8>,
        letter: Option<&OutboundMessage>,
    ) -> Result<(), LinkClosed> {
        let mended = {
            let text = String::from_utf8_lossy(&said);
            match ParsedBatch::parse(&text) {
                Ok(heard) => self.complete_requests(&text, &heard, letter),
                Err(why) => {
                    if let Some(unlogged) = INVALID_LOG_LIMIT.acquire(Instant::now()) {
                        tracing::warn!(%why, bytes = said.len(), unlogged, "dropped what is no message");
                    }
                    return Ok(());
                }
            }
        };
        let message = to_single_line(mended.unwrap_or(said));
        self.forward(Frame::Message(message)).await
    }

    /// A message over the limit has been dropped: if the answer to this is waited for, it was that.
    pub(super) async fn receive_too_large(
        &self,
        bytes: u64,
        letter: Option<&OutboundMessage>,
    ) -> Result<(), LinkClosed> {
        for id in letter.map(|letter| letter.request_ids.as_slice()).unwrap_or_default() {
            if self.in_flight.complete(id).is_some() {
                let id = Some(id.as_str().into());
                self.forward(Frame::TooLarge { id, has_method: false, bytes }).await?;
            }
        }
        Ok(())
    }

    /// Hands a frame to whoever listens.
    pub(super) async fn forward(&self, frame: Frame) -> Result<(), LinkClosed> {
        self.incoming.send(LinkEvent::Frame(frame)).await.map_err(|_| LinkClosed)
    }

    /// Notes what is answered. An answer to the only request that was posted is for that one, whatever its id says:
    /// then it is returned with the right one.
    fn complete_requests(
        &self,
        text: &str,
        heard: &ParsedBatch<'_>,
        letter: Option<&OutboundMessage>,
    ) -> Option<Vec<u8>> {
        let mut stray = None;
        for answer in heard.messages.iter().filter(|note| note.kind() == MessageKind::Response) {
            if let Some(letter) = letter {
                self.record_response(answer, letter);
            }
            if self.in_flight.complete(answer.id()).is_none() {
                stray = Some(answer);
            }
        }
        let [id] = letter?.request_ids.as_slice() else { return None };
        let stray = stray.filter(|_| !heard.is_batch)?;
        self.in_flight.complete(id)?;
        Some(with_response_id(text, stray, id))
    }

    fn record_response(&self, answer: &MessageView<'_>, letter: &OutboundMessage) {
        if letter.is_initialize
            && let Some(version) = answer.negotiated_version()
        {
            self.session().set_negotiated_version(&version);
        }
        if letter.is_tools_list {
            self.request_headers().learn_tools(answer);
        }
    }
}
