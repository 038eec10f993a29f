//! The pure core of Portion: what an upstream said is captured once and rendered many times,
//! each time under a token budget.
//!
//! [`snapshot::capture`] takes a [`payload::Payload`] over; [`view::resolve`] holds a request against the
//! snapshot; [`render::first`] and [`render::follow`] make the reply. Nothing here does IO, reads a
//! clock, draws randomness, looks at the environment, recurses on the depth of its input, or can fail:
//! odd input becomes a plainer reply.

pub mod chunk;
pub mod cursor;
pub mod entry;
pub mod event;
pub mod find;
mod glimpse;
pub mod glob;
mod media;
pub mod nearest;
mod noise;
pub mod paging;
pub mod path;
pub mod payload;
mod pointer;
pub mod policy;
pub mod projection;
pub mod ranked;
pub mod redact;
pub mod render;
pub mod scan;
pub mod snapshot;
pub mod span;
mod stage;
pub mod tell;
pub mod tokens;
pub mod trace;
pub mod view;
mod words;
