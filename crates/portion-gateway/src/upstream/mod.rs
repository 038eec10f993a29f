//! Whom we call.

pub mod group_registry;
pub mod http;
pub mod link;
mod process_group;
mod program;
mod stderr;
pub mod stdio;
