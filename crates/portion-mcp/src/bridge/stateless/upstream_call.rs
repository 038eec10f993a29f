//! The gateway's own calls on the shared link: each is a post without a client.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use portion_core::cursor::Scope;
use portion_gateway::paged_call::PageError;
use tokio::sync::mpsc;

use super::shared_connection::SharedConnection;
use crate::frame::Frame;
use crate::mcp::{MessageKind, ParsedBatch, ResponseFuture, UpstreamCaller};

/// Messages queued for one call: notifications before its response.
const QUEUE_LIMIT: usize = 256;

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
