//! HTTP header fields that repeat parts of a message, as of 2026-07-28.
//!
//! Proxies can route a request by its method, its name and selected arguments without reading the body.
//! Servers compare the fields with the body and reject differences.
//!
//! ```
//! use portion_mcp::mcp::request_headers::{decode_value, encode_value};
//!
//! assert_eq!(encode_value("get_weather"), "get_weather");
//! assert_eq!(encode_value("é"), "=?base64?w6k=?=");
//! assert_eq!(decode_value("=?base64?w6k=?=").as_deref(), Some("é"));
//! ```

use std::borrow::Cow;
use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::header_params::{self, HeaderArgument, HeaderParam};
use super::parsed_batch::MessageView;
use super::walk;

/// Field with the method of a request.
pub const METHOD_HEADER: &str = "mcp-method";
/// Field with the name of a tool or prompt, the URI of a resource, or the id of a task.
pub const NAME_HEADER: &str = "mcp-name";
/// Prefix of the fields with arguments of a tool.
pub const PARAM_HEADER_PREFIX: &str = "mcp-param-";

/// Builds the header fields of requests from the known tools.
#[derive(Debug, Default)]
pub struct RequestHeaders {
    /// Repeated parameters by tool.
    params_by_tool: HashMap<String, Vec<HeaderParam>>,
}

impl RequestHeaders {
    /// Stores the repeated parameters of a `tools/list` response.
    pub fn learn_tools(&mut self, answer: &MessageView<'_>) {
        let (text, result) = (answer.text(), answer.result_span());
        let tools = result.and_then(|result| walk::member_value(text, result, "tools"));
        for tool in tools.map(|tools| walk::items(text, tools)).unwrap_or_default() {
            let Some(name) = walk::string_member(text, tool, "name") else { continue };
            let schema = walk::member_value(text, tool, "inputSchema");
            let repeated = schema.map(|schema| header_params::from_schema(text, schema)).unwrap_or_default();
            if repeated.is_empty() {
                self.params_by_tool.remove(&name);
            } else {
                self.params_by_tool.insert(name, repeated);
            }
        }
    }

    /// Returns the header fields of a request, with lowercase names and encoded values.
    pub fn header_fields(&self, request: &MessageView<'_>) -> Vec<(String, String)> {
        let mut fields = vec![(METHOD_HEADER.to_owned(), encode_value(&request.method()).into_owned())];
        let Some(name) = request.name() else { return fields };
        fields.push((NAME_HEADER.to_owned(), encode_value(&name).into_owned()));
        if request.method() != "tools/call" {
            return fields;
        }
        for repeated in self.params_by_tool.get(&name).into_iter().flatten() {
            let argument = repeated.find_argument(request.arguments().unwrap_or_default());
            let value = argument.as_ref().and_then(HeaderArgument::header_value);
            let field = format!("{PARAM_HEADER_PREFIX}{}", repeated.header.to_ascii_lowercase());
            fields.extend(value.map(|value| (field, encode_value(&value).into_owned())));
        }
        fields
    }
}

const BASE64_PREFIX: &str = "=?base64?";
const BASE64_SUFFIX: &str = "?=";

/// Encodes a text as a field value: unchanged if possible, else as `=?base64?…?=`. Encoded are texts with
/// characters other than printable ASCII, with spaces at an end, and texts that look encoded.
pub fn encode_value(text: &str) -> Cow<'_, str> {
    let survives = text.bytes().all(|byte| matches!(byte, b' '..=b'~')) && text == text.trim_matches(' ');
    let looks_encoded = text.len() >= BASE64_PREFIX.len() + BASE64_SUFFIX.len()
        && text.starts_with(BASE64_PREFIX)
        && text.ends_with(BASE64_SUFFIX);
    if survives && !looks_encoded {
        return Cow::Borrowed(text);
    }
    format!("{BASE64_PREFIX}{}{BASE64_SUFFIX}", STANDARD.encode(text)).into()
}

