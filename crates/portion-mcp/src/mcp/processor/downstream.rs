//! Handles messages of the client.

use portion_gateway::call::Fault;
use portion_gateway::query_limiter::CancelFlag;
use portion_policy::endpoint::{Endpoint, EndpointKind};
use portion_text::display::shortened;

use super::super::catalog::ToolCatalog;
use super::super::controls;
use super::super::envelope::{
    Envelope, INVALID_REQUEST, InvalidMessage, MessageKind, NULL_ID, PARSE_ERROR, SERVER_BUSY, json_rpc_error,
};
use super::super::parsed_batch::OwnedBatch;
use super::super::result::{READ_URI_PREFIX, ResultShape, completion_members};
use super::super::walk::{self, Splice};
use super::McpProcessor;
use super::caller_identity::{CallerIdentity, is_stateless_request, meta_span, protocol_meta_members};
use super::method::{MethodHandling, method_handling};
use super::pending::{MAX_PENDING, PendingKind, PendingRequest};
use super::responses::{self, ForwardedLine, MessageOutcome, combine_outcomes, join_answers};
use super::tool_calls::NotForwarded;
use crate::frame::{DroppedLine, scan_id};
use crate::message_processor::OutgoingMessage;

impl McpProcessor {
    /// Processes messages of the client. Returns the messages to send, in order. `cancel`: the cancel flag, if they are a
    /// registered query.
    pub(super) async fn process_client_messages(
        &self,
        batch: OwnedBatch,
        cancel: Option<&CancelFlag>,
    ) -> Vec<OutgoingMessage> {
        let (mut out, forwarded) = self.process_each(&batch, cancel).await;
        out.extend(forwarded.into_line(batch.into_bytes()).map(OutgoingMessage::ToServer));
        out
    }

    /// Returns the messages to send, and the part of the text to forward after them.
    async fn process_each(
        &self,
        batch: &OwnedBatch,
        cancel: Option<&CancelFlag>,
    ) -> (Vec<OutgoingMessage>, ForwardedLine) {
        let (text, envelopes) = (&*batch.text, &*batch.envelopes);
        let mut out = Vec::new();
        let mut splice = Splice::new(text);
        let mut outcomes = Vec::with_capacity(envelopes.len());
        for envelope in envelopes {
            outcomes.push(match envelope.kind() {
                Some(MessageKind::Request) => {
                    self.process_client_request(text, envelope, &mut splice, &mut out, cancel).await
                }
                Some(MessageKind::Notification) => self.process_client_notification(text, envelope),
                Some(MessageKind::Response) => {
                    self.timeouts.resume(envelope.raw_id(text), self.gateway.now());
                    MessageOutcome::Forward
                }
                None => MessageOutcome::Forward,
            });
        }
        let (forwarded, response) = combine_outcomes(text, splice, envelopes, outcomes, batch.is_batch);
        out.extend(response.map(OutgoingMessage::ToClient));
        (out, forwarded)
    }

    /// Returns the error for a line that is not a message. A request that was written as invalid JSON gets it under its id, if
    /// that can be read.
    pub(super) fn refuse_invalid_message(&self, text: &str, cause: InvalidMessage) -> OutgoingMessage {
        let (code, id) = match cause {
            InvalidMessage::Json(_) => {
                let (id, has_method) = scan_id(text.as_bytes());
                (PARSE_ERROR, id.filter(|id| has_method && !self.pending_requests.lock().contains(id)))
            }
            InvalidMessage::NotJsonRpc(_) | InvalidMessage::BatchTooLarge => (INVALID_REQUEST, None),
        };
        let message = format!("the message was not sent to the server: {cause}");
        let response = json_rpc_error(id.as_deref().unwrap_or("null"), code, &message);
        OutgoingMessage::ToClient(response.into_bytes())
    }

