//! A text with its parsed messages, which is passed on so that no later reader parses it again; and a received line of the
//! client.

use super::envelope::{Envelope, InvalidMessage, MessageOrBatch, decode_owned, parse};
use super::parsed_batch::{ParsedBatch, request_whole_results};
use crate::frame::{DroppedLine, Frame};

/// A text of messages, parsed once: a single message, or a batch.
#[derive(Debug)]
pub struct OwnedBatch {
    text: String,
    envelopes: Vec<Envelope>,
    is_batch: bool,
}

impl OwnedBatch {
    /// Parses a whole text.
    ///
    /// # Errors
    /// [`InvalidMessage`] if the text is not a JSON-RPC 2.0 message or a batch of such messages.
    pub fn parse(text: String) -> Result<Self, InvalidMessage> {
        let message = parse(&text)?;
        Ok(Self::new(text, message))
    }

    /// Joins a text and its parsed messages.
    pub(super) fn new(text: String, message: MessageOrBatch) -> Self {
        let (envelopes, is_batch) = message.into_envelopes();
        Self { text, envelopes, is_batch }
    }

    /// Returns the messages.
    pub fn view(&self) -> ParsedBatch<'_> {
        ParsedBatch::new(&self.text, &self.envelopes, self.is_batch)
    }

    /// Requests an unshaped result for every tool call.
    #[must_use]
    pub fn with_whole_results(self) -> Self {
        let rewritten = request_whole_results(&self.text, &self.view());
        rewritten.and_then(|text| Self::parse(text).ok()).unwrap_or(self)
    }

    /// Returns the bytes of the text.
    pub fn into_bytes(self) -> Vec<u8> {
        self.text.into_bytes()
    }

    /// Returns the text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the messages as spans of the text.
    pub(super) fn envelopes(&self) -> &[Envelope] {
        &self.envelopes
    }

    /// Returns the only message; `None` for a batch.
    pub(super) fn single(&self) -> Option<&Envelope> {
        self.envelopes.first().filter(|_| !self.is_batch)
    }

    /// Returns true if the messages form an array.
    pub(super) fn is_batch(&self) -> bool {
        self.is_batch
    }
}

/// A message of the client, parsed once.
#[derive(Debug)]
pub enum ClientMessage {
    /// A message or a batch of messages.
    Valid(OwnedBatch),
    /// A line that is not a message.
    Invalid {
        /// The line; invalid UTF-8 sequences are replaced.
        text: String,
        /// The reason for which it is not a message.
        cause: InvalidMessage,
    },
    /// A line over the limit, which was dropped.
    TooLarge(DroppedLine),
}

impl ClientMessage {
    /// Parses a received frame.
    pub(super) fn parse(frame: Frame) -> Self {
        match frame {
            Frame::Message(line) => {
                let text = decode_owned(line);
                match parse(&text) {
                    Ok(message) => Self::Valid(OwnedBatch::new(text, message)),
                    Err(cause) => Self::Invalid { text, cause },
                }
            }
            Frame::TooLarge(dropped) => Self::TooLarge(dropped),
        }
    }
}
