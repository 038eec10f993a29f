//! HTTP header fields that repeat parts of a message, as of 2026-07-28.
//!
//! Proxies can route a request by its method, its name and selected arguments without reading the body.
//! Servers compare the fields with the body and reject differences. A tool's schema names the arguments (`x-mcp-header`).
//!
//! ```
//! use portion_mcp::mcp::request_headers::decode_value;
//!
//! assert_eq!(decode_value("get_weather").as_deref(), Some("get_weather"));
//! assert_eq!(decode_value("=?base64?w6k=?=").as_deref(), Some("é"));
//! ```

use std::borrow::Cow;
use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{HeaderName, HeaderValue};
use portion_json::scan::{JsonKind, unescape};
use portion_json::span::Span;

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
            let repeated = schema.map(|schema| from_schema(text, schema)).unwrap_or_default();
            self.params_by_tool.insert(name, repeated);
        }
    }

    /// Returns the header fields of a request: see [`header_fields`].
    pub fn header_fields(&self, request: &MessageView<'_>) -> Vec<(HeaderName, HeaderValue)> {
        let params = request.name().and_then(|name| self.params_by_tool.get(&name));
        header_fields(request, params.map(Vec::as_slice).unwrap_or_default())
    }
}

/// Returns the header fields that repeat parts of a request, with encoded values. `params`: the repeated parameters of the
/// tool that it calls.
pub fn header_fields(request: &MessageView<'_>, params: &[HeaderParam]) -> Vec<(HeaderName, HeaderValue)> {
    let mut fields = vec![(METHOD_HEADER.to_owned(), request.method().into_owned())];
    fields.extend(request.name().map(|name| (NAME_HEADER.to_owned(), name)));
    for param in params.iter().filter(|_| request.method() == "tools/call") {
        let argument = param.find_argument(request.arguments().unwrap_or_default());
        let value = argument.as_ref().and_then(HeaderArgument::header_value);
        let name = format!("{PARAM_HEADER_PREFIX}{}", param.header.to_ascii_lowercase());
        fields.extend(value.map(|value| (name, value.into_owned())));
    }
    let field =
        |(name, value): (String, String)| Some((name.parse().ok()?, encode_value(&value).parse().ok()?));
    fields.into_iter().filter_map(field).collect()
}

const BASE64_PREFIX: &str = "=?base64?";
const BASE64_SUFFIX: &str = "?=";

/// Encodes a text as a field value: unchanged if possible, else as `=?base64?…?=`. Encoded are texts with
/// characters other than printable ASCII, with spaces at an end, and texts that look encoded.
fn encode_value(text: &str) -> Cow<'_, str> {
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

/// Name of the schema annotation.
const HEADER_ANNOTATION: &str = "x-mcp-header";
/// Types that may be repeated: numbers with fractions have more than one spelling.
const ALLOWED_TYPES: [&str; 3] = ["string", "integer", "boolean"];

/// A parameter that is repeated in a header field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderParam {
    /// Part of the field name after `Mcp-Param-`.
    pub header: String,
    /// Names of the properties that lead to the argument.
    path: Vec<String>,
    is_integer: bool,
}

/// Value of such a parameter in one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderArgument {
    /// Text of the header field; `None` if no field can represent the value.
    value: Option<String>,
    is_integer: bool,
}

/// Returns the repeated parameters of an input schema; none if any annotation is invalid.
pub(super) fn from_schema(text: &str, schema: Span) -> Vec<HeaderParam> {
    let wanted = schema.slice(text).matches(HEADER_ANNOTATION).count();
    let mut found: Vec<HeaderParam> = Vec::new();
    let mut open = if wanted > 0 { vec![(Vec::new(), schema)] } else { Vec::new() };
    while let Some((path, schema)) = open.pop() {
        for member in walk::member_value(text, schema, "properties")
            .map(|all| walk::members(text, all))
            .unwrap_or_default()
        {
            let path: Vec<String> = [path.as_slice(), &[unescape(member.key.slice(text))]].concat();
            if let Some(header) = walk::string_member(text, member.value, HEADER_ANNOTATION) {
                let kind = walk::string_member(text, member.value, "type")
                    .filter(|kind| ALLOWED_TYPES.contains(&&**kind));
                let is_fresh = !found.iter().any(|other| other.header.eq_ignore_ascii_case(&header));
                let Some(kind) = kind.filter(|_| is_fresh && is_token(&header)) else { return Vec::new() };
                found.push(HeaderParam { header, path: path.clone(), is_integer: kind == "integer" });
            }
            open.push((path, member.value));
        }
    }
    // An annotation at any other place is invalid.
    if found.len() == wanted { found } else { Vec::new() }
}