/// Decodes a field value: plain, or base64 in `=?base64?…?=`. `None` if it does not decode to text.
pub fn decode_value(field: &str) -> Option<String> {
    match field.strip_prefix(BASE64_PREFIX).and_then(|field| field.strip_suffix(BASE64_SUFFIX)) {
        Some(inside) => String::from_utf8(STANDARD.decode(inside).ok()?).ok(),
        None => Some(field.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::ParsedBatch;
    use super::{RequestHeaders, decode_value, encode_value};

    /// `schema`: the tool's input schema; `expect`: the fields of its parameters.
    fn check(schema: &str, arguments: &str, expect: &[(&str, &str)]) {
        let list = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{{"name":"t","inputSchema":{schema}}}]}}}}"#
        );
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"t","arguments":{arguments}}}}}"#
        );
        let mut headers = RequestHeaders::default();
        headers.learn_tools(&ParsedBatch::parse(&list).expect("an answer").messages[0]);
        let fields = headers.header_fields(&ParsedBatch::parse(&call).expect("a call").messages[0]);
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(fields[..2], [("mcp-method", "tools/call"), ("mcp-name", "t")]);
        assert_eq!(&fields[2..], expect, "{schema} {arguments}");
    }

    #[test]
    fn annotated_parameters_are_repeated() {
        let schema = r#"{"type":"object","properties":{
            "region":{"type":"string","x-mcp-header":"Region"},
            "n":{"type":"integer","x-mcp-header":"N"},"plain":{"type":"string"},
            "in":{"type":"object","properties":{"dry":{"type":"boolean","x-mcp-header":"Dry-Run"}}}}}"#;
        let all = r#"{"region":"eu","n":42,"plain":"x","in":{"dry":true}}"#;
        check(
            schema,
            all,
            &[("mcp-param-region", "eu"), ("mcp-param-n", "42"), ("mcp-param-dry-run", "true")],
        );
        check(
            schema,
            r#"{"region":" é","n":1.2e2}"#,
            &[("mcp-param-region", "=?base64?IMOp?="), ("mcp-param-n", "120")],
        );
        check(schema, r#"{"region":null,"n":[1],"in":"flat"}"#, &[]);
        check(schema, "{}", &[]);
    }

    #[test]
    fn requests_repeat_their_names() {
        let check = |method: &str, params: &str, expect: &[&str]| {
            let text = format!(r#"{{"jsonrpc":"2.0","id":2,"method":"{method}","params":{params}}}"#);
            let batch = ParsedBatch::parse(&text).expect("a request");
            let fields = RequestHeaders::default().header_fields(&batch.messages[0]);
            let values: Vec<&str> = fields.iter().map(|(_, value)| &**value).collect();
            assert_eq!(values, expect);
        };
        check("tools/list", "{}", &["tools/list"]);
        check("resources/read", r#"{"uri":"file:///ä"}"#, &["resources/read", "=?base64?ZmlsZTovLy/DpA==?="]);
        check("prompts/get", r#"{"name":"p"}"#, &["prompts/get", "p"]);
        check("prompts/get", r#"{"name":7}"#, &["prompts/get"]);
        check("tasks/cancel", r#"{"taskId":"t"}"#, &["tasks/cancel", "t"]);
    }

    fn check_encoding(text: &str, expect: &str) {
        assert_eq!(encode_value(text), expect);
        assert_eq!(decode_value(expect).as_deref(), Some(text));
    }

    #[test]
    fn only_values_that_need_it_are_encoded() {
        check_encoding("", "");
        check_encoding("get_weather", "get_weather");
        check_encoding("a b?=", "a b?=");
        check_encoding(" a", "=?base64?IGE=?=");
        check_encoding("a\n", "=?base64?YQo=?=");
        check_encoding("é", "=?base64?w6k=?=");
        check_encoding("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?=");
    }
}
