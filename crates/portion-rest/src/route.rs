//! Names the endpoint of a request, so that rules, records and limits apply to all requests of one kind.

use std::borrow::Cow;

use http::Method;
use portion_core::paging::is_paging_argument;

use crate::openapi::{Document, DocumentError};

/// An operation of an API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Method, in upper case; `None` for any.
    pub method: Option<String>,
    /// Path with `{name}` in place of variable segments: `/bookings/{id}`.
    pub path: String,
    /// Query parameters that the API reads itself. They pass to it, even if they are named like a control.
    pub parameters: Vec<String>,
}

/// The known operations of an API. A request of none of them is named after its own path.
#[derive(Clone, Debug, Default)]
pub struct RouteTable {
    routes: Vec<Route>,
    /// Parameters that the API reads on every path.
    parameters: Vec<String>,
}

/// The endpoint of a request.
#[derive(Debug)]
pub(crate) struct ResolvedRoute<'a> {
    /// Method and path: `GET /bookings/{id}`.
    pub(crate) endpoint_name: String,
    /// Query parameters that the API reads itself.
    parameters: [&'a [String]; 2],
    /// True if a known operation lists its parameters.
    is_known: bool,
}

impl RouteTable {
    /// Creates a table. `parameters` are read by the API on every path, those of a route in addition.
    pub fn new(routes: Vec<Route>, parameters: Vec<String>) -> Self {
        Self { routes, parameters }
    }

    /// Finds the endpoint of a request. `has_own_rule` returns true for the name of a path that a rule is written for, other
    /// than the general name.
    pub(crate) fn resolve(
        &self,
        method: &Method,
        path: &str,
        has_own_rule: impl Fn(&str, &str) -> bool,
    ) -> ResolvedRoute<'_> {
        let path = without_repeated_slashes(path);
        let route = self.find(method, &path);
        let general = route.map_or_else(|| generalize(&path), |route| route.path.clone());
        let own = route.map_or(&[][..], |route| &route.parameters);
        let is_general = general != path;
        let general = format!("{method} {general}");
        let own_name = is_general.then(|| format!("{method} {path}"));
        ResolvedRoute {
            endpoint_name: own_name.filter(|name| has_own_rule(name, &general)).unwrap_or(general),
            parameters: [&self.parameters, own],
            is_known: route.is_some(),
        }
    }

    /// Returns the route of a request: of several, the one with the fewest variable segments.
    fn find(&self, method: &Method, path: &str) -> Option<&Route> {
        let matching = self.routes.iter().filter(|route| {
            route.method.as_deref().is_none_or(|named| named == method.as_str()) && matches(&route.path, path)
        });
        matching.min_by_key(|route| route.path.matches('{').count())
    }
}

impl ResolvedRoute<'_> {
    /// Returns true if the parameters that the API reads are known.
    pub(crate) fn knows_parameters(&self) -> bool {
        self.is_known || self.parameters.iter().any(|names| !names.is_empty())
    }

    /// Returns the query parameters by which the API pages its results.
    pub(crate) fn paging_parameters(&self) -> impl Iterator<Item = &str> {
        self.parameters.iter().copied().flatten().map(String::as_str).filter(|name| is_paging_argument(name))
    }

    /// Returns true if the API itself reads this query parameter.
    pub(crate) fn owns_parameter(&self, name: &str) -> bool {
        self.parameters.iter().copied().flatten().any(|owned| owned == name)
    }
}

/// Returns true if a path has the segments of a template.
fn matches(template: &str, path: &str) -> bool {
    let (mut expected, mut given) = (segments(template), segments(path));
    loop {
        match (expected.next(), given.next()) {
            (None, None) => return true,
            (Some(expected), Some(given)) if segment_matches(expected, given) => {}
            _ => return false,
        }
    }
}

