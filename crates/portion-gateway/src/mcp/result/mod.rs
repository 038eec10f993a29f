//! From a result to the payload in it, and from a portion back into the result.
//!
//! An [`Outline`] knows where the parts of a result lie. The core decides which of them are shown and how
//! long; here they are put back in their places, and everything around them keeps its bytes.

mod beside;
mod contents;
mod failure;
mod items;
mod local;
mod odd;
mod outline;
mod serve;
mod tree;

use super::forged::OURS;
pub(super) use contents::read_contents;
pub(super) use failure::Failure;
pub(super) use local::{completed, fault, read_tool, text};
pub(super) use odd::{Odd, beside};
pub(super) use outline::{Outline, Read, Shape};

/// Where a result's `_meta` repeats the notice.
const NOTICE: &str = "io.portion/notice";
/// Where `_meta` tells of the notice of a Portion behind this one, for programs.
const UPSTREAM: &str = "io.portion/upstream";
/// Begins the URIs that we answer ourselves; a cursor follows.
pub(super) const READ_URI: &str = "portion://read/";

#[cfg(test)]
mod tests;
