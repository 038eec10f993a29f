//! A reverse proxy: a service that forwards requests to one upstream, and the server in front of it.
//!
//! - requests keep their method, path, query, body and headers, apart from those of the connection
//! - the operator's headers replace those of the client; the client can choose neither host nor scheme
//! - bodies are streamed in both directions; protocols such as WebSocket are switched through
//! - HTTP/1.1 and HTTP/2 on both sides
//!
//! Redirects are passed to the client, and never followed. One that points to the upstream itself gets a path of this proxy.

mod client;
mod forwarded;
mod location;
mod server;
mod upgrade;

pub use client::{ReverseProxy, denied_response, document_response, path_rejection, rejected_response};
pub use server::{ServerLimits, serve};

#[cfg(test)]
mod tests;
