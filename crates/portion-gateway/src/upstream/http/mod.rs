//! An MCP server that speaks HTTP.
//!
//! - `target`: where it is, and what each request to it carries
//! - `client`: connections to it
//! - `wire`: requests to it, and what comes of each
//! - `stream`: the events of an answer
//! - `place`: where a reference leads
//! - `trouble`: why nothing came of a request, in words

mod client;
mod event_stream;
mod request_error;
mod server_client;
mod target;
mod uri;

pub use client::{HttpClient, HttpClientError, NoResponse};
pub(crate) use event_stream::{EventStream, ResumePoint, StreamItem};
pub use request_error::{ErrorStatus, RequestError};
pub(crate) use server_client::{ResponseContent, ServerClient};
pub use target::{UpstreamTarget, UpstreamTargetError};
pub(crate) use uri::{display_uri, resolve, same_origin};
