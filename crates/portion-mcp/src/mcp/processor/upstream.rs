//! Handles messages of the server.

use std::borrow::Cow;
use std::sync::atomic::Ordering;
use std::time::Duration;

use portion_gateway::call::Fault;
use portion_gateway::dropped_messages::DropReason;
use portion_gateway::paged_call::PageError;
use portion_json::scan::{JsonKind, quote};
use portion_json::span::Span;

use super::super::catalog::ToolCatalog;
use super::super::client_message::ClientMessage;
use super::super::envelope::{Envelope, InvalidMessage, MessageKind, decode_line, parse};
use super::super::reserved_meta;
use super::super::result::ResultShape;
use super::super::splice::Splice;
use super::super::walk::{self, Sequence};
use super::line_outcome::{MessageOutcome, combine_outcomes};
use super::pending::{PendingKind, PendingRequest, PendingRequests, ToolListing};
use super::reshape::MessageEdit;
use super::{McpProcessor, responses};
use crate::frame::{DroppedLine, Frame, response_ids};
use crate::message_processor::{MessageProcessor, OutgoingMessage};

/// Timeout of the gateway's own request for a page of tools.
const TOOLS_LIST_TIMEOUT: Duration = Duration::from_secs(30);

/// Handling of a response without a pending request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UnsolicitedPolicy {
    Drop,
    /// Shape it by the form of the result.
    Shape,
}

impl McpProcessor {
    pub(super) async fn process_server_line(&self, line: Vec<u8>) -> Vec<OutgoingMessage> {
        self.process_server_line_with(line, UnsolicitedPolicy::Drop).await
    }

    /// Processes a line of a resumed stream, which may answer requests that this process never received.
    pub(crate) async fn process_resumed_line(&self, line: Vec<u8>) -> Vec<OutgoingMessage> {
        self.process_server_line_with(line, UnsolicitedPolicy::Shape).await
    }

