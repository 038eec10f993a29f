//! The built-in tools, their names among the upstream's tools, and what is added to the tool list: they
//! themselves, and controls on tools that return lists.

use std::sync::Arc;

use portion_core::paging::PagingRole;
use portion_core::policy::MetadataStyle;
use portion_core::view::ControlNames;
use portion_json::scan::{JsonKind, quote, unescape};
use portion_json::span::Span;
use portion_policy::client::{MAX_INPUT_SCHEMA_BYTES, TOOL_LIMIT_META_KEY};
use portion_policy::endpoint::{ListingOptions, ListingStyle};

use super::super::walk::{self, Sequence, Splice};
use super::{AdvertisedControls, PagingProperty, ToolListingPolicy, UpstreamTool};

/// Bytes of a maximum that may be added to a property, `,"maximum":` and a number.
const MAX_BOUND_BYTES: usize = 32;

/// Largest page number and offset that are listed. Larger ones are accepted.
const MAX_POSITION: u32 = i32::MAX as u32;

/// Schema of a control that is a text.
const STRING: &str = r#"{"type":"string"}"#;

/// Returns what is added to the list of a server's tools for these options.
pub fn builtin_listings(listing: &ListingOptions) -> Vec<String> {
    let mut names = BuiltinToolNames::new(listing);
    names.assign(|_| false, true).iter().map(|(own, name)| builtin_listing(*own, name)).collect()
}

/// Returns the listing of a built-in tool.
pub(super) fn builtin_listing(own: BuiltinTool, name: &str) -> String {
    const READ: &str = concat!(
        r#","description":"Reads more or all of a result; without cursor: lists results","#,
        r#""inputSchema":{"type":"object","properties":{"#,
        r#""cursor":{"type":"string"},"#,
        r#""fields":{"type":"string"},"#,
        r#""path":{"type":"string"},"#,
        r#""lines":{"type":"string"},"#,
        r#""all":{"type":"boolean"}"#,
        r#"}},"annotations":{"readOnlyHint":true}}"#,
    );
    const QUERY: &str = concat!(
        r#","description":"Queries a result, as query of tools: SQL over items (column per field; item: JSON), "#,
        r#"entries, lines(number,text); text or /regex/. with {b: cursor}: b.items","#,
        r#""inputSchema":{"type":"object","properties":{"#,
        r#""cursor":{"type":"string"},"#,
        r#""query":{"type":"string"},"#,
        // Gemini refuses a list of tools that has an object without properties.
        r#""with":{"type":"object","properties":{"b":{"type":"string"}}}"#,
        r#"}},"annotations":{"readOnlyHint":true}}"#,
    );
    const DESCRIBE: &str = concat!(
        r#","description":"Returns the full definitions of tools. "#,
        r#"The list shows one line of each: call this before you first use a tool.","#,
        r#""inputSchema":{"type":"object","properties":{"#,
        r#""names":{"type":"array","items":{"type":"string"}}"#,
        r#"},"required":["names"]},"#,
        r#""annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}"#,
    );
    let rest = match own {
        BuiltinTool::Read => READ,
        BuiltinTool::Query => QUERY,
        BuiltinTool::Describe => DESCRIBE,
    };
    format!("{{\"name\":\"{name}\"{rest}")
}

