//! Adds to the tool list: the built-in tools, and controls on tools that return lists.

use portion_core::paging::PagingRole;
use portion_core::policy::MetadataStyle;
use portion_json::scan::{JsonKind, quote, unescape};
use portion_json::span::Span;

use super::super::splice::Splice;
use super::super::walk;
use super::{BuiltinTool, PagingProperty, ToolListingPolicy, UpstreamTool};

/// Largest input schema that claude.ai accepts, in bytes; it drops tools with larger ones.
const MAX_SCHEMA_BYTES: usize = 16_384;
/// Bytes of a maximum that may be added to a property, `,"maximum":` and a number.
const MAX_BOUND_BYTES: usize = 32;
/// Largest page number and offset that are listed. Larger ones are accepted.
const MAX_POSITION: u32 = i32::MAX as u32;

/// Returns the listing of a built-in tool.
pub(super) fn builtin_listing(own: BuiltinTool, name: &str) -> String {
    const READ: &str = concat!(
        r#","description":"Reads more of a shortened result: pass its nextCursor. "#,
        r#"Or pass meta.cursor with fields, section, path, lines, sort or raw to select other parts.","#,
        r#""inputSchema":{"type":"object","properties":{"#,
        r#""cursor":{"type":"string"},"#,
        r#""limit":{"type":"integer"},"#,
        r#""fields":{"type":"string","description":"id,price.total or all"},"#,
        r#""section":{"type":"string"},"#,
        r#""path":{"type":"string","description":"/a/0/b or a.0.b"},"#,
        r#""startLine":{"type":"integer","description":"-1 is last"},"#,
        r#""endLine":{"type":"integer"},"#,
        r#""page":{"type":"integer"},"#,
        r#""pages":{"type":"string","description":"2-4"},"#,
        r#""offset":{"type":"integer"},"#,
        r#""sort":{"type":"string","description":"created desc"},"#,
        r#""raw":{"type":"boolean"},"#,
        r#""maxTokens":{"type":"integer"}"#,
        r#"},"required":["cursor"]},"#,
        r#""annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}"#,
    );
    const QUERY: &str = concat!(
        r#","description":"Queries a shortened result. sql: a SELECT (SQLite) over table items "#,
        r#"(a column per field, \"price.total\"; item is JSON), entries, sections, lines or leaves. "#,
        r#"with: {b: cursor} joins another result as b.items. find: text or /regex/.","#,
        r#""inputSchema":{"type":"object","properties":{"#,
        r#""cursor":{"type":"string"},"#,
        r#""sql":{"type":"string"},"#,
        r#""with":{"type":"object"},"#,
        r#""find":{"type":"string"},"#,
        r#""limit":{"type":"integer"}"#,
        r#"},"required":["cursor"]},"#,
        r#""annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}"#,
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

/// Adds the controls to a tool's input schema, except those whose names are taken by its own properties. Where notices have
/// page numbers, `page` and `offset` are among them.
pub(super) fn add_controls(tool: &mut UpstreamTool, splice: &mut Splice<'_>, offer: &ToolListingPolicy) {
    let Some(input) = &tool.input_schema else { return };
    let ToolListingPolicy { max_page_size, default_page_size, .. } = offer;
    let is_numbered = offer.render_options.metadata_style == MetadataStyle::Snake;
    let default = if is_numbered { format!(r#","default":{default_page_size}"#) } else { String::new() };
    let limit = format!(
        r#""limit":{{"type":"integer","minimum":1,"maximum":{max_page_size}{default},"description":"items per page"}}"#
    );
    let page = format!(
        r#""page":{{"type":"integer","minimum":1,"maximum":{MAX_POSITION},"default":1,"description":"excludes offset"}}"#
    );
    let offset = format!(
        r#""offset":{{"type":"integer","minimum":0,"maximum":{MAX_POSITION},"default":0,"description":"items to skip"}}"#
    );
    let mut controls = vec![
        ("limit", limit.as_str()),
        ("cursor", r#""cursor":{"type":"string","description":"nextCursor of an earlier reply"}"#),
        ("fields", r#""fields":{"type":"string","description":"e.g. id,name; or all"}"#),
    ];
    if is_numbered {
        controls.extend([("page", page.as_str()), ("offset", offset.as_str())]);
    }
    let mut remaining_bytes = MAX_SCHEMA_BYTES
        .saturating_sub(input.schema.span.len() + MAX_BOUND_BYTES + r#","properties":{}"#.len());
    let mut names = Vec::new();
    let mut added = Vec::new();
    for (name, property) in controls {
        let fits = remaining_bytes.checked_sub(property.len() + 1);
        if let Some(left) = fits.filter(|_| !tool.has_property(name)) {
            remaining_bytes = left;
            names.push(name);
            added.push(property.to_owned());
        }
    }
    if added.is_empty() {
        return;
    }
    match &input.properties {
        Some(properties) => splice.append(properties, &added),
        None => splice.append(&input.schema, &[format!("\"properties\":{{{}}}", added.join(","))]),
    }
    tool.advertised_controls.extend(names);
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
    let default = tool.paging().iter().find(is_limit).and_then(|own| own.argument.default);
    if let Some(schema) = &input.unbounded_limit
        && default.is_none_or(|default| default <= max_limit as u64)
        && input.schema.span.len() + MAX_BOUND_BYTES <= MAX_SCHEMA_BYTES
    {
        splice.append(schema, &[format!("\"maximum\":{max_limit}")]);
    }
}

#[cfg(test)]
mod tests {
    use portion_json::scan::JsonReader;
    use portion_tokens::Tokenizer;

    use super::super::super::splice::Splice;
    use super::super::super::walk;
    use super::{
        BuiltinTool, MAX_SCHEMA_BYTES, MetadataStyle, ToolListingPolicy, UpstreamTool, add_controls,
        bound_own_limit, builtin_listing, describe_pages,
    };

    fn offer() -> ToolListingPolicy {
        ToolListingPolicy { max_page_size: 200, ..ToolListingPolicy::default() }
    }

    fn check(schema: &str, expect: &str) {
        let text = format!(r#"{{"name":"list_x","inputSchema":{schema}}}"#);
        let mut tool = UpstreamTool::parse(&text, walk::document_span(&text)).expect("a tool");
        let mut splice = Splice::new(&text);
        add_controls(&mut tool, &mut splice, &offer());
        let out = splice.apply();
        let inner = out.trim_start_matches(r#"{"name":"list_x","inputSchema":"#).trim_end_matches('}');
        let keys: Vec<&str> =
            ["limit", "cursor", "fields"].into_iter().filter(|name| tool.is_gateway_control(name)).collect();
        assert_eq!(keys.join(","), expect, "{inner}");
        JsonReader::new(&out).skip().expect("JSON");
        assert!(schema.len() > MAX_SCHEMA_BYTES || inner.len() <= MAX_SCHEMA_BYTES);
    }

    #[test]
    fn adds_controls_where_no_property_has_the_name() {
        check(r#"{"type":"object","properties":{"q":{}}}"#, "limit,cursor,fields");
        check(r#"{"type":"object"}"#, "limit,cursor,fields");
        check("{}", "limit,cursor,fields");
        check(r#"{"type":"object","properties":{"cursor":{},"limit":{}}}"#, "fields");
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
        add_controls(&mut tool, &mut splice, &offer);
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
        for size in
            [MAX_SCHEMA_BYTES - 300, MAX_SCHEMA_BYTES - 150, MAX_SCHEMA_BYTES - 40, MAX_SCHEMA_BYTES + 10]
        {
            let schema = format!(r#"{{"description":"{}","properties":{{}}}}"#, "x".repeat(size - 35));
            let text = format!(r#"{{"name":"list_x","inputSchema":{schema}}}"#);
            let mut tool = UpstreamTool::parse(&text, walk::document_span(&text)).expect("a tool");
            let mut splice = Splice::new(&text);
            add_controls(&mut tool, &mut splice, &offer());
            let grown = splice.apply().len() - text.len();
            assert!(grown == 0 || schema.len() + grown <= MAX_SCHEMA_BYTES, "{size}: {grown}");
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
        assert!(read + query <= 350 && describe <= 100, "{read} + {query}, {describe}");
    }
}
