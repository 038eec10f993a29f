//! Handles messages of the client.

use std::borrow::Cow;
use std::sync::Arc;

use portion_core::view::{Request, ViewError};
use portion_gateway::call::{Call, Caller, Fault, Intent, Reply, ReuseKey};
use portion_gateway::gateway::Gateway;
use portion_gateway::query_limiter::CancelFlag;
use portion_gateway::rules::PassThrough;
use portion_json::span::Span;
use portion_policy::endpoint::{Endpoint, EndpointKind};

use super::super::argument_names::cursor_argument;
use super::super::catalog::{BuiltinTool, ToolCatalog, ToolOwner};
use super::super::envelope::{Envelope, InvalidMessage, MessageKind, MessageOrBatch, decode_line, parse};
use super::super::error_code::{INVALID_REQUEST, SERVER_BUSY};
use super::super::owned_batch::OwnedBatch;
use super::super::parsed_batch::WHOLE_RESULT_KEY;
use super::super::result::{READ_URI_PREFIX, ResultShape, completion_members};
use super::super::splice::Splice;
use super::super::walk::{self, Sequence};
use super::super::{controls, read_uri};
use super::caller_identity::CallerIdentity;
use super::line_outcome::{ForwardedLine, MessageOutcome, combine_outcomes};
use super::method::{MethodHandling, method_handling};
use super::paged_calls::{CallText, PagedJob, PagedOutcome};
use super::pending::{MAX_PENDING, PendingKind, PendingRequest};
use super::upstream::request_tools_list;
use super::{McpProcessor, responses};
use crate::frame::scan_id;
use crate::message_processor::OutgoingMessage;

/// Reason why a call is not forwarded to the server.
enum NotForwarded {
    /// The response, without the server.
    Answered(String),
    /// The client cancelled the request.
    Cancelled,
    /// The owner of the tool, or of its arguments, is unknown until the tools are listed.
    ToolsUnknown,
    /// The gateway calls the tool itself, page by page.
    Paged(Box<PagedJob>),
}

impl McpProcessor {
    /// Processes a line of the client. `cancel`: the cancel flag, if the line is a registered query.
    pub(super) async fn process_client_line(
        &self,
        line: Vec<u8>,
        cancel: Option<&CancelFlag>,
    ) -> Vec<OutgoingMessage> {
        let (mut out, forwarded) = {
            let (text, _) = decode_line(&line);
            match parse(&text) {
                Err(InvalidMessage::Json(_)) => return self.forward_invalid_client_line(line),
                Err(why @ (InvalidMessage::NotJsonRpc(_) | InvalidMessage::BatchTooLarge)) => {
                    let message = format!("the message was not sent to the server: {why}");
                    let error = responses::error_response("null", INVALID_REQUEST, &message, None);
                    return vec![OutgoingMessage::ToClient(error.into_bytes())];
                }
                Ok(message) => {
                    let (envelopes, is_batch) = message.into_envelopes();
                    let (out, forwarded) =
                        self.process_client_messages(&text, &envelopes, is_batch, cancel).await;
                    let is_line = matches!(text, Cow::Borrowed(line_text) if line_text.len() == line.len());
                    (out, forwarded.ensure_text(&text, is_line))
                }
            }
        };
        out.extend(forwarded.into_line(line).map(OutgoingMessage::ToServer));
        out
    }

    /// Processes messages of the client that are parsed already. `cancel`: the cancel flag, if they are a registered
    /// query.
    pub(super) async fn process_parsed(
        &self,
        batch: OwnedBatch,
        cancel: Option<&CancelFlag>,
    ) -> Vec<OutgoingMessage> {
        let (mut out, forwarded) =
            self.process_client_messages(batch.text(), batch.envelopes(), batch.is_batch(), cancel).await;
        out.extend(forwarded.into_line(batch.into_bytes()).map(OutgoingMessage::ToServer));
        out
    }

    /// Processes the messages of a text. Returns the messages to send, and the part of the text to forward after them.
    async fn process_client_messages(
        &self,
        text: &str,
        envelopes: &[Envelope],
        is_batch: bool,
        cancel: Option<&CancelFlag>,
    ) -> (Vec<OutgoingMessage>, ForwardedLine) {
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
        let (forwarded, response) = combine_outcomes(text, splice, envelopes, outcomes, is_batch);
        out.extend(response.map(OutgoingMessage::ToClient));
        (out, forwarded)
    }

