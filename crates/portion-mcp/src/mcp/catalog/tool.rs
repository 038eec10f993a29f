//! Parses a listed tool.

use std::collections::HashSet;

use portion_core::view::CONTROLS;
use portion_json::scan::{JsonKind, unescape};
use portion_json::span::Span;
use portion_policy::client::TOOL_LIMIT_META_KEY;
use portion_policy::endpoint::AdvertisePolicy;
use portion_policy::tool_description::{CONTROL_MARK, RETURNS_LIST_META_KEY};
use portion_text::names::matches_pattern;

use super::super::request_headers::{self, HeaderParam};
use super::super::walk::{self, Sequence};
use super::schema::{self, PagingProperty, has_type, paging_properties};

/// Keywords that may define properties outside `properties`.
const INDIRECT_PROPERTY_KEYWORDS: [&str; 10] = [
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "patternProperties",
    "propertyNames",
    "dependentSchemas",
    "dependencies",
];
/// Words of tool names that suggest a list: the first ones, or those after the name of a service.
const LIST_NAME_WORDS: [&[&str]; 5] = [&["list"], &["search"], &["find"], &["query"], &["get", "all"]];
/// First words of tool names that are no name of a service, of tools that may only read.
const VERBS: [&str; 17] = [
    "analyze", "build", "check", "describe", "do", "execute", "explain", "export", "fetch", "format",
    "generate", "get", "open", "read", "run", "show", "validate",
];
/// First words of the names of tools that write.
const WRITE_VERBS: [&str; 27] = [
    "add", "apply", "cancel", "clear", "close", "copy", "create", "delete", "disable", "edit", "enable",
    "import", "insert", "install", "move", "post", "put", "remove", "rename", "reset", "save", "send", "set",
    "start", "stop", "update", "write",
];
/// Words in the names of tools that return images or sound.
const MEDIA_WORDS: [&str; 10] =
    ["audio", "image", "images", "media", "photo", "picture", "screenshot", "sound", "thumbnail", "video"];

/// Controls with which a tool is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AdvertisedControls {
    None,
    /// A query alone: the tool may return much, but no list.
    Query,
    All,
}

/// A tool of the upstream.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in super::super) struct UpstreamTool {
    pub name: String,
    /// Size of its listing in bytes, as the upstream wrote it.
    pub(super) listing_bytes: usize,
    /// Minified full listing, if the tool is listed in one line.
    pub(super) full_listing: Option<Box<str>>,
    pub read_only: bool,
    pub idempotent: bool,
    /// True if it may write, by its hints or its name.
    pub(super) writes: bool,
    /// True if it has an `outputSchema`, so that its results have `structuredContent`.
    pub has_output_schema: bool,
    /// Arguments that header fields repeat.
    pub header_params: Vec<HeaderParam>,
    /// Largest result in characters, from the tool's [`TOOL_LIMIT_META_KEY`].
    pub max_result_chars: Option<usize>,
    /// True if its results are too small to be shortened, by its `outputSchema`, which is listed unchanged.
    pub is_bounded: bool,
    /// True if it returns a list, by its name, its `outputSchema`, or the response of its operation in a REST API; never
    /// learned from replies.
    pub(super) is_list_like: bool,
    /// Spans of its `inputSchema`. `None` once it is listed, because they belong to the text of the list.
    pub(super) input_schema: Option<InputSchema>,
    /// Controls that were added to its schema, by their listed names.
    pub(super) advertised_controls: Vec<String>,
    properties: HashSet<String>,
    /// The tool's own arguments that page its results, sorted by name.
    pub paging: Vec<PagingProperty>,
    /// True if its schema lists its properties and does not explicitly allow others.
    pub(super) has_closed_schema: bool,
}

/// Spans of an `inputSchema` to which properties can be added.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct InputSchema {
    pub schema: Sequence,
    pub properties: Option<Sequence>,
    /// Schema of the number of items per page, if it states no maximum.
    pub unbounded_limit: Option<Sequence>,
}

