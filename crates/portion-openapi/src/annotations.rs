//! Hints of a tool for clients, by the HTTP method of its operation.

use serde_json::{Value, json};

/// Returns true if requests of a method change nothing (RFC 9110, 9.2.1).
pub(crate) fn is_safe(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "QUERY")
}

/// Returns the annotations of a tool. What a POST does is unknown, so it counts as destructive.
pub(crate) fn annotations(method: &str, is_read: bool) -> Value {
    if is_read {
        return json!({ "readOnlyHint": true, "openWorldHint": true });
    }
    json!({
        "readOnlyHint": false,
        "destructiveHint": true,
        "idempotentHint": matches!(method, "PUT" | "DELETE"),
        "openWorldHint": true
    })
}
