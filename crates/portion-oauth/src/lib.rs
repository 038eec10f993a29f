//! OAuth for clients of remote MCP servers, as the authorization part of the MCP specification requires it.
//!
//! [`OAuthSession`] has the access token of one server. It renews the token, and starts a login in the browser if there
//! is none. Both protocol eras are supported: since 2025-06-18 the server names its authorization servers (RFC 9728);
//! in 2025-03-26 the server itself is the authorization server.
//!
//! - `server_url`, `endpoint`, `challenge`, `http`: URLs, which URLs are accepted, `WWW-Authenticate`, requests
//! - `metadata`, `discovery`: documents of the server and of its authorization server (RFC 9728, RFC 8414, `OpenID`)
//! - `registration`: the identity of this client (RFC 7591, client id metadata documents)
//! - `login`, `callback`, `token_request`: authorization code with PKCE; the redirect back; tokens and their revocation
//! - `credentials`, `store`: tokens of a server; their files, with locks between processes
//! - `session`, `token_work`, `token_state`, `auth_error`: all of these together: the token for requests; renewals and
//!   logins; tokens in memory; reasons that there is no token
//!
//! No redirect is followed. Errors and logs contain no token, code or secret.
//!
//! ```
//! use portion_oauth::{ServerUrl, ServerUrlError};
//!
//! assert_eq!(ServerUrl::parse("https://mcp.example.com/mcp").unwrap().as_str(), "https://mcp.example.com/mcp");
//! assert_eq!(ServerUrl::parse("http://mcp.example.com/mcp").unwrap_err(), ServerUrlError::NotEncrypted);
//! ```
//!
//! # Modules
//!
//! | module | subject |
//! | --- | --- |
//! | `server_url`, `endpoint`, `challenge` | URLs that tokens may be sent to; URLs that a server may name; `WWW-Authenticate` |
//! | `http` | requests, bounded and without redirects |
//! | `metadata`, `discovery` | documents of resources and authorization servers; how they are found, for both protocol eras |
//! | `registration`, `login`, `callback`, `token_request` | the identity of the client; a login; the listener for its redirect; tokens and their revocation |
//! | `credentials`, `store` | tokens; their files, with locks between processes |
//! | `session`, `token_work`, `token_state`, `auth_error` | the token of one server for all requests; the work that renews it or logs in, each with a lock of its own; tokens in memory; reasons that there is none |

mod auth_error;
mod callback;
mod challenge;
mod credentials;
mod discovery;
mod endpoint;
mod http;
mod login;
mod metadata;
mod registration;
mod server_url;
mod session;
mod session_options;
mod store;
mod token_request;
mod token_state;
mod token_work;

pub use auth_error::AuthError;
pub use challenge::Challenge;
pub use credentials::{ClientIdentity, Secret, StoredLogin};
pub use endpoint::{Endpoint, EndpointError};
pub use http::{HttpError, OAuthHttp};
pub use login::LoginError;
pub use metadata::DiscoveryError;
pub use registration::RegistrationError;
pub use server_url::{ServerUrl, ServerUrlError};
pub use session::{LogoutOutcome, OAuthSession};
pub use session_options::{SessionOptions, ShowLogin};
pub use store::{StoreError, TokenStore};
pub use token_request::TokenError;
