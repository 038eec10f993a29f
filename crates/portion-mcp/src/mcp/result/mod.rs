//! Converts a result into a payload, and writes a portion back into the result.
//!
//! A [`ResultOutline`] holds the spans of the parts of a result. The core decides which parts are shown and
//! at what length; this module writes them at their spans, and all other bytes are kept.

mod builders;
mod error_outline;
mod extra_members;
mod items;
mod outline;
mod overflow;
mod write;

use super::member_limits::RESERVED_PREFIX;
pub(super) use builders::{
    StructuredForm, UnrecognizedResult, add_value, completion_members, fault_result, part_json,
    resource_result, text_result, tool_result,
};
pub(super) use error_outline::ErrorOutline;
pub(super) use outline::{ParsedResult, ResultOutline, ResultShape};

/// `_meta` key of a result for the notice.
const NOTICE_KEY: &str = "io.portion/notice";
/// `_meta` key for the notice of another Portion in front of the upstream, for programs.
const UPSTREAM_NOTICE_KEY: &str = "io.portion/upstream";
/// `_meta` key for the URL of the next page of a REST API, from its `Link` header.
pub const NEXT_PAGE_KEY: &str = "io.portion/nextPage";
/// Prefix of the URIs that the gateway answers; a cursor follows.
pub(super) const READ_URI_PREFIX: &str = "portion://read/";

#[cfg(test)]
mod tests;
