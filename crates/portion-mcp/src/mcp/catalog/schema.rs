//! Finds the subschemas of a schema by the keywords that contain them, and the arguments that page the results of a tool: a
//! property may be named `items`.

use std::collections::HashSet;

use portion_core::paging::{PagingArgument, PagingRole};
use portion_json::path::unescape_step;
use portion_json::scan::{JsonKind, unescape};
use portion_json::span::Span;

use crate::mcp::walk::{self, Member, Sequence};

/// Largest nesting depth of subschemas that is inspected.
const MAX_DEPTH: usize = 64;

/// Keywords with a schema.
pub(super) const SCHEMA_KEYWORDS: [&str; 11] = [
    "items",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
];
/// Keywords with an array of schemas.
pub(super) const SCHEMA_ARRAY_KEYWORDS: [&str; 5] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];
/// Keywords with an object of schemas.
pub(super) const SCHEMA_MAP_KEYWORDS: [&str; 4] =
    ["properties", "patternProperties", "dependentSchemas", "dependencies"];
/// Keywords with an object of schemas that apply where they are referenced.
pub(super) const DEFINITION_KEYWORDS: [&str; 2] = ["$defs", "definitions"];

/// Keywords that define or use addresses which are not resolved here.
const UNFOLLOWED_KEYWORDS: [&str; 7] =
    ["$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary"];
/// Keywords that differ between the drafts in use, or are missing in some of them.
const DRAFT_SPECIFIC_KEYWORDS: [&str; 9] = [
    "prefixItems",
    "additionalItems",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedItems",
    "unevaluatedProperties",
    "minContains",
    "maxContains",
];
/// Keywords that have no effect on validation beside `$ref` in any draft.
const NON_VALIDATING_KEYWORDS: [&str; 11] = [
    "$ref",
    "$schema",
    "$defs",
    "definitions",
    "description",
    "title",
    "default",
    "examples",
    "$comment",
    "deprecated",
    "readOnly",
];

/// A schema object: the root or a subschema.
#[derive(Debug)]
pub(super) struct Subschema {
    pub span: Span,
    pub members: Vec<Member>,
    /// Name of the tool, property or definition that it describes, if it has one.
    pub name: Option<String>,
    pub is_root: bool,
    /// Start offset of the root definition that contains it.
    definition_start: Option<u32>,
}

/// A schema with all subschemas.
#[derive(Debug)]
pub(super) struct SchemaTree<'a> {
    text: &'a str,
    pub subschemas: Vec<Subschema>,
    /// References to definitions; `None` if some reference cannot be resolved.
    references: Option<Vec<Reference>>,
}

/// A reference to a definition of the root.
#[derive(Debug)]
struct Reference {
    from_definition: Option<u32>,
    /// `$defs` or `definitions`, and the name in it.
    target: (String, String),
}

impl<'a> SchemaTree<'a> {
    /// Parses a schema. `name`: the name of what it describes.
    pub(super) fn parse(text: &'a str, root: Span, name: &str) -> Self {
        let mut all = Vec::new();
        let mut is_whole = true;
        let mut todo = vec![(root, Some(name.to_owned()), None, 0)];
        while let Some((whole, name, definition, depth)) = todo.pop() {
            if walk::kind(text, whole) != JsonKind::Object {
                continue;
            }
            if depth > MAX_DEPTH {
                is_whole = false;
                continue;
            }
            let members = walk::members(text, whole);
            for Member { key, value } in &members {
                let key = unescape(key.slice(text));
                let key = key.as_str();
                if SCHEMA_KEYWORDS.contains(&key) {
                    todo.push((*value, None, definition, depth + 1));
                }
                if SCHEMA_ARRAY_KEYWORDS.contains(&key) {
                    let each = walk::items(text, *value);
                    todo.extend(each.into_iter().map(|schema| (schema, None, definition, depth + 1)));
                }
                let defines = DEFINITION_KEYWORDS.contains(&key);
                if defines || SCHEMA_MAP_KEYWORDS.contains(&key) {
                    todo.extend(walk::members(text, *value).into_iter().map(|member| {
                        let definition =
                            if defines && depth == 0 { Some(member.key.start) } else { definition };
                        (member.value, Some(unescape(member.key.slice(text))), definition, depth + 1)
                    }));
                }
            }
            all.push(Subschema {
                span: whole,
                members,
                name,
                is_root: depth == 0,
                definition_start: definition,
            });
        }
        let references = if is_whole { collect_references(text, root, &all) } else { None };
        Self { text, subschemas: all, references }
    }

    /// Returns true if members can be removed without breaking a reference.
    pub(super) fn can_remove_members(&self) -> bool {
        self.references.is_some()
    }

    /// Returns true if all drafts of JSON Schema from draft-07 on give it the same meaning.
    pub(super) fn is_draft_independent(&self) -> bool {
        let alike = |schema: &Subschema| {
            let names: Vec<String> =
                schema.members.iter().map(|m| unescape(m.key.slice(self.text))).collect();
            let has = |name: &str| names.iter().any(|n| n == name);
            let tuple = |m: &Member| {
                walk::string_equals(m.key.slice(self.text), "items")
                    && walk::kind(self.text, m.value) == JsonKind::Array
            };
            let alone =
                !has("$ref") || names.iter().all(|name| NON_VALIDATING_KEYWORDS.contains(&name.as_str()));
            alone
                && !DRAFT_SPECIFIC_KEYWORDS.iter().any(|name| has(name))
                && !schema.members.iter().any(tuple)
        };
        self.references.is_some() && self.subschemas.iter().all(alike)
    }

