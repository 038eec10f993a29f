//! Tools that an operator describes, without an `OpenAPI` document.
//!
//! ```
//! use portion_policy::tool_description::{ArgumentDescription, ArgumentPlace, ToolDescription};
//! use portion_rest::openapi::Tool;
//!
//! let argument = |name: &str, place| ArgumentDescription::new(name, place);
//! let mut filters = argument("filters", ArgumentPlace::Query);
//! filters.schema.insert("type".into(), "object".into());
//! let description = ToolDescription {
//!     name: "get_rows".into(),
//!     method: "GET",
//!     path: "/{topic}[/{filters.year}]/".into(),
//!     arguments: vec![argument("topic", ArgumentPlace::Path), filters],
//!     ..ToolDescription::default()
//! };
//! let tool = Tool::from_description(&description, &[])?;
//! let request = tool.request(r#"{"topic": "directory", "filters": {"year": 2020, "fips": [6, 36]}}"#)?;
//! assert_eq!((request.path.as_str(), request.query.as_str()), ("/directory/2020/", "fips=6,36"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use portion_policy::tool_description::{
    ArgumentDescription, ArgumentPlace, CONTROL_MARK, PathPattern, ToolDescription,
};
use serde_json::{Map, Value, json};

/// Parts of the request of a described tool.
#[derive(Clone, Debug)]
pub(crate) struct RequestTemplate {
    pub(crate) description: ToolDescription,
    pub(crate) path: PathPattern,
    /// Query parameters that the operator sets.
    pub(crate) reserved_query: Vec<String>,
}

impl RequestTemplate {
    /// Returns true if a call changes nothing.
    pub(crate) fn only_reads(&self) -> bool {
        self.description.is_read || is_safe(self.description.method)
    }

    /// Returns the names of the arguments that calls must have.
    pub(crate) fn required(&self) -> Vec<String> {
        let required = self.description.arguments.iter().filter(|argument| argument.is_required);
        required.map(|argument| argument.name.clone()).collect()
    }

    /// Returns the JSON Schema of the arguments.
    pub(crate) fn input_schema(&self) -> Value {
        let arguments = self.description.arguments.iter();
        let properties = arguments.map(|argument| (argument.name.clone(), listed_schema(argument)));
        let properties: Map<String, Value> = properties.collect();
        let mut schema = json!({ "type": "object", "properties": properties });
        let required = self.required();
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        schema["additionalProperties"] = Value::Bool(false);
        schema
    }
}

/// Returns true if the schema of an argument has the type `object`.
pub(crate) fn takes_object(argument: &ArgumentDescription) -> bool {
    match argument.schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(|one| one == "object"),
        one => one.is_some_and(|one| one == "object"),
    }
}

/// Returns the schema of an argument as it is listed.
fn listed_schema(argument: &ArgumentDescription) -> Value {
    let mut schema = argument.schema.clone();
    if argument.place == ArgumentPlace::Control {
        schema.insert(CONTROL_MARK.to_owned(), Value::Bool(true));
    }
    Value::Object(schema)
}

/// Returns true if requests of a method change nothing (RFC 9110, 9.2.1).
pub(crate) fn is_safe(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "QUERY")
}

/// Returns the annotations of a tool. What a POST does is unknown, so it counts as destructive.
pub(crate) fn annotations(method: &str, is_read: bool) -> Value {
    if is_read {
        return json!({ "readOnlyHint": true, "openWorldHint": true });
    }
    json!({
        "readOnlyHint": false,
        "destructiveHint": true,
        "idempotentHint": matches!(method, "PUT" | "DELETE"),
        "openWorldHint": true
    })
}