impl UpstreamTool {
    /// Parses a tool of a list.
    pub(super) fn parse(text: &str, tool: Span) -> Option<Self> {
        let name = walk::string_member(text, tool, "name")?;
        let given =
            |hint: &str| walk::value_at(text, tool, &["annotations", hint]).map(|value| value.slice(text));
        let hint = |name: &str| given(name) == Some("true");
        let reads = given("readOnlyHint").map(|given| given == "true");
        let output_schema = walk::member_value(text, tool, "outputSchema");
        let list_like = output_schema.is_some_and(|schema| has_array(text, schema))
            || walk::value_at(text, tool, &["_meta", RETURNS_LIST_META_KEY])
                .is_some_and(|value| value.slice(text) == "true")
            || (has_list_name(&name) && !output_schema.is_some_and(|schema| is_text_alone(text, schema)));
        let has_write_name = reads.is_none() && begins_with_verb(&name, &WRITE_VERBS);
        let mut read = Self {
            writes: reads == Some(false) || reads.is_none() && hint("destructiveHint") || has_write_name,
            has_output_schema: output_schema.is_some(),
            name,
            listing_bytes: tool.len(),
            read_only: hint("readOnlyHint"),
            idempotent: hint("idempotentHint"),
            max_result_chars: walk::value_at(text, tool, &["_meta", TOOL_LIMIT_META_KEY])
                .and_then(|limit| limit.slice(text).parse().ok())
                .filter(|limit| *limit > 0),
            is_list_like: list_like,
            ..Self::default()
        };
        if let Some(schema) = walk::member_value(text, tool, "inputSchema") {
            read.header_params = request_headers::from_schema(text, schema);
            read.parse_input_schema(text, schema);
        }
        Some(read)
    }

    /// Returns true if a parameter is a control: it was advertised, or cannot belong to the tool. A tool that may write gets all
    /// others, and rejects those that it does not have.
    pub(in super::super) fn is_gateway_control(&self, control: &str) -> bool {
        let is_unknown = self.has_closed_schema && !self.properties.contains(control);
        self.advertises(control) || is_unknown && !self.writes
    }

    /// Returns true if it only reads, by its hints or its name: its arguments may be changed.
    pub(in super::super) fn reads(&self) -> bool {
        self.read_only || self.is_list_like && !self.writes
    }

    /// Returns the controls that a policy selects for the tool: those that read a list get all, others that read only a query.
    pub(super) fn advertised(&self, policy: &AdvertisePolicy) -> AdvertisedControls {
        let all =
            |is_selected: bool| if is_selected { AdvertisedControls::All } else { AdvertisedControls::None };
        match policy {
            AdvertisePolicy::Lists if self.writes || self.is_media_reader() => AdvertisedControls::None,
            AdvertisePolicy::Lists if self.is_list_like => AdvertisedControls::All,
            AdvertisePolicy::Lists if self.read_only => AdvertisedControls::Query,
            AdvertisePolicy::Lists | AdvertisePolicy::None => AdvertisedControls::None,
            AdvertisePolicy::All => AdvertisedControls::All,
            AdvertisePolicy::Named(patterns) => {
                all(patterns.iter().any(|pattern| matches_pattern(pattern, &self.name)))
            }
        }
    }

    /// Returns true if the tool returns images or sound, by its name. A list of them is text.
    fn is_media_reader(&self) -> bool {
        !has_list_name(&self.name)
            && name_words(&self.name).iter().any(|word| MEDIA_WORDS.contains(&word.as_str()))
    }

    /// Returns true if a parameter was advertised as a control.
    pub(in super::super) fn advertises(&self, control: &str) -> bool {
        self.advertised_controls.iter().any(|name| name == control)
    }

    /// Returns true if the tool has an argument of this name that is no control.
    pub(in super::super) fn owns(&self, argument: &str) -> bool {
        self.has_property(argument) && !self.advertises(argument)
    }

    /// Returns true if the schema that the server listed has a property of this name.
    pub(in super::super) fn has_property(&self, property: &str) -> bool {
        self.properties.contains(property)
    }

    fn parse_input_schema(&mut self, text: &str, schema: Span) {
        let members = walk::members(text, schema);
        let value = |name: &str| walk::find_member(text, &members, name).map(|member| member.value);
        let is_object = walk::kind(text, schema) == JsonKind::Object
            && value("type").is_none_or(|kind| walk::string_equals(kind.slice(text), "object"));
        if !is_object || INDIRECT_PROPERTY_KEYWORDS.iter().any(|name| value(name).is_some()) {
            return;
        }
        let closing = |name: &str| value(name).is_none_or(|value| value.slice(text) == "false");
        let properties = value("properties");
        if properties.is_some_and(|span| walk::kind(text, span) != JsonKind::Object) {
            return;
        }
        self.has_closed_schema =
            properties.is_some() && closing("additionalProperties") && closing("unevaluatedProperties");
        let mut unbounded_limit = None;
        let properties = properties.map(|whole| {
            let listed = walk::members(text, whole);
            self.properties = listed.iter().map(|member| unescape(member.key.slice(text))).collect();
            self.paging = paging_properties(text, &listed);
            unbounded_limit = schema::unbounded_limit(text, &listed);
            let is_marked = |control: &&'static str| {
                let property = walk::find_member(text, &listed, control);
                let mark = property.and_then(|own| walk::member_value(text, own.value, CONTROL_MARK));
                mark.is_some_and(|mark| mark.slice(text) == "true")
            };
            self.advertised_controls = CONTROLS.into_iter().filter(is_marked).map(str::to_owned).collect();
            Sequence::of_members(whole, &listed)
        });
        let schema = Sequence::of_members(schema, &members);
        self.input_schema = Some(InputSchema { schema, properties, unbounded_limit });
    }
}

