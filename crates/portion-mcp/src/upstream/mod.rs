//! Connections to MCP servers: child processes and HTTP.

pub mod group_registry;
pub mod http;
pub mod link;
mod process_group;
mod program;
pub mod stderr;
pub mod stdio;