/// Adds the controls to a tool's input schema, except those whose names are taken by its own properties. They are listed as
/// short as schemas of strict clients allow. Where notices have page numbers, `page` and `offset` are among them, with bounds.
pub(super) fn add_controls(
    tool: &mut UpstreamTool,
    splice: &mut Splice<'_>,
    offer: &ToolListingPolicy,
    (wanted, names): (AdvertisedControls, &ControlNames),
) {
    let Some(input) = &tool.input_schema else { return };
    let ToolListingPolicy { max_page_size, default_page_size, render_options, .. } = offer;
    let mut controls: Vec<(&str, String)> = Vec::new();
    if wanted == AdvertisedControls::All {
        let is_numbered = render_options.metadata_style == MetadataStyle::Snake;
        let size = format!(r#","minimum":1,"maximum":{max_page_size},"default":{default_page_size}"#);
        let bounds = |bounds: String| if is_numbered { bounds } else { String::new() };
        controls.push(("limit", format!(r#"{{"type":"integer"{}}}"#, bounds(size))));
        controls.extend(["cursor", "fields"].map(|name| (name, STRING.to_owned())));
        if is_numbered {
            let numbers = [("page", 1, "excludes offset"), ("offset", 0, "items to skip")];
            controls.extend(numbers.map(|(name, first, about)| {
                let bounds = format!(r#""minimum":{first},"maximum":{MAX_POSITION},"default":{first}"#);
                (name, format!(r#"{{"type":"integer",{bounds},"description":"{about}"}}"#))
            }));
        }
    }
    // What is too small to be shortened is no subject of a query.
    let takes_query =
        wanted != AdvertisedControls::None && render_options.techniques.query && !tool.is_bounded;
    let query = names.query().filter(|_| takes_query);
    controls.extend(query.map(|name| (name, STRING.to_owned())));
    let mut remaining_bytes = MAX_INPUT_SCHEMA_BYTES
        .saturating_sub(input.schema.span.len() + MAX_BOUND_BYTES + r#","properties":{}"#.len());
    let mut advertised = Vec::new();
    let mut added = Vec::new();
    for (name, schema) in controls {
        let property = format!("{}:{schema}", quote(name));
        let fits = remaining_bytes.checked_sub(property.len() + 1);
        if let Some(left) = fits.filter(|_| !tool.has_property(name)) {
            remaining_bytes = left;
            advertised.push(name.to_owned());
            added.push(property);
        }
    }
    if added.is_empty() {
        return;
    }
    match &input.properties {
        Some(properties) => splice.append(properties, &added),
        None => splice.append(&input.schema, &[format!("\"properties\":{{{}}}", added.join(","))]),
    }
    // Whoever joins a result finds it beside the query of the query tool.
    if query.is_some_and(|query| advertised.iter().any(|name| name == query)) && !tool.has_property("with") {
        advertised.push("with".to_owned());
    }
    tool.advertised_controls.extend(advertised);
}

/// Adds to the description of a tool how its records are paged, where notices have page numbers: the schema of the tool
/// may state the default of its server.
pub(super) fn describe_pages(splice: &mut Splice<'_>, text: &str, tool: Span, offer: &ToolListingPolicy) {
    if offer.render_options.metadata_style != MetadataStyle::Snake {
        return;
    }
    let ToolListingPolicy { default_page_size, max_page_size, token_budget, .. } = offer;
    let told = format!(
        "Returns {default_page_size} records unless limit says otherwise, {max_page_size} at most, within {token_budget} \
         tokens; next_cursor leads to the rest."
    );
    let own = walk::member_value(text, tool, "description");
    if let Some(own) = own.filter(|own| walk::kind(text, *own) == JsonKind::String) {
        let description = unescape(own.slice(text));
        splice.replace(own, quote(format!("{}\n\n{told}", description.trim_end()).trim_start()));
    }
}

/// Adds the largest accepted value to the tool's own property for the size of a page, if that states none.
pub(super) fn bound_own_limit(tool: &UpstreamTool, splice: &mut Splice<'_>, max_limit: usize) {
    let Some(input) = &tool.input_schema else { return };
    let is_limit = |own: &&PagingProperty| PagingRole::of(&own.argument.name) == Some(PagingRole::Limit);
    let default = tool.paging.iter().find(is_limit).and_then(|own| own.argument.default);
    if let Some(schema) = &input.unbounded_limit
        && default.is_none_or(|default| default <= max_limit as u64)
        && input.schema.span.len() + MAX_BOUND_BYTES <= MAX_INPUT_SCHEMA_BYTES
    {
        splice.append(schema, &[format!("\"maximum\":{max_limit}")]);
    }
}

/// Adds the largest result in characters to the `_meta` of a listed tool, unless it states one.
pub(in super::super) fn state_result_limit(splice: &mut Splice<'_>, text: &str, tool: Span, limit: usize) {
    let sequence = |object: Span| Sequence::of_members(object, &walk::members(text, object));
    let member = format!("\"{TOOL_LIMIT_META_KEY}\":{limit}");
    match walk::member_value(text, tool, "_meta") {
        None => splice.append(&sequence(tool), &[format!("\"_meta\":{{{member}}}")]),
        Some(meta)
            if walk::kind(text, meta) == JsonKind::Object
                && walk::member_value(text, meta, TOOL_LIMIT_META_KEY).is_none() =>
        {
            splice.append(&sequence(meta), &[member]);
        }
        Some(_) => {}
    }
}

/// A built-in tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum BuiltinTool {
    /// Returns further parts of a shortened result.
    Read,
    /// Answers queries on a shortened result.
    Query,
    /// Describes tools in full.
    Describe,
}

/// Owner of a tool name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum ToolOwner {
    Builtin(BuiltinTool),
    Upstream,
    /// Unknown until all upstream tools are listed.
    Unknown,
}

/// Requested and assigned names of the built-in tools.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct BuiltinToolNames {
    requested: Vec<NamedTool>,
    /// Names in use; `None` until all upstream tools are listed.
    pub(super) assigned: Option<Vec<NamedTool>>,
}

type NamedTool = (BuiltinTool, Arc<str>);

impl BuiltinToolNames {
    pub(super) fn new(listing: &ListingOptions) -> Self {
        let mut requested = vec![(BuiltinTool::Read, listing.read_tool.as_str().into())];
        requested.extend(listing.query_tool.as_deref().map(|name| (BuiltinTool::Query, name.into())));
        if listing.style == ListingStyle::Lazy {
            requested.push((BuiltinTool::Describe, listing.describe_tool.as_str().into()));
        }
        Self { requested, assigned: None }
    }

    /// Assigns a name to each built-in tool for which `is_taken` returns false. Without tools of the upstream there is
    /// nothing to describe.
    pub(super) fn assign(
        &mut self,
        is_taken: impl Fn(&str) -> bool,
        has_upstream_tools: bool,
    ) -> &[NamedTool] {
        let mut assigned: Vec<NamedTool> = Vec::new();
        for (tool, requested) in &self.requested {
            if *tool == BuiltinTool::Describe && !has_upstream_tools {
                continue;
            }
            let names =
                std::iter::once(requested.to_string()).chain((2..).map(|n| format!("{requested}_{n}")));
            let is_free =
                |name: &String| !is_taken(name) && assigned.iter().all(|(_, other)| **other != **name);
            let name = names.into_iter().find(is_free).unwrap_or_else(|| requested.to_string());
            assigned.push((*tool, name.into()));
        }
        self.assigned.insert(assigned)
    }

    pub(super) fn clear(&mut self) {
        self.assigned = None;
    }

    /// Returns the name of the reading tool; the requested one until names are assigned.
    pub(in super::super) fn read_tool(&self) -> Arc<str> {
        let (_, name) = &self.assigned.as_ref().unwrap_or(&self.requested)[0];
        Arc::clone(name)
    }

    /// Returns the name of the query tool, if it is listed.
    pub(in super::super) fn query_tool(&self) -> Option<Arc<str>> {
        let named = self.assigned.as_ref().unwrap_or(&self.requested);
        named.iter().find(|(tool, _)| *tool == BuiltinTool::Query).map(|(_, name)| Arc::clone(name))
    }

    pub(in super::super) fn owner(&self, name: &str) -> ToolOwner {
        match &self.assigned {
            Some(assigned) => {
                let ours = assigned.iter().find(|(_, ours)| **ours == *name);
                ours.map_or(ToolOwner::Upstream, |(tool, _)| ToolOwner::Builtin(*tool))
            }
            None if self.requested.iter().any(|(_, requested)| may_be_assigned_for(name, requested)) => {
                ToolOwner::Unknown
            }
            None => ToolOwner::Upstream,
        }
    }
}

/// Returns true if `name` can be assigned in place of `requested`.
fn may_be_assigned_for(name: &str, requested: &str) -> bool {
    name.strip_prefix(requested).is_some_and(|number| {
        let digits = number.strip_prefix('_');
        number.is_empty() || digits.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use portion_json::scan::JsonReader;
    use portion_tokens::Tokenizer;

    use super::super::super::walk::{self, Splice};
    use super::{
        AdvertisedControls, BuiltinTool, BuiltinToolNames, ControlNames, ListingOptions, ListingStyle,
        MAX_INPUT_SCHEMA_BYTES, MetadataStyle, ToolListingPolicy, ToolOwner, UpstreamTool, add_controls,
        bound_own_limit, builtin_listing, describe_pages,
    };

    fn add(tool: &mut UpstreamTool, splice: &mut Splice<'_>, offer: &ToolListingPolicy) {
        let names = ControlNames::default();
        add_controls(tool, splice, offer, (AdvertisedControls::All, &names));
    }

    fn offer() -> ToolListingPolicy {
        ToolListingPolicy { max_page_size: 200, ..ToolListingPolicy::default() }
    }

    fn check(schema: &str, expect: &str) {
        let text = format!(r#"{{"name":"list_x","inputSchema":{schema}}}"#);
        let mut tool = UpstreamTool::parse(&text, walk::document_span(&text)).expect("a tool");
        let mut splice = Splice::new(&text);
        add(&mut tool, &mut splice, &offer());
        let out = splice.apply();
        let inner = out.trim_start_matches(r#"{"name":"list_x","inputSchema":"#).trim_end_matches('}');
        let keys: Vec<&str> = ["limit", "cursor", "fields", "query", "with"]
            .into_iter()
            .filter(|name| tool.is_gateway_control(name))
            .collect();
        assert_eq!(keys.join(","), expect, "{inner}");
        JsonReader::new(&out).skip().expect("JSON");
        assert!(schema.len() > MAX_INPUT_SCHEMA_BYTES || inner.len() <= MAX_INPUT_SCHEMA_BYTES);
    }

    #[test]
    fn adds_controls_where_no_property_has_the_name() {
        check(r#"{"type":"object","properties":{"q":{}}}"#, "limit,cursor,fields,query,with");
        check(r#"{"type":"object"}"#, "limit,cursor,fields,query,with");
        check("{}", "limit,cursor,fields,query,with");
        check(r#"{"type":"object","properties":{"cursor":{},"limit":{},"query":{}}}"#, "fields,with");
        check(r#"{"type":"object","properties":{},"allOf":[{"properties":{"limit":{}}}]}"#, "");
        check("true", "");
    }

    #[test]
    fn pages_are_described_where_notices_have_their_numbers() {
        let text = r#"{"name":"get_data","description":"Returns \"data\".\n","inputSchema":{}}"#;
        let described = |style| {
            let mut offer = ToolListingPolicy { default_page_size: 20, token_budget: 9_500, ..offer() };
            offer.render_options.metadata_style = style;
            let mut splice = Splice::new(text);
            describe_pages(&mut splice, text, walk::document_span(text), &offer);
            splice.apply()
        };
        assert_eq!(described(MetadataStyle::Camel), text);
        let told = r#"Returns \"data\".\n\nReturns 20 records unless limit says otherwise, 200 at most, within 9500 tokens; next_cursor leads to the rest."#;
        assert!(described(MetadataStyle::Snake).contains(told), "{}", described(MetadataStyle::Snake));
    }

    #[test]
    fn page_numbers_are_listed_where_notices_have_them() {
        let text = r#"{"name":"list_x","inputSchema":{"properties":{"page":{}}}}"#;
        let mut tool = UpstreamTool::parse(text, walk::document_span(text)).expect("a tool");
        let mut offer = ToolListingPolicy { default_page_size: 20, ..offer() };
        offer.render_options.metadata_style = MetadataStyle::Snake;
        let mut splice = Splice::new(text);
        add(&mut tool, &mut splice, &offer);
        let listed = splice.apply();
        assert!(listed.contains(r#""maximum":200,"default":20"#), "{listed}");
        assert!(
            listed.contains(r#""page":{},"limit""#) && listed.contains(r#""offset":{"type""#),
            "{listed}"
        );
    }

    #[test]
    fn the_largest_accepted_limit_is_listed() {
        let check = |property: &str, expect: &str| {
            let text = format!(r#"{{"name":"x","inputSchema":{{"properties":{{"a":{{}},{property}}}}}}}"#);
            let tool = UpstreamTool::parse(&text, walk::document_span(&text)).expect("a tool");
            let mut splice = Splice::new(&text);
            bound_own_limit(&tool, &mut splice, 1_000);
            let listed = splice.apply();
            assert!(listed.contains(expect), "{listed}");
            JsonReader::new(&listed).skip().expect("JSON");
        };
        check(r#""limit":{"type":"integer"}"#, r#"{"type":"integer","maximum":1000}"#);
        check(r#""per_page":{"anyOf":[{"type":"integer"}]}"#, r#"],"maximum":1000}"#);
        check(r#""limit":{"type":"integer","default":10}"#, r#""default":10,"maximum":1000}"#);
        check(r#""limit":{"type":"integer","default":5000}"#, r#""default":5000}"#);
        check(r#""limit":{"type":"integer","maximum":100}"#, r#""maximum":100}"#);
        check(r#""limit":{"type":"string"}"#, r#"{"type":"string"}"#);
        check(r#""limit":true"#, r#""limit":true"#);
    }

    #[test]
    fn extended_schemas_stay_within_the_size_that_clients_accept() {
        for size in [
            MAX_INPUT_SCHEMA_BYTES - 300,
            MAX_INPUT_SCHEMA_BYTES - 150,
            MAX_INPUT_SCHEMA_BYTES - 40,
            MAX_INPUT_SCHEMA_BYTES + 10,
        ] {
            let schema = format!(r#"{{"description":"{}","properties":{{}}}}"#, "x".repeat(size - 35));
            let text = format!(r#"{{"name":"list_x","inputSchema":{schema}}}"#);
            let mut tool = UpstreamTool::parse(&text, walk::document_span(&text)).expect("a tool");
            let mut splice = Splice::new(&text);
            add(&mut tool, &mut splice, &offer());
            let grown = splice.apply().len() - text.len();
            assert!(grown == 0 || schema.len() + grown <= MAX_INPUT_SCHEMA_BYTES, "{size}: {grown}");
        }
    }

    #[test]
    fn builtin_tools_cost_few_tokens() {
        let cost = |tool| {
            let listed = builtin_listing(tool, "portion_tool");
            JsonReader::new(&listed).skip().expect("JSON");
            Tokenizer::O200k.counter().count(&listed)
        };
        let (read, query, describe) =
            (cost(BuiltinTool::Read), cost(BuiltinTool::Query), cost(BuiltinTool::Describe));
        assert!(read + query <= 170 && describe <= 100, "{read} + {query}, {describe}");
    }

    #[test]
    fn tool_names_are_unique() {
        let check = |read: &str, describe: &str, taken: &[&str], expect: [&str; 2]| {
            let style = ListingStyle::Lazy;
            let (read_tool, describe_tool) = (read.into(), describe.into());
            let listing = ListingOptions {
                style,
                read_tool,
                query_tool: None,
                describe_tool,
                ..ListingOptions::default()
            };
            let mut names = BuiltinToolNames::new(&listing);
            assert_eq!([names.owner(read), names.owner(describe)], [ToolOwner::Unknown; 2]);
            let assigned = names.assign(|name| taken.contains(&name), true).to_vec();
            assert_eq!(
                assigned,
                [(BuiltinTool::Read, expect[0].into()), (BuiltinTool::Describe, expect[1].into())]
            );
            assert_eq!(
                expect.map(|name| names.owner(name)),
                [ToolOwner::Builtin(BuiltinTool::Read), ToolOwner::Builtin(BuiltinTool::Describe)]
            );
            assert_eq!(&*names.read_tool(), expect[0]);
        };
        check("read", "describe", &[], ["read", "describe"]);
        check("read", "describe", &["describe", "describe_2"], ["read", "describe_3"]);
        check("same", "same", &[], ["same", "same_2"]);
        check("same", "same", &["same_2"], ["same", "same_3"]);
    }

    #[test]
    fn unlisted_builtin_tools_belong_to_the_upstream() {
        let mut full = BuiltinToolNames::new(&ListingOptions::default());
        assert_eq!(full.owner("portion_describe"), ToolOwner::Upstream);
        assert_eq!(full.owner("portion_read_7"), ToolOwner::Unknown);
        assert_eq!(full.owner("portion_reader"), ToolOwner::Upstream);
        full.assign(|_| false, true);
        assert_eq!(full.owner("portion_read_7"), ToolOwner::Upstream);
        let mut toolless =
            BuiltinToolNames::new(&ListingOptions { style: ListingStyle::Lazy, ..ListingOptions::default() });
        toolless.assign(|_| false, false);
        assert_eq!(toolless.owner("portion_describe"), ToolOwner::Upstream);
    }
}
