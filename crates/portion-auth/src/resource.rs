//! Metadata of a protected resource (RFC 9728): which issuer's tokens a server accepts.

use http::header::HOST;
use http::uri::Authority;
use http::{HeaderMap, Uri};
use portion_policy::access::AccessPolicy;
use serde_json::json;

/// Path of the metadata; the path of the resource follows.
pub const PROTECTED_RESOURCE_PATH: &str = "/.well-known/oauth-protected-resource";

/// Metadata of the resources of a listener.
#[derive(Clone, Debug, Default)]
pub struct ResourceMetadata {
    /// URL under which clients reach the listener; without it, the host of the request is used.
    public_url: Option<Uri>,
    issuer: Option<String>,
    scopes: Vec<String>,
}

/// Returns the host of a request: that of its target, or of its `Host` field.
pub fn requested_host<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> &'a str {
    let named = headers.get(HOST).and_then(|host| host.to_str().ok());
    uri.authority().map(Authority::as_str).or(named).unwrap_or_default()
}

impl ResourceMetadata {
    /// Creates the metadata of a listener with this policy.
    pub fn new(policy: &AccessPolicy, public_url: Option<Uri>) -> Self {
        match policy {
            AccessPolicy::Jwt(jwt) => {
                Self { public_url, issuer: Some(jwt.issuer.clone()), scopes: jwt.scopes.clone() }
            }
            _ => Self { public_url, issuer: None, scopes: Vec::new() },
        }
    }

    /// Returns the scopes that a token needs.
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// Returns the URL of the metadata of the resource at `path`, for a request to `host`.
    pub fn url(&self, host: &str, path: &str) -> String {
        let path = if path == "/" { "" } else { path };
        format!("{}{PROTECTED_RESOURCE_PATH}{path}", self.base(host))
    }

    /// Returns the metadata of the resource at `path`, for a request to `host`.
    pub fn document(&self, host: &str, path: &str) -> String {
        let mut document = json!({
            "resource": format!("{}{path}", self.base(host)),
            "bearer_methods_supported": ["header"],
        });
        if let Some(issuer) = &self.issuer {
            document["authorization_servers"] = json!([issuer]);
        }
        if !self.scopes.is_empty() {
            document["scopes_supported"] = json!(self.scopes);
        }
        document.to_string()
    }

    fn base(&self, host: &str) -> String {
        match &self.public_url {
            Some(url) => url.to_string().trim_end_matches('/').to_owned(),
            None => format!("http://{host}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use portion_policy::access::{AccessPolicy, JwtPolicy};
    use serde_json::{Value, json};

    use super::ResourceMetadata;

    #[test]
    fn the_document_names_resource_and_issuer() {
        let policy = AccessPolicy::Jwt(JwtPolicy {
            issuer: "https://id.example".into(),
            audience: "a".into(),
            jwks_url: "https://id.example/keys".parse().expect("a URL"),
            scopes: vec!["read".into()],
        });
        let local = ResourceMetadata::new(&policy, None);
        let document: Value = serde_json::from_str(&local.document("localhost:1", "/mcp")).expect("JSON");
        let expect = json!({
            "resource": "http://localhost:1/mcp",
            "bearer_methods_supported": ["header"],
            "authorization_servers": ["https://id.example"],
            "scopes_supported": ["read"],
        });
        assert_eq!(document, expect);
        assert_eq!(
            local.url("localhost:1", "/mcp"),
            "http://localhost:1/.well-known/oauth-protected-resource/mcp"
        );
        let public = ResourceMetadata::new(&policy, Some("https://mcp.example/".parse().expect("a URL")));
        assert_eq!(
            public.url("localhost:1", "/"),
            "https://mcp.example/.well-known/oauth-protected-resource"
        );
    }
}
