//! Trims a tool's listing: first sentences of descriptions, and schemas without annotations.
//!
//! The set of valid arguments stays the same: names, `required`, types, bounds, `enum`, `default` and unknown
//! keywords keep their bytes. `additionalProperties: false` stays too: it validates, and strict clients
//! insist on it.

use portion_json::scan::{JsonKind, quote, unescape};
use portion_json::span::Span;

use super::super::splice::Splice;
use super::super::walk::{self, Member, Sequence};
use super::schema::{DEFINITION_KEYWORDS, SchemaTree, Subschema};
use super::summary_line::{repeats_name, summary_line};

/// Suffixes that generators append to a tool's name for the title of its schema.
const GENERATED_SUFFIXES: [&str; 7] =
    ["arguments", "args", "input", "params", "schema", "output", "dictoutput"];
/// Drafts that a schema may omit from `$schema` if they agree on its meaning.
const KNOWN_DRAFTS: [&str; 3] = ["draft-07", "2019-09", "2020-12"];

/// Returns the trimmed listing of a tool.
pub(super) fn trim_tool(listed: &str) -> String {
    let whole = walk::document_span(listed);
    let name = walk::string_member(listed, whole, "name").unwrap_or_default();
    let mut splice = Splice::new(listed);
    for Member { key, value } in walk::members(listed, whole) {
        match unescape(key.slice(listed)).as_str() {
            "description" => trim_description(&mut splice, listed, value),
            "inputSchema" | "outputSchema" => trim_schema(&mut splice, listed, value, &name),
            _ => {}
        }
    }
    splice.apply()
}

/// Trims a schema of the named tool.
pub(super) fn trim_schema(splice: &mut Splice<'_>, text: &str, root: Span, tool: &str) {
    let schemas = SchemaTree::parse(text, root, tool);
    let can_lose = schemas.can_remove_members();
    let of_every_draft = schemas.is_draft_independent();
    let unused = schemas.unused_definitions();
    for schema in &schemas.subschemas {
        let mut removed = vec![false; schema.members.len()];
        for (i, Member { key, value }) in schema.members.iter().copied().enumerate() {
            let keyword = unescape(key.slice(text));
            removed[i] = can_lose
                && match keyword.as_str() {
                    "$comment" | "examples" => true,
                    "title" => is_redundant_text(text, schema, value),
                    "description" => !schema.is_root && is_redundant_text(text, schema, value),
                    "$schema" => schema.is_root && of_every_draft && is_known_draft(text, value),
                    holder if DEFINITION_KEYWORDS.contains(&holder) && schema.is_root => {
                        let all = walk::members(text, value);
                        let is_gone = |member: &Member| unused.contains(&member.key.start);
                        let items = all.iter().map(|member| member.span()).collect();
                        splice.edit_sequence(&Sequence { span: value, items }, |i| !is_gone(&all[i]), &[]);
                        all.iter().all(is_gone) && walk::kind(text, value) == JsonKind::Object
                    }
                    _ => false,
                };
            if keyword == "description" && !removed[i] {
                trim_description(splice, text, value);
            }
        }
        if removed.contains(&true) {
            let items = schema.members.iter().map(|member| member.span()).collect();
            splice.edit_sequence(&Sequence { span: schema.span, items }, |i| !removed[i], &[]);
        }
    }
}

/// Shortens a description to its summary.
fn trim_description(splice: &mut Splice<'_>, text: &str, description: Span) {
    if walk::kind(text, description) != JsonKind::String {
        return;
    }
    let decoded = unescape(description.slice(text));
    let summary = summary_line(&decoded);
    if summary.len() < decoded.trim_end().len() {
        splice.replace(description, quote(summary));
    }
}

fn is_redundant_text(text: &str, schema: &Subschema, value: Span) -> bool {
    let Some(name) = schema.name.as_deref().filter(|_| walk::kind(text, value) == JsonKind::String) else {
        return false;
    };
    let decoded = unescape(value.slice(text));
    repeats_name(&decoded, name)
        || (schema.is_root
            && GENERATED_SUFFIXES.iter().any(|end| repeats_name(&decoded, &format!("{name}{end}"))))
}

fn is_known_draft(text: &str, value: Span) -> bool {
    let decoded = unescape(value.slice(text));
    KNOWN_DRAFTS.iter().any(|draft| decoded.contains(draft))
}

#[cfg(test)]
mod tests {
    use super::trim_tool;

