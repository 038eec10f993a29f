//! Sends requests to the server and reads the heads of the responses, in which this listener is the protected
//! resource of OAuth (RFC 9728).
//!
//! A server names itself in its metadata, and strict clients refuse metadata of another URL than the one they call. So
//! the metadata of the server are served with the public URL of this listener, and a 401 leads to them. Everything else,
//! the authorization servers above all, stays that of the server.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderValue, LOCATION, WWW_AUTHENTICATE};
use hyper::http::response::Parts;
use hyper::{Method, Request, Response, StatusCode, Uri};
use portion_net::forwarding::{remove_hop_by_hop, remove_override_headers, restrict_accept_encoding};
use portion_net::link_header::{resolve, same_origin};
use portion_policy::upstream::UpstreamTarget;
use serde_json::Value;
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::front::http::http_error::bad_gateway;
use crate::http::body::{self, Body};
use crate::upstream::http::{ErrorStatus, HttpClient, NoResponse};

/// Timeout for a connection to be refused if nothing listens.
const REFUSAL_TIMEOUT: Duration = Duration::from_millis(100);

/// Largest metadata document, in bytes.
const MAX_DOCUMENT_BYTES: usize = 256 << 10;

/// Time in which a process that has closed one connection closes its listener as well.
const RECHECK_DELAY: Duration = Duration::from_millis(100);

/// Member of a document with the signature of the server, which would not fit another resource.
const SIGNED_METADATA: &str = "signed_metadata";

/// Parameter of a challenge with the URL of the metadata.
const PARAMETER: &str = "resource_metadata";

/// Client of the server behind the proxy.
pub(super) struct UpstreamClient {
    target: ArcSwap<UpstreamTarget>,
    client: HttpClient,
    public: Option<PublicResource>,
}

/// Parts of a client request that are forwarded besides method and body.
#[derive(Clone)]
pub(super) struct ForwardedParts {
    pub(super) headers: HeaderMap,
    pub(super) query: Option<String>,
}

/// Reason that a request has no response to forward.
#[derive(Debug, Error)]
pub(super) enum ForwardError {
    #[error(transparent)]
    Unreachable(#[from] NoResponse),
    /// The server has redirected to another URL.
    #[error(transparent)]
    Redirected(Box<ErrorStatus>),
}

impl UpstreamClient {
    /// Creates a client of this server.
    pub(super) fn new(target: UpstreamTarget, client: HttpClient, public: Option<PublicResource>) -> Self {
        Self { target: ArcSwap::from_pointee(target), client, public }
    }

    /// Returns the target, after redirects.
    pub(super) fn target(&self) -> Arc<UpstreamTarget> {
        self.target.load_full()
    }

    /// Sends a request with the header fields of the client, without those of its connection, and with those of the
    /// operator.
    ///
    /// Follows one redirect, and only if it keeps the method and adds or removes a slash at the end of the path: a
    /// client must not be able to direct the operator's credentials to another URL.
    ///
    /// # Errors
    /// Returns [`ForwardError`] if no response came, or a redirect.
    pub(super) async fn send(
        &self,
        method: &Method,
        forwarded: &ForwardedParts,
        body: impl Into<Bytes>,
    ) -> Result<Response<Incoming>, ForwardError> {
        let (body, target) = (body.into(), self.target());
        let mut headers = forwarded_headers(&forwarded.headers);
        target.apply_headers(&mut headers);
        let url = target.url_with_query(forwarded.query.as_deref());
        let response = self.send_once(method, &url, &headers, body.clone()).await?;
        let response = match slash_redirect(&url, &response) {
            Some(next) => {
                self.target.store(Arc::new(target.with_path(next.path())));
                let response = self.send_once(method, &next, &headers, body).await?;
                reject_redirect(&next, response)
            }
            None => reject_redirect(&url, response),
        };
        response.map(|response| self.with_public_challenges(response))
    }

    fn with_public_challenges(&self, mut response: Response<Incoming>) -> Response<Incoming> {
        let is_challenge = matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        if let Some(public) = self.public.as_ref().filter(|_| is_challenge) {
            public.edit_challenges(response.headers_mut());
        }
        response
    }

    /// Returns metadata of the server with the public URL of this listener, if there is one.
    pub(super) async fn public_document(&self, response: Response<Incoming>) -> Response<Body> {
        let Some(public) = self.public.as_ref().filter(|_| response.status() == StatusCode::OK) else {
            return pass_through(response);
        };
        let unusable = |reason: &str| bad_gateway(&format!("the metadata of the server {reason}"));
        let (head, content) = match decode_response(response) {
            Ok(decoded) => decoded,
            Err(error) => return unusable(&format!("cannot be read: {error}")).into(),
        };
        let content = body::read_all(content, MAX_DOCUMENT_BYTES).await;
        match content.ok().map(|content| (public.document(&content), content)) {
            Some((Some(document), _)) => Response::from_parts(head, body::full(document)),
            // The response to HEAD, which has no content.
            Some((None, content)) if content.is_empty() => Response::from_parts(head, body::empty()),
            _ => unusable("are not a JSON object").into(),
        }
    }

