//! Checks and identifies the callers of `portion http`, before the layer sees their requests.

use std::sync::Arc;

use hyper::body::Body as HttpBody;
use hyper::header::{
    ACCEPT, ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, HOST, HeaderMap,
    HeaderName, HeaderValue, ORIGIN, RETRY_AFTER, USER_AGENT, WWW_AUTHENTICATE,
};
use hyper::{Request, Response, StatusCode};
use portion_auth::{Authenticator, PROTECTED_RESOURCE_PATH, requested_host};
use portion_gateway::principal::PrincipalResolver;
use portion_mcp::front::http::OriginGuard;
use portion_rest::reverse_proxy::{denied_response, document_response, rejected_response};
use portion_rest::{Body, CallerIdentity, UnverifiedPreflight, is_preflight};

/// Path of the API, as a resource whose metadata clients request.
const RESOURCE_PATH: &str = "/";
/// Header fields of a CORS preflight that the API gets. It gets no others from a caller that is not verified.
const PREFLIGHT_FIELDS: [HeaderName; 6] =
    [ACCEPT, ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, HOST, ORIGIN, USER_AGENT];

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
    pub(crate) async fn admit<B: HttpBody>(
        &self,
        mut request: Request<B>,
    ) -> Result<Request<B>, Response<Body>> {
        if let Err(rejected) = self.guard.check(request.uri(), request.headers()) {
            return Err(rejected_response(rejected.status(), &rejected.to_string()));
        }
        if !self.authenticator.verifies() {
            let principal = self.principals.identify("", None, request.headers());
            request.extensions_mut().insert(CallerIdentity::from(&principal));
            return Ok(request);
        }
        let host = requested_host(request.uri(), request.headers());
        if let Some(metadata) =
            self.authenticator.metadata().filter(|_| request.uri().path() == PROTECTED_RESOURCE_PATH)
        {
            return Err(document_response(metadata.document(host, RESOURCE_PATH)));
        }
        if is_preflight(request.method(), request.headers()) && request.body().is_end_stream() {
            // A browser sends no credential with it.
            let given = std::mem::take(request.headers_mut());
            let allowed = given.iter().filter(|(name, _)| PREFLIGHT_FIELDS.contains(name));
            request.headers_mut().extend(allowed.map(|(name, value)| (name.clone(), value.clone())));
            let principal = self.principals.identify("", None, &HeaderMap::new());
            request.extensions_mut().insert(CallerIdentity::from(&principal));
            request.extensions_mut().insert(UnverifiedPreflight);
            return Ok(request);
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hyper::{HeaderMap, Request};
    use portion_auth::Authenticator;
    use portion_gateway::principal::{DEFAULT_PRINCIPAL_HEADERS, PrincipalResolver};
    use portion_mcp::front::http::OriginGuard;
    use portion_policy::access::TokenHash;
    use portion_rest::{CallerIdentity, UnverifiedPreflight};

    use super::ApiCallers;

    const PREFLIGHT: &str =
        "host: localhost\norigin: http://localhost:3000\naccess-control-request-method: GET";

    /// Returns the header fields that the API gets, or the status of the response.
    async fn admitted(method: &str, fields: &str, body: &str) -> Result<HeaderMap, u16> {
        let callers = ApiCallers {
            guard: OriginGuard::new(([127, 0, 0, 1], 1).into(), vec![], vec![]),
            authenticator: Arc::new(Authenticator::bearer(vec![TokenHash {
                name: "ci".into(),
                hash: [0; 32],
            }])),
            principals: PrincipalResolver::new([7; 32], DEFAULT_PRINCIPAL_HEADERS.to_vec()),
        };
        let mut request = Request::builder().method(method).uri("/bookings?limit=5");
        for (name, value) in fields.lines().filter_map(|line| line.split_once(": ")) {
            request = request.header(name, value);
        }
        let request = request.body(body.to_owned()).expect("a request");
        let request = callers.admit(request).await.map_err(|response| response.status().as_u16())?;
        let identity = request.extensions().get::<CallerIdentity>().expect("an identity");
        assert!(!identity.is_authenticated && request.extensions().get::<UnverifiedPreflight>().is_some());
        Ok(request.headers().clone())
    }

    #[tokio::test]
    async fn a_preflight_passes_without_a_token_and_without_other_fields() {
        let fields = admitted("OPTIONS", PREFLIGHT, "").await.expect("it is admitted");
        assert_eq!(fields.len(), 3);
        let more = "\nauthorization: Bearer a\ncookie: a=b\nx-http-method-override: DELETE\nx-api-key: a";
        assert_eq!(admitted("OPTIONS", &format!("{PREFLIGHT}{more}"), "").await, Ok(fields));
    }

    #[tokio::test]
    async fn what_is_no_preflight_needs_a_token() {
        assert_eq!(admitted("GET", PREFLIGHT, "").await, Err(401));
        assert_eq!(admitted("OPTIONS", PREFLIGHT, "a body").await, Err(401));
        assert_eq!(admitted("OPTIONS", "host: localhost\norigin: http://localhost:3000", "").await, Err(401));
        let method = "host: localhost\naccess-control-request-method: GET";
        assert_eq!(admitted("OPTIONS", method, "").await, Err(401));
        let stranger = PREFLIGHT.replace("localhost:3000", "evil.example");
        assert_eq!(admitted("OPTIONS", &stranger, "").await, Err(403));
    }
}
