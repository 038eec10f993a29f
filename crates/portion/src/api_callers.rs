//! Checks and identifies the callers of `portion http`, before the layer sees their requests.

use std::sync::Arc;

use hyper::header::{AUTHORIZATION, HOST, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::http::uri::Authority;
use hyper::{Request, Response, StatusCode};
use portion_auth::{Authenticator, PROTECTED_RESOURCE_PATH};
use portion_gateway::principal::PrincipalResolver;
use portion_http::reverse_proxy::{denied_response, document_response, rejected_response};
use portion_http::{Body, CallerIdentity};
use portion_mcp::front::http::OriginGuard;

/// Path of the API, as a resource whose metadata clients request.
const RESOURCE_PATH: &str = "/";

/// Checks and identifies callers.
pub(crate) struct ApiCallers {
    pub(crate) guard: OriginGuard,
    pub(crate) authenticator: Arc<Authenticator>,
    pub(crate) principals: PrincipalResolver,
}

impl ApiCallers {
    /// Returns the request with the identity of its caller, and without the credential if that was for this program.
    ///
    /// # Errors
    /// Returns the response if the caller is denied, or has requested the metadata of this program.
    pub(crate) async fn admit<B>(&self, mut request: Request<B>) -> Result<Request<B>, Response<Body>> {
        if let Err(rejected) = self.guard.check(request.uri(), request.headers()) {
            return Err(rejected_response(&rejected.to_string()));
        }
        if !self.authenticator.verifies() {
            let principal = self.principals.identify("", None, request.headers());
            request.extensions_mut().insert(CallerIdentity::from(&principal));
            return Ok(request);
        }
        let named = request.headers().get(HOST).and_then(|host| host.to_str().ok());
        let host = request.uri().authority().map(Authority::as_str).or(named).unwrap_or_default();
        if let Some(metadata) =
            self.authenticator.metadata().filter(|_| request.uri().path() == PROTECTED_RESOURCE_PATH)
        {
            return Err(document_response(metadata.document(host, RESOURCE_PATH)));
        }
        match self.authenticator.authenticate(request.headers()).await {
            Ok(identity) => {
                let identity = identity.as_ref().map(|identity| identity.parts()).unwrap_or_default();
                let principal = self.principals.identify_verified(&identity, "", None, request.headers());
                request.extensions_mut().insert(CallerIdentity::from(&principal));
                request.headers_mut().remove(AUTHORIZATION);
                Ok(request)
            }
            Err(denial) => {
                tracing::debug!(%denial, "denied a caller");
                let mut response = denied_response(denial.status(), &denial.to_string());
                if let Some(challenge) = self.authenticator.challenge(&denial, host, RESOURCE_PATH) {
                    response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
                }
                if denial.status() == StatusCode::SERVICE_UNAVAILABLE {
                    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
                }
                Err(response)
            }
        }
    }
}
