//! The JSON Schema of a configuration file, by which editors complete and check what is written.

use serde_json::{Map, Value as Json, json};

use portion_core::tokens::Factor;

use crate::key::{Key, Kind, Level};

/// A number of bytes with a unit.
const SIZE: &str = r"^[0-9]+(\.[0-9]+)? ?([kKmMgGtT]([iI]?[bB]?)?|[bB])?$";
/// A time: numbers with units.
const TIME: &str = r"^([0-9]+ ?(ns|us|ms|s|sec|m|min|h|hr|d|day|w|week|M|y|year)s? ?)+$";

/// The schema, draft 2020-12.
pub fn schema() -> Json {
    let mut top = properties(Level::Top);
    top.insert("$schema".into(), json!({ "type": "string" }));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration of Portion",
        "type": "object",
        "properties": top,
        "additionalProperties": false,
        "$defs": {
            "upstream": {
                "type": "object",
                "properties": properties(Level::Upstream),
                "oneOf": [{ "required": ["url"] }, { "required": ["command"] }],
                "additionalProperties": false
            },
            "endpoint": {
                "type": "object",
                "properties": properties(Level::Endpoint),
                "additionalProperties": false
            },
            "name": { "type": ["string", "number"], "minLength": 1 },
            "names": { "anyOf": [{ "$ref": "#/$defs/name" }, { "type": "array", "items": { "$ref": "#/$defs/name" } }] },
            "secrets": { "type": "object", "additionalProperties": { "type": ["string", "number", "boolean"] } }
        }
    })
}

fn properties(level: Level) -> Map<String, Json> {
    Key::all().filter(|key| key.allowed(level)).map(|key| (key.name.to_owned(), property(key))).collect()
}

fn property(key: &Key) -> Json {
    let mut schema = Map::new();
    schema.insert("description".into(), key.doc.into());
    if let Some(default) = default(key) {
        schema.insert("default".into(), default);
    }
    match (value(key.kind), key.or) {
        (Json::Object(value), []) => schema.extend(value),
        (value, []) => drop(schema.insert("const".into(), value)),
        (value, or) => drop(schema.insert("anyOf".into(), json!([value, { "enum": or }]))),
    }
    Json::Object(schema)
}

/// The default as the schema has it: where it is a value, and not a description of one.
fn default(key: &Key) -> Option<Json> {
    (!key.default.is_empty()).then(|| key.parse(key.default).ok()).flatten().map(|value| value.json())
}

fn value(kind: Kind) -> Json {
    match kind {
        Kind::Whole(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Kind::Share => json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 }),
        Kind::Percent => json!({ "type": "number", "minimum": 0, "maximum": 100 }),
        Kind::Factor => json!({ "type": "number", "minimum": Factor::LEAST, "maximum": Factor::MOST }),
        Kind::Size(least, most) => json!({ "anyOf": [
            { "type": "integer", "minimum": least, "maximum": most },
            { "type": "string", "pattern": SIZE }
        ] }),
        Kind::Time(..) => json!({ "type": "string", "pattern": TIME }),
        Kind::Truth => json!({ "type": "boolean" }),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::Text => json!({ "$ref": "#/$defs/name" }),
        Kind::ToolName => json!({ "type": "string", "pattern": "^[a-zA-Z0-9_-]{1,64}$" }),
        Kind::Names | Kind::Redact => json!({ "$ref": "#/$defs/names" }),
        Kind::Sections => json!({
            "type": "object",
            "additionalProperties": {
                "anyOf": [
                    { "$ref": "#/$defs/name" },
                    { "type": "array", "items": { "$ref": "#/$defs/name" }, "minItems": 1 }
                ]
            }
        }),
        Kind::Experiment => json!({
            "type": "object",
            "properties": { "split": { "type": "number", "minimum": 0, "maximum": 100 } },
            "required": ["split"],
            "additionalProperties": false
        }),
        Kind::Address => json!({ "type": "string", "pattern": "^.+:[0-9]{1,5}$" }),
        Kind::Url | Kind::Webhook => json!({ "type": "string", "minLength": 1 }),
        Kind::Command => json!({ "anyOf": [
            { "type": "string", "minLength": 1 },
            { "type": "array", "items": { "type": ["string", "number"] }, "minItems": 1 }
        ] }),
        Kind::Secrets => json!({ "$ref": "#/$defs/secrets" }),
        Kind::Endpoints => json!({
            "type": "object",
            "patternProperties": { "^.+$": { "$ref": "#/$defs/endpoint" } },
            "additionalProperties": false
        }),
        Kind::Upstreams => json!({
            "type": "object",
            "patternProperties": { "^[a-zA-Z0-9_-][a-zA-Z0-9_.-]*$": { "$ref": "#/$defs/upstream" } },
            "additionalProperties": false
        }),
    }
}
