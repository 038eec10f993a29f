//! Finds the authorization server of an MCP server.

use oauth2::url::Url;

use super::server_url::Endpoint;
use crate::oauth::challenge::Challenge;
use crate::oauth::http::{Fetched, OAuthHttp, excerpt};
use crate::oauth::metadata::{
    AuthorizationServer, DiscoveryError, ProtectedResource, resource_document_urls, server_document_urls,
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
) -> Result<Discovery, DiscoveryError> {
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
    let found = found.ok_or_else(|| DiscoveryError::NoServerDocument(excerpt(issuer)))?;
    Ok(Discovery { resource: Some(resource.resource), scopes: resource.scopes_supported, server: found })
}

/// Finds an authorization server that is the MCP server itself.
async fn discover_2025_03_26(
    http: &OAuthHttp,
    server: &ServerUrl,
    is_required: bool,
) -> Result<Discovery, DiscoveryError> {
    let origin = server.origin();
    let issuer = accept_issuer(&origin, server)?;
    let found = match find_server(http, issuer.url(), &origin, server).await? {
        Some(found) => found,
        None if is_required => AuthorizationServer::at_default_paths(server)?,
        None => return Err(DiscoveryError::NotOffered(server.to_string())),
    };
    Ok(Discovery { resource: None, scopes: Vec::new(), server: found })
}

fn accept_issuer(issuer: &str, server: &ServerUrl) -> Result<Endpoint, DiscoveryError> {
    Endpoint::parse(issuer, server.is_loopback()).map_err(|reason| DiscoveryError::RefusedEndpoint {
        name: "authorization server",
        issuer: excerpt(issuer),
        reason,
    })
}

/// Returns the metadata of the protected resource, if it has any.
async fn find_resource(
    http: &OAuthHttp,
    server: &ServerUrl,
    challenge: Option<&Challenge>,
) -> Result<Option<ProtectedResource>, DiscoveryError> {
    let named = challenge.and_then(|challenge| challenge.resource_metadata.as_deref());
    let named = named.map(|text| {
        Endpoint::parse(text, server.is_loopback()).map_err(|reason| DiscoveryError::RefusedEndpoint {
            name: "resource_metadata",
            issuer: server.to_string(),
            reason,
        })
    });
    let named = named.transpose()?.map(|endpoint| endpoint.url().clone());
    for url in named.into_iter().chain(resource_document_urls(server)) {
        match http.fetch(&url).await? {
            Fetched::Document(document) => return ProtectedResource::read(document, &url, server).map(Some),
            Fetched::Absent => {}
            Fetched::Failed(status) => {
                return Err(DiscoveryError::Failed { url: excerpt(url.as_str()), status });
            }
        }
    }
    Ok(None)
}

/// Returns the authorization server with this issuer, if it has a document.
async fn find_server(
    http: &OAuthHttp,
    url: &Url,
    issuer: &str,
    server: &ServerUrl,
) -> Result<Option<AuthorizationServer>, DiscoveryError> {
    for url in server_document_urls(url) {
        match http.fetch(&url).await? {
            Fetched::Document(document) => {
                return AuthorizationServer::read(document, &url, issuer, server.is_loopback()).map(Some);
            }
            Fetched::Absent => {}
            Fetched::Failed(status) => {
                return Err(DiscoveryError::Failed { url: excerpt(url.as_str()), status });
            }
        }
    }
    Ok(None)
}