    /// Forwards a line that is not JSON, so that the server can reject it. A parser that is more tolerant
    /// than ours may accept it as a request; then the response is shaped by its form.
    fn forward_invalid_client_line(&self, line: Vec<u8>) -> Vec<OutgoingMessage> {
        if let (Some(id), true) = scan_id(&line) {
            let mut pending_requests = self.pending_requests();
            if pending_requests.contains(&id) {
                let message = format!("a request with id {id} is already pending");
                let error = responses::error_response(&id, INVALID_REQUEST, &message, None);
                return vec![OutgoingMessage::ToClient(error.into_bytes())];
            }
            let kind = PendingKind::Relay { method: "not JSON".into() };
            pending_requests.add(
                PendingRequest { id: id.into(), is_stateless: false, kind, timer: None },
                self.gateway.now(),
            );
        }
        vec![OutgoingMessage::ToServer(line)]
    }

    /// Returns true if the line is a query, and registers it. A query that cannot be recognized yet returns
    /// false.
    pub(super) fn begin_query(&self, line: &[u8]) -> bool {
        let (query, read) = {
            let catalog = &self.server_info().catalog;
            (catalog.query_tool(), Some(catalog.read_tool()).filter(|_| self.gateway.fetches_pages()))
        };
        let (text, _) = decode_line(line);
        // Nearly all lines are not queries, and this test finds most of them.
        if ![query, read].into_iter().flatten().any(|name| text.contains(&*name)) {
            return false;
        }
        let Ok(MessageOrBatch::Single(envelope)) = parse(&text) else { return false };
        self.begin_parsed_query(&text, &envelope)
    }

    /// Returns true if the message is a query, and registers it.
    pub(super) fn begin_parsed_query(&self, text: &str, envelope: &Envelope) -> bool {
        let called = || envelope.string_param(text, "name").unwrap_or_default();
        let id = envelope.raw_id(text);
        let is_slow = |name: &str| match self.tool_owner(name) {
            ToolOwner::Builtin(BuiltinTool::Query) => true,
            // A page of a list may have to be fetched first.
            ToolOwner::Builtin(BuiltinTool::Read) => self.gateway.fetches_pages(),
            _ => false,
        };
        envelope.kind() == Some(MessageKind::Request)
            && method_handling(&envelope.method(text)) == MethodHandling::CallTool
            && is_slow(&called())
            && !self.pending_requests().contains(id)
            && self.active_queries.register(id)
    }

