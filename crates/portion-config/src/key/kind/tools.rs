//! Parses descriptions of tools.

use portion_policy::tool_description::{
    ArgumentDescription, ArgumentPlace, BodyEncoding, METHODS, ToolDescription,
};
use serde_json::{Map, Value as Json};

use super::InvalidValue;
use super::scalar::parse_tool_name;
use super::structured::all_valid;
use crate::document::{MapKey, Node, NodeValue};
use crate::value::{DescribedTools, Value};

type Invalid = Vec<InvalidValue>;

const PARAMETER_FIX: &str = "write in, name, required, list, or a keyword of JSON Schema";
/// Keywords of JSON Schema. `required` of an object's members is written in `allOf`.
const SCHEMA_KEYWORDS: &[&str] = &[
    "$comment",
    "$defs",
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "contentEncoding",
    "contentMediaType",
    "default",
    "dependentRequired",
    "dependentSchemas",
    "deprecated",
    "description",
    "else",
    "enum",
    "example",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "if",
    "items",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "nullable",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "readOnly",
    "then",
    "title",
    "type",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
    "writeOnly",
];
const TOOL_KEYS: &str = "description, request, parameters, query, body, bodyEncoding, read";

/// Parses the tools of a map.
pub(super) fn parse_tools(entries: &[(MapKey, Node)]) -> Result<Value, Invalid> {
    let tools = all_valid(entries.iter().map(|(name, node)| parse_tool(&name.text, node)))?;
    let written = entries.iter().map(|(name, node)| (name.text.clone(), to_json(node))).collect();
    Ok(Value::Tools(Box::new(DescribedTools { tools, written })))
}

fn parse_tool(name: &str, node: &Node) -> Result<ToolDescription, Invalid> {
    parse_tool_name(node, name).map_err(|_| {
        let problem = format!("has the tool name `{}`, which is not valid", name.escape_debug());
        vec![InvalidValue::new(node, problem, "write 1 to 64 letters, digits, `_` or `-`")]
    })?;
    let NodeValue::Map(entries) = &node.value else {
        return Err(invalid_tool(name, node, "is not a map", &format!("write {TOOL_KEYS}")));
    };
    let mut tool =
        ToolDescription { name: name.to_owned(), path: String::new(), ..ToolDescription::default() };
    let mut parameters = &[][..];
    for (key, node) in entries {
        match (key.text.as_str(), &node.value) {
            ("parameters", NodeValue::Map(entries)) => parameters = entries,
            (key, _) => set_tool_key(&mut tool, key, node)?,
        }
    }
    if tool.path.is_empty() || tool.description.is_empty() {
        let fix = "write request: METHOD /path, and description";
        return Err(invalid_tool(name, node, "needs a request and a description", fix));
    }
    for (argument, node) in parameters {
        tool.arguments.push(parse_argument(&tool, &argument.text, node)?);
    }
    if let Err(error) = tool.path_pattern() {
        let fix = "name each argument of the path under parameters";
        return Err(invalid_tool(name, node, &error.to_string(), fix));
    }
    Ok(tool)
}

/// Sets the property of a key other than `parameters`.
fn set_tool_key(tool: &mut ToolDescription, key: &str, node: &Node) -> Result<(), Invalid> {
    let (set, problem, fix) = match key {
        "description" => {
            node.text().unwrap_or_default().trim().clone_into(&mut tool.description);
            return Ok(());
        }
        "request" => (
            node.text().and_then(parse_request).map(|request| (tool.method, tool.path) = request),
            "has an invalid request",
            "write METHOD /path, such as GET /items/{id}",
        ),
        "parameters" => (None, "has parameters that are not a map", "write {NAME: {type: string}}"),
        "query" => (
            scalars(node, |_, text| text.to_owned()).map(|texts| tool.query = texts),
            "has values that are not text",
            "write {NAME: TEXT}",
        ),
        "body" => (
            scalars(node, |node, _| to_json(node)).map(|values| tool.body = values),
            "has values that are neither text, numbers nor booleans",
            "write {NAME: VALUE}",
        ),
        "bodyEncoding" => {
            let encodings = [("json", BodyEncoding::Json), ("form", BodyEncoding::Form)];
            let encoding = named(node, encodings).map(|encoding| tool.body_encoding = encoding);
            (encoding, "has an unknown bodyEncoding", "write json or form")
        }
        "read" => (
            boolean(node).map(|is_read| tool.is_read = is_read),
            "has read, which is neither true nor false",
            "write true or false",
        ),
        other => {
            let problem = format!("has the unknown key `{}`", other.escape_debug());
            return Err(invalid_tool(&tool.name, node, &problem, &format!("write {TOOL_KEYS}")));
        }
    };
    set.ok_or_else(|| invalid_tool(&tool.name, node, problem, fix))
}

/// Parses `METHOD /path`.
fn parse_request(text: &str) -> Option<(&'static str, String)> {
    let (method, path) = text.split_once(' ')?;
    Some((METHODS.into_iter().find(|known| *known == method)?, path.trim().to_owned()))
}

fn invalid_tool(name: &str, node: &Node, problem: &str, fix: &str) -> Invalid {
    vec![InvalidValue::new(node, format!("has the tool {name}, which {problem}"), fix)]
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
    for (key, node) in entries {
        match key.text.as_str() {
            "in" => {
                let places = [
                    ("path", ArgumentPlace::Path),
                    ("query", ArgumentPlace::Query),
                    ("body", ArgumentPlace::Body),
                    ("control", ArgumentPlace::Control),
                ];
                let Some(place) = named(node, places) else {
                    return invalid(node, "has an unknown place", "write in: path, query, body or control");
                };
                argument.place = place;
            }
            "name" => match node.text().filter(|text| !text.is_empty()) {
                Some(sent_as) => sent_as.clone_into(&mut argument.sent_as),
                None => return invalid(node, "has a name that is not text", "write its name in the request"),
            },
            "required" | "list" => match boolean(node) {
                Some(is_required) if key.text == "required" => argument.is_required = is_required,
                Some(is_list) => argument.is_list = is_list,
                None => {
                    let problem = format!("has {}, which is neither true nor false", key.text);
                    return invalid(node, &problem, "write true or false");
                }
            },
            keyword if is_schema_keyword(keyword) => {
                argument.schema.insert(keyword.to_owned(), to_json(node));
            }
            other => {
                let problem = format!("has the unknown key `{}`", other.escape_debug());
                return invalid(node, &problem, PARAMETER_FIX);
            }
        }
    }
    Ok(argument)
}

/// Returns what a text names.
fn named<T, const N: usize>(node: &Node, known: [(&str, T); N]) -> Option<T> {
    let text = node.text()?;
    known.into_iter().find(|(name, _)| *name == text).map(|(_, value)| value)
}

fn boolean(node: &Node) -> Option<bool> {
    node.text()?.parse().ok()
}

/// Returns the members of a map of scalars; `None` if it has other values.
fn scalars<T>(node: &Node, value: impl Fn(&Node, &str) -> T) -> Option<Vec<(String, T)>> {
    let NodeValue::Map(entries) = &node.value else { return None };
    entries.iter().map(|(name, node)| Some((name.text.clone(), value(node, node.text()?)))).collect()
}

/// Returns true for a keyword of JSON Schema, or of `OpenAPI`'s dialects of it, and for extensions.
fn is_schema_keyword(name: &str) -> bool {
    SCHEMA_KEYWORDS.contains(&name) || name.starts_with("x-")
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
