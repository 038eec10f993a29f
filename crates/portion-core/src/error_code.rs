//! Codes of errors: for programs in replies, for people in the documentation.
//!
//! ```
//! use portion_core::error_code::{ErrorCode, Retry};
//!
//! let code = ErrorCode::CursorExpired;
//! assert_eq!((code.name(), code.info().http_status), ("cursor_expired", 410));
//! assert_eq!(code.info().retry, Retry::WithoutCursor);
//! assert_eq!(ErrorCode::from_name("cursor_expired"), Some(code));
//! ```

use std::fmt;

/// JSON-RPC's code of invalid parameters (JSON-RPC 2.0, 5.1).
const INVALID_PARAMS: i32 = -32602;
/// JSON-RPC's code of an internal error (JSON-RPC 2.0, 5.1).
const INTERNAL_ERROR: i32 = -32603;

/// The code of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the table below explains each code")]
pub enum ErrorCode {
    CursorInvalid,
    CursorExpired,
    LimitInvalid,
    LimitTooLarge,
    PageInvalid,
    OffsetInvalid,
    FieldUnknown,
    PathUnknown,
    SectionUnknown,
    RangeInvalid,
    SortInvalid,
    MaxTokensInvalid,
    ArgumentUnknown,
    ControlsConflict,
    QueryInvalid,
    QueryTooCostly,
    NamesInvalid,
    ToolUnknown,
    MessageTooLarge,
    ResultTooLarge,
    StoreUnavailable,
    UpstreamInvalid,
    UpstreamGone,
    UpstreamTimeout,
    UpstreamUnreachable,
    PathInvalid,
    MethodRejected,
    OriginRejected,
    Unauthorized,
    ScopeInsufficient,
    BodyTooSlow,
    BodyInvalid,
    TransferCodingUnknown,
    Busy,
    Internal,
}

/// Properties of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorInfo {
    /// The code.
    pub code: ErrorCode,
    /// Name in replies, records and metrics.
    pub name: &'static str,
    /// Code in JSON-RPC errors, of methods other than `tools/call`.
    pub json_rpc: i32,
    /// Status of an HTTP response.
    pub http_status: u16,
    /// Prospect of a repeated call.
    pub retry: Retry,
    /// Cause, for the documentation.
    pub cause: &'static str,
}

/// Prospect of a repeated call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The same call fails again; another one may succeed.
    Corrected,
    /// The original call, without a cursor, may succeed. It may act again unless it only reads.
    WithoutCursor,
    /// The same call may succeed a moment later.
    Later,
    /// The server may have acted: its state is to be checked first.
    AfterCheck,
}

impl ErrorCode {
    /// All codes, in the order of the documentation.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|info| info.code)
    }

    /// Returns the code with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        TABLE.iter().find(|info| info.name == name).map(|info| info.code)
    }

    /// Returns the properties of the code.
    pub fn info(self) -> &'static ErrorInfo {
        &TABLE[self as usize]
    }

    /// Returns the name in replies, records and metrics.
    pub fn name(self) -> &'static str {
        self.info().name
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Retry {
    /// Returns a phrase for the documentation.
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Corrected => "corrected",
            Self::WithoutCursor => "without a cursor",
            Self::Later => "later",
            Self::AfterCheck => "after a check",
        }
    }
}

/// Creates a row for an error in the arguments of a call.
const fn in_call(code: ErrorCode, name: &'static str, cause: &'static str) -> ErrorInfo {
    let retry = Retry::Corrected;
    ErrorInfo { code, name, json_rpc: INVALID_PARAMS, http_status: 400, retry, cause }
}

/// Creates a row for an error behind Portion, or in it.
const fn behind(
    code: ErrorCode,
    name: &'static str,
    (http_status, retry): (u16, Retry),
    cause: &'static str,
) -> ErrorInfo {
    ErrorInfo { code, name, json_rpc: INTERNAL_ERROR, http_status, retry, cause }
}

