//! From a result to the payload in it, and from a portion back into the result.
//!
//! An [`ResultOutline`] knows where the parts of a result lie. The core decides which of them are shown and how
//! long; here they are put back in their places, and everything around them keeps its bytes.

mod builders;
mod error_outline;
mod extra_members;
mod items;
mod outline;
mod resource_contents;
mod tree;
mod unrecognized;
mod write;

use super::reserved_meta::RESERVED_PREFIX;
pub(super) use builders::{completion_members, fault_result, text_result, tool_result};
pub(super) use error_outline::ErrorOutline;
pub(super) use outline::{ParsedResult, ResultOutline, ResultShape};
pub(super) use resource_contents::resource_result;
pub(super) use unrecognized::{UnrecognizedResult, part_json};

/// Where a result's `_meta` repeats the notice.
const NOTICE_KEY: &str = "io.portion/notice";
/// Where `_meta` tells of the notice of a Portion behind this one, for programs.
const UPSTREAM_NOTICE_KEY: &str = "io.portion/upstream";
/// Begins the URIs that we answer ourselves; a cursor follows.
pub(super) const READ_URI_PREFIX: &str = "portion://read/";

#[cfg(test)]
mod tests;
