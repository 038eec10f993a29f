//! Finds the authorization server of an MCP server, from the `WWW-Authenticate` fields of a response (RFC 9110,
//! 11.6.1; RFC 6750, 3; RFC 9728, 5.1).

use http::header::{HeaderMap, WWW_AUTHENTICATE};
use oauth2::url::Url;
use serde_json::Value;

use super::server_url::{Endpoint, ServerUrl};
use crate::oauth::http::{Fetched, OAuthHttp, excerpt};
use crate::oauth::metadata::{
    AuthorizationServer, DiscoveryError, ProtectedResource, Result, accept_endpoint, resource_document_urls,
    server_document_urls,
};

/// The authorization server of an MCP server, and what to request from it.
#[derive(Debug)]
pub(crate) struct Discovery {
    /// Resource that tokens are requested for; `None` in 2025-03-26, which has no such parameter.
    pub(crate) resource: Option<String>,
    /// Scopes of the resource, if it names them.
    pub(crate) scopes: Vec<String>,
    pub(crate) server: AuthorizationServer,
}

/// Finds the authorization server. `challenge` is that of a 401, if there was one.
pub(crate) async fn discover(
    http: &OAuthHttp,
    server: &ServerUrl,
    challenge: Option<&Challenge>,
) -> Result<Discovery> {
    let resource = find_resource(http, server, challenge).await?;
    let Some(resource) = resource else {
        return discover_2025_03_26(http, server, challenge.is_some()).await;
    };
    let Some(issuer) = resource.authorization_servers.first() else {
        let mut found = discover_2025_03_26(http, server, challenge.is_some()).await?;
        found.resource = Some(resource.resource);
        found.scopes = resource.scopes_supported;
        return Ok(found);
    };
    let issuer_url = accept_issuer(issuer, server)?;
    let found = find_server(http, issuer_url.url(), issuer, server).await?;
    let found = found.ok_or_else(|| {
        let issuer = excerpt(issuer);
        DiscoveryError::Refused(format!(
            "the authorization server {issuer} has no metadata; ask its operator"
        ))
    })?;
    Ok(Discovery { resource: Some(resource.resource), scopes: resource.scopes_supported, server: found })
}

/// Parameters of the `Bearer` challenge of a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Challenge {
    /// URL of the metadata of the protected resource.
    pub resource_metadata: Option<String>,
    /// Scopes that the request needs.
    pub scope: Option<String>,
    /// Error code.
    pub error: Option<String>,
}

impl Challenge {
    /// Reads the fields of a response. Without a `Bearer` challenge, all parameters are absent.
    pub fn from_headers(headers: &HeaderMap) -> Self {
        let mut challenge = Self::default();
        for value in headers.get_all(WWW_AUTHENTICATE) {
            challenge.read(&String::from_utf8_lossy(value.as_bytes()));
        }
        challenge
    }

    /// Returns true if the token is valid, but lacks scopes.
    pub fn is_insufficient_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    /// Reads one field. The first value of a parameter counts.
    fn read(&mut self, field: &str) {
        let mut rest = field;
        let mut is_bearer = false;
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            if rest.is_empty() {
                return;
            }
            let (name, after) = split_token(rest);
            if name.is_empty() {
                // Not a token: the rest of a token68, or a stray character.
                let mut chars = rest.chars();
                chars.next();
                rest = chars.as_str();
                continue;
            }
            let after_space = after.trim_start_matches([' ', '\t']);
            let Some(value) = after_space.strip_prefix('=') else {
                is_bearer = name.eq_ignore_ascii_case("bearer");
                rest = after;
                continue;
            };
            let (value, after) = split_value(value.trim_start_matches([' ', '\t']));
            rest = after;
            if is_bearer {
                self.set(name, value);
            }
        }
    }

    fn set(&mut self, name: &str, value: String) {
        let field = match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => &mut self.resource_metadata,
            "scope" => &mut self.scope,
            "error" => &mut self.error,
            _ => return,
        };
        field.get_or_insert(value);
    }
}

/// Finds an authorization server that is the MCP server itself.
async fn discover_2025_03_26(http: &OAuthHttp, server: &ServerUrl, is_required: bool) -> Result<Discovery> {
    let origin = server.origin();
    let issuer = accept_issuer(&origin, server)?;
    let found = match find_server(http, issuer.url(), &origin, server).await? {
        Some(found) => found,
        None if is_required => AuthorizationServer::at_default_paths(server)?,
        None => {
            return Err(DiscoveryError::Refused(format!(
                "{server} offers no login: it has no OAuth metadata and does not ask for authorization"
            )));
        }
    };
    Ok(Discovery { resource: None, scopes: Vec::new(), server: found })
}

