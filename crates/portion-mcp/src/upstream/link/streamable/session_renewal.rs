//! Starts a new session in place of one that the server has ended.
//!
//! A client on stdio has no notion of sessions and would have to be restarted. So its `initialize` is sent again, and
//! the response is not forwarded to it.

use std::sync::Arc;

use super::listening_stream::open_listening_stream;
use super::outbound_message::OutboundMessage;
use super::server_handle::{PostOutcome, ServerHandle};
use crate::mcp::{MessageKind, ParsedBatch};
use crate::upstream::http::{RequestError, ResponseContent, StreamItem};

impl ServerHandle {
    /// Starts a new session in place of the one of that generation, unless that was already done. Returns false if the
    /// client has never begun a session.
    ///
    /// # Errors
    /// Returns [`RequestError`] if the server does not start one.
    pub(super) async fn renew_session(self: &Arc<Self>, generation: u64) -> Result<bool, RequestError> {
        let _renewing = self.renewal_lock.lock().await;
        let (initialize, initialized) = {
            let mut session = self.session();
            if session.generation != generation {
                return Ok(true);
            }
            let Some(initialize) = session.initialize_message.clone() else { return Ok(false) };
            let initialized = session.initialized_message.clone();
            session.begin(initialize.clone());
            (initialize, initialized)
        };
        tracing::warn!("the server ended the session; a new one is started");
        let ended = || RequestError::MissingAnswer("before a session was started");
        let response = match self
            .post(&OutboundMessage { bytes: initialize, is_initialize: true, ..OutboundMessage::default() })
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
        let version = negotiated_version(&response).ok_or_else(ended)?;
        self.session().set_negotiated_version(&version);
        if let Some(initialized) = initialized {
            self.post(&OutboundMessage { bytes: initialized.clone(), ..OutboundMessage::default() }).await?;
            self.session().initialized_message = Some(initialized);
            open_listening_stream(self).await;
        }
        Ok(true)
    }
}

/// Returns the revision in a response to `initialize`.
fn negotiated_version(response: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(response);
    let batch = ParsedBatch::parse(&text).ok()?;
    batch.messages.iter().find(|message| message.kind() == MessageKind::Response)?.negotiated_version()
}
