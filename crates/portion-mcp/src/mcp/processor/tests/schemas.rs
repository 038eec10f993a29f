//! Served `structuredContent` is valid against the listed schema, and its records are whole.

use portion_core::policy::{
    ClientLimits, EnvelopeMode, LimitOverrides, MetadataMode, MetadataStyle, Policy, PolicyProfile,
    RenderOptions, RowStyle,
};
use portion_policy::endpoint::ListingOptions;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::{Map, Value, json};

use super::{McpProcessor, client, processor_with_limits, server};

#[path = "../../../../../portion-core/tests/it/laws/choices.rs"]
#[expect(dead_code, reason = "the properties of the core make other choices, too")]
mod choices;

use choices::{Dice, dice};

/// A schema and a valid value.
struct Typed {
    schema: Value,
    value: Value,
}

/// Returns true if a value is valid, for the keywords that occur in these tests.
fn is_valid(value: &Value, schema: &Value, root: &Value) -> bool {
    let Value::Object(schema) = schema else { return schema != &Value::Bool(false) };
    let within = |schema: &Value| is_valid(value, schema, root);
    let list = |name: &str| schema.get(name).and_then(Value::as_array);
    let number = |name: &str| schema.get(name).and_then(Value::as_u64).map(|number| number as usize);
    let refers = schema.get("$ref").and_then(Value::as_str);
    let is_type = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        _ => value.is_null(),
    };
    let none = Map::new();
    let object = value.as_object();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    refers.is_none_or(|place| root.pointer(&place[1..]).is_some_and(within))
        && schema.get("type").and_then(Value::as_str).is_none_or(is_type)
        && list("anyOf").is_none_or(|any| any.iter().any(within))
        && list("allOf").is_none_or(|all| all.iter().all(within))
        && list("enum").is_none_or(|all| all.contains(value))
        && object.is_none_or(|object| {
            let names = list("required").into_iter().flatten().filter_map(Value::as_str);
            let others = schema.get("additionalProperties").unwrap_or(&Value::Bool(true));
            names.into_iter().all(|name| object.contains_key(name))
                && object
                    .iter()
                    .all(|(name, value)| is_valid(value, properties.get(name).unwrap_or(others), root))
        })
        && value.as_array().is_none_or(|items| {
            number("minItems").is_none_or(|min| items.len() >= min)
                && schema
                    .get("items")
                    .is_none_or(|schema| items.iter().all(|item| is_valid(item, schema, root)))
        })
}

fn record(dice: &mut Dice, long: bool) -> impl FnMut(u64) -> Value {
    let words = dice.below(if long { 300 } else { 12 });
    move |id| {
        json!({"id": id, "name": format!("Record {id}"), "open": id % 3 == 0, "_links": {"self": "u"},
            "observations": ["likes the sea ".repeat(words), "x"], "nothing": null, "price": {"total": 1.5}})
    }
}

fn record_schema(dice: &mut Dice) -> Value {
    let mut schema = json!({"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"},
        "open": {"type": "boolean"}, "observations": {"type": "array", "items": {"type": "string"}, "minItems": 2},
        "nothing": {"type": "null"}, "_links": {"type": "object", "required": ["self"]},
        "price": {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}},
        "required": ["id", "name", "open", "observations", "nothing", "_links", "price"]});
    if dice.once_in(2) {
        schema["additionalProperties"] = false.into();
    }
    schema
}

