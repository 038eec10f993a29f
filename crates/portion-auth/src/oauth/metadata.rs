//! Documents of protected resources (RFC 9728) and authorization servers (RFC 8414, `OpenID` Connect Discovery).

use oauth2::url::Url;
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use super::server_url::{Endpoint, ServerUrl};
use crate::oauth::http::{HttpError, excerpt};

/// Metadata of a protected resource.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ProtectedResource {
    pub(crate) resource: String,
    #[serde(default)]
    pub(crate) authorization_servers: Vec<String>,
    #[serde(default)]
    pub(crate) scopes_supported: Vec<String>,
}

/// An authorization server.
#[derive(Clone, Debug)]
pub(crate) struct AuthorizationServer {
    pub(crate) issuer: String,
    pub(crate) authorization_endpoint: Endpoint,
    pub(crate) token_endpoint: Endpoint,
    pub(crate) registration_endpoint: Option<Endpoint>,
    pub(crate) revocation_endpoint: Option<Endpoint>,
    pub(crate) scopes_supported: Vec<String>,
    /// Methods of client authentication at the token endpoint, if the server names them.
    pub(crate) auth_methods: Option<Vec<String>>,
    /// True if the URL of a document is accepted as the id of a client.
    pub(crate) accepts_metadata_documents: bool,
    /// True if no document says that there is an authorization server.
    pub(crate) is_assumed: bool,
    /// True if every redirect back names the issuer (RFC 9207).
    pub(crate) sends_issuer: bool,
}

/// Result of a search for an authorization server.
pub(crate) type Result<T, E = DiscoveryError> = std::result::Result<T, E>;

/// Reason that no authorization server was found, or that it is refused.
#[derive(Debug, Error)]
pub enum DiscoveryError {
    /// No response.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// No document, or one that must not be used.
    #[error("{0}")]
    Refused(String),
}

#[derive(Deserialize)]
struct ServerDocument {
    issuer: String,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    registration_endpoint: Option<String>,
    revocation_endpoint: Option<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    client_id_metadata_document_supported: bool,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

impl ProtectedResource {
    /// Reads a document, which must be about this server.
    pub(crate) fn read(document: Value, url: &Url, server: &ServerUrl) -> Result<Self> {
        let invalid = |reason: String| invalid(url, &reason);
        let found: Self = serde_json::from_value(document).map_err(|error| invalid(error.to_string()))?;
        let resource =
            Url::parse(&found.resource).map_err(|_| invalid("`resource` is not a URL".to_owned()))?;
        if !server.is_within(&resource) {
            let resource = excerpt(&found.resource);
            return Err(DiscoveryError::Refused(format!(
                "the server says that it is {resource}, which is not {server}; use that URL if you trust it"
            )));
        }
        Ok(found)
    }
}

impl AuthorizationServer {
    /// Reads the document of `issuer`. Refuses documents of other issuers, URLs that are not encrypted, and servers
    /// without PKCE.
    pub(crate) fn read(document: Value, url: &Url, issuer: &str, is_loopback_allowed: bool) -> Result<Self> {
        let invalid = |reason: String| invalid(url, &reason);
        let found: ServerDocument =
            serde_json::from_value(document).map_err(|error| invalid(error.to_string()))?;
        if !same_issuer(&found.issuer, issuer) {
            let (found, expected) = (excerpt(&found.issuer), excerpt(issuer));
            return Err(DiscoveryError::Refused(format!(
                "the authorization server {expected} says that it is {found}, which is refused"
            )));
        }
        if !found.code_challenge_methods_supported.iter().any(|method| method == "S256") {
            let issuer = excerpt(&found.issuer);
            return Err(DiscoveryError::Refused(format!(
                "the authorization server {issuer} does not support PKCE with S256, which MCP requires"
            )));
        }
        let accept =
            |name: &'static str, text: &str| accept_endpoint(name, text, &found.issuer, is_loopback_allowed);
        let required = |name: &'static str, text: &Option<String>| {
            accept(name, text.as_deref().ok_or_else(|| invalid(format!("`{name}` is missing")))?)
        };
        let optional = |name: &'static str, text: &Option<String>| {
            text.as_deref().map(|text| accept(name, text)).transpose()
        };
        Ok(Self {
            authorization_endpoint: required("authorization_endpoint", &found.authorization_endpoint)?,
            token_endpoint: required("token_endpoint", &found.token_endpoint)?,
            registration_endpoint: optional("registration_endpoint", &found.registration_endpoint)?,
            revocation_endpoint: optional("revocation_endpoint", &found.revocation_endpoint)?,
            scopes_supported: found.scopes_supported,
            auth_methods: found.token_endpoint_auth_methods_supported,
            is_assumed: false,
            accepts_metadata_documents: found.client_id_metadata_document_supported,
            sends_issuer: found.authorization_response_iss_parameter_supported,
            issuer: found.issuer,
        })
    }

    /// Returns a server of 2025-03-26 that has no document: its endpoints have fixed paths.
    pub(crate) fn at_default_paths(server: &ServerUrl) -> Result<Self> {
        let issuer = server.origin();
        let endpoint = |name: &'static str, path: &str| {
            accept_endpoint(name, &format!("{issuer}{path}"), &issuer, server.is_loopback())
        };
        Ok(Self {
            authorization_endpoint: endpoint("authorization_endpoint", "/authorize")?,
            token_endpoint: endpoint("token_endpoint", "/token")?,
            registration_endpoint: Some(endpoint("registration_endpoint", "/register")?),
            revocation_endpoint: None,
            scopes_supported: Vec::new(),
            auth_methods: None,
            is_assumed: true,
            accepts_metadata_documents: false,
            sends_issuer: false,
            issuer,
        })
    }
}