    /// Reports a client message over the limit, which was dropped, to the side that waits for its outcome.
    pub(super) fn reject_oversized_client_message(
        &self,
        id: Option<&str>,
        has_method: bool,
    ) -> Vec<OutgoingMessage> {
        let reason = Fault::client_message_too_large(self.max_client_message_bytes);
        tracing::warn!(limit = self.max_client_message_bytes, "dropped an oversized client message");
        let Some(id) = id else { return Vec::new() };
        let text = responses::fault_response(id, &reason).into_bytes();
        if !has_method {
            self.timeouts.resume(id, self.gateway.now());
        }
        vec![if has_method { OutgoingMessage::ToClient(text) } else { OutgoingMessage::ToServer(text) }]
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
        let forgotten = id.and_then(|id| self.pending_requests().cancel(id.slice(text)));
        match forgotten {
            // The server has never received it.
            Some(PendingRequest { kind: PendingKind::QueuedCall { .. }, .. }) => MessageOutcome::Discard,
            Some(PendingRequest { kind: PendingKind::PagedCall { cancelled }, .. }) => {
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
        if self.pending_requests().contains(id) || (cancel.is_none() && self.active_queries.contains(id)) {
            let message = format!("a request with id {id} is already pending");
            return MessageOutcome::Respond(responses::error_response(id, INVALID_REQUEST, &message, None));
        }
        if self.pending_requests().is_full() {
            let message = format!(
                "{MAX_PENDING} requests of this session are pending, the maximum; send more when some finish"
            );
            return MessageOutcome::Respond(responses::error_response(id, SERVER_BUSY, &message, None));
        }
        let meta = meta_span(text, envelope);
        let modern = meta.is_some_and(|meta| is_stateless_request(text, meta));
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
                let mut server_info = self.server_info();
                if server_info.has_no_tools {
                    let tools = server_info.edit_catalog(ToolCatalog::list_builtin_only);
                    let result = format!("{{\"tools\":{tools}{}}}", completion_members(modern, true));
                    return MessageOutcome::Respond(responses::success_response(id, &result));
                }
                PendingKind::ListTools
            }
            MethodHandling::CallTool => {
                match Box::pin(self.prepare_tool_call(text, envelope, splice, modern, (who, meta), cancel))
                    .await
                {
                    Ok(kind) => kind,
                    Err(NotForwarded::Answered(answer)) => return MessageOutcome::Respond(answer),
                    Err(NotForwarded::Cancelled) => return MessageOutcome::Discard,
                    Err(NotForwarded::Paged(job)) => return self.start_paged_job(*job).await,
                    Err(NotForwarded::ToolsUnknown) => {
                        out.extend(self.queue_call(text, envelope, modern));
                        return MessageOutcome::Discard;
                    }
                }
            }
            MethodHandling::ReadResource => {
                let uri = envelope.string_param(text, "uri").unwrap_or_default();
                if let Some(ours) = uri.strip_prefix(READ_URI_PREFIX) {
                    let cursor = Some(read_uri::parse_cursor(ours));
                    let caller = self.follow_up_caller(who, cursor.as_deref()).await;
                    let reply = match read_uri::parse(ours, &caller.effective_policy.policy) {
                        Ok(request) => {
                            self.answer_follow_up(caller, None, ResultShape::Resource, request).await
                        }
                        Err(error) => {
                            self.gateway.fault_reply_for_cursor(error.into(), caller, None, cursor).await
                        }
                    };
                    return MessageOutcome::Respond(responses::resource_response(id, &reply, modern));
                }
                self.pending_content(
                    who,
                    ResultShape::Resource,
                    read_only_endpoint(uri, EndpointKind::Resource),
                )
            }
            MethodHandling::ShapeResult(ResultShape::Prompt) => {
                let name = envelope.string_param(text, "name").unwrap_or_default();
                self.pending_content(who, ResultShape::Prompt, read_only_endpoint(name, EndpointKind::Prompt))
            }
            // The result of a task can be fetched again.
            MethodHandling::ShapeResult(shape) => self.pending_content(
                who,
                shape,
                read_only_endpoint("tasks/result".into(), EndpointKind::Tool),
            ),
            MethodHandling::ShapeNestedResult => {
                let endpoint = read_only_endpoint("tasks/get".into(), EndpointKind::Tool);
                let caller = self.caller(who, Some(&endpoint)).into();
                let (endpoint, request) = (endpoint.into(), Box::default());
                PendingKind::Content {
                    shape: ResultShape::Tool,
                    caller,
                    endpoint,
                    request,
                    reuse_key: None,
                    is_nested: true,
                }
            }
        };
        if let (PendingKind::Content { .. }, Some(meta)) = (&kind, meta) {
            self.continue_trace(who, text, meta, splice);
        }
        let timer = self.start_timer(text, envelope, &kind);
        self.add_pending(PendingRequest { id: id.to_owned(), is_stateless: modern, kind, timer });
        MessageOutcome::Forward
    }

    /// Answers a call of `portion_read`.
    async fn read_on(&self, who: CallerIdentity, text: &str, arguments: Span, meta: String) -> Reply {
        let (caller, cursor) = self.builtin_tool_caller(who, text, arguments).await;
        let caller = Caller { page_source: Some(self.page_source(meta)), ..caller };
        let (policy, query_tool) = (&caller.effective_policy.policy, caller.query_tool.as_deref());
        match controls::parse_read_arguments(text, arguments, policy, query_tool) {
            Ok(request) => self.answer_follow_up(caller, None, ResultShape::Tool, request).await,
            Err(fault) => self.gateway.fault_reply_for_cursor(fault, caller, None, cursor).await,
        }
    }

