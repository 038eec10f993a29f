//! Writes a configuration file to begin with, with every key and its default as a comment; and the reference of all keys for
//! the documentation; and the JSON Schema of such a file, for completion and validation in editors.

use std::fmt::Write as _;
use std::sync::LazyLock;

use portion_policy::pushdown::{PushdownSetting, SETTINGS, preset_names};
use portion_tokens::Factor;
use serde_json::{Map, Value as Json, json};

use crate::key::{Key, KeyGroup, Placement, SettingsLevel, ValueKind};
use crate::profile::PROFILES;

/// Longest line of a comment, in characters.
const MAX_LINE_CHARS: usize = 110;

/// Values for keys without a default that could be written: a key without a value is an error.
const EXAMPLES: [(&str, &str); 9] = [
    ("replyTarget", "4000"),
    ("cursorKeys", "cursor.keys"),
    ("split", "50"),
    ("upstreams", "{notes: {command: [npx, -y, SERVER]}}"),
    ("jwtIssuer", "https://issuer.example.com"),
    ("jwtAudience", "https://portion.example.com"),
    ("jwksUrl", "https://issuer.example.com/jwks.json"),
    ("publicUrl", "https://portion.example.com"),
    ("principalHeaders", "Authorization"),
];

/// Key whose example has lines of its own, at the end.
const RULES_KEY: &str = "endpoints";

/// Place of a key that is allowed at all levels.
const EVERYWHERE: &str = "everywhere";

/// Key that is set, to its default.
const FIRST_KEY: &str = "profile";

const HEAD: &str = "\
# Configuration of Portion. Every key is optional: remove the # before one to set it. `portion config check` checks this
# file, and running processes apply a change at once, except keys that say restart.
";

const ENDPOINTS: &str = "
# Rules for endpoints; every key above that is not about the whole program can also be set here:
# endpoints:
#   list_bookings:
#     pageSize: 25
#     redact: guest.email,guest.phone
#   \"get_*\":
#     tokenBudgetThreshold: 8000
";

/// Pattern for a size with a unit.
const SIZE_PATTERN: &str = r"^[0-9]+(\.[0-9]+)? ?([kKmMgGtT]([iI]?[bB]?)?|[bB])?$";

/// Pattern for a duration: numbers with units.
const DURATION_PATTERN: &str = r"^([0-9]+ ?(ns|us|ms|s|sec|m|min|h|hr|d|day|w|week|M|y|year)s? ?)+$";

/// Pattern for names with hashes of tokens.
const TOKEN_HASHES_PATTERN: &str =
    r"^[a-zA-Z0-9_.@-]{1,64}=sha256:[0-9a-fA-F]{64}(, ?[a-zA-Z0-9_.@-]{1,64}=sha256:[0-9a-fA-F]{64})*$";

/// Returns the text of a file with all keys that can be set at the top. `schema`: path or URL of the JSON Schema, for
/// editors.
pub fn template(schema: &str) -> String {
    let mut out = format!("# yaml-language-server: $schema={schema}\n{HEAD}");
    for group in KeyGroup::ALL {
        let keys = Key::all().filter(|key| key.group == group && key.is_allowed_at(SettingsLevel::Top));
        let mut keys = keys.peekable();
        if keys.peek().is_some() {
            let _ = write!(out, "\n## {}\n", group.heading());
        }
        for key in keys.filter(|key| key.name != RULES_KEY) {
            let restart = if key.is_reloadable { "" } else { " (restart)" };
            let _ = write!(out, "\n{}", comment(&format!("{}{restart}", key.doc)));
            // Some defaults are described in words.
            let is_value = !key.default.is_empty() && !key.default.contains(' ');
            let example = EXAMPLES.iter().find(|(name, _)| *name == key.name).map_or("", |(_, value)| *value);
            let (value, remark) = match key.default {
                "" => (example, "   # for example".to_owned()),
                default if is_value => (default, String::new()),
                default => (example, format!("   # by default {default}")),
            };
            // A file with comments alone is taken for one that was emptied by mistake.
            let mark = if key.name == FIRST_KEY { "" } else { "# " };
            let _ = writeln!(out, "{mark}{}: {value}{remark}", key.name);
        }
    }
    out.push_str(ENDPOINTS);
    out
}

/// Returns the text of a JSON file to begin with. JSON has no comments: the schema describes the keys to editors.
pub fn json_template(schema: &str) -> String {
    format!("{:#}\n", serde_json::json!({ "$schema": schema, FIRST_KEY: "default" }))
}

