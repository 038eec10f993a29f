//! Rules of HTTP and TLS that every proxy and client of Portion applies, and background work:
//!
//! - [`forwarding`]: header fields of one connection, codings that can be decoded, requests that must not be forwarded
//! - [`link_header`]: the URL of the next page; addresses relative to others, their origins, and paths that lead out of a
//!   folder
//! - [`rate_limits`]: how long an API asks its clients to wait
//! - `client` (feature `client`): HTTP clients with and without a connection pool, and TLS with the system's root certificates
//! - `serve` (feature `serve`): a listener for clients, within limits, and its shutdown
//! - `request_body` (feature `serve`): bodies of requests that must not arrive too slowly
//! - [`worker`]: a bounded queue with a thread, and the deadline of a shutdown
//!
//! ```
//! use http::HeaderMap;
//! use portion_net::forwarding::remove_hop_by_hop;
//!
//! let mut headers = HeaderMap::new();
//! headers.insert("connection", "x-secret".parse()?);
//! headers.insert("x-secret", "1".parse()?);
//! remove_hop_by_hop(&mut headers);
//! assert!(headers.is_empty());
//! # Ok::<(), http::header::InvalidHeaderValue>(())
//! ```

#[cfg(feature = "client")]
pub mod client;
pub mod forwarding;
pub mod link_header;
pub mod rate_limits;
#[cfg(feature = "serve")]
pub mod request_body;
#[cfg(feature = "serve")]
pub mod serve;
pub mod worker;
