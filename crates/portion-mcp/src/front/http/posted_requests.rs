//! The requests of a post, for an error in place of the backend's response.

use hyper::{Response, StatusCode};

use super::RequestBody;
use super::batch::join_messages;
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
}
