//! Handles messages of the server.

use std::borrow::Cow;
use std::sync::atomic::Ordering;

use portion_gateway::call::Fault;
use portion_gateway::dropped_messages::DropReason;
use portion_gateway::paged_call::PageError;
use portion_json::scan::{JsonKind, quote};
use portion_json::span::Span;

use super::super::envelope::{Envelope, InvalidMessage, MessageKind, decode_line, parse};
use super::super::member_limits;
use super::super::parsed_batch::ClientMessage;
use super::super::result::ResultShape;
use super::super::walk::{self, Sequence, Splice};
use super::McpProcessor;
use super::pending::{PendingKind, PendingRequest, ToolListing, UnsolicitedPolicy};
use super::reshape::MessageEdit;
use super::responses::{self, MessageOutcome, combine_outcomes};
use crate::frame::{DroppedLine, Frame, response_ids};
use crate::message_processor::{MessageProcessor, OutgoingMessage};

impl McpProcessor {
    /// Processes a line of the server. A line of a resumed stream may answer requests that this process never received.
    pub(super) async fn process_server_line(
        &self,
        line: Vec<u8>,
        unasked: UnsolicitedPolicy,
    ) -> Vec<OutgoingMessage> {
        let mut out = Vec::new();
        let (forwarded, response) = {
            let (text, invalid_utf8) = decode_line(&line);
            let text = member_limits::strip_reserved(&text).map_or(text, Cow::Owned);
            match parse(&text) {
                Err(error) => return Box::pin(self.reject_invalid_server_line(&line, error)).await,
                Ok(message) => {
                    let (envelopes, batch) = message.into_envelopes();
                    let mut splice = Splice::new(&text);
                    let mut outcomes = Vec::with_capacity(envelopes.len());
                    for envelope in &envelopes {
                        let mut edit = MessageEdit {
                            text: &text,
                            invalid_utf8,
                            envelope: *envelope,
                            splice: &mut splice,
                        };
                        outcomes.push(match envelope.kind() {
                            Some(MessageKind::Response) => {
                                self.process_response(&mut edit, unasked, &mut out).await
                            }
                            Some(MessageKind::Notification) => {
                                self.process_server_notification(&mut edit).await
                            }
                            Some(MessageKind::Request) => {
                                self.process_server_request(&text, envelope, &mut splice, &mut out)
                            }
                            None => MessageOutcome::Discard,
                        });
                        let is_response = envelope.kind() == Some(MessageKind::Response);
                        if is_response && matches!(outcomes.last(), Some(MessageOutcome::Forward)) {
                            self.limit_unknown_members(&text, envelope, &mut splice);
                        }
                    }
                    let (forwarded, response) = combine_outcomes(&text, splice, &envelopes, outcomes, batch);
                    let is_line = matches!(text, Cow::Borrowed(line_text) if line_text.len() == line.len());
                    (forwarded.ensure_text(&text, is_line), response)
                }
            }
        };
        debug_assert!(response.is_none(), "nothing the server says is answered here");
        forwarded.into_line(line).map(OutgoingMessage::ToClient).into_iter().chain(out).collect()
    }

    /// Drops a line that is not a message, and answers the request that waits for it, or those that wait for the members of
    /// a batch.
    async fn reject_invalid_server_line(&self, line: &[u8], error: InvalidMessage) -> Vec<OutgoingMessage> {
        self.gateway.record_drop(
            DropReason::Invalid,
            line.len(),
            &format!("a server line that is not a message: {error}"),
        );
        let mut out = Vec::new();
        for ids in response_ids(line) {
            let Some(id) = ids.iter().find(|id| self.is_awaited(id)) else { continue };
            let reason = Fault::upstream_invalid(&format!("an invalid JSON-RPC 2.0 message ({error})"));
            out.extend(self.answer_for_server(id, |_| reason).await);
        }
        out
    }

    /// Returns true if a pending request may be answered by a line that is not a message.
    pub(crate) fn is_answered_by_invalid(&self, line: &[u8]) -> bool {
        response_ids(line).flatten().any(|id| self.is_awaited(&id))
    }

    /// Returns true if a request with this id waits for the server.
    fn is_awaited(&self, id: &str) -> bool {
        self.pending_requests.lock().contains(id) || self.internal_calls.is_waiting(id)
    }

