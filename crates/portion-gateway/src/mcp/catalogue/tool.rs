//! What a listed tool says about itself, as far as it concerns us.

use std::collections::HashSet;

use portion_core::paging::walks_pages;
use portion_core::scan::{Kind, decoded};
use portion_core::span::Span;

use super::super::mirrored::{self, Mirrored};
use super::super::walk::{self, Sequence};
use crate::client::TOOL_LIMIT;

/// Keywords that may name properties elsewhere than in `properties`.
const ELSEWHERE: [&str; 9] = [
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "patternProperties",
    "dependentSchemas",
    "dependencies",
];
/// Names that begin like this promise a list.
const LISTING: [&[&str]; 5] = [&["list"], &["search"], &["find"], &["query"], &["get", "all"]];

/// One tool of the upstream.
#[derive(Debug)]
pub(in super::super) struct Tool {
    pub name: String,
    /// How long its listing is, as the upstream wrote it.
    pub(super) bytes: usize,
    /// Its listing in full and without white space, where it is listed in one line.
    pub(super) full: Option<Box<str>>,
    pub read_only: bool,
    pub idempotent: bool,
    /// Its arguments that are repeated in header fields.
    pub mirrored: Vec<Mirrored>,
    /// Characters that its results may have, by what it says of itself: [`TOOL_LIMIT`].
    pub characters: Option<usize>,
    /// Its results are too small to be shortened, by its `outputSchema`, which is listed as it came.
    pub is_bounded: bool,
    /// It answers with a list, by its name or its `outputSchema`; never learnt from replies.
    pub(super) list_like: bool,
    /// Where its `inputSchema` lies in the list.
    pub(super) input: Option<Input>,
    /// Which of our controls were added to its schema.
    pub(super) advertised: Vec<&'static str>,
    properties: HashSet<String>,
    /// Its schema lists its properties, and does not explicitly allow others.
    closed: bool,
}

/// The places of an `inputSchema` to which properties can be added.
#[derive(Debug)]
pub(super) struct Input {
    pub schema: Sequence,
    pub properties: Option<Sequence>,
}

impl Tool {
    /// Reads the tool at a place of a list.
    pub(super) fn read(text: &str, tool: Span) -> Option<Self> {
        let name = walk::string(text, tool, "name")?;
        let hint = |hint: &str| {
            walk::at(text, tool, &["annotations", hint]).is_some_and(|value| value.of(text) == "true")
        };
        let list_like = named_like_a_list(&name)
            || walk::member(text, tool, "outputSchema").is_some_and(|schema| has_array(text, schema));
        let mut read = Self {
            name,
            bytes: tool.len(),
            full: None,
            read_only: hint("readOnlyHint"),
            idempotent: hint("idempotentHint"),
            mirrored: Vec::new(),
            characters: walk::at(text, tool, &["_meta", TOOL_LIMIT])
                .and_then(|limit| limit.of(text).parse().ok())
                .filter(|limit| *limit > 0),
            is_bounded: false,
            list_like,
            input: None,
            advertised: Vec::new(),
            properties: HashSet::new(),
            closed: false,
        };
        if let Some(schema) = walk::member(text, tool, "inputSchema") {
            read.mirrored = mirrored::of_schema(text, schema);
            read.read_input(text, schema);
        }
        Some(read)
    }

    /// Whether a parameter of this name is for us: advertised, or certainly not the tool's own.
    pub(in super::super) fn gives_us(&self, control: &str) -> bool {
        self.advertises(control) || (self.closed && !self.properties.contains(control))
    }

    /// Whether a parameter of this name was advertised as ours.
    pub(in super::super) fn advertises(&self, control: &str) -> bool {
        self.advertised.contains(&control)
    }

    /// Whether its schema lists its properties, and does not explicitly allow others.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Its own arguments by which its pages are walked, in order of their names.
    pub(in super::super) fn paging(&self) -> Vec<String> {
        let mut own: Vec<String> = self.properties.iter().filter(|name| walks_pages(name)).cloned().collect();
        own.sort_unstable();
        own
    }

    /// Whether it has a property of that name itself.
    pub(in super::super) fn has(&self, property: &str) -> bool {
        self.properties.contains(property)
    }

    fn read_input(&mut self, text: &str, schema: Span) {
        let members = walk::members(text, schema);
        let value = |name: &str| walk::find(text, &members, name).map(|member| member.value);
        let is_object = walk::kind(text, schema) == Kind::Object
            && value("type").is_none_or(|kind| walk::is(kind.of(text), "object"));
        if !is_object || ELSEWHERE.iter().any(|name| value(name).is_some()) {
            return;
        }
        let closing = |name: &str| value(name).is_none_or(|value| value.of(text) == "false");
        let properties = value("properties");
        if properties.is_some_and(|span| walk::kind(text, span) != Kind::Object) {
            return;
        }
        self.closed =
            properties.is_some() && closing("additionalProperties") && closing("unevaluatedProperties");
        let properties = properties.map(|whole| {
            let listed = walk::members(text, whole);
            self.properties = listed.iter().map(|member| decoded(member.key.of(text))).collect();
            Sequence { whole, items: listed.iter().map(|member| member.whole()).collect() }
        });
        let items = members.iter().map(|member| member.whole()).collect();
        self.input = Some(Input { schema: Sequence { whole: schema, items }, properties });
    }
}

