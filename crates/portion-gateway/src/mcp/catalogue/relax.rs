//! Listed output schemas, relaxed just enough that a shortened result still is one.
//!
//! Clients refuse structured content that breaks the schema they were listed. A portion leaves out
//! fields and items, elides long strings and adds a notice at the top; it never changes a type. So `type`,
//! `properties`, `items` and the bounds of numbers stay, and what shortening can break goes. Where that cannot
//! be told the listing loses its schema: content without one is legal.

use portion_core::policy::{Envelope, Manner, MetadataStyle};
use portion_core::scan::{Kind, Reader, decoded, quote};
use portion_core::span::Span;

use super::super::splice::Splice;
use super::super::walk::{self, Member, Sequence};

/// Schemas nested deeper than this are not looked into.
const DEEPEST: usize = 64;
/// Bytes of a string from which it might be elided.
const LONG: usize = 64;

/// Say something about what is missing, or about a whole that is now a part.
const BROKEN: [&str; 22] = [
    "required",
    "minItems",
    "minLength",
    "minProperties",
    "minContains",
    "maxContains",
    "contains",
    "uniqueItems",
    "pattern",
    "prefixItems",
    "additionalItems",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
    "unevaluatedItems",
    "$recursiveRef",
    "$recursiveAnchor",
];
/// Say something about members that they do not name: at the top, the notice's.
const BROKEN_AT_TOP: [&str; 4] =
    ["additionalProperties", "patternProperties", "propertyNames", "maxProperties"];
/// Formats of strings that are too short to be elided, and of numbers.
const SAFE_FORMATS: [&str; 11] =
    ["date", "date-time", "time", "duration", "uuid", "ipv4", "ipv6", "int32", "int64", "float", "double"];
/// What the notice adds at the top, in camel case.
const NOTICE: [&str; 4] = ["nextCursor", "totalCount", "meta", "portion"];
/// Members of the root that stay beside `anyOf` when an array's schema becomes one of two.
const STAY: [&str; 8] =
    ["$schema", "$id", "$defs", "$vocabulary", "$comment", "definitions", "title", "description"];

/// A schema that cannot be relaxed with certainty.
struct Opaque;

/// Relaxes the `outputSchema` of the tool at a place of a list, for results that are made in this manner.
pub(super) fn relax_listed(splice: &mut Splice<'_>, text: &str, tool: Span, manner: &Manner) {
    let members = walk::members(text, tool);
    let found = members.iter().rposition(|member| walk::is(member.key.of(text), "outputSchema"));
    let Some(i) = found else { return };
    let schema = members[i].value;
    match relaxed(schema.of(text), manner) {
        Ok(relaxed) if relaxed == schema.of(text) => {}
        Ok(relaxed) => splice.replace(schema, relaxed),
        Err(Opaque) => {
            let items = members.iter().map(|member| member.whole()).collect();
            splice.edit(&Sequence { whole: tool, items }, |item| item != i, &[]);
        }
    }
}

fn relaxed(schema: &str, manner: &Manner) -> Result<String, Opaque> {
    let style = manner.metadata_style;
    let mut pass = Pass {
        text: schema,
        splice: Splice::new(schema),
        todo: vec![(walk::whole(schema), Place::Top, 0)],
        definitions: Vec::new(),
        top_refers: false,
        notice: NOTICE.map(|name| style.key(name)),
    };
    while let Some((schema, place, depth)) = pass.next() {
        pass.relax(schema, place, depth)?;
    }
    let relaxed = pass.splice.apply();
    if manner.envelope == Envelope::Wrap {
        return or_enveloped(&relaxed, style);
    }
    if may_be_array(&relaxed) { or_wrapped(&relaxed) } else { Ok(relaxed) }
}

/// Where a schema applies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// To the whole content, which carries the notice.
    Top,
    Inside,
}

