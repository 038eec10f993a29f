//! The pure core of Portion: captures an upstream's result once and renders it many times, each time
//! under a token budget.
//!
//! [`snapshot::capture`] takes ownership of a [`payload::Payload`]; [`view::resolve`] checks a request
//! against the snapshot; [`render::first_reply`] and [`render::follow_up_reply`] make the reply. Nothing
//! here does IO, reads a clock, draws randomness, reads the environment, recurses on the depth of its
//! input, or fails: malformed input becomes a plainer reply.
//!
//! ```
//! use portion_core::payload::{Block, Content, Payload};
//! use portion_core::policy::Policy;
//! use portion_core::render::{Context, FirstReply, first_reply};
//! use portion_core::snapshot::capture;
//! use portion_core::view::{Request, resolve};
//! use portion_tokens::Tokenizer;
//!
//! let items: Vec<String> = (0..2_000).map(|id| format!(r#"{{"id":{id},"name":"Guest {id}"}}"#)).collect();
//! let list = Block::new("/content/0/text", Content::Text(format!("[{}]", items.join(","))));
//! let snapshot = capture(Payload { blocks: vec![list], ..Payload::default() });
//! let policy = Policy::default();
//! let view = resolve(&snapshot, None, &Request { limit: Some(2), ..Request::default() }, &policy)?;
//! let cx = Context {
//!     policy: &policy,
//!     counter: Tokenizer::O200k.counter(),
//!     issue_cursor: &|_| None,
//!     read_call: "portion_read".into(),
//!     query_tool: None,
//!     read_uri: None,
//! };
//! let FirstReply::Portion(page) = first_reply(&snapshot, &view, &cx) else { panic!("a list is paged") };
//! assert_eq!((page.served_count(), page.total_count()), (Some(2), Some(2_000)));
//! # Ok::<(), portion_core::view::ViewError>(())
//! ```

mod base64_text;
mod codec;
pub mod cursor;
pub mod describe;
pub mod error_code;
pub mod event;
pub mod find;
pub mod missing_codes;
mod named_choices;
mod noise;
pub mod paging;
pub mod path;
pub mod payload;
pub mod policy;
pub mod ranking;
pub mod render;
pub mod snapshot;
pub mod stage_name;
pub mod trace_context;
pub mod view;

pub use codec::DecodeError;
pub use portion_redact as redact;
