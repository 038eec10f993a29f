//! Converts messages received over HTTP to the form that a link carries, and tracks the pending requests.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use memchr::memmem;
use tokio::sync::Notify;

use crate::frame::{Frame, replace_line_breaks};
use crate::mcp::error_code::INTERNAL_ERROR;
use crate::mcp::{MessageView, ParsedBatch, RequestIdMap};
use crate::once::OneShotFlag;

/// Puts a message on one line. JSON has raw line breaks only between tokens, where a space means the same.
pub(super) fn to_single_line(mut message: Vec<u8>) -> Vec<u8> {
    while matches!(message.last(), Some(b'\n' | b'\r')) {
        message.pop();
    }
    replace_line_breaks(&mut message);
    message
}

/// Returns a response with its id replaced by `raw_id`.
pub(crate) fn with_response_id(text: &str, response: &MessageView<'_>, raw_id: &str) -> Vec<u8> {
    let object_start = response.span().start as usize + 1;
    let (start, end, id) = response.id_span().map_or_else(
        || (object_start, object_start, format!("\"id\":{raw_id},")),
        |span| (span.start as usize, span.end as usize, raw_id.to_owned()),
    );
    [&text[..start], &id, &text[end..]].concat().into_bytes()
}

/// Adds the id of the only pending request to an error without an id. Other frames stay as they are.
pub(crate) fn with_missing_id(frame: Frame, pending_id: impl FnOnce() -> Option<String>) -> Frame {
    let Frame::Message(bytes) = &frame else { return frame };
    // Saves the parsing of large results.
    if memmem::find(bytes, b"\"error\"").is_none() {
        return frame;
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return frame };
    let Ok(batch) = ParsedBatch::parse(text) else { return frame };
    match batch.error_without_id().and_then(|error| Some((error, pending_id()?))) {
        Some((error, id)) => Frame::Message(with_response_id(text, error, &id)),
        None => frame,
    }
}

/// Returns the error response to a failed request.
pub(super) fn failure_message(raw_id: &str, error: &dyn std::fmt::Display) -> Vec<u8> {
    crate::mcp::error_code::json_rpc_error(raw_id, INTERNAL_ERROR, &error.to_string()).into_bytes()
}

/// Pending requests by id.
#[derive(Default)]
pub(super) struct InFlight {
    requests: Mutex<RequestIdMap<InFlightRequest>>,
    /// Notified whenever a request completes.
    completed: Notify,
}

/// A pending request.
pub(super) struct InFlightRequest {
    raw_id: String,
    /// True since 2026-07-28: closing its stream cancels the request.
    pub(super) is_stateless: bool,
    /// True for a subscription, which has no response.
    is_subscription: bool,
    /// Set when the response is not wanted any more.
    pub(super) cancelled: Arc<OneShotFlag>,
}

impl InFlight {
    /// Adds a request.
    pub(super) fn register(&self, request: &MessageView<'_>, cancelled: &Arc<OneShotFlag>) {
        let entry = InFlightRequest {
            raw_id: request.id().to_owned(),
            is_stateless: request.protocol_version().is_some(),
            is_subscription: request.method() == "subscriptions/listen",
            cancelled: Arc::clone(cancelled),
        };
        self.requests().insert(request.id(), entry);
    }

    /// Removes a request that was answered or is abandoned. The caller must answer it; `None` if it is not pending.
    pub(super) fn complete(&self, raw_id: &str) -> Option<InFlightRequest> {
        let request = self.requests().take(raw_id);
        self.completed.notify_waiters();
        request
    }

    /// Returns true if the request is pending.
    pub(super) fn contains(&self, raw_id: &str) -> bool {
        self.requests().contains(raw_id)
    }

    /// Returns the id of the pending request if there is exactly one.
    pub(super) fn only_id(&self) -> Option<String> {
        let requests = self.requests();
        let mut pending = requests.values();
        pending.next().filter(|_| pending.next().is_none()).map(|request| request.raw_id.clone())
    }

    /// Waits until all requests except subscriptions have completed.
    pub(super) async fn wait_until_complete(&self) {
        loop {
            let completed = self.completed.notified();
            tokio::pin!(completed);
            completed.as_mut().enable();
            if self.requests().values().all(|request| request.is_subscription) {
                return;
            }
            completed.await;
        }
    }

    fn requests(&self) -> MutexGuard<'_, RequestIdMap<InFlightRequest>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{to_single_line, with_missing_id, with_response_id};
    use crate::frame::Frame;
    use crate::mcp::ParsedBatch;

    #[test]
    fn line_breaks_become_spaces() {
        assert_eq!(to_single_line(b"{\r\n \"a\": \"\\n\"\n}\n".to_vec()), b"{   \"a\": \"\\n\" }");
    }

    #[test]
    fn a_response_gets_the_id_of_its_request() {
        let check = |text: &str, expect: &str| {
            let batch = ParsedBatch::parse(text).expect("an answer");
            let response = with_response_id(text, &batch.messages[0], "\"é\"");
            assert_eq!(String::from_utf8_lossy(&response), expect);
        };
        check(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, r#"{"jsonrpc":"2.0","id":"é","error":{}}"#);
        check(r#" {"jsonrpc":"2.0","error":{}}"#, r#" {"id":"é","jsonrpc":"2.0","error":{}}"#);
    }

    #[test]
    fn only_an_error_without_an_id_gets_one() {
        let check = |text: &str, pending: Option<&str>, expect: &str| {
            let frame = with_missing_id(Frame::Message(text.into()), || pending.map(str::to_owned));
            assert_eq!(frame, Frame::Message(expect.into()));
        };
        let error = r#"{"jsonrpc":"2.0","id":null,"error":{}}"#;
        check(error, Some("7"), r#"{"jsonrpc":"2.0","id":7,"error":{}}"#);
        check(r#"{"jsonrpc":"2.0","error":{}}"#, Some("7"), r#"{"id":7,"jsonrpc":"2.0","error":{}}"#);
        for (text, pending) in [
            (error, None),
            (r#"{"jsonrpc":"2.0","id":8,"error":{}}"#, Some("7")),
            (r#"{"jsonrpc":"2.0","id":null,"result":{"error":1}}"#, Some("7")),
            (r#"[{"jsonrpc":"2.0","id":null,"error":{}}]"#, Some("7")),
            (r#"{"jsonrpc":"2.0","method":"error"}"#, Some("7")),
        ] {
            check(text, pending, text);
        }
    }
}
