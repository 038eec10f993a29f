//! The schemas inside a schema, told by the keywords that lead to them: a property may well be called `items`.

use std::collections::HashSet;

use portion_core::scan::{JsonKind, unescape};
use portion_core::span::Span;

use super::super::walk::{self, Member};

/// Schemas nested deeper than this are not looked into.
const MAX_DEPTH: usize = 64;

/// Lead to a schema.
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
/// Lead to an array of schemas.
pub(super) const SCHEMA_ARRAY_KEYWORDS: [&str; 5] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];
/// Lead to an object of schemas.
pub(super) const SCHEMA_MAP_KEYWORDS: [&str; 4] =
    ["properties", "patternProperties", "dependentSchemas", "dependencies"];
/// Lead to an object of schemas that apply where they are referred to.
pub(super) const DEFINITION_KEYWORDS: [&str; 2] = ["$defs", "definitions"];

/// Say where something else lies, in a way that is not followed here.
const UNFOLLOWED_KEYWORDS: [&str; 7] =
    ["$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary"];
/// Mean different things in the drafts that are in use, or nothing in some.
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
/// Say the same beside `$ref` in every draft: nothing that validates.
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

/// A schema, or one inside it, that is an object.
#[derive(Debug)]
pub(super) struct Subschema {
    pub span: Span,
    pub members: Vec<Member>,
    /// The name of what it describes, where that has one.
    pub name: Option<String>,
    pub is_root: bool,
    /// Where the root's definition begins that it is in.
    definition_start: Option<u32>,
}

/// A schema with all inside it.
#[derive(Debug)]
pub(super) struct SchemaTree<'a> {
    text: &'a str,
    pub subschemas: Vec<Subschema>,
    /// What the references in it lead to; `None` where that is not known.
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
    /// Reads the schema at a place. `name` is that of what it describes.
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

    /// Whether members can be left out without a reference that leads nowhere afterwards.
    pub(super) fn can_remove_members(&self) -> bool {
        self.references.is_some()
    }

    /// Whether every draft of JSON Schema from draft-07 on reads it alike.
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

    /// The definitions of the root that nothing refers to, by where they begin.
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

/// The references to definitions; `None` where some reference cannot be followed here.
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
    // One in a place where no schema is known to be may count on anything.
    let spelled = root.slice(text).matches("\"$ref\"").count();
    (spelled == found).then_some(references)
}

/// The definition that a reference leads to, if one; `None` where it leads to who knows where.
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
    let name = name.replace("~1", "/").replace("~0", "~");
    if DEFINITION_KEYWORDS.contains(&holder) {
        Some(Some((holder.to_owned(), name)))
    } else {
        (holder == "properties").then_some(None)
    }
}
