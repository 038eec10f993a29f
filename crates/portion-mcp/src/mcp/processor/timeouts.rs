//! Timers of requests that wait for the server: requests whose timers have expired are answered and cancelled.
//!
//! Time is an argument. Progress reported by the server restarts the timer of its request. All timers of a
//! session pause while the client has yet to answer a server request, because that may involve a person; but only until
//! the requests have ended that were pending when the server asked. What it asked for them, nobody waits for then.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::pending::{PendingKind, PendingRequest};
use super::{McpProcessor, responses};
use crate::mcp::envelope::{Envelope, id_key};
use crate::mcp::request_id_map::RequestIdMap;
use crate::mcp::walk;
use crate::message_processor::OutgoingMessage;

/// Methods without a timeout: streams, and requests whose purpose is to wait.
const UNTIMED_METHODS: [&str; 2] = ["subscriptions/listen", "tasks/result"];

impl McpProcessor {
    /// Starts the timer of a request, if it has a timeout. An endpoint may have a timeout of its own.
    pub(super) fn start_timer(
        &self,
        text: &str,
        envelope: &Envelope,
        kind: &PendingKind,
    ) -> Option<RequestTimer> {
        if UNTIMED_METHODS.contains(&&*envelope.method(text)) {
            return None;
        }
        let after = match kind {
            PendingKind::Content { caller, .. } => caller.rule.config().request_timeout,
            _ => self.gateway.rules().default_rule().config().request_timeout,
        };
        let member = |of, name| walk::member_value(text, of, name);
        let meta = envelope.params.and_then(|params| member(params, "_meta"));
        let token = meta.and_then(|meta| member(meta, "progressToken")).map(|token| token.slice(text));
        Some(self.timeouts.start(after?, token, self.gateway.now()))
    }

    /// Adds a pending request, and wakes the timeout task if its deadline is the earliest.
    pub(super) fn add_pending(&self, pending: PendingRequest) {
        let now = self.gateway.now();
        if self.pending_requests().add(pending, now) {
            self.deadline_changed.notify_one();
        }
    }

    /// Updates the timers from a notification of the server.
    pub(super) fn update_timers(&self, text: &str, envelope: &Envelope, method: &str) {
        let param = |name| Some(walk::member_value(text, envelope.params?, name)?.slice(text));
        match method {
            "notifications/progress" => {
                if let Some(token) = param("progressToken") {
                    self.timeouts.record_progress(token, self.gateway.now());
                }
            }
            "notifications/cancelled" => {
                if let Some(id) = param("requestId") {
                    self.timeouts.resume(id, self.gateway.now());
                }
            }
            _ => {}
        }
    }

    /// Answers the requests whose deadline has passed and cancels them; late responses are dropped.
    pub(super) fn expire_requests(&self, now: Instant) -> Vec<OutgoingMessage> {
        let expired = self.pending_requests().take_expired(now);
        let mut out = Vec::new();
        for pending in expired {
            if let PendingKind::ToolList(listing) = &pending.kind {
                out.extend(self.end_late_tool_list(listing));
                continue;
            }
            let is_held = pending.kind.is_unsent();
            let after = pending.timer.as_ref().map(RequestTimer::timeout).unwrap_or_default();
            let (method, seconds) = (pending.kind.method(), after.as_secs());
            tracing::warn!(method, seconds, "the server did not respond in time");
            let reason =
                if is_held { responses::unsent_call_fault(after) } else { responses::timeout_fault(after) };
            out.push(OutgoingMessage::ToClient(self.refusal_response(&pending, reason).into_bytes()));
            // The server has never received a queued call, and `initialize` must not be cancelled.
            if !is_held && method != "initialize" {
                out.push(OutgoingMessage::ToServer(
                    responses::cancellation_notification(&pending.id, "no response within requestTimeout")
                        .into_bytes(),
                ));
            }
        }
        out
    }

    /// Waits until a request expires; see [`next_timeout`](crate::message_processor::MessageProcessor::next_timeout).
    pub(super) async fn until_expired(&self) -> Vec<OutgoingMessage> {
        loop {
            let queued = self.take_internal_messages();
            if !queued.is_empty() {
                return queued;
            }
            let released = self.release_next_call().await;
            if !released.is_empty() {
                return released;
            }
            let now = self.gateway.now();
            let alarm = self.pending_requests().next_deadline(now);
            let rest = async {
                match alarm {
                    Some(alarm) => tokio::time::sleep(alarm.saturating_duration_since(now)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = rest => {}
                () = self.deadline_changed.notified() => continue,
                () = self.internal_calls.queued.notified() => continue,
            }
            let out = self.expire_requests(self.gateway.now());
            if !out.is_empty() {
                return out;
            }
        }
    }
}

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
    timeout: Duration,
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
        let mut state = self.state();
        *state.started.entry(now).or_default() += 1;
        if let Some(token) = &token {
            state.progressed_at.insert(token.clone(), None);
        }
        drop(state);
        RequestTimer { timeouts: Arc::clone(self), progress_token: token, started_at: now, timeout: after }
    }

    /// Records progress on the request with this token.
    pub(super) fn record_progress(&self, raw_token: &str, now: Instant) {
        if let Some(last) = self.state().progressed_at.get_mut(&id_key(raw_token)) {
            *last = Some(now);
        }
    }

    /// Pauses the timers while the client answers a server request.
    pub(super) fn pause(&self, raw_id: &str, now: Instant) {
        let mut state = self.state();
        if let Some(oldest) = state.oldest_start() {
            state.unanswered_server_requests.retain(|asked| *asked >= oldest);
        }
        if state.unanswered_server_requests.values().count() < MAX_SERVER_REQUESTS {
            state.unanswered_server_requests.insert(raw_id, now);
        }
    }

    /// Resumes the timers once a server request is answered or cancelled.
    pub(super) fn resume(&self, raw_id: &str, now: Instant) {
        let mut state = self.state();
        if state.unanswered_server_requests.take(raw_id).is_some() {
            state.resumed_at = Some(now);
        }
    }

    fn state(&self) -> MutexGuard<'_, TimeoutState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.unanswered_server_requests.values().any(|asked| *asked >= oldest)
    }
}

impl RequestTimer {
    /// Returns the deadline of the request, as far as it is known now.
    pub(super) fn deadline(&self, now: Instant) -> Instant {
        let state = self.timeouts.state();
        if state.is_paused() {
            return now + self.timeout;
        }
        let progress = self.progress_token.as_ref().and_then(|token| *state.progressed_at.get(token)?);
        let since = [progress, state.resumed_at].into_iter().flatten().fold(self.started_at, Instant::max);
        since + self.timeout
    }

    /// Returns the longest time without an answer or progress.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }
}

impl Drop for RequestTimer {
    fn drop(&mut self) {
        let mut state = self.timeouts.state();
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
