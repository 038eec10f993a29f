//! HTTP requests to an MCP server.
//!
//! - `client`: connections, and the events of a response
//! - `server_client`: requests and their responses
//! - `request_error`: errors of requests
//!
//! An [`Authorizer`] is a component that has the credentials of a server.

mod client;
mod request_error;
mod server_client;

use std::future::Future;
use std::pin::Pin;

use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderValue};
use thiserror::Error;

pub(crate) use client::{EventStream, ResumePoint, StreamItem};
pub use client::{HttpClient, NoResponse};
pub(crate) use request_error::Result;
pub use request_error::{ErrorStatus, RequestError};
pub(crate) use server_client::{ResponseContent, ServerClient};

/// Future of an [`Authorizer`].
pub type AuthorizationFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Supplies the `Authorization` header of requests to one server.
pub trait Authorizer: Send + Sync {
    /// Returns the header, if there are credentials.
    fn authorization(&self) -> AuthorizationFuture<'_, Option<HeaderValue>>;

    /// Returns another header after a request was rejected; `Ok(None)` if the response has nothing to do with
    /// authorization. May wait for a person.
    fn renew(
        &self,
        rejection: Rejection,
    ) -> AuthorizationFuture<'_, Result<Option<HeaderValue>, AuthorizationError>>;

    /// Returns true while credentials are being obtained.
    fn is_pending(&self) -> bool;
}

/// A response that may ask for other credentials.
#[derive(Debug)]
pub struct Rejection {
    /// The `Authorization` header of the request.
    pub authorization: Option<HeaderValue>,
    /// Status of the response.
    pub status: StatusCode,
    /// Headers of the response.
    pub headers: HeaderMap,
    /// True if the same request was rejected before, with other credentials.
    pub is_repeated: bool,
}

/// Reason that there are no credentials, and what to do.
#[derive(Clone, Debug, Error)]
#[error("{0}")]
pub struct AuthorizationError(pub String);
