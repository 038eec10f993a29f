//! Reads the operations of an API from its `OpenAPI` document.
//!
//! Only paths, methods and the names of query parameters are used. A description of a part that is invalid does not
//! hide the others, because published documents often have faults.

use serde_json::{Map, Value};
use serde_saphyr::options::DuplicateKeyPolicy;
use thiserror::Error;

use crate::route::Route;

/// Fields of a path item that are operations.
const METHODS: [&str; 9] = ["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"];
/// Largest number of YAML values. The largest published documents have about a million.
const MAX_YAML_NODES: usize = 10_000_000;
/// Largest size of all YAML scalars, in bytes.
const MAX_YAML_BYTES: usize = 256 << 20;
/// Longest chain of references that is followed.
const MAX_REFERENCES: usize = 8;

/// Reason that a document has no operations.
#[derive(Debug, Error)]
pub enum OpenApiError {
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

/// Returns the operations of an `OpenAPI` document (2.0, 3.0, 3.1 or 3.2), in JSON or YAML.
///
/// Paths are relative to the API's base URL. If the document names a base URL with a path, each operation is also
/// returned below that path, because a proxy may stand in front of the whole host.
///
/// # Errors
/// Returns [`OpenApiError`] if it is no `OpenAPI` document.
///
/// ```
/// let document = "openapi: 3.1.0\npaths:\n  /bookings/{id}:\n    get:\n      parameters: [{name: view, in: query}]\n";
/// let routes = portion_http::openapi::routes(document)?;
/// assert_eq!((routes[0].path.as_str(), routes[0].parameters.as_slice()), ("/bookings/{id}", &["view".to_owned()][..]));
/// # Ok::<(), portion_http::openapi::OpenApiError>(())
/// ```
pub fn routes(document: &str) -> Result<Vec<Route>, OpenApiError> {
    let document = parse(document)?;
    if document.get("openapi").or_else(|| document.get("swagger")).is_none() {
        return Err(OpenApiError::OtherDocument);
    }
    let paths = document.get("paths").and_then(Value::as_object).filter(|paths| !paths.is_empty());
    let prefix = base_path(&document);
    let mut routes = Vec::new();
    for (path, item) in paths.ok_or(OpenApiError::NoPaths)? {
        let Some(item) = resolve(&document, item).as_object() else { continue };
        let common = query_parameters(&document, item);
        for (method, operation) in
            METHODS.iter().filter_map(|method| Some((method, item.get(*method)?.as_object()?)))
        {
            let mut parameters = common.clone();
            parameters.extend(query_parameters(&document, operation));
            let route = Route { method: Some(method.to_uppercase()), path: path.clone(), parameters };
            if !prefix.is_empty() {
                routes.push(Route { path: format!("{prefix}{path}"), ..route.clone() });
            }
            routes.push(route);
        }
    }
    Ok(routes)
}

fn parse(document: &str) -> Result<Value, OpenApiError> {
    let document = document.trim_start_matches('\u{feff}');
    if document.trim_start().starts_with('{') {
        return serde_json::from_str(document).map_err(|error| OpenApiError::Syntax(error.to_string()));
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
        .map_err(|error| OpenApiError::Syntax(error.to_string()))
}

/// Returns the path of the API's base URL, without a slash at its end.
fn base_path(document: &Value) -> String {
    let url = document.pointer("/servers/0/url").or_else(|| document.get("basePath"));
    let url = url.and_then(Value::as_str).unwrap_or_default();
    let path = match url.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("", |at| &rest[at..]),
        None => url,
    };
    path.trim_end_matches('/').to_owned()
}

/// Returns the names of the query parameters of a path item or an operation.
fn query_parameters(document: &Value, holder: &Map<String, Value>) -> Vec<String> {
    let listed = holder.get("parameters").and_then(Value::as_array).into_iter().flatten();
    let named = listed.map(|parameter| resolve(document, parameter)).filter_map(|parameter| {
        let is_query = parameter.get("in")?.as_str()? == "query";
        parameter.get("name")?.as_str().filter(|_| is_query).map(str::to_owned)
    });
    named.collect()
}

/// Follows references within the document.
fn resolve<'a>(document: &'a Value, mut value: &'a Value) -> &'a Value {
    for _ in 0..MAX_REFERENCES {
        let pointer =
            value.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
        match pointer.and_then(|pointer| document.pointer(pointer)) {
            Some(target) => value = target,
            None => break,
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::routes;

    fn check(document: &str, expect: &[&str]) {
        let found = routes(document).expect("an OpenAPI document");
        let shown = found.iter().map(|route| {
            format!(
                "{} {} {}",
                route.method.as_deref().unwrap_or("*"),
                route.path,
                route.parameters.join(",")
            )
        });
        assert_eq!(shown.collect::<Vec<_>>(), expect, "{document}");
    }

    #[test]
    fn operations_are_read_from_all_versions() {
        check(
            r##"{"openapi":"3.0.3","servers":[{"url":"https://api.example/v1/"}],"paths":{"/a":{"parameters":[{"$ref":"#/components/parameters/limit"}],
            "get":{"parameters":[{"name":"q","in":"query"},{"name":"X-Own","in":"header"}]},"post":{},"x-own":{}}},
            "components":{"parameters":{"limit":{"name":"limit","in":"query"}}}}"##,
            &["GET /v1/a limit,q", "GET /a limit,q", "POST /v1/a limit", "POST /a limit"],
        );
        check(
            "swagger: '2.0'\nbasePath: /api\npaths:\n  /b/{id}:\n    get:\n      parameters:\n      - {name: page, in: query}\n",
            &["GET /api/b/{id} page", "GET /b/{id} page"],
        );
    }

    #[test]
    fn faults_of_a_part_do_not_hide_the_rest() {
        check(
            r##"{"openapi":"3.1.0","paths":{"/a":null,"/b":{"get":{"parameters":[null,{"$ref":"#/nosuch"},{"in":"query"},{"name":"c","in":"query"}]}},
            "/loop":{"$ref":"#/paths/~1loop"}}}"##,
            &["GET /b c"],
        );
    }

    #[test]
    fn other_documents_are_errors() {
        let error = |document: &str| routes(document).expect_err("no OpenAPI document").to_string();
        assert!(error("{\"openapi\":").contains("neither JSON nor YAML"));
        assert!(error("a: [").contains("neither JSON nor YAML"));
        assert!(error("{\"paths\":{}}").contains("openapi"));
        assert!(error("[]").contains("openapi") && error("").contains("openapi"));
        assert!(error("openapi: 3.1.0\npaths: {}\n").contains("no paths"));
    }
}
