//! Properties that hold for every tool list.

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::super::walk::{self, Splice};
use super::schema::{DEFINITION_KEYWORDS, SCHEMA_ARRAY_KEYWORDS, SCHEMA_KEYWORDS, SCHEMA_MAP_KEYWORDS};
use super::{ListingOptions, ListingStyle, ToolCatalog, ToolListingPolicy, ToolOwner, tool_sequence};

fn page(style: ListingStyle, text: &str) -> (ToolCatalog, String) {
    let mut catalog = ToolCatalog::new(&ListingOptions { style, ..ListingOptions::default() });
    let mut splice = Splice::new(text);
    catalog.add_page(&mut splice, text, walk::document_span(text), &|_| ToolListingPolicy {
        max_page_size: 200,
        ..ToolListingPolicy::default()
    });
    let ours = catalog.complete();
    if let Some(tools) = tool_sequence(text, walk::document_span(text)) {
        splice.append(&tools, &ours);
    }
    (catalog, splice.apply())
}

/// Position of a JSON value in a tool list.
#[derive(Clone, Copy, Debug)]
enum Place {
    Tool,
    Schema,
    Schemas,
    Elsewhere,
}

impl Place {
    fn of(self, key: &str) -> Self {
        match (self, key) {
            (Self::Schema, key)
                if DEFINITION_KEYWORDS.contains(&key) || SCHEMA_MAP_KEYWORDS.contains(&key) =>
            {
                Self::Schemas
            }
            (Self::Schema, key) if SCHEMA_KEYWORDS.contains(&key) || SCHEMA_ARRAY_KEYWORDS.contains(&key) => {
                Self::Schema
            }
            (Self::Tool, "inputSchema" | "outputSchema") | (Self::Schemas, _) => Self::Schema,
            _ => Self::Elsewhere,
        }
    }

    /// Returns true if trimming may remove this member.
    fn may_lose(self, key: &str) -> bool {
        const NOISE: [&str; 7] =
            ["description", "title", "examples", "$comment", "$schema", "$defs", "definitions"];
        matches!(self, Self::Schema) && NOISE.contains(&key)
    }
}

/// Returns true if `now` differs from `was` only by what trimming may remove. `defines`: it is an object of
/// definitions.
fn is_trimmed(was: &Value, now: &Value, place: Place, defines: bool) -> bool {
    match (was, now) {
        (Value::Object(was), Value::Object(now)) => {
            let order: Vec<&String> = was.keys().filter(|key| now.contains_key(*key)).collect();
            let lost = |key: &String| now.contains_key(key) || defines || place.may_lose(key);
            order.into_iter().eq(now.keys())
                && was.keys().all(lost)
                && now.iter().all(|(key, value)| is_member_trimmed(&was[key], value, key, place))
        }
        (Value::Array(was), Value::Array(now)) => {
            was.len() == now.len() && was.iter().zip(now).all(|(was, now)| is_trimmed(was, now, place, false))
        }
        _ => was == now,
    }
}

fn is_member_trimmed(was: &Value, now: &Value, key: &str, place: Place) -> bool {
    if let (Place::Tool | Place::Schema, "description", Value::String(was), Value::String(now)) =
        (place, key, was, now)
    {
        return was.contains(now.as_str()) && (!now.is_empty() || was.trim().is_empty());
    }
    match place.of(key) {
        Place::Elsewhere => was == now,
        inner => is_trimmed(was, now, inner, DEFINITION_KEYWORDS.contains(&key)),
    }
}

fn words() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just("One thing. Another thing.".into()),
        Just("Any of:\n- a\n- b\n\nMore.".into()),
        Just("The q".into()),
        Just("\u{5217}\u{51fa}\u{6587}\u{4ef6}\u{3002}\u{7136}\u{540e}\u{3002}".into()),
        "[ a-zA-Z.:#\\n-]{0,40}".prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
    ]
}

/// Generates schemas of many shapes, including invalid ones.
fn schema() -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        Just("q".to_owned()),
        Just("title".to_owned()),
        Just("examples".to_owned()),
        Just("description".to_owned()),
        "[a-z_]{1,6}",
    ];
    let said = || {
        let keys = prop_oneof![
            Just("description"),
            Just("title"),
            Just("$comment"),
            Just("examples"),
            Just("default"),
            Just("enum"),
            Just("x-own"),
        ];
        prop::collection::vec((keys, words()), 0..4)
    };
    let draft = prop::option::of(prop_oneof![
        Just("http://json-schema.org/draft-07/schema#"),
        Just("http://json-schema.org/draft-04/schema#"),
    ]);
    let reference = prop::option::of(prop_oneof![
        Just("#/$defs/q"),
        Just("#/definitions/q"),
        Just("#"),
        Just("#/properties/q"),
        Just("elsewhere"),
    ]);
    let kind = prop::option::of(prop_oneof![Just("object"), Just("string"), Just("array")]);
    let leaf = prop_oneof![Just(Value::Bool(true)), words(), Just(Value::Object(Map::new()))];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let named = prop::collection::vec((name.clone(), inner.clone()), 0..4);
        let holder = prop_oneof![
            Just("properties"),
            Just("$defs"),
            Just("definitions"),
            Just("patternProperties"),
            Just("dependentSchemas"),
        ];
        let one = prop_oneof![Just("items"), Just("not"), Just("additionalProperties"), Just("x-own")];
        let each = prop_oneof![Just("anyOf"), Just("items"), Just("prefixItems"), Just("examples")];
        (
            (draft.clone(), reference.clone(), kind.clone(), said()),
            prop::collection::vec((holder, named), 0..3),
            prop::option::of((one, inner.clone())),
            prop::option::of((each, prop::collection::vec(inner, 0..3))),
        )
            .prop_map(|((draft, reference, kind, said), holders, one, each)| {
                let mut all = Map::new();
                all.extend(said.into_iter().map(|(key, text)| (key.to_owned(), text)));
                all.extend(draft.map(|draft| ("$schema".to_owned(), draft.into())));
                all.extend(reference.map(|to| ("$ref".to_owned(), to.into())));
                all.extend(kind.map(|kind| ("type".to_owned(), kind.into())));
                for (holder, named) in holders {
                    all.insert(holder.into(), Value::Object(named.into_iter().collect()));
                }
                all.extend(one.map(|(key, schema)| (key.to_owned(), schema)));
                all.extend(each.map(|(key, schemas)| (key.to_owned(), schemas.into())));
                Value::Object(all)
            })
    })
}