    /// Answers a call of `portion_query`; returns `None` if the call was cancelled.
    async fn query(
        &self,
        who: CallerIdentity,
        text: &str,
        envelope: &Envelope,
        arguments: Span,
        cancel: Option<&CancelFlag>,
    ) -> Option<Reply> {
        let id = envelope.raw_id(text);
        let registered = cancel.is_none() && self.active_queries.register(id);
        // The entry is removed when this guard is dropped.
        let active = registered.then(|| self.active_queries.get(id)).flatten();
        let cancel =
            cancel.or(active.as_ref().map(|active| &active.cancel_flag)).cloned().unwrap_or_default();
        let (caller, cursor) = self.builtin_tool_caller(who, text, arguments).await;
        let page_source = Some(self.page_source(protocol_meta_members(text, envelope)));
        let caller = Caller { cancel_flag: cancel.clone(), page_source, ..caller };
        let reply = match controls::parse_query_arguments(text, arguments, &caller.effective_policy.policy) {
            Ok((request, query)) => {
                let intent = Intent::Query { request: request.clone(), query };
                self.answer_locally(caller, None, &request, intent).await
            }
            Err(fault) => self.gateway.fault_reply_for_cursor(fault, caller, None, cursor).await,
        };
        (!cancel.is_cancelled()).then_some(reply)
    }

    /// Prepares a tool call. Returns the handling of its response.
    async fn prepare_tool_call(
        &self,
        text: &str,
        envelope: &Envelope,
        splice: &mut Splice<'_>,
        modern: bool,
        (who, meta): (CallerIdentity, Option<Span>),
        cancel: Option<&CancelFlag>,
    ) -> Result<PendingKind, NotForwarded> {
        let name = envelope.string_param(text, "name").unwrap_or_default();
        let arguments = envelope.params.and_then(|params| walk::member_value(text, params, "arguments"));
        let arguments = arguments.unwrap_or_default();
        let answer = |reply: &Reply, structured| {
            NotForwarded::Answered(responses::tool_response(envelope.raw_id(text), reply, structured, modern))
        };
        match self.tool_owner(&name) {
            ToolOwner::Upstream => {}
            ToolOwner::Unknown => return Err(NotForwarded::ToolsUnknown),
            ToolOwner::Builtin(BuiltinTool::Read) => {
                let meta = protocol_meta_members(text, envelope);
                let reply = self.read_on(who, text, arguments, meta).await;
                let is_cancelled = cancel.is_some_and(CancelFlag::is_cancelled);
                return Err(if is_cancelled { NotForwarded::Cancelled } else { answer(&reply, false) });
            }
            ToolOwner::Builtin(BuiltinTool::Query) => {
                let reply = self.query(who, text, envelope, arguments, cancel).await;
                return Err(reply.map_or(NotForwarded::Cancelled, |reply| answer(&reply, false)));
            }
            ToolOwner::Builtin(BuiltinTool::Describe) => {
                let (id, caller) = (envelope.raw_id(text), self.caller(who, None));
                return Err(NotForwarded::Answered(
                    self.describe_tools(id, name, caller, text, arguments, modern).await,
                ));
            }
        }
        let mut endpoint = self.tool_endpoint(name, text, arguments)?;
        let mut caller = self.caller(who, Some(&endpoint));
        caller.argument_names = controls::argument_names(text, arguments);
        let asks_for_whole = meta.is_some_and(|meta| take_whole_flag(text, meta, splice));
        if caller.shaping_mode.pass_through.is_none() && caller.rule.allows_whole(asks_for_whole) {
            let limit = caller.rule.config().unshaped_byte_limit;
            caller.shaping_mode.pass_through = Some(PassThrough { max_bytes: limit, records_shadow: false });
        }
        if caller.shaping_mode.pass_through.is_none()
            && let Some(pushdown) = caller.rule.config().pushdown.clone()
        {
            let place = CallText { text, envelope, arguments, is_stateless: modern };
            match self.paged_job(place, caller, endpoint, &pushdown).await {
                PagedOutcome::Job(job) => return Err(NotForwarded::Paged(job)),
                PagedOutcome::Refused(reply) => return Err(answer(&reply, true)),
                PagedOutcome::ToolsUnknown => return Err(NotForwarded::ToolsUnknown),
                PagedOutcome::NotPaged(same_caller, same_endpoint) => {
                    (caller, endpoint) = (*same_caller, *same_endpoint);
                }
            }
        }
        let (split, cursor) = self.split_tool_controls(splice, (text, arguments), &caller, &endpoint);
        let (request, canonical) = match split {
            Ok(split) => split,
            Err(error) if cursor.is_some() => {
                let refused =
                    self.gateway.fault_reply_for_cursor(error.into(), caller, Some(endpoint), cursor).await;
                return Err(answer(&refused, true));
            }
            Err(error) => {
                let refused =
                    self.gateway.report_fault(error.into(), &caller, &Request::default(), &endpoint);
                return Err(answer(&Reply::Fault(refused), true));
            }
        };
        let caller = caller.with_arguments(&canonical);
        let reuse = self.allows_reuse.then(|| ReuseKey::new(&endpoint, &canonical));
        if request.cursor.is_some() {
            return Err(answer(
                &self.answer_follow_up(caller, Some(endpoint), ResultShape::Tool, request).await,
                true,
            ));
        }
        if !request.is_plain()
            && let Some(reuse) = &reuse
            && let Some(reply) = self.gateway.answer_from_reuse(&caller, &endpoint, reuse, &request).await
        {
            return Err(answer(&reply, true));
        }
        let (caller, endpoint, request) = (Box::new(caller), Box::new(endpoint), Box::new(request));
        Ok(PendingKind::Content {
            shape: ResultShape::Tool,
            caller,
            endpoint,
            request,
            reuse_key: reuse,
            is_nested: false,
        })
    }

