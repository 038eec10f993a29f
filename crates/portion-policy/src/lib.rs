//! Decisions of the operator as typed data: the configuration of endpoints, presets of clients, options of tool lists,
//! addresses of servers and stores, and who may call, from which pages.
//!
//! `portion-config` produces these values and `portion-gateway` and `portion-mcp` use them, so that none of them needs
//! the configuration, and the configuration needs none of them. Nothing here does IO.

pub mod access;
pub mod client;
pub mod endpoint;
pub mod listing;
pub mod page_names;
pub mod policy_source;
pub mod pushdown;
pub mod query_string;
pub mod store_url;
pub mod upstream;
pub mod web_origin;
