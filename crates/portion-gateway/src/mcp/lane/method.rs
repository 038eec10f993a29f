//! The table: what is done with a method.

use super::super::result::Shape;

/// What is done with a request of the client, and with the answer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Row {
    /// The answer is told that there are tools.
    Advertise,
    /// The answer gains our tool and controls; answered here where the server has no tools.
    ListTools,
    /// Ours are answered here; of others our controls are taken out, and the answer is reshaped.
    CallTool,
    /// The answer is reshaped; our own URIs are answered here.
    ReadResource,
    /// The answer is reshaped.
    Reshape(Shape),
    /// The result inside the answer, once there is one, is reshaped.
    ReshapeInside,
    /// Both ways as it came.
    Relay,
}

/// Every method that is not simply relayed, of every revision.
const METHODS: [(&str, Row); 8] = [
    ("initialize", Row::Advertise),
    ("server/discover", Row::Advertise),
    ("tools/list", Row::ListTools),
    ("tools/call", Row::CallTool),
    ("resources/read", Row::ReadResource),
    ("prompts/get", Row::Reshape(Shape::Prompt)),
    ("tasks/result", Row::Reshape(Shape::Tool)),
    ("tasks/get", Row::ReshapeInside),
];

/// Methods whose results are no content: catalogues and handshakes, which clients read whole.
const CATALOGUES: [&str; 16] = [
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
pub(super) fn is_catalogue(method: &str) -> bool {
    CATALOGUES.contains(&method)
}

/// What is done with a method.
pub(in super::super) fn row(method: &str) -> Row {
    METHODS.iter().find(|(name, _)| *name == method).map_or(Row::Relay, |(_, row)| *row)
}