impl HeaderParam {
    /// Returns the argument among `arguments`; `None` if it is absent or null.
    pub fn find_argument(&self, arguments: &str) -> Option<HeaderArgument> {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let value = walk::value_at(arguments, walk::document_span(arguments), &path)?;
        let raw = value.slice(arguments);
        let text = match walk::kind(arguments, value) {
            JsonKind::Null => return None,
            JsonKind::String => Some(unescape(raw)),
            JsonKind::Number | JsonKind::Bool => Some(raw.to_owned()),
            JsonKind::Object | JsonKind::Array => None,
        };
        let is_integer = self.is_integer && walk::kind(arguments, value) == JsonKind::Number;
        Some(HeaderArgument { value: text, is_integer })
    }
}

impl HeaderArgument {
    /// Returns true if no field can represent the value: then no field may be present.
    pub fn is_unrepresentable(&self) -> bool {
        self.value.is_none()
    }

    /// Returns the value of the field, integers as decimals; `None` if no field can represent the value.
    pub fn header_value(&self) -> Option<Cow<'_, str>> {
        /// Integers up to here are exact as doubles.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        let text = self.value.as_deref()?;
        let value = text.parse::<f64>().ok().filter(|_| self.is_integer && text.contains(['e', 'E']));
        let whole = value.filter(|value| value.fract() == 0.0 && value.abs() <= EXACT);
        Some(whole.map_or(Cow::Borrowed(text), |whole| format!("{whole:.0}").into()))
    }

    /// Returns true if a field has this value. Integers match in any spelling without an exponent.
    pub fn matches_header(&self, field: &str) -> bool {
        let Some(text) = &self.value else { return false };
        text == field
            || (self.is_integer
                && normalize_integer(text).is_some_and(|text| normalize_integer(field) == Some(text)))
    }
}

/// Returns sign and digits of an integer written as a decimal, such as `-42` or `42.00`, without needless
/// zeros.
fn normalize_integer(decimal: &str) -> Option<(bool, &str)> {
    let (is_negative, digits) = decimal.strip_prefix('-').map_or((false, decimal), |digits| (true, digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_whole = !fraction.is_empty() && fraction.bytes().all(|byte| byte == b'0');
    let is_decimal = !whole.is_empty() && whole.bytes().all(|byte| byte.is_ascii_digit());
    let whole = whole.trim_start_matches('0');
    (is_whole && is_decimal).then_some((is_negative && !whole.is_empty(), whole))
}

/// Returns true for a token of RFC 9110, section 5.6.2.
fn is_token(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

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
        let field = |(name, value): &(HeaderName, HeaderValue)| {
            (name.as_str().to_owned(), value.to_str().expect("ASCII").to_owned())
        };
        let fields: Vec<(String, String)> = fields.iter().map(field).collect();
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
            let values: Vec<&str> = fields.iter().map(|(_, value)| value.to_str().expect("ASCII")).collect();
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

#[cfg(test)]
mod header_params_tests {
    use super::super::walk;
    use super::from_schema;

    /// `expect`: for each field of the schema, by its name, whether the arguments match `text`.
    fn check(schema: &str, arguments: &str, text: &str, expect: &[(&str, Option<bool>)]) {
        let all = from_schema(schema, walk::document_span(schema));
        let got: Vec<_> = all
            .iter()
            .map(|one| {
                (&*one.header, one.find_argument(arguments).map(|argument| argument.matches_header(text)))
            })
            .collect();
        assert_eq!(got, expect, "{schema} {arguments} {text}");
    }

    #[test]
    fn arguments_are_compared_with_fields() {
        let region = r#"{"properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{}}}"#;
        check(region, r#"{"region":"eu \u00e9"}"#, "eu é", &[("Region", Some(true))]);
        check(region, r#"{"region":"eu"}"#, "us", &[("Region", Some(false))]);
        check(region, r#"{"region":null}"#, "", &[("Region", None)]);
        check(region, "{}", "", &[("Region", None)]);
        check(region, "", "", &[("Region", None)]);
        check(region, r#"{"region":["eu"]}"#, r#"["eu"]"#, &[("Region", Some(false))]);
        let nested = r#"{"properties":{"a":{"properties":{"b":{"type":"integer","x-mcp-header":"B"}}}}}"#;
        for (value, text, same) in [
            ("42", "42", true),
            ("42", "42.0", true),
            ("42.00", "042", true),
            ("-0", "0", true),
            ("1e2", "100", false),
            ("1e2", "1e2", true),
            ("123456789012345678901", "123456789012345678902", false),
            ("42", "42.5", false),
            ("42", "", false),
        ] {
            check(nested, &format!(r#"{{"a":{{"b":{value}}}}}"#), text, &[("B", Some(same))]);
        }
        check(nested, r#"{"a":[1]}"#, "", &[("B", None)]);
    }

    #[test]
    fn a_schema_with_an_invalid_annotation_repeats_nothing() {
        for schema in [
            r#"{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"A b"}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":""}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":1}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}"#,
            r#"{"properties":{"a":{"items":{"type":"string","x-mcp-header":"A"}}}}"#,
            r#"{"x-mcp-header":"A","type":"string"}"#,
            "true",
        ] {
            check(schema, "{}", "", &[]);
        }
    }
}
