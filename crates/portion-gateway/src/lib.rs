//! The edge of Portion: byte streams, child processes, MCP messages, and the store.
//!
//! [`relay`] carries messages between a [`front`] and an [`upstream`] and passes each to a message processor.
//! The processor of [`mcp`] takes the payload out of each result and passes it to [`gateway`], which makes
//! every reply with content. `portion-core` decides what a reply looks like; this crate does not.

mod accounting;
pub mod accuracy;
pub mod bridge;
pub mod call;
pub mod client;
mod decision_log;
mod deferred_worker;
pub mod dropped_messages;
pub mod effective_policy;
pub mod fault;
pub mod frame;
pub mod front;
pub mod gateway;
pub mod gateway_parts;
pub mod http;
pub mod mcp;
mod offload;
pub mod one_shot_flag;
mod pass_through;
pub mod policy_source;
pub mod proxy;
pub mod query_limiter;
pub mod relay;
mod renderer;
pub mod rules;
pub mod session;
mod snapshot_query;
mod span_ids;
pub mod store;
pub mod upstream;
