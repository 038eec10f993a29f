//! Handles messages from the server: completes requests and forwards messages to the client.

use super::super::message::{to_single_line, with_response_id};
use super::super::{LinkClosed, LinkEvent};
use super::outbound_message::OutboundMessage;
use super::server_handle::ServerHandle;
use crate::frame::{DroppedLine, Frame, response_ids};
use crate::mcp::{MessageKind, MessageView, ParsedBatch};

impl ServerHandle {
    /// Forwards a message, or data that is none. `outbound` is the message that it responds to.
    ///
    /// # Errors
    /// Returns [`LinkClosed`] if the inbox has been dropped.
    pub(super) async fn receive(
        &self,
        bytes: Vec<u8>,
        outbound: Option<&OutboundMessage>,
    ) -> Result<(), LinkClosed> {
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
    pub(super) async fn receive_too_large(
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
    pub(super) async fn forward(&self, frame: Frame) -> Result<(), LinkClosed> {
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
            self.session().set_negotiated_version(&version);
        }
        if outbound.is_tools_list {
            self.request_headers().learn_tools(response);
        }
    }
}
