//! Parses `OpenAPI` documents (2.0, 3.0, 3.1, 3.2), in JSON or YAML.
//!
//! A description of a part that is invalid does not hide the others, because published documents often have faults.

use serde_json::{Map, Value};
use serde_saphyr::options::DuplicateKeyPolicy;
use thiserror::Error;

use crate::openapi::percent;

/// Largest number of YAML values. The largest published documents have about a million.
const MAX_YAML_NODES: usize = 10_000_000;
/// Largest size of all YAML scalars, in bytes.
const MAX_YAML_BYTES: usize = 256 << 20;
/// Longest chain of references that is followed.
const MAX_REFERENCES: usize = 8;

/// Reason that a document has no operations.
#[derive(Debug, Error)]
pub enum DocumentError {
    /// It is neither JSON nor YAML.
    #[error("it is neither JSON nor YAML: {0}")]
    Syntax(String),
    /// It is another kind of document.
    #[error("it has neither `openapi` nor `swagger` at its top; give an OpenAPI document of version 2 or 3")]
    OtherDocument,
    /// It lists no paths.
    #[error("it lists no paths")]
    NoPaths,
}

/// Versions whose schemas differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// 2.0.
    V2,
    /// 3.0: schemas are a dialect of JSON Schema.
    V30,
    /// 3.1 and later: schemas are JSON Schema 2020-12.
    V31,
}

/// An `OpenAPI` document.
#[derive(Clone, Debug)]
pub struct Document {
    root: Value,
    pub(crate) version: Version,
}

impl Document {
    /// Parses a document.
    ///
    /// # Errors
    /// Returns [`DocumentError`] if it is no `OpenAPI` document, or lists no paths.
    pub fn parse(text: &str) -> Result<Self, DocumentError> {
        let root = parse_value(text)?;
        let version = match (root.get("swagger"), root.get("openapi")) {
            (Some(_), None) => Version::V2,
            (_, Some(version)) if version.as_str().is_some_and(|text| text.starts_with("3.0")) => {
                Version::V30
            }
            (_, Some(_)) => Version::V31,
            (None, None) => return Err(DocumentError::OtherDocument),
        };
        let document = Self { root, version };
        if document.paths().is_none_or(Map::is_empty) { Err(DocumentError::NoPaths) } else { Ok(document) }
    }

    /// Returns the absolute URL of the API's first server, if the document has one without variables.
    pub fn server_url(&self) -> Option<String> {
        if self.version == Version::V2 {
            let host = self.text("/host")?;
            let schemes = self.root.get("schemes").and_then(Value::as_array).into_iter().flatten();
            let schemes: Vec<&str> = schemes.filter_map(Value::as_str).collect();
            let scheme = if schemes.is_empty() || schemes.contains(&"https") { "https" } else { schemes[0] };
            return Some(format!("{scheme}://{host}{}", self.text("/basePath").unwrap_or_default()));
        }
        let url = self.text("/servers/0/url")?;
        let is_absolute = url.starts_with("http://") || url.starts_with("https://");
        (is_absolute && !url.contains('{')).then(|| url.to_owned())
    }

    /// Returns the path of the API's base URL, without a slash at its end.
    pub fn base_path(&self) -> String {
        let url = self.text("/servers/0/url").or_else(|| self.text("/basePath")).unwrap_or_default();
        let path = match url.split_once("://") {
            Some((_, rest)) => rest.find('/').map_or("", |at| &rest[at..]),
            None => url,
        };
        path.trim_end_matches('/').to_owned()
    }

    /// Returns the title of the API.
    pub fn title(&self) -> Option<&str> {
        self.text("/info/title")
    }

    /// Returns the version of the API.
    pub fn api_version(&self) -> Option<&str> {
        self.text("/info/version")
    }

    pub(crate) fn paths(&self) -> Option<&Map<String, Value>> {
        self.root.get("paths").and_then(Value::as_object)
    }

    /// Returns a member of the document.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.root.get(name)
    }

    /// Follows references within the document.
    pub(crate) fn resolve<'a>(&'a self, mut value: &'a Value) -> &'a Value {
        for _ in 0..MAX_REFERENCES {
            match reference(value).and_then(|reference| self.target(reference)) {
                Some(target) => value = target,
                None => break,
            }
        }
        value
    }

    /// Returns the target of a reference within the document.
    pub(crate) fn target(&self, reference: &str) -> Option<&Value> {
        let pointer = percent::decode(reference.strip_prefix('#')?);
        self.root.pointer(&pointer)
    }

    fn text(&self, pointer: &str) -> Option<&str> {
        self.root.pointer(pointer).and_then(Value::as_str)
    }
}

/// Returns the reference of a value, if it is one.
pub(crate) fn reference(value: &Value) -> Option<&str> {
    value.get("$ref").and_then(Value::as_str)
}

fn parse_value(document: &str) -> Result<Value, DocumentError> {
    let document = document.trim_start_matches('\u{feff}');
    if document.trim_start().starts_with('{') {
        return serde_json::from_str(document).map_err(|error| DocumentError::Syntax(error.to_string()));
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 2 * MAX_YAML_NODES,
            max_nodes: MAX_YAML_NODES,
            max_total_scalar_bytes: MAX_YAML_BYTES,
        },
        duplicate_keys: DuplicateKeyPolicy::LastWins,
    };
    serde_saphyr::from_str_with_options(document, options)
        .map_err(|error| DocumentError::Syntax(error.to_string()))
}
