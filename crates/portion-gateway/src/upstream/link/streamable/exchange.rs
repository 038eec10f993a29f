//! A message that is posted, and everything that comes in answer to it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use super::super::LinkClosed;
use super::super::message::failure_message;
use super::backoff::{Backoff, BackoffPolicy};
use super::outbound_message::OutboundMessage;
use super::server_handle::{PostOutcome, ServerHandle};
use crate::frame::Frame;
use crate::upstream::http::{EventStream, RequestError, ResponseContent, ResumePoint, StreamItem};

/// How long to wait after a failure to resume a stream, at first.
const INITIAL_RETRY_DELAY: Duration = Duration::from_secs(1);
/// How the wait grows before streams are resumed that end at once: somebody waits for the answer.
const RESUME_BACKOFF: BackoffPolicy = BackoffPolicy::with_max_delay(Duration::from_secs(5));
/// How often in a row resuming may fail.
const MAX_RESUME_ATTEMPTS: u32 = 4;
/// How long a stream may go on after its answer: read to its end, its connection serves the next request.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// A message on its way.
pub(super) struct MessageExchange {
    pub(super) server: Arc<ServerHandle>,
    pub(super) message: OutboundMessage,
}

impl MessageExchange {
    /// Posts the message and passes on what comes. Every request gets one answer, from the server or from here, unless
    /// nobody wants it.
    pub(super) async fn run(self) {
        let posted = tokio::select! {
            () = self.message.cancelled.wait() => return,
            posted = self.server.post(&self.message) => posted,
        };
        self.continue_with(posted).await;
    }

    /// The same, where the message has been posted.
    pub(super) async fn continue_with(self, posted: Result<PostOutcome, RequestError>) {
        tokio::select! {
            () = self.message.cancelled.wait() => {}
            came = self.process_outcome(posted) => {
                if let Err(trouble) = came {
                    self.fail_requests(&trouble).await;
                }
            }
        }
    }

    async fn process_outcome(&self, posted: Result<PostOutcome, RequestError>) -> Result<(), RequestError> {
        let answer = match posted? {
            PostOutcome::Content(answer) => answer,
            PostOutcome::SessionLost(number, trouble) => self.retry_in_new_session(number, trouble).await?,
        };
        match answer {
            ResponseContent::Stream(stream) => return self.forward_stream(stream).await,
            ResponseContent::Json(json) => drop(self.server.receive(json, Some(&self.message)).await),
            ResponseContent::TooLarge(bytes) => {
                drop(self.server.receive_too_large(bytes, Some(&self.message)).await)
            }
            ResponseContent::Empty | ResponseContent::Text(_) => {}
        }
        if self.has_pending_requests() {
            Err(RequestError::MissingAnswer("without an answer to this request"))
        } else {
            Ok(())
        }
    }

    /// Posts the message in a new session, once: the server has not looked at it in the old one.
    async fn retry_in_new_session(
        &self,
        number: u64,
        trouble: RequestError,
    ) -> Result<ResponseContent, RequestError> {
        let no_session = |trouble| RequestError::SessionLost(Box::new(trouble));
        match self.server.renew_session(number).await {
            Ok(true) => {}
            Ok(false) => return Err(no_session(trouble)),
            Err(trouble) => return Err(no_session(trouble)),
        }
        match self.server.post(&self.message).await? {
            PostOutcome::Content(answer) => Ok(answer),
            PostOutcome::SessionLost(_, trouble) => Err(no_session(trouble)),
        }
    }

    /// Passes on the events of a stream, and of those that resume it, until the answer has come.
    async fn forward_stream(&self, mut stream: EventStream) -> Result<(), RequestError> {
        let mut backoff = Backoff::default();
        loop {
            let begun = Instant::now();
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
            let pause = backoff.next_delay(begun.elapsed(), stream.resume_point.retry_delay, RESUME_BACKOFF);
            stream = self.resume_stream(stream.resume_point, pause).await?;
        }
    }

    async fn resume_stream(
        &self,
        resume: ResumePoint,
        mut pause: Duration,
    ) -> Result<EventStream, RequestError> {
        // From 2026-07-28 on nothing is resumed.
        if resume.last_event_id.is_none() || self.message.declared_version.is_some() {
            return Err(RequestError::MissingAnswer("before the answer to this request"));
        }
        for attempt in 1.. {
            sleep(pause).await;
            match self.server.open_stream(resume.clone()).await {
                Err(trouble) if trouble.is_transient() && attempt < MAX_RESUME_ATTEMPTS => {
                    pause = 2 * pause.max(INITIAL_RETRY_DELAY)
                }
                outcome => return outcome,
            }
        }
        Err(RequestError::MissingAnswer("before the answer to this request"))
    }

    async fn forward_item(&self, item: StreamItem) -> Result<(), LinkClosed> {
        match item {
            StreamItem::Event(event) if event.event_type() == b"message" => {
                self.server.receive(event.into_data(), Some(&self.message)).await
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