    /// Fetches a public document, without the header fields of the operator.
    ///
    /// # Errors
    /// Returns [`ForwardError`] if no response came, or a redirect.
    pub(super) async fn fetch_document(
        &self,
        method: &Method,
        headers: &HeaderMap,
        url: &Uri,
    ) -> Result<Response<Incoming>, ForwardError> {
        let response = self.send_once(method, url, &forwarded_headers(headers), Bytes::new()).await?;
        reject_redirect(url, response)
    }

    async fn send_once(
        &self,
        method: &Method,
        url: &Uri,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, NoResponse> {
        let mut request = Request::new(if body.is_empty() { body::empty() } else { body::full(body) });
        *request.method_mut() = method.clone();
        *request.uri_mut() = url.clone();
        *request.headers_mut() = headers.clone();
        self.client.send(request).await
    }

    /// Returns true if the server refuses connections. Checks twice, because a server that is shutting down may still
    /// accept one.
    pub(super) async fn refuses_connections(&self) -> bool {
        let target = self.target();
        let url = target.url();
        let host = url.host().unwrap_or_default().trim_matches(['[', ']']);
        let port = url.port_u16().unwrap_or(if url.scheme_str() == Some("https") { 443 } else { 80 });
        let is_refused =
            async || matches!(timeout(REFUSAL_TIMEOUT, TcpStream::connect((host, port))).await, Ok(Err(_)));
        is_refused().await || {
            sleep(RECHECK_DELAY).await;
            is_refused().await
        }
    }
}

impl ForwardError {
    /// Returns true if the server may have acted.
    pub(super) fn was_reached(&self) -> bool {
        matches!(self, Self::Unreachable(error) if error.was_reached)
    }
}

/// Returns the header fields of a client request that are forwarded.
fn forwarded_headers(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    remove_hop_by_hop(&mut headers);
    for name in [HOST, CONTENT_LENGTH, EXPECT] {
        headers.remove(name);
    }
    remove_override_headers(&mut headers);
    restrict_accept_encoding(&mut headers);
    headers
}

/// Returns the target of a redirect that only adds or removes a slash at the end of the path.
fn slash_redirect(url: &Uri, response: &Response<Incoming>) -> Option<Uri> {
    let keeps_method =
        matches!(response.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    let location = response.headers().get(LOCATION).filter(|_| keeps_method)?.to_str().ok()?;
    let path = |uri: &Uri| uri.path().strip_suffix('/').unwrap_or(uri.path()).to_owned();
    resolve(url, location)
        .filter(|next| same_origin(next, url) && path(next) == path(url) && next.query() == url.query())
}

/// Returns an error for a redirect, else the response.
fn reject_redirect(url: &Uri, response: Response<Incoming>) -> Result<Response<Incoming>, ForwardError> {
    if response.status().is_redirection() {
        return Err(ForwardError::Redirected(Box::new(ErrorStatus::new(
            url,
            response.status(),
            response.headers(),
            "",
        ))));
    }
    Ok(response)
}

/// Returns the response with an unchanged body.
pub(super) fn pass_through(response: Response<Incoming>) -> Response<Body> {
    let (mut head, incoming) = response.into_parts();
    remove_hop_by_hop(&mut head.headers);
    Response::from_parts(head, body::pass_through(incoming))
}

/// Returns head and decoded body of a response that may be changed.
///
/// # Errors
/// Returns an error if the content encoding is not supported.
pub(super) fn decode_response(
    response: Response<Incoming>,
) -> Result<(Parts, Body), body::UnsupportedEncoding> {
    let (mut head, incoming) = response.into_parts();
    let body = body::decode_body(&mut head.headers, incoming)?;
    remove_hop_by_hop(&mut head.headers);
    head.headers.remove(CONTENT_LENGTH);
    Ok((head, body))
}

/// Returns true for a stream of events.
pub(super) fn is_event_stream<B>(response: &Response<B>) -> bool {
    body::media_type(response.headers()) == "text/event-stream"
}

/// Returns true for JSON.
pub(super) fn is_json<B>(response: &Response<B>) -> bool {
    body::media_type(response.headers()) == "application/json"
}

/// Public URL of a server behind this listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicResource {
    origin: String,
    path: String,
}

impl PublicResource {
    /// Creates the resource at `path` of the listener whose public origin is `origin`, such as
    /// `https://mcp.example.com`.
    pub fn new(origin: &str, path: &str) -> Self {
        Self { origin: origin.trim_end_matches('/').to_owned(), path: path.to_owned() }
    }

