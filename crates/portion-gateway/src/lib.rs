//! The edge of Portion: byte streams, child processes, the MCP lane, and the store.
//!
//! [`relay`] carries messages between a [`front`] and an [`upstream`] and shows each to a lane; the lane of [`mcp`] takes
//! the payload out of what has one and gives it to [`gateway`], the one neck that every reply with content in it passes.
//! What a reply looks like is decided in `portion-core`; here nobody knows.

mod account;
pub mod accuracy;
mod aside;
mod ask;
mod beside;
pub mod book;
pub mod bridge;
pub mod call;
pub mod client;
mod decision;
pub mod dropped;
pub mod fault;
pub mod frame;
pub mod front;
pub mod gateway;
pub mod http;
pub mod latch;
pub mod mcp;
pub mod proxy;
pub mod questions;
pub mod relay;
mod relayed;
mod renderer;
pub mod rules;
pub mod session;
pub mod settings;
mod spans;
pub mod store;
pub mod terms;
pub mod upstream;
