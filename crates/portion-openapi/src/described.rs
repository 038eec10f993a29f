//! Tools that an operator describes, without an `OpenAPI` document.
//!
//! ```
//! use portion_openapi::{ArgumentDescription, ArgumentPlace, Tool, ToolDescription};
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

use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::path_pattern::{InvalidPath, PathPattern};

/// Methods of described tools.
pub const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];

/// Property of an argument's schema that marks it as a control of Portion. Such an argument is not sent.
pub const CONTROL_MARK: &str = "x-portion-control";

/// A tool that an operator describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolDescription {
    /// Name.
    pub name: String,
    /// Description for models.
    pub description: String,
    /// Method, one of [`METHODS`].
    pub method: &'static str,
    /// Path below the base URL, with `{argument}`, `{argument.member}`, and optional parts in brackets.
    pub path: String,
    /// Query parameters of each request.
    pub query: Vec<(String, String)>,
    /// Members of the body of each request.
    pub body: Vec<(String, Value)>,
    /// Encoding of the body.
    pub body_encoding: BodyEncoding,
    /// Arguments, in order.
    pub arguments: Vec<ArgumentDescription>,
    /// True if a call changes nothing, whatever the method.
    pub is_read: bool,
}

/// Encoding of the body of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyEncoding {
    /// JSON.
    #[default]
    Json,
    /// `application/x-www-form-urlencoded`.
    Form,
}

/// An argument of a described tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentDescription {
    /// Name of the argument.
    pub name: String,
    /// Place of its value in the request.
    pub place: ArgumentPlace,
    /// Name in the request.
    pub sent_as: String,
    /// True if calls without it are refused.
    pub is_required: bool,
    /// True if a single value is sent as a list.
    pub is_list: bool,
    /// JSON Schema of its value.
    pub schema: Map<String, Value>,
}

/// Parts of the request of a described tool.
#[derive(Clone, Debug)]
pub(crate) struct RequestTemplate {
    pub(crate) description: ToolDescription,
    pub(crate) path: PathPattern,
    /// Query parameters that the operator sets.
    pub(crate) reserved_query: Vec<String>,
}

/// Place of an argument in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentPlace {
    /// Named in the path.
    Path,
    /// In the query. If the schema has the type `object`, the members of an object are parameters of their own, except
    /// those in the path.
    Query,
    /// A member of the body.
    Body,
    /// A control of Portion, which is not sent.
    Control,
}

/// Reason that a description gives no tool.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DescriptionError {
    /// The path cannot be read.
    #[error(transparent)]
    InvalidPath(#[from] InvalidPath),
    /// The path names an argument that the tool does not have.
    #[error("has `{0}` in its path, which is none of its arguments")]
    UnknownArgument(String),
    /// An argument is in the path by its place, and not by its name.
    #[error("has the argument `{0}` in its path, but the path does not name it")]
    NotInPath(String),
}

impl Default for ToolDescription {
    fn default() -> Self {
        Self {
            name: String::new(),
            description: String::new(),
            method: METHODS[0],
            path: "/".to_owned(),
            query: Vec::new(),
            body: Vec::new(),
            body_encoding: BodyEncoding::Json,
            arguments: Vec::new(),
            is_read: false,
        }
    }
}

impl ArgumentDescription {
    /// Creates an optional argument that is sent under its own name.
    pub fn new(name: &str, place: ArgumentPlace) -> Self {
        Self {
            name: name.to_owned(),
            place,
            sent_as: name.to_owned(),
            is_required: false,
            is_list: false,
            schema: Map::new(),
        }
    }

    /// Returns true if the schema has the type `object`.
    pub(crate) fn takes_object(&self) -> bool {
        match self.schema.get("type") {
            Some(Value::Array(types)) => types.iter().any(|one| one == "object"),
            one => one.is_some_and(|one| one == "object"),
        }
    }

    /// Returns its schema as it is listed.
    fn listed_schema(&self) -> Value {
        let mut schema = self.schema.clone();
        if self.place == ArgumentPlace::Control {
            schema.insert(CONTROL_MARK.to_owned(), Value::Bool(true));
        }
        Value::Object(schema)
    }
}

impl ToolDescription {
    /// Returns true if a call changes nothing.
    pub fn only_reads(&self) -> bool {
        self.is_read || is_safe(self.method)
    }

    /// Returns the names of the arguments that calls must have.
    pub(crate) fn required(&self) -> Vec<String> {
        let required = self.arguments.iter().filter(|argument| argument.is_required);
        required.map(|argument| argument.name.clone()).collect()
    }

    /// Returns the JSON Schema of the arguments.
    pub(crate) fn input_schema(&self) -> Value {
        let properties =
            self.arguments.iter().map(|argument| (argument.name.clone(), argument.listed_schema()));
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

impl RequestTemplate {
    /// Creates the template of a description.
    pub(crate) fn new(
        description: &ToolDescription,
        reserved_query: &[String],
    ) -> Result<Self, DescriptionError> {
        let path = PathPattern::parse(&description.path)?;
        let is_known = |name: &str| description.arguments.iter().any(|argument| argument.name == name);
        if let Some(unknown) = path.arguments().find(|name| !is_known(name)) {
            return Err(DescriptionError::UnknownArgument(unknown.to_owned()));
        }
        let unnamed = description.arguments.iter().find(|argument| {
            argument.place == ArgumentPlace::Path && !path.arguments().any(|name| name == argument.name)
        });
        match unnamed {
            Some(argument) => Err(DescriptionError::NotInPath(argument.name.clone())),
            None => {
                Ok(Self { description: description.clone(), path, reserved_query: reserved_query.to_vec() })
            }
        }
    }
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