    async fn process_server_line_with(
        &self,
        line: Vec<u8>,
        unasked: UnsolicitedPolicy,
    ) -> Vec<OutgoingMessage> {
        let mut out = Vec::new();
        let (forwarded, response) = {
            let (text, invalid_utf8) = decode_line(&line);
            let text = reserved_meta::strip_reserved(&text).map_or(text, Cow::Owned);
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
        self.pending_requests().contains(id) || self.internal_calls.is_waiting(id)
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
        let pending = self.pending_requests().take(id);
        let Some(pending) = pending else { return Vec::new() };
        let reason = reason(&pending);
        if matches!(pending.kind, PendingKind::InternalToolsList(_)) {
            // The request is the gateway's own.
            let error = responses::fault_response(&pending.id, &reason).into_bytes();
            self.pending_requests().add(pending, self.gateway.now());
            return self.process_server_line(error).await;
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
            let mut requests = self.pending_requests();
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
        if is_without_id {
            edit.set_id(&pending.id);
        }
        match &pending.kind {
            PendingKind::Relay { .. } => self.relay_response(edit, &pending).await,
            // The call was not sent, so this is not its response.
            PendingKind::QueuedCall { .. } | PendingKind::PagedCall { .. } => return MessageOutcome::Discard,
            PendingKind::AdvertiseTools { .. } => {
                self.advertise_tools_capability(text, &envelope, edit.splice);
                self.relay_response(edit, &pending).await;
            }
            PendingKind::ListTools => {
                if let Some(result) = envelope.result.filter(|result| is_complete_result(text, *result)) {
                    self.learn_tools(edit.splice, text, result);
                }
                self.relay_response(edit, &pending).await;
            }
            PendingKind::Content { .. } => {
                if self.shape_response(edit, &pending).await {
                    out.extend(self.request_unknown_tools(&pending));
                }
            }
            PendingKind::InternalToolsList(listing) => {
                out.extend(self.process_tools_list(text, &envelope, listing.clone()).await);
                return MessageOutcome::Discard;
            }
        }
        MessageOutcome::Forward
    }

    /// Adds a page of tools to the catalog, and built-in tools and controls to the page. Returns the cursor
    /// of the next page.
    fn learn_tools(&self, splice: &mut Splice<'_>, text: &str, result: Span) -> Option<String> {
        let rules = self.gateway.rules();
        let offer = |name: &str| self.listing_policy(&rules, name);
        let mut server_info = self.server_info();
        if self.relays_tool_list() {
            let mut nothing = Splice::new(text);
            return server_info
                .edit_catalog(|catalog| catalog.process_page(&mut nothing, text, result, &offer));
        }
        server_info.edit_catalog(|catalog| catalog.process_page(splice, text, result, &offer))
    }

    /// Requests the tool list once the result of an unknown tool was shortened: whether the call can be
    /// repeated matters when its snapshot expires. A request of 2026-07-28 needs metadata that only the
    /// client has.
    fn request_unknown_tools(&self, pending: &PendingRequest) -> Option<OutgoingMessage> {
        let is_tool =
            matches!(pending.kind, PendingKind::Content { shape: ResultShape::Tool, is_nested: false, .. });
        let unknown = {
            let server_info = self.server_info();
            !server_info.catalog.is_complete() && !server_info.has_no_tools
        };
        let mut pending_requests = self.pending_requests();
        (is_tool && unknown && !pending.is_stateless && !pending_requests.is_listing_tools())
            .then(|| self.request_tools_list(&mut pending_requests, ToolListing::default(), None))
    }

    /// Adds the tools capability, because there are at least the built-in tools.
    fn advertise_tools_capability(&self, text: &str, envelope: &Envelope, splice: &mut Splice<'_>) {
        let capabilities =
            envelope.result.and_then(|result| walk::member_value(text, result, "capabilities"));
        let Some(whole) = capabilities.filter(|span| walk::kind(text, *span) == JsonKind::Object) else {
            return;
        };
        let members = walk::members(text, whole);
        let toolless = walk::find_member(text, &members, "tools").is_none();
        if toolless && !self.relays_tool_list() {
            let items = members.iter().map(|member| member.span()).collect();
            splice.append(&Sequence { span: whole, items }, &["\"tools\":{}".to_owned()]);
        }
        self.server_info().has_no_tools = toolless;
    }

    /// Handles a response to the gateway's own `tools/list`: requests the next page, or releases the queued
    /// calls.
    async fn process_tools_list(
        &self,
        text: &str,
        envelope: &Envelope,
        listing: ToolListing,
    ) -> Vec<OutgoingMessage> {
        {
            let mut nothing = Splice::new(text);
            let result = envelope.result.filter(|result| is_complete_result(text, *result));
            let next = result.and_then(|result| self.learn_tools(&mut nothing, text, result));
            if let Some(next) = &next {
                if let Some(listing) = listing.at_next_page(next) {
                    let mut pending_requests = self.pending_requests();
                    return vec![self.request_tools_list(&mut pending_requests, listing, Some(next))];
                }
                tracing::warn!(
                    "the server's list of tools does not end; Portion uses the tools listed so far"
                );
            }
            let mut server_info = self.server_info();
            if next.is_some() {
                server_info.edit_catalog(ToolCatalog::complete);
            }
            if !server_info.catalog.is_complete() {
                // Without a tool list there is no tool to learn, and no name that conflicts with a built-in
                // tool.
                server_info.edit_catalog(ToolCatalog::list_builtin_only);
            }
        }
        self.release_queued_calls().await
    }

    async fn release_queued_calls(&self) -> Vec<OutgoingMessage> {
        let held = self.pending_requests().take_queued();
        let mut out = Vec::new();
        for pending in held {
            if let PendingKind::QueuedCall { line } = pending.kind {
                let message = ClientMessage::parse(Frame::Message(line.into_bytes()));
                out.extend(self.process_client_message(message).await);
            }
        }
        out
    }

    /// Builds the gateway's own request for a page of tools.
    pub(super) fn request_tools_list(
        &self,
        pending: &mut PendingRequests,
        listing: ToolListing,
        cursor: Option<&str>,
    ) -> OutgoingMessage {
        let (id, meta, now) = (pending.new_internal_id(), &listing.meta, self.gateway.now());
        let mut params = Vec::new();
        params.extend(cursor.map(|cursor| format!("\"cursor\":{}", quote(cursor))));
        params.extend((!meta.is_empty()).then(|| format!("\"_meta\":{{{meta}}}")));
        let params =
            if params.is_empty() { String::new() } else { format!(",\"params\":{{{}}}", params.join(",")) };
        let question = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"{params}}}");
        let timer = Some(self.timeouts.start(TOOLS_LIST_TIMEOUT, None, now));
        let kind = PendingKind::InternalToolsList(listing);
        if pending.add(PendingRequest { id, is_stateless: false, kind, timer }, now) {
            self.deadline_changed.notify_one();
        }
        OutgoingMessage::InternalRequest(question.into_bytes())
    }

    /// Uses no list of tools, because the server did not send it in time. The queued calls are due.
    pub(super) fn give_up_tools_list(&self) {
        tracing::warn!("the server did not list its tools within {} s", TOOLS_LIST_TIMEOUT.as_secs());
        let mut server_info = self.server_info();
        if !server_info.catalog.is_complete() {
            server_info.edit_catalog(ToolCatalog::list_builtin_only);
        }
        drop(server_info);
        self.releases_queue.store(true, Ordering::Relaxed);
    }

    /// Processes one call that was queued for a list of tools that has timed out. Cancel-safe.
    pub(super) async fn release_next_call(&self) -> Vec<OutgoingMessage> {
        while self.releases_queue.load(Ordering::Relaxed) {
            let Some(call) = self.pending_requests().take_first_queued() else {
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

fn is_complete_result(text: &str, result: Span) -> bool {
    walk::member_value(text, result, "resultType")
        .is_none_or(|kind| walk::string_equals(kind.slice(text), "complete"))
}