/// Returns tables of all keys as Markdown, with a heading for each group.
pub fn manual() -> String {
    let mut out = String::new();
    for group in KeyGroup::ALL {
        let _ = write!(out, "\n### {}\n\n", group.heading());
        let keys = || Key::all().filter(|key| key.group == group);
        let count = |place: &str| keys().filter(|key| restrictions(key) == place).count();
        let usual = keys().map(restrictions).max_by_key(|place| count(place)).unwrap_or_default();
        if usual != EVERYWHERE {
            let _ = write!(out, "If a key says nothing else: {usual}.\n\n");
        }
        out.push_str("| key | default | description |\n| --- | --- | --- |\n");
        for key in keys() {
            let default = if key.default.is_empty() { String::new() } else { format!("`{}`", key.default) };
            let place =
                Some(restrictions(key)).filter(|place| *place != usual).map(|place| format!("*{place}*"));
            let notes: Vec<String> = place.into_iter().chain(other_words(key)).collect();
            let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
            let doc = key.doc.replace('|', "\\|");
            let _ = writeln!(out, "| `{}` | {default} | {doc}{notes} |", key.name);
        }
    }
    out
}

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

/// Returns a text as lines of a comment.
fn comment(text: &str) -> String {
    let (mut out, mut line) = (String::new(), String::from("#"));
    for word in text.split_whitespace() {
        if line.chars().count() + word.chars().count() >= MAX_LINE_CHARS {
            out.push_str(&line);
            out.push('\n');
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    out + &line + "\n"
}

/// Lists the words that a key takes, if its description does not.
fn other_words(key: &Key) -> Option<String> {
    let choices = if let ValueKind::Choice(words) = &key.kind { *words } else { &[] };
    let words = || choices.iter().chain(key.keywords).copied();
    let is_told = words().all(|word| key.doc.contains(word) || word == "none");
    (!is_told).then(|| words().collect::<Vec<_>>().join(", "))
}

/// Says where a key is allowed, and if it needs a restart.
fn restrictions(key: &Key) -> String {
    let place = match key.placement {
        Placement::Everywhere => EVERYWHERE,
        Placement::TopOrUpstream => "at the top or for a server",
        Placement::Top => "at the top",
        Placement::Upstream => "for a server",
        Placement::Endpoint => "for an endpoint",
    };
    if key.is_reloadable { place.to_owned() } else { format!("{place}, restart") }
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{FIRST_KEY, json_template, template};
    use crate::key::{Key, SettingsLevel};
    use crate::{Config, Sources};

    fn load(text: String) -> Result<Config, crate::Errors> {
        let file = Some((PathBuf::from("portion.yaml"), text));
        Config::load(&Sources { file, ..Sources::default() }, 0).map(|(config, _)| config)
    }

    #[test]
    fn a_template_has_every_key_and_sets_none() {
        let text = template("portion.schema.json");
        for key in Key::all().filter(|key| key.is_allowed_at(SettingsLevel::Top)) {
            let mark = if key.name == FIRST_KEY { "" } else { "# " };
            assert!(text.contains(&format!("\n{mark}{}:", key.name)), "{}", key.name);
        }
        let set: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        assert_eq!(set, ["profile: default"]);
        assert!(text.lines().all(|line| line.chars().count() <= 130), "{text}");
        load(text).expect("a valid file");
    }

    #[test]
    fn each_key_of_a_template_has_a_valid_value() {
        // Keys about tokens of callers have an effect only together.
        let mut jwt = vec!["auth: jwt".to_owned()];
        for line in template("").lines().filter_map(|line| line.strip_prefix("# ")) {
            let Some((name, value)) = line.split_once(':') else { continue };
            if name.starts_with("jw") {
                jwt.push(line.to_owned());
            } else if Key::all().any(|key| key.name == name) && !value.is_empty() {
                load(line.to_owned()).unwrap_or_else(|errors| panic!("{line}: {errors}"));
            }
        }
        assert!(jwt.len() > 3, "{jwt:?}");
        load(jwt.join("\n")).expect("valid keys");
    }

    #[test]
    fn a_json_template_is_valid() {
        let text = json_template("portion.schema.json");
        assert_eq!(text, "{\n  \"$schema\": \"portion.schema.json\",\n  \"profile\": \"default\"\n}\n");
        let file = Some((PathBuf::from("portion.json"), text));
        Config::load(&Sources { file, ..Sources::default() }, 0).expect("a valid file");
    }

    #[test]
    fn the_defaults_of_a_template_are_valid() {
        let keys = [
            "tokenBudgetThreshold",
            "hardCap",
            "defaultPageSize",
            "snapshotTtl",
            "snapshotMemory",
            "admin",
            "store",
        ];
        let text = template("");
        let set: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("# "))
            .filter(|line| line.split_once(':').is_some_and(|(name, _)| keys.contains(&name)))
            .collect();
        assert_eq!(set.len(), keys.len());
        load(set.join("\n")).expect("valid defaults");
    }
}