/// Generates a tool result: lists beside other members, in wrappers, with schemas of several styles.
fn typed(dice: &mut Dice) -> Typed {
    let counts = [0, 3, 40, 200];
    let long = dice.once_in(6);
    let list = |dice: &mut Dice| {
        let count = counts[dice.below(4)];
        let mut record = record(dice, long);
        (0..count).map(&mut record).collect::<Value>()
    };
    let item = record_schema(dice);
    let by_reference = dice.once_in(2);
    let item_schema = if by_reference { json!({"$ref": "#/$defs/Item"}) } else { item.clone() };
    let mut list_schema = json!({"type": "array", "items": item_schema});
    let value = list(dice);
    if dice.once_in(3) {
        list_schema["minItems"] = value.as_array().map_or(0, Vec::len).into();
    }
    let (mut properties, mut members) = (Map::new(), Map::new());
    let name = ["result", "bookings", "entities"][dice.below(3)];
    properties.insert(name.into(), list_schema.clone());
    members.insert(name.into(), value.clone());
    if dice.once_in(2) {
        let relations: Value = (0..dice.below(90)).map(|i| json!({"from": i, "to": i + 1})).collect();
        properties.insert(
            "relations".into(),
            json!({"type": "array", "items": {"type": "object", "required": ["from", "to"]}}),
        );
        members.insert("relations".into(), relations);
    }
    if dice.once_in(2) {
        properties.insert("source".into(), json!({"type": "string"}));
        members.insert("source".into(), "s".repeat([3, 30, 40_000][dice.below(3)]).into());
    }
    if dice.once_in(5) {
        let taken = ["meta", "nextCursor"][dice.below(2)];
        properties.insert(taken.into(), json!({"type": "string"}));
        if dice.once_in(2) {
            members.insert(taken.into(), "theirs".into());
        }
    }
    let required: Vec<&String> = members.keys().collect();
    let mut schema = json!({"type": "object", "properties": properties, "required": required});
    if dice.once_in(2) {
        schema["additionalProperties"] = false.into();
    }
    let mut value = Value::Object(members);
    match dice.below(8) {
        0 => {
            schema = json!({"type": "object", "properties": {"data": schema}, "required": ["data"]});
            value = json!({"data": value});
        }
        1 => {
            schema = list_schema;
            value = value[name].take();
        }
        2 => {
            let kinds =
                [(json!(true), "boolean"), (json!(7), "integer"), (json!("x".repeat(50_000)), "string")];
            let (primitive, kind) = kinds[dice.below(3)].clone();
            schema = json!({"type": kind});
            value = primitive;
        }
        3 => {
            let mut map = Map::new();
            map.insert("settings".into(), json!("y".repeat(60_000)));
            map.insert("on".into(), true.into());
            schema = json!({"type": "object", "required": ["settings", "on"], "additionalProperties": false,
                "properties": {"settings": {"type": "string"}, "on": {"type": "boolean"}}});
            value = Value::Object(map);
        }
        4 => {
            schema = json!({"type": "object", "required": ["on"], "additionalProperties": false,
                "properties": {"on": {"type": "boolean"}}});
            value = json!({"on": true});
        }
        _ => {}
    }
    if value.get("result").is_some() && dice.once_in(2) {
        schema["x-fastmcp-wrap-result"] = true.into();
    }
    if by_reference && schema.is_object() {
        schema["$defs"] = json!({"Item": item});
    }
    assert!(is_valid(&value, &schema, &schema), "{schema}");
    Typed { schema, value }
}

fn policy(dice: &mut Dice) -> Policy {
    let manner = RenderOptions {
        metadata: if dice.once_in(6) { MetadataMode::Always } else { MetadataMode::WhenShaped },
        metadata_style: if dice.once_in(4) { MetadataStyle::Snake } else { MetadataStyle::Camel },
        envelope: if dice.once_in(8) { EnvelopeMode::Wrap } else { EnvelopeMode::Auto },
        ..RenderOptions::default()
    };
    let profile = if dice.once_in(2) { PolicyProfile::Lean } else { PolicyProfile::Default };
    let rows = dice.once_in(2).then_some(RowStyle::Auto);
    LimitOverrides { render_options: manner, profile, rows, ..LimitOverrides::default() }
        .resolve(ClientLimits::UNKNOWN)
}

fn ask(processor: &McpProcessor, method: &str, params: &Value, answer: Option<&Value>) -> Value {
    let question = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let mut out = client(processor, &question);
    if let Some(result) = answer {
        out = server(processor, &json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string());
    }
    serde_json::from_str(out[0].strip_prefix("< ").expect("an answer")).expect("JSON")
}

/// Collects the lists at the same place in the served value and in the payload.
fn lists<'a>(served: &'a Value, whole: &'a Value, found: &mut Vec<(&'a Value, &'a Value)>) {
    match (served, whole) {
        (Value::Array(_), Value::Array(_)) => found.push((served, whole)),
        (Value::Object(served), Value::Object(whole)) => {
            for (name, value) in served {
                if let Some(whole) = whole.get(name) {
                    lists(value, whole, found);
                }
            }
        }
        _ => {}
    }
}

/// Asserts that served records are a contiguous part of the list, each unchanged.
fn assert_whole(served: &Value, whole: &Value) {
    let (served, whole) = (served.as_array().expect("a list"), whole.as_array().expect("a list"));
    let at = served.first().and_then(|first| whole.iter().position(|item| item == first)).unwrap_or(0);
    assert!(served.is_empty() || whole[at..].starts_with(served), "a record is not whole");
}

