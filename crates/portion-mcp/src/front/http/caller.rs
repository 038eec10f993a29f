//! Identifies the caller of a request, and denies those who lack a credential.

use std::sync::Arc;

use hyper::header::{AUTHORIZATION, CACHE_CONTROL, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use hyper::http::request::Parts;
use hyper::{Request, Response, StatusCode, Uri};
use portion_auth::{Authenticator, Identity, PROTECTED_RESOURCE_PATH, requested_host};
use portion_gateway::principal::{Principal, PrincipalResolver};

use super::http_error::{HttpError, json_response};
use crate::http::body::Body;
use crate::mcp::error_code::{INVALID_REQUEST, SERVER_BUSY};

/// Seconds after which a caller that could not be verified should retry.
const RETRY_AFTER_SECONDS: u16 = 1;

/// Authenticates and identifies callers of a listener.
pub(super) struct CallerResolver {
    principals: PrincipalResolver,
    authenticator: Arc<Authenticator>,
}

impl CallerResolver {
    /// Creates a resolver that verifies no one.
    pub(super) fn new(principals: PrincipalResolver) -> Self {
        Self { principals, authenticator: Arc::new(Authenticator::unchecked()) }
    }

    /// Sets the authenticator.
    pub(super) fn with_authenticator(self, authenticator: Arc<Authenticator>) -> Self {
        Self { authenticator, ..self }
    }

    /// Fetches what the authentication of callers needs.
    pub(super) async fn prepare(&self) {
        self.authenticator.prepare().await;
    }

    /// Returns true if callers are verified here.
    pub(super) fn verifies(&self) -> bool {
        self.authenticator.verifies()
    }

    /// Returns the verified identity of the caller; `None` if callers are not verified here.
    ///
    /// # Errors
    /// Returns the response if the caller is denied.
    pub(super) async fn authenticate<B>(
        &self,
        request: &Request<B>,
    ) -> Result<Option<Identity>, Box<Response<Body>>> {
        let denial = match self.authenticator.authenticate(request.headers()).await {
            Ok(identity) => return Ok(identity),
            Err(denial) => denial,
        };
        tracing::debug!(%denial, "denied a caller");
        let status = denial.status();
        let error = if status == StatusCode::SERVICE_UNAVAILABLE {
            HttpError::new(status, SERVER_BUSY, denial.to_string()).retry_after(RETRY_AFTER_SECONDS)
        } else {
            HttpError::new(status, INVALID_REQUEST, denial.to_string())
        };
        let mut response = Response::from(error);
        let host = requested_host(request.uri(), request.headers());
        if let Some(challenge) = self.authenticator.challenge(&denial, host, request.uri().path()) {
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        Err(Box::new(response))
    }

    /// Returns the caller of a request. Removes the credential that was for this program.
    pub(super) fn identify(&self, head: &mut Parts, identity: Option<&Identity>) -> Principal {
        let (path, query) = (head.uri.path(), head.uri.query());
        let Some(identity) = identity else { return self.principals.identify(path, query, &head.headers) };
        let principal = self.principals.identify_verified(&identity.parts(), path, query, &head.headers);
        head.headers.remove(AUTHORIZATION);
        principal
    }

    /// Returns the metadata of a resource, if `uri` is that of one and callers are verified here. `paths` are those of
    /// the resources; the first is that of the host.
    pub(super) fn resource_metadata<'a>(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        mut paths: impl Iterator<Item = &'a str>,
    ) -> Option<Response<Body>> {
        let metadata = self.authenticator.metadata()?;
        let subject = uri.path().strip_prefix(PROTECTED_RESOURCE_PATH)?;
        let path = if subject.is_empty() { paths.next() } else { paths.find(|path| *path == subject) }?;
        let document = metadata.document(requested_host(uri, headers), path);
        let mut response = json_response(StatusCode::OK, document);
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Some(response)
    }
}