    /// Reports a client line over the limit, which was dropped, to the sides that wait for the outcomes of its messages.
    pub(super) fn reject_oversized_client_line(&self, dropped: &DroppedLine) -> Vec<OutgoingMessage> {
        tracing::warn!(limit = self.max_client_message_bytes, "dropped an oversized client message");
        let reason = Fault::client_message_too_large(self.max_client_message_bytes);
        let error = |id: &str| responses::fault_response(id, &reason);
        let (mut answers, mut out) = (Vec::new(), Vec::new());
        for message in &dropped.messages {
            if message.has_method {
                answers.push(error(&message.id));
            } else {
                self.timeouts.resume(&message.id, self.gateway.now());
                out.push(OutgoingMessage::ToServer(error(&message.id).into_bytes()));
            }
        }
        if dropped.has_unidentified {
            answers.push(error("null"));
        }
        out.extend(join_answers(answers, dropped.is_batch).map(OutgoingMessage::ToClient));
        out
    }

    fn process_client_notification(&self, text: &str, envelope: &Envelope) -> MessageOutcome {
        if envelope.method(text) != "notifications/cancelled" {
            return MessageOutcome::Forward;
        }
        let id = envelope.params.and_then(|params| walk::member_value(text, params, "requestId"));
        if id.is_some_and(|id| self.active_queries.cancel(id.slice(text))) {
            // The server has never received it.
            return MessageOutcome::Discard;
        }
        let forgotten = id.and_then(|id| self.pending_requests.lock().cancel(id.slice(text)));
        match forgotten {
            // The server has never received it.
            Some(PendingRequest { kind: PendingKind::QueuedCall { .. }, .. }) => MessageOutcome::Discard,
            Some(PendingRequest { kind: PendingKind::TaskCall { cancelled, .. }, .. }) => {
                cancelled.set();
                MessageOutcome::Discard
            }
            _ => MessageOutcome::Forward,
        }
    }

    async fn process_client_request(
        &self,
        text: &str,
        envelope: &Envelope,
        splice: &mut Splice<'_>,
        out: &mut Vec<OutgoingMessage>,
        cancel: Option<&CancelFlag>,
    ) -> MessageOutcome {
        let id = envelope.raw_id(text);
        if let Some(refusal) = self.refuse_request(id, cancel.is_some()) {
            return MessageOutcome::Respond(refusal);
        }
        let meta = meta_span(text, envelope);
        let is_stateless = meta.is_some_and(|meta| is_stateless_request(text, meta));
        let method = envelope.method(text);
        let who = self.caller_identity(text, envelope, &method, meta);
        let handling = method_handling(&method);
        if handling == MethodHandling::AdvertiseTools {
            tracing::info!(client = who.client.map_or("unknown", |client| client.preset), "a client begins");
        }
        let kind = match handling {
            MethodHandling::Relay => PendingKind::Relay { method: (&*method).into() },
            MethodHandling::AdvertiseTools => PendingKind::AdvertiseTools {
                method: if method == "initialize" { "initialize" } else { "server/discover" },
            },
            MethodHandling::ListTools => {
                if let Some(response) = self.list_builtin_tools(id, is_stateless) {
                    return MessageOutcome::Respond(self.with_result_limits(response, who.client));
                }
                PendingKind::ListTools { meta: protocol_meta_members(text, envelope), client: who.client }
            }
            MethodHandling::CallTool => {
                match Box::pin(self.prepare_tool_call(
                    text,
                    envelope,
                    splice,
                    is_stateless,
                    (who, meta),
                    cancel,
                ))
                .await
                {
                    Ok(kind) => kind,
                    Err(NotForwarded::Answered(answer)) => return MessageOutcome::Respond(answer),
                    Err(NotForwarded::Cancelled) => return MessageOutcome::Discard,
                    Err(NotForwarded::Paged(job)) => return self.start_paged_job(*job).await,
                    Err(NotForwarded::ToolsUnknown) => {
                        out.extend(self.queue_call(text, envelope, is_stateless));
                        return MessageOutcome::Discard;
                    }
                }
            }
            MethodHandling::ReadResource => {
                match Box::pin(self.pending_resource(text, envelope, who, is_stateless)).await {
                    Ok(kind) => kind,
                    Err(answer) => return MessageOutcome::Respond(answer),
                }
            }
            MethodHandling::ShapeResult(ResultShape::Prompt) => {
                let name = envelope.string_param(text, "name").unwrap_or_default();
                let endpoint = read_only_endpoint(name, EndpointKind::Prompt);
                self.pending_content(who, ResultShape::Prompt, endpoint, false)
            }
            // The result of a task can be fetched again.
            MethodHandling::ShapeResult(shape) => {
                self.pending_content(who, shape, Endpoint::tool("tasks/result", true), false)
            }
            MethodHandling::ShapeNestedResult => {
                self.pending_content(who, ResultShape::Tool, Endpoint::tool("tasks/get", true), true)
            }
        };
        if let (PendingKind::Content { .. }, Some(meta)) = (&kind, meta) {
            self.continue_trace(who, text, meta, splice);
        }
        let timer = self.start_timer(text, envelope, &kind);
        self.add_pending(PendingRequest { id: id.to_owned(), is_stateless, kind, timer });
        MessageOutcome::Forward
    }