/// A walk over a schema's subschemas: only keywords lead to them, so a property may be called `required`.
struct Pass<'a> {
    text: &'a str,
    splice: Splice<'a>,
    todo: Vec<(Span, Place, usize)>,
    /// Looked at last, when it is known whether the top refers to one of them.
    definitions: Vec<(Span, usize)>,
    top_refers: bool,
    /// What the notice adds at the top.
    notice: [String; 4],
}

impl Pass<'_> {
    fn next(&mut self) -> Option<(Span, Place, usize)> {
        self.todo.pop().or_else(|| {
            let place = if self.top_refers { Place::Top } else { Place::Inside };
            self.definitions.pop().map(|(schema, depth)| (schema, place, depth))
        })
    }

    fn relax(&mut self, schema: Span, place: Place, depth: usize) -> Result<(), Opaque> {
        let text = self.text;
        if walk::kind(text, schema) != Kind::Object {
            return Ok(());
        }
        if depth > DEEPEST {
            return Err(Opaque);
        }
        let members = walk::members(text, schema);
        let has = |name: &str| walk::find(text, &members, name).is_some();
        let (tuple, any_of) = (has("prefixItems"), has("anyOf"));
        let mut gone = vec![false; members.len()];
        for (i, Member { key, value }) in members.iter().copied().enumerate() {
            let name = decoded(key.of(text));
            let is_array = walk::kind(text, value) == Kind::Array;
            gone[i] = match name.as_str() {
                broken if BROKEN.contains(&broken) => true,
                broken if place == Place::Top && BROKEN_AT_TOP.contains(&broken) => value.of(text) != "true",
                "format" => !SAFE_FORMATS.iter().any(|format| walk::is(value.of(text), format)),
                "const" => can_be_shortened(text, value),
                "enum" => walk::items(text, value).iter().any(|value| can_be_shortened(text, *value)),
                "items" => tuple || is_array,
                "oneOf" => any_of,
                _ => false,
            };
            if gone[i] {
                continue;
            }
            match name.as_str() {
                "oneOf" => {
                    self.splice.replace(key, "\"anyOf\"");
                    self.each(value, place, depth);
                }
                "anyOf" | "allOf" => self.each(value, place, depth),
                "properties" => self.properties(value, place, depth),
                "patternProperties" => self.named(value, depth),
                "$defs" | "definitions" => {
                    let all = walk::members(text, value);
                    self.definitions.extend(all.iter().map(|member| (member.value, depth + 1)));
                }
                "items" | "additionalProperties" | "propertyNames" => {
                    self.todo.push((value, Place::Inside, depth + 1));
                }
                "$ref" => {
                    self.top_refers |= place == Place::Top;
                    if leads_astray(&decoded(value.of(text))) {
                        return Err(Opaque);
                    }
                }
                "$dynamicRef" => self.top_refers |= place == Place::Top,
                _ => {}
            }
        }
        if gone.contains(&true) {
            let items = members.iter().map(|member| member.whole()).collect();
            self.splice.edit(&Sequence { whole: schema, items }, |i| !gone[i], &[]);
        }
        Ok(())
    }

    fn each(&mut self, schemas: Span, place: Place, depth: usize) {
        let all = walk::items(self.text, schemas);
        self.todo.extend(all.into_iter().map(|schema| (schema, place, depth + 1)));
    }

    fn named(&mut self, schemas: Span, depth: usize) {
        let all = walk::members(self.text, schemas);
        self.todo.extend(all.iter().map(|member| (member.value, Place::Inside, depth + 1)));
    }

    /// The notice may take a name that the schema has, where the content at hand does not.
    fn properties(&mut self, properties: Span, place: Place, depth: usize) {
        for Member { key, value } in walk::members(self.text, properties) {
            if place == Place::Top && self.notice.iter().any(|name| walk::is(key.of(self.text), name)) {
                self.splice.replace(value, "{}");
            } else {
                self.todo.push((value, Place::Inside, depth + 1));
            }
        }
    }
}

