//! Answers calls of the built-in tools, also of the one that describes other tools in full, and reads of the gateway's own resources.

use std::collections::HashSet;
use std::sync::Arc;

use portion_core::error_code::ErrorCode;
use portion_core::payload::{Block, Content, Payload, Redact};
use portion_core::redact::RedactionRules;
use portion_core::view::{Request, ViewError, is_absent};
use portion_gateway::call::{Call, Caller, Fault, Reply};
use portion_gateway::gateway::{CursorCall, Gateway};
use portion_gateway::query_limiter::CancelFlag;
use portion_json::scan::{JsonKind, is_json, unescape};
use portion_json::span::Span;
use portion_policy::endpoint::{Endpoint, EndpointKind};

use super::super::argument_names::cursor_argument;
use super::caller_identity::{CallerIdentity, protocol_meta_members};
use super::tool_calls::{CallText, NotForwarded};
use super::{McpProcessor, responses};
use crate::mcp::catalog::{BuiltinTool, truncate};
use crate::mcp::controls;
use crate::mcp::result::{ResultShape, StructuredForm};
use crate::mcp::walk::{self, Member};

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
                let endpoint = Endpoint::tool(name, true);
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
        let opened = self.gateway.open_cursor(caller, None, Some(controls::read_uri_cursor(uri))).await;
        match controls::parse_read_uri(uri, &opened.caller().effective_policy.policy) {
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
        let server_info = self.server_info.lock();
        let tool =
            server_info.catalog.tool(&endpoint.name).filter(|_| endpoint.kind == EndpointKind::Tool)?;
        let informed =
            Endpoint { read_only: tool.read_only, idempotent: tool.idempotent, ..endpoint.clone() };
        (informed != *endpoint).then_some(informed)
    }

    /// Answers a call of the built-in tool, which is listed under `name`.
    pub(super) async fn describe_tools(&self, name: String, caller: Caller, call: CallText<'_>) -> String {
        let CallText { text, arguments, is_stateless, .. } = call;
        let id = call.envelope.raw_id(text);
        let described =
            parse_names(text, arguments).and_then(|names| self.server_info.lock().catalog.describe(&names));
        let endpoint = Endpoint::tool(name, true);
        let described = match described {
            Ok(described) => described,
            Err(fault) => {
                let refused = self.gateway.report_fault(fault, &caller, &Request::default(), &endpoint);
                let reply = Reply::Fault(refused);
                return responses::tool_response(id, &reply, StructuredForm::None, is_stateless);
            }
        };
        self.answer_own_text(endpoint, caller, call, described).await
    }

    /// Answers a call of a built-in tool with a text of the gateway's own.
    pub(super) async fn answer_own_text(
        &self,
        endpoint: Endpoint,
        caller: Caller,
        call: CallText<'_>,
        own_text: String,
    ) -> String {
        let (id, is_stateless) = (call.envelope.raw_id(call.text), call.is_stateless);
        let block = Block::new("/content/0/text", Content::Text(own_text.clone()));
        // Schemas name passwords without containing any.
        let redaction_rules: Option<Arc<dyn Redact>> = Some(Arc::new(RedactionRules::none()));
        let payload = Payload { blocks: vec![block], redaction_rules, ..Payload::default() };
        match self.gateway.answer(Call::new(caller, endpoint, payload)).await {
            Reply::Untouched => responses::text_response(id, &own_text, is_stateless),
            reply => responses::tool_response(id, &reply, StructuredForm::None, is_stateless),
        }
    }
}

/// Returns true if all arguments of a call stand for none, or there are none. An empty cursor alone is a mistake.
fn has_no_arguments(call: CallText<'_>) -> bool {
    let is_none = |member: &Member| {
        let value = member.value.slice(call.text);
        is_absent(value) || value == "false"
    };
    let members = walk::members(call.text, call.arguments);
    let is_cursor_alone = members.len() == 1 && members[0].value.slice(call.text).starts_with('"');
    members.iter().all(is_none) && !is_cursor_alone
}

/// Parses the requested names without duplicates: a list, or a single name. Models write both, and lists as
/// strings.
fn parse_names(text: &str, arguments: Span) -> Result<Vec<String>, Fault> {
    let mut names: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    for Member { key, value } in walk::members(text, arguments) {
        let key = unescape(key.slice(text));
        if key != "names" && key != "name" {
            return Err(invalid_names(format!("unknown argument {}", truncate(&key))));
        }
        let kind = walk::kind(text, value);
        let alone = if kind == JsonKind::String { Some(unescape(value.slice(text))) } else { None };
        let list = alone.as_deref().filter(|text| text.starts_with('[') && is_json(text));
        let (text, value) = list.map_or((text, value), |list| (list, walk::document_span(list)));
        let items = match (kind, list) {
            (JsonKind::Null, _) => Vec::new(),
            (JsonKind::String, None) => vec![value],
            (JsonKind::Array, _) | (JsonKind::String, Some(_)) => walk::items(text, value),
            _ => return Err(invalid_names(format!("{key} is {}", truncate(value.slice(text))))),
        };
        for name in items {
            if walk::kind(text, name) != JsonKind::String {
                return Err(invalid_names(format!("{} is not a tool name", truncate(name.slice(text)))));
            }
            let name = unescape(name.slice(text));
            if seen.insert(name.clone()) {
                names.push(name);
            }
        }
    }
    if names.is_empty() { Err(invalid_names("names is empty".into())) } else { Ok(names) }
}

fn invalid_names(message: String) -> Fault {
    Fault::new(ErrorCode::NamesInvalid, message, "set names to tool names from the list".into())
}
