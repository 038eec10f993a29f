//! The gateway: captures what an upstream says, answers calls, and stores what was left out.
//!
//! [`gateway`] makes every reply with content. `portion-core` decides what a reply looks like; this crate does not.
//! Protocols and transports are in crates of their own, which pass it calls.

mod accounting;
pub mod accuracy;
pub mod call;
mod decision_log;
mod deferred_worker;
pub mod dropped_messages;
pub mod effective_policy;
pub mod fault;
pub mod gateway;
pub mod gateway_parts;
mod issued_cursors;
mod kept_results;
pub mod nested_portion;
mod offload;
pub mod overload;
pub mod paged_call;
mod pass_through;
pub mod principal;
mod pushdown;
pub mod query_limiter;
mod renderer;
mod reuse_key;
pub mod rules;
pub mod served_pages;
pub mod session;
mod snapshot_query;
mod span_ids;
pub mod store;
