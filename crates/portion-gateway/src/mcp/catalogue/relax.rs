//! Listed output schemas: what a shortened result is valid against.
//!
//! Clients refuse structured content that breaks the schema they were listed. A tool whose results are too small to be
//! shortened keeps its schema. Any other is listed as one of three: the upstream's schema, untouched; the same with its
//! lists shortened and a notice required; or anything that carries a notice. The second is for programs: records in it
//! are whole, so that every `required` stays. The third is what a caller gets who asked for other fields, for a part,
//! or of an object too large to be shown.
//!
//! Where a reference could lead elsewhere once the schema is nested, the listing loses its schema: content without one is
//! legal.

use portion_core::policy::{Envelope, Manner, Metadata};
use portion_core::scan::{Kind, decoded, minify, quote};
use portion_core::span::Span;

use super::super::splice::Splice;
use super::super::walk::{self, Member, Sequence};
use super::{Offer, bound};

/// Members of the root that stay there: references lead to them by their place.
const HOISTED: [&str; 5] = ["$schema", "$id", "$vocabulary", "$defs", "definitions"];
/// Where the upstream's schema stands in what is listed.
const THEIRS: &str = "#/anyOf/0";
/// Steps of references that are followed on the way to a list.
const DEEPEST: usize = 32;
/// Levels of a schema that are told where a client looks for a type alone.
const LOOSEST: usize = 8;
/// Say how many items a list has, or what stands at which place of it.
const OF_LENGTH: [&str; 6] =
    ["minItems", "contains", "minContains", "maxContains", "prefixItems", "additionalItems"];
/// Names of schemas: no two may have the same.
const NAMES: [&str; 5] = ["$anchor", "$dynamicAnchor", "$id", "title", "description"];
/// Say which members an object may have besides those that it names.
const OF_OTHERS: [&str; 4] = ["propertyNames", "maxProperties", "unevaluatedProperties", "patternProperties"];
/// How `FastMCP` marks a schema whose only member a client shows without the object around it.
const UNWRAPPED: &str = "x-fastmcp-wrap-result";

/// A schema that cannot be nested with certainty.
struct Opaque;

/// Lists the `outputSchema` of the tool at a place of a list as its results will be. Returns whether they are too small
/// to be shortened.
pub(super) fn relax_listed(splice: &mut Splice<'_>, text: &str, tool: Span, offer: &Offer) -> bool {
    let members = walk::members(text, tool);
    let found = members.iter().rposition(|member| walk::is(member.key.of(text), "outputSchema"));
    let Some(i) = found else { return false };
    let schema = members[i].value;
    if walk::kind(text, schema) != Kind::Object || is_ours(schema.of(text)) {
        return false;
    }
    if is_bounded(schema.of(text), offer) {
        return true;
    }
    if let Ok(listed) = listed(schema.of(text), &offer.manner) {
        splice.replace(schema, listed);
    } else {
        let items = members.iter().map(|member| member.whole()).collect();
        splice.edit(&Sequence { whole: tool, items }, |item| item != i, &[]);
    }
    false
}

/// Whether results of a schema are never shortened, nor changed in any other way.
fn is_bounded(schema: &str, offer: &Offer) -> bool {
    let Offer { manner, summarize_above, redact, .. } = offer;
    if manner.metadata == Metadata::Always || manner.envelope == Envelope::Wrap {
        return false;
    }
    // What is hidden goes by the names of fields, all of which the schema of a bounded value tells.
    bound::tokens(schema).is_some_and(|tokens| tokens <= *summarize_above)
        && redact.as_ref().is_none_or(|redact| redact.hide(&bound::sample(schema)).is_none())
}

/// Whether a schema is one of ours already, behind another Portion.
fn is_ours(schema: &str) -> bool {
    let any_of = walk::member(schema, walk::whole(schema), "anyOf");
    let all = any_of.map(|any_of| walk::items(schema, any_of)).unwrap_or_default();
    all.last().is_some_and(|last| {
        let mut minified = String::new();
        minify(last.of(schema), &mut minified);
        minified == ANYTHING || minified == ENVELOPED
    })
}

/// Anything that carries a notice.
const ANYTHING: &str = r#"{"type":"object","anyOf":[{"required":["meta"]},{"required":["portion"]}]}"#;
/// Anything in an envelope.
const ENVELOPED: &str = r#"{"type":"object","anyOf":[{"required":["meta"]},{"required":["metadata"]}]}"#;

