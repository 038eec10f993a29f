//! Rules of HTTP and TLS that every proxy and client of Portion applies, and background work:
//!
//! - [`hop_by_hop`]: removes the header fields of one connection
//! - [`accept_encoding`]: requests only the codings that can be decoded
//! - [`dot_segments`]: paths that lead out of a folder
//! - [`forwarding`]: requests that must not be forwarded
//! - [`link_header`]: the URL of the next page
//! - [`rate_limits`]: how long an API asks its clients to wait
//! - [`request_head`]: the size of a request's head, and its limit
//! - [`uri_reference`]: addresses relative to others, and their origins
//! - `client` (feature `client`): HTTP clients with and without a connection pool
//! - `guarded_body` (feature `io`): ties a permit to the body of a message
//! - `timed_io` (feature `io`): ends connections whose clients do not read
//! - `tls` (feature `tls`): configures TLS with the system's root certificates
//! - [`worker`]: a bounded queue with a thread, and the deadline of a shutdown
//!
//! ```
//! use http::HeaderMap;
//! use portion_net::hop_by_hop::remove_hop_by_hop;
//!
//! let mut headers = HeaderMap::new();
//! headers.insert("connection", "x-secret".parse()?);
//! headers.insert("x-secret", "1".parse()?);
//! remove_hop_by_hop(&mut headers);
//! assert!(headers.is_empty());
//! # Ok::<(), http::header::InvalidHeaderValue>(())
//! ```

pub mod accept_encoding;
#[cfg(feature = "client")]
pub mod client;
pub mod dot_segments;
pub mod forwarding;
#[cfg(feature = "io")]
pub mod guarded_body;
pub mod hop_by_hop;
pub mod link_header;
pub mod rate_limits;
pub mod request_head;
#[cfg(feature = "io")]
pub mod timed_io;
#[cfg(feature = "tls")]
pub mod tls;
pub mod uri_reference;
pub mod worker;
