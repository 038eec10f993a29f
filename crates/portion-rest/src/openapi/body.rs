//! The request body of an operation.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::openapi::document::{Document, Version, reference};
use crate::openapi::operation::Operation;
use crate::openapi::parameter::Style;

/// Keywords of an object schema whose properties can become arguments of their own.
const FLAT_KEYWORDS: [&str; 13] = [
    "type",
    "properties",
    "required",
    "description",
    "title",
    "example",
    "examples",
    "xml",
    "externalDocs",
    "deprecated",
    "nullable",
    "minProperties",
    "$schema",
];

/// Encoding of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyKind {
    Json,
    Form,
    Multipart,
    Text,
    /// Bytes, given in base64.
    Binary,
}

/// The body of a tool's requests.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) content_type: String,
    pub(crate) kind: BodyKind,
    pub(crate) is_required: bool,
    pub(crate) shape: BodyShape,
    /// Styles of the members of a form.
    pub(crate) styles: Vec<(String, Style, bool)>,
    /// Members of a multipart form that are files, given in base64.
    pub(crate) files: Vec<String>,
}

/// Arguments that make up a body.
#[derive(Clone, Debug)]
pub(crate) enum BodyShape {
    /// One argument of this name is the body.
    Whole(String),
    /// Each member is an argument: name of the member, name of the argument.
    Members(Vec<(String, String)>),
}

/// A body as the document describes it.
pub(crate) struct DeclaredBody<'a> {
    pub(crate) content_type: String,
    pub(crate) kind: BodyKind,
    pub(crate) is_required: bool,
    pub(crate) schema: Option<Cow<'a, Value>>,
    pub(crate) encoding: Map<String, Value>,
    pub(crate) description: Option<&'a str>,
}

/// Returns the body of an operation, in the media type that is the easiest to write.
pub(crate) fn declared_body<'a>(operation: &Operation<'a>) -> Option<DeclaredBody<'a>> {
    if operation.document.version == Version::V2 {
        return body_of_version_2(operation);
    }
    let body = operation.document.resolve(operation.fields.get("requestBody")?).as_object()?;
    let content = body.get("content").and_then(Value::as_object)?;
    let (media, described) = content.iter().min_by_key(|(media, _)| rank(media))?;
    let schema = described.get("schema");
    Some(DeclaredBody {
        content_type: content_type(media),
        kind: kind_of(media),
        is_required: body.get("required").and_then(Value::as_bool) == Some(true),
        schema: schema.map(Cow::Borrowed),
        encoding: described.get("encoding").and_then(Value::as_object).cloned().unwrap_or_default(),
        description: body.get("description").and_then(Value::as_str),
    })
}

impl DeclaredBody<'_> {
    /// Returns the object schema whose properties can become arguments of their own.
    pub(crate) fn flat_schema<'b>(&'b self, document: &'b Document) -> Option<&'b Map<String, Value>> {
        if matches!(self.kind, BodyKind::Text | BodyKind::Binary) {
            return None;
        }
        let schema = document.resolve(self.schema.as_deref()?).as_object()?;
        let is_flat = schema.iter().all(|(keyword, value)| {
            FLAT_KEYWORDS.contains(&keyword.as_str())
                || keyword.starts_with("x-")
                || (keyword == "additionalProperties" && *value == Value::Bool(false))
        });
        let has_type = schema.get("type").is_none_or(|name| name == "object");
        let has_properties =
            schema.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
        (is_flat && has_type && has_properties).then_some(schema)
    }

    /// Returns the names of the properties that are files.
    pub(crate) fn files(&self, document: &Document) -> Vec<String> {
        let schema = self.schema.as_deref().map(|schema| document.resolve(schema));
        let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
        let is_file = |schema: &Value| {
            let schema = document.resolve(schema);
            let text = |name: &str| schema.get(name).and_then(Value::as_str);
            text("format") == Some("binary")
                || text("type") == Some("file")
                || text("contentMediaType").is_some()
        };
        let files = properties.into_iter().flatten().filter(|(_, schema)| is_file(schema));
        files.map(|(name, _)| name.clone()).collect()
    }

    /// Returns the first reference of the body to another document.
    pub(crate) fn external(operation: &Operation<'_>) -> Option<String> {
        let body = operation.document.resolve(operation.fields.get("requestBody")?);
        reference(body).filter(|reference| !reference.starts_with('#')).map(str::to_owned)
    }
}

