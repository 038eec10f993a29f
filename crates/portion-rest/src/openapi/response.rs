//! Responses of operations, as far as they decide how a tool is listed.

use serde_json::{Map, Value};

use crate::openapi::document::Document;
use crate::openapi::operation::Operation;

/// Most schemas that are read for a response. Schemas may refer to each other in circles.
const MAX_SCHEMAS: usize = 200;
/// Most members of an object that is an envelope of its list. Larger objects are records that have lists, too.
const MAX_ENVELOPE_MEMBERS: usize = 10;

/// Returns true if a successful response can be a list: an array, or a small object with an array of objects.
pub(crate) fn returns_list(operation: &Operation<'_>) -> bool {
    let document = operation.document;
    operation.successes().filter_map(schema_of).any(|schema| {
        let mut reader = SchemaReader { document, remaining: MAX_SCHEMAS };
        reader.is_array(schema) || reader.is_envelope(schema)
    })
}

/// Returns the schema of the JSON of a response.
fn schema_of(response: &Value) -> Option<&Value> {
    // A response of Swagger 2.0 has its schema itself.
    response.get("schema").or_else(|| {
        let contents = response.get("content")?.as_object()?;
        contents.iter().find(|(media, _)| media.contains("json"))?.1.get("schema")
    })
}

struct SchemaReader<'a> {
    document: &'a Document,
    /// Number of schemas that may still be read.
    remaining: usize,
}

impl<'a> SchemaReader<'a> {
    fn is_array(&mut self, schema: &'a Value) -> bool {
        let Some(fields) = self.read(schema) else { return false };
        let is_array_type = |kind: &Value| kind == "array";
        let kind = fields.get("type");
        kind.is_some_and(is_array_type)
            || kind.and_then(Value::as_array).is_some_and(|kinds| kinds.iter().any(is_array_type))
            || parts_of(fields).any(|part| self.is_array(part))
    }

    /// Returns true for a small object with an array of objects.
    fn is_envelope(&mut self, schema: &'a Value) -> bool {
        let Some(fields) = self.read(schema) else { return false };
        if parts_of(fields).any(|part| self.is_envelope(part)) {
            return true;
        }
        let members = fields.get("properties").and_then(Value::as_object);
        let Some(members) = members.filter(|members| members.len() <= MAX_ENVELOPE_MEMBERS) else {
            return false;
        };
        members.values().any(|member| {
            let items = self.read(member).and_then(|member| member.get("items"));
            items.is_some_and(|items| self.is_object(items))
        })
    }

    fn is_object(&mut self, schema: &'a Value) -> bool {
        let Some(fields) = self.read(schema) else { return false };
        fields.contains_key("properties")
            || fields.get("type").is_some_and(|kind| kind == "object")
            || parts_of(fields).any(|part| self.is_object(part))
    }

    /// Returns the fields of a schema, with references followed.
    fn read(&mut self, schema: &'a Value) -> Option<&'a Map<String, Value>> {
        self.remaining = self.remaining.checked_sub(1)?;
        self.document.resolve(schema).as_object()
    }
}

/// Returns the schemas that a schema is composed of.
fn parts_of(fields: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let composed = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|key| fields.get(key)?.as_array());
    composed.flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::returns_list;
    use crate::openapi::document::Document;

    fn check(responses: &Value, expect: bool) {
        let document = json!({
            "openapi": "3.0.3",
            "paths": {"/a": {"get": {"responses": responses}}},
            "components": {"schemas": {
                "Row": {"type": "object", "properties": {"id": {}, "next": {"$ref": "#/components/schemas/Row"}}},
                "Rows": {"type": "array", "items": {"$ref": "#/components/schemas/Row"}},
                "Loop": {"allOf": [{"$ref": "#/components/schemas/Loop"}]},
            }},
        });
        let document = Document::parse(&document.to_string()).expect("a document");
        assert_eq!(returns_list(&document.operations()[0]), expect, "{responses}");
    }

    fn json_schema(schema: &Value) -> Value {
        json!({"200": {"content": {"application/json": {"schema": schema}}}})
    }

    #[test]
    fn lists_are_recognized_by_their_schema() {
        let rows = json!({"$ref": "#/components/schemas/Rows"});
        check(&json_schema(&rows), true);
        check(&json_schema(&json!({"type": ["array", "null"]})), true);
        check(&json_schema(&json!({"properties": {"result": rows, "count": {}}})), true);
        check(
            &json_schema(&json!({"anyOf": [{"type": "null"}, {"allOf": [{"properties": {"data": rows}}]}]})),
            true,
        );
        check(&json!({"200": {"schema": rows}}), true);
        check(&json_schema(&json!({"$ref": "#/components/schemas/Row"})), false);
        check(
            &json_schema(&json!({"properties": {"tags": {"type": "array", "items": {"type": "string"}}}})),
            false,
        );
        check(&json_schema(&json!({"$ref": "#/components/schemas/Loop"})), false);
        check(&json!({"404": {"schema": rows}, "200": {"description": "x"}}), false);
        let many: serde_json::Map<String, Value> = (0..20)
            .map(|at| (format!("field{at}"), if at == 0 { rows.clone() } else { json!({}) }))
            .collect();
        check(&json_schema(&json!({"properties": many})), false);
    }
}
