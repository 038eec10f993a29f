//! Relaxes listed output schemas so that shortened results are valid.
//!
//! Clients reject structured content that violates the listed schema. A tool whose results are too small to
//! be shortened keeps its schema. Any other is listed with three alternatives: the upstream's schema,
//! unchanged; the same with shortened lists and a required notice; any object with a notice. The second is
//! for programs: its records are whole, so every `required` stays. The third covers requests for other fields
//! or a part, and objects that are too large.
//!
//! If a reference could resolve differently in the nested schema, the tool is listed without an output
//! schema: content without a schema is legal.

use portion_core::policy::{EnvelopeMode, MetadataMode, RenderOptions};
use portion_json::scan::{JsonKind, minified, quote, unescape};
use portion_json::span::Span;

use super::super::splice::Splice;
use super::super::walk::{self, Member, Sequence};
use super::{ToolListingPolicy, schema_bound};

/// Root members that stay at the root, because references point to them there.
const HOISTED_KEYWORDS: [&str; 5] = ["$schema", "$id", "$vocabulary", "$defs", "definitions"];
/// JSON Pointer of the upstream's schema in the listed schema.
const UPSTREAM_SCHEMA_POINTER: &str = "#/anyOf/0";
/// Largest nesting depth on the way to a list; following a reference counts as 8.
const MAX_DEPTH: usize = 32;
/// Largest depth of the schema for clients that only read types.
const MAX_LOOSE_DEPTH: usize = 8;
/// Keywords about the number of items of a list, or about items at given positions.
const LENGTH_KEYWORDS: [&str; 6] =
    ["minItems", "contains", "minContains", "maxContains", "prefixItems", "additionalItems"];
/// Keywords that name schemas: a copied name would be a duplicate, and the others describe the original.
const NAMING_KEYWORDS: [&str; 5] = ["$anchor", "$dynamicAnchor", "$id", "title", "description"];
/// Keywords about members that an object does not name.
const OTHER_MEMBER_KEYWORDS: [&str; 4] =
    ["propertyNames", "maxProperties", "unevaluatedProperties", "patternProperties"];
/// `FastMCP` keyword: clients show the only member of such an object without the object.
const WRAP_RESULT_KEYWORD: &str = "x-fastmcp-wrap-result";

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
        add_own_alternative(splice, text, &alternatives, &offer.render_options);
        return false;
    }
    if is_bounded(schema.slice(text), offer) {
        return true;
    }
    if let Ok(listed) = relaxed_schema(schema.slice(text), &offer.render_options) {
        splice.replace(schema, listed);
    } else {
        let items = members.iter().map(|member| member.span()).collect();
        splice.edit_sequence(&Sequence { span: tool, items }, |item| item != i, &[]);
    }
    false
}

/// Returns true if results of this schema are never shortened or changed in any other way.
fn is_bounded(schema: &str, offer: &ToolListingPolicy) -> bool {
    let ToolListingPolicy { render_options, summarize_above, redact, .. } = offer;
    if render_options.metadata == MetadataMode::Always || render_options.envelope == EnvelopeMode::Wrap {
        return false;
    }
    // Redaction goes by field names, and the schema of a bounded value names all of its fields.
    schema_bound::max_tokens(schema).is_some_and(|tokens| tokens <= *summarize_above)
        && redact.as_ref().is_none_or(|redact| redact.redact(&schema_bound::sample_object(schema)).is_none())
}

/// Returns the alternatives of a schema that was relaxed by another Portion in front of the upstream.
fn relaxed_alternatives(text: &str, schema: Span) -> Option<Sequence> {
    let any_of = walk::member_value(text, schema, "anyOf")?;
    let items = walk::items(text, any_of);
    let is_ours =
        |item: &Span| [ANY_WITH_NOTICE, ANY_IN_ENVELOPE].contains(&minified(item.slice(text)).as_str());
    items.last().is_some_and(is_ours).then_some(Sequence { span: any_of, items })
}

