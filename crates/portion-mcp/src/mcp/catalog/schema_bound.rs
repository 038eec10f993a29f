//! Estimates the largest token count of a value of a schema.

use portion_json::scan::{JsonKind, unescape};
use portion_json::span::Span;

use super::super::walk::{self, Member};

/// Largest nesting depth; deeper and recursive schemas are unbounded.
const MAX_DEPTH: usize = 16;
/// Largest token count of a number; below, of a formatted string such as a date or a UUID.
const NUMBER_TOKENS: usize = 24;
const FORMATTED_STRING_TOKENS: usize = 48;
/// Largest token count per character of a string, which may be written as two escapes.
const TOKENS_PER_CHAR: usize = 6;
const SHORT_FORMATS: [&str; 7] = ["date", "date-time", "time", "duration", "uuid", "ipv4", "ipv6"];

/// Returns the largest token count of a value of a schema; `None` if it is unbounded.
///
/// Objects are assumed to have only the named members unless the schema describes others, because schemas
/// rarely rule them out.
pub(super) fn max_tokens(schema: &str) -> Option<usize> {
    let root = walk::document_span(schema);
    BoundEstimator { text: schema, root }.max_tokens(root, 0)
}

/// Returns an object with every property name of a schema, each with a string as its value.
pub(super) fn sample_object(schema: &str) -> String {
    let mut names = Vec::new();
    let mut todo = vec![walk::document_span(schema)];
    while let Some(value) = todo.pop() {
        for Member { key, value: inner } in walk::members(schema, value) {
            if walk::string_equals(key.slice(schema), "properties") {
                let properties = walk::members(schema, inner);
                names
                    .extend(properties.iter().map(|member| format!("{}:\"text\"", member.key.slice(schema))));
            }
            todo.push(inner);
        }
        todo.extend(walk::items(schema, value));
    }
    format!("{{{}}}", names.join(","))
}

struct BoundEstimator<'a> {
    text: &'a str,
    root: Span,
}

impl BoundEstimator<'_> {
    fn max_tokens(&self, schema: Span, depth: usize) -> Option<usize> {
        let text = self.text;
        if walk::kind(text, schema) != JsonKind::Object || depth > MAX_DEPTH {
            return None;
        }
        let members = walk::members(text, schema);
        let value = |name: &str| walk::find_member(text, &members, name).map(|member| member.value);
        let number = |name: &str| value(name).and_then(|value| value.slice(text).parse::<usize>().ok());
        if let Some(constant) = value("const").or_else(|| value("enum")) {
            return Some(constant.len());
        }
        if let Some(reference) = value("$ref") {
            return self.max_tokens(walk::resolve_reference(self.text, self.root, reference)?, depth + 1);
        }
        if let Some(any) = value("anyOf").or_else(|| value("oneOf")) {
            let each = walk::items(text, any).into_iter().map(|schema| self.max_tokens(schema, depth + 1));
            return each.collect::<Option<Vec<_>>>()?.into_iter().max();
        }
        let kind = value("type").filter(|kind| walk::kind(text, *kind) == JsonKind::String)?;
        match unescape(kind.slice(text)).as_str() {
            "boolean" | "null" => Some(2),
            "integer" | "number" => Some(NUMBER_TOKENS),
            "string" => {
                let format = value("format").map(|format| unescape(format.slice(text)));
                let short = format.is_some_and(|format| SHORT_FORMATS.contains(&format.as_str()));
                let max =
                    number("maxLength").map(|max| max.saturating_mul(TOKENS_PER_CHAR).saturating_add(2));
                max.or_else(|| short.then_some(FORMATTED_STRING_TOKENS))
            }
            "array" => {
                let (max, item) = (number("maxItems")?, self.max_tokens(value("items")?, depth + 1)?);
                Some(max.saturating_mul(item.saturating_add(1)).saturating_add(2))
            }
            "object" => {
                let others = ["additionalProperties", "patternProperties", "allOf", "unevaluatedProperties"];
                if others.iter().any(|name| value(name).is_some_and(|value| value.slice(text) != "false")) {
                    return None;
                }
                let properties = walk::members(text, value("properties")?);
                let each = properties.into_iter().map(|Member { key, value }| {
                    Some(self.max_tokens(value, depth + 1)?.saturating_add(key.len() + 2))
                });
                Some(each.collect::<Option<Vec<_>>>()?.into_iter().fold(2, usize::saturating_add))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::max_tokens;

    #[test]
    fn only_bounded_schemas_have_a_bound() {
        let check = |schema: &str, expect: bool| assert_eq!(max_tokens(schema).is_some(), expect, "{schema}");
        check(
            r#"{"type":"object","properties":{"result":{"type":"integer","title":"R"}},"required":["result"]}"#,
            true,
        );
        check(r#"{"type":"object","properties":{"a":{"enum":["x","y"]},"b":{"type":"boolean"}}}"#, true);
        check(r#"{"type":"object","properties":{"a":{"type":"string","maxLength":20}}}"#, true);
        check(r#"{"type":"object","properties":{"a":{"anyOf":[{"type":"number"},{"type":"null"}]}}}"#, true);
        check(
            r#"{"type":"object","properties":{"a":{"type":"array","maxItems":3,"items":{"type":"null"}}}}"#,
            true,
        );
        check(
            r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"null"}}}"##,
            true,
        );
        check(
            r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"$ref":"#/$defs/A"}}}"##,
            false,
        );
        check(r#"{"type":"object","properties":{"a":{"type":"string"}}}"#, false);
        check(r#"{"type":"object","properties":{"a":{"type":"array","items":{"type":"null"}}}}"#, false);
        check(r#"{"type":"object","properties":{"a":{"type":"null"}},"additionalProperties":true}"#, false);
        check(r#"{"type":"object"}"#, false);
        check("{}", false);
        check("true", false);
    }
}