    /// Separates the gateway's controls from the arguments of a tool. Also returns the gateway's cursor among them.
    fn split_tool_controls(
        &self,
        splice: &mut Splice<'_>,
        (text, arguments): (&str, Span),
        caller: &Caller,
        endpoint: &Endpoint,
    ) -> (Result<(Request, String), ViewError>, Option<String>) {
        let server_info = self.server_info();
        let tool = server_info.catalog.tool(&endpoint.name);
        let cursor = walk::string_member(text, arguments, "cursor");
        // The tool of another Portion behind this one has an argument of that name, too.
        let own_cursor = cursor.as_deref().is_some_and(|cursor| self.gateway.has_issued(caller, cursor));
        let ours = |control: &str| {
            own_cursor
                || tool.is_some_and(|tool| match caller.rule.controls(caller.shaping_mode) {
                    // An advertised control belongs to the gateway, even if a later configuration disables
                    // controls.
                    Some(false) => tool.advertises(control),
                    Some(true) => !tool.has_property(control),
                    None => tool.is_gateway_control(control),
                })
        };
        let cursor = cursor.filter(|_| ours("cursor"));
        (controls::split_controls(splice, text, arguments, ours, &caller.effective_policy.policy), cursor)
    }

    /// Returns the caller of a built-in tool, and the cursor among the arguments.
    async fn builtin_tool_caller(
        &self,
        who: CallerIdentity,
        text: &str,
        arguments: Span,
    ) -> (Caller, Option<String>) {
        let cursor = cursor_argument(text, arguments);
        let caller = self.follow_up_caller(who, cursor.as_deref()).await;
        (Caller { argument_names: controls::argument_names(text, arguments), ..caller }, cursor)
    }

    /// Returns the caller of a follow-up, with the policy from the time of the capture.
    async fn follow_up_caller(&self, who: CallerIdentity, cursor: Option<&str>) -> Caller {
        let caller = self.caller(who, None);
        match cursor {
            Some(cursor) => self.gateway.caller_for_cursor(caller, cursor).await,
            None => caller,
        }
    }

    /// Returns the pending kind of content that is requested without controls.
    fn pending_content(&self, who: CallerIdentity, shape: ResultShape, endpoint: Endpoint) -> PendingKind {
        let caller = Box::new(self.caller(who, Some(&endpoint)));
        let (endpoint, request) = (Box::new(endpoint), Box::default());
        PendingKind::Content { shape, caller, endpoint, request, reuse_key: None, is_nested: false }
    }

    fn tool_owner(&self, name: &str) -> ToolOwner {
        let mut server_info = self.server_info();
        if server_info.has_no_tools && !server_info.catalog.is_complete() {
            server_info.edit_catalog(ToolCatalog::list_builtin_only);
        }
        server_info.catalog.owner(name)
    }

    /// Returns the endpoint of an upstream tool. The tool must be known if an argument may be a control.
    fn tool_endpoint(&self, name: String, text: &str, arguments: Span) -> Result<Endpoint, NotForwarded> {
        let server_info = self.server_info();
        let tool = server_info.catalog.tool(&name);
        if tool.is_none() && !server_info.catalog.is_complete() && controls::has_control(text, arguments) {
            return Err(NotForwarded::ToolsUnknown);
        }
        let (read_only, idempotent) = tool.map_or((false, false), |tool| (tool.read_only, tool.idempotent));
        Ok(Endpoint { name, kind: EndpointKind::Tool, read_only, idempotent })
    }