/// Checks the first reply, or with `walks` all replies of a walk over one list.
fn check(mut dice: Dice, walks: bool) -> TestCaseResult {
    let Typed { schema, value } = typed(&mut dice);
    let mut policy = policy(&mut dice);
    if walks {
        policy.render_options.envelope = EnvelopeMode::Auto;
    }
    let wraps = policy.render_options.envelope == EnvelopeMode::Wrap;
    let style = policy.render_options.metadata_style;
    let processor = processor_with_limits(policy, &ListingOptions::default());
    let tools = json!({"tools": [{"name": "list_x", "inputSchema": {"type": "object", "properties": {}}, "outputSchema": schema}]});
    let listed = ask(&processor, "tools/list", &json!({}), Some(&tools));
    let listed = &listed["result"]["tools"][0]["outputSchema"];
    if schema["type"] == "object" {
        assert_eq!(listed["type"], "object", "some SDKs want that");
    }
    let text = match dice.below(3) {
        0 => value.to_string(),
        1 => serde_json::to_string_pretty(&value).expect("JSON"),
        _ => "Found some. ".repeat(1 + dice.below(2) * 4_000),
    };
    let answer = json!({"content": [{"type": "text", "text": text}], "structuredContent": value});
    let mut arguments = if dice.once_in(5) && !walks { json!({"fields": "id,name"}) } else { json!({}) };
    let selects =
        arguments.get("fields").is_some() && !value.is_boolean() && !value.is_string() && !value.is_i64();
    let mut walked: Vec<Value> = Vec::new();
    let mut answered = Some(&answer);
    for page in 0..300 {
        let result =
            ask(&processor, "tools/call", &json!({"name": "list_x", "arguments": arguments}), answered);
        let result = &result["result"];
        if result["isError"] == true {
            assert!(arguments.get("fields").is_some(), "{result}");
            return Err(TestCaseError::reject("no such fields"));
        }
        let served = &result["structuredContent"];
        assert!(is_valid(served, listed, listed), "page {page}: {served}\nis not valid against\n{listed}");
        if !walks {
            return Ok(());
        }
        // With two lists this test does not check which one is paged.
        prop_assume!(!selects && !wraps && !value.to_string().contains("\"relations\""));
        let mut found = Vec::new();
        let in_items =
            if value.is_array() && served.is_object() { json!({"items": value}) } else { value.clone() };
        lists(served, &in_items, &mut found);
        found.iter().for_each(|(served, whole)| assert_whole(served, whole));
        let longest = found.iter().max_by_key(|(_, whole)| whole.as_array().map_or(0, Vec::len));
        let Some((some, whole)) = longest else { return Err(TestCaseError::reject("no list")) };
        walked.extend(some.as_array().expect("a list").iter().cloned());
        // A server's own cursor keeps its place, and the gateway's cursor is under `portion`.
        let ours = served.get("portion").unwrap_or(served);
        let next = ours.get(style.key("nextCursor")).and_then(Value::as_str);
        let Some(next) = next.filter(|next| *next != "theirs") else {
            let omitted = served.pointer("/meta/omitted").or_else(|| served.pointer("/portion/meta/omitted"));
            assert!(walked.len() == whole.as_array().map_or(0, Vec::len) || omitted.is_some(), "{served}");
            return Ok(());
        };
        arguments = json!({"cursor": next});
        answered = None;
    }
    panic!("a walk without end");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, max_global_rejects: 800, ..ProptestConfig::default() })]

    #[test]
    fn served_content_is_valid_against_the_listed_schema(dice in dice()) {
        check(dice, false)?;
    }

    #[test]
    fn walked_lists_are_whole(dice in dice()) {
        check(dice, true)?;
    }
}

/// The listed schema also holds for results that are reused for an equal call.
#[test]
fn a_schema_that_is_listed_unchanged_holds_for_reused_results() {
    let schema = json!({"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"],
        "additionalProperties": false});
    let tools = json!({"tools": [{"name": "list_x", "inputSchema": {"type": "object", "properties": {}},
        "outputSchema": schema, "annotations": {"readOnlyHint": true}}]});
    let long = "word and word. ".repeat(3_000);
    for text in [r#"{"x": 1}"#, long.as_str()] {
        let answer = json!({"content": [{"type": "text", "text": text}], "structuredContent": {"x": 1}});
        for control in [
            json!({"page": 2}),
            json!({"offset": 1}),
            json!({"startLine": 1}),
            json!({"limit": 1}),
            json!({"fields": "x"}),
            json!({"fields": "all"}),
            json!({"path": "/structuredContent"}),
            json!({"path": "x"}),
            json!({"section": "x"}),
            json!({"raw": true}),
            json!({"maxTokens": 300}),
        ] {
            let processor = processor_with_limits(Policy::default(), &ListingOptions::default());
            let listed = ask(&processor, "tools/list", &json!({}), Some(&tools));
            assert_eq!(listed["result"]["tools"][0]["outputSchema"], schema);
            ask(&processor, "tools/call", &json!({"name": "list_x", "arguments": {}}), Some(&answer));
            let question = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "list_x", "arguments": control}});
            let mut out = client(&processor, &question.to_string());
            if out[0].starts_with("> ") {
                out = server(&processor, &json!({"jsonrpc": "2.0", "id": 1, "result": answer}).to_string());
            }
            let reply: Value =
                serde_json::from_str(out[0].strip_prefix("< ").expect("an answer")).expect("JSON");
            let result = &reply["result"];
            let served = &result["structuredContent"];
            assert!(result["isError"] == true || is_valid(served, &schema, &schema), "{control}: {served}");
        }
    }
}
