//! Catalog of the upstream's tools, and the tool list that clients receive.
//!
//! The same list always results in the same bytes, because clients cache prompts by them. Tools that are
//! neither extended nor shortened keep their bytes.

mod advertise;
mod catalog_pool;
mod output_schema;
mod schema;
mod tool;
mod trim;

use std::collections::HashMap;
use std::sync::Arc;

use portion_core::error_code::ErrorCode;
use portion_core::policy::RenderOptions;
use portion_core::redact::RedactionRules;
use portion_core::view::ControlNames;
use portion_gateway::call::Fault;
use portion_json::scan::{JsonKind, minify, quote, unescape};
use portion_json::span::Span;
use portion_policy::endpoint::{AdvertisePolicy, ListingOptions, ListingStyle};
use portion_text::names::closest_name;

use self::trim::one_line_summary;
use super::walk::{self, Member, Sequence, Splice};
use advertise::BuiltinToolNames;
use tool::AdvertisedControls;

pub use advertise::builtin_listings;
pub(super) use advertise::state_result_limit;
pub(super) use advertise::{BuiltinTool, ToolOwner};
pub(super) use catalog_pool::{CatalogPool, ServerInfo};
pub(super) use schema::PagingProperty;
pub(super) use tool::UpstreamTool;

/// The known tools of an upstream.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ToolCatalog {
    tools: HashMap<String, UpstreamTool>,
    style: ListingStyle,
    /// Tools that get controls.
    advertise: AdvertisePolicy,
    /// Names of the built-in tools.
    pub(super) builtin_names: BuiltinToolNames,
    /// Names of the controls among the arguments of the upstream's tools.
    pub(super) control_names: ControlNames,
    /// True once the size of the list was logged.
    is_size_logged: bool,
}

/// Options for the listing of one tool, by its endpoint rule.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolListingPolicy {
    /// Overrides whether controls are added; `None` applies the [`AdvertisePolicy`].
    pub adds_controls: Option<bool>,
    /// Number of items per page without a limit.
    pub default_page_size: usize,
    /// Largest number of items per page.
    pub max_page_size: usize,
    /// Tokens of a reply to a plain call.
    pub token_budget: usize,
    /// Largest value of the tool's own limit, if larger ones are refused.
    pub max_own_limit: Option<usize>,
    /// Render options of its results.
    pub render_options: RenderOptions,
    /// Tokens up to which an object is never shortened.
    pub summarize_above: usize,
    /// Redaction rules of its results.
    pub redact: Option<Arc<RedactionRules>>,
}

impl ToolCatalog {
    /// Creates an empty catalog.
    pub(super) fn new(listing: &ListingOptions) -> Self {
        let (style, advertise) = (listing.style, listing.advertise.clone());
        Self {
            tools: HashMap::new(),
            style,
            advertise,
            builtin_names: BuiltinToolNames::new(listing),
            control_names: ControlNames::new(listing.query_argument.as_deref()),
            is_size_logged: false,
        }
    }

    /// Adds the tools of one page of `tools/list`, and replaces their listings by those for clients.
    ///
    /// Returns the upstream's cursor to the next page, if there is one.
    pub(super) fn add_page(
        &mut self,
        splice: &mut Splice<'_>,
        text: &str,
        result: Span,
        offer: &dyn Fn(&str) -> ToolListingPolicy,
    ) -> Option<String> {
        for span in tool_sequence(text, result)?.items {
            let Some(mut tool) = UpstreamTool::parse(text, span) else { continue };
            let offer = offer(&tool.name);
            let listed = self.list_tool(&mut tool, text, span, &offer);
            tool.input_schema = None;
            if listed != span.slice(text) {
                splice.replace(span, listed);
            }
            self.tools.insert(tool.name.clone(), tool);
        }
        walk::string_member(text, result, "nextCursor")
    }

    /// Ends a list: assigns the names of the built-in tools. Returns their listings.
    pub(super) fn complete(&mut self) -> Vec<String> {
        let known = &self.tools;
        let ours = self.builtin_names.assign(|name| known.contains_key(name), !known.is_empty());
        let ours = ours.iter().map(|(own, name)| advertise::builtin_listing(*own, name)).collect();
        self.log_size();
        ours
    }