fn accept_issuer(issuer: &str, server: &ServerUrl) -> Result<Endpoint> {
    accept_endpoint("authorization server", issuer, issuer, server.is_loopback())
}

/// Returns the metadata of the protected resource, if it has any.
async fn find_resource(
    http: &OAuthHttp,
    server: &ServerUrl,
    challenge: Option<&Challenge>,
) -> Result<Option<ProtectedResource>> {
    let named = challenge.and_then(|challenge| challenge.resource_metadata.as_deref());
    let named = named
        .map(|text| accept_endpoint("resource_metadata", text, &server.to_string(), server.is_loopback()));
    let named = named.transpose()?.map(|endpoint| endpoint.url().clone());
    let found = first_document(http, named.into_iter().chain(resource_document_urls(server))).await?;
    found.map(|(document, url)| ProtectedResource::read(document, &url, server)).transpose()
}

/// Returns the authorization server with this issuer, if it has a document.
async fn find_server(
    http: &OAuthHttp,
    url: &Url,
    issuer: &str,
    server: &ServerUrl,
) -> Result<Option<AuthorizationServer>> {
    let found = first_document(http, server_document_urls(url)).await?;
    let read = |(document, url): (Value, Url)| {
        AuthorizationServer::read(document, &url, issuer, server.is_loopback())
    };
    found.map(read).transpose()
}

/// Returns the document at the first of these URLs that has one.
async fn first_document(
    http: &OAuthHttp,
    urls: impl IntoIterator<Item = Url>,
) -> Result<Option<(Value, Url)>> {
    for url in urls {
        match http.fetch(&url).await? {
            Fetched::Document(document) => return Ok(Some((document, url))),
            Fetched::Absent => {}
            Fetched::Failed(status) => {
                let url = excerpt(url.as_str());
                return Err(DiscoveryError::Refused(format!("{url} returned {status}; try again later")));
            }
        }
    }
    Ok(None)
}

/// Splits off a token.
fn split_token(text: &str) -> (&str, &str) {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    text.split_at(text.find(|c| !is_token(c)).unwrap_or(text.len()))
}

/// Splits off the value of a parameter: a token or a quoted string. Values without quotes may have the characters of URLs.
fn split_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([' ', '\t', ',']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => value.extend(chars.next()),
            _ => value.push(c),
        }
    }
    (value, chars.as_str())
}

#[cfg(test)]
mod tests {
    use http::header::{HeaderMap, HeaderValue, WWW_AUTHENTICATE};

    use super::Challenge;

    fn check(fields: &[&str], expect: [Option<&str>; 3]) {
        let mut headers = HeaderMap::new();
        for field in fields {
            headers.append(WWW_AUTHENTICATE, HeaderValue::from_str(field).expect("a field"));
        }
        let found = Challenge::from_headers(&headers);
        let found = [found.resource_metadata, found.scope, found.error];
        assert_eq!(found.each_ref().map(Option::as_deref), expect, "{fields:?}");
    }

    #[test]
    fn the_bearer_challenge_is_read() {
        let url = "https://h/.well-known/oauth-protected-resource/mcp";
        check(&[&format!("Bearer resource_metadata=\"{url}\"")], [Some(url), None, None]);
        check(
            &[&format!("bearer realm=x, resource_metadata={url}, scope=\"a b\"")],
            [Some(url), Some("a b"), None],
        );
        check(
            &["Basic realm=\"a, Bearer scope=no\", Bearer error = \"insufficient_scope\", scope=\"c\\\"d\""],
            [None, Some("c\"d"), Some("insufficient_scope")],
        );
        check(&["Negotiate abc==, Bearer scope=x"], [None, Some("x"), None]);
        check(&["Basic scope=no", "Bearer error=invalid_token"], [None, None, Some("invalid_token")]);
        check(&["Bearer"], [None, None, None]);
        check(&["Bearer scope=\"open"], [None, Some("open"), None]);
        check(&["=,=\"\", é Bearer scope=x"], [None, Some("x"), None]);
        check(&[], [None, None, None]);
    }
}
