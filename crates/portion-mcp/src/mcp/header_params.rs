//! Arguments that a tool's schema repeats in HTTP header fields (`x-mcp-header`, since 2026-07-28).

use std::borrow::Cow;

use portion_json::scan::{JsonKind, unescape};
use portion_json::span::Span;

use super::walk;

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
