//! HTTP requests to an MCP server.
//!
//! - `client`: connections
//! - `server_client`: requests and their responses
//! - `authorizer`: the interface to a component that has the credentials of a server
//! - `event_stream`: the events of a response
//! - `request_error`: errors of requests

mod authorizer;
mod client;
mod event_stream;
mod request_error;
mod server_client;

pub use authorizer::{AuthorizationError, AuthorizationFuture, Authorizer, Rejection};
pub use client::{HttpClient, NoResponse};
pub(crate) use event_stream::{EventStream, ResumePoint, StreamItem};
pub use request_error::{ErrorStatus, RequestError};
pub(crate) use server_client::{ResponseContent, ServerClient};
