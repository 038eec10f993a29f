//! The numbers of errors: those of JSON-RPC 2.0, and those that MCP adds.

/// What came is no JSON.
pub const PARSE_ERROR: i32 = -32700;
/// What came is no request that can be taken.
pub const INVALID_REQUEST: i32 = -32600;
/// Nobody here knows this method.
pub const METHOD_NOT_FOUND: i32 = -32601;
/// A parameter is wrong.
pub const INVALID_PARAMS: i32 = -32602;
/// It is not the request's fault.
pub const INTERNAL_ERROR: i32 = -32603;
/// The request cannot be taken now, and can be sent again later.
pub const SERVER_BUSY: i32 = -32000;
/// MCP 2026-07-28: the header fields do not say what the body says.
pub const HEADER_MISMATCH: i32 = -32020;
/// MCP 2026-07-28: the client cannot do what this needs.
pub const MISSING_CAPABILITY: i32 = -32021;
/// MCP 2026-07-28: the server does not speak this revision.
pub const UNSUPPORTED_VERSION: i32 = -32022;
