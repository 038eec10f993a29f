//! The operations of a document.

use serde_json::{Map, Value};

use crate::openapi::document::Document;

/// Methods; the fields of a path item that are operations have their names in lower case.
const METHODS: [&str; 9] = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE", "QUERY"];

/// An operation of an API.
#[derive(Clone, Copy, Debug)]
pub struct Operation<'a> {
    /// Method, in upper case.
    pub method: &'static str,
    /// Path with `{name}` in place of variable parts, relative to the base URL.
    pub path: &'a str,
    pub(crate) document: &'a Document,
    pub(crate) item: &'a Map<String, Value>,
    pub(crate) fields: &'a Map<String, Value>,
}

impl Document {
    /// Returns the operations, in the order of the document.
    pub fn operations(&self) -> Vec<Operation<'_>> {
        let mut operations = Vec::new();
        for (path, item) in self.paths().into_iter().flatten() {
            let Some(item) = self.resolve(item).as_object() else { continue };
            for method in METHODS {
                let fields = item.get(&method.to_ascii_lowercase()).map(|fields| self.resolve(fields));
                if let Some(fields) = fields.and_then(Value::as_object) {
                    operations.push(Operation { method, path, document: self, item, fields });
                }
            }
        }
        operations
    }
}

impl<'a> Operation<'a> {
    /// Returns the names of its query parameters.
    pub fn query_parameters(&self) -> Vec<String> {
        let named = self.declared_parameters().filter_map(|parameter| {
            let is_query = parameter.get("in")?.as_str()? == "query";
            parameter.get("name")?.as_str().filter(|_| is_query).map(str::to_owned)
        });
        named.collect()
    }

    /// Returns a text of the operation.
    pub(crate) fn text(&self, field: &str) -> Option<&'a str> {
        self.fields.get(field).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
    }

    /// Returns the responses of successful requests.
    pub(crate) fn successes(&self) -> impl Iterator<Item = &'a Value> {
        let (document, responses) = (self.document, self.fields.get("responses").and_then(Value::as_object));
        let is_success = |(status, _): &(&String, &Value)| status.starts_with('2') || *status == "default";
        responses.into_iter().flatten().filter(is_success).map(|(_, response)| document.resolve(response))
    }

    /// Returns the parameters of the path, then those of the operation, with references followed.
    pub(crate) fn declared_parameters(&self) -> impl Iterator<Item = &'a Value> {
        let document = self.document;
        let listed = |holder: &'a Map<String, Value>| {
            holder.get("parameters").and_then(Value::as_array).into_iter().flatten()
        };
        listed(self.item).chain(listed(self.fields)).map(move |parameter| document.resolve(parameter))
    }
}
