//! Recognises the paths of OAuth discovery documents that MCP clients request.
//!
//! These are the only paths besides a backend's own that reach a server. The list is closed, and a path is compared
//! literally: a path with dot segments, escapes, empty segments or a suffix does not match.

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
mod tests {
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