fn has_list_name(name: &str) -> bool {
    begins_with(&name_words(name), |words| LIST_NAME_WORDS.iter().any(|listing| starts_with(words, listing)))
}

fn begins_with_verb(name: &str, verbs: &[&str]) -> bool {
    begins_with(&name_words(name), |words| words.first().is_some_and(|first| verbs.contains(&first.as_str())))
}

/// Returns true if words begin so, or those after the name of a service.
fn begins_with(words: &[String], is_beginning: impl Fn(&[String]) -> bool) -> bool {
    let is_verb = |first: &String| VERBS.contains(&first.as_str()) || WRITE_VERBS.contains(&first.as_str());
    let has_service = words.first().is_some_and(|first| !is_verb(first));
    is_beginning(words) || (has_service && words.get(1..).is_some_and(is_beginning))
}

fn starts_with(words: &[String], beginning: &[&str]) -> bool {
    words.len() >= beginning.len() && words.iter().zip(beginning).all(|(word, expected)| word == expected)
}

/// Splits a name in snake, kebab, dotted or camel case into lowercase words.
fn name_words(name: &str) -> Vec<String> {
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

/// Returns true if the schema is an object with text as its only member.
fn is_text_alone(text: &str, schema: Span) -> bool {
    let properties = walk::member_value(text, schema, "properties");
    let properties = properties.map(|span| walk::members(text, span)).unwrap_or_default();
    let is_text = |property: Span| {
        walk::member_value(text, property, "type")
            .is_some_and(|kind| walk::string_equals(kind.slice(text), "string"))
    };
    matches!(&properties[..], [only] if is_text(only.value))
}

/// Returns true if the schema is an array, or an object with an array member.
fn has_array(text: &str, schema: Span) -> bool {
    let is_array = |schema: Span| has_type(text, schema, &["array"]);
    let properties = walk::member_value(text, schema, "properties");
    let properties = properties.map(|span| walk::members(text, span)).unwrap_or_default();
    is_array(schema) || properties.iter().any(|member| is_array(member.value))
}

#[cfg(test)]
mod tests {
    use super::super::super::walk;
    use portion_policy::endpoint::AdvertisePolicy;

    use super::{AdvertisedControls, UpstreamTool, has_list_name};

    /// `expect`: for each of the three names, whether it is a control.
    fn check(schema: &str, expect: [bool; 3]) {
        let text = format!(r#"{{"name":"x","inputSchema":{schema}}}"#);
        let tool = UpstreamTool::parse(&text, walk::document_span(&text)).expect("a tool");
        assert_eq!(["limit", "cursor", "raw"].map(|name| tool.is_gateway_control(name)), expect, "{schema}");
    }

    #[test]
    fn finds_pagination_arguments() {
        let schema =
            r#"{"type":"object","properties":{"q":{},"pageToken":{},"per_page":{},"page":{},"fields":{}}}"#;
        let text = format!(r#"{{"name":"x","inputSchema":{schema}}}"#);
        let tool = UpstreamTool::parse(&text, walk::document_span(&text)).expect("a tool");
        let names: Vec<&str> = tool.paging.iter().map(|own| own.argument.name.as_str()).collect();
        assert_eq!(names, ["page", "pageToken", "per_page"]);
    }

    #[test]
    fn finds_lists_by_schemas() {
        let check = |member: &str, expect: bool| {
            let text = format!(r#"{{"name":"issues",{member}}}"#);
            let tool = UpstreamTool::parse(&text, walk::document_span(&text)).expect("a tool");
            assert_eq!(tool.is_list_like, expect, "{member}");
        };
        check(r#""outputSchema":{"properties":{"result":{"type":"array"}}}"#, true);
        check(r#""_meta":{"openapi/returnsList":true}"#, true);
        check(r#""_meta":{"openapi/returnsList":false}"#, false);
    }

    #[test]
    fn accepts_controls_only_if_they_cannot_belong_to_the_tool() {
        check(r#"{"type":"object","properties":{"q":{}}}"#, [true; 3]);
        check(r#"{"type":"object","properties":{}}"#, [true; 3]);
        check(r#"{"properties":{"l\u0069mit":{}},"additionalProperties":false}"#, [false, true, true]);
        check(r#"{"type":"object"}"#, [false; 3]);
        check(r#"{"type":"object","properties":{},"additionalProperties":true}"#, [false; 3]);
        check(r#"{"type":"object","properties":{},"additionalProperties":{}}"#, [false; 3]);
        check(r#"{"type":"object","properties":{},"unevaluatedProperties":{}}"#, [false; 3]);
        let names = r#"{"type":"object","properties":{"p":{}},"propertyNames":{"enum":["p"]}}"#;
        let text = format!(r#"{{"name":"list_prop","inputSchema":{names}}}"#);
        let tool = UpstreamTool::parse(&text, walk::document_span(&text)).expect("a tool");
        assert!(tool.input_schema.is_none(), "no parameter can be added");
        check(r#"{"type":"object","properties":{},"anyOf":[{"properties":{"raw":{}}}]}"#, [false; 3]);
        check(r##"{"$ref":"#/$defs/A","properties":{}}"##, [false; 3]);
        check("true", [false; 3]);
        check(r#"{"type":"object","properties":[]}"#, [false; 3]);
    }

    #[test]
    fn tools_that_read_are_listed_with_a_query() {
        let check = |name: &str, hints: &str, expect: AdvertisedControls| {
            let text = format!(r#"{{"name":"{name}","annotations":{{{hints}}}}}"#);
            let tool = UpstreamTool::parse(&text, walk::document_span(&text)).expect("a tool");
            assert_eq!(tool.advertised(&AdvertisePolicy::Lists), expect, "{name} {hints}");
        };
        let reads = r#""readOnlyHint":true"#;
        check("list_x", "", AdvertisedControls::All);
        check("list_x", reads, AdvertisedControls::All);
        check("list_x", r#""readOnlyHint":false"#, AdvertisedControls::None);
        check("search_x", r#""destructiveHint":true"#, AdvertisedControls::None);
        check("read_file", reads, AdvertisedControls::Query);
        check("read_file", "", AdvertisedControls::None);
        check("read_media_file", reads, AdvertisedControls::None);
        check("take_screenshot", reads, AdvertisedControls::None);
        check("list_images", reads, AdvertisedControls::All);
        let array =
            r#"{"name":"create_x","outputSchema":{"type":"object","properties":{"x":{"type":"array"}}}}"#;
        let tool = UpstreamTool::parse(array, walk::document_span(array)).expect("a tool");
        assert_eq!(tool.advertised(&AdvertisePolicy::Lists), AdvertisedControls::None);
        assert_eq!(tool.advertised(&AdvertisePolicy::All), AdvertisedControls::All);
    }

    #[test]
    fn recognizes_lists_by_name() {
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
            "hostaway_search_bookings",
            "notion-search",
            "slackListChannels",
            "shop_get_all_orders",
        ] {
            assert!(has_list_name(name), "{name}");
        }
        for name in [
            "listen",
            "listing",
            "research",
            "get",
            "getalluminium",
            "get_item",
            "read_query",
            "",
            "finder",
            "create_list",
            "run_query",
            "hostaway_get_booking",
        ] {
            assert!(!has_list_name(name), "{name}");
        }
    }

    #[test]
    fn a_result_of_text_alone_is_no_list() {
        let check = |schema: &str, expect: bool| {
            let text = format!(r#"{{"name":"list_files","outputSchema":{schema}}}"#);
            let tool = UpstreamTool::parse(&text, walk::document_span(&text)).expect("a tool");
            assert_eq!(tool.is_list_like, expect, "{schema}");
        };
        check(
            r#"{"type":"object","properties":{"content":{"type":"string"}},"required":["content"]}"#,
            false,
        );
        check(r#"{"type":"object","properties":{"content":{"type":"array"}}}"#, true);
        check(r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}"#, true);
        check(r#"{"type":"object"}"#, true);
    }

    #[test]
    fn recognizes_lists_by_schema() {
        let check = |schema: &str, expect: bool| {
            let text = format!(r#"{{"name":"x","outputSchema":{schema}}}"#);
            let tool = UpstreamTool::parse(&text, walk::document_span(&text)).expect("a tool");
            assert_eq!(tool.is_list_like, expect, "{schema}");
        };
        check(r#"{"type":"array"}"#, true);
        check(r#"{"type":["null","array"]}"#, true);
        check(r#"{"type":"object","properties":{"result":{"type":"array"}}}"#, true);
        check(r#"{"type":"object","properties":{"type":{"type":"string"}}}"#, false);
        check("false", false);
    }
}
