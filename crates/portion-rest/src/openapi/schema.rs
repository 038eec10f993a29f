//! Converts schemas of a document to JSON Schema 2020-12.
//!
//! References become references into `$defs`, so cycles stay finite. Versions before 3.1 have a dialect of their own
//! (`nullable`, boolean `exclusiveMinimum`), which is translated. What only describes (`xml`, `discriminator`,
//! `example`) is left out.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Map, Value, json};

use crate::openapi::description::schema_description;
use crate::openapi::document::{Document, Version, reference};
use crate::openapi::name::{argument_name, unique};
use crate::openapi::schema_keywords::{KeywordKind, kind_of, plain_value};

/// Deepest nesting of a schema without references; what is below accepts anything.
const MAX_DEPTH: usize = 64;

/// Description in place of definitions that are too large.
const LEFT_OUT: &str = "Schema left out, because it is large";
/// Converts schemas, and collects the definitions that they refer to.
pub(crate) struct SchemaConverter<'a> {
    document: &'a Document,
    /// Names of definitions by reference.
    names: HashMap<String, String>,
    /// References whose definitions are not converted yet.
    queue: VecDeque<(String, String)>,
    /// First reference to another document.
    pub(crate) external: Option<String>,
}

impl<'a> SchemaConverter<'a> {
    pub(crate) fn new(document: &'a Document) -> Self {
        Self { document, names: HashMap::new(), queue: VecDeque::new(), external: None }
    }

    /// Converts a schema. If it is a reference, its target takes its place.
    pub(crate) fn convert_inline(&mut self, schema: &Value) -> Value {
        self.note_external(schema);
        let description = schema.get("description").filter(|text| text.is_string());
        let mut converted = self.convert(self.document.resolve(schema));
        if let (Value::Object(fields), Some(text)) = (&mut converted, description)
            && reference(schema).is_some()
        {
            let text = schema_description(text.as_str().unwrap_or_default());
            fields.insert("description".to_owned(), text.into());
        }
        converted
    }

    /// Converts a schema.
    pub(crate) fn convert(&mut self, schema: &Value) -> Value {
        self.convert_at(schema, 0)
    }

    /// Adds the definitions in use to a schema, as far as `budget` bytes suffice. References to the rest lead to one
    /// definition that accepts anything and says so.
    ///
    /// Returns a reference to another document, if there is one.
    pub(crate) fn add_definitions(mut self, schema: &mut Value, budget: usize) -> Option<String> {
        let (mut definitions, mut left_out) = (Map::new(), HashSet::new());
        let mut budget = budget.saturating_sub(LEFT_OUT.len() + 60);
        while let Some((reference, name)) = self.queue.pop_front() {
            let (before, known) = (self.queue.len(), self.names.clone());
            let target = self.document.target(&reference);
            let converted = target.map_or_else(|| json!({}), |target| self.convert(target));
            let cost = converted.to_string().len() + name.len() + 4;
            if cost <= budget {
                budget -= cost;
                definitions.insert(name, converted);
            } else {
                self.queue.truncate(before);
                self.names = known;
                left_out.insert(format!("#/$defs/{name}"));
            }
        }
        if !left_out.is_empty() {
            let name = unique("left_out", |name| definitions.contains_key(name));
            let target = format!("#/$defs/{name}");
            redirect(schema, &left_out, &target);
            definitions.values_mut().for_each(|definition| redirect(definition, &left_out, &target));
            definitions.insert(name, json!({ "description": LEFT_OUT }));
        }
        if !definitions.is_empty() {
            schema["$defs"] = Value::Object(definitions);
        }
        self.external
    }

    fn convert_at(&mut self, schema: &Value, depth: usize) -> Value {
        let fields = match schema {
            Value::Object(fields) => fields,
            Value::Bool(accepts) => return Value::Bool(*accepts),
            _ => return json!({}),
        };
        if depth > MAX_DEPTH {
            return json!({});
        }
        if let Some(reference) = reference(schema) {
            let name = self.definition_name(schema, reference);
            return json!({ "$ref": format!("#/$defs/{name}") });
        }
        let mut converted = Map::new();
        for (keyword, value) in fields {
            let Some(kind) = kind_of(keyword) else { continue };
            if let Some(value) = self.convert_keyword(keyword, kind, value, depth) {
                converted.insert(keyword.clone(), value);
            }
        }
        self.translate_dialect(fields, &mut converted);
        remove_read_only(self.document, fields, &mut converted);
        Value::Object(converted)
    }

