//! A received line of the client, which is parsed once for all steps that follow.

use super::envelope::{InvalidMessage, decode_owned, parse};
use super::owned_batch::OwnedBatch;
use crate::frame::{DroppedLine, Frame};

/// A message of the client, parsed once.
#[derive(Debug)]
pub enum ClientMessage {
    /// A message or a batch of messages.
    Valid(OwnedBatch),
    /// A line that is not a message.
    Invalid {
        /// The line; invalid UTF-8 sequences are replaced.
        text: String,
        /// Why it is not a message.
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
