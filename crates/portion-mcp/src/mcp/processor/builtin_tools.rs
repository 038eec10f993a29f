//! Answers calls of the built-in tools.

use portion_gateway::call::{Caller, Intent, Reply};
use portion_gateway::query_limiter::CancelFlag;
use portion_json::span::Span;

use super::super::argument_names::cursor_argument;
use super::super::catalog::BuiltinTool;
use super::super::controls;
use super::super::envelope::Envelope;
use super::super::result::ResultShape;
use super::McpProcessor;
use super::caller_identity::CallerIdentity;
use super::paged_calls::CallText;
use super::request_meta::protocol_meta_members;
use super::tool_calls::NotForwarded;

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
        let CallText { text, envelope, arguments, is_stateless } = call;
        match tool {
            BuiltinTool::Read => {
                let reply = self.read_on(who, text, arguments, protocol_meta_members(text, envelope)).await;
                match cancel {
                    Some(cancel) if cancel.is_cancelled() => NotForwarded::Cancelled,
                    _ => call.answer(&reply, false),
                }
            }
            BuiltinTool::Query => {
                let reply = self.query(who, text, envelope, arguments, cancel).await;
                reply.map_or(NotForwarded::Cancelled, |reply| call.answer(&reply, false))
            }
            BuiltinTool::Describe => {
                let (id, caller) = (envelope.raw_id(text), self.caller(who, None));
                let answer = self.describe_tools(id, name, caller, text, arguments, is_stateless).await;
                NotForwarded::Answered(answer)
            }
        }
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
}