/// Parses the URL of this name, of an authorization server.
pub(super) fn accept_endpoint(
    name: &'static str,
    text: &str,
    issuer: &str,
    is_loopback_allowed: bool,
) -> Result<Endpoint> {
    let refused = |reason| DiscoveryError::Refused(format!("the {name} of {} {reason}", excerpt(issuer)));
    Endpoint::parse(text, is_loopback_allowed).map_err(refused)
}

fn invalid(url: &Url, reason: &str) -> DiscoveryError {
    let (url, reason) = (excerpt(url.as_str()), excerpt(reason));
    DiscoveryError::Refused(format!("the document at {url} cannot be used: {reason}"))
}

/// Returns the URLs at which the metadata of a protected resource may be, except the one that the server names.
pub(crate) fn resource_document_urls(server: &ServerUrl) -> Vec<Url> {
    let mut root = server.url().clone();
    root.set_path("/");
    let mut urls = [server.url(), &root].map(|url| well_known_url(url, "oauth-protected-resource")).to_vec();
    urls.dedup();
    urls
}

/// Returns the URLs at which the document of an issuer may be, in the order of the specification.
pub(crate) fn server_document_urls(issuer: &Url) -> Vec<Url> {
    let names = ["oauth-authorization-server", "openid-configuration"];
    let mut urls = names.map(|name| well_known_url(issuer, name)).to_vec();
    let path = issuer.path().trim_end_matches('/');
    if !path.is_empty() {
        let mut appended = issuer.clone();
        appended.set_path(&format!("{path}/.well-known/openid-configuration"));
        appended.set_query(None);
        urls.push(appended);
    }
    urls
}

/// Returns the URL of a document whose name is put before the path.
fn well_known_url(subject: &Url, name: &str) -> Url {
    let mut url = subject.clone();
    url.set_path(&format!("/.well-known/{name}{}", subject.path().trim_end_matches('/')));
    url.set_query(None);
    url.set_fragment(None);
    url
}

/// Returns true if both are the same issuer. A root issuer may be written with and without its slash.
pub(crate) fn same_issuer(a: &str, b: &str) -> bool {
    let is_root_of = |long: &str, short: &str| {
        long.strip_suffix('/') == Some(short) && Url::parse(long).is_ok_and(|url| url.path() == "/")
    };
    a == b || is_root_of(a, b) || is_root_of(b, a)
}

#[cfg(test)]
mod tests {
    use oauth2::url::Url;
    use serde_json::json;

    use super::{
        AuthorizationServer, ProtectedResource, resource_document_urls, same_issuer, server_document_urls,
    };
    use crate::oauth::server_url::ServerUrl;

    fn texts(urls: &[Url]) -> Vec<&str> {
        urls.iter().map(Url::as_str).collect()
    }