    /// Returns the listings of the built-in tools for an upstream without tools.
    pub(super) fn list_builtin_only(&mut self) -> Vec<String> {
        self.clear();
        self.complete()
    }

    /// Removes everything after the tool list has changed.
    pub(super) fn clear(&mut self) {
        self.tools.clear();
        self.builtin_names.clear();
    }

    /// Returns true if all tools are known.
    pub(super) fn is_complete(&self) -> bool {
        self.builtin_names.assigned.is_some()
    }

    /// Returns a known tool.
    pub(super) fn tool(&self, name: &str) -> Option<&UpstreamTool> {
        self.tools.get(name)
    }

    /// Returns the full listings of tools, one per line, as they are listed without shortening.
    ///
    /// # Errors
    /// The first name that does not exist.
    pub(super) fn describe(&self, names: &[String]) -> Result<String, Fault> {
        let full = |name: &String| {
            let upstream_listing =
                || self.tools.get(name).and_then(|tool| tool.full_listing.as_deref()).map(ToOwned::to_owned);
            let described = match self.builtin_names.owner(name) {
                ToolOwner::Builtin(own) => Some(advertise::builtin_listing(own, name)),
                _ => upstream_listing(),
            };
            described.ok_or_else(|| self.no_such_tool(name))
        };
        let lines: Result<Vec<String>, Fault> = names.iter().map(full).collect();
        Ok(lines?.join("\n"))
    }

    /// Returns the listing of a tool, and records its advertised controls.
    fn list_tool(
        &self,
        tool: &mut UpstreamTool,
        text: &str,
        span: Span,
        offer: &ToolListingPolicy,
    ) -> String {
        let mut splice = Splice::new(text);
        if self.style != ListingStyle::Lazy {
            tool.is_bounded = output_schema::relax_output_schema(&mut splice, text, span, offer);
        }
        let wanted = match offer.adds_controls {
            Some(true) => AdvertisedControls::All,
            Some(false) => AdvertisedControls::None,
            None => tool.advertised(&self.advertise),
        };
        // It must not depend on an earlier call of the describe tool if a parameter is a control.
        if self.style != ListingStyle::Lazy || tool.has_closed_schema {
            advertise::add_controls(tool, &mut splice, offer, (wanted, &self.control_names));
            if wanted == AdvertisedControls::All {
                advertise::describe_pages(&mut splice, text, span, offer);
            }
        }
        if let Some(maximum) = offer.max_own_limit {
            advertise::bound_own_limit(tool, &mut splice, maximum);
        }
        if self.style == ListingStyle::Lazy {
            let mut full = String::new();
            minify(&splice.apply_within(span), &mut full);
            tool.full_listing = Some(full.into());
            return one_line_listing(text, span, &tool.name);
        }
        let full = splice.apply_within(span);
        if self.style == ListingStyle::Trim { trim::trim_tool(&full) } else { full }
    }

    fn no_such_tool(&self, name: &str) -> Fault {
        // In sorted order: equally close names always give the same suggestion.
        let mut names: Vec<&str> = self.tools.keys().map(String::as_str).collect();
        names.sort_unstable();
        let nearest = closest_name(name, names);
        let suggestion = nearest.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
        let message = format!("there is no tool {}{suggestion}", truncate(name));
        Fault::new(ErrorCode::ToolUnknown, message, "use a name from the tool list".into())
    }

    /// Logs, once, the size of the list before it is shortened.
    fn log_size(&mut self) {
        if !self.tools.is_empty() && !std::mem::replace(&mut self.is_size_logged, true) {
            let bytes: usize = self.tools.values().map(|tool| tool.listing_bytes).sum();
            let (tools, catalog) = (self.tools.len(), self.style);
            let hint = if catalog == ListingStyle::Full {
                ": --catalog trim or lazy makes the list shorter"
            } else {
                ""
            };
            tracing::info!(tools, bytes, %catalog, "the server has listed its tools{hint}");
        }
    }
}

/// Returns the tools of a page, unless they are no array.
pub(super) fn tool_sequence(text: &str, result: Span) -> Option<Sequence> {
    let list = walk::member_value(text, result, "tools")?;
    let is_array = walk::kind(text, list) == JsonKind::Array;
    is_array.then(|| Sequence { span: list, items: walk::items(text, list) })
}

