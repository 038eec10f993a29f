//! The requests of a post, for an error in place of the backend's response, and messages joined in one body.

use hyper::{Response, StatusCode};

use super::RequestBody;
use super::http_error::{HttpError, json_response};
use crate::http::body::Body;

/// Ids of the requests of a post.
#[derive(Debug, Default)]
pub(super) struct PostedRequests {
    raw_ids: Vec<Box<str>>,
    is_batch: bool,
}

impl PostedRequests {
    /// Returns the requests in a body.
    pub(super) fn of(body: &RequestBody) -> Self {
        let RequestBody::Messages(batch) = body else { return Self::default() };
        let batch = batch.view();
        Self {
            raw_ids: batch.requests().map(|request| request.id().into()).collect(),
            is_batch: batch.is_batch,
        }
    }

    /// Returns the response in which each request gets the error. Its status is 200, because some clients ignore the body
    /// of others; without a request it is that of the error.
    pub(super) fn fail(&self, error: HttpError) -> Response<Body> {
        if self.raw_ids.is_empty() {
            return error.into();
        }
        let errors: Vec<String> = self.raw_ids.iter().map(|id| error.json_for(id)).collect();
        json_response(StatusCode::OK, join_messages(errors.iter().map(String::as_bytes), self.is_batch))
    }
}

/// Joins messages. A single message is returned unchanged; several become one array, into which arrays are
/// flattened. If `batch` is set, the result is an array, as for responses to an array.
pub(crate) fn join_messages<'a>(messages: impl IntoIterator<Item = &'a [u8]>, batch: bool) -> Vec<u8> {
    let messages: Vec<&[u8]> = messages.into_iter().collect();
    match messages.as_slice() {
        [] => return Vec::new(),
        [single] if !batch || single.trim_ascii_start().first() == Some(&b'[') => return single.to_vec(),
        _ => {}
    }
    let inside = messages.iter().map(|message| {
        let message = message.trim_ascii();
        message.strip_prefix(b"[").and_then(|message| message.strip_suffix(b"]")).unwrap_or(message)
    });
    let inside: Vec<&[u8]> = inside.collect();
    [b"[", inside.join(&b',').as_slice(), b"]"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::body::read_all;
    use crate::mcp::OwnedBatch;
    use crate::mcp::error_code::SERVER_BUSY;

    #[tokio::test]
    async fn each_request_gets_the_error() {
        let check = async |posted: &str, status: u16, expect: &str| {
            let batch = OwnedBatch::parse(posted.to_owned()).expect("messages");
            let requests = PostedRequests::of(&RequestBody::Messages(batch));
            let error = HttpError::new(StatusCode::SERVICE_UNAVAILABLE, SERVER_BUSY, "no");
            let response = requests.fail(error);
            assert_eq!(response.status().as_u16(), status, "{posted}");
            let body = read_all(response.into_body(), 1000).await.expect("a small body");
            assert_eq!(String::from_utf8_lossy(&body), expect, "{posted}");
        };
        let request = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        let error =
            |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"no"}}}}"#);
        check(&request("\"é\""), 200, &error("\"é\"")).await;
        let note = r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#;
        check(note, 503, &error("null")).await;
        let batch = format!("[{},{note},{}]", request("1"), request("2.0"));
        check(&batch, 200, &format!("[{},{}]", error("1"), error("2.0"))).await;
        check(&format!("[{}]", request("1")), 200, &format!("[{}]", error("1"))).await;
    }

    fn check(answers: &[&str], batch: bool, expect: &str) {
        let joined = join_messages(answers.iter().map(|answer| answer.as_bytes()), batch);
        assert_eq!(String::from_utf8_lossy(&joined), expect);
    }

    #[test]
    fn a_batch_is_answered_by_an_array() {
        check(&[], false, "");
        check(&["{} "], false, "{} ");
        check(&["{}"], true, "[{}]");
        check(&[" [{},{}]"], true, " [{},{}]");
        check(&["[{\"a\":1}]", "{\"b\":[2]} "], true, "[{\"a\":1},{\"b\":[2]}]");
        check(&["{}", "{}"], false, "[{},{}]");
    }
}
