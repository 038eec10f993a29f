//! The table of methods and their handling.

use super::super::result::ResultShape;

/// Handling of a client request and its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum MethodHandling {
    /// The response gains the tools capability.
    AdvertiseTools,
    /// The response gains built-in tools and controls. Answered without the server if it has no tools.
    ListTools,
    /// Built-in tools are answered here. For other tools the controls are removed, and the response is
    /// reshaped.
    CallTool,
    /// The response is reshaped. Read URIs are answered here.
    ReadResource,
    /// The response is reshaped.
    ShapeResult(ResultShape),
    /// The result inside the response, once it exists, is reshaped.
    ShapeNestedResult,
    /// Relayed unchanged both ways.
    Relay,
}

/// Methods of all revisions that are not simply relayed.
const METHODS: [(&str, MethodHandling); 8] = [
    ("initialize", MethodHandling::AdvertiseTools),
    ("server/discover", MethodHandling::AdvertiseTools),
    ("tools/list", MethodHandling::ListTools),
    ("tools/call", MethodHandling::CallTool),
    ("resources/read", MethodHandling::ReadResource),
    ("prompts/get", MethodHandling::ShapeResult(ResultShape::Prompt)),
    ("tasks/result", MethodHandling::ShapeResult(ResultShape::Tool)),
    ("tasks/get", MethodHandling::ShapeNestedResult),
];

/// Methods whose results are not content: catalogs and handshakes, which clients read whole.
const CATALOG_METHODS: [&str; 8] = [
    "initialize",
    "server/discover",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "prompts/list",
    "subscriptions/listen",
    "roots/list",
];

/// Methods whose results are empty.
const EMPTY_RESULT_METHODS: [&str; 4] =
    ["ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

/// Returns true if results of the method are empty: a large one does not match it.
pub(super) fn has_empty_result(method: &str) -> bool {
    EMPTY_RESULT_METHODS.contains(&method)
}

/// Returns true if results of the method are relayed whole, and only inspected for reserved members.
pub(super) fn is_catalog_method(method: &str) -> bool {
    CATALOG_METHODS.contains(&method)
}

/// Returns the handling of a method.
pub(in super::super) fn method_handling(method: &str) -> MethodHandling {
    METHODS.iter().find(|(name, _)| *name == method).map_or(MethodHandling::Relay, |(_, row)| *row)
}
