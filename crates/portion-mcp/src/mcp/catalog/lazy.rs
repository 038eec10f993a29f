//! Lists a tool in one line: name and summary. Its schemas are available through the describe tool.

use portion_json::scan::{JsonKind, quote, unescape};
use portion_json::span::Span;

use super::super::splice::Splice;
use super::super::walk::{self, Member, Sequence};
use super::summary_line::one_line_summary;
use super::trim;

/// Schema of any object. With `properties`, because the APIs behind some clients reject an object without
/// them, and with `additionalProperties`, because others take no properties to mean no arguments.
const ANY_OBJECT_SCHEMA: &str = r#"{"type":"object","properties":{},"additionalProperties":true}"#;
/// Annotation of a parameter that clients repeat in an HTTP header: it must stay visible to them.
const HEADER_ANNOTATION: &str = "\"x-mcp-header\"";

/// Returns the one-line listing of a tool. Members other than description and schemas keep their bytes.
pub(super) fn one_line_listing(text: &str, tool: Span, name: &str) -> String {
    let mut splice = Splice::new(text);
    let members = walk::members(text, tool);
    let mut removed = vec![false; members.len()];
    for (i, Member { key, value }) in members.iter().copied().enumerate() {
        match unescape(key.slice(text)).as_str() {
            "description" if walk::kind(text, value) == JsonKind::String => {
                let description = unescape(value.slice(text));
                let line = one_line_summary(&description);
                if line != description {
                    splice.replace(value, quote(&line));
                }
            }
            "inputSchema" if value.slice(text).contains(HEADER_ANNOTATION) => {
                trim::trim_schema(&mut splice, text, value, name);
            }
            "inputSchema" => splice.replace(value, ANY_OBJECT_SCHEMA),
            "outputSchema" => removed[i] = true,
            _ => {}
        }
    }
    if removed.contains(&true) {
        let items = members.iter().map(|member| member.span()).collect();
        splice.edit_sequence(&Sequence { span: tool, items }, |i| !removed[i], &[]);
    }
    splice.apply_within(tool)
}

#[cfg(test)]
mod tests {
    use super::super::super::walk;
    use super::{ANY_OBJECT_SCHEMA, one_line_listing};

    fn check(text: &str, expect: &str) {
        assert_eq!(one_line_listing(text, walk::document_span(text), "x"), expect, "{text}");
    }

    #[test]
    fn a_tool_is_listed_as_a_name_and_a_line() {
        check(
            r#"{ "name":"x", "title":"X","description":"Does it\n  for all. Much more.","inputSchema":{"type":"object","properties":{"a":{}}}, "outputSchema":{"type":"object"},"annotations":{ "readOnlyHint":true },"_meta":{"v":1.0}}"#,
            &format!(
                r#"{{ "name":"x", "title":"X","description":"Does it for all.","inputSchema":{ANY_OBJECT_SCHEMA}, "annotations":{{ "readOnlyHint":true }},"_meta":{{"v":1.0}}}}"#
            ),
        );
        check(r#"{"name":"x","outputSchema":{}}"#, r#"{"name":"x"}"#);
        check(r#"{"name":"x","description":"Does \u0078."}"#, r#"{"name":"x","description":"Does \u0078."}"#);
        check(r#"{"name":"x","description":7}"#, r#"{"name":"x","description":7}"#);
    }

    #[test]
    fn parameters_repeated_in_headers_stay_listed() {
        check(
            r#"{"name":"x","inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"region":{"type":"string","description":"Region","x-mcp-header":"Region"}}}}"#,
            r#"{"name":"x","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}"#,
        );
    }
}
