//! How long requests wait for the server's answer.
//!
//! Time is an argument here. A request's timer is restarted by progress that the server reports, and all timers of a session stand
//! still while the client owes the server an answer: a person may be asked, and takes his time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::super::envelope::{Envelope, id_key};
use super::super::ids::Ids;
use super::super::walk;
use super::pending::{Asked, What};
use super::{McpLane, answer};
use crate::relay::Outgoing;

/// Methods that may wait for as long as they like: streams, and what is asked in order to wait.
const UNTIMED: [&str; 2] = ["subscriptions/listen", "tasks/result"];
/// Requests of the server that are waited for at the same time.
const ASKED: usize = 1_000;

/// What the timers of one session have in common.
#[derive(Debug, Default)]
pub(super) struct Timeouts(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Requests of the server that the client has not answered.
    asked: Ids<()>,
    /// When the client answered the last of them.
    resumed: Option<Instant>,
    /// When progress was last reported, by the tokens of the requests that wait.
    progress: HashMap<String, Option<Instant>>,
}

/// The timer of a request that waits.
#[derive(Debug)]
pub(super) struct Timer {
    among: Arc<Timeouts>,
    token: Option<String>,
    since: Instant,
    after: Duration,
}

impl Timeouts {
    /// Starts the timer of a request. `token`: the progress token that it was sent with, as it was written.
    pub(super) fn start(self: &Arc<Self>, after: Duration, token: Option<&str>, now: Instant) -> Timer {
        let token = token.map(id_key);
        if let Some(token) = &token {
            self.state().progress.insert(token.clone(), None);
        }
        Timer { among: Arc::clone(self), token, since: now, after }
    }

    /// The server reports progress on the request with this token.
    pub(super) fn progressed(&self, raw_token: &str, now: Instant) {
        if let Some(last) = self.state().progress.get_mut(&id_key(raw_token)) {
            *last = Some(now);
        }
    }

    /// The server asks the client something.
    pub(super) fn pause(&self, raw_id: &str) {
        let mut state = self.state();
        if state.asked.values().count() < ASKED {
            state.asked.insert(raw_id, ());
        }
    }

    /// The client has answered, or the server wants no answer any more.
    pub(super) fn resume(&self, raw_id: &str, now: Instant) {
        let mut state = self.state();
        if state.asked.take(raw_id).is_some() {
            state.resumed = Some(now);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Timer {
    /// When the time of the request is over, as far as that is known now.
    pub(super) fn due(&self, now: Instant) -> Instant {
        let state = self.among.state();
        if state.asked.values().next().is_some() {
            return now + self.after;
        }
        let progress = self.token.as_ref().and_then(|token| *state.progress.get(token)?);
        let since = [progress, state.resumed].into_iter().flatten().fold(self.since, Instant::max);
        since + self.after
    }

    /// How long the server may be silent.
    pub(super) fn after(&self) -> Duration {
        self.after
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if let Some(token) = &self.token {
            self.among.state().progress.remove(token);
        }
    }
}

impl McpLane {
    /// The timer of a request, where it has one: an endpoint may have a time of its own.
    pub(super) fn timer(&self, text: &str, envelope: &Envelope, what: &What) -> Option<Timer> {
        if UNTIMED.contains(&&*envelope.method(text)) {
            return None;
        }
        let after = match what {
            What::Content { caller, .. } => caller.rule.written().request_timeout,
            _ => self.gateway.rules().general().written().request_timeout,
        };
        let member = |of, name| walk::member(text, of, name);
        let meta = envelope.params.and_then(|params| member(params, "_meta"));
        let token = meta.and_then(|meta| member(meta, "progressToken")).map(|token| token.of(text));
        Some(self.timeouts.start(after?, token, self.gateway.now()))
    }

    /// Adds a request that waits, and sees that its timer is heeded.
    pub(super) fn wait_for(&self, asked: Asked) {
        let now = self.gateway.now();
        if self.waiting().add(asked, now) {
            self.timed.notify_one();
        }
    }

    /// A notification of the server may be about a timer.
    pub(super) fn heed(&self, text: &str, envelope: &Envelope, method: &str) {
        let param = |name| Some(walk::member(text, envelope.params?, name)?.of(text));
        match method {
            "notifications/progress" => {
                if let Some(token) = param("progressToken") {
                    self.timeouts.progressed(token, self.gateway.now());
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

    /// Answers the requests whose time is over, and cancels them: an answer that comes later is dropped.
    pub(super) fn expire(&self, now: Instant) -> Vec<Outgoing> {
        let expired = self.waiting().expire(now);
        let mut out = Vec::new();
        for asked in expired {
            let is_held = matches!(asked.what, What::Held { .. });
            let after = asked.timer.as_ref().map(Timer::after).unwrap_or_default();
            let (method, seconds) = (asked.what.method(), after.as_secs());
            tracing::warn!(method, seconds, "the server did not answer in time");
            let reason = if is_held { answer::not_sent(after) } else { answer::timed_out(after) };
            out.push(Outgoing::ToClient(self.refusal(&asked, reason).into_bytes()));
            // The server has never heard of what was held back, and `initialize` must not be cancelled.
            if !is_held && method != "initialize" {
                out.push(Outgoing::ToServer(answer::cancelled(&asked.id).into_bytes()));
            }
        }
        out
    }

    /// Waits until the time of a request is over; see [`Lane::expired`](crate::relay::Lane::expired).
    pub(super) async fn until_expired(&self) -> Vec<Outgoing> {
        loop {
            let now = self.gateway.now();
            let alarm = self.waiting().alarm(now);
            let rest = async {
                match alarm {
                    Some(alarm) => tokio::time::sleep(alarm.saturating_duration_since(now)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = rest => {}
                () = self.timed.notified() => continue,
            }
            let out = self.expire(self.gateway.now());
            if !out.is_empty() {
                return out;
            }
        }
    }
}