    /// Returns the start offsets of root definitions without references.
    pub(super) fn unused_definitions(&self) -> HashSet<u32> {
        let Some(references) = &self.references else { return HashSet::new() };
        let Some(root) = self.subschemas.iter().find(|schema| schema.is_root) else { return HashSet::new() };
        let holders = root.members.iter().map(|m| (unescape(m.key.slice(self.text)), m.value));
        let mut unused: Vec<((String, String), u32)> = Vec::new();
        for (holder, value) in holders.filter(|(key, _)| DEFINITION_KEYWORDS.contains(&key.as_str())) {
            unused.extend(
                walk::members(self.text, value).into_iter().map(|member| {
                    ((holder.clone(), unescape(member.key.slice(self.text))), member.key.start)
                }),
            );
        }
        let mut live: HashSet<Option<u32>> = HashSet::from([None]);
        loop {
            let wanted: HashSet<_> =
                references.iter().filter(|r| live.contains(&r.from_definition)).map(|r| &r.target).collect();
            let (used, rest): (Vec<_>, Vec<_>) = unused.into_iter().partition(|(id, _)| wanted.contains(id));
            unused = rest;
            if used.is_empty() {
                return unused.into_iter().map(|(_, start)| start).collect();
            }
            live.extend(used.into_iter().map(|(_, start)| Some(start)));
        }
    }
}

/// Returns the references to definitions; `None` if some reference cannot be resolved.
fn collect_references(text: &str, root: Span, all: &[Subschema]) -> Option<Vec<Reference>> {
    let mut found = 0;
    let mut references = Vec::new();
    for schema in all {
        for Member { key, value } in &schema.members {
            let key = unescape(key.slice(text));
            if UNFOLLOWED_KEYWORDS.contains(&key.as_str()) {
                return None;
            }
            if key != "$ref" || walk::kind(text, *value) != JsonKind::String {
                continue;
            }
            found += 1;
            if let Some(to) = definition_target(&unescape(value.slice(text)))? {
                references.push(Reference { from_definition: schema.definition_start, target: to });
            }
        }
    }
    // A `$ref` outside all known subschemas may target anything.
    let spelled = root.slice(text).matches("\"$ref\"").count();
    (spelled == found).then_some(references)
}

/// Returns the definition that a reference targets, if it targets one; `None` if the target is unknown.
#[expect(clippy::option_option, reason = "unknown, no definition, or a definition")]
fn definition_target(reference: &str) -> Option<Option<(String, String)>> {
    if reference == "#" {
        return Some(None);
    }
    if reference.contains('%') {
        return None;
    }
    let mut steps = reference.strip_prefix("#/")?.split('/');
    let (holder, name) = (steps.next()?, steps.next()?);
    if steps.any(|step| step == "examples" || step == "$comment") {
        return None;
    }
    let name = unescape_step(name);
    if DEFINITION_KEYWORDS.contains(&holder) {
        Some(Some((holder.to_owned(), name)))
    } else {
        (holder == "properties").then_some(None)
    }
}

/// A property of a tool that pages its results.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct PagingProperty {
    /// The argument, without a value.
    pub argument: PagingArgument,
    /// True if its schema allows whole numbers.
    pub is_number: bool,
}

/// Returns the properties that page the results of a tool, sorted by name.
pub(super) fn paging_properties(text: &str, properties: &[Member]) -> Vec<PagingProperty> {
    let mut paging: Vec<PagingProperty> = properties
        .iter()
        .filter_map(|member| {
            let name = unescape(member.key.slice(text));
            let role = PagingRole::of(&name)?;
            let number = |key: &str| walk::member_value(text, member.value, key)?.slice(text).parse().ok();
            // A position begins at its smallest value.
            let first = || number("minimum").filter(|first| role != PagingRole::Limit && *first <= 1);
            let default = number("default").or_else(first);
            let argument = PagingArgument { default, ..PagingArgument::new(name) };
            Some(PagingProperty { argument, is_number: allows_numbers(text, member.value) })
        })
        .collect();
    paging.sort_unstable_by(|one, other| one.argument.name.cmp(&other.argument.name));
    paging
}

/// Returns the schema of the property for the number of items per page, if that is a number without a maximum.
pub(super) fn unbounded_limit(text: &str, properties: &[Member]) -> Option<Sequence> {
    let is_limit = |member: &&Member| {
        PagingRole::of(&unescape(member.key.slice(text))) == Some(PagingRole::Limit)
            && allows_numbers(text, member.value)
    };
    let span = properties.iter().find(is_limit)?.value;
    let members = walk::members(text, span);
    let is_bounded =
        ["maximum", "exclusiveMaximum"].iter().any(|key| walk::find_member(text, &members, key).is_some());
    (!is_bounded).then(|| Sequence::of_members(span, &members))
}

/// Returns true if the `type` of a schema is one of these, or lists one.
pub(super) fn has_type(text: &str, schema: Span, names: &[&str]) -> bool {
    walk::member_value(text, schema, "type").is_some_and(|kind| {
        let is_named = |kind: &Span| names.iter().any(|name| walk::string_equals(kind.slice(text), name));
        walk::items(text, kind).iter().chain([&kind]).any(is_named)
    })
}

/// Returns true if a schema allows whole numbers by its `type`, or by one of its alternatives.
fn allows_numbers(text: &str, schema: Span) -> bool {
    let is_numeric = |schema: Span| has_type(text, schema, &["integer", "number"]);
    let alternatives = |name: &str| {
        let alternatives = walk::member_value(text, schema, name);
        let alternatives = alternatives.filter(|span| walk::kind(text, *span) == JsonKind::Array);
        alternatives.map(|span| walk::items(text, span)).unwrap_or_default()
    };
    let all = alternatives("anyOf").into_iter().chain(alternatives("oneOf"));
    is_numeric(schema) || all.into_iter().any(is_numeric)
}
