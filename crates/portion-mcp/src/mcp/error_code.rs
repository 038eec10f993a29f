//! Error codes of JSON-RPC 2.0, and those that MCP adds.
//!
//! ```
//! use portion_mcp::mcp::error_code::{METHOD_NOT_FOUND, json_rpc_error};
//!
//! let error = json_rpc_error("7", METHOD_NOT_FOUND, "unknown method");
//! assert_eq!(error, r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"unknown method"}}"#);
//! ```

use portion_json::scan::quote;

/// The message is not JSON.
pub const PARSE_ERROR: i32 = -32700;
/// The message is not a valid request.
pub const INVALID_REQUEST: i32 = -32600;
/// The method is unknown.
pub const METHOD_NOT_FOUND: i32 = -32601;
/// A parameter is invalid.
pub const INVALID_PARAMS: i32 = -32602;
/// Internal error; the request is not the cause.
pub const INTERNAL_ERROR: i32 = -32603;
/// Too busy for the request now; it can be sent again later.
pub const SERVER_BUSY: i32 = -32000;
/// MCP 2026-07-28: the header fields contradict the body.
pub const HEADER_MISMATCH: i32 = -32020;
/// MCP 2026-07-28: the client lacks a capability that the request needs.
pub const MISSING_CAPABILITY: i32 = -32021;
/// MCP 2026-07-28: the server does not support this revision.
pub const UNSUPPORTED_VERSION: i32 = -32022;

/// Returns a JSON-RPC error response.
pub fn json_rpc_error(raw_id: &str, code: i32, message: &str) -> String {
    let message = quote(message);
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{raw_id},\"error\":{{\"code\":{code},\"message\":{message}}}}}")
}

/// Builds the cancellation of a request.
pub(crate) fn cancellation_notification(id: &str, reason: &str) -> String {
    let params = format!("{{\"requestId\":{id},\"reason\":{}}}", quote(reason));
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{params}}}")
}
