//! Parses descriptions of tools.

use portion_openapi::{ArgumentDescription, ArgumentPlace, BodyEncoding, METHODS, Tool, ToolDescription};
use serde_json::{Map, Value as Json};

use super::InvalidValue;
use super::scalar::parse_tool_name;
use crate::document::{MapKey, Node, NodeValue};
use crate::value::{DescribedTools, Value};

type Invalid = Vec<InvalidValue>;

const TOOL_KEYS: &str = "description, request, parameters, query, body, bodyEncoding, read";

/// Parses the tools of a map.
pub(super) fn parse_tools(entries: &[(MapKey, Node)]) -> Result<Value, Invalid> {
    let (mut tools, mut written, mut wrong) = (Vec::new(), Map::new(), Vec::new());
    for (name, node) in entries {
        match parse_tool(&name.text, node) {
            Ok(tool) => tools.push(tool),
            Err(more) => wrong.extend(more),
        }
        written.insert(name.text.clone(), to_json(node));
    }
    if wrong.is_empty() { Ok(Value::Tools(Box::new(DescribedTools { tools, written }))) } else { Err(wrong) }
}

fn parse_tool(name: &str, node: &Node) -> Result<ToolDescription, Invalid> {
    parse_tool_name(node, name).map_err(|_| {
        let problem = format!("has the tool name `{}`, which is not valid", name.escape_debug());
        vec![InvalidValue::new(node, problem, "write 1 to 64 letters, digits, `_` or `-`")]
    })?;
    let invalid = |node: &Node, problem: &str, fix: &str| {
        Err(vec![InvalidValue::new(node, format!("has the tool {name}, which {problem}"), fix)])
    };
    let NodeValue::Map(entries) = &node.value else {
        return invalid(node, "is not a map", &format!("write {TOOL_KEYS}"));
    };
    let mut tool =
        ToolDescription { name: name.to_owned(), path: String::new(), ..ToolDescription::default() };
    let mut parameters = &[][..];
    for (key, node) in entries {
        match key.text.as_str() {
            "description" => scalar(node).unwrap_or_default().trim().clone_into(&mut tool.description),
            "request" => {
                let request = scalar(node).and_then(|text| text.split_once(' '));
                let known = |method: &str| METHODS.into_iter().find(|known| *known == method);
                match request.and_then(|(method, path)| Some((known(method)?, path.trim()))) {
                    Some((method, path)) => (tool.method, tool.path) = (method, path.to_owned()),
                    None => {
                        return invalid(
                            node,
                            "has an invalid request",
                            "write METHOD /path, such as GET /items/{id}",
                        );
                    }
                }
            }
            "parameters" => match &node.value {
                NodeValue::Map(entries) => parameters = entries,
                _ => {
                    return invalid(
                        node,
                        "has parameters that are not a map",
                        "write {NAME: {type: string}}",
                    );
                }
            },
            "query" | "body" => match texts(node) {
                Some(texts) if key.text == "query" => tool.query = texts,
                Some(texts) => tool.body = texts,
                None => return invalid(node, "has values that are not text", "write {NAME: TEXT}"),
            },
            "bodyEncoding" => match scalar(node) {
                Some("json") => tool.body_encoding = BodyEncoding::Json,
                Some("form") => tool.body_encoding = BodyEncoding::Form,
                _ => return invalid(node, "has an unknown bodyEncoding", "write json or form"),
            },
            "read" => match scalar(node) {
                Some("true") => tool.is_read = true,
                Some("false") => tool.is_read = false,
                _ => {
                    return invalid(node, "has read, which is neither true nor false", "write true or false");
                }
            },
            other => {
                let problem = format!("has the unknown key `{}`", other.escape_debug());
                return invalid(node, &problem, &format!("write {TOOL_KEYS}"));
            }
        }
    }
    if tool.path.is_empty() || tool.description.is_empty() {
        return invalid(
            node,
            "needs a request and a description",
            "write request: METHOD /path, and description",
        );
    }
    for (argument, node) in parameters {
        tool.arguments.push(parse_argument(&tool, &argument.text, node)?);
    }
    if let Err(error) = Tool::from_description(&tool, &[]) {
        return invalid(node, &error.to_string(), "name each argument of the path under parameters");
    }
    Ok(tool)
}

fn parse_argument(tool: &ToolDescription, name: &str, node: &Node) -> Result<ArgumentDescription, Invalid> {
    let invalid = |node: &Node, problem: &str, fix: &str| {
        let problem = format!("has the tool {} with the parameter {name}, which {problem}", tool.name);
        Err(vec![InvalidValue::new(node, problem, fix)])
    };
    let place = if tool.path.contains(&format!("{{{name}}}")) {
        ArgumentPlace::Path
    } else if matches!(tool.method, "POST" | "PUT" | "PATCH") {
        ArgumentPlace::Body
    } else {
        ArgumentPlace::Query
    };
    let mut argument = ArgumentDescription::new(name, place);
    let entries = match &node.value {
        NodeValue::Map(entries) => entries.as_slice(),
        NodeValue::Null => &[],
        _ => return invalid(node, "is not a map", "write {type: string, description: TEXT}"),
    };
    let is_true = |node: &Node| scalar(node) == Some("true");
    for (key, node) in entries {
        match key.text.as_str() {
            "in" => {
                argument.place = match scalar(node) {
                    Some("path") => ArgumentPlace::Path,
                    Some("query") => ArgumentPlace::Query,
                    Some("body") => ArgumentPlace::Body,
                    Some("control") => ArgumentPlace::Control,
                    _ => {
                        return invalid(
                            node,
                            "has an unknown place",
                            "write in: path, query, body or control",
                        );
                    }
                };
            }
            "name" => scalar(node).unwrap_or(name).clone_into(&mut argument.sent_as),
            "required" => argument.is_required = is_true(node),
            "list" => argument.is_list = is_true(node),
            // The rest is JSON Schema.
            keyword => drop(argument.schema.insert(keyword.to_owned(), to_json(node))),
        }
    }
    Ok(argument)
}

/// Returns the text of a scalar.
fn scalar(node: &Node) -> Option<&str> {
    match &node.value {
        NodeValue::Scalar { text, .. } => Some(text),
        _ => None,
    }
}

fn texts(node: &Node) -> Option<Vec<(String, String)>> {
    let NodeValue::Map(entries) = &node.value else { return None };
    entries.iter().map(|(name, node)| Some((name.text.clone(), scalar(node)?.to_owned()))).collect()
}

/// Returns a node as JSON. Plain scalars are numbers, booleans and null where YAML says so.
fn to_json(node: &Node) -> Json {
    match &node.value {
        NodeValue::Null => Json::Null,
        NodeValue::Scalar { text, is_plain: false } => Json::from(text.trim_end()),
        NodeValue::Scalar { text, .. } => match text.as_str() {
            "true" => Json::Bool(true),
            "false" => Json::Bool(false),
            "null" | "~" => Json::Null,
            text => text.parse::<serde_json::Number>().map_or_else(|_| Json::from(text), Json::Number),
        },
        NodeValue::List(items) => items.iter().map(to_json).collect(),
        NodeValue::Map(entries) => entries
            .iter()
            .map(|(name, node)| (name.text.clone(), to_json(node)))
            .collect::<Map<_, _>>()
            .into(),
    }
}
