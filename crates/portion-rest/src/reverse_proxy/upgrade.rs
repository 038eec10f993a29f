//! Switches a connection to another protocol, such as WebSocket.

use http::header::{CONNECTION, HeaderMap, HeaderValue, UPGRADE};
use http::{Response, StatusCode};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use portion_net::serve::RequestGuard;
use thiserror::Error;

/// The upstream switches to a protocol that the request has not asked for.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("it switches to a protocol that was not asked for")]
pub(super) struct UnaskedProtocol;

/// Returns the protocol that a message switches to.
pub(super) fn protocol(headers: &HeaderMap) -> Option<HeaderValue> {
    let tokens = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let asks =
        tokens.flat_map(|value| value.split(',')).any(|token| token.trim().eq_ignore_ascii_case("upgrade"));
    headers.get(UPGRADE).filter(|_| asks).cloned()
}

/// Returns the protocol that a response switches to; `None` if it does not switch. `requested`: the protocols that the request
/// has asked for.
///
/// # Errors
/// Returns [`UnaskedProtocol`] if the response names none of these, or another one.
pub(super) fn switched_protocol<B>(
    response: &Response<B>,
    requested: Option<&HeaderValue>,
) -> Result<Option<HeaderValue>, UnaskedProtocol> {
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Ok(None);
    }
    let switched = protocol(response.headers()).ok_or(UnaskedProtocol)?;
    let requested = requested.map(names).unwrap_or_default();
    let switched_names = names(&switched);
    let is_requested = |name: &&str| requested.iter().any(|requested| requested.eq_ignore_ascii_case(name));
    if switched_names.is_empty() || !switched_names.iter().all(is_requested) {
        return Err(UnaskedProtocol);
    }
    Ok(Some(switched))
}

/// Returns the names in a list of protocols.
fn names(protocols: &HeaderValue) -> Vec<&str> {
    let names = protocols.to_str().unwrap_or_default().split(',').map(str::trim);
    names.filter(|name| !name.is_empty()).collect()
}

/// Marks a message as one that switches the protocol.
pub(super) fn set_protocol(headers: &mut HeaderMap, protocol: HeaderValue) {
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, protocol);
}

/// Copies bytes in both directions once both sides have switched, until one of them ends. Then the connection is no longer busy.
pub(super) fn join(client: OnUpgrade, upstream: OnUpgrade, guard: Option<RequestGuard>) {
    tokio::spawn(async move {
        let _guard = guard;
        let (Ok(client), Ok(upstream)) = tokio::join!(client, upstream) else { return };
        let (mut client, mut upstream) = (TokioIo::new(client), TokioIo::new(upstream));
        // An error ends the connection, which both sides see.
        let _ = tokio::io::copy_bidirectional(&mut client, &mut upstream).await;
    });
}
