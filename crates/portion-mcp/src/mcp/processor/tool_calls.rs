//! Prepares calls of the server's tools: separates the gateway's controls from their arguments, and answers those that
//! need no server.

use portion_core::view::{ControlNames, Request, ViewError};
use portion_gateway::call::{Caller, Reply, ReuseKey};
use portion_gateway::query_limiter::CancelFlag;
use portion_gateway::rules::PassThrough;
use portion_json::span::Span;
use portion_policy::client::ShownForm;
use portion_policy::endpoint::{Endpoint, EndpointKind};

use super::super::catalog::{ToolCatalog, ToolOwner, UpstreamTool};
use super::super::controls;
use super::super::envelope::Envelope;
use super::super::result::StructuredForm;
use super::super::walk::{self, Splice};
use super::call_paging::CallPaging;
use super::caller_identity::{CallerIdentity, protocol_meta_members, take_whole_flag};
use super::paged_calls::{PagedJob, PagedOutcome};
use super::pending::{PendingKind, PendingRequest, ToolListing};
use super::{McpProcessor, responses};
use crate::message_processor::OutgoingMessage;

/// Reason why a call is not forwarded to the server.
pub(super) enum NotForwarded {
    /// The response, without the server.
    Answered(String),
    /// The client cancelled the request.
    Cancelled,
    /// The owner of the tool, or of its arguments, is unknown until the tools are listed.
    ToolsUnknown,
    /// The gateway calls the tool itself, page by page.
    Paged(Box<PagedJob>),
}

/// A call as received.
#[derive(Clone, Copy)]
pub(super) struct CallText<'a> {
    pub text: &'a str,
    pub envelope: &'a Envelope,
    pub arguments: Span,
    pub is_stateless: bool,
}

impl CallText<'_> {
    /// Answers the call without the server.
    pub(super) fn answer(&self, reply: &Reply, structured: StructuredForm) -> NotForwarded {
        let id = self.envelope.raw_id(self.text);
        NotForwarded::Answered(responses::tool_response(id, reply, structured, self.is_stateless))
    }
}

impl McpProcessor {
    /// Prepares a tool call. Returns the handling of its response.
    pub(super) async fn prepare_tool_call(
        &self,
        text: &str,
        envelope: &Envelope,
        splice: &mut Splice<'_>,
        is_stateless: bool,
        (who, meta): (CallerIdentity, Option<Span>),
        cancel: Option<&CancelFlag>,
    ) -> Result<PendingKind, NotForwarded> {
        let name = envelope.string_param(text, "name").unwrap_or_default();
        let arguments = envelope.arguments(text);
        let call = CallText { text, envelope, arguments, is_stateless };
        match self.tool_owner(&name) {
            ToolOwner::Upstream => {}
            ToolOwner::Unknown => return Err(NotForwarded::ToolsUnknown),
            ToolOwner::Builtin(tool) => {
                return Err(self.call_builtin_tool(tool, name, call, who, cancel).await);
            }
        }
        let endpoint = self.tool_endpoint(name, text, arguments)?;
        let mut caller = self.caller(who, Some(&endpoint));
        // The advice in place of a result that does not fit depends on the hints of the tool.
        if caller.rule.config().refuses_oversized && self.may_be_listed(&endpoint.name) {
            return Err(NotForwarded::ToolsUnknown);
        }
        caller.argument_names = controls::argument_names(text, arguments);
        let asks_for_whole = meta.is_some_and(|meta| take_whole_flag(text, meta, splice));
        if caller.shaping_mode.pass_through.is_none() && caller.rule.allows_whole(asks_for_whole) {
            let limit = caller.rule.config().unshaped_byte_limit;
            caller.shaping_mode.pass_through = Some(PassThrough { max_bytes: limit, records_shadow: false });
        }
        let structured = self.structured_form(&caller, &endpoint);
        let issued = controls::cursor_argument(text, arguments, |cursor| {
            self.gateway.has_issued(&caller.scope, cursor)
        });
        let has_issued = issued.is_some();
        let cursor = issued.clone().or_else(|| walk::string_member(text, arguments, "cursor"));
        let (mut caller, endpoint) = if has_issued {
            (caller, endpoint)
        } else {
            self.begin_paged_call(call, caller, endpoint).await?
        };
        let (split, owns_cursor) =
            self.split_tool_controls(splice, (text, arguments), &caller, &endpoint, has_issued);
        let cursor = cursor.filter(|_| has_issued || owns_cursor);
        let split = split.and_then(|(mut request, canonical)| {
            request.cursor = issued.or(request.cursor);
            let paging = self.call_paging(&canonical, &mut request, &caller, &endpoint)?;
            Ok((request, canonical, paging))
        });
        let (request, canonical, paging) = match split {
            Ok((request, canonical, CallPaging { arguments: paging, translated, unshown })) => {
                caller.unshown = unshown;
                if let Some(arguments_sent) = &translated {
                    splice.replace(arguments, arguments_sent.as_str());
                }
                (request, translated.unwrap_or(canonical), paging)
            }
            Err(error) => {
                let refusal = self.refuse_controls(error, cursor, caller, endpoint).await;
                return Err(call.answer(&refusal, structured));
            }
        };
        let caller = caller.with_arguments(&canonical);
        let reuse_key = self.allows_reuse.then(|| ReuseKey::new(&endpoint, &canonical));
        if request.cursor.is_some() {
            let opened = self.gateway.open_cursor(caller, Some(endpoint), request.cursor.clone()).await;
            let reply = self.answer_at_cursor(opened, request).await;
            return Err(call.answer(&reply, structured));
        }
        if !request.is_plain()
            && let Some(key) = &reuse_key
            && let Some(reply) = self.gateway.answer_from_reuse(&caller, &endpoint, key, &request).await
        {
            return Err(call.answer(&reply, structured));
        }
        Ok(PendingKind::tool_result((caller, endpoint), request, reuse_key, paging))
    }

