//! Connections to MCP servers: child processes and HTTP.

pub mod http;
pub mod link;
pub mod process_group;
mod program;
pub mod stderr;
pub mod stdio;
