//! The events of an answer, as long as it lasts.

use std::collections::VecDeque;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::header::HeaderValue;

use crate::http::body::Body;
use crate::http::sse::{SseEvent, SseParser, SseSegment};

/// What stands around an event's data may have this many bytes.
const EVENT_OVERHEAD_BYTES: usize = 4 << 10;
/// The longest time that a server may make us wait before the stream is resumed.
const MAX_RETRY_DELAY: Duration = Duration::from_mins(5);

/// A stream of events that comes in.
pub(crate) struct EventStream {
    body: Body,
    parser: Option<SseParser>,
    queued_segments: VecDeque<SseSegment>,
    max_data_bytes: usize,
    /// From where on it can be resumed.
    pub(crate) resume_point: ResumePoint,
}

/// How a stream that has ended is taken up again.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResumePoint {
    /// What was seen last, where the server gave it a name.
    pub(crate) last_event_id: Option<HeaderValue>,
    /// How long to wait before.
    pub(crate) retry_delay: Option<Duration>,
}

/// What comes.
pub(crate) enum StreamItem {
    Event(SseEvent),
    /// An event over the limit, which was dropped; it had this many bytes.
    TooLarge(u64),
}

impl EventStream {
    /// Events with at most `limit` bytes of data. What an earlier stream knew of resuming holds until the server
    /// says otherwise.
    pub(crate) fn new(body: Body, limit: usize, resume: ResumePoint) -> Self {
        let events = Some(SseParser::new(limit.saturating_add(EVENT_OVERHEAD_BYTES)));
        Self {
            body,
            parser: events,
            queued_segments: VecDeque::new(),
            max_data_bytes: limit,
            resume_point: resume,
        }
    }

    /// The next event; `None` at the end, come when it should or not.
    pub(crate) async fn next(&mut self) -> Option<StreamItem> {
        loop {
            while let Some(piece) = self.queued_segments.pop_front() {
                self.update_resume_point(&piece);
                match piece {
                    SseSegment::Event(event) if event.data().len() > self.max_data_bytes => {
                        return Some(StreamItem::TooLarge(event.data().len() as u64));
                    }
                    // An event with empty data only tells from where on to resume.
                    SseSegment::Event(event) if event.data().is_empty() => {}
                    SseSegment::Event(event) => return Some(StreamItem::Event(event)),
                    SseSegment::TooLarge(bytes) => return Some(StreamItem::TooLarge(bytes)),
                    SseSegment::NonEvent(_) => {}
                }
            }
            let events = self.parser.as_mut()?;
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    self.queued_segments
                        .extend(frame.data_ref().into_iter().flat_map(|bytes| events.push(bytes)));
                }
                Some(Err(error)) => {
                    tracing::debug!(%error, "an event stream broke off");
                    self.parser = None;
                }
                None => self.parser = None,
            }
        }
    }

    fn update_resume_point(&mut self, piece: &SseSegment) {
        if let Some(id) = piece.id() {
            self.resume_point.last_event_id = HeaderValue::from_bytes(id).ok().filter(|id| !id.is_empty());
        }
        if let Some(retry) = piece.retry() {
            self.resume_point.retry_delay = Some(retry.min(MAX_RETRY_DELAY));
        }
    }
}
