//! What HTTP repeats of a message in its header fields, as 2026-07-28 has it.
//!
//! Whoever routes a request without reading it shall see its method, what it names and the parameters that a tool
//! marks with `x-mcp-header`. Servers hold the fields against the body and refuse what differs.

mod encoding;
mod param;

use std::collections::HashMap;

use portion_core::scan::{Kind, decoded};
use portion_core::span::Span;

use super::heard::Note;
use super::walk;
pub use encoding::encoded;
use param::Param;

/// The field with a request's method.
pub const METHOD: &str = "mcp-method";
/// The field with what a request names: a tool, a prompt, a resource.
pub const NAME: &str = "mcp-name";
/// What the fields of a tool's parameters begin with.
pub const PARAM: &str = "mcp-param-";

/// The fields of requests, as far as the tools are known.
#[derive(Debug, Default)]
pub struct Mirror {
    /// The marked parameters of each tool that has such.
    tools: HashMap<String, Vec<Param>>,
}

impl Mirror {
    /// Learns from an answer to `tools/list`.
    pub fn learn(&mut self, answer: &Note<'_>) {
        let (text, result) = (answer.text(), answer.result());
        let tools = result.and_then(|result| walk::member(text, result, "tools"));
        for tool in tools.map(|tools| walk::items(text, tools)).unwrap_or_default() {
            let Some(name) = walk::string(text, tool, "name") else { continue };
            let params = walk::member(text, tool, "inputSchema").map(|schema| param::marked(text, schema));
            match params.filter(|params| !params.is_empty()) {
                Some(params) => self.tools.insert(name, params),
                None => self.tools.remove(&name),
            };
        }
    }

    /// The fields of a request, names in lower case, values as they are sent.
    pub fn fields(&self, request: &Note<'_>) -> Vec<(String, String)> {
        let mut fields = vec![(METHOD.to_owned(), encoded(&request.method()).into_owned())];
        let Some(name) = request.name() else { return fields };
        fields.push((NAME.to_owned(), encoded(&name).into_owned()));
        if request.method() != "tools/call" {
            return fields;
        }
        let text = request.text();
        let arguments = request.params().and_then(|params| walk::member(text, params, "arguments"));
        for param in self.tools.get(&name).into_iter().flatten() {
            let value = arguments.and_then(|arguments| param.value(text, arguments));
            fields.extend(value.map(|value| (param.field(), encoded(&value).into_owned())));
        }
        fields
    }
}

/// What a JSON string, number or boolean is as text; `None` for everything else.
fn scalar(text: &str, value: Span) -> Option<String> {
    let raw = value.of(text);
    match walk::kind(text, value) {
        Kind::String => Some(decoded(raw)),
        Kind::Bool => Some(raw.to_owned()),
        Kind::Number => Some(number(raw)),
        Kind::Object | Kind::Array | Kind::Null => None,
    }
}

/// A number without exponent where it is a whole one, for that is how servers compare it.
fn number(raw: &str) -> String {
    /// Whole numbers up to here are exact as doubles.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let value = raw.contains(['e', 'E']).then(|| raw.parse::<f64>().ok()).flatten();
    let whole = value.filter(|value| value.fract() == 0.0 && value.abs() <= EXACT);
    whole.map_or_else(|| raw.to_owned(), |whole| format!("{whole:.0}"))
}

#[cfg(test)]
mod tests {
    use super::super::Heard;
    use super::Mirror;

    /// `schema` is the tool's; `expect` the fields of its parameters.
    fn check(schema: &str, arguments: &str, expect: &[(&str, &str)]) {
        let list = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{{"name":"t","inputSchema":{schema}}}]}}}}"#
        );
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"t","arguments":{arguments}}}}}"#
        );
        let mut mirror = Mirror::default();
        mirror.learn(&Heard::read(&list).expect("an answer").messages[0]);
        let fields = mirror.fields(&Heard::read(&call).expect("a call").messages[0]);
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(fields[..2], [("mcp-method", "tools/call"), ("mcp-name", "t")]);
        assert_eq!(&fields[2..], expect, "{schema} {arguments}");
    }

    #[test]
    fn marked_parameters_are_repeated() {
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
    fn a_schema_with_a_mark_that_may_not_be_has_none() {
        for bad in [
            r#"{"type":"string","x-mcp-header":""}"#,
            r#"{"type":"string","x-mcp-header":"a b"}"#,
            r#"{"type":"string","x-mcp-header":7}"#,
            r#"{"type":"number","x-mcp-header":"Other"}"#,
            r#"{"type":["string"],"x-mcp-header":"Other"}"#,
            r#"{"type":"string","x-mcp-header":"good"}"#,
            r#"{"type":"array","items":{"type":"string","x-mcp-header":"Other"}}"#,
            r#"{"anyOf":[{"type":"string","x-mcp-header":"Other"}]}"#,
        ] {
            let schema = format!(
                r#"{{"properties":{{"good":{{"type":"string","x-mcp-header":"Good"}},"bad":{bad}}}}}"#
            );
            check(&schema, r#"{"good":"1","bad":"2"}"#, &[]);
        }
        // Data are no schema.
        let data =
            r#"{"properties":{"good":{"type":"string","x-mcp-header":"Good","default":{"x-mcp-header":1}}}}"#;
        check(data, r#"{"good":"1"}"#, &[("mcp-param-good", "1")]);
    }

    #[test]
    fn requests_name_what_they_are_about() {
        let check = |method: &str, params: &str, expect: &[&str]| {
            let text = format!(r#"{{"jsonrpc":"2.0","id":2,"method":"{method}","params":{params}}}"#);
            let heard = Heard::read(&text).expect("a request");
            let fields = Mirror::default().fields(&heard.messages[0]);
            let values: Vec<&str> = fields.iter().map(|(_, value)| &**value).collect();
            assert_eq!(values, expect);
        };
        check("tools/list", "{}", &["tools/list"]);
        check("resources/read", r#"{"uri":"file:///ä"}"#, &["resources/read", "=?base64?ZmlsZTovLy/DpA==?="]);
        check("prompts/get", r#"{"name":"p"}"#, &["prompts/get", "p"]);
        check("prompts/get", r#"{"name":7}"#, &["prompts/get"]);
    }
}