/// The rows, in the order of the enum.
static TABLE: [ErrorInfo; 35] = {
    use ErrorCode as Code;
    use Retry::{AfterCheck, Corrected, Later, WithoutCursor};
    [
        in_call(
            Code::CursorInvalid,
            "cursor_invalid",
            "forged, truncated, issued to another client or by an earlier process: all get the same error, but a typing error is named",
        ),
        ErrorInfo {
            http_status: 410,
            retry: WithoutCursor,
            ..in_call(Code::CursorExpired, "cursor_expired", "its result is no longer kept")
        },
        in_call(Code::LimitInvalid, "limit_invalid", "not a whole number from 1"),
        in_call(Code::LimitTooLarge, "limit_too_large", "above `maxPageSize`"),
        in_call(Code::PageInvalid, "page_invalid", "not a page from 1, or pages of a single object"),
        in_call(Code::OffsetInvalid, "offset_invalid", "not a whole number from 0"),
        in_call(Code::FieldUnknown, "field_unknown", "no item has that field"),
        ErrorInfo {
            http_status: 404,
            ..in_call(Code::PathUnknown, "path_unknown", "the path does not exist")
        },
        ErrorInfo {
            http_status: 404,
            ..in_call(Code::SectionUnknown, "section_unknown", "no such heading or member")
        },
        in_call(Code::RangeInvalid, "range_invalid", "lines outside the text"),
        in_call(Code::SortInvalid, "sort_invalid", "not a list, or no such field"),
        in_call(Code::MaxTokensInvalid, "max_tokens_invalid", "below 300 or above `hardCap`"),
        in_call(
            Code::ArgumentUnknown,
            "argument_unknown",
            "an argument that the tool of Portion does not have",
        ),
        in_call(
            Code::ControlsConflict,
            "controls_conflict",
            "two controls that exclude each other, or a value of the wrong type",
        ),
        in_call(
            Code::QueryInvalid,
            "query_invalid",
            "not a SELECT that SQLite accepts, no such column, not exactly one query, an invalid regex",
        ),
        ErrorInfo {
            http_status: 429,
            ..in_call(
                Code::QueryTooCostly,
                "query_too_costly",
                "a statement or pattern beyond two seconds of processor time or its memory, or too many pending queries of the session",
            )
        },
        in_call(Code::NamesInvalid, "names_invalid", "`portion_describe` without names of tools"),
        in_call(
            Code::ToolUnknown,
            "tool_unknown",
            "`portion_describe` with the name of a tool that does not exist",
        ),
        behind(
            Code::MessageTooLarge,
            "message_too_large",
            (502, Corrected),
            "a message above `upstreamMessageLimit` or `clientMessageLimit`, or one above `hardByteLimit` that cannot be shortened",
        ),
        in_call(
            Code::ResultTooLarge,
            "result_too_large",
            "a result that does not fit, at an endpoint with `oversized: refuse`",
        ),
        behind(
            Code::StoreUnavailable,
            "store_unavailable",
            (503, Later),
            "the store of earlier replies does not answer",
        ),
        behind(
            Code::UpstreamInvalid,
            "upstream_invalid",
            (502, AfterCheck),
            "the server's response is not a valid result",
        ),
        behind(
            Code::UpstreamGone,
            "upstream_gone",
            (502, AfterCheck),
            "the server ended before it responded, or could not be reached",
        ),
        behind(
            Code::UpstreamTimeout,
            "upstream_timeout",
            (504, AfterCheck),
            "the server did not respond within `requestTimeout`",
        ),
        behind(
            Code::UpstreamUnreachable,
            "upstream_unreachable",
            (502, AfterCheck),
            "`portion http`: the API cannot be reached, or gave no response",
        ),
        in_call(Code::PathInvalid, "path_invalid", "`portion http`: the path has a segment `.` or `..`"),
        ErrorInfo {
            http_status: 405,
            ..in_call(
                Code::MethodRejected,
                "method_rejected",
                "`portion http`: `TRACE`, `TRACK` and `CONNECT` are not forwarded",
            )
        },
        ErrorInfo {
            http_status: 403,
            ..in_call(
                Code::OriginRejected,
                "origin_rejected",
                "`portion http`: `Host` or `Origin` is not allowed",
            )
        },
        ErrorInfo {
            http_status: 401,
            ..in_call(Code::Unauthorized, "unauthorized", "`portion http`: the request has no valid token")
        },
        ErrorInfo {
            http_status: 403,
            ..in_call(
                Code::ScopeInsufficient,
                "scope_insufficient",
                "`portion http`: the token lacks a scope of `jwtScopes`",
            )
        },
        behind(
            Code::BodyTooSlow,
            "body_too_slow",
            (408, AfterCheck),
            "`portion http`: the body of the request paused for 10 s, or came slower than 8 KiB/s",
        ),
        behind(
            Code::BodyInvalid,
            "body_invalid",
            (400, AfterCheck),
            "`portion http`: the body of the request breaks off, or its chunks are invalid",
        ),
        ErrorInfo {
            http_status: 501,
            ..in_call(
                Code::TransferCodingUnknown,
                "transfer_coding_unknown",
                "`portion http`: the body of the request has a transfer coding other than `chunked`",
            )
        },
        behind(
            Code::Busy,
            "busy",
            (503, Later),
            "`portion http`: too many requests are in progress, the gateway is overloaded, tokens cannot be verified at the moment, or it shuts down",
        ),
        behind(Code::Internal, "internal", (500, AfterCheck), "a fault of Portion"),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_the_order_of_the_codes() {
        for (at, info) in TABLE.iter().enumerate() {
            assert_eq!(info.code as usize, at, "{}", info.name);
            assert_eq!(ErrorCode::from_name(info.name), Some(info.code));
            // `CursorInvalid` is `cursor_invalid`.
            assert_eq!(format!("{:?}", info.code).to_lowercase(), info.name.replace('_', ""));
            assert!(info.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'));
        }
        assert_eq!(ErrorCode::all().count(), TABLE.len());
        assert_eq!(ErrorCode::from_name("Cursor_Invalid"), None);
    }
}
