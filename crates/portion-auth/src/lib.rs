//! Authentication over HTTP: of callers, and (feature `oauth`) at remote servers.
//!
//! An [`Authenticator`] checks the `Authorization` header of a request by an
//! [`AccessPolicy`](portion_policy::access::AccessPolicy) and returns the [`Identity`] of the caller. A [`Denial`] becomes
//! a response with a challenge (RFC 6750) that names the metadata of the resource (RFC 9728), as MCP clients need it.
//!
//! ```
//! use http::HeaderMap;
//! use portion_auth::{Authenticator, Identity, new_token, token_entry};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let token = new_token()?;
//! let authenticator = Authenticator::bearer(vec![token_entry("ci", &token)]);
//! let mut headers = HeaderMap::new();
//! assert!(authenticator.authenticate(&headers).await.is_err());
//! headers.insert("authorization", format!("Bearer {token}").parse()?);
//! let caller = authenticator.authenticate(&headers).await?;
//! assert_eq!(caller, Some(Identity::Token { name: "ci".into() }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Modules
//!
//! A request is authenticated before its body is read. The verified identity takes the place of the `Authorization` header in the
//! principal, and the header is not forwarded.
//!
//! | module | subject |
//! | --- | --- |
//! | `authenticator` | checks the credential of a request; why it is denied, and the challenge of the response; random tokens and their hashes, compared in constant time; metadata of a protected resource (RFC 9728) |
//! | `jwt` | JSON Web Tokens, verified with `ring`: `key_set` reads keys and verifies signatures. Keys of an issuer are cached, and fetched again at a limited rate by a function of the caller |
//! | `oauth` (feature `oauth`) | OAuth for clients of remote MCP servers: discovery, registration, login in a browser, tokens in files |

mod authenticator;
mod jwt;
#[cfg(feature = "oauth")]
pub mod oauth;

pub use crate::authenticator::{Denial, new_token, token_entry};
pub use authenticator::{Authenticator, TOKEN_COOKIE};
pub use authenticator::{PROTECTED_RESOURCE_PATH, ResourceMetadata, requested_host};
pub use jwt::JwtError;
pub use jwt::{FetchKeys, FetchedKeys};

/// Verified identity of a caller. It stays the same when a token is refreshed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Identity {
    /// Holder of a configured token.
    Token {
        /// Name of the token.
        name: Box<str>,
    },
    /// Subject of a JSON Web Token.
    Subject {
        /// `iss`.
        issuer: Box<str>,
        /// `sub`.
        subject: Box<str>,
    },
}

impl Identity {
    /// Returns the parts that distinguish the identity from all others.
    pub fn parts(&self) -> Vec<&str> {
        match self {
            Self::Token { name } => vec!["token", name],
            Self::Subject { issuer, subject } => vec!["subject", issuer, subject],
        }
    }
}
