//! A new session in place of one that the server has ended.
//!
//! A client on stdio knows of no sessions: it would have to be restarted. So its own `initialize` is sent once more,
//! and the answer kept from it.

use std::sync::Arc;

use super::listening_stream::open_listening_stream;
use super::outbound_message::OutboundMessage;
use super::server_handle::{PostOutcome, ServerHandle};
use crate::mcp::{MessageKind, ParsedBatch};
use crate::upstream::http::{RequestError, ResponseContent, StreamItem};

impl ServerHandle {
    /// Begins a new session in place of the one of that number, unless that has been done. Returns whether there is
    /// a client that has begun one at all.
    ///
    /// # Errors
    /// [`RequestError`] where the server does not want one.
    pub(super) async fn renew_session(self: &Arc<Self>, number: u64) -> Result<bool, RequestError> {
        let _renewing = self.renewal_lock.lock().await;
        let (hello, begun) = {
            let mut session = self.session();
            if session.generation != number {
                return Ok(true);
            }
            let Some(hello) = session.initialize_message.clone() else { return Ok(false) };
            let begun = session.initialized_message.clone();
            session.begin(hello.clone());
            (hello, begun)
        };
        tracing::warn!("the server has ended the session; a new one is begun");
        let ended = || RequestError::MissingAnswer("before a session began");
        let answer = match self
            .post(&OutboundMessage { bytes: hello, is_initialize: true, ..OutboundMessage::default() })
            .await?
        {
            PostOutcome::Content(ResponseContent::Json(json)) => json,
            PostOutcome::Content(ResponseContent::Stream(mut stream)) => loop {
                match stream.next().await.ok_or_else(ended)? {
                    StreamItem::Event(event) if negotiated_version(event.data()).is_some() => {
                        break event.into_data();
                    }
                    StreamItem::Event(_) | StreamItem::TooLarge(_) => {}
                }
            },
            PostOutcome::Content(_) => return Err(ended()),
            PostOutcome::SessionLost(_, trouble) => return Err(trouble),
        };
        let version = negotiated_version(&answer).ok_or_else(ended)?;
        self.session().set_negotiated_version(&version);
        if let Some(begun) = begun {
            self.post(&OutboundMessage { bytes: begun.clone(), ..OutboundMessage::default() }).await?;
            self.session().initialized_message = Some(begun);
            open_listening_stream(self).await;
        }
        Ok(true)
    }
}

/// The revision that an answer to `initialize` settles on.
fn negotiated_version(answer: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(answer);
    let heard = ParsedBatch::parse(&text).ok()?;
    heard.messages.iter().find(|note| note.kind() == MessageKind::Response)?.negotiated_version()
}