/// Adds what this Portion may return to the alternatives of another one, whose envelope may differ.
fn add_own_alternative(
    splice: &mut Splice<'_>,
    text: &str,
    alternatives: &Sequence,
    render_options: &RenderOptions,
) {
    let own = any_shortened(render_options);
    if !alternatives.items.iter().any(|item| minified(item.slice(text)) == own) {
        splice.append(alternatives, &[own.to_owned()]);
    }
}

/// Returns the schema of any result that was shortened.
fn any_shortened(render_options: &RenderOptions) -> &'static str {
    match render_options.envelope {
        EnvelopeMode::Wrap => ANY_IN_ENVELOPE,
        EnvelopeMode::Auto => ANY_WITH_NOTICE,
    }
}

/// Schema of any object with a notice.
const ANY_WITH_NOTICE: &str = r#"{"type":"object","anyOf":[{"required":["meta"]},{"required":["portion"]}]}"#;
/// Schema of any object in an envelope.
const ANY_IN_ENVELOPE: &str =
    r#"{"type":"object","anyOf":[{"required":["meta"]},{"required":["metadata"]}]}"#;

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
    let is_object = kind.is_some_and(|kind| walk::string_equals(kind, "object"));
    if is_object {
        root.push("\"type\":\"object\"".to_owned());
    }
    let upstream_schema = format!("{{{}}}", text(&own).join(","));
    let notice = NoticeMembers::for_schema(schema, all, render_options);
    let short = SchemaShortener { text: schema, root: all, notice: &notice };
    let is_array = kind.is_some_and(|kind| walk::string_equals(kind, "array"));
    let shortened = match render_options.envelope {
        EnvelopeMode::Wrap => None,
        EnvelopeMode::Auto if is_array => Some(short.wrapped_array()),
        EnvelopeMode::Auto => Some(short.shorten(all, true, 0)),
    };
    if let Some(result) = walk::member_value(schema, all, "properties")
        .filter(|_| walk::find_member(schema, &members, WRAP_RESULT_KEYWORD).is_some())
        .and_then(|properties| walk::member_value(schema, properties, "result"))
    {
        // Clients of this marker read the type of the only member here; beside a cursor it is not the only
        // one.
        let properties = [format!("\"result\":{}", short.loosen(result, 0)), notice.properties()];
        root.push(format!("\"properties\":{{{}}}", properties.join(",")));
    }
    let last = any_shortened(render_options);
    let all: Vec<String> =
        [Some(upstream_schema), shortened, Some(last.to_owned())].into_iter().flatten().collect();
    root.push(format!("\"anyOf\":[{}]", all.join(",")));
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