    fn convert_keyword(
        &mut self,
        keyword: &str,
        kind: KeywordKind,
        value: &Value,
        depth: usize,
    ) -> Option<Value> {
        match kind {
            KeywordKind::Schema if keyword == "items" && value.is_array() => None,
            KeywordKind::Schema => {
                (value.is_object() || value.is_boolean()).then(|| self.convert_at(value, depth + 1))
            }
            KeywordKind::SchemaMap => {
                let schemas = value
                    .as_object()?
                    .iter()
                    .map(|(name, schema)| (name.clone(), self.convert_at(schema, depth + 1)));
                Some(Value::Object(schemas.collect()))
            }
            KeywordKind::SchemaList => {
                let schemas = value.as_array().filter(|all| !all.is_empty())?;
                Some(schemas.iter().map(|schema| self.convert_at(schema, depth + 1)).collect())
            }
            KeywordKind::Text if keyword == "description" => value
                .as_str()
                .filter(|text| !text.trim().is_empty())
                .map(|text| schema_description(text).into()),
            kind => plain_value(kind, value),
        }
    }

    /// Translates what versions before 3.1 express otherwise. Some later documents still use it.
    fn translate_dialect(&mut self, fields: &Map<String, Value>, converted: &mut Map<String, Value>) {
        for (bound, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
            if fields.get(exclusive) == Some(&Value::Bool(true))
                && let Some(value) = converted.remove(bound)
            {
                converted.insert(exclusive.to_owned(), value);
            }
        }
        if fields.get("type").and_then(Value::as_str) == Some("file") {
            converted.insert("type".to_owned(), "string".into());
        }
        if let Some(Value::Array(items)) = fields.get("items") {
            let items: Vec<Value> =
                items.iter().map(|schema| self.convert_at(schema, MAX_DEPTH / 2)).collect();
            if !items.is_empty() {
                converted.insert("prefixItems".to_owned(), items.into());
            }
        }
        // YAML reads `enum: [on, 1]` as other types than the schema names.
        if converted.get("type").and_then(Value::as_str) == Some("string")
            && let Some(Value::Array(values)) = converted.get_mut("enum")
        {
            for value in values.iter_mut().filter(|value| value.is_number() || value.is_boolean()) {
                *value = Value::String(value.to_string());
            }
        }
        let is_nullable =
            ["nullable", "x-nullable"].iter().any(|key| fields.get(*key) == Some(&Value::Bool(true)));
        if self.document.version != Version::V31 && is_nullable {
            add_null(converted);
        }
    }

    fn definition_name(&mut self, schema: &Value, reference: &str) -> String {
        self.note_external(schema);
        if let Some(name) = self.names.get(reference) {
            return name.clone();
        }
        let last = reference.rsplit('/').next().unwrap_or_default();
        let name = unique(&argument_name(last), |name| self.names.values().any(|other| other == name));
        self.names.insert(reference.to_owned(), name.clone());
        self.queue.push_back((reference.to_owned(), name.clone()));
        name
    }

    /// Remembers a reference to another document, which is never read.
    pub(crate) fn note_external(&mut self, value: &Value) {
        if let Some(reference) = reference(value).filter(|reference| !reference.starts_with('#'))
            && self.external.is_none()
        {
            self.external = Some(reference.to_owned());
        }
    }
}

/// Replaces some references of a converted schema, whose depth is limited.
fn redirect(schema: &mut Value, from: &HashSet<String>, to: &str) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(reference) if name == "$ref" && from.contains(reference) => {
                        to.clone_into(reference);
                    }
                    value => redirect(value, from, to),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redirect(item, from, to)),
        _ => {}
    }
}

/// Lets a schema accept null.
fn add_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    let is_combined = ["allOf", "anyOf", "oneOf"].iter().any(|key| schema.contains_key(*key));
    match schema.get_mut("type") {
        Some(Value::String(name)) => {
            let both = json!([name, "null"]);
            schema.insert("type".to_owned(), both);
        }
        Some(Value::Array(names)) if !names.contains(&"null".into()) => names.push("null".into()),
        // A combination of schemas without a type.
        None if is_combined => {
            let description = schema.remove("description");
            let inner = Value::Object(std::mem::take(schema));
            schema.extend(description.map(|text| ("description".to_owned(), text)));
            schema.insert("anyOf".to_owned(), json!([inner, { "type": "null" }]));
        }
        Some(_) | None => {}
    }
}

