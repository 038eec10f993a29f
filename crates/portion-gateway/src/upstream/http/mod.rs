//! An MCP server that speaks HTTP.
//!
//! - `target`: where it is, and what each request to it carries
//! - `client`: connections to it

mod client;
mod target;

pub use client::{Client, NoClient, Unreachable};
pub use target::{Target, TargetError};
