//! What HTTP repeats of a message in its header fields, as 2026-07-28 has it.
//!
//! Whoever routes a request without reading it shall see its method, what it names and the arguments that its tool wants
//! repeated. Servers hold the fields against the body and refuse what differs.

mod encoding;

use std::collections::HashMap;

use super::heard::Note;
use super::mirrored::{self, Argument, Mirrored};
use super::walk;
pub use encoding::{decoded, encoded};

/// The field with a request's method.
pub const METHOD: &str = "mcp-method";
/// The field with what a request names: a tool, a prompt, a resource, a task.
pub const NAME: &str = "mcp-name";
/// What the fields of a tool's arguments begin with.
pub const PARAM: &str = "mcp-param-";

/// The fields of requests, as far as the tools are known.
#[derive(Debug, Default)]
pub struct Mirror {
    /// What each tool wants repeated.
    tools: HashMap<String, Vec<Mirrored>>,
}

impl Mirror {
    /// Learns from an answer to `tools/list`.
    pub fn learn(&mut self, answer: &Note<'_>) {
        let (text, result) = (answer.text(), answer.result());
        let tools = result.and_then(|result| walk::member(text, result, "tools"));
        for tool in tools.map(|tools| walk::items(text, tools)).unwrap_or_default() {
            let Some(name) = walk::string(text, tool, "name") else { continue };
            let schema = walk::member(text, tool, "inputSchema");
            let repeated = schema.map(|schema| mirrored::of_schema(text, schema)).unwrap_or_default();
            if repeated.is_empty() {
                self.tools.remove(&name);
            } else {
                self.tools.insert(name, repeated);
            }
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
        for repeated in self.tools.get(&name).into_iter().flatten() {
            let argument = repeated.argument(request.arguments().unwrap_or_default());
            let said = argument.as_ref().and_then(Argument::said);
            let field = format!("{PARAM}{}", repeated.header.to_ascii_lowercase());
            fields.extend(said.map(|said| (field, encoded(&said).into_owned())));
        }
        fields
    }
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
        check("tasks/cancel", r#"{"taskId":"t"}"#, &["tasks/cancel", "t"]);
    }
}
