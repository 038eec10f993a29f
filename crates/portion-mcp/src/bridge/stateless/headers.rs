//! Checks the header fields that repeat parts of the body.
//!
//! Since 2026-07-28 they exist so that intermediaries need not parse the body. If they differ from it, neither may be
//! acted on.

use hyper::StatusCode;
use hyper::header::HeaderMap;
use portion_text::display::shortened;

use crate::bridge::session_mode::PROTOCOL_VERSION_HEADER;
use crate::front::http::http_error::{HttpError, HttpResult};
use crate::mcp::error_code::{HEADER_MISMATCH, INVALID_PARAMS};
use crate::mcp::request_headers::{METHOD_HEADER, NAME_HEADER, PARAM_HEADER_PREFIX, decode_value};
use crate::mcp::{McpProcessor, MessageView};

/// Checks that revision, method and name are the same in the header fields.
///
/// # Errors
/// Returns [`HttpError`], which names the differing field.
pub(super) fn check_standard_headers(headers: &HeaderMap, request: &MessageView<'_>) -> HttpResult<()> {
    for name in [PROTOCOL_VERSION_HEADER, METHOD_HEADER, NAME_HEADER] {
        require_single(headers, name)?;
    }
    let Some(version) = request.protocol_version() else {
        let message = "params._meta lacks the revision: io.modelcontextprotocol/protocolVersion is missing";
        return Err(HttpError::new(StatusCode::BAD_REQUEST, INVALID_PARAMS, message));
    };
    let field = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if field(PROTOCOL_VERSION_HEADER) != Some(&version) {
        return Err(header_mismatch("MCP-Protocol-Version", "the revision in the body"));
    }
    if field(METHOD_HEADER) != Some(&*request.method()) {
        return Err(header_mismatch("Mcp-Method", "the method in the body"));
    }
    // Tasks are an extension: clients that support only the core send no name for them.
    let is_optional = request.method().starts_with("tasks/") && !headers.contains_key(NAME_HEADER);
    match request.name().filter(|_| !is_optional) {
        Some(name) if field(NAME_HEADER).and_then(decode_value).as_deref() != Some(&name) => {
            Err(header_mismatch("Mcp-Name", "the name in the body"))
        }
        _ => Ok(()),
    }
}

/// Checks that the arguments that a known tool wants repeated are the same in the header fields.
///
/// # Errors
/// Returns [`HttpError`], which names the differing field.
pub(super) fn check_param_headers(
    headers: &HeaderMap,
    request: &MessageView<'_>,
    processor: &McpProcessor,
) -> HttpResult<()> {
    let Some(tool) = request.name().filter(|_| request.method() == "tools/call") else { return Ok(()) };
    for mirrored in processor.header_params(&tool) {
        let name = format!("{PARAM_HEADER_PREFIX}{}", mirrored.header.to_ascii_lowercase());
        let shown = format!("Mcp-Param-{}", mirrored.header);
        require_single(headers, &name)?;
        let field = headers.get(&*name).map(|value| value.to_str().ok().and_then(decode_value));
        let is_same = match (field, mirrored.find_argument(request.arguments().unwrap_or_default())) {
            (None, argument) => argument.is_none_or(|argument| argument.is_unrepresentable()),
            (Some(value), Some(argument)) => value.is_some_and(|value| argument.matches_header(&value)),
            (Some(_), None) => false,
        };
        if !is_same {
            return Err(header_mismatch(&shown, "the argument in the body"));
        }
    }
    Ok(())
}

fn require_single(headers: &HeaderMap, name: &str) -> HttpResult<()> {
    if headers.get_all(name).iter().nth(1).is_none() {
        return Ok(());
    }
    let message = format!("the header field {} is repeated", shortened(name));
    Err(HttpError::new(StatusCode::BAD_REQUEST, HEADER_MISMATCH, message))
}

fn header_mismatch(name: &str, what: &str) -> HttpError {
    let name = shortened(name);
    let message = format!("the header field {name} is missing or differs from {what}; send equal values");
    HttpError::new(StatusCode::BAD_REQUEST, HEADER_MISMATCH, message)
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;
    use hyper::header::{HeaderName, HeaderValue};

    use super::check_standard_headers;
    use crate::mcp::ParsedBatch;

    /// Checks the result; `expect` is a part of the error.
    fn say(fields: &[(&str, &str)], method: &str, params: &str, expect: Option<&str>) {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            let name: HeaderName = name.parse().expect("a name");
            headers.append(name, HeaderValue::from_bytes(value.as_bytes()).expect("a value"));
        }
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
        let params = if params.is_empty() { meta.to_owned() } else { format!("{params},{meta}") };
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}}}}}"#);
        let batch = ParsedBatch::parse(&text).expect("a message");
        let result =
            check_standard_headers(&headers, &batch.messages[0]).map_err(|refusal| format!("{refusal:?}"));
        match (&result, expect) {
            (Ok(()), None) => {}
            (Err(result), Some(expect)) if result.contains(expect) && result.contains("-32020") => {}
            _ => panic!("{fields:?} {text}: {result:?} instead of {expect:?}"),
        }
    }

    #[test]
    fn header_fields_must_equal_the_body() {
        let version = ("mcp-protocol-version", "2026-07-28");
        let list = ("mcp-method", "tools/list");
        say(&[version, list], "tools/list", "", None);
        say(&[version, list, ("mcp-name", "whatever")], "tools/list", "", None);
        say(&[list], "tools/list", "", Some("MCP-Protocol-Version"));
        say(&[("mcp-protocol-version", "2026-07-29"), list], "tools/list", "", Some("MCP-Protocol-Version"));
        say(&[version], "tools/list", "", Some("Mcp-Method"));
        say(&[version, ("mcp-method", "TOOLS/LIST")], "tools/list", "", Some("Mcp-Method"));
        say(&[version, list, list], "tools/list", "", Some("is repeated"));
        let call = ("mcp-method", "tools/call");
        let named = r#""name":"é""#;
        say(&[version, call, ("mcp-name", "=?base64?w6k=?=")], "tools/call", named, None);
        say(&[version, call, ("mcp-name", "=?base64?w6l=?=")], "tools/call", named, Some("Mcp-Name"));
        say(&[version, call, ("mcp-name", "=?base64?/w==?=")], "tools/call", named, Some("Mcp-Name"));
        say(&[version, call, ("mcp-name", "é")], "tools/call", named, Some("Mcp-Name"));
        say(&[version, call], "tools/call", named, Some("Mcp-Name"));
        say(&[version, call, ("mcp-name", "x")], "tools/call", r#""name":"x""#, None);
        say(
            &[version, ("mcp-method", "resources/read"), ("mcp-name", "a:b")],
            "resources/read",
            r#""uri":"a:b""#,
            None,
        );
        say(
            &[version, ("mcp-method", "tasks/get"), ("mcp-name", "a")],
            "tasks/get",
            r#""taskId":"b""#,
            Some("Mcp-Name"),
        );
        say(
            &[version, ("mcp-method", "prompts/get"), ("mcp-name", "a")],
            "prompts/get",
            r#""name":"b""#,
            Some("Mcp-Name"),
        );
    }
}
