//! HTTP code shared by the server side and the client side.
//!
//! - `body`: bodies, read as a whole within a limit or streamed, and decoded
//! - `sse`: server-sent events, byte for byte
//!
//! Must not depend on MCP.

pub mod body;
pub mod sse;
