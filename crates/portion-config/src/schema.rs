//! The JSON Schema of a configuration file, for completion and validation in editors.

use std::sync::LazyLock;

use portion_policy::pushdown::{PushdownSetting, SETTINGS, preset_names};
use portion_tokens::Factor;
use serde_json::{Map, Value as Json, json};

use crate::key::{Key, SettingsLevel, ValueKind};
use crate::profile::PROFILES;

/// Pattern for a size with a unit.
const SIZE_PATTERN: &str = r"^[0-9]+(\.[0-9]+)? ?([kKmMgGtT]([iI]?[bB]?)?|[bB])?$";
/// Pattern for a duration: numbers with units.
const DURATION_PATTERN: &str = r"^([0-9]+ ?(ns|us|ms|s|sec|m|min|h|hr|d|day|w|week|M|y|year)s? ?)+$";

/// Pattern for names with hashes of tokens.
const TOKEN_HASHES_PATTERN: &str =
    r"^[a-zA-Z0-9_.@-]{1,64}=sha256:[0-9a-fA-F]{64}(, ?[a-zA-Z0-9_.@-]{1,64}=sha256:[0-9a-fA-F]{64})*$";

/// Returns the schema, draft 2020-12.
pub fn schema() -> Json {
    let mut top = properties(SettingsLevel::Top);
    top.insert("$schema".into(), json!({ "type": "string" }));
    let section = "The same settings as another server writes them: output_token_threshold, hard_output_token_cap, \
                   default_page_size, max_page_size, enable_summarization, enable_pagination, endpoints";
    top.insert("context_protection".into(), json!({ "type": "object", "description": section }));
    let profiles: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
    let api_of_profile = json!({
        "required": ["profile"],
        "properties": { "profile": { "enum": profiles } },
        "not": { "required": ["command"] }
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration of Portion",
        "type": "object",
        "properties": top,
        "additionalProperties": false,
        "$defs": {
            "upstream": {
                "type": "object",
                "properties": properties(SettingsLevel::Upstream),
                "oneOf": [
                    { "anyOf": [{ "required": ["url"] }, { "required": ["openapi"] }, api_of_profile] },
                    { "required": ["command"] }
                ],
                "additionalProperties": false
            },
            "endpoint": {
                "type": "object",
                "properties": properties(SettingsLevel::Endpoint),
                "additionalProperties": false
            },
            "name": { "type": ["string", "number"], "minLength": 1 },
            "names": { "anyOf": [{ "$ref": "#/$defs/name" }, { "type": "array", "items": { "$ref": "#/$defs/name" } }] },
            "secrets": { "type": "object", "additionalProperties": { "type": ["string", "number", "boolean"] } }
        }
    })
}

fn properties(level: SettingsLevel) -> Map<String, Json> {
    Key::all()
        .filter(|key| key.is_allowed_at(level))
        .map(|key| (key.name.to_owned(), property_schema(key)))
        .collect()
}

fn property_schema(key: &Key) -> Json {
    let mut schema = Map::new();
    schema.insert("description".into(), key.doc.into());
    if let Some(default) = default_value(key) {
        schema.insert("default".into(), default);
    }
    match (value_schema(key.kind), key.keywords) {
        (Json::Object(value), []) => schema.extend(value),
        (value, []) => drop(schema.insert("const".into(), value)),
        (value, or) => drop(schema.insert("anyOf".into(), json!([value, { "enum": or }]))),
    }
    Json::Object(schema)
}

/// Returns the default of a key, if it is a value and not a description.
fn default_value(key: &Key) -> Option<Json> {
    (!key.default.is_empty()).then(|| key.parse(key.default).ok()).flatten().map(|value| value.to_json())
}

fn pushdown_schema() -> Json {
    let presets: Vec<&str> = preset_names().collect();
    let setting = |setting: &PushdownSetting| {
        let value = match setting.name {
            "preset" => json!({ "enum": presets }),
            "maxFetchBytes" => json!({ "type": ["integer", "string"] }),
            _ if setting.is_number => json!({ "type": "number", "minimum": 0 }),
            _ => json!({ "type": ["string", "number"], "minLength": 1 }),
        };
        let Json::Object(mut value) = value else { return (setting.name.to_owned(), value) };
        value.insert("description".into(), setting.doc.into());
        (setting.name.to_owned(), Json::Object(value))
    };
    let properties: Map<String, Json> = SETTINGS.iter().map(setting).collect();
    json!({ "anyOf": [
        { "enum": presets },
        { "type": "object", "properties": properties, "additionalProperties": false }
    ] })
}

/// Returns the schema of a kind that has no parameters.
fn fixed_schema(kind: &str) -> Json {
    static SCHEMAS: LazyLock<Json> =
        LazyLock::new(|| serde_json::from_str(include_str!("schema_of_values.json")).unwrap_or_default());
    SCHEMAS[kind].clone()
}

fn value_schema(kind: ValueKind) -> Json {
    match kind {
        ValueKind::Integer(min, max) => json!({ "type": "integer", "minimum": min, "maximum": max }),
        ValueKind::Fraction => json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 }),
        ValueKind::Percent => json!({ "type": "number", "minimum": 0, "maximum": 100 }),
        ValueKind::Factor => json!({ "type": "number", "minimum": Factor::MIN, "maximum": Factor::MAX }),
        ValueKind::Price => json!({ "type": "number", "minimum": 0 }),
        ValueKind::Size(min, max) => json!({ "anyOf": [
            { "type": "integer", "minimum": min, "maximum": max },
            { "type": "string", "pattern": SIZE_PATTERN }
        ] }),
        ValueKind::Duration(..) => json!({ "type": "string", "pattern": DURATION_PATTERN }),
        ValueKind::Boolean => json!({ "type": "boolean" }),
        ValueKind::Choice(words) => json!({ "enum": words }),
        ValueKind::Text | ValueKind::TextOrUrl => json!({ "$ref": "#/$defs/name" }),
        ValueKind::ToolName => json!({ "type": "string", "pattern": "^[a-zA-Z0-9_-]{1,64}$" }),
        ValueKind::Names | ValueKind::Redact => json!({ "$ref": "#/$defs/names" }),
        ValueKind::TokenHashes => {
            let entry = json!({ "type": "string", "pattern": TOKEN_HASHES_PATTERN });
            json!({ "anyOf": [entry, { "type": "array", "items": entry }] })
        }
        ValueKind::Sections => fixed_schema("sections"),
        ValueKind::Pushdown => pushdown_schema(),
        ValueKind::Experiment => fixed_schema("experiment"),
        ValueKind::Address => json!({ "type": "string", "pattern": "^.+:[0-9]{1,5}$" }),
        ValueKind::Url | ValueKind::Webhook | ValueKind::StoreUrl | ValueKind::CursorKeys => {
            json!({ "type": "string", "minLength": 1 })
        }
        ValueKind::Command => fixed_schema("command"),
        ValueKind::Tools => fixed_schema("tools"),
        ValueKind::Secrets => json!({ "$ref": "#/$defs/secrets" }),
        ValueKind::Endpoints => fixed_schema("endpoints"),
        ValueKind::Upstreams => fixed_schema("upstreams"),
    }
}
