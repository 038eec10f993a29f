//! Posts one message and forwards everything that the server sends in response.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use super::super::{LinkClosed, failure_message};
use super::session::{Backoff, BackoffPolicy, OutboundMessage};
use super::{PostOutcome, ServerHandle};
use crate::frame::Frame;
use crate::upstream::http::{EventStream, RequestError, ResponseContent, Result, ResumePoint, StreamItem};

/// First delay after a failure to resume a stream; it doubles.
const INITIAL_RETRY_DELAY: Duration = Duration::from_secs(1);
/// Backoff for resuming streams that end at once: a client awaits the response.
const RESUME_BACKOFF: BackoffPolicy = BackoffPolicy::with_max_delay(Duration::from_secs(5));
/// Attempts in a row to resume a stream.
const MAX_RESUME_ATTEMPTS: u32 = 4;
/// Time for a stream to end after its response: if read to its end, its connection can be reused.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// A message and the server that it is posted to.
pub(super) struct MessageExchange {
    pub(super) server: Arc<ServerHandle>,
    pub(super) message: OutboundMessage,
}

impl MessageExchange {
    /// Posts the message and forwards the response. Every request gets exactly one response, from the server or from
    /// here, unless it was cancelled.
    pub(super) async fn run(self) {
        let posted = tokio::select! {
            () = self.message.cancelled.wait() => return,
            posted = self.server.post(&self.message) => posted,
        };
        self.continue_with(posted).await;
    }

    /// Forwards the response to a message that was already posted.
    pub(super) async fn continue_with(self, posted: Result<PostOutcome, RequestError>) {
        tokio::select! {
            () = self.message.cancelled.wait() => {}
            result = self.process_outcome(posted) => {
                if let Err(trouble) = result {
                    self.fail_requests(&trouble).await;
                }
            }
        }
    }

    async fn process_outcome(&self, posted: Result<PostOutcome, RequestError>) -> Result<()> {
        let content = match posted? {
            PostOutcome::Content(content) => content,
            PostOutcome::SessionLost(number, trouble) => self.retry_in_new_session(number, trouble).await?,
        };
        match content {
            ResponseContent::Stream(stream) => return self.forward_stream(stream).await,
            ResponseContent::Json(json) => drop(self.server.receive(json, Some(&self.message)).await),
            ResponseContent::TooLarge(bytes) => {
                drop(self.server.receive_too_large(bytes, Some(&self.message)).await);
            }
            ResponseContent::Empty | ResponseContent::Text(_) => {}
        }
        if self.has_pending_requests() {
            Err(RequestError::MissingAnswer("without a response to this request"))
        } else {
            Ok(())
        }
    }

    /// Posts the message in a new session, once: the server did not process it in the old one.
    async fn retry_in_new_session(&self, generation: u64, trouble: RequestError) -> Result<ResponseContent> {
        let no_session = |trouble| RequestError::SessionLost(Box::new(trouble));
        match self.server.renew_session(generation).await {
            Ok(true) => {}
            Ok(false) => return Err(no_session(trouble)),
            Err(trouble) => return Err(no_session(trouble)),
        }
        match self.server.post(&self.message).await? {
            PostOutcome::Content(answer) => Ok(answer),
            PostOutcome::SessionLost(_, trouble) => Err(no_session(trouble)),
        }
    }

    /// Forwards the events of a stream, and of the streams that resume it, until the response has come.
    async fn forward_stream(&self, mut stream: EventStream) -> Result<()> {
        let mut backoff = Backoff::default();
        loop {
            let started = Instant::now();
            while let Some(item) = stream.next().await {
                if self.forward_item(item).await.is_err() {
                    return Ok(());
                }
                if !self.has_pending_requests() {
                    let rest = async {
                        while let Some(item) = stream.next().await
                            && self.forward_item(item).await.is_ok()
                        {}
                    };
                    let _ = timeout(DRAIN_TIMEOUT, rest).await;
                    return Ok(());
                }
            }
            if !self.has_pending_requests() {
                return Ok(());
            }
            let delay =
                backoff.next_delay(started.elapsed(), stream.resume_point.retry_delay, RESUME_BACKOFF);
            stream = self.resume_stream(stream.resume_point, delay).await?;
        }
    }

    async fn resume_stream(&self, resume: ResumePoint, mut delay: Duration) -> Result<EventStream> {
        // Streams cannot be resumed since 2026-07-28.
        if resume.last_event_id.is_none() || self.message.declared_version.is_some() {
            return Err(RequestError::MissingAnswer("before the response to this request"));
        }
        for attempt in 1.. {
            sleep(delay).await;
            match self.server.open_stream(resume.clone()).await {
                Err(trouble) if trouble.is_transient() && attempt < MAX_RESUME_ATTEMPTS => {
                    delay = 2 * delay.max(INITIAL_RETRY_DELAY);
                }
                outcome => return outcome,
            }
        }
        Err(RequestError::MissingAnswer("before the response to this request"))
    }

    async fn forward_item(&self, item: StreamItem) -> Result<(), LinkClosed> {
        match item {
            StreamItem::Event(event) if event.event_type() == b"message" => {
                self.server.receive(event.data, Some(&self.message)).await
            }
            StreamItem::Event(_) => Ok(()),
            StreamItem::TooLarge(bytes) => self.server.receive_too_large(bytes, Some(&self.message)).await,
        }
    }

    async fn fail_requests(&self, trouble: &RequestError) {
        for id in &self.message.request_ids {
            if self.server.in_flight.complete(id).is_some() {
                let answer = failure_message(id, trouble);
                drop(self.server.forward(Frame::Message(answer)).await);
            }
        }
    }

    fn has_pending_requests(&self) -> bool {
        self.message.request_ids.iter().any(|id| self.server.in_flight.contains(id))
    }
}
