//! Reads the operations of an API from its `OpenAPI` document.

use crate::openapi::{Document, DocumentError};
use crate::route::Route;

/// Returns the operations of an `OpenAPI` document (2.0, 3.0, 3.1 or 3.2), in JSON or YAML.
///
/// Paths are relative to the API's base URL. If the document names a base URL with a path, each operation is also
/// returned below that path, because a proxy may stand in front of the whole host.
///
/// # Errors
/// Returns [`DocumentError`] if it is no `OpenAPI` document.
///
/// ```
/// let document = "openapi: 3.1.0\npaths:\n  /bookings/{id}:\n    get:\n      parameters: [{name: view, in: query}]\n";
/// let routes = portion_rest::document_routes(document)?;
/// assert_eq!((routes[0].path.as_str(), routes[0].parameters.as_slice()), ("/bookings/{id}", &["view".to_owned()][..]));
/// # Ok::<(), portion_rest::openapi::DocumentError>(())
/// ```
pub fn document_routes(document: &str) -> Result<Vec<Route>, DocumentError> {
    let document = Document::parse(document)?;
    let prefix = document.base_path();
    let mut routes = Vec::new();
    for operation in document.operations() {
        let (method, path) = (Some(operation.method.to_owned()), operation.path.to_owned());
        let route = Route { method, path, parameters: operation.query_parameters() };
        if !prefix.is_empty() {
            routes.push(Route { path: format!("{prefix}{}", operation.path), ..route.clone() });
        }
        routes.push(route);
    }
    Ok(routes)
}

#[cfg(test)]
mod tests {
    use super::document_routes;

    fn check(document: &str, expect: &[&str]) {
        let found = document_routes(document).expect("an OpenAPI document");
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
        let error = |document: &str| document_routes(document).expect_err("no OpenAPI document").to_string();
        assert!(error("{\"openapi\":").contains("neither JSON nor YAML"));
        assert!(error("a: [").contains("neither JSON nor YAML"));
        assert!(error("{\"paths\":{}}").contains("openapi"));
        assert!(error("[]").contains("openapi") && error("").contains("openapi"));
        assert!(error("openapi: 3.1.0\npaths: {}\n").contains("no paths"));
    }
}
