//! A tool that stands for an operation.

use portion_policy::tool_description::{DescriptionError, RETURNS_LIST_META_KEY, ToolDescription};
use serde_json::{Map, Value, json};

use crate::openapi::body::{Body, BodyKind, BodyShape, DeclaredBody, declared_body};
use crate::openapi::described::{RequestTemplate, annotations, is_safe};
use crate::openapi::description::{schema_description, tool_description};
use crate::openapi::document::reference;
use crate::openapi::name::{argument_name, unique};
use crate::openapi::operation::Operation;
use crate::openapi::parameter::{DeclaredParameter, Parameter, Place, declared_parameters, form_style};
use crate::openapi::response::returns_list;
use crate::openapi::schema::SchemaConverter;

/// Largest input schema, in bytes. Some clients drop tools with more than 16 KiB, and the controls that may be added have up
/// to 500: with them, it has at most 15,000.
const MAX_SCHEMA_BYTES: usize = 14_500;
/// Properties below this size are not shortened.
const MIN_LARGE_PROPERTY_BYTES: usize = 300;

/// A tool that stands for an operation.
#[derive(Clone, Debug, Default)]
pub struct Tool {
    /// Name: 1 to 64 letters, digits, `_` and `-`.
    pub name: String,
    /// Short description.
    pub description: String,
    /// Method, in upper case.
    pub method: &'static str,
    /// Path of the operation, with `{name}` in place of variable parts.
    pub path: String,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
    /// True if a call changes nothing.
    pub is_read: bool,
    /// True if a result can be a list.
    pub returns_list: bool,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Option<Body>,
    pub(crate) required: Vec<String>,
    pub(crate) path_template: String,
    pub(crate) fixed_query: Option<String>,
    /// Query parameters that the operator sets.
    pub(crate) reserved_query: Vec<String>,
    pub(crate) accept: String,
    /// Set for a tool that an operator described: then its request is made from that.
    pub(crate) described: Option<Box<RequestTemplate>>,
}

/// Names that the operator sets in each request, so that no argument may.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reserved<'a> {
    pub(crate) query: &'a [String],
    pub(crate) headers: &'a [String],
}

/// Faults by which an operation has no tool, or an incomplete one.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// A reference to another document.
    pub(crate) external: Option<String>,
    /// References whose target does not exist.
    pub(crate) dangling: Vec<String>,
}

impl Tool {
    /// Returns the tool as MCP lists it.
    pub fn listing(&self) -> Value {
        let mut listing = json!({
            "name": self.name,
            "description": self.description,
            "inputSchema": self.input_schema,
            "annotations": annotations(self.method, self.is_read),
        });
        if self.returns_list {
            listing["_meta"] = json!({ RETURNS_LIST_META_KEY: true });
        }
        listing
    }

    /// Returns the names of its arguments, in order.
    pub(crate) fn argument_names(&self) -> Vec<&str> {
        let properties = self.input_schema.get("properties").and_then(Value::as_object);
        properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect()
    }

    /// Creates the tool of a description. `reserved_query` names query parameters that the operator sets in each request.
    ///
    /// # Errors
    /// Returns [`DescriptionError`] if the path does not agree with the arguments.
    pub fn from_description(
        description: &ToolDescription,
        reserved_query: &[String],
    ) -> Result<Self, DescriptionError> {
        let template = RequestTemplate {
            description: description.clone(),
            path: description.path_pattern()?,
            reserved_query: reserved_query.to_vec(),
        };
        Ok(Self {
            name: description.name.clone(),
            description: description.description.clone(),
            method: description.method,
            path: description.path.clone(),
            input_schema: template.input_schema(),
            is_read: template.only_reads(),
            required: template.required(),
            described: Some(Box::new(template)),
            // The description says nothing about results.
            ..Self::default()
        })
    }

