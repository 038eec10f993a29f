//! Measures the heads of requests: hyper limits only its read buffer, so that it accepts a longer head that arrives at once.
//!
//! ```
//! use http::Request;
//! use portion_net::request_head::head_bytes;
//!
//! let request = Request::get("/a?b=c").header("host", "localhost").body(())?;
//! assert_eq!(head_bytes(&request), "GET /a?b=c HTTP/1.1\r\nhost: localhost\r\n\r\n".len());
//! # Ok::<(), http::Error>(())
//! ```

use http::Request;

/// Largest head of a request that listeners accept, in bytes.
pub const MAX_HEAD_BYTES: usize = 64 << 10;

/// Returns the length of the head of a request in bytes, as HTTP/1.1 writes it without optional white space.
pub fn head_bytes<B>(request: &Request<B>) -> usize {
    let uri = request.uri();
    let scheme = uri.scheme_str().map_or(0, |scheme| scheme.len() + "://".len());
    let authority = uri.authority().map_or(0, |authority| authority.as_str().len());
    let path = uri.path_and_query().map_or(0, |path| path.as_str().len());
    let line = request.method().as_str().len() + scheme + authority + path + "  HTTP/1.1\r\n".len();
    let fields = request.headers().iter();
    let fields = fields.map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    line + fields.sum::<usize>() + "\r\n".len()
}
