//! The pure core of Portion: captures an upstream's result once and renders it many times, each time
//! under a token budget.
//!
//! [`snapshot::capture`] takes ownership of a [`payload::Payload`]; [`view::resolve`] checks a request
//! against the snapshot; [`render::first_reply`] and [`render::follow_up_reply`] make the reply. Nothing
//! here does IO, reads a clock, draws randomness, reads the environment, recurses on the depth of its
//! input, or fails: malformed input becomes a plainer reply.

mod codec;
pub mod cursor;
pub mod describe;
pub mod error_code;
pub mod event;
pub mod find;
pub mod missing_codes;
mod noise;
pub mod paging;
pub mod path;
pub mod payload;
pub mod policy;
pub mod ranking;
pub mod redact;
pub mod render;
pub mod snapshot;
mod stage;
pub mod trace_context;
pub mod view;

pub use codec::DecodeError;