    pub(crate) fn build(operation: &Operation<'_>, name: String, reserved: Reserved<'_>) -> (Self, Findings) {
        let mut findings = findings(operation);
        let mut schema = InputSchema::new(operation);
        let mut declared = declared_parameters(operation);
        declared.sort_by_key(|declared| declared.parameter.place as u8);
        declared.retain(|declared| !is_reserved(&declared.parameter, reserved));
        let parameters: Vec<Parameter> =
            declared.into_iter().map(|declared| schema.add_parameter(declared)).collect();
        let body = declared_body(operation).map(|body| schema.add_body(operation, &body));
        findings.external = findings.external.or_else(|| schema.converter.external.clone());
        let (path, query) = split_path(operation.path);
        let request_line = format!("{} {}", operation.method, operation.path);
        let (required, (input_schema, external)) = (schema.required.clone(), schema.finish());
        findings.external = findings.external.or(external);
        let tool = Self {
            name,
            description: tool_description(
                operation.text("summary"),
                operation.text("description"),
                &request_line,
            ),
            method: operation.method,
            path: operation.path.to_owned(),
            input_schema,
            is_read: is_safe(operation.method),
            returns_list: returns_list(operation),
            parameters,
            body,
            required,
            path_template: path,
            fixed_query: query,
            reserved_query: reserved.query.to_vec(),
            accept: accept(operation),
            described: None,
        };
        (tool, findings)
    }
}

/// The input schema of a tool while it is built.
struct InputSchema<'a> {
    converter: SchemaConverter<'a>,
    properties: Map<String, Value>,
    required: Vec<String>,
}

impl<'a> InputSchema<'a> {
    fn new(operation: &Operation<'a>) -> Self {
        let converter = SchemaConverter::new(operation.document);
        Self { converter, properties: Map::new(), required: Vec::new() }
    }

    /// Adds an argument and returns its name, which differs from the wanted one if that is taken or not valid.
    fn add(&mut self, wanted: &str, place: &str, mut schema: Value, is_required: bool) -> String {
        let plain = argument_name(wanted);
        let is_taken = |name: &str| self.properties.contains_key(name);
        let name = if is_taken(&plain) {
            unique(&argument_name(&format!("{plain}_{place}")), is_taken)
        } else {
            plain
        };
        if name != wanted {
            let place = if place == "body" {
                "Member of the body".to_owned()
            } else {
                format!("Parameter in the {place}")
            };
            let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
            let text = format!("{place}: `{wanted}`. {text}");
            set_description(&mut schema, text.trim_end());
        }
        if is_required {
            self.required.push(name.clone());
        }
        self.properties.insert(name.clone(), schema);
        name
    }

    fn add_parameter(&mut self, declared: DeclaredParameter<'_>) -> Parameter {
        let DeclaredParameter { mut parameter, schema, description } = declared;
        let default = if parameter.place == Place::Path { json!({ "type": "string" }) } else { json!({}) };
        let mut schema = schema.map_or(default, |schema| self.converter.convert_inline(schema));
        if let Some(text) = description.filter(|text| !text.trim().is_empty()) {
            set_description(&mut schema, text);
        }
        parameter.argument = self.add(&parameter.name, parameter.place.name(), schema, parameter.is_required);
        parameter
    }

