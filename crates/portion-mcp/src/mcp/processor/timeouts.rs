//! Answers and cancels requests whose timers have expired.

use std::time::Instant;

use super::super::envelope::Envelope;
use super::super::walk;
use super::pending::{PendingKind, PendingRequest};
use super::request_timer::RequestTimer;
use super::{McpProcessor, responses};
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
