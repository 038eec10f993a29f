//! HTTP server for clients.
//!
//! A request that reaches a [`Backend`] is complete, within the limits, from an allowed host and origin, by a caller that
//! may call, and, if it was posted, JSON-RPC. All other requests are rejected here with an error for programs and people,
//! before a server sees them.
//!
//! - `origin_guard`: checks `Host` and `Origin`; preflights of browsers, and responses that pages may read
//! - `server`: from a request to a backend
//! - `request_checks`: limits of a listener, and request bodies within them
//! - `http_error`: errors and joined responses
//!
//! ```no_run
//! # use portion_mcp::mcp::McpProcessorFactory;
//! # async fn run(factory: McpProcessorFactory) -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//!
//! use portion_gateway::principal::{DEFAULT_PRINCIPAL_HEADERS, PrincipalResolver};
//! use portion_mcp::bridge::{Bridge, BridgeLimits};
//! use portion_mcp::front::http::{HttpLimits, HttpServer, OriginGuard};
//! use portion_mcp::once::OneShotFlag;
//! use portion_mcp::upstream::link::ChildConnector;
//! use portion_mcp::upstream::stdio::Program;
//!
//! let program = Program::new("my-server", ["--stdio"]);
//! let connector = ChildConnector { program, message_limit: 64 << 20 };
//! let bridge = Bridge::new(Arc::new(connector), factory, BridgeLimits::default());
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8765").await?;
//! let guard = OriginGuard::new(listener.local_addr()?, Vec::new(), Vec::new());
//! let principals = PrincipalResolver::new([7; 32], DEFAULT_PRINCIPAL_HEADERS.to_vec());
//! let backends = vec![("/mcp".to_owned(), Arc::new(bridge) as Arc<_>)];
//! let server = HttpServer::new(guard, principals, HttpLimits::default(), backends);
//! Arc::new(server).serve(listener, Arc::new(OneShotFlag::default())).await;
//! # Ok(())
//! # }
//! ```
//!
//! The paths of OAuth discovery documents are the only ones besides a backend's own that reach a server. The list is closed, and
//! a path is compared literally: a path with dot segments, escapes, empty segments or a suffix does not match.

pub mod http_error;
mod origin_guard;
mod request_checks;
mod server;

use std::pin::Pin;
use std::sync::Arc;

use hyper::header::{AUTHORIZATION, CACHE_CONTROL, HeaderValue, WWW_AUTHENTICATE};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use portion_auth::{Authenticator, Identity, PROTECTED_RESOURCE_PATH, requested_host};
use portion_gateway::principal::{Principal, PrincipalResolver};

use crate::http::body::Body;
use crate::mcp::OwnedBatch;
use crate::mcp::envelope::{INVALID_REQUEST, SERVER_BUSY};
use http_error::{HttpError, json_response};

pub use origin_guard::{OriginGuard, OriginRejected};
pub use request_checks::HttpLimits;
pub use server::HttpServer;

/// Seconds after which a caller that could not be verified should retry.
const RETRY_AFTER_SECONDS: u16 = 1;

/// A request that passed all checks.
#[derive(Debug)]
pub struct InboundRequest {
    /// HTTP method.
    pub method: Method,
    /// Path, as received.
    pub path: String,
    /// Query without the question mark, as received.
    pub query: Option<String>,
    /// Header fields, as received.
    pub headers: HeaderMap,
    /// Whole body.
    pub body: RequestBody,
    /// Caller.
    pub principal: Principal,
}

/// Body of a request.
#[derive(Debug)]
pub enum RequestBody {
    /// Messages that were posted to a backend that [accepts them](Backend::accepts_json_rpc). They are parsed here, and
    /// nowhere again.
    Messages(OwnedBatch),
    /// Any other body, as received.
    Bytes(Vec<u8>),
}

impl RequestBody {
    /// Returns the bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Messages(batch) => batch.into_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// Future of a response.
pub type ResponseFuture<'a> = Pin<Box<dyn Future<Output = Response<Body>> + Send + 'a>>;

/// Handler of a path, or of all paths below it.
pub trait Backend: Send + Sync {
    /// Answers an MCP request. If the client disconnects, the future or the response body is dropped.
    fn handle(&self, request: InboundRequest) -> ResponseFuture<'_>;

    /// Returns true if posts must be JSON-RPC; other posts are rejected before they reach the backend.
    fn accepts_json_rpc(&self) -> bool {
        true
    }

    /// Returns true if a request without a valid credential is for [`Self::handle_stranger`]; others are denied unread.
    fn admits_stranger(&self, _method: &Method, _path: &str, _headers: &HeaderMap) -> bool {
        false
    }

    /// Answers a request without a valid credential.
    fn handle_stranger(&self, _request: InboundRequest) -> Option<ResponseFuture<'_>> {
        None
    }

    /// Answers a request for an OAuth discovery document, which a client reads when it has to authenticate. Returns
    /// `None` if this backend has none.
    fn well_known(&self, _request: InboundRequest, _: WellKnownDocument) -> Option<ResponseFuture<'_>> {
        None
    }

    /// Ends sessions and servers of the backend at shutdown.
    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::ready(()))
    }
}

/// Authenticates and identifies callers of a listener.
struct CallerResolver {
    principals: PrincipalResolver,
    authenticator: Arc<Authenticator>,
}

impl CallerResolver {
    /// Creates a resolver that verifies no one.
    fn new(principals: PrincipalResolver) -> Self {
        Self { principals, authenticator: Arc::new(Authenticator::unchecked()) }
    }

    /// Returns the verified identity of the caller; `None` if callers are not verified here.
    ///
    /// # Errors
    /// Returns the response if the caller is denied.
    async fn authenticate<B>(&self, request: &Request<B>) -> Result<Option<Identity>, Box<Response<Body>>> {
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
    fn identify(&self, head: &mut Parts, identity: Option<&Identity>) -> Principal {
        let (path, query) = (head.uri.path(), head.uri.query());
        let Some(identity) = identity else { return self.principals.identify(path, query, &head.headers) };
        let principal = self.principals.identify_verified(&identity.parts(), path, query, &head.headers);
        head.headers.remove(AUTHORIZATION);
        principal
    }

    /// Returns the metadata of a resource, if `uri` is that of one and callers are verified here. `paths` are those of
    /// the resources; the first is that of the host.
    fn resource_metadata<'a>(
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
    fn for_host(path: &str) -> Option<Self> {
        DOCUMENTS
            .into_iter()
            .map(|name| Self { name, subject: DocumentSubject::Host })
            .find(|document| document.path("") == path)
    }

    /// Returns the document of the server at path `base`, if `path` is the path of one.
    fn for_server(path: &str, base: &str) -> Option<Self> {
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
