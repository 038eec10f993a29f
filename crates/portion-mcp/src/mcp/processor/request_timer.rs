//! Timers of requests that wait for the server.
//!
//! Time is an argument. Progress reported by the server restarts the timer of its request. All timers of a
//! session pause while the client has yet to answer a server request, because that may involve a person; but only until
//! the requests have ended that were pending when the server asked. What it asked for them, nobody waits for then.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::super::envelope::{RequestIdMap, id_key};

/// Largest number of unanswered server requests that are tracked.
const MAX_SERVER_REQUESTS: usize = 1_000;

/// State shared by the timers of one session.
#[derive(Debug, Default)]
pub(super) struct Timeouts(Mutex<TimeoutState>);

#[derive(Debug, Default)]
struct TimeoutState {
    /// Server requests that the client has not answered, with the time of each.
    unanswered_server_requests: RequestIdMap<Instant>,
    /// Number of timers that run, by their start.
    started: BTreeMap<Instant, usize>,
    /// Time of the client's last answer to one of them.
    resumed_at: Option<Instant>,
    /// Time of the last progress, by the progress tokens of pending requests.
    progressed_at: HashMap<String, Option<Instant>>,
}

/// Timer of a pending request.
#[derive(Debug)]
pub(super) struct RequestTimer {
    timeouts: Arc<Timeouts>,
    progress_token: Option<String>,
    started_at: Instant,
    /// Time that the server has to respond.
    pub(super) timeout: Duration,
}

impl Timeouts {
    /// Starts the timer of a request. `token`: its progress token, as written.
    pub(super) fn start(
        self: &Arc<Self>,
        after: Duration,
        token: Option<&str>,
        now: Instant,
    ) -> RequestTimer {
        let token = token.map(id_key);
        let mut state = self.0.lock();
        *state.started.entry(now).or_default() += 1;
        if let Some(token) = &token {
            state.progressed_at.insert(token.clone(), None);
        }
        drop(state);
        RequestTimer { timeouts: Arc::clone(self), progress_token: token, started_at: now, timeout: after }
    }

    /// Records progress on the request with this token.
    pub(super) fn record_progress(&self, raw_token: &str, now: Instant) {
        if let Some(last) = self.0.lock().progressed_at.get_mut(&id_key(raw_token)) {
            *last = Some(now);
        }
    }

    /// Pauses the timers while the client answers a server request.
    pub(super) fn pause(&self, raw_id: &str, now: Instant) {
        let mut state = self.0.lock();
        if let Some(oldest) = state.oldest_start() {
            state.unanswered_server_requests.retain(|sent_at| *sent_at >= oldest);
        }
        if state.unanswered_server_requests.values().count() < MAX_SERVER_REQUESTS {
            state.unanswered_server_requests.insert(raw_id, now);
        }
    }

    /// Resumes the timers once a server request is answered or cancelled.
    pub(super) fn resume(&self, raw_id: &str, now: Instant) {
        let mut state = self.0.lock();
        if state.unanswered_server_requests.take(raw_id).is_some() {
            state.resumed_at = Some(now);
        }
    }
}

impl TimeoutState {
    /// Returns the start of the oldest timer that runs.
    fn oldest_start(&self) -> Option<Instant> {
        self.started.first_key_value().map(|(start, _)| *start)
    }

    /// Returns true while a server request is unanswered that came during a request that is still pending.
    fn is_paused(&self) -> bool {
        let Some(oldest) = self.oldest_start() else { return false };
        self.unanswered_server_requests.values().any(|sent_at| *sent_at >= oldest)
    }
}

impl RequestTimer {
    /// Returns the deadline of the request, as far as it is known now.
    pub(super) fn deadline(&self, now: Instant) -> Instant {
        let state = self.timeouts.0.lock();
        if state.is_paused() {
            return now + self.timeout;
        }
        let progress = self.progress_token.as_ref().and_then(|token| *state.progressed_at.get(token)?);
        let since = [progress, state.resumed_at].into_iter().flatten().fold(self.started_at, Instant::max);
        since + self.timeout
    }
}

impl Drop for RequestTimer {
    fn drop(&mut self) {
        let mut state = self.timeouts.0.lock();
        if let Some(count) = state.started.get_mut(&self.started_at) {
            *count -= 1;
            if *count == 0 {
                state.started.remove(&self.started_at);
            }
        }
        if let Some(token) = &self.progress_token {
            state.progressed_at.remove(token);
        }
    }
}
