//! Finds the authorization server of an MCP server.

use oauth2::url::Url;
use serde_json::Value;

use super::server_url::Endpoint;
use crate::oauth::challenge::Challenge;
use crate::oauth::http::{Fetched, OAuthHttp, excerpt};
use crate::oauth::metadata::{
    AuthorizationServer, DiscoveryError, ProtectedResource, Result, accept_endpoint, resource_document_urls,
    server_document_urls,
};
use crate::oauth::server_url::ServerUrl;

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
