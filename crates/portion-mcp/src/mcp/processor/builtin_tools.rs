//! Answers calls of the built-in tools, and reads of the gateway's own resources.

use std::sync::Arc;

use portion_core::view::{Request, ViewError};
use portion_gateway::call::{Caller, Fault, Reply};
use portion_gateway::gateway::{CursorCall, Gateway};
use portion_gateway::query_limiter::CancelFlag;
use portion_json::scan::JsonKind;
use portion_policy::endpoint::{Endpoint, EndpointKind};

use super::super::argument_names::cursor_argument;
use super::super::catalog::BuiltinTool;
use super::super::controls;
use super::super::read_uri;
use super::super::result::{ResultShape, StructuredForm};
use super::super::walk::{self, Member};
use super::McpProcessor;
use super::caller_identity::CallerIdentity;
use super::caller_identity::protocol_meta_members;
use super::tool_calls::{CallText, NotForwarded};

impl McpProcessor {
    /// Answers a call of a built-in tool.
    pub(super) async fn call_builtin_tool(
        &self,
        tool: BuiltinTool,
        name: String,
        call: CallText<'_>,
        who: CallerIdentity,
        cancel: Option<&CancelFlag>,
    ) -> NotForwarded {
        match tool {
            BuiltinTool::Read if has_no_arguments(call) => {
                let endpoint = Endpoint { name, kind: EndpointKind::Tool, read_only: true, idempotent: true };
                let caller = self.caller(who, None);
                let kept = self.gateway.list_kept(&caller).await;
                NotForwarded::Answered(self.answer_own_text(endpoint, caller, call, kept).await)
            }
            BuiltinTool::Read | BuiltinTool::Query => {
                let reply = self.read_result(tool, who, call, cancel).await;
                reply.map_or(NotForwarded::Cancelled, |reply| call.answer(&reply, StructuredForm::None))
            }
            BuiltinTool::Describe => {
                let caller = self.caller(who, None);
                NotForwarded::Answered(self.describe_tools(name, caller, call).await)
            }
        }
    }

    /// Answers a call of `portion_read` or `portion_query`, which take the same arguments; returns `None` if the call was
    /// cancelled.
    async fn read_result(
        &self,
        tool: BuiltinTool,
        who: CallerIdentity,
        call: CallText<'_>,
        cancel: Option<&CancelFlag>,
    ) -> Option<Reply> {
        let id = call.envelope.raw_id(call.text);
        let registered = cancel.is_none() && self.active_queries.register(id);
        // The entry is removed when this guard is dropped.
        let active = registered.then(|| self.active_queries.get(id)).flatten();
        let cancel =
            cancel.or(active.as_ref().map(|active| &active.cancel_flag)).cloned().unwrap_or_default();
        let caller = Caller { cancel_flag: cancel.clone(), ..self.builtin_tool_caller(who, call) };
        let cursor = cursor_argument(call.text, call.arguments);
        let opened = self.gateway.open_cursor(caller, None, cursor).await;
        let policy = &opened.caller().effective_policy.policy;
        let reply = match controls::parse_read_arguments(call.arguments.slice(call.text), policy) {
            Ok(request) if tool == BuiltinTool::Query && !request.query.is_given() => {
                opened.refuse(ViewError::Query("no query is given".to_owned()).into())
            }
            Ok(request) => self.answer_at_cursor(opened, request).await,
            Err(fault) => opened.refuse(fault),
        };
        (!cancel.is_cancelled()).then_some(reply)
    }

    /// Returns the caller of a built-in tool.
    fn builtin_tool_caller(&self, who: CallerIdentity, call: CallText<'_>) -> Caller {
        Caller {
            argument_names: controls::argument_names(call.text, call.arguments),
            page_source: Some(self.page_source(protocol_meta_members(call.text, call.envelope))),
            ..self.caller(who, None)
        }
    }

    /// Answers `resources/read` for a URI of the gateway. `uri`: the URI without its prefix.
    pub(super) async fn read_own_resource(&self, who: CallerIdentity, uri: &str) -> Reply {
        let caller = Caller { read_uri: ResultShape::Resource.read_uri_prefix(), ..self.caller(who, None) };
        let opened = self.gateway.open_cursor(caller, None, Some(read_uri::parse_cursor(uri))).await;
        match read_uri::parse(uri, &opened.caller().effective_policy.policy) {
            Ok(request) => self.answer_at_cursor(opened, request).await,
            Err(error) => opened.refuse(error.into()),
        }
    }

    /// Answers a request with a cursor, or a query on its content. An expired cursor is described with the endpoint as
    /// known now.
    pub(super) async fn answer_at_cursor(&self, opened: CursorCall<'_>, request: Request) -> Reply {
        let (policy, max_tokens) = (Arc::clone(&opened.caller().effective_policy), request.max_tokens);
        let reply = opened.answer(request).await;
        match &reply {
            Reply::Fault(Fault { expired_call: Some(lost), .. }) => {
                let Some(informed) = self.updated_endpoint(&lost.endpoint) else { return reply };
                let fault = Fault::cursor_expired(Some(&informed), lost.arguments.as_ref());
                Gateway::refit_fault(fault, &policy, max_tokens)
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

/// Returns true if all arguments of a call are null, or there are none.
fn has_no_arguments(call: CallText<'_>) -> bool {
    let is_null = |member: &Member| walk::kind(call.text, member.value) == JsonKind::Null;
    walk::members(call.text, call.arguments).iter().all(is_null)
}
