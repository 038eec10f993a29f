//! Names the endpoint of a request, so that rules, records and limits apply to all requests of one kind.

use http::Method;

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

impl RouteTable {
    /// Creates a table. `parameters` are read by the API on every path, those of a route in addition.
    pub fn new(routes: Vec<Route>, parameters: Vec<String>) -> Self {
        Self { routes, parameters }
    }

    /// Returns the name of the endpoint of a request: `GET /bookings/{id}`.
    pub(crate) fn endpoint_name(&self, method: &Method, path: &str) -> String {
        match self.find(method, path) {
            Some(route) => format!("{method} {}", route.path),
            None => format!("{method} {}", generalize(path)),
        }
    }

    /// Returns true if the API itself reads this query parameter.
    pub(crate) fn owns_parameter(&self, method: &Method, path: &str, name: &str) -> bool {
        let route = self.find(method, path).map_or(&[][..], |route| &route.parameters);
        self.parameters.iter().chain(route).any(|owned| owned == name)
    }

    /// Returns the route of a request: of several, the one with the fewest variable segments.
    fn find(&self, method: &Method, path: &str) -> Option<&Route> {
        let matching = self.routes.iter().filter(|route| {
            route.method.as_deref().is_none_or(|named| named == method.as_str()) && matches(&route.path, path)
        });
        matching.min_by_key(|route| route.path.matches('{').count())
    }
}

/// Returns true if a path has the segments of a template.
fn matches(template: &str, path: &str) -> bool {
    let is_variable = |segment: &str| segment.starts_with('{') && segment.ends_with('}');
    let (mut expected, mut given) = (segments(template), segments(path));
    loop {
        match (expected.next(), given.next()) {
            (None, None) => return true,
            (Some(expected), Some(given)) if is_variable(expected) || expected == given => {}
            _ => return false,
        }
    }
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.trim_end_matches('/').split('/')
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

#[cfg(test)]
mod tests {
    use http::Method;

    use super::{Route, RouteTable};

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
            ],
            vec!["key".to_owned()],
        );
        let check = |method: Method, path: &str, expect: &str| {
            assert_eq!(table.endpoint_name(&method, path), expect, "{method} {path}");
        };
        check(Method::GET, "/v1/bookings/BK1", "GET /v1/bookings/{booking}");
        check(Method::GET, "/v1/bookings/BK1/", "GET /v1/bookings/{booking}");
        check(Method::GET, "/v1/bookings/new", "GET /v1/bookings/new");
        check(Method::POST, "/v1/bookings/7", "POST /v1/{any}/{id}");
        check(Method::GET, "/v2/bookings/BK12345", "GET /v2/bookings/{id}");
        check(Method::GET, "/v2/x/0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9/y", "GET /v2/x/{id}/y");
        check(Method::GET, "/v2/facade/deadbeef", "GET /v2/facade/deadbeef");
        check(Method::GET, "/", "GET /");
        let owns = |path: &str, name: &str| table.owns_parameter(&Method::GET, path, name);
        assert!(owns("/v1/bookings/new", "limit") && owns("/other", "key"));
        assert!(!owns("/other", "limit"));
    }
}
