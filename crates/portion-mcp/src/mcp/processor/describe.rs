//! Answers the built-in tool that describes other tools in full, for shortened tool lists.

use std::collections::HashSet;
use std::sync::Arc;

use portion_core::error_code::ErrorCode;
use portion_core::payload::{Block, Content, Payload, Redact};
use portion_core::redact::RedactionRules;
use portion_core::view::Request;
use portion_gateway::call::{Call, Caller, Fault, Reply};
use portion_json::scan::{JsonKind, is_json, unescape};
use portion_json::span::Span;
use portion_policy::endpoint::{Endpoint, EndpointKind};

use super::super::catalog::NoSuchTool;
use super::super::result::StructuredForm;
use super::super::walk::{self, Member};
use super::tool_calls::CallText;
use super::{McpProcessor, responses};

/// Characters of an invalid argument that an error repeats.
const MAX_ECHOED_CHARS: usize = 64;

impl McpProcessor {
    /// Answers a call of the built-in tool, which is listed under `name`.
    pub(super) async fn describe_tools(&self, name: String, caller: Caller, call: CallText<'_>) -> String {
        let CallText { text, arguments, is_stateless, .. } = call;
        let id = call.envelope.raw_id(text);
        let described =
            parse_names(text, arguments).and_then(|names| Ok(self.server_info().catalog.describe(&names)?));
        let endpoint = Endpoint { name, kind: EndpointKind::Tool, read_only: true, idempotent: true };
        let described = match described {
            Ok(described) => described,
            Err(fault) => {
                let refused = self.gateway.report_fault(fault, &caller, &Request::default(), &endpoint);
                return responses::tool_response(
                    id,
                    &Reply::Fault(refused),
                    StructuredForm::None,
                    is_stateless,
                );
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
        let call =
            Call { caller, endpoint: Some(endpoint), payload, request: Request::default(), reuse: None };
        match self.gateway.answer(call).await {
            Reply::Untouched => responses::text_response(id, &own_text, is_stateless),
            reply => responses::tool_response(id, &reply, StructuredForm::None, is_stateless),
        }
    }
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

impl From<NoSuchTool> for Fault {
    fn from(missing: NoSuchTool) -> Self {
        let suggestion = missing.nearest.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
        let message = format!("there is no tool {}{suggestion}", truncate(&missing.name));
        Self::new(ErrorCode::ToolUnknown, message, "use a name from the tool list".into())
    }
}

fn truncate(text: &str) -> String {
    match text.char_indices().nth(MAX_ECHOED_CHARS) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}
