//! The table: what is done with a method.

use super::super::result::ResultShape;

/// What is done with a request of the client, and with the answer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum MethodHandling {
    /// The answer is told that there are tools.
    AdvertiseTools,
    /// The answer gains our tool and controls; answered here where the server has no tools.
    ListTools,
    /// Ours are answered here; of others our controls are taken out, and the answer is reshaped.
    CallTool,
    /// The answer is reshaped; our own URIs are answered here.
    ReadResource,
    /// The answer is reshaped.
    ShapeResult(ResultShape),
    /// The result inside the answer, once there is one, is reshaped.
    ShapeNestedResult,
    /// Both ways as it came.
    Relay,
}

/// Every method that is not simply relayed, of every revision.
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

/// Methods whose results are no content: catalogues and handshakes, which clients read whole.
const CATALOG_METHODS: [&str; 16] = [
    "initialize",
    "server/discover",
    "ping",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "prompts/list",
    "completion/complete",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "tasks/list",
    "tasks/cancel",
    "tasks/update",
    "roots/list",
];

/// Whether the results of a method are relayed whole, and unread but for their prefix.
pub(super) fn is_catalog_method(method: &str) -> bool {
    CATALOG_METHODS.contains(&method)
}

/// What is done with a method.
pub(in super::super) fn method_handling(method: &str) -> MethodHandling {
    METHODS.iter().find(|(name, _)| *name == method).map_or(MethodHandling::Relay, |(_, row)| *row)
}