    /// Queues a call until the tools are known, and requests their list unless that request is pending.
    fn queue_call(&self, text: &str, envelope: &Envelope, modern: bool) -> Option<OutgoingMessage> {
        let kind = PendingKind::QueuedCall { line: envelope.span.slice(text).to_owned() };
        let timer = self.start_timer(text, envelope, &kind);
        self.add_pending(PendingRequest {
            id: envelope.raw_id(text).to_owned(),
            is_stateless: modern,
            kind,
            timer,
        });
        let mut pending_requests = self.pending_requests();
        if pending_requests.is_listing_tools() {
            return None;
        }
        let meta = protocol_meta_members(text, envelope);
        Some(request_tools_list(&mut pending_requests, meta, None, self.gateway.now()))
    }

    /// Answers a request with a cursor, as a result of the given shape.
    pub(super) async fn answer_follow_up(
        &self,
        caller: Caller,
        endpoint: Option<Endpoint>,
        shape: ResultShape,
        request: Request,
    ) -> Reply {
        let caller = Caller { read_uri: shape.read_uri_prefix(), ..caller };
        let intent = Intent::FollowUp { request: request.clone() };
        self.answer_locally(caller, endpoint, &request, intent).await
    }

    /// Answers a request that never needs the upstream. An expired cursor is described with the endpoint as
    /// known now.
    async fn answer_locally(
        &self,
        caller: Caller,
        endpoint: Option<Endpoint>,
        request: &Request,
        intent: Intent,
    ) -> Reply {
        let effective_policy = Arc::clone(&caller.effective_policy);
        let reply = self.gateway.answer(Call { caller, endpoint, intent }).await;
        match &reply {
            Reply::Fault(Fault { expired_call: Some(lost), .. }) => {
                let Some(informed) = self.updated_endpoint(&lost.endpoint) else { return reply };
                let fault = Fault::cursor_expired(Some(&informed), lost.arguments.as_ref());
                Gateway::refit_fault(fault, &effective_policy, request)
            }
            _ => reply,
        }
    }

    /// Returns the endpoint with current annotations, if they have changed since the call.
    fn updated_endpoint(&self, endpoint: &Endpoint) -> Option<Endpoint> {
        let server_info = self.server_info();
        let tool =
            server_info.catalog.tool(&endpoint.name).filter(|_| endpoint.kind == EndpointKind::Tool)?;
        let informed =
            Endpoint { read_only: tool.read_only, idempotent: tool.idempotent, ..endpoint.clone() };
        (informed != *endpoint).then_some(informed)
    }
}

/// Returns an endpoint that only reads.
fn read_only_endpoint(name: String, kind: EndpointKind) -> Endpoint {
    Endpoint { name, kind, read_only: true, idempotent: true }
}

/// Prefix of the `_meta` keys that every request of 2026-07-28 carries.
const PROTOCOL_META_PREFIX: &str = "io.modelcontextprotocol/";

fn meta_span(text: &str, envelope: &Envelope) -> Option<Span> {
    envelope.params.and_then(|params| walk::member_value(text, params, "_meta"))
}

/// Returns true if the `_meta` of a call requests an unshaped result. The flag is meant for the gateway, and
/// is removed.
fn take_whole_flag(text: &str, meta: Span, splice: &mut Splice<'_>) -> bool {
    let members = walk::members(text, meta);
    let is_ours = |member: &walk::Member| walk::string_equals(member.key.slice(text), WHOLE_RESULT_KEY);
    let Some(flag) = members.iter().rfind(|member| is_ours(member)) else { return false };
    let items = members.iter().map(|member| member.span()).collect();
    splice.edit_sequence(&Sequence { span: meta, items }, |i| !is_ours(&members[i]), &[]);
    flag.value.slice(text) == "true"
}

fn is_stateless_request(text: &str, meta: Span) -> bool {
    walk::member_value(text, meta, "io.modelcontextprotocol/protocolVersion").is_some()
}

/// Returns the protocol's members of a request's `_meta`.
pub(super) fn protocol_meta_members(text: &str, envelope: &Envelope) -> String {
    let members = meta_span(text, envelope).map(|meta| walk::members(text, meta)).unwrap_or_default();
    let protocol = |member: &&walk::Member| {
        member.key.slice(text).trim_start_matches('"').starts_with(PROTOCOL_META_PREFIX)
    };
    members.iter().filter(protocol).map(|member| member.span().slice(text)).collect::<Vec<_>>().join(",")
}
