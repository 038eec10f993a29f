//! Relaxes listed output schemas so that shortened results are valid, if a value of the schema can be large.
//!
//! Clients reject structured content that violates the listed schema. A tool whose results are too small to
//! be shortened keeps its schema. Any other is listed with three alternatives: the upstream's schema, unchanged; an
//! object with `meta`; an object with `portion`, which holds the notice where a name of it is taken. Each is as short as
//! it can be, because some clients show output schemas to the model.
//!
//! If a reference could resolve differently in the nested schema, the tool is listed without an output
//! schema: content without a schema is legal.

use portion_core::policy::{EnvelopeMode, MetadataMode, RenderOptions};
use portion_json::scan::{JsonKind, minified, quote, unescape};
use portion_json::span::Span;

use super::super::walk::{self, Member, Sequence, Splice};
use super::ToolListingPolicy;

/// Root members that stay at the root, because references point to them there.
const HOISTED_KEYWORDS: [&str; 5] = ["$schema", "$id", "$vocabulary", "$defs", "definitions"];

/// JSON Pointer of the upstream's schema in the listed schema.
const UPSTREAM_SCHEMA_POINTER: &str = "#/anyOf/0";

/// Largest nesting depth on the way to a list; following a reference counts as 8.
const MAX_DEPTH: usize = 32;

/// Largest depth of the schema for clients that only read types.
const MAX_LOOSE_DEPTH: usize = 8;

/// `FastMCP` keyword: clients show the only member of such an object without the object.
const WRAP_RESULT_KEYWORD: &str = "x-fastmcp-wrap-result";

/// Largest nesting depth; deeper and recursive schemas are unbounded.
const MAX_BOUND_DEPTH: usize = 16;

/// Largest token count of a number; below, of a formatted string such as a date or a UUID.
const NUMBER_TOKENS: usize = 24;

const FORMATTED_STRING_TOKENS: usize = 48;

/// Largest token count per character of a string, which may be written as two escapes.
const TOKENS_PER_CHAR: usize = 6;

const SHORT_FORMATS: [&str; 7] = ["date", "date-time", "time", "duration", "uuid", "ipv4", "ipv6"];

/// Error for a schema that may change its meaning when nested.
struct UnnestableSchema;

/// Relaxes the `outputSchema` of a listed tool. Returns true if its results are too small to be shortened.
pub(super) fn relax_output_schema(
    splice: &mut Splice<'_>,
    text: &str,
    tool: Span,
    offer: &ToolListingPolicy,
) -> bool {
    let members = walk::members(text, tool);
    let found =
        members.iter().rposition(|member| walk::string_equals(member.key.slice(text), "outputSchema"));
    let Some(i) = found else { return false };
    let schema = members[i].value;
    if walk::kind(text, schema) != JsonKind::Object {
        return false;
    }
    if let Some(alternatives) = relaxed_alternatives(text, schema) {
        add_own_alternatives(splice, text, &alternatives, &offer.render_options);
        return false;
    }
    if is_bounded(schema.slice(text), offer) {
        return true;
    }
    if let Ok(listed) = relaxed_schema(schema.slice(text), &offer.render_options) {
        splice.replace(schema, listed);
    } else {
        splice.edit_sequence(&Sequence::of_members(tool, &members), |item| item != i, &[]);
    }
    false
}

/// Returns the largest token count of a value of a schema; `None` if it is unbounded.
///
/// Objects are assumed to have only the named members unless the schema describes others, because schemas
/// rarely rule them out.
fn max_tokens(schema: &str) -> Option<usize> {
    let root = walk::document_span(schema);
    BoundEstimator { text: schema, root }.max_tokens(root, 0)
}

/// Returns true if results of this schema are never shortened or changed in any other way.
fn is_bounded(schema: &str, offer: &ToolListingPolicy) -> bool {
    let ToolListingPolicy { render_options, summarize_above, redact, .. } = offer;
    if render_options.metadata == MetadataMode::Always || render_options.envelope == EnvelopeMode::Wrap {
        return false;
    }
    // Redaction goes by field names, and the schema of a bounded value names all of its fields.
    max_tokens(schema).is_some_and(|tokens| tokens <= *summarize_above)
        && redact.as_ref().is_none_or(|redact| redact.redact(&sample_object(schema)).is_none())
}