    /// Returns a document of the server with this resource in place of the server; `None` if it is no such document.
    pub(super) fn document(&self, document: &[u8]) -> Option<String> {
        let mut document: Value = serde_json::from_slice(document).ok()?;
        let members = document.as_object_mut()?;
        members.insert("resource".into(), format!("{}{}", self.origin, self.path).into());
        members.shift_remove(SIGNED_METADATA);
        Some(document.to_string())
    }

    /// Makes the challenges of the server lead to the document of this resource.
    fn edit_challenges(&self, headers: &mut HeaderMap) {
        let url = format!("{}/.well-known/oauth-protected-resource{}", self.origin, self.path);
        let edit = |value: &HeaderValue| {
            let edited = value.to_str().ok().and_then(|text| replace_parameter(text, &url));
            edited.and_then(|text| text.parse().ok()).unwrap_or_else(|| value.clone())
        };
        let edited: Vec<HeaderValue> = headers.get_all(WWW_AUTHENTICATE).iter().map(edit).collect();
        headers.remove(WWW_AUTHENTICATE);
        headers.extend(edited.into_iter().map(|value| (WWW_AUTHENTICATE, value)));
    }
}

/// Replaces the value of the parameter, if a challenge has it.
fn replace_parameter(challenge: &str, value: &str) -> Option<String> {
    let start = find_parameter(challenge)?;
    let after = &challenge[start..];
    let end = match after.strip_prefix('"') {
        Some(quoted) => find_quote(quoted).map_or(after.len(), |end| end + 2),
        None => after.find([',', ' ', '\t']).unwrap_or(after.len()),
    };
    Some(format!("{}\"{value}\"{}", &challenge[..start], &after[end..]))
}

/// Returns the position of the quote that ends a quoted string.
fn find_quote(quoted: &str) -> Option<usize> {
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some(at),
            '\\' => drop(chars.next()),
            _ => {}
        }
    }
    None
}

/// Returns the position of the value of the parameter, outside of quoted strings.
fn find_parameter(challenge: &str) -> Option<usize> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, c) in challenge.char_indices() {
        if is_escaped {
            is_escaped = false;
        } else if c == '\\' && is_quoted {
            is_escaped = true;
        } else if c == '"' {
            is_quoted = !is_quoted;
        } else if !is_quoted && challenge[at..].len() > PARAMETER.len() {
            let is_start = at == 0 || challenge[..at].ends_with([' ', '\t', ',']);
            let name = challenge.get(at..at + PARAMETER.len());
            let is_name = name.is_some_and(|name| name.eq_ignore_ascii_case(PARAMETER));
            if is_start && is_name && challenge[at + PARAMETER.len()..].starts_with('=') {
                return Some(at + PARAMETER.len() + 1);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{PublicResource, replace_parameter};

    #[test]
    fn documents_name_this_resource() {
        let public = PublicResource::new("https://gw.example/", "/git/mcp");
        let check = |document: &str, expect: Option<&str>| {
            assert_eq!(public.document(document.as_bytes()).as_deref(), expect, "{document}");
        };
        check(
            r#"{"authorization_servers":["https://as.example"],"resource":"https://up.example/mcp","signed_metadata":"x","a":1}"#,
            Some(
                r#"{"authorization_servers":["https://as.example"],"resource":"https://gw.example/git/mcp","a":1}"#,
            ),
        );
        check("[]", None);
        check("<html>", None);
    }

    #[test]
    fn challenges_lead_to_this_resource() {
        let check = |challenge: &str, expect: Option<&str>| {
            assert_eq!(replace_parameter(challenge, "u").as_deref(), expect, "{challenge}");
        };
        check(
            r#"Bearer resource_metadata="https://x/y", scope="a""#,
            Some(r#"Bearer resource_metadata="u", scope="a""#),
        );
        check(
            "Bearer scope=a, Resource_Metadata=https://x/y, b=c",
            Some(r#"Bearer scope=a, Resource_Metadata="u", b=c"#),
        );
        check(
            r#"Bearer realm="resource_metadata=\"x\"", resource_metadata="y"#,
            Some(r#"Bearer realm="resource_metadata=\"x\"", resource_metadata="u""#),
        );
        check(
            r#"Bearer resource_metadata="https://x/\"a\\", scope="b""#,
            Some(r#"Bearer resource_metadata="u", scope="b""#),
        );
        check(r#"Bearer resource_metadata="x\""#, Some(r#"Bearer resource_metadata="u""#));
        check(r#"Bearer my_resource_metadata="x""#, None);
        check("Bearer realm=é", None);
        check("Basic", None);
    }
}
