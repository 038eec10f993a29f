//! Recognises the documents of OAuth discovery that MCP clients ask for.
//!
//! They are the only paths beside a backend's own that reach a server. The list is closed, and a path is compared as it
//! was written: one with dot segments, escapes, empty segments or a suffix of its own is none of them.

/// What stands before the name of a document (RFC 8615).
const WELL_KNOWN_PREFIX: &str = "/.well-known/";
/// The documents of a whole host, or of a path that stands after the name (RFC 9728, RFC 8414).
const DOCUMENTS: [&str; 3] = ["oauth-protected-resource", "oauth-authorization-server", OPENID_CONFIGURATION];
/// The one that may stand after the path of an issuer as well (Discovery 1.0 of `OpenID` Connect, 4).
const OPENID_CONFIGURATION: &str = "openid-configuration";

/// A document of OAuth discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WellKnownDocument {
    name: &'static str,
    subject: DocumentSubject,
}

/// What a document is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DocumentSubject {
    Host,
    /// The path of a server, which stands after the name.
    Path,
    /// The path of a server, which stands before everything.
    Issuer,
}

impl WellKnownDocument {
    /// The document of the host at this path.
    pub(super) fn for_host(path: &str) -> Option<Self> {
        DOCUMENTS
            .into_iter()
            .map(|name| Self { name, subject: DocumentSubject::Host })
            .find(|known| known.path("") == path)
    }

    /// The document of the server that is served at `at`.
    pub(super) fn for_server(path: &str, at: &str) -> Option<Self> {
        let at = at.trim_end_matches('/');
        let after = DOCUMENTS.into_iter().map(|name| Self { name, subject: DocumentSubject::Path });
        let before = Self { name: OPENID_CONFIGURATION, subject: DocumentSubject::Issuer };
        after.chain([before]).find(|known| !at.is_empty() && known.path(at) == path)
    }

    /// Where the document is for a server at this path.
    pub fn path(&self, of_server: &str) -> String {
        let (name, of_server) = (self.name, of_server.trim_end_matches('/'));
        match self.subject {
            DocumentSubject::Host => format!("{WELL_KNOWN_PREFIX}{name}"),
            DocumentSubject::Path => format!("{WELL_KNOWN_PREFIX}{name}{of_server}"),
            DocumentSubject::Issuer => format!("{of_server}{WELL_KNOWN_PREFIX}{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::WellKnownDocument;

    /// `expect`: where it is asked for at a server at `/srv/api`.
    fn check(path: &str, expect: Option<&str>) {
        let known = WellKnownDocument::for_server(path, "/mcp").or_else(|| WellKnownDocument::for_host(path));
        assert_eq!(known.map(|known| known.path("/srv/api")).as_deref(), expect, "{path}");
    }

    #[test]
    fn documents_are_known_by_their_whole_path() {
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