    /// Answers a pending request in place of the server.
    async fn answer_for_server(
        &self,
        id: &str,
        reason: impl FnOnce(&PendingRequest) -> Fault,
    ) -> Vec<OutgoingMessage> {
        let failure = || PageError::Failed("the response is invalid or too large".into());
        if self.internal_calls.is_waiting(id) {
            self.internal_calls.complete(id, Err(failure()));
            return Vec::new();
        }
        let pending = self.pending_requests.lock().take(id);
        let Some(pending) = pending else { return Vec::new() };
        let reason = reason(&pending);
        if matches!(pending.kind, PendingKind::ToolList(_)) {
            // The request is the gateway's.
            let error = responses::fault_response(&pending.id, &reason).into_bytes();
            self.pending_requests.lock().add(pending, self.gateway.now());
            return self.process_server_line(error, UnsolicitedPolicy::Drop).await;
        }
        vec![OutgoingMessage::ToClient(self.refusal_response(&pending, reason).into_bytes())]
    }

    /// Records that a server line over the limit was dropped, and answers for its messages.
    pub(super) async fn reject_oversized_server_line(&self, dropped: &DroppedLine) -> Vec<OutgoingMessage> {
        let bytes = usize::try_from(dropped.bytes).unwrap_or(usize::MAX);
        self.gateway.record_drop(DropReason::Oversized, bytes, "a server message over upstreamMessageLimit");
        self.answer_oversized_line(dropped).await
    }

    /// Answers for the messages of a server line over the limit, whose drop is recorded.
    pub(crate) async fn answer_oversized_line(&self, dropped: &DroppedLine) -> Vec<OutgoingMessage> {
        let mut out = Vec::new();
        for message in &dropped.messages {
            if message.has_method {
                let reason = Fault::server_request_too_large(self.max_server_message_bytes);
                let error = responses::fault_response(&message.id, &reason);
                out.push(OutgoingMessage::ToServer(error.into_bytes()));
            } else {
                let reason = |pending: &PendingRequest| {
                    Fault::message_too_large(self.max_server_message_bytes, pending.kind.endpoint())
                };
                out.extend(Box::pin(self.answer_for_server(&message.id, reason)).await);
            }
        }
        out
    }

    async fn process_response(
        &self,
        edit: &mut MessageEdit<'_, '_>,
        unasked: UnsolicitedPolicy,
        out: &mut Vec<OutgoingMessage>,
    ) -> MessageOutcome {
        let (text, envelope) = (edit.text, edit.envelope);
        if self.internal_calls.is_waiting(envelope.raw_id(text)) {
            let response = envelope.span.slice(text).as_bytes().to_vec();
            self.internal_calls.complete(envelope.raw_id(text), Ok(response));
            return MessageOutcome::Discard;
        }
        // A server that could not parse a message does not know its id.
        let is_without_id = envelope.raw_id(text) == "null" && envelope.error.is_some();
        let pending = {
            let mut requests = self.pending_requests.lock();
            let only_id = || requests.only_sent_id().filter(|_| is_without_id && edit.is_single());
            let id = only_id().unwrap_or_else(|| envelope.raw_id(text).to_owned());
            requests.take_sent(&id)
        };
        let Some(pending) = pending else {
            if unasked == UnsolicitedPolicy::Drop && !is_without_id {
                return super::reshape::drop_unsolicited_response(self, edit);
            }
            self.shape_unseen_response(edit).await;
            return MessageOutcome::Forward;
        };
        if let PendingKind::ToolList(listing) = pending.kind {
            out.extend(self.continue_tool_list(text, &envelope, listing).await);
            return MessageOutcome::Discard;
        }
        if is_without_id {
            edit.set_id(&pending.id);
        }
        match &pending.kind {
            PendingKind::Relay { .. } => self.relay_response(edit, &pending).await,
            // The call was not sent, so this is not its response.
            PendingKind::QueuedCall { .. } | PendingKind::TaskCall { .. } | PendingKind::ToolList(_) => {
                return MessageOutcome::Discard;
            }
            PendingKind::AdvertiseTools { .. } => {
                self.advertise_tools_capability(text, &envelope, edit.splice);
                self.relay_response(edit, &pending).await;
            }
            PendingKind::ListTools { meta, client } => {
                if let Some(request) = self.begin_tool_list(edit, meta, *client) {
                    out.push(request);
                    return MessageOutcome::Discard;
                }
                self.relay_response(edit, &pending).await;
            }
            PendingKind::Content { request, .. }
                if request.query.is_given() && self.upstream_caller.is_none() && edit.is_single() =>
            {
                self.answer_query_in_task(edit, pending);
                return MessageOutcome::Discard;
            }
            PendingKind::Content { .. } => {
                if self.shape_response(edit, &pending).await {
                    out.extend(self.request_unknown_tools(&pending));
                }
            }
        }
        MessageOutcome::Forward
    }