fn body_of_version_2<'a>(operation: &Operation<'a>) -> Option<DeclaredBody<'a>> {
    let place =
        |parameter: &Value| parameter.get("in").and_then(Value::as_str).unwrap_or_default().to_owned();
    let consumed = operation.fields.get("consumes").or_else(|| operation.document.get("consumes"));
    let consumed: Vec<&str> =
        consumed.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    if let Some(body) = operation.declared_parameters().find(|parameter| place(parameter) == "body") {
        let media = consumed.iter().copied().min_by_key(|media| rank(media)).unwrap_or("application/json");
        // A body with a schema of members is JSON, whatever else the API reads.
        let media = if matches!(kind_of(media), BodyKind::Form | BodyKind::Multipart) {
            "application/json"
        } else {
            media
        };
        return Some(DeclaredBody {
            content_type: content_type(media),
            kind: kind_of(media),
            is_required: body.get("required").and_then(Value::as_bool) == Some(true),
            schema: body.get("schema").map(Cow::Borrowed),
            encoding: Map::new(),
            description: body.get("description").and_then(Value::as_str),
        });
    }
    let (mut properties, mut required, mut encoding) = (Map::new(), Vec::new(), Map::new());
    let mut has_file = false;
    for parameter in operation.declared_parameters().filter(|parameter| place(parameter) == "formData") {
        let Some(name) = parameter.get("name").and_then(Value::as_str) else { continue };
        has_file |= parameter.get("type").and_then(Value::as_str) == Some("file");
        if parameter.get("required").and_then(Value::as_bool) == Some(true) {
            required.push(Value::from(name));
        }
        let style = match parameter.get("collectionFormat").and_then(Value::as_str) {
            Some("multi") => json!({ "style": "form", "explode": true }),
            Some("ssv") => json!({ "style": "spaceDelimited", "explode": false }),
            Some("pipes") => json!({ "style": "pipeDelimited", "explode": false }),
            _ => json!({ "style": "form", "explode": false }),
        };
        encoding.insert(name.to_owned(), style);
        properties.insert(name.to_owned(), parameter.clone());
    }
    if properties.is_empty() {
        return None;
    }
    let is_multipart = has_file
        || (consumed.contains(&"multipart/form-data")
            && !consumed.contains(&"application/x-www-form-urlencoded"));
    let media = if is_multipart { "multipart/form-data" } else { "application/x-www-form-urlencoded" };
    Some(DeclaredBody {
        content_type: media.to_owned(),
        kind: kind_of(media),
        is_required: !required.is_empty(),
        schema: Some(Cow::Owned(json!({ "type": "object", "properties": properties, "required": required }))),
        encoding,
        description: None,
    })
}

/// Returns the order of preference of a media type.
fn rank(media: &str) -> u8 {
    let plain = essence(media);
    match kind_of(media) {
        BodyKind::Json if plain == "application/json" => 0,
        BodyKind::Json if plain != "*/*" => 1,
        BodyKind::Form => 2,
        BodyKind::Multipart => 3,
        BodyKind::Json => 4,
        BodyKind::Text => 5,
        BodyKind::Binary => 6,
    }
}

fn kind_of(media: &str) -> BodyKind {
    let media = essence(media);
    match media.as_str() {
        "application/x-www-form-urlencoded" => BodyKind::Form,
        "multipart/form-data" => BodyKind::Multipart,
        "*/*" | "application/*" | "application/json" => BodyKind::Json,
        _ if media.ends_with("+json") || media.ends_with("/json") || media.ends_with("-json") => {
            BodyKind::Json
        }
        _ if media.starts_with("text/")
            || media.contains("xml")
            || media.contains("yaml")
            || media.contains("graphql") =>
        {
            BodyKind::Text
        }
        _ => BodyKind::Binary,
    }
}

fn essence(media: &str) -> String {
    media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Returns the media type for a request. A range such as `text/*` is replaced by a type in it.
fn content_type(media: &str) -> String {
    let is_header = !media.is_empty() && media.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    match essence(media).as_str() {
        "*/*" | "application/*" => "application/json".to_owned(),
        "text/*" => "text/plain".to_owned(),
        kind if kind.ends_with("/*") || !is_header => "application/octet-stream".to_owned(),
        _ => media.to_owned(),
    }
}
