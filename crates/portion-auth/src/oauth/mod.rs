//! OAuth for clients of remote MCP servers, as the authorization part of the MCP specification requires it.
//!
//! [`OAuthSession`] has the access token of one server. It renews the token, and starts a login in the browser if there
//! is none. Both protocol eras are supported: since 2025-06-18 the server names its authorization servers (RFC 9728);
//! in 2025-03-26 the server itself is the authorization server.
//!
//! No redirect is followed. Errors and logs contain no token, code or secret.
//!
//! ```
//! use portion_auth::oauth::{ServerUrl, ServerUrlError};
//!
//! assert_eq!(ServerUrl::parse("https://mcp.example.com/mcp").unwrap().as_str(), "https://mcp.example.com/mcp");
//! assert_eq!(ServerUrl::parse("http://mcp.example.com/mcp").unwrap_err(), ServerUrlError::NotEncrypted);
//! ```
//!
//! # Modules
//!
//! | module | subject |
//! | --- | --- |
//! | `server_url` | URLs that tokens may be sent to; URLs that a server may name |
//! | `http` | requests, bounded and without redirects |
//! | `metadata`, `discovery` | documents of resources and authorization servers; how they are found from `WWW-Authenticate`, for both protocol eras |
//! | `login`, `callback`, `token_request` | a login, and the identity of the client; the listener for its redirect; tokens and their revocation |
//! | `store` | tokens and their files, with locks between processes |
//! | `session`, `token_work` | the token of one server for all requests; tokens in memory, and the work that renews them or logs in, each with a lock of its own; reasons that there is none |

mod callback;
mod discovery;
mod http;
mod login;
mod metadata;
mod server_url;
mod session;
mod store;
mod token_request;
mod token_work;

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

pub use discovery::Challenge;
pub use http::{HttpError, OAuthHttp};
pub use login::LoginError;
pub use login::RegistrationError;
pub use metadata::DiscoveryError;
pub use server_url::{Endpoint, EndpointError, ServerUrl, ServerUrlError};
pub use session::{LogoutOutcome, OAuthSession};
pub use store::{ClientIdentity, Secret, StoredLogin};
pub use store::{StoreError, TokenStore};
pub use token_request::TokenError;

/// Shows the URL of a login to the user.
pub type ShowLogin = Arc<dyn Fn(&str) + Send + Sync>;

/// Choices of the operator.
#[derive(Clone, Default)]
pub struct SessionOptions {
    /// Id of a client that is registered already.
    pub client_id: Option<String>,
    /// Its secret.
    pub client_secret: Option<String>,
    /// URL of a metadata document of the client, used as its id where the server accepts that.
    pub client_metadata_url: Option<String>,
    /// Scopes to request, instead of those that the server names.
    pub scope: Option<String>,
    /// Port of the redirect; 0 is any free one.
    pub callback_port: u16,
    /// Time for the user to finish a login.
    pub login_timeout: Duration,
    /// Longest time that a request waits for a token.
    pub request_timeout: Duration,
    /// Shows the URL of a login; `None`: there are no logins, only stored tokens.
    pub show: Option<ShowLogin>,
}

/// Reason that there is no access token.
#[derive(Debug, Error)]
pub enum AuthError {
    /// Only a login helps, and this program starts none.
    #[error("{0} requires a login; run `portion login {0}`")]
    LoginRequired(ServerUrl),
    /// The server requires credentials and has no documents of a login. This program starts none to see if it has one.
    #[error(
        "{0} requires credentials and describes no login; provide a token: --header 'Authorization: Bearer ${{TOKEN}}'"
    )]
    CredentialsRequired(ServerUrl),
    /// The login is not finished.
    #[error(
        "{0} requires a login, which is not finished; finish it in the browser and try again, or run `portion login {0}`"
    )]
    Waiting(ServerUrl),
    /// The login failed.
    #[error("the login at {server} failed: {reason}; to try again, run `portion login {server}`")]
    LoginFailed {
        /// The server.
        server: ServerUrl,
        /// Error of the login.
        reason: LoginError,
    },
    /// The server requires credentials of another kind.
    #[error(transparent)]
    NoLogin(RegistrationError),
    /// The token could not be renewed, for a reason that may pass.
    #[error("the access token of {server} could not be renewed: {reason}; try again")]
    NotRenewed {
        /// The server.
        server: ServerUrl,
        /// Error of the renewal.
        reason: TokenError,
    },
    /// The tokens cannot be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No response.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// Another process is logging in.
    #[error("another process is logging in at {0}; finish that login first")]
    Locked(ServerUrl),
    /// Another process holds the tokens.
    #[error("another process is renewing the tokens of {0}; try again")]
    Busy(ServerUrl),
    /// The work was stopped.
    #[error("the login at {0} was stopped")]
    Stopped(ServerUrl),
}