#[cfg(test)]
mod laws;

/// Characters of an invalid argument that an error repeats.
const MAX_ECHOED_CHARS: usize = 64;

/// Shortens a text of a caller for an error.
pub(super) fn truncate(text: &str) -> String {
    match text.char_indices().nth(MAX_ECHOED_CHARS) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

/// Schema of any object. With `properties`, because the APIs behind some clients reject an object without
/// them, and with `additionalProperties`, because others take no properties to mean no arguments.
const ANY_OBJECT_SCHEMA: &str = r#"{"type":"object","properties":{},"additionalProperties":true}"#;
/// Annotation of a parameter that clients repeat in an HTTP header: it must stay visible to them.
const HEADER_ANNOTATION: &str = "\"x-mcp-header\"";

/// Returns the one-line listing of a tool. Members other than description and schemas keep their bytes.
pub(super) fn one_line_listing(text: &str, tool: Span, name: &str) -> String {
    let mut splice = Splice::new(text);
    let members = walk::members(text, tool);
    let mut removed = vec![false; members.len()];
    for (i, Member { key, value }) in members.iter().copied().enumerate() {
        match unescape(key.slice(text)).as_str() {
            "description" if walk::kind(text, value) == JsonKind::String => {
                let description = unescape(value.slice(text));
                let line = one_line_summary(&description);
                if line != description {
                    splice.replace(value, quote(&line));
                }
            }
            "inputSchema" if value.slice(text).contains(HEADER_ANNOTATION) => {
                trim::trim_schema(&mut splice, text, value, name);
            }
            "inputSchema" => splice.replace(value, ANY_OBJECT_SCHEMA),
            "outputSchema" => removed[i] = true,
            _ => {}
        }
    }
    splice.edit_sequence(&Sequence::of_members(tool, &members), |i| !removed[i], &[]);
    splice.apply_within(tool)
}

#[cfg(test)]
mod tests {
    use super::super::walk::{self, Splice};
    use super::{BuiltinTool, ListingOptions, ListingStyle, ToolCatalog, ToolListingPolicy, ToolOwner};

    fn catalog(style: ListingStyle) -> ToolCatalog {
        ToolCatalog::new(&ListingOptions { style, ..ListingOptions::default() })
    }

    fn page(catalog: &mut ToolCatalog, text: &str) -> (String, Option<String>) {
        let mut splice = Splice::new(text);
        let next = catalog.add_page(&mut splice, text, walk::document_span(text), &|_| ToolListingPolicy {
            max_page_size: 200,
            ..ToolListingPolicy::default()
        });
        (splice.apply(), next)
    }

    /// Returns the listings of the built-in tools after this list.
    fn builtin(catalog: &mut ToolCatalog) -> String {
        catalog.complete().join("\n")
    }

    #[test]
    fn builtin_tools_have_free_names() {
        let mut all = catalog(ListingStyle::Full);
        let first = r#"{"tools":[{"name":"portion_read","inputSchema":{"type":"object"}}],"nextCursor":"2"}"#;
        assert_eq!(page(&mut all, first), (first.to_owned(), Some("2".to_owned())));
        assert_eq!(all.builtin_names.owner("portion_read"), ToolOwner::Unknown);
        assert_eq!(all.builtin_names.owner("echo"), ToolOwner::Upstream);
        let last = r#"{"x": 1e400, "tools" : [ {"name":"portion_read_2"} ] , "ttlMs":5}"#;
        assert_eq!(page(&mut all, last), (last.to_owned(), None));
        let ours = builtin(&mut all);
        assert!(ours.starts_with(r#"{"name":"portion_read_3","#), "{ours}");
        assert_eq!(all.builtin_names.owner("portion_read"), ToolOwner::Upstream);
        assert_eq!(all.builtin_names.owner("portion_read_3"), ToolOwner::Builtin(BuiltinTool::Read));
        page(&mut all, first);
        assert_eq!(builtin(&mut all), ours, "byte-stable");
    }

    #[test]
    fn an_invalid_list_is_unchanged() {
        for text in ["{}", r#"{"tools":{}}"#, "null", r#"{"tool":[]}"#] {
            let mut all = catalog(ListingStyle::Full);
            assert_eq!(page(&mut all, text), (text.to_owned(), None));
            assert!(!all.is_complete());
        }
    }

    const TOOLS: &str = concat!(
        r#"{"tools":[ {"name":"list_x","description":"Lists x. All of it.","inputSchema":{"type":"object","properties":{"q":{"title":"Q"}}}},"#,
        r#"{"name":"search","inputSchema":{"type":"object"}} ],"ttlMs":5}"#
    );

    #[test]
    fn a_trimmed_list_has_controls_and_builtin_tools() {
        let mut all = catalog(ListingStyle::Trim);
        let (text, _) = page(&mut all, TOOLS);
        let beginning = r#"{"tools":[ {"name":"list_x","description":"Lists x. All of it.","inputSchema":{"type":"object","properties":{"q":{},"limit":{"#;
        assert!(text.starts_with(beginning), "{text}");
        let ours = builtin(&mut all);
        assert!(ours.contains(r#""name":"portion_read""#) && !ours.contains("portion_describe"), "{ours}");
        assert_eq!(page(&mut all, TOOLS).0, text, "byte-stable");
    }

    #[test]
    fn a_lazy_list_is_described() {
        let mut all = catalog(ListingStyle::Lazy);
        let (text, _) = page(&mut all, TOOLS);
        let beginning = r#"{"tools":[ {"name":"list_x","description":"Lists x. All of it.","inputSchema":{"type":"object","properties":{},"additionalProperties":true}},{"name":"search","inputSchema":"#;
        assert!(text.starts_with(beginning), "{text}");
        assert!(text.ends_with(r#" ],"ttlMs":5}"#), "{text}");
        assert!(builtin(&mut all).contains(r#""name":"portion_describe""#));
        let described = |name: &str| all.describe(&[name.to_owned()]);
        let in_full = described("list_x").expect("a tool");
        assert!(in_full.starts_with(&TOOLS[11..110]) && in_full.contains(r#""limit":{"#), "{in_full}");
        assert_eq!(
            described("search").as_deref(),
            Ok(r#"{"name":"search","inputSchema":{"type":"object"}}"#)
        );
        assert!(described("portion_read").is_ok_and(|text| text.contains("lists results")));
        let refused = |name: &str| described(name).expect_err("no tool").to_json();
        assert!(refused("serch").contains("there is no tool serch; did you mean search?"));
        assert!(refused("weather").contains("there is no tool weather\""));
        // A parameter that may belong to the tool is no control, because a client may not have seen the
        // description.
        assert!(all.tool("list_x").is_some_and(|tool| tool.is_gateway_control("limit")));
        assert!(all.tool("search").is_some_and(|tool| !tool.is_gateway_control("limit")));
    }
}

#[cfg(test)]
mod lazy_tests {
    use super::super::walk;
    use super::{ANY_OBJECT_SCHEMA, one_line_listing};

    fn check(text: &str, expect: &str) {
        assert_eq!(one_line_listing(text, walk::document_span(text), "x"), expect, "{text}");
    }

    #[test]
    fn a_tool_is_listed_as_a_name_and_a_line() {
        check(
            r#"{ "name":"x", "title":"X","description":"Does it\n  for all. Much more.","inputSchema":{"type":"object","properties":{"a":{}}}, "outputSchema":{"type":"object"},"annotations":{ "readOnlyHint":true },"_meta":{"v":1.0}}"#,
            &format!(
                r#"{{ "name":"x", "title":"X","description":"Does it for all.","inputSchema":{ANY_OBJECT_SCHEMA}, "annotations":{{ "readOnlyHint":true }},"_meta":{{"v":1.0}}}}"#
            ),
        );
        check(r#"{"name":"x","outputSchema":{}}"#, r#"{"name":"x"}"#);
        check(r#"{"name":"x","description":"Does \u0078."}"#, r#"{"name":"x","description":"Does \u0078."}"#);
        check(r#"{"name":"x","description":7}"#, r#"{"name":"x","description":7}"#);
    }

    #[test]
    fn parameters_repeated_in_headers_stay_listed() {
        check(
            r#"{"name":"x","inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"region":{"type":"string","description":"Region","x-mcp-header":"Region"}}}}"#,
            r#"{"name":"x","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}"#,
        );
    }
}
