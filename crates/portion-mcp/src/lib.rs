//! MCP: messages, tool lists, results, and the transports on both sides.
//!
//! [`relay`] carries messages between a [`front`] and an [`upstream`] and passes each to a message processor.
//! The processor of [`mcp`] takes the payload out of each result and passes it to `portion_gateway`, which makes
//! every reply with content.

pub mod bridge;
pub mod frame;
pub mod front;
pub mod http;
pub mod mcp;
pub mod message_processor;
pub mod one_shot_flag;
pub mod proxy;
pub mod relay;
mod shared_attempt;
pub mod shutdown_deadline;
pub mod upstream;