/// Removes properties that only responses have: requests should not contain them.
fn remove_read_only(document: &Document, fields: &Map<String, Value>, converted: &mut Map<String, Value>) {
    let Some(properties) = fields.get("properties").and_then(Value::as_object) else { return };
    let is_read_only = |schema: &Value| document.resolve(schema).get("readOnly") == Some(&Value::Bool(true));
    for (name, _) in properties.iter().filter(|(_, schema)| is_read_only(schema)) {
        if let Some(Value::Object(kept)) = converted.get_mut("properties") {
            kept.remove(name);
        }
        if let Some(Value::Array(required)) = converted.get_mut("required") {
            required.retain(|other| other != name.as_str());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::SchemaConverter;
    use crate::openapi::document::Document;

    fn document(version: &str) -> Document {
        let document = json!({
            "openapi": version,
            "paths": { "/": {} },
            "components": { "schemas": {
                "Node": { "type": "object", "properties": { "next": { "$ref": "#/components/schemas/Node" } } },
                "a b": { "type": "string", "nullable": true },
                "Big": { "type": "object", "description": "x ".repeat(100), "properties": { "n": { "$ref": "#/components/schemas/Node" } } }
            } }
        });
        Document::parse(&document.to_string()).expect("a document")
    }

    #[expect(clippy::needless_pass_by_value, reason = "a table reads better with values")]
    fn check(schema: Value, expect: Value) {
        let document = document("3.0.3");
        assert_eq!(SchemaConverter::new(&document).convert(&schema), expect, "{schema}");
    }

    #[test]
    fn the_dialect_of_3_0_becomes_json_schema() {
        check(json!({"type": "string", "nullable": true}), json!({"type": ["string", "null"]}));
        check(
            json!({"type": "string", "nullable": true, "enum": ["a"]}),
            json!({"type": ["string", "null"], "enum": ["a", null]}),
        );
        check(
            json!({"nullable": true, "allOf": [{"type": "string"}]}),
            json!({"anyOf": [{"allOf": [{"type": "string"}]}, {"type": "null"}]}),
        );
        check(json!({"minimum": 1, "exclusiveMinimum": true}), json!({"exclusiveMinimum": 1}));
        check(json!({"minimum": 1, "exclusiveMinimum": false}), json!({"minimum": 1}));
        check(
            json!({"type": "object", "example": {}, "xml": {}, "x-a": 1, "discriminator": {}}),
            json!({"type": "object"}),
        );
        check(
            json!({"type": "string", "enum": ["a", 1, true]}),
            json!({"type": "string", "enum": ["a", "1", "true"]}),
        );
        check(json!({"items": [{"type": "string"}]}), json!({"prefixItems": [{"type": "string"}]}));
        check(json!({"type": "file"}), json!({"type": "string"}));
        check(json!([]), json!({}));
        check(
            json!({"properties": {"id": {"readOnly": true}, "a": {}}, "required": ["id", "a"]}),
            json!({"properties": {"a": {}}, "required": ["a"]}),
        );
    }

    #[test]
    fn references_become_definitions_and_cycles_end() {
        let document = document("3.1.0");
        let mut converter = SchemaConverter::new(&document);
        let node = json!({"$ref": "#/components/schemas/Node"});
        assert_eq!(converter.convert(&node), json!({"$ref": "#/$defs/Node"}));
        assert_eq!(
            converter.convert(&json!({"$ref": "#/components/schemas/a%20b"})),
            json!({"$ref": "#/$defs/a_20b"})
        );
        let mut schema = json!({});
        converter.add_definitions(&mut schema, 10_000);
        let definitions = &schema["$defs"];
        let expect = json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}});
        assert_eq!(definitions["Node"], expect);
        assert_eq!(definitions["a_20b"], json!({"type": "string"}), "nullable is no keyword of 3.1");
    }

    #[test]
    fn definitions_over_the_budget_accept_anything() {
        let document = document("3.1.0");
        let mut converter = SchemaConverter::new(&document);
        converter.convert(&json!({"$ref": "#/components/schemas/Big"}));
        let mut schema = json!({ "$ref": "#/$defs/Big" });
        converter.add_definitions(&mut schema, 50);
        let left_out = json!({ "left_out": { "description": "Schema left out, because it is large" } });
        assert_eq!(schema, json!({ "$ref": "#/$defs/left_out", "$defs": left_out }));
    }

    #[test]
    fn references_to_other_documents_are_noted() {
        let document = document("3.1.0");
        let mut converter = SchemaConverter::new(&document);
        converter.convert(&json!({"items": {"$ref": "other.yaml#/a"}}));
        assert_eq!(converter.external.as_deref(), Some("other.yaml#/a"));
    }

    #[test]
    fn deep_schemas_end() {
        let mut schema = json!({});
        for _ in 0..100 {
            schema = json!({ "items": schema });
        }
        let document = document("3.1.0");
        assert!(SchemaConverter::new(&document).convert(&schema).to_string().len() < 64 * 12);
    }
}