fn tools() -> impl Strategy<Value = Vec<Value>> {
    let name = prop_oneof!["portion_(read|query|describe)(_2)?", "(list_|get_)?[a-z]{1,6}"];
    let tool = (name, prop::option::of(words()), prop::option::of(schema()), prop::option::of(schema()));
    let tool = tool.prop_map(|(name, description, input, output)| {
        let mut all = Map::new();
        all.insert("name".into(), name.into());
        all.extend(description.map(|text| ("description".to_owned(), text)));
        all.extend(input.map(|schema| ("inputSchema".to_owned(), schema)));
        all.insert("annotations".into(), serde_json::json!({"readOnlyHint": true, "title": "A. B. C"}));
        all.extend(output.map(|schema| ("outputSchema".to_owned(), schema)));
        Value::Object(all)
    });
    prop::collection::vec(tool, 0..4)
}

/// Returns the upstream tools of a page, and the number of built-in tools.
fn upstream_tools(catalog: &ToolCatalog, page: &str) -> (Vec<Value>, usize) {
    let page: Value = serde_json::from_str(page).expect("JSON");
    let tools = page["tools"].as_array().expect("a list").clone();
    let name = |tool: &Value| tool["name"].as_str().unwrap_or_default().to_owned();
    let all = tools.len();
    let upstream_tools: Vec<Value> = tools
        .into_iter()
        .filter(|tool| catalog.builtin_names.owner(&name(tool)) == ToolOwner::Upstream)
        .collect();
    let builtin_count = all - upstream_tools.len();
    (upstream_tools, builtin_count)
}

proptest! {
    /// Every tool keeps its name and annotations; the same list gives the same bytes.
    #[test]
    fn every_tool_stays_listed(tools in tools(), pretty in any::<bool>()) {
        let list = serde_json::json!({"tools": tools, "ttlMs": 5, "cacheScope": "public"});
        let text = if pretty { serde_json::to_string_pretty(&list) } else { serde_json::to_string(&list) };
        let text = text.expect("JSON");
        for style in ListingStyle::ALL {
            let (catalog, out) = page(style, &text);
            prop_assert_eq!(&page(style, &text).1, &out);
            let (upstream_tools, builtin_count) = upstream_tools(&catalog, &out);
            prop_assert_eq!(builtin_count, if style == ListingStyle::Lazy && !tools.is_empty() { 3 } else { 2 });
            prop_assert_eq!(upstream_tools.len(), tools.len());
            for (was, now) in tools.iter().zip(&upstream_tools) {
                prop_assert_eq!(&now["name"], &was["name"]);
                prop_assert_eq!(&now["annotations"], &was["annotations"]);
                prop_assert_eq!(now.get("inputSchema").is_some(), was.get("inputSchema").is_some());
            }
            let out: Value = serde_json::from_str(&out).expect("JSON");
            prop_assert_eq!((&out["ttlMs"], &out["cacheScope"]), (&list["ttlMs"], &list["cacheScope"]));
        }
    }

    /// Trimming removes only what it may, in input and output schemas: compared with the full list.
    #[test]
    fn trimming_removes_only_what_it_may(tools in tools()) {
        let text = serde_json::json!({"tools": tools}).to_string();
        let (catalog, full) = page(ListingStyle::Full, &text);
        let (full, _) = upstream_tools(&catalog, &full);
        let (catalog, trimmed) = page(ListingStyle::Trim, &text);
        prop_assert!(trimmed.len() <= full.iter().map(|tool| tool.to_string().len()).sum::<usize>() + 2_000);
        let (trimmed, _) = upstream_tools(&catalog, &trimmed);
        for (was, now) in full.iter().zip(&trimmed) {
            prop_assert!(is_trimmed(was, now, Place::Tool, false), "{}\n{}", was, now);
        }
    }

    /// The describe tool returns what a lazy list omits, as the upstream wrote it apart from controls.
    #[test]
    fn the_describe_tool_returns_what_a_lazy_list_omits(tools in tools()) {
        let text = serde_json::json!({"tools": tools}).to_string();
        let (catalog, _) = page(ListingStyle::Lazy, &text);
        for tool in &tools {
            let name = tool["name"].as_str().expect("a name");
            let last = tools.iter().rfind(|other| other["name"] == tool["name"]).expect("itself");
            let described = catalog.describe(&[name.to_owned()]).expect("known");
            let mut described: Value = serde_json::from_str(&described).expect("JSON");
            if catalog.tool(name).is_some_and(|tool| tool.is_gateway_control("limit")) {
                let own = |name: &str| last["inputSchema"]["properties"].get(name).is_some();
                let properties = described["inputSchema"]["properties"].as_object_mut().expect("closed");
                for control in ["limit", "cursor", "fields", "query"] {
                    if !own(control) {
                        properties.shift_remove(control);
                    }
                }
            }
            prop_assert_eq!(&described, last);
        }
    }
}
