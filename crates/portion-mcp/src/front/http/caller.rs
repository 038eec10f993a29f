//! Identifies the caller of a request, and denies those who lack a credential.
//!
//! The paths of OAuth discovery documents are the only ones besides a backend's own that reach a server. The list is closed, and
//! a path is compared literally: a path with dot segments, escapes, empty segments or a suffix does not match.

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

/// Prefix of the name of a document (RFC 8615).
const WELL_KNOWN_PREFIX: &str = "/.well-known/";
/// Documents of a whole host, or of a path that follows the name (RFC 9728, RFC 8414).
const DOCUMENTS: [&str; 3] = ["oauth-protected-resource", "oauth-authorization-server", OPENID_CONFIGURATION];
/// Document that may also follow the path of an issuer (`OpenID` Connect Discovery 1.0, 4).
const OPENID_CONFIGURATION: &str = "openid-configuration";

/// An OAuth discovery document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WellKnownDocument {
    name: &'static str,
    subject: DocumentSubject,
}

/// Subject of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DocumentSubject {
    Host,
    /// The path of a server, which follows the name.
    Path,
    /// The path of a server, which precedes the prefix.
    Issuer,
}

impl WellKnownDocument {
    /// Returns the document of the host at this path.
    pub(super) fn for_host(path: &str) -> Option<Self> {
        DOCUMENTS
            .into_iter()
            .map(|name| Self { name, subject: DocumentSubject::Host })
            .find(|document| document.path("") == path)
    }

    /// Returns the document of the server at path `base`, if `path` is the path of one.
    pub(super) fn for_server(path: &str, base: &str) -> Option<Self> {
        let base = base.trim_end_matches('/');
        let by_path = DOCUMENTS.into_iter().map(|name| Self { name, subject: DocumentSubject::Path });
        let by_issuer = Self { name: OPENID_CONFIGURATION, subject: DocumentSubject::Issuer };
        by_path.chain([by_issuer]).find(|document| !base.is_empty() && document.path(base) == path)
    }

    /// Returns true for the metadata of a protected resource.
    pub(crate) fn is_resource_metadata(&self) -> bool {
        self.name == "oauth-protected-resource"
    }

    /// Returns the path of the document for a server at this path.
    pub fn path(&self, server_path: &str) -> String {
        let (name, server_path) = (self.name, server_path.trim_end_matches('/'));
        match self.subject {
            DocumentSubject::Host => format!("{WELL_KNOWN_PREFIX}{name}"),
            DocumentSubject::Path => format!("{WELL_KNOWN_PREFIX}{name}{server_path}"),
            DocumentSubject::Issuer => format!("{server_path}{WELL_KNOWN_PREFIX}{name}"),
        }
    }
}

#[cfg(test)]
mod well_known_tests {
    use super::WellKnownDocument;

    /// Checks the path at which the document is requested from a server at `/srv/api`.
    fn check(path: &str, expect: Option<&str>) {
        let known = WellKnownDocument::for_server(path, "/mcp").or_else(|| WellKnownDocument::for_host(path));
        assert_eq!(known.map(|known| known.path("/srv/api")).as_deref(), expect, "{path}");
    }

    #[test]
    fn documents_are_recognised_by_their_whole_path() {
        for name in super::DOCUMENTS {
            check(&format!("/.well-known/{name}"), Some(&format!("/.well-known/{name}")));
            check(&format!("/.well-known/{name}/mcp"), Some(&format!("/.well-known/{name}/srv/api")));
            for odd in ["/", "/mcp/", "/mcp/..", "//mcp", "/./mcp", "%2fmcp", "/mcp/x", "/MCP", "x"] {
                check(&format!("/.well-known/{name}{odd}"), None);
            }
        }
        check("/mcp/.well-known/openid-configuration", Some("/srv/api/.well-known/openid-configuration"));
        check("/mcp/.well-known/oauth-protected-resource", None);
        check("/.well-known/jwks.json", None);
        check("/mcp", None);
    }
}
