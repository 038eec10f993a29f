//! Ends pending requests that the server does not answer.

use std::fmt::Display;

use portion_core::view::Request;
use portion_gateway::call::Fault;

use super::pending::{PendingKind, PendingRequest};
use super::tool_listing::ToolListing;
use super::{McpProcessor, responses};
use crate::message_processor::OutgoingMessage;

impl McpProcessor {
    /// Returns true if a request with this id is pending.
    pub fn is_awaiting(&self, raw_id: &str) -> bool {
        self.pending_requests().contains(raw_id)
    }

    /// Fails all pending requests after the server closed their stream without a response. Each gets a
    /// JSON-RPC error, because the transport failed and not a tool.
    pub fn fail_all_pending(&self, cause: &dyn Display) -> Vec<OutgoingMessage> {
        let requests = self.pending_requests().take_all_of_client();
        let reason = responses::server_gone_fault(&self.redacted(&cause.to_string()));
        let error = |pending: &PendingRequest| {
            if let PendingKind::Content { caller, endpoint, .. } = &pending.kind {
                self.gateway.report_upstream_failure(caller, endpoint, 0);
            }
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
        let requests = self.pending_requests().take_all_of_client();
        for pending in &requests {
            if let PendingKind::Content { caller, endpoint, .. } = &pending.kind {
                self.gateway.report_upstream_failure(caller, endpoint, bytes);
            }
        }
    }

    /// Refuses all pending requests for one reason.
    pub(super) fn refuse_all_pending(&self, reason: &Fault) -> Vec<OutgoingMessage> {
        let requests = self.pending_requests().take_all();
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
}
