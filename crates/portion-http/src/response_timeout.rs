//! The time limit of a request, as an extension of it.

use std::time::Duration;

/// Longest silence before the head of a response. The layer adds it to the extensions of a request.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(feature = "reverse-proxy"),
    expect(dead_code, reason = "only the reverse proxy waits for a server")
)]
pub(crate) struct ResponseTimeout(pub(crate) Duration);