/// Returns true if a segment matches that of a template, in which a name in braces stands for any text: `{id}.json`.
fn segment_matches(template: &str, given: &str) -> bool {
    match (template.find('{'), template.rfind('}')) {
        (Some(open), Some(close)) if open < close => {
            let (before, after) = (&template[..open], &template[close + 1..]);
            given.len() > before.len() + after.len() && given.starts_with(before) && given.ends_with(after)
        }
        _ => template == given,
    }
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.trim_end_matches('/').split('/')
}

/// Returns a path with single slashes. Many servers read both alike, so that the rules of an endpoint apply to both.
fn without_repeated_slashes(path: &str) -> Cow<'_, str> {
    if !path.contains("//") {
        return Cow::Borrowed(path);
    }
    let mut single = String::with_capacity(path.len());
    for c in path.chars() {
        if c != '/' || !single.ends_with('/') {
            single.push(c);
        }
    }
    Cow::Owned(single)
}

/// Replaces segments that look like identifiers by `{id}`, because there may be any number of them.
fn generalize(path: &str) -> String {
    let named = path.split('/').map(|segment| if is_identifier(segment) { "{id}" } else { segment });
    named.collect::<Vec<_>>().join("/")
}

/// Returns true for a number, a long hexadecimal number, or a word that ends with at least three digits (`BK12345`).
/// A version such as `v1` is not an identifier.
fn is_identifier(segment: &str) -> bool {
    let digits = segment.bytes().filter(u8::is_ascii_digit).count();
    let is_hex = segment.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let trailing = segment.len() - segment.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    (digits > 0 && digits == segment.len()) || (is_hex && digits > 0 && segment.len() >= 16) || trailing >= 3
}

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
    use http::Method;

    use super::{Route, RouteTable, document_routes};

    #[test]
    fn endpoints_are_named_after_routes_or_general_paths() {
        let route = |method: Option<&str>, path: &str| Route {
            method: method.map(str::to_owned),
            path: path.to_owned(),
            parameters: vec!["limit".to_owned()],
        };
        let table = RouteTable::new(
            vec![
                route(Some("GET"), "/v1/bookings/{booking}"),
                route(None, "/v1/{any}/{id}"),
                route(Some("GET"), "/v1/bookings/new"),
                route(None, "/v1/files/{name}.json"),
            ],
            vec!["key".to_owned()],
        );
        let has_rule = |own: &str, general: &str| own == "GET /report2024" && general == "GET /{id}";
        let check = |method: Method, path: &str, expect: &str| {
            assert_eq!(table.resolve(&method, path, has_rule).endpoint_name, expect, "{method} {path}");
        };
        check(Method::GET, "/v1/bookings/BK1", "GET /v1/bookings/{booking}");
        check(Method::GET, "/v1/bookings/BK1/", "GET /v1/bookings/{booking}");
        check(Method::GET, "/v1/bookings/new", "GET /v1/bookings/new");
        check(Method::GET, "/v1/files/a.json", "GET /v1/files/{name}.json");
        check(Method::GET, "/v1/files/.json", "GET /v1/{any}/{id}");
        check(Method::POST, "/v1/bookings/7", "POST /v1/{any}/{id}");
        check(Method::GET, "/v2/bookings/BK12345", "GET /v2/bookings/{id}");
        check(Method::GET, "/v2/x/0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9/y", "GET /v2/x/{id}/y");
        check(Method::GET, "/v2/facade/deadbeef", "GET /v2/facade/deadbeef");
        check(Method::GET, "/report2024", "GET /report2024");
        check(Method::GET, "/report2025", "GET /{id}");
        check(Method::GET, "/", "GET /");
        check(Method::GET, "//", "GET /");
        check(Method::GET, "//v2/bookings///BK12345", "GET /v2/bookings/{id}");
        check(Method::GET, "/v1//bookings/BK1", "GET /v1/bookings/{booking}");
        let owns =
            |path: &str, name: &str| table.resolve(&Method::GET, path, |_, _| false).owns_parameter(name);
        assert!(owns("/v1/bookings/new", "limit") && owns("/other", "key"));
        assert!(!owns("/other", "limit"));
    }

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
