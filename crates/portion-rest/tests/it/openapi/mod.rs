//! Tests of `OpenAPI` documents and described tools.
#![expect(clippy::needless_pass_by_value, reason = "tables read better with values")]

mod attack;
mod described;
mod requests;
mod tools;

use portion_rest::openapi::{Document, Tool, ToolOptions, ToolSet};
use serde_json::{Value, json};

/// Returns the tools of a document.
fn tools(document: &Value) -> ToolSet {
    let document = Document::parse(&document.to_string()).expect("a document");
    ToolSet::build(&document, &ToolOptions::default()).expect("tools")
}

/// Returns the only tool of an operation at a path.
fn tool(version: &str, path: &str, method: &str, operation: Value) -> Tool {
    let key = if version.starts_with('2') { "swagger" } else { "openapi" };
    let mut set = tools(&json!({ key: version, "paths": { path: { method: operation } } }));
    set.tools.remove(0)
}

/// Returns a request in one line: method, path, query, headers except `Accept`, media type and body.
fn shown(tool: &Tool, arguments: &str) -> String {
    let request = match tool.request(arguments) {
        Ok(request) => request,
        Err(error) => return format!("! {error}"),
    };
    let query = if request.query.is_empty() { String::new() } else { format!("?{}", request.query) };
    let headers = request.headers.iter().filter(|(name, _)| name != "Accept");
    let headers: Vec<String> = headers.map(|(name, value)| format!(" [{name}: {value}]")).collect();
    let headers = headers.concat();
    let body =
        request.body.map(|body| format!(" {} {}", body.content_type, String::from_utf8_lossy(&body.bytes)));
    format!("{} {}{query}{headers}{}", request.method, request.path, body.unwrap_or_default())
}