    /// Checks `schema` and `expect` both as input and as output schema.
    fn check(schema: &str, expect: &str) {
        for place in ["inputSchema", "outputSchema"] {
            let listed = |schema: &str| format!(r#"{{"name":"get_x","{place}":{schema}, "v":1.0}}"#);
            assert_eq!(trim_tool(&listed(schema)), listed(expect), "{schema}");
        }
    }

    fn check_stays(schema: &str) {
        check(schema, schema);
    }

    #[test]
    fn descriptions_are_cut() {
        check(
            r#"{"type":"object","description":"All there is. Or more.","properties":{"a":{"description":"Some \u0061pples.\nOr \"B\"."},"b":{"items":{"description":"One. Two is the end. Three."}}}}"#,
            r#"{"type":"object","description":"All there is.","properties":{"a":{"description":"Some apples."},"b":{"items":{"description":"One. Two is the end."}}}}"#,
        );
        check_stays(
            r#"{"properties":{"description":{"type":"string"},"a":{"default":{"description":"A. Bee. Cee and so on."}}}}"#,
        );
        check_stays(
            r#"{"description":["no text"],"properties":{"a":{"description":"\u00e9 l'\u00e9t\u00e9"}}}"#,
        );
        let was =
            r#"{"name":"x","description":"Does x for you. Then y.","annotations":{"title":"X. Y and Z. W"}}"#;
        let now = r#"{"name":"x","description":"Does x for you.","annotations":{"title":"X. Y and Z. W"}}"#;
        assert_eq!(trim_tool(was), now);
    }

    #[test]
    fn annotations_are_removed() {
        check(
            r#"{"$schema":"http://json-schema.org/draft-07/schema#","title":"GetXArguments","type":"object","properties":{"repo_path":{"title":"Repo Path","type":"string","description":"The repo path."},"n":{"examples":[1],"$comment":"c","type":"integer","default":1.0}},"additionalProperties":false}"#,
            r#"{"type":"object","properties":{"repo_path":{"type":"string"},"n":{"type":"integer","default":1.0}},"additionalProperties":false}"#,
        );
        check_stays(
            r#"{"title":"Things to get","properties":{"title":{"title":"Of the book"},"examples":{"x-order":1},"$comment":{}}}"#,
        );
        check(r#"{"title":"get_x","$comment":""}"#, "{}");
    }

    #[test]
    fn the_draft_stays_where_it_changes_the_meaning() {
        const DRAFT: &str = r#""$schema":"http://json-schema.org/draft-07/schema#""#;
        for rest in [
            r#""properties":{"a":{"items":[{}]}}"#,
            r#""properties":{"a":{"prefixItems":[{}]}}"#,
            r##""properties":{"a":{"$ref":"#/properties/b","type":"string"}}"##,
            r#""dependencies":{"a":["b"]}"#,
            r#""unevaluatedProperties":false"#,
        ] {
            check_stays(&format!("{{{DRAFT},{rest}}}"));
        }
        check_stays(r#"{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}"#);
        check(
            &format!(
                r##"{{{DRAFT},"properties":{{"a":{{"$ref":"#/properties/b","description":"As b"}}}}}}"##
            ),
            r##"{"properties":{"a":{"$ref":"#/properties/b","description":"As b"}}}"##,
        );
    }

    #[test]
    fn unused_definitions_are_removed() {
        check(
            r##"{"$defs":{"A":{"$ref":"#/$defs/B/properties/c"},"B":{"title":"B"},"C":{"$ref":"#/$defs/D"},"D":{}},"properties":{"a":{"$ref":"#/$defs/A"}}}"##,
            r##"{"$defs":{"A":{"$ref":"#/$defs/B/properties/c"},"B":{}},"properties":{"a":{"$ref":"#/$defs/A"}}}"##,
        );
        check(
            r##"{"definitions":{"A":{"$ref":"#/definitions/A"}},"type":"object"}"##,
            r#"{"type":"object"}"#,
        );
        check(
            r##"{"$defs":{"a/b~c":{},"d":{}},"items":{"$ref":"#/$defs/a~1b~0c"}}"##,
            r##"{"$defs":{"a/b~c":{}},"items":{"$ref":"#/$defs/a~1b~0c"}}"##,
        );
        check_stays(r#"{"properties":{"$defs":{"type":"string"}}}"#);
    }

    #[test]
    fn unresolved_references_keep_all_members() {
        for reference in ["other.json", "#anchor", "#/items/0", "#/$defs/A%20B", "#/properties/a/examples/0"]
        {
            check_stays(&format!(
                r#"{{"$comment":"c","$defs":{{"A":{{}}}},"properties":{{"a":{{"title":"A","$ref":"{reference}"}}}}}}"#
            ));
        }
        check_stays(r##"{"title":"get_x","x-more":{"$ref":"#/$defs/A"},"$defs":{"A":{}}}"##);
        check_stays(r#"{"title":"get_x","$id":"x","$defs":{"A":{"$anchor":"a"}}}"#);
    }

    #[test]
    fn deeply_nested_schemas_are_handled() {
        let deep = |depth: usize| {
            let inner = r#"{"$comment":"c","description":"First of all. Then more."}"#;
            "{\"items\":".repeat(depth) + inner + &"}".repeat(depth)
        };
        check(&deep(60), &deep(60).replace(r#""$comment":"c","#, "").replace(" Then more.", ""));
        check_stays(&deep(100_000));
    }
}