/// Whether a constant could be served shortened.
fn can_be_shortened(text: &str, value: Span) -> bool {
    walk::kind(text, value).is_container() || value.len() > LONG
}

/// Whether a reference goes through something that is renamed or left out here.
fn leads_astray(reference: &str) -> bool {
    let Some(path) = reference.strip_prefix("#/") else { return false };
    let steps: Vec<&str> = path.split('/').collect();
    let changed = |step: &&str| {
        BROKEN.contains(step) || BROKEN_AT_TOP.contains(step) || NOTICE.contains(step) || *step == "oneOf"
    };
    let in_tuple = |pair: &[&str]| pair[0] == "items" && pair[1].bytes().all(|b| b.is_ascii_digit());
    let definition = steps.len() == 2 && matches!(steps[0], "$defs" | "definitions");
    !definition && (steps.iter().any(changed) || steps.windows(2).any(in_tuple))
}

/// Whether the content may be something else than an object, as the root's `type` says.
fn may_be_array(schema: &str) -> bool {
    let all = walk::whole(schema);
    if walk::kind(schema, all) != Kind::Object {
        return false;
    }
    match walk::member(schema, all, "type") {
        Some(kind) => !walk::is(kind.of(schema), "object"),
        None => walk::member(schema, all, "properties").is_none(),
    }
}

/// The schema, or that of an array in our wrapping.
fn or_wrapped(schema: &str) -> Result<String, Opaque> {
    const WRAPPED: &str = concat!(
        r#"{"type":"object","properties":{"items":{"type":"array"},"nextCursor":{"type":"string"},"#,
        r#""meta":{"type":"object"}}}"#
    );
    or(schema, WRAPPED, &STAY)
}

/// The schema, or that of anything in an envelope. A root of `type` `object` stays one, for some clients want that.
fn or_enveloped(schema: &str, style: MetadataStyle) -> Result<String, Opaque> {
    let all = walk::whole(schema);
    if walk::kind(schema, all) != Kind::Object {
        return Ok(schema.to_owned());
    }
    let enveloped = format!(
        concat!(
            r#"{{"type":"object","properties":{{"items":{{}},"summary":{{}},"content":{{}},"#,
            r#""{}":{{"type":"string"}},"meta":{{"type":"object"}},"metadata":{{"type":"object"}}}}}}"#
        ),
        style.key("nextCursor")
    );
    let object = walk::member(schema, all, "type").is_some_and(|kind| walk::is(kind.of(schema), "object"));
    let stay: Vec<&str> = STAY.into_iter().chain(object.then_some("type")).collect();
    or(schema, &enveloped, &stay)
}

/// One of two schemas, the members of the first that are called so staying where they are.
fn or(schema: &str, other: &str, stay: &[&str]) -> Result<String, Opaque> {
    let members = walk::members(schema, walk::whole(schema));
    if refers_to_its_place(schema) {
        return Err(Opaque);
    }
    let stays = |member: &&Member| stay.iter().any(|name| walk::is(member.key.of(schema), name));
    let (stay, moved): (Vec<&Member>, Vec<&Member>) = members.iter().partition(stays);
    let text = |all: &[&Member]| all.iter().map(|m| m.whole().of(schema)).collect::<Vec<_>>().join(",");
    let beside = if stay.is_empty() { String::new() } else { text(&stay) + "," };
    Ok(format!("{{{beside}{}:[{{{}}},{other}]}}", quote("anyOf"), text(&moved)))
}