    /// Returns the refusal of a request whose id is invalid or taken, or for which there is no room.
    fn refuse_request(&self, id: &str, is_registered: bool) -> Option<String> {
        if id == "null" {
            return Some(json_rpc_error(id, INVALID_REQUEST, NULL_ID));
        }
        let is_pending = self.pending_requests.lock().contains(id) || self.taken_ids.contains(id);
        if is_pending || (!is_registered && self.active_queries.contains(id)) {
            let message = format!("a request with id {} is already pending", shortened(id));
            return Some(json_rpc_error(id, INVALID_REQUEST, &message));
        }
        if self.pending_requests.lock().is_full() {
            let message = format!(
                "{MAX_PENDING} requests of this session are pending, the maximum; send more when some finish"
            );
            return Some(json_rpc_error(id, SERVER_BUSY, &message));
        }
        None
    }

    /// Returns the response to `tools/list` if the server has no tools.
    fn list_builtin_tools(&self, id: &str, is_stateless: bool) -> Option<String> {
        let mut server_info = self.server_info.lock();
        if !server_info.has_no_tools {
            return None;
        }
        let tools = server_info.edit_catalog(ToolCatalog::list_builtin_only);
        let result = format!("{{\"tools\":[{}]{}}}", tools.join(","), completion_members(is_stateless, true));
        Some(responses::success_response(id, &result))
    }

    /// Returns the pending kind of `resources/read`, or the answer if the URI is one of the gateway.
    async fn pending_resource(
        &self,
        text: &str,
        envelope: &Envelope,
        who: CallerIdentity,
        is_stateless: bool,
    ) -> Result<PendingKind, String> {
        let uri = envelope.string_param(text, "uri").unwrap_or_default();
        let is_own = |uri: &&str| {
            !self.nested_portion.owns(&self.gateway, &self.scope, &controls::read_uri_cursor(uri))
        };
        if let Some(own) = uri.strip_prefix(READ_URI_PREFIX).filter(is_own) {
            let reply = self.read_own_resource(who, own).await;
            return Err(responses::resource_response(envelope.raw_id(text), &reply, is_stateless));
        }
        let endpoint = read_only_endpoint(uri, EndpointKind::Resource);
        Ok(self.pending_content(who, ResultShape::Resource, endpoint, false))
    }

    /// Returns the pending kind of content that is requested without controls.
    fn pending_content(
        &self,
        who: CallerIdentity,
        shape: ResultShape,
        endpoint: Endpoint,
        is_nested: bool,
    ) -> PendingKind {
        let caller = self.caller(who, Some(&endpoint));
        PendingKind::content(shape, caller, endpoint, is_nested)
    }
}

/// Returns an endpoint that only reads.
fn read_only_endpoint(name: String, kind: EndpointKind) -> Endpoint {
    Endpoint { name, kind, read_only: true, idempotent: true }
}
