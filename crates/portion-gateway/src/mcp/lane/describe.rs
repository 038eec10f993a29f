//! Our own tool that shows others in full, for lists that say little of each.

use std::collections::HashSet;
use std::sync::Arc;

use portion_core::payload::{Block, Content, Payload};
use portion_core::redact::Redact;
use portion_core::scan::{Kind, Reader, decoded};
use portion_core::span::Span;
use portion_core::view::Request;

use super::super::catalogue::NoSuchTool;
use super::super::walk::{self, Member};
use super::{McpLane, answer};
use crate::call::{Call, Caller, Endpoint, EndpointKind, Fault, Intent, Reply};

/// Characters of what was given that an error repeats.
const GIVEN_SHOWN: usize = 64;

impl McpLane {
    /// The answer to a call of the tool, which is listed under `name`.
    pub(super) async fn describe(
        &self,
        id: &str,
        name: String,
        caller: Caller,
        text: &str,
        arguments: Span,
        modern: bool,
    ) -> String {
        let described =
            names(text, arguments).and_then(|names| Ok(self.known().catalogue.describe(&names)?));
        let endpoint = Endpoint { name, kind: EndpointKind::Tool, read_only: true, idempotent: true };
        let described = match described {
            Ok(described) => described,
            Err(fault) => {
                let refused = self.gateway.refuse(fault, &caller, &Request::default(), &endpoint);
                return answer::called(id, &Reply::Fault(refused), false, modern);
            }
        };
        let content = Content::Text(described.clone());
        let block = Block::new("/content/0/text", content);
        // Schemas name passwords without having any.
        let redact = Some(Arc::new(Redact::nothing()));
        let payload = Payload { blocks: vec![block], redact, ..Payload::default() };
        let intent = Intent::Fresh { payload, request: Request::default(), reuse: None };
        let call = Call { caller, endpoint: Some(endpoint), intent };
        match self.gateway.answer(call).await {
            Reply::Untouched => answer::said(id, &described, modern),
            reply => answer::called(id, &reply, false, modern),
        }
    }
}

/// The names that are asked for, each once: a list, or one alone. Models write both, and lists as texts.
fn names(text: &str, arguments: Span) -> Result<Vec<String>, Fault> {
    let mut names: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    for Member { key, value } in walk::members(text, arguments) {
        let key = decoded(key.of(text));
        if key != "names" && key != "name" {
            return Err(wrong(format!("there is no argument {}", beginning(&key))));
        }
        let kind = walk::kind(text, value);
        let alone = if kind == Kind::String { Some(decoded(value.of(text))) } else { None };
        let list = alone.as_deref().filter(|text| is_list(text));
        let (text, value) = list.map_or((text, value), |list| (list, walk::whole(list)));
        let given = match (kind, list) {
            (Kind::Null, _) => Vec::new(),
            (Kind::String, None) => vec![value],
            (Kind::Array, _) | (Kind::String, Some(_)) => walk::items(text, value),
            _ => return Err(wrong(format!("{key} is {}", beginning(value.of(text))))),
        };
        for name in given {
            if walk::kind(text, name) != Kind::String {
                return Err(wrong(format!("{} is no tool's name", beginning(name.of(text)))));
            }
            let name = decoded(name.of(text));
            if seen.insert(name.clone()) {
                names.push(name);
            }
        }
    }
    if names.is_empty() { Err(wrong("no tool is named".into())) } else { Ok(names) }
}

fn is_list(text: &str) -> bool {
    let mut reader = Reader::new(text);
    text.starts_with('[') && reader.skip().is_ok() && reader.end().is_ok()
}

fn wrong(message: String) -> Fault {
    Fault::new("names_invalid", message, "give names as a list of names of tools that are listed".into())
}

impl From<NoSuchTool> for Fault {
    fn from(missing: NoSuchTool) -> Self {
        let meant = missing.nearest.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
        let message = format!("there is no tool {}{meant}", beginning(&missing.name));
        Self::new("tool_unknown", message, "choose from the names of the tools that are listed".into())
    }
}

fn beginning(text: &str) -> String {
    match text.char_indices().nth(GIVEN_SHOWN) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}