    /// Returns the form of `structuredContent` in replies to calls of a tool that are made without a result of it.
    pub(super) fn structured_form(&self, caller: &Caller, endpoint: &Endpoint) -> StructuredForm {
        let server_info = self.server_info.lock();
        match server_info.catalog.tool(&endpoint.name) {
            // A model that is shown both forms reads the rows in one of them.
            Some(tool) if tool.has_output_schema => StructuredForm::Required {
                max_bytes: match caller.client.map(|client| client.shown_form) {
                    Some(ShownForm::Both) => 0,
                    _ => caller.effective_policy.policy.hard_byte_limit,
                },
            },
            _ => StructuredForm::AsRendered,
        }
    }

    /// Reads the paging arguments of a call, and sets the one that stands for the gateway's `page`.
    fn call_paging(
        &self,
        canonical: &str,
        request: &mut Request,
        caller: &Caller,
        endpoint: &Endpoint,
    ) -> Result<CallPaging, ViewError> {
        let server_info = self.server_info.lock();
        let config = caller.rule.config();
        let is_read = |tool: &&UpstreamTool| tool.reads() || config.read || config.reuse == Some(true);
        let tool = server_info.catalog.tool(&endpoint.name).filter(is_read);
        let properties = tool.map_or(&[][..], |tool| &tool.paging);
        let served = |arguments: &str| {
            self.allows_reuse
                .then(|| ReuseKey::new(endpoint, arguments))
                .and_then(|key| self.gateway.served_page(caller, &key))
        };
        CallPaging::new(canonical, properties, request, &caller.effective_policy.policy, &served)
    }

    /// Returns the caller and the endpoint of a call of a tool that does not page its results.
    ///
    /// # Errors
    /// Returns [`NotForwarded::Paged`] for a tool that does, or the reply to an invalid call.
    async fn begin_paged_call(
        &self,
        call: CallText<'_>,
        caller: Caller,
        endpoint: Endpoint,
    ) -> Result<(Caller, Endpoint), NotForwarded> {
        let pushdown = caller.rule.config().pushdown.clone();
        let Some(pushdown) = pushdown.filter(|_| caller.shaping_mode.pass_through.is_none()) else {
            return Ok((caller, endpoint));
        };
        match self.paged_job(call, caller, endpoint, &pushdown).await {
            PagedOutcome::Job(job) => Err(NotForwarded::Paged(job)),
            PagedOutcome::Refused(reply) => Err(call.answer(&reply, StructuredForm::None)),
            PagedOutcome::ToolsUnknown => Err(NotForwarded::ToolsUnknown),
            PagedOutcome::NotPaged(caller, endpoint) => Ok((*caller, *endpoint)),
        }
    }