fn listed(schema: &str, manner: &Manner) -> Result<String, Opaque> {
    let schema = &nested(schema)?;
    let all = walk::whole(schema);
    let members = walk::members(schema, all);
    let is_hoisted = |member: &&Member| HOISTED.iter().any(|name| walk::is(member.key.of(schema), name));
    let (hoisted, own): (Vec<&Member>, Vec<&Member>) = members.iter().partition(is_hoisted);
    let text = |members: &[&Member]| {
        members.iter().map(|member| member.whole().of(schema).to_owned()).collect::<Vec<_>>()
    };
    let mut root = text(&hoisted);
    let kind = walk::find(schema, &members, "type").map(|member| member.value.of(schema));
    let is_object = kind.is_some_and(|kind| walk::is(kind, "object"));
    if is_object {
        root.push("\"type\":\"object\"".to_owned());
    }
    let theirs = format!("{{{}}}", text(&own).join(","));
    let notice = Notice::of(schema, all, manner);
    let short = Shortening { text: schema, all, notice: &notice };
    let is_array = kind.is_some_and(|kind| walk::is(kind, "array"));
    let shortened = match manner.envelope {
        Envelope::Wrap => None,
        Envelope::Auto if is_array => Some(short.wrapped()),
        Envelope::Auto => Some(short.schema(all, true, 0)),
    };
    if let Some(result) = walk::member(schema, all, "properties")
        .filter(|_| walk::find(schema, &members, UNWRAPPED).is_some())
        .and_then(|properties| walk::member(schema, properties, "result"))
    {
        // Its clients look for the type of the only member here; beside a cursor it is not the only one.
        let properties = [format!("\"result\":{}", short.loose(result, 0)), notice.properties()];
        root.push(format!("\"properties\":{{{}}}", properties.join(",")));
    }
    let last = if manner.envelope == Envelope::Wrap { ENVELOPED } else { ANYTHING };
    let all: Vec<String> = [Some(theirs), shortened, Some(last.to_owned())].into_iter().flatten().collect();
    root.push(format!("\"anyOf\":[{}]", all.join(",")));
    Ok(format!("{{{}}}", root.join(",")))
}

/// The schema with its references written as they must be once it is the first of several.
fn nested(schema: &str) -> Result<String, Opaque> {
    let mut splice = Splice::new(schema);
    let mut todo = vec![(walk::whole(schema), 0)];
    while let Some((value, depth)) = todo.pop() {
        if depth > 2 * DEEPEST {
            return Err(Opaque);
        }
        match walk::kind(schema, value) {
            Kind::Array => todo.extend(walk::items(schema, value).into_iter().map(|item| (item, depth + 1))),
            Kind::Object => {
                for Member { key, value } in walk::members(schema, value) {
                    let is_text = walk::kind(schema, value) == Kind::String;
                    let name = decoded(key.of(schema));
                    match name.as_str() {
                        "$ref" if is_text => {
                            let reference = decoded(value.of(schema));
                            if let Some(moved) = moved(&reference)? {
                                splice.replace(value, quote(&moved));
                            }
                        }
                        "$dynamicRef" | "$recursiveRef" | "$recursiveAnchor" | "$dynamicAnchor" => {
                            return Err(Opaque);
                        }
                        "$id" if is_text && depth > 0 => return Err(Opaque),
                        _ => todo.push((value, depth + 1)),
                    }
                }
            }
            _ => {}
        }
    }
    Ok(splice.apply())
}

/// Where a reference leads once the schema is nested, if it has to be written otherwise.
fn moved(reference: &str) -> Result<Option<String>, Opaque> {
    let Some(place) = reference.strip_prefix('#') else {
        // An address of the schema itself, perhaps.
        return if reference.contains("#/") { Err(Opaque) } else { Ok(None) };
    };
    let stays = ["/$defs/", "/definitions/"].iter().any(|start| place.starts_with(start));
    let is_pointer = place.is_empty() || place.starts_with('/');
    Ok((is_pointer && !stays).then(|| format!("{THEIRS}{place}")))
}

