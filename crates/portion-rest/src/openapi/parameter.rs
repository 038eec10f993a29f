//! The parameters of an operation.

use serde_json::{Map, Value};

use crate::openapi::document::{Document, Version};
use crate::openapi::operation::Operation;

/// Header parameters that are set otherwise, or that would change the meaning of a request.
const RESERVED_HEADERS: [&str; 16] = [
    "accept",
    "accept-encoding",
    "authorization",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Place of a parameter in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Path,
    Query,
    Header,
    Cookie,
}

/// Notation of a value that is not a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Separated by commas.
    Simple,
    /// Like `Simple`, after a dot (paths only).
    Label,
    /// Like `Simple`, after `;name=` (paths only).
    Matrix,
    /// `name=value`, repeated or separated by commas.
    Form,
    /// Separated by spaces.
    Space,
    /// Separated by tabs.
    Tab,
    /// Separated by `|`.
    Pipe,
    /// `name[key]=value`.
    DeepObject,
    /// As JSON text.
    Json,
}

/// A parameter outside of the body.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) place: Place,
    /// Name in the request.
    pub(crate) name: String,
    /// Name of the tool's argument.
    pub(crate) argument: String,
    pub(crate) is_required: bool,
    pub(crate) style: Style,
    pub(crate) explode: bool,
    pub(crate) allow_reserved: bool,
}

/// A parameter and its schema in the document.
pub(crate) struct DeclaredParameter<'a> {
    pub(crate) parameter: Parameter,
    pub(crate) schema: Option<&'a Value>,
    pub(crate) description: Option<&'a str>,
}

impl Place {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
            Self::Cookie => "cookie",
        }
    }
}

/// Returns the parameters of an operation. Those of the operation replace those of the path.
pub(crate) fn declared_parameters<'a>(operation: &Operation<'a>) -> Vec<DeclaredParameter<'a>> {
    let mut all: Vec<DeclaredParameter<'a>> = Vec::new();
    for value in operation.declared_parameters() {
        let Some(declared) = parse(operation.document, value) else { continue };
        let is_same = |other: &DeclaredParameter<'_>| {
            other.parameter.place == declared.parameter.place
                && other.parameter.name == declared.parameter.name
        };
        match all.iter_mut().find(|other| is_same(other)) {
            Some(other) => *other = declared,
            None => all.push(declared),
        }
    }
    let names = template_names(operation.path);
    all.retain(|declared| {
        declared.parameter.place != Place::Path || names.contains(&declared.parameter.name.as_str())
    });
    for name in names {
        if !all.iter().any(|other| other.parameter.place == Place::Path && other.parameter.name == name) {
            let parameter = undeclared_path_parameter(name);
            all.push(DeclaredParameter { parameter, schema: None, description: None });
        }
    }
    all
}

/// Returns the names in braces of a path, in order.
pub(crate) fn template_names(path: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = path;
    while let Some((_, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else { break };
        if !names.contains(&name) {
            names.push(name);
        }
        rest = after;
    }
    names
}

fn undeclared_path_parameter(name: &str) -> Parameter {
    Parameter {
        place: Place::Path,
        name: name.to_owned(),
        argument: String::new(),
        is_required: true,
        style: Style::Simple,
        explode: false,
        allow_reserved: false,
    }
}

fn parse<'a>(document: &Document, value: &'a Value) -> Option<DeclaredParameter<'a>> {
    let fields = value.as_object()?;
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let name = text("name").filter(|name| !name.is_empty())?;
    let place = match text("in")? {
        "path" => Place::Path,
        "query" => Place::Query,
        "header" if RESERVED_HEADERS.contains(&name.to_ascii_lowercase().as_str()) => return None,
        "header" => Place::Header,
        "cookie" => Place::Cookie,
        _ => return None,
    };
    let flag = |name: &str| fields.get(name).and_then(Value::as_bool);
    let (style, explode, schema) = if document.version == Version::V2 {
        let (style, explode) = collection_format(text("collectionFormat"), place);
        (style, explode, Some(value))
    } else if let Some(media) =
        fields.get("content").and_then(Value::as_object).and_then(|content| content.values().next())
    {
        (Style::Json, false, media.get("schema"))
    } else {
        let (style, explode) = style(text("style"), flag("explode"), place);
        (style, explode, fields.get("schema"))
    };
    let parameter = Parameter {
        place,
        name: name.to_owned(),
        argument: String::new(),
        is_required: place == Place::Path || flag("required") == Some(true),
        style,
        explode,
        allow_reserved: flag("allowReserved") == Some(true),
    };
    Some(DeclaredParameter { parameter, schema, description: text("description") })
}

fn style(named: Option<&str>, explode: Option<bool>, place: Place) -> (Style, bool) {
    let default = match place {
        Place::Path | Place::Header => Style::Simple,
        Place::Query | Place::Cookie => Style::Form,
    };
    let style = match named {
        Some("simple") => Style::Simple,
        Some("label") if place == Place::Path => Style::Label,
        Some("matrix") if place == Place::Path => Style::Matrix,
        Some("form") => Style::Form,
        Some("spaceDelimited") => Style::Space,
        Some("pipeDelimited") => Style::Pipe,
        Some("deepObject") => Style::DeepObject,
        _ => default,
    };
    (style, explode.unwrap_or(style == Style::Form))
}

/// Returns the style of 2.0 for lists.
fn collection_format(named: Option<&str>, place: Place) -> (Style, bool) {
    let separated = match place {
        Place::Query | Place::Cookie => Style::Form,
        Place::Path | Place::Header => Style::Simple,
    };
    match named {
        Some("multi") => (Style::Form, true),
        Some("ssv") => (Style::Space, false),
        Some("tsv") => (Style::Tab, false),
        Some("pipes") => (Style::Pipe, false),
        _ => (separated, false),
    }
}

/// Returns the style of a property of a form body.
pub(crate) fn form_style(encoding: Option<&Map<String, Value>>) -> (Style, bool) {
    let field = |name: &str| encoding.and_then(|encoding| encoding.get(name));
    let named = field("style").and_then(Value::as_str);
    style(named, field("explode").and_then(Value::as_bool), Place::Query)
}
