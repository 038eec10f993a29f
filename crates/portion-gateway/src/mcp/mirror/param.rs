//! Parameters that a tool's schema marks with `x-mcp-header`.

use portion_core::scan::{Kind, decoded};
use portion_core::span::Span;

use super::super::walk;
use super::{PARAM, scalar};

/// The mark: its value ends the name of the field.
const MARK: &str = "x-mcp-header";
/// Keywords whose value is a schema, a list of such, or has such as members (JSON Schema 2020-12). `properties` is not
/// among them: through it alone a mark may be reached.
const SINGLE: [&str; 11] = [
    "items",
    "contains",
    "unevaluatedItems",
    "additionalProperties",
    "propertyNames",
    "unevaluatedProperties",
    "not",
    "if",
    "then",
    "else",
    "contentSchema",
];
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
const MAPS: [&str; 4] = ["patternProperties", "dependentSchemas", "$defs", "definitions"];
/// Schemas inside schemas that are looked into; nobody writes a tool's parameters deeper.
const DEPTH: usize = 64;

/// A marked parameter.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Param {
    /// The properties that lead to it.
    path: Vec<String>,
    mark: String,
}

/// A schema inside the tool's.
struct Place {
    schema: Span,
    /// The properties that lead there; `None` where there is another keyword on the way.
    path: Option<Vec<String>>,
    depth: usize,
}

impl Param {
    /// The name of its field.
    pub(super) fn field(&self) -> String {
        format!("{PARAM}{}", self.mark.to_ascii_lowercase())
    }

    /// What it is in a call's arguments, as text.
    pub(super) fn value(&self, text: &str, arguments: Span) -> Option<String> {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        scalar(text, walk::at(text, arguments, &path)?)
    }
}

/// The marked parameters of a schema, in order. None where a single mark is not as it may be: then servers look at no
/// field of this tool.
pub(super) fn marked(text: &str, schema: Span) -> Vec<Param> {
    if !schema.of(text).contains(MARK) {
        return Vec::new();
    }
    let mut found: Vec<Param> = Vec::new();
    let mut places = vec![Place { schema, path: Some(Vec::new()), depth: 0 }];
    while let Some(place) = places.pop() {
        let members = walk::members(text, place.schema);
        if let Some(mark) = walk::find(text, &members, MARK) {
            let Some(param) = param(text, &place, mark.value) else { return Vec::new() };
            if found.iter().any(|other| other.mark.eq_ignore_ascii_case(&param.mark)) {
                return Vec::new();
            }
            found.push(param);
        }
        if place.depth < DEPTH {
            // The last comes out first.
            let first = places.len();
            for member in &members {
                inside(text, &place, *member, &mut places);
            }
            places[first..].reverse();
        }
    }
    found
}

fn param(text: &str, place: &Place, mark: Span) -> Option<Param> {
    let path = place.path.clone().filter(|path| !path.is_empty())?;
    let mark = (walk::kind(text, mark) == Kind::String).then(|| scalar(text, mark)).flatten()?;
    let kind = walk::string(text, place.schema, "type")?;
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let good = !mark.is_empty() && mark.bytes().all(is_token);
    (good && matches!(kind.as_str(), "string" | "integer" | "boolean")).then_some(Param { path, mark })
}

/// The schemas that a member of a schema holds.
fn inside(text: &str, place: &Place, member: walk::Member, places: &mut Vec<Place>) {
    let depth = place.depth + 1;
    let named = |names: &[&str]| names.iter().any(|name| walk::is(member.key.of(text), name));
    if walk::is(member.key.of(text), "properties") {
        for property in walk::members(text, member.value) {
            let step = decoded(property.key.of(text));
            let path = place.path.as_ref().map(|path| [path.as_slice(), &[step]].concat());
            places.push(Place { schema: property.value, path, depth });
        }
    } else if named(&SINGLE) {
        places.push(Place { schema: member.value, path: None, depth });
    } else if named(&LISTS) {
        let items = walk::items(text, member.value).into_iter();
        places.extend(items.map(|schema| Place { schema, path: None, depth }));
    } else if named(&MAPS) {
        let members = walk::members(text, member.value).into_iter();
        places.extend(members.map(|member| Place { schema: member.value, path: None, depth }));
    }
}