    fn add_body(&mut self, operation: &Operation<'_>, declared: &DeclaredBody<'_>) -> Body {
        let files = if declared.kind == BodyKind::Multipart {
            declared.files(operation.document)
        } else {
            Vec::new()
        };
        let shape = match declared.flat_schema(operation.document) {
            Some(flat) => {
                let converted = self.converter.convert(&Value::Object(flat.clone()));
                let required: Vec<&str> = converted["required"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                    .collect();
                let members =
                    converted["properties"].as_object().into_iter().flatten().map(|(name, schema)| {
                        let is_required = declared.is_required && required.contains(&name.as_str());
                        let mut schema = schema.clone();
                        if files.contains(name) {
                            describe_bytes(&mut schema);
                        }
                        (name.clone(), self.add(name, "body", schema, is_required))
                    });
                BodyShape::Members(members.collect())
            }
            None => BodyShape::Whole(self.add_whole_body(declared)),
        };
        let styles = declared.encoding.iter().map(|(name, encoding)| {
            let (style, explode) = form_style(encoding.as_object());
            (name.clone(), style, explode)
        });
        Body {
            content_type: declared.content_type.clone(),
            kind: declared.kind,
            is_required: declared.is_required,
            shape,
            styles: styles.collect(),
            files,
        }
    }

    fn add_whole_body(&mut self, declared: &DeclaredBody<'_>) -> String {
        let mut schema = match declared.kind {
            BodyKind::Text | BodyKind::Binary => json!({ "type": "string" }),
            _ => declared
                .schema
                .as_deref()
                .map_or_else(|| json!({}), |schema| self.converter.convert_inline(schema)),
        };
        if declared.kind == BodyKind::Binary {
            describe_bytes(&mut schema);
        }
        let is_undescribed = schema.get("description").is_none();
        let media = format!("Body of the request, {}", declared.content_type);
        if is_undescribed {
            set_description(&mut schema, declared.description.unwrap_or(&media));
        }
        self.add("body", "request", schema, declared.is_required)
    }

    /// Returns the schema, and a reference to another document found in it.
    fn finish(mut self) -> (Value, Option<String>) {
        let mut schema = json!({ "type": "object", "properties": {} });
        if !self.required.is_empty() {
            schema["required"] = self.required.into();
        }
        schema["additionalProperties"] = Value::Bool(false);
        shrink(&mut self.properties, MAX_SCHEMA_BYTES.saturating_sub(schema.to_string().len()));
        schema["properties"] = Value::Object(self.properties);
        let room = MAX_SCHEMA_BYTES.saturating_sub(schema.to_string().len());
        let external = self.converter.add_definitions(&mut schema, room);
        (schema, external)
    }
}

/// Leaves out the schemas of the largest properties until the rest fits into a number of bytes.
fn shrink(properties: &mut Map<String, Value>, max: usize) {
    let size = |value: &Value| value.to_string().len();
    // Quotes, a colon and a comma belong to each name.
    let mut total: usize = properties.iter().map(|(name, schema)| name.len() + 4 + size(schema)).sum();
    while total > max {
        let largest = properties.iter_mut().max_by_key(|(_, schema)| size(schema));
        let Some((_, schema)) = largest.filter(|(_, schema)| size(schema) > MIN_LARGE_PROPERTY_BYTES) else {
            break;
        };
        let before = size(schema);
        let mut short = Map::new();
        if let Some(kind) = schema.get("type") {
            short.insert("type".to_owned(), kind.clone());
        }
        let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let text: String = text.chars().take(100).collect();
        let text = format!("{text} (schema left out, because it is large)");
        short.insert("description".to_owned(), text.trim_start().into());
        *schema = Value::Object(short);
        total = total - before + size(schema);
        if size(schema) >= before {
            break;
        }
    }
    if total > max {
        for schema in properties.values_mut().filter_map(Value::as_object_mut) {
            schema.remove("description");
        }
    }
}

fn set_description(schema: &mut Value, text: &str) {
    if let Value::Bool(true) = schema {
        *schema = json!({});
    }
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("description".to_owned(), schema_description(text).into());
    }
}

fn describe_bytes(schema: &mut Value) {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let text = format!("Bytes, encoded as base64. {text}");
    *schema = json!({ "type": "string", "contentEncoding": "base64", "description": text.trim_end() });
}

fn is_reserved(parameter: &Parameter, reserved: Reserved<'_>) -> bool {
    let names = match parameter.place {
        Place::Query => reserved.query,
        Place::Header => reserved.headers,
        Place::Cookie | Place::Path => return false,
    };
    names.iter().any(|name| name.eq_ignore_ascii_case(&parameter.name))
}

/// Splits the path of an operation from a query that some documents put there.
fn split_path(path: &str) -> (String, Option<String>) {
    let path = path.split('#').next().unwrap_or_default();
    match path.split_once('?') {
        Some((path, query)) => (
            path.to_owned(),
            Some(query.replace(' ', "%20")).filter(|query| !query.is_empty() && query.is_ascii()),
        ),
        None => (path.to_owned(), None),
    }
}

/// Returns the value of `Accept`: the media types of successful responses, JSON first.
fn accept(operation: &Operation<'_>) -> String {
    let contents = operation.successes().filter_map(|response| response.get("content")?.as_object());
    let is_header =
        |media: &&str| !media.is_empty() && media.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let mut media: Vec<&str> =
        contents.flatten().map(|(media, _)| media.as_str()).filter(is_header).collect();
    media.sort_by_key(|media| !media.contains("json"));
    media.dedup();
    media.truncate(4);
    if media.is_empty() {
        media.push("application/json");
    }
    if !media.contains(&"*/*") {
        media.push("*/*;q=0.1");
    }
    media.join(", ")
}

/// Finds references of parameters and bodies that lead nowhere.
fn findings(operation: &Operation<'_>) -> Findings {
    let mut findings = Findings { external: DeclaredBody::external(operation), dangling: Vec::new() };
    let itself = operation.fields.get("$ref").and_then(Value::as_str);
    for unresolved in itself.into_iter().chain(operation.declared_parameters().filter_map(reference)) {
        if unresolved.starts_with('#') {
            findings.dangling.push(unresolved.to_owned());
        } else {
            findings.external.get_or_insert_with(|| unresolved.to_owned());
        }
    }
    findings
}