/// Top-level members that a notice adds.
struct NoticeMembers {
    /// Names with their schemas; true if the member is required.
    members: Vec<(String, &'static str, bool)>,
}

impl NoticeMembers {
    fn for_schema(schema: &str, all: Span, render_options: &RenderOptions) -> Self {
        let style = render_options.metadata_style;
        let next = match render_options.envelope {
            EnvelopeMode::Auto => r#"{"type":"string"}"#,
            EnvelopeMode::Wrap => r#"{"type":["string","null"]}"#,
        };
        let members = vec![
            (style.key("nextCursor"), next, true),
            (style.key("totalCount"), r#"{"type":"integer"}"#, false),
            ("meta".to_owned(), r#"{"type":"object"}"#, true),
        ];
        let own = walk::member_value(schema, all, "properties");
        let own = own.map(|properties| walk::members(schema, properties)).unwrap_or_default();
        let is_taken =
            |name: &String| own.iter().any(|member| walk::string_equals(member.key.slice(schema), name));
        if members.iter().any(|(name, ..)| is_taken(name)) {
            return Self { members: vec![("portion".to_owned(), r#"{"type":"object"}"#, true)] };
        }
        Self { members }
    }

    fn properties(&self) -> String {
        let each = self.members.iter().map(|(name, schema, _)| format!("\"{name}\":{schema}"));
        each.collect::<Vec<_>>().join(",")
    }

    /// Returns the members that an object with these own members does not have.
    fn properties_beside(&self, own: &[String]) -> Vec<String> {
        let free = self.members.iter().filter(|(name, ..)| !own.contains(name));
        free.map(|(name, schema, _)| format!("\"{name}\":{schema}")).collect()
    }

    fn required(&self) -> String {
        self.required_beside(&[]).join(",")
    }

    /// Returns the required names that are not among these, quoted.
    fn required_beside(&self, own: &[String]) -> Vec<String> {
        let added = self.members.iter().filter(|(name, _, required)| *required && !own.contains(name));
        added.map(|(name, ..)| format!("\"{name}\"")).collect()
    }
}

/// Rewrites a schema with shortened lists: descends into objects, not into items.
struct SchemaShortener<'a> {
    text: &'a str,
    root: Span,
    notice: &'a NoticeMembers,
}

impl SchemaShortener<'_> {
    /// Returns the schema of a wrapped array.
    fn wrapped_array(&self) -> String {
        let (properties, required) = (self.notice.properties(), self.notice.required());
        let items = self.shorten(self.root, false, 0);
        format!(
            "{{\"type\":\"object\",\"properties\":{{\"items\":{items},{properties}}},\"required\":[\"items\",{required}]}}"
        )
    }

    /// Returns a schema with shortened lists. `top`: it is the schema of the whole result, which carries the
    /// notice.
    fn shorten(&self, schema: Span, top: bool, depth: usize) -> String {
        let text = self.text;
        if walk::kind(text, schema) != JsonKind::Object || depth > MAX_DEPTH {
            return schema.slice(text).to_owned();
        }
        let members = walk::members(text, schema);
        let is_root = schema == self.root;
        let has = |name: &str| walk::find_member(text, &members, name).is_some();
        let is_tuple = has("prefixItems") || has("additionalItems");
        let mut out = Vec::new();
        let (mut properties, mut required) = (false, false);
        for Member { key, value } in members.iter().copied() {
            let name = unescape(key.slice(text));
            let name = name.as_str();
            let removed = LENGTH_KEYWORDS.contains(&name)
                || is_root && (HOISTED_KEYWORDS.contains(&name) || name == WRAP_RESULT_KEYWORD)
                || NAMING_KEYWORDS.contains(&name)
                || name == "items" && (is_tuple || walk::kind(text, value) == JsonKind::Array)
                || top && OTHER_MEMBER_KEYWORDS.contains(&name)
                || top && name == "additionalProperties" && has("patternProperties")
                || matches!(name, "const" | "enum") && allows_containers(text, value);
            if removed {
                continue;
            }
            let with = match name {
                "properties" if walk::kind(text, value) == JsonKind::Object => {
                    properties |= top;
                    self.shorten_properties(value, top, depth)
                }
                "required" if top && walk::kind(text, value) == JsonKind::Array => {
                    required = true;
                    self.extend_required(value)
                }
                "additionalProperties" => self.shorten(value, false, depth + 1),
                "allOf" | "anyOf" | "oneOf" if walk::kind(text, value) == JsonKind::Array => {
                    let each = walk::items(text, value).into_iter();
                    let each = each.map(|schema| self.shorten(schema, false, depth + 1));
                    format!("[{}]", each.collect::<Vec<_>>().join(","))
                }
                "$ref" => {
                    match walk::resolve_reference(self.text, self.root, value).filter(|_| depth < MAX_DEPTH) {
                        Some(definition) => {
                            let short = self.shorten(definition, top, depth + 8);
                            if short == definition.slice(text) {
                                value.slice(text).to_owned()
                            } else {
                                out.push(format!("\"allOf\":[{short}]"));
                                continue;
                            }
                        }
                        None => value.slice(text).to_owned(),
                    }
                }
                _ => value.slice(text).to_owned(),
            };
            out.push(format!("{}:{with}", key.slice(text)));
        }
        if top && !properties {
            out.push(format!("\"properties\":{{{}}}", self.notice.properties()));
        }
        if top && !required {
            out.push(format!("\"required\":[{}]", self.notice.required()));
        }
        format!("{{{}}}", out.join(","))
    }

    /// Returns a list of required names, each once, with those of the notice.
    fn extend_required(&self, required: Span) -> String {
        let text = self.text;
        let (mut names, mut all): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for item in walk::items(text, required) {
            let name = unescape(item.slice(text));
            if !names.contains(&name) {
                names.push(name);
                all.push(item.slice(text).to_owned());
            }
        }
        all.extend(self.notice.required_beside(&names));
        format!("[{}]", all.join(","))
    }

    fn shorten_properties(&self, properties: Span, top: bool, depth: usize) -> String {
        let text = self.text;
        let own = walk::members(text, properties);
        let names: Vec<String> = own.iter().map(|member| unescape(member.key.slice(text))).collect();
        let own = own.into_iter().map(|Member { key, value }| {
            format!("{}:{}", key.slice(text), self.shorten(value, false, depth + 1))
        });
        let added = if top { self.notice.properties_beside(&names) } else { Vec::new() };
        let all: Vec<String> = own.chain(added).collect();
        format!("{{{}}}", all.join(","))
    }

    /// Returns a schema that only constrains types, because other fields may have been requested.
    fn loosen(&self, schema: Span, depth: usize) -> String {
        let text = self.text;
        if walk::kind(text, schema) != JsonKind::Object || depth > MAX_LOOSE_DEPTH {
            return "{}".to_owned();
        }
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
                    let own = own.map(|member| {
                        format!("{}:{}", member.key.slice(text), self.loosen(member.value, depth + 1))
                    });
                    format!("{{{}}}", own.collect::<Vec<_>>().join(","))
                }
                "items" if kind == JsonKind::Object && !is_tuple => self.loosen(value, depth + 1),
                "anyOf" if kind == JsonKind::Array => {
                    let each = walk::items(text, value).into_iter().map(|one| self.loosen(one, depth + 1));
                    format!("[{}]", each.collect::<Vec<_>>().join(","))
                }
                "$ref" => match walk::resolve_reference(self.text, self.root, value) {
                    Some(definition) => return self.loosen(definition, depth + 1),
                    None => continue,
                },
                _ => continue,
            };
            out.push(format!("{}:{with}", key.slice(text)));
        }
        format!("{{{}}}", out.join(","))
    }
}

/// Returns true if an allowed value is a container, or an array with a container in it.
fn allows_containers(text: &str, value: Span) -> bool {
    let is_container = |value: &Span| walk::kind(text, *value).is_container();
    walk::kind(text, value) == JsonKind::Object
        || is_container(&value) && walk::items(text, value).iter().any(is_container)
}

#[cfg(test)]
mod tests {
    use portion_core::policy::{EnvelopeMode, MetadataMode, MetadataStyle, RenderOptions};
    use serde_json::Value;