/// What a notice adds at the top.
struct Notice {
    /// Its members, each with the schema of it, and whether it is required.
    members: Vec<(String, &'static str, bool)>,
}

impl Notice {
    fn of(schema: &str, all: Span, manner: &Manner) -> Self {
        let style = manner.metadata_style;
        let members = vec![
            (style.key("nextCursor"), r#"{"type":"string"}"#, true),
            (style.key("totalCount"), r#"{"type":"integer"}"#, false),
            ("meta".to_owned(), r#"{"type":"object"}"#, true),
        ];
        let own = walk::member(schema, all, "properties");
        let own = own.map(|properties| walk::members(schema, properties)).unwrap_or_default();
        let is_taken = |name: &String| own.iter().any(|member| walk::is(member.key.of(schema), name));
        if members.iter().any(|(name, ..)| is_taken(name)) {
            return Self { members: vec![("portion".to_owned(), r#"{"type":"object"}"#, true)] };
        }
        Self { members }
    }

    fn properties(&self) -> String {
        let each = self.members.iter().map(|(name, schema, _)| format!("\"{name}\":{schema}"));
        each.collect::<Vec<_>>().join(",")
    }

    fn required(&self) -> String {
        let required = self.members.iter().filter(|(.., required)| *required);
        required.map(|(name, ..)| format!("\"{name}\"")).collect::<Vec<_>>().join(",")
    }
}

/// A walk on the way to lists: through objects, not into items.
struct Shortening<'a> {
    text: &'a str,
    all: Span,
    notice: &'a Notice,
}

impl Shortening<'_> {
    /// The schema of an array, in our wrapping.
    fn wrapped(&self) -> String {
        let (properties, required) = (self.notice.properties(), self.notice.required());
        let items = self.schema(self.all, false, 0);
        format!(
            "{{\"type\":\"object\",\"properties\":{{\"items\":{items},{properties}}},\"required\":[\"items\",{required}]}}"
        )
    }

    /// A schema with its lists shortened. `top`: it is that of the whole, which carries the notice.
    fn schema(&self, schema: Span, top: bool, depth: usize) -> String {
        let text = self.text;
        if walk::kind(text, schema) != Kind::Object || depth > DEEPEST {
            return schema.of(text).to_owned();
        }
        let members = walk::members(text, schema);
        let is_root = schema == self.all;
        let has = |name: &str| walk::find(text, &members, name).is_some();
        let is_tuple = has("prefixItems") || has("additionalItems");
        let mut out = Vec::new();
        let (mut properties, mut required) = (false, false);
        for Member { key, value } in members.iter().copied() {
            let name = decoded(key.of(text));
            let name = name.as_str();
            let gone = OF_LENGTH.contains(&name)
                || is_root && (HOISTED.contains(&name) || name == UNWRAPPED)
                || NAMES.contains(&name)
                || name == "items" && (is_tuple || walk::kind(text, value) == Kind::Array)
                || top && OF_OTHERS.contains(&name)
                || top && name == "additionalProperties" && has("patternProperties")
                || matches!(name, "const" | "enum") && is_of_containers(text, value);
            if gone {
                continue;
            }
            let with = match name {
                "properties" if walk::kind(text, value) == Kind::Object => {
                    properties |= top;
                    self.properties(value, top, depth)
                }
                "required" if top && walk::kind(text, value) == Kind::Array => {
                    required = true;
                    let mut all: Vec<String> =
                        walk::items(text, value).iter().map(|name| name.of(text).to_owned()).collect();
                    all.push(self.notice.required());
                    format!("[{}]", all.join(","))
                }
                "additionalProperties" => self.schema(value, false, depth + 1),
                "allOf" | "anyOf" | "oneOf" if walk::kind(text, value) == Kind::Array => {
                    let each = walk::items(text, value).into_iter();
                    let each = each.map(|schema| self.schema(schema, false, depth + 1));
                    format!("[{}]", each.collect::<Vec<_>>().join(","))
                }
                "$ref" => match self.definition(value).filter(|_| depth < DEEPEST) {
                    Some(definition) => {
                        let short = self.schema(definition, top, depth + 8);
                        if short == definition.of(text) {
                            value.of(text).to_owned()
                        } else {
                            out.push(format!("\"allOf\":[{short}]"));
                            continue;
                        }
                    }
                    None => value.of(text).to_owned(),
                },
                _ => value.of(text).to_owned(),
            };
            out.push(format!("{}:{with}", key.of(text)));
        }
        if top && !properties {
            out.push(format!("\"properties\":{{{}}}", self.notice.properties()));
        }
        if top && !required {
            out.push(format!("\"required\":[{}]", self.notice.required()));
        }
        format!("{{{}}}", out.join(","))
    }

    fn properties(&self, properties: Span, top: bool, depth: usize) -> String {
        let text = self.text;
        let own = walk::members(text, properties).into_iter();
        let own = own.map(|Member { key, value }| {
            format!("{}:{}", key.of(text), self.schema(value, false, depth + 1))
        });
        let all: Vec<String> = own.chain(top.then(|| self.notice.properties())).collect();
        format!("{{{}}}", all.join(","))
    }

    /// A schema that says what kinds of values there are, and nothing about which: other fields may have been asked for.
    fn loose(&self, schema: Span, depth: usize) -> String {
        let text = self.text;
        if walk::kind(text, schema) != Kind::Object || depth > LOOSEST {
            return "{}".to_owned();
        }
        let mut out = Vec::new();
        let members = walk::members(text, schema);
        let is_tuple = walk::find(text, &members, "prefixItems").is_some();
        for Member { key, value } in members {
            let name = decoded(key.of(text));
            let kind = walk::kind(text, value);
            let with = match name.as_str() {
                "type" => value.of(text).to_owned(),
                "properties" if kind == Kind::Object => {
                    let own = walk::members(text, value).into_iter();
                    let own = own.map(|member| {
                        format!("{}:{}", member.key.of(text), self.loose(member.value, depth + 1))
                    });
                    format!("{{{}}}", own.collect::<Vec<_>>().join(","))
                }
                "items" if kind == Kind::Object && !is_tuple => self.loose(value, depth + 1),
                "anyOf" if kind == Kind::Array => {
                    let each = walk::items(text, value).into_iter().map(|one| self.loose(one, depth + 1));
                    format!("[{}]", each.collect::<Vec<_>>().join(","))
                }
                "$ref" => match self.definition(value) {
                    Some(definition) => return self.loose(definition, depth + 1),
                    None => continue,
                },
                _ => continue,
            };
            out.push(format!("{}:{with}", key.of(text)));
        }
        format!("{{{}}}", out.join(","))
    }

    /// The definition that a reference leads to.
    fn definition(&self, reference: Span) -> Option<Span> {
        let reference = decoded(reference.of(self.text));
        let mut path = reference.strip_prefix("#/")?.split('/');
        let (holder, name) = (path.next()?, path.next()?);
        let name = name.replace("~1", "/").replace("~0", "~");
        let holder = walk::member(self.text, self.all, holder)?;
        if path.next().is_some() { None } else { walk::member(self.text, holder, &name) }
    }
}

/// Whether one of the values that are allowed is a list, or holds one.
fn is_of_containers(text: &str, value: Span) -> bool {
    let is_container = |value: &Span| walk::kind(text, *value).is_container();
    walk::kind(text, value) == Kind::Object
        || is_container(&value) && walk::items(text, value).iter().any(is_container)
}

#[cfg(test)]
mod tests {
    use portion_core::policy::{Envelope, Manner, Metadata, MetadataStyle};
    use serde_json::Value;

    use super::super::super::splice::Splice;
    use super::super::super::walk;
    use super::{ANYTHING, ENVELOPED, Offer, relax_listed};

    const NOTICE: &str =
        r#""nextCursor":{"type":"string"},"totalCount":{"type":"integer"},"meta":{"type":"object"}"#;
    const NEEDED: &str = r#""nextCursor","meta""#;

    fn tool(schema: &str) -> String {
        format!(r#"{{"name":"x","outputSchema":{schema}, "title":"X"}}"#)
    }

    fn relax(schema: &str, manner: Manner) -> (String, bool) {
        let text = tool(schema);
        let mut splice = Splice::new(&text);
        let offer = Offer { manner, summarize_above: 2_000, ..Offer::default() };
        let stays = relax_listed(&mut splice, &text, walk::whole(&text), &offer);
        (splice.apply(), stays)
    }

    /// `expect`: the members before the three schemas, and the second of them.
    fn check(schema: &str, theirs: &str, before: &str, second: &str) {
        let expect = format!(r#"{{{before}"anyOf":[{theirs},{second},{ANYTHING}]}}"#);
        let (listed, stays) = relax(schema, Manner::default());
        assert_eq!((listed, stays), (tool(&expect), false), "{schema}");
        serde_json::from_str::<Value>(&expect).expect("JSON");
        assert_eq!(relax(&expect, Manner::default()), (tool(&expect), false), "ours stays behind another");
    }

    fn check_stays(schema: &str, manner: Manner, expect: bool) {
        let (listed, stays) = relax(schema, manner);
        assert_eq!((listed == tool(schema), stays), (expect, expect), "{schema}: {listed}");
    }

    #[test]
    fn what_is_never_shortened_keeps_its_schema() {
        for schema in [
            r#"{"type":"object","properties":{"result":{"type":"integer"}},"required":["result"],"x-fastmcp-wrap-result":true}"#,
            r#"{ "type":"object","properties":{"t":{"type":"number"},"k":{"enum":["a"]}},"additionalProperties":false}"#,
        ] {
            check_stays(schema, Manner::default(), true);
            check_stays(schema, Manner { metadata: Metadata::Always, ..Manner::default() }, false);
            check_stays(schema, Manner { envelope: Envelope::Wrap, ..Manner::default() }, false);
        }
        check_stays(r#"{"type":"object","properties":{"s":{"type":"string"}}}"#, Manner::default(), false);
    }

    #[test]
    fn records_keep_what_they_require() {
        let item = r#"{"type":"object","properties":{"a":{"type":"string","minLength":1}},"required":["a"]}"#;
        let list = |least: &str| format!(r#"{{"type":"array",{least}"items":{item}}}"#);
        let theirs = format!(
            r#"{{"type":"object","title":"T","properties":{{"l":{},"n":{{"const":1}}}},"required":["l","n"],"additionalProperties":false}}"#,
            list(r#""minItems":9,"#)
        );
        let second = format!(
            r#"{{"type":"object","properties":{{"l":{},"n":{{"const":1}},{NOTICE}}},"required":["l","n",{NEEDED}],"additionalProperties":false}}"#,
            list("")
        );
        check(&theirs, &theirs, r#""type":"object","#, &second);
    }

    #[test]
    fn references_lead_where_they_led() {
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
    fn an_array_may_come_wrapped() {
        let theirs = r#"{"type":"array","minItems":1,"items":{"required":["x"]}}"#;
        check(
            theirs,
            theirs,
            "",
            &format!(
                r#"{{"type":"object","properties":{{"items":{{"type":"array","items":{{"required":["x"]}}}},{NOTICE}}},"required":["items",{NEEDED}]}}"#
            ),
        );
    }

    #[test]
    fn a_name_that_is_taken_moves_the_notice() {
        let theirs = r#"{"type":"object","properties":{"meta":{"type":"string"}}}"#;
        check(
            theirs,
            theirs,
            r#""type":"object","#,
            r#"{"type":"object","properties":{"meta":{"type":"string"},"portion":{"type":"object"}},"required":["portion"]}"#,
        );
    }

    #[test]
    fn a_sole_member_is_shown_beside_its_cursor() {
        let theirs = r#"{"type":"object","properties":{"result":{"type":"array","minItems":1}},"required":["result"],"x-fastmcp-wrap-result":true}"#;
        check(
            theirs,
            theirs,
            &format!(r#""type":"object","properties":{{"result":{{"type":"array"}},{NOTICE}}},"#),
            &format!(
                r#"{{"type":"object","properties":{{"result":{{"type":"array"}},{NOTICE}}},"required":["result",{NEEDED}]}}"#
            ),
        );
    }

    #[test]
    fn anything_may_come_in_an_envelope() {
        let manner =
            Manner { envelope: Envelope::Wrap, metadata_style: MetadataStyle::Snake, ..Manner::default() };
        let (listed, _) = relax(r#"{"type":"object","required":["rows"]}"#, manner);
        assert_eq!(
            listed,
            tool(&format!(
                r#"{{"type":"object","anyOf":[{{"type":"object","required":["rows"]}},{ENVELOPED}]}}"#
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
            assert_eq!(relax(schema, Manner::default()).0, r#"{"name":"x","title":"X"}"#, "{schema}");
        }
        assert_eq!(relax("true", Manner::default()).0, tool("true"));
    }
}
