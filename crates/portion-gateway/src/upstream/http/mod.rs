//! An MCP server that speaks HTTP.
//!
//! - `target`: where it is, and what each request to it carries
//! - `client`: connections to it
//! - `wire`: requests to it, and what comes of each
//! - `stream`: the events of an answer
//! - `place`: where a reference leads
//! - `trouble`: why nothing came of a request, in words

mod client;
mod place;
mod stream;
mod target;
mod trouble;
mod wire;

pub use client::{Client, NoClient, Unreachable};
pub(crate) use place::{named, resolve, same_origin};
pub(crate) use stream::{Item, Resume, Stream};
pub use target::{Target, TargetError};
pub use trouble::{Refused, Trouble};
pub(crate) use wire::{Answer, Wire};