    use super::super::super::splice::Splice;
    use super::super::super::walk;
    use super::{ANY_IN_ENVELOPE, ANY_WITH_NOTICE, ToolListingPolicy, relax_output_schema};

    const NOTICE: &str =
        r#""nextCursor":{"type":"string"},"totalCount":{"type":"integer"},"meta":{"type":"object"}"#;
    const NEEDED: &str = r#""nextCursor","meta""#;

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

    /// `expect`: the members before the three alternatives, and the second of these.
    fn check(schema: &str, upstream_schema: &str, before: &str, second: &str) {
        let expect = format!(r#"{{{before}"anyOf":[{upstream_schema},{second},{ANY_WITH_NOTICE}]}}"#);
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
    fn records_keep_their_required_members() {
        let item = r#"{"type":"object","properties":{"a":{"type":"string","minLength":1}},"required":["a"]}"#;
        let list = |least: &str| format!(r#"{{"type":"array",{least}"items":{item}}}"#);
        let upstream_schema = format!(
            r#"{{"type":"object","title":"T","properties":{{"l":{},"n":{{"const":1}}}},"required":["l","n"],"additionalProperties":false}}"#,
            list(r#""minItems":9,"#)
        );
        let second = format!(
            r#"{{"type":"object","properties":{{"l":{},"n":{{"const":1}},{NOTICE}}},"required":["l","n",{NEEDED}],"additionalProperties":false}}"#,
            list("")
        );
        check(&upstream_schema, &upstream_schema, r#""type":"object","#, &second);
    }

    #[test]
    fn references_keep_their_targets() {
        check(
            r##"{"$schema":"s","type":"object","properties":{"l":{"$ref":"#/$defs/L"},"p":{"$ref":"#/properties/l"},"me":{"$ref":"#"}},"$defs":{"L":{"type":"array","minItems":1,"items":{"$ref":"#/$defs/A"}},"A":{"required":["b"]}}}"##,
            r##"{"type":"object","properties":{"l":{"$ref":"#/$defs/L"},"p":{"$ref":"#/anyOf/0/properties/l"},"me":{"$ref":"#/anyOf/0"}}}"##,
            r##""$schema":"s","$defs":{"L":{"type":"array","minItems":1,"items":{"$ref":"#/$defs/A"}},"A":{"required":["b"]}},"type":"object","##,
            &format!(
                r##"{{"type":"object","properties":{{"l":{{"allOf":[{{"type":"array","items":{{"$ref":"#/$defs/A"}}}}]}},"p":{{"$ref":"#/anyOf/0/properties/l"}},"me":{{"$ref":"#/anyOf/0"}},{NOTICE}}},"required":[{NEEDED}]}}"##
            ),
        );
    }

    #[test]
    fn an_array_may_be_wrapped() {
        let upstream_schema = r#"{"type":"array","minItems":1,"items":{"required":["x"]}}"#;
        check(
            upstream_schema,
            upstream_schema,
            "",
            &format!(
                r#"{{"type":"object","properties":{{"items":{{"type":"array","items":{{"required":["x"]}}}},{NOTICE}}},"required":["items",{NEEDED}]}}"#
            ),
        );
    }

    #[test]
    fn a_name_conflict_moves_the_notice() {
        let upstream_schema = r#"{"type":"object","properties":{"meta":{"type":"string"}}}"#;
        check(
            upstream_schema,
            upstream_schema,
            r#""type":"object","#,
            r#"{"type":"object","properties":{"meta":{"type":"string"},"portion":{"type":"object"}},"required":["portion"]}"#,
        );
    }

    #[test]
    fn names_in_the_alternatives_are_unique() {
        let own = |names: &str, required: &str| {
            format!(r#"{{"type":"object","properties":{{{names}}},"required":[{required}]}}"#)
        };
        for (upstream_schema, second) in [
            (
                own(r#""meta":{},"portion":{"type":"string"}"#, r#""meta","portion""#),
                own(r#""meta":{},"portion":{"type":"string"}"#, r#""meta","portion""#),
            ),
            (
                own(r#""nextCursor":{},"portion":{}"#, r#""portion""#),
                own(r#""nextCursor":{},"portion":{}"#, r#""portion""#),
            ),
            (
                own(r#""a":{}"#, r#""a","meta","a""#),
                own(&format!(r#""a":{{}},{NOTICE}"#), r#""a","meta","nextCursor""#),
            ),
        ] {
            check(&upstream_schema, &upstream_schema, r#""type":"object","#, &second);
        }
    }

    #[test]
    fn an_only_member_is_listed_with_the_cursor() {
        let upstream_schema = r#"{"type":"object","properties":{"result":{"type":"array","minItems":1}},"required":["result"],"x-fastmcp-wrap-result":true}"#;
        check(
            upstream_schema,
            upstream_schema,
            &format!(r#""type":"object","properties":{{"result":{{"type":"array"}},{NOTICE}}},"#),
            &format!(
                r#"{{"type":"object","properties":{{"result":{{"type":"array"}},{NOTICE}}},"required":["result",{NEEDED}]}}"#
            ),
        );
    }

    #[test]
    fn any_content_may_be_in_an_envelope() {
        let render_options = RenderOptions {
            envelope: EnvelopeMode::Wrap,
            metadata_style: MetadataStyle::Snake,
            ..RenderOptions::default()
        };
        let (listed, _) = relax(r#"{"type":"object","required":["rows"]}"#, render_options);
        assert_eq!(
            listed,
            tool(&format!(
                r#"{{"type":"object","anyOf":[{{"type":"object","required":["rows"]}},{ANY_IN_ENVELOPE}]}}"#
            ))
        );
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
}
