//! Ends pending requests: those whose timers have expired, and those that the server does not answer.

use std::fmt::Display;
use std::time::Instant;

use portion_core::view::Request;
use portion_gateway::call::Fault;

use super::pending::{PendingKind, PendingRequest, ToolListing};
use super::request_timer::RequestTimer;
use super::{McpProcessor, responses};
use crate::mcp::envelope::{Envelope, cancellation_notification};
use crate::mcp::walk;
use crate::message_processor::OutgoingMessage;

/// Methods without a timeout: streams, and requests whose purpose is to wait.
const UNTIMED_METHODS: [&str; 2] = ["subscriptions/listen", "tasks/result"];

impl McpProcessor {
    /// Returns true if a request with this id is pending.
    pub fn is_awaiting(&self, raw_id: &str) -> bool {
        self.pending_requests.lock().contains(raw_id)
    }

    /// Fails all pending requests after the server closed their stream without a response. Each gets a
    /// JSON-RPC error, because the transport failed and not a tool.
    pub fn fail_all_pending(&self, cause: &dyn Display) -> Vec<OutgoingMessage> {
        let requests = self.pending_requests.lock().take_all_of_client();
        let reason = responses::server_gone_fault(&self.redacted(&cause.to_string()));
        let error = |pending: &PendingRequest| {
            self.report_failure(pending, 0);
            OutgoingMessage::ToClient(responses::fault_response(&pending.id, &reason).into_bytes())
        };
        requests.iter().map(error).collect()
    }

    /// Answers every pending request whose response was lost, or cannot be used. `why` is a sentence.
    pub fn on_response_lost(&self, why: &dyn Display) -> Vec<OutgoingMessage> {
        self.internal_calls.close();
        self.refuse_all_pending(&responses::lost_response_fault(&self.redacted(&why.to_string())))
    }

    /// Returns a text from outside of messages without hidden values, such as the output of a server that has ended.
    pub fn redacted(&self, text: &str) -> String {
        let caller = self.general_caller();
        let redact = caller.effective_policy.redact.as_deref();
        redact
            .and_then(|redact| redact.redact(text))
            .map_or_else(|| text.to_owned(), |(redacted, _)| redacted)
    }

    /// Removes all pending requests after the server sent an invalid response that is passed on. `bytes`: its
    /// size, if known.
    pub fn discard_all_pending(&self, bytes: usize) {
        let requests = self.pending_requests.lock().take_all_of_client();
        requests.iter().for_each(|pending| self.report_failure(pending, bytes));
    }

    fn report_failure(&self, pending: &PendingRequest, bytes: usize) {
        if let PendingKind::Content { caller, endpoint, .. } = &pending.kind {
            self.gateway.report_upstream_failure(caller, endpoint, bytes);
        }
    }

    /// Refuses all pending requests for one reason.
    pub(super) fn refuse_all_pending(&self, reason: &Fault) -> Vec<OutgoingMessage> {
        let requests = self.pending_requests.lock().take_all();
        let refusal = |pending: &PendingRequest| {
            OutgoingMessage::ToClient(self.refusal_response(pending, reason.clone()).into_bytes())
        };
        requests.iter().map(refusal).collect()
    }

    /// Returns the response for a request that the server does not answer. In place of content it is reported
    /// like any reply.
    pub(super) fn refusal_response(&self, pending: &PendingRequest, reason: Fault) -> String {
        let (caller, endpoint, request) = match &pending.kind {
            PendingKind::Content { caller, endpoint, request, .. } => (caller, endpoint, request),
            // The pages that the server has sent are a list.
            PendingKind::ToolList(ToolListing { client: Some(list), .. }) => {
                return self.end_client_list(list);
            }
            _ => return responses::refusal_response(pending, &reason),
        };
        let request = Request { max_tokens: request.max_tokens, ..Request::default() };
        responses::refusal_response(pending, &self.gateway.report_fault(reason, caller, &request, endpoint))
    }

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
        if self.pending_requests.lock().add(pending, now) {
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
        let expired = self.pending_requests.lock().take_expired(now);
        let mut out = Vec::new();
        for pending in expired {
            if let PendingKind::ToolList(listing) = &pending.kind {
                out.extend(self.end_late_tool_list(listing));
                continue;
            }
            let is_held = pending.kind.is_unsent();
            let after = pending.timer.as_ref().map(|timer| timer.timeout).unwrap_or_default();
            let (method, seconds) = (pending.kind.method(), after.as_secs());
            tracing::warn!(method, seconds, "the server did not respond in time");
            let reason =
                if is_held { responses::unsent_call_fault(after) } else { responses::timeout_fault(after) };
            out.push(OutgoingMessage::ToClient(self.refusal_response(&pending, reason).into_bytes()));
            // The server has never received a queued call, and `initialize` must not be cancelled.
            if !is_held && method != "initialize" {
                out.push(OutgoingMessage::ToServer(
                    cancellation_notification(&pending.id, "no response within requestTimeout").into_bytes(),
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
            let alarm = self.pending_requests.lock().next_deadline(now);
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