/// Whether some reference counts on where the root's keywords are.
fn refers_to_its_place(schema: &str) -> bool {
    let mut rest = schema;
    while let Some(at) = rest.find("\"$ref\"") {
        rest = rest[at + "\"$ref\"".len()..].trim_start_matches([' ', '\n', '\r', '\t', ':']);
        let mut reader = Reader::new(rest);
        let reference = reader.skip_string().map(|span| decoded(reader.text(span))).unwrap_or_default();
        let definition = ["#/$defs/", "#/definitions/"].iter().any(|start| reference.starts_with(start));
        if reference.starts_with("#/") && !definition {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::super::splice::Splice;
    use super::super::super::walk;
    use super::{Envelope, Manner, MetadataStyle, relax_listed};

    fn listed(schema: &str) -> String {
        format!(r#"{{"name":"x","outputSchema":{schema}, "title":"X"}}"#)
    }

    fn relax(schema: &str) -> String {
        relax_for(schema, &Manner::default())
    }

    fn relax_for(schema: &str, manner: &Manner) -> String {
        let text = listed(schema);
        let mut splice = Splice::new(&text);
        relax_listed(&mut splice, &text, walk::whole(&text), manner);
        splice.apply()
    }

    fn check(schema: &str, expect: &str) {
        assert_eq!(relax(schema), listed(expect), "{schema}");
        let twice = relax(expect);
        if !schema.contains("array") {
            assert_eq!(twice, listed(expect), "what is relaxed stays");
        }
    }

    fn check_dropped(schema: &str) {
        assert_eq!(relax(schema), r#"{"name":"x","title":"X"}"#, "{schema}");
    }

    #[test]
    fn keeps_the_bytes_of_what_shortening_cannot_break() {
        for schema in [
            r#"{"type": "object"}"#,
            r#"{ "type":"object","properties":{"a":{"type":"integer","minimum":1e0,"maximum":9}} }"#,
            r#"{"type":"object","properties":{"k":{"const":"user"},"at":{"type":"string","format":"date-time"}}}"#,
            r#"{"type":"object","properties":{"a":{"type":"object","additionalProperties":false}}}"#,
            r#"{"type":"object","additionalProperties":true}"#,
            r#"{"type":"object","properties":{"required":{"type":"string"},"pattern":{},"oneOf":{"enum":[1]}}}"#,
            r#"{"type":"object","default":{"required":[1],"oneOf":[]},"examples":[{"minItems":1}]}"#,
            "true",
        ] {
            check(schema, schema);
        }
    }

    #[test]
    fn drops_what_missing_things_would_break() {
        check(
            r#"{"type":"object","properties":{"a":{"type":"string","minLength":1,"maxLength":9,"pattern":"^a"}},"required":["a"]}"#,
            r#"{"type":"object","properties":{"a":{"type":"string","maxLength":9}}}"#,
        );
        check(
            r#"{"required":["a"],"type":"object","properties":{"a":{"properties":{"required":{"required":["x"]}}}}}"#,
            r#"{"type":"object","properties":{"a":{"properties":{"required":{}}}}}"#,
        );
        check(
            r#"{"type":"object","properties":{"l":{"type":"array","minItems":2,"uniqueItems":true,"contains":{},"items":{"required":["i"],"format":"uri"}}}}"#,
            r#"{"type":"object","properties":{"l":{"type":"array","items":{}}}}"#,
        );
        check(
            r#"{"type":"object","not":{},"if":{},"then":{},"else":{},"dependentRequired":{},"dependencies":{},"minProperties":1}"#,
            r#"{"type":"object"}"#,
        );
        check(
            r#"{"type":"object","properties":{"t":{"prefixItems":[{}],"items":false},"u":{"items":[{}],"additionalItems":false}}}"#,
            r#"{"type":"object","properties":{"t":{},"u":{}}}"#,
        );
        let long = "x".repeat(70);
        check(
            &format!(
                r#"{{"type":"object","properties":{{"a":{{"const":{{"b":1}}}},"c":{{"enum":["s","{long}"]}}}}}}"#
            ),
            r#"{"type":"object","properties":{"a":{},"c":{}}}"#,
        );
    }

    #[test]
    fn lets_the_notice_in_at_the_top() {
        check(
            r#"{"type":"object","additionalProperties":false,"properties":{"meta":{"type":"string"},"a":{}}}"#,
            r#"{"type":"object","properties":{"meta":{},"a":{}}}"#,
        );
        check(
            r#"{"type":"object","additionalProperties":{"type":"number"},"propertyNames":{},"maxProperties":3}"#,
            r#"{"type":"object"}"#,
        );
        check(
            r##"{"type":"object","allOf":[{"$ref":"#/$defs/A"}],"$defs":{"A":{"additionalProperties":false}}}"##,
            r##"{"type":"object","allOf":[{"$ref":"#/$defs/A"}],"$defs":{"A":{}}}"##,
        );
        check(
            r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"additionalProperties":false,"required":["b"]}}}"##,
            r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"additionalProperties":false}}}"##,
        );
    }

    #[test]
    fn one_of_becomes_any_of() {
        check(
            r#"{"type":"object","oneOf":[{"required":["a"]},{"additionalProperties":false}]}"#,
            r#"{"type":"object","anyOf":[{},{}]}"#,
        );
        check(r#"{"type":"object","oneOf":[{}],"anyOf":[{}]}"#, r#"{"type":"object","anyOf":[{}]}"#);
    }

    #[test]
    fn an_array_may_come_wrapped() {
        const WRAPPED: &str = r#"{"type":"object","properties":{"items":{"type":"array"},"nextCursor":{"type":"string"},"meta":{"type":"object"}}}"#;
        check(
            r##"{"$schema":"s","type":"array","minItems":1,"items":{"$ref":"#/$defs/A"},"$defs":{"A":{"required":["x"]}}}"##,
            &format!(
                r##"{{"$schema":"s","$defs":{{"A":{{}}}},"anyOf":[{{"type":"array","items":{{"$ref":"#/$defs/A"}}}},{WRAPPED}]}}"##
            ),
        );
        check(
            r#"{"type":["array","null"]}"#,
            &format!(r#"{{"anyOf":[{{"type":["array","null"]}},{WRAPPED}]}}"#),
        );
    }

    #[test]
    fn anything_may_come_in_an_envelope() {
        const ENVELOPED: &str = r#"{"type":"object","properties":{"items":{},"summary":{},"content":{},"next_cursor":{"type":"string"},"meta":{"type":"object"},"metadata":{"type":"object"}}}"#;
        let manner =
            Manner { envelope: Envelope::Wrap, metadata_style: MetadataStyle::Snake, ..Manner::default() };
        let check =
            |schema: &str, expect: &str| assert_eq!(relax_for(schema, &manner), listed(expect), "{schema}");
        check(
            r##"{"type":"object","title":"T","properties":{"items":{"type":"integer"},"total_count":{"$ref":"#/$defs/A"},"totalCount":{"type":"integer"}},"required":["items"],"$defs":{"A":{}}}"##,
            &format!(
                r#"{{"type":"object","title":"T","$defs":{{"A":{{}}}},"anyOf":[{{"properties":{{"items":{{"type":"integer"}},"total_count":{{}},"totalCount":{{"type":"integer"}}}}}},{ENVELOPED}]}}"#
            ),
        );
        check(
            r#"{"type":"array","items":{"type":"string"}}"#,
            &format!(r#"{{"anyOf":[{{"type":"array","items":{{"type":"string"}}}},{ENVELOPED}]}}"#),
        );
        check("true", "true");
    }

    #[test]
    fn a_schema_that_cannot_be_told_is_not_listed() {
        let deep = "{\"properties\":{\"a\":".repeat(70) + "{}" + &"}}".repeat(70);
        check_dropped(&deep);
        check_dropped(&("{\"items\":".repeat(100_000) + "{}" + &"}".repeat(100_000)));
        check_dropped(r##"{"type":"object","properties":{"a":{"$ref":"#/properties/b/oneOf/0"}}}"##);
        check_dropped(r##"{"type":"array","items":{"items":{"$ref":"#/items"}}}"##);
    }
}
