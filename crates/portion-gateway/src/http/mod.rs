//! HTTP, as far as whom we serve and whom we ask have it in common.
//!
//! - `body`: bodies, whole within a limit or as they come
//! - `event`: server-sent events, byte for byte
//! - `fields`: which header fields end at a hop
//! - `encoding`: reading what was compressed
//!
//! Must be absent here: any idea of MCP.

pub mod body;
pub mod encoding;
pub mod hop_by_hop;
pub mod sse;
