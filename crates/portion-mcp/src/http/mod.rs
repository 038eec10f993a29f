//! HTTP code shared by the server side and the client side.
//!
//! - `body`: bodies, read as a whole within a limit or streamed
//! - `sse`: server-sent events, byte for byte
//! - `encoding`: decodes compressed bodies
//!
//! Must not depend on MCP.

pub mod body;
pub mod encoding;
pub mod sse;