    #[test]
    fn documents_are_looked_for_in_order() {
        let server = ServerUrl::parse("https://h.example/a/mcp?x=1").expect("a URL");
        let known = "https://h.example/.well-known/oauth-protected-resource";
        assert_eq!(texts(&resource_document_urls(&server)), [&format!("{known}/a/mcp"), known]);
        let server = ServerUrl::parse("https://h.example").expect("a URL");
        assert_eq!(texts(&resource_document_urls(&server)), [known]);
        let check = |issuer: &str, expect: &[&str]| {
            assert_eq!(texts(&server_document_urls(&Url::parse(issuer).expect("a URL"))), expect);
        };
        check(
            "https://as.example",
            &[
                "https://as.example/.well-known/oauth-authorization-server",
                "https://as.example/.well-known/openid-configuration",
            ],
        );
        check(
            "https://as.example/t/",
            &[
                "https://as.example/.well-known/oauth-authorization-server/t",
                "https://as.example/.well-known/openid-configuration/t",
                "https://as.example/t/.well-known/openid-configuration",
            ],
        );
    }

    #[test]
    fn issuers_are_compared_as_text() {
        assert!(same_issuer("https://as.example", "https://as.example/"));
        assert!(!same_issuer("https://as.example/t", "https://as.example/t/"));
        assert!(!same_issuer("https://as.example", "https://AS.example"));
        assert!(!same_issuer("https://as.example", "https://other.example"));
    }

    #[test]
    fn errors_quote_documents_on_one_short_line() {
        let server = ServerUrl::parse("https://h.example/mcp").expect("a URL");
        let url = Url::parse("https://h.example/.well-known/x").expect("a URL");
        let hostile = format!("https://evil.example/\u{1b}[2J\n{}", "x".repeat(10_000));
        let endpoint = json!("https://as.example/a");
        let read = |document| AuthorizationServer::read(document, &url, &hostile, false).map(drop);
        let errors = [
            ProtectedResource::read(json!({"resource": hostile}), &url, &server).map(drop),
            ProtectedResource::read(
                json!({"resource": "x", "authorization_servers": hostile}),
                &url,
                &server,
            )
            .map(drop),
            read(json!({"issuer": "https://as.example"})),
            read(json!({"issuer": hostile})),
            read(json!({"issuer": hostile, "code_challenge_methods_supported": ["S256"]})),
            read(json!({"issuer": hostile, "code_challenge_methods_supported": ["S256"],
                "authorization_endpoint": endpoint, "token_endpoint": "file:///x"})),
        ];
        for error in errors {
            let text = error.expect_err("an error").to_string();
            assert!(!text.contains(char::is_control) && text.chars().count() < 800, "{text}");
        }
    }

    #[test]
    fn hostile_documents_are_refused() {
        let issuer = "https://as.example";
        let document = |name: &str, value: serde_json::Value| {
            let mut document = json!({
                "issuer": issuer,
                "authorization_endpoint": "https://as.example/authorize",
                "token_endpoint": "https://as.example/token",
                "code_challenge_methods_supported": ["plain", "S256"],
            });
            document[name] = value;
            let url = Url::parse("https://as.example/.well-known/x").expect("a URL");
            AuthorizationServer::read(document, &url, issuer, false).map_err(|error| error.to_string())
        };
        let check = |name: &str, value: serde_json::Value, expect: &str| {
            let error = document(name, value).expect_err("an error");
            assert!(error.contains(expect), "{error}");
        };
        assert!(document("scopes_supported", json!(["a"])).is_ok());
        check("issuer", json!("https://evil.example"), "evil.example");
        check("authorization_endpoint", json!("javascript:alert(1)"), "javascript");
        check("authorization_endpoint", json!("http://as.example/authorize"), "not encrypted");
        check("authorization_endpoint", json!("http://127.0.0.1/authorize"), "not encrypted");
        check("token_endpoint", json!("http://as.example/token"), "not encrypted");
        check("token_endpoint", json!(null), "token_endpoint");
        check("registration_endpoint", json!("ftp://as.example/"), "ftp");
        check("code_challenge_methods_supported", json!(["plain"]), "PKCE");
        check("code_challenge_methods_supported", json!([]), "PKCE");
    }
}
