//! Payloads of HTTP bodies.

use http::StatusCode;
use portion_core::payload::{Block, Content, Payload};

/// Address of the body within a payload.
const BODY_ADDRESS: &str = "/body";

/// Returns the payload of a body. Invalid UTF-8 is replaced, and counted.
pub(crate) fn payload_of(body: &[u8], status: StatusCode) -> Payload {
    let invalid = body.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
    let text = String::from_utf8_lossy(body).into_owned();
    Payload {
        blocks: vec![Block::new(BODY_ADDRESS, Content::Text(text))],
        invalid_utf8_count: invalid,
        is_error: status.is_client_error() || status.is_server_error(),
        ..Payload::default()
    }
}