fn named_like_a_list(name: &str) -> bool {
    let words = words(name);
    LISTING.iter().any(|listing| {
        words.len() >= listing.len() && words.iter().zip(*listing).all(|(word, listing)| word == listing)
    })
}

/// The words of a name in snake, kebab, dotted or camel case, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && after_lower) {
            words.push(String::new());
        }
        after_lower = c.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether the schema is that of an array, or of an object with an array in it.
fn has_array(text: &str, schema: Span) -> bool {
    let is_array = |schema: Span| {
        walk::member(text, schema, "type").is_some_and(|kind| {
            let listed = walk::items(text, kind);
            listed.iter().chain([&kind]).any(|kind| walk::is(kind.of(text), "array"))
        })
    };
    let properties = walk::member(text, schema, "properties");
    let properties = properties.map(|span| walk::members(text, span)).unwrap_or_default();
    is_array(schema) || properties.iter().any(|member| is_array(member.value))
}

#[cfg(test)]
mod tests {
    use super::super::super::walk;
    use super::{Tool, named_like_a_list};

    /// `expect`: which of the three are ours.
    fn check(schema: &str, expect: [bool; 3]) {
        let text = format!(r#"{{"name":"x","inputSchema":{schema}}}"#);
        let tool = Tool::read(&text, walk::whole(&text)).expect("a tool");
        assert_eq!(["limit", "cursor", "raw"].map(|name| tool.gives_us(name)), expect, "{schema}");
    }

    #[test]
    fn tells_by_which_arguments_its_pages_are_walked() {
        let schema =
            r#"{"type":"object","properties":{"q":{},"pageToken":{},"per_page":{},"page":{},"fields":{}}}"#;
        let text = format!(r#"{{"name":"x","inputSchema":{schema}}}"#);
        let tool = Tool::read(&text, walk::whole(&text)).expect("a tool");
        assert_eq!(tool.paging(), ["page", "pageToken", "per_page"]);
    }

    #[test]
    fn takes_only_what_cannot_be_the_tools_own() {
        check(r#"{"type":"object","properties":{"q":{}}}"#, [true; 3]);
        check(r#"{"type":"object","properties":{}}"#, [true; 3]);
        check(r#"{"properties":{"l\u0069mit":{}},"additionalProperties":false}"#, [false, true, true]);
        check(r#"{"type":"object"}"#, [false; 3]);
        check(r#"{"type":"object","properties":{},"additionalProperties":true}"#, [false; 3]);
        check(r#"{"type":"object","properties":{},"additionalProperties":{}}"#, [false; 3]);
        check(r#"{"type":"object","properties":{},"unevaluatedProperties":{}}"#, [false; 3]);
        check(r#"{"type":"object","properties":{},"anyOf":[{"properties":{"raw":{}}}]}"#, [false; 3]);
        check(r##"{"$ref":"#/$defs/A","properties":{}}"##, [false; 3]);
        check("true", [false; 3]);
        check(r#"{"type":"object","properties":[]}"#, [false; 3]);
    }

    #[test]
    fn knows_lists_by_their_names() {
        for name in [
            "list",
            "list_items",
            "listItems",
            "list-items",
            "ListItems",
            "search",
            "find.x",
            "query_db",
            "getAllUsers",
            "get_all",
            "GET_ALL_X",
        ] {
            assert!(named_like_a_list(name), "{name}");
        }
        for name in
            ["listen", "listing", "research", "get", "getalluminium", "get_item", "read_query", "", "finder"]
        {
            assert!(!named_like_a_list(name), "{name}");
        }
    }

    #[test]
    fn knows_lists_by_their_schemas() {
        let check = |schema: &str, expect: bool| {
            let text = format!(r#"{{"name":"x","outputSchema":{schema}}}"#);
            let tool = Tool::read(&text, walk::whole(&text)).expect("a tool");
            assert_eq!(tool.list_like, expect, "{schema}");
        };
        check(r#"{"type":"array"}"#, true);
        check(r#"{"type":["null","array"]}"#, true);
        check(r#"{"type":"object","properties":{"result":{"type":"array"}}}"#, true);
        check(r#"{"type":"object","properties":{"type":{"type":"string"}}}"#, false);
        check("false", false);
    }
}