    /// Returns the reply to a call with invalid controls. `cursor`: the gateway's cursor among them.
    pub(super) async fn refuse_controls(
        &self,
        error: ViewError,
        cursor: Option<String>,
        caller: Caller,
        endpoint: Endpoint,
    ) -> Reply {
        if cursor.is_some() {
            return self.gateway.open_cursor(caller, Some(endpoint), cursor).await.refuse(error.into());
        }
        Reply::Fault(self.gateway.report_fault(error.into(), &caller, &Request::default(), &endpoint))
    }

    /// Separates the gateway's controls from the arguments of a tool. Also returns true if `cursor` is one of them.
    /// `has_issued`: the cursor is one that the gateway has issued. Then all controls are the gateway's but those that are
    /// arguments of the tool; the cursor is, whatever the tool has, because no tool understands it.
    fn split_tool_controls(
        &self,
        splice: &mut Splice<'_>,
        (text, arguments): (&str, Span),
        caller: &Caller,
        endpoint: &Endpoint,
        has_issued: bool,
    ) -> (Result<(Request, String), ViewError>, bool) {
        let server_info = self.server_info.lock();
        let tool = server_info.catalog.tool(&endpoint.name);
        let (names, policy) = (&server_info.catalog.control_names, &caller.effective_policy.policy);
        let ours = |name: &str| match tool {
            Some(tool) if has_issued => name == "cursor" || !tool.owns(name),
            Some(tool) => owns_argument(caller, tool, name, names),
            None => has_issued,
        };
        (controls::split_controls(splice, text, arguments, (names, ours), policy), ours("cursor"))
    }

    /// Returns the side that a tool belongs to.
    pub(super) fn tool_owner(&self, name: &str) -> ToolOwner {
        let mut server_info = self.server_info.lock();
        if server_info.has_no_tools && !server_info.catalog.is_complete() {
            server_info.edit_catalog(ToolCatalog::list_builtin_only);
        }
        server_info.catalog.builtin_names.owner(name)
    }

    /// Returns the endpoint of an upstream tool. The tool must be known if an argument may be a control.
    fn tool_endpoint(&self, name: String, text: &str, arguments: Span) -> Result<Endpoint, NotForwarded> {
        let may_be_listed = self.may_be_listed(&name);
        let server_info = self.server_info.lock();
        if may_be_listed && controls::has_control(text, arguments, &server_info.catalog.control_names) {
            return Err(NotForwarded::ToolsUnknown);
        }
        let tool = server_info.catalog.tool(&name);
        let (read_only, idempotent) = tool.map_or((false, false), |tool| (tool.read_only, tool.idempotent));
        Ok(Endpoint { name, kind: EndpointKind::Tool, read_only, idempotent })
    }

    /// Returns true if a tool is unknown, but may be in the rest of the server's list.
    fn may_be_listed(&self, name: &str) -> bool {
        let server_info = self.server_info.lock();
        server_info.catalog.tool(name).is_none() && !server_info.catalog.is_complete()
    }

    /// Queues a call until the tools are known, and requests their list unless that request is pending.
    pub(super) fn queue_call(
        &self,
        text: &str,
        envelope: &Envelope,
        is_stateless: bool,
    ) -> Option<OutgoingMessage> {
        let kind = PendingKind::QueuedCall { line: envelope.span.slice(text).to_owned() };
        let timer = self.start_timer(text, envelope, &kind);
        self.add_pending(PendingRequest { id: envelope.raw_id(text).to_owned(), is_stateless, kind, timer });
        let mut pending_requests = self.pending_requests.lock();
        if pending_requests.is_listing_tools() {
            return None;
        }
        let meta = protocol_meta_members(text, envelope);
        Some(self.request_tool_list(&mut pending_requests, ToolListing::new(meta, None), None))
    }
}

/// Returns true if an argument of an upstream tool is a control of the gateway, if it has the name of one.
pub(super) fn owns_argument(caller: &Caller, tool: &UpstreamTool, name: &str, names: &ControlNames) -> bool {
    // The answer to a query is not what the schema of a small result says.
    if tool.is_bounded && names.are_of_query(name) {
        return false;
    }
    match caller.rule.controls(caller.shaping_mode) {
        // An advertised control belongs to the gateway, even if a later configuration disables controls.
        Some(false) => tool.advertises(name),
        Some(true) => !tool.has_property(name),
        // A tool that may act on its arguments gets them as they came.
        None if names.are_of_query(name) && !tool.reads() => tool.advertises(name),
        None => tool.is_gateway_control(name),
    }
}
