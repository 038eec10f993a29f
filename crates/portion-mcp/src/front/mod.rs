//! Connections from clients: stdio and HTTP.

pub mod http;
pub mod signals;
pub mod stdio;