    /// Requests the tool list once the result of an unknown tool was shortened: whether the call can be
    /// repeated matters when its snapshot expires. A request of 2026-07-28 needs metadata that only the
    /// client has.
    fn request_unknown_tools(&self, pending: &PendingRequest) -> Option<OutgoingMessage> {
        let is_tool =
            matches!(pending.kind, PendingKind::Content { shape: ResultShape::Tool, is_nested: false, .. });
        let unknown = {
            let server_info = self.server_info.lock();
            !server_info.catalog.is_complete() && !server_info.has_no_tools
        };
        let mut pending_requests = self.pending_requests.lock();
        (is_tool && unknown && !pending.is_stateless && !pending_requests.is_listing_tools())
            .then(|| self.request_tool_list(&mut pending_requests, ToolListing::default(), None))
    }

    /// Adds the tools capability, because there are at least the built-in tools, and says how to ask first.
    fn advertise_tools_capability(&self, text: &str, envelope: &Envelope, splice: &mut Splice<'_>) {
        let Some(result) = envelope.result else { return };
        let members = walk::members(text, result);
        let capabilities = walk::find_member(text, &members, "capabilities").map(|member| member.value);
        let Some(whole) = capabilities.filter(|span| walk::kind(text, *span) == JsonKind::Object) else {
            return;
        };
        let capabilities = walk::members(text, whole);
        let toolless = walk::find_member(text, &capabilities, "tools").is_none();
        self.server_info.lock().has_no_tools = toolless;
        if self.relays_tool_list() {
            return;
        }
        if toolless {
            splice.append(&Sequence::of_members(whole, &capabilities), &["\"tools\":{}".to_owned()]);
        }
        let Some(instructions) = self.query_instructions().filter(|_| !toolless) else { return };
        match walk::find_member(text, &members, "instructions").map(|member| member.value) {
            None => {
                let member = format!("\"instructions\":{}", quote(&instructions));
                splice.append(&Sequence::of_members(result, &members), &[member]);
            }
            Some(given) if walk::kind(text, given) == JsonKind::String => {
                let (added, end) = (quote(&format!("\n\n{instructions}")), given.end - 1);
                splice.replace(Span { start: end, end }, added.trim_matches('"'));
            }
            Some(_) => {}
        }
    }

    /// Returns what a model reads about queries in the first call, unless they are switched off.
    fn query_instructions(&self) -> Option<String> {
        let rules = self.gateway.rules();
        let rule = rules.default_rule();
        let has_queries = rule.policy_for_client(None).policy.render_options.techniques.query
            && rule.config().controls != Some(false);
        let server_info = self.server_info.lock();
        let argument = server_info.catalog.control_names.query().filter(|_| has_queries)?;
        Some(format!(
            "Ask in the first call: tools with the argument {argument} take SQL (SELECT … FROM items) or a text or /regex/ \
             to find, and return only the answer, with a cursor to the whole result."
        ))
    }

    pub(super) async fn release_queued_calls(&self) -> Vec<OutgoingMessage> {
        let queued = self.pending_requests.lock().take_queued();
        let mut out = Vec::new();
        for pending in queued {
            if let PendingKind::QueuedCall { line } = pending.kind {
                let message = ClientMessage::parse(Frame::Message(line.into_bytes()));
                out.extend(self.process_client_message(message).await);
            }
        }
        out
    }

    /// Processes one call that was queued for a list of tools that has timed out. Cancel-safe.
    pub(super) async fn release_next_call(&self) -> Vec<OutgoingMessage> {
        while self.releases_queue.load(Ordering::Relaxed) {
            let Some(call) = self.pending_requests.lock().take_first_queued() else {
                self.releases_queue.store(false, Ordering::Relaxed);
                break;
            };
            let PendingKind::QueuedCall { line } = &call.kind else { continue };
            let message = ClientMessage::parse(Frame::Message(line.clone().into_bytes()));
            let mut unprocessed = RequeueOnDrop { processor: self, call: Some(call) };
            let out = Box::pin(self.process_client_message(message)).await;
            unprocessed.call = None;
            if !out.is_empty() {
                return out;
            }
        }
        Vec::new()
    }
}

/// Queues a call again if its processing is cancelled.
struct RequeueOnDrop<'a> {
    processor: &'a McpProcessor,
    call: Option<PendingRequest>,
}

impl Drop for RequeueOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            self.processor.add_pending(call);
        }
    }
}

/// Replaces a response by an error.
pub(super) fn replace_with_fault(splice: &mut Splice<'_>, text: &str, envelope: &Envelope, reason: &Fault) {
    splice.replace(envelope.span, responses::fault_response(envelope.raw_id(text), reason));
}

pub(super) fn is_complete_result(text: &str, result: Span) -> bool {
    walk::member_value(text, result, "resultType")
        .is_none_or(|kind| walk::string_equals(kind.slice(text), "complete"))
}