/// Returns the alternatives of a schema that was relaxed by another Portion in front of the upstream.
fn relaxed_alternatives(text: &str, schema: Span) -> Option<Sequence> {
    let any_of = walk::member_value(text, schema, "anyOf")?;
    let items = walk::items(text, any_of);
    let is_ours = |item: &Span| {
        EnvelopeMode::ALL
            .iter()
            .any(|mode| shortened_alternatives(*mode).contains(&minified(item.slice(text))))
    };
    items.last().is_some_and(is_ours).then_some(Sequence { span: any_of, items })
}

/// Adds what this Portion may return to the alternatives of another one, whose envelope may differ.
fn add_own_alternatives(
    splice: &mut Splice<'_>,
    text: &str,
    alternatives: &Sequence,
    render_options: &RenderOptions,
) {
    let known: Vec<String> = alternatives.items.iter().map(|item| minified(item.slice(text))).collect();
    let own = shortened_alternatives(render_options.envelope);
    splice.append(alternatives, &own.into_iter().filter(|own| !known.contains(own)).collect::<Vec<_>>());
}

/// Returns the schemas of any result that was shortened: of an object with a notice, by the member that holds it.
fn shortened_alternatives(envelope: EnvelopeMode) -> [String; 2] {
    let members = match envelope {
        EnvelopeMode::Wrap => ["meta", "metadata"],
        EnvelopeMode::Auto => ["meta", "portion"],
    };
    members.map(|member| format!(r#"{{"required":["{member}"]}}"#))
}

fn relaxed_schema(schema: &str, render_options: &RenderOptions) -> Result<String, UnnestableSchema> {
    let schema = &nest_schema(schema)?;
    let all = walk::document_span(schema);
    let members = walk::members(schema, all);
    let is_hoisted = |member: &&Member| {
        HOISTED_KEYWORDS.iter().any(|name| walk::string_equals(member.key.slice(schema), name))
    };
    let (hoisted, own): (Vec<&Member>, Vec<&Member>) = members.iter().partition(is_hoisted);
    let text = |members: &[&Member]| {
        members.iter().map(|member| member.span().slice(schema).to_owned()).collect::<Vec<_>>()
    };
    let mut root = text(&hoisted);
    let kind = walk::find_member(schema, &members, "type").map(|member| member.value.slice(schema));
    if kind.is_some_and(|kind| walk::string_equals(kind, "object")) {
        root.push("\"type\":\"object\"".to_owned());
    }
    let upstream_schema = format!("{{{}}}", text(&own).join(","));
    if let Some(properties) = walk::member_value(schema, all, "properties")
        .filter(|_| walk::find_member(schema, &members, WRAP_RESULT_KEYWORD).is_some())
        && let Some(result) = walk::member_value(schema, properties, "result")
    {
        // Clients of this marker read the type of the only member here; beside a notice it is not the only one.
        let result = loosen(schema, all, result, 0);
        // A member `meta` of the tool's own stays, and the notice is beside it.
        let is_taken = walk::member_value(schema, properties, "meta").is_some();
        let meta = if is_taken { "" } else { r#","meta":{"type":"object"}"# };
        root.push(format!("\"properties\":{{\"result\":{result}{meta}}}"));
    }
    let [one, other] = shortened_alternatives(render_options.envelope);
    root.push(format!("\"anyOf\":[{upstream_schema},{one},{other}]"));
    Ok(format!("{{{}}}", root.join(",")))
}

/// Returns the schema with its references rewritten for its position as the first alternative.
fn nest_schema(schema: &str) -> Result<String, UnnestableSchema> {
    let mut splice = Splice::new(schema);
    let mut todo = vec![(walk::document_span(schema), 0)];
    while let Some((value, depth)) = todo.pop() {
        if depth > 2 * MAX_DEPTH {
            return Err(UnnestableSchema);
        }
        match walk::kind(schema, value) {
            JsonKind::Array => {
                todo.extend(walk::items(schema, value).into_iter().map(|item| (item, depth + 1)));
            }
            JsonKind::Object => {
                for Member { key, value } in walk::members(schema, value) {
                    let is_text = walk::kind(schema, value) == JsonKind::String;
                    let name = unescape(key.slice(schema));
                    match name.as_str() {
                        "$ref" if is_text => {
                            let reference = unescape(value.slice(schema));
                            if let Some(moved) = moved_reference(&reference)? {
                                splice.replace(value, quote(&moved));
                            }
                        }
                        "$dynamicRef" | "$recursiveRef" | "$recursiveAnchor" | "$dynamicAnchor" => {
                            return Err(UnnestableSchema);
                        }
                        "$id" if is_text && depth > 0 => return Err(UnnestableSchema),
                        _ => todo.push((value, depth + 1)),
                    }
                }
            }
            _ => {}
        }
    }
    Ok(splice.apply())
}

/// Returns the new target of a reference in the nested schema, if it differs.
fn moved_reference(reference: &str) -> Result<Option<String>, UnnestableSchema> {
    let Some(place) = reference.strip_prefix('#') else {
        // The reference may contain the schema's own address.
        return if reference.contains("#/") { Err(UnnestableSchema) } else { Ok(None) };
    };
    let stays = ["/$defs/", "/definitions/"].iter().any(|start| place.starts_with(start));
    let is_pointer = place.is_empty() || place.starts_with('/');
    Ok((is_pointer && !stays).then(|| format!("{UPSTREAM_SCHEMA_POINTER}{place}")))
}

/// Returns a schema that only constrains types, because other fields may have been requested. `root`: the whole schema.
fn loosen(text: &str, root: Span, schema: Span, depth: usize) -> String {
    if walk::kind(text, schema) != JsonKind::Object || depth > MAX_LOOSE_DEPTH {
        return "{}".to_owned();
    }
    let loosened = |schema: Span| loosen(text, root, schema, depth + 1);
    let mut out = Vec::new();
    let members = walk::members(text, schema);
    let is_tuple = walk::find_member(text, &members, "prefixItems").is_some();
    for Member { key, value } in members {
        let name = unescape(key.slice(text));
        let kind = walk::kind(text, value);
        let with = match name.as_str() {
            "type" => value.slice(text).to_owned(),
            "properties" if kind == JsonKind::Object => {
                let own = walk::members(text, value).into_iter();
                let own = own.map(|member| format!("{}:{}", member.key.slice(text), loosened(member.value)));
                format!("{{{}}}", own.collect::<Vec<_>>().join(","))
            }
            "items" if kind == JsonKind::Object && !is_tuple => loosened(value),
            "anyOf" if kind == JsonKind::Array => {
                let each = walk::items(text, value).into_iter().map(loosened);
                format!("[{}]", each.collect::<Vec<_>>().join(","))
            }
            "$ref" => match walk::resolve_reference(text, root, value) {
                Some(definition) => return loosened(definition),
                None => continue,
            },
            _ => continue,
        };
        out.push(format!("{}:{with}", key.slice(text)));
    }
    format!("{{{}}}", out.join(","))
}

/// Returns an object with every property name of a schema, each with a string as its value.
fn sample_object(schema: &str) -> String {
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
        if walk::kind(text, schema) != JsonKind::Object || depth > MAX_BOUND_DEPTH {
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
    use portion_core::policy::{EnvelopeMode, MetadataMode, MetadataStyle, RenderOptions};
    use serde_json::Value;

    use super::super::super::walk::{self, Splice};
    use super::{ToolListingPolicy, max_tokens, relax_output_schema};

    const SHORTENED: &str = r#"{"required":["meta"]},{"required":["portion"]}"#;

    fn tool(schema: &str) -> String {
        format!(r#"{{"name":"x","outputSchema":{schema}, "title":"X"}}"#)
    }

    fn relax(schema: &str, render_options: RenderOptions) -> (String, bool) {
        let text = tool(schema);
        let mut splice = Splice::new(&text);
        let offer =
            ToolListingPolicy { render_options, summarize_above: 2_000, ..ToolListingPolicy::default() };
        let stays = relax_output_schema(&mut splice, &text, walk::document_span(&text), &offer);
        (splice.apply(), stays)
    }

    /// `before`: the members before the alternatives.
    fn check(schema: &str, upstream_schema: &str, before: &str) {
        let expect = format!(r#"{{{before}"anyOf":[{upstream_schema},{SHORTENED}]}}"#);
        let (listed, stays) = relax(schema, RenderOptions::default());
        assert_eq!((listed, stays), (tool(&expect), false), "{schema}");
        serde_json::from_str::<Value>(&expect).expect("JSON");
        assert_eq!(
            relax(&expect, RenderOptions::default()),
            (tool(&expect), false),
            "ours stays behind another"
        );
    }

    fn check_stays(schema: &str, render_options: RenderOptions, expect: bool) {
        let (listed, stays) = relax(schema, render_options);
        assert_eq!((listed == tool(schema), stays), (expect, expect), "{schema}: {listed}");
    }

    #[test]
    fn results_that_are_never_shortened_keep_their_schema() {
        for schema in [
            r#"{"type":"object","properties":{"result":{"type":"integer"}},"required":["result"],"x-fastmcp-wrap-result":true}"#,
            r#"{ "type":"object","properties":{"t":{"type":"number"},"k":{"enum":["a"]}},"additionalProperties":false}"#,
        ] {
            check_stays(schema, RenderOptions::default(), true);
            check_stays(
                schema,
                RenderOptions { metadata: MetadataMode::Always, ..RenderOptions::default() },
                false,
            );
            check_stays(
                schema,
                RenderOptions { envelope: EnvelopeMode::Wrap, ..RenderOptions::default() },
                false,
            );
        }
        check_stays(
            r#"{"type":"object","properties":{"s":{"type":"string"}}}"#,
            RenderOptions::default(),
            false,
        );
    }

    #[test]
    fn an_object_stays_one_alternative() {
        let schema = r#"{"type":"object","title":"T","properties":{"l":{"type":"array","minItems":9},"n":{"const":1}},"required":["l","n"],"additionalProperties":false}"#;
        check(schema, schema, r#""type":"object","#);
        let array = r#"{"type":"array","minItems":1,"items":{"required":["x"]}}"#;
        check(array, array, "");
    }

    #[test]
    fn references_keep_their_targets() {
        check(
            r##"{"$schema":"s","type":"object","properties":{"l":{"$ref":"#/$defs/L"},"p":{"$ref":"#/properties/l"},"me":{"$ref":"#"}},"$defs":{"L":{"type":"array","minItems":1,"items":{"$ref":"#/$defs/A"}},"A":{"required":["b"]}}}"##,
            r##"{"type":"object","properties":{"l":{"$ref":"#/$defs/L"},"p":{"$ref":"#/anyOf/0/properties/l"},"me":{"$ref":"#/anyOf/0"}}}"##,
            r##""$schema":"s","$defs":{"L":{"type":"array","minItems":1,"items":{"$ref":"#/$defs/A"}},"A":{"required":["b"]}},"type":"object","##,
        );
    }

    #[test]
    fn an_only_member_is_listed_with_the_notice() {
        let schema = r#"{"type":"object","properties":{"result":{"type":"array","minItems":1,"items":{"type":"object","required":["a"]}}},"required":["result"],"x-fastmcp-wrap-result":true}"#;
        check(
            schema,
            schema,
            r#""type":"object","properties":{"result":{"type":"array","items":{"type":"object"}},"meta":{"type":"object"}},"#,
        );
    }

    #[test]
    fn a_member_of_the_name_of_the_notice_keeps_its_type() {
        let schema = r#"{"type":"object","properties":{"result":{"type":"array"},"meta":{"type":"string"}},"x-fastmcp-wrap-result":true}"#;
        check(schema, schema, r#""type":"object","properties":{"result":{"type":"array"}},"#);
    }

    #[test]
    fn any_content_may_be_in_an_envelope() {
        let render_options = RenderOptions {
            envelope: EnvelopeMode::Wrap,
            metadata_style: MetadataStyle::Snake,
            ..RenderOptions::default()
        };
        let (listed, _) = relax(r#"{"type":"object","required":["rows"]}"#, render_options.clone());
        let wrapped = r#"{"required":["meta"]},{"required":["metadata"]}"#;
        let schema =
            format!(r#"{{"type":"object","anyOf":[{{"type":"object","required":["rows"]}},{wrapped}]}}"#);
        assert_eq!(listed, tool(&schema));
        // Another Portion with another envelope is in front of the upstream.
        let both = schema.replace("]}]}", r#"]},{"required":["portion"]}]}"#);
        assert_eq!(relax(&schema, RenderOptions::default()).0, tool(&both));
    }

    #[test]
    fn a_schema_that_cannot_be_nested_is_not_listed() {
        let deep = "{\"properties\":{\"a\":".repeat(70) + "{}" + &"}}".repeat(70);
        for schema in [
            deep.as_str(),
            r#"{"type":"object","$id":"http://x/y","properties":{"a":{"$ref":"y#/properties/b"}}}"#,
            r##"{"type":"object","properties":{"a":{"$dynamicRef":"#a"}}}"##,
            r#"{"type":"object","properties":{"a":{"$id":"other"}}}"#,
        ] {
            assert_eq!(relax(schema, RenderOptions::default()).0, r#"{"name":"x","title":"X"}"#, "{schema}");
        }
        assert_eq!(relax("true", RenderOptions::default()).0, tool("true"));
    }

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
