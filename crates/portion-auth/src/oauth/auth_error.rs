//! Reasons that a request has no access token.

use thiserror::Error;

use crate::oauth::http::HttpError;
use crate::oauth::login::LoginError;
use crate::oauth::registration::RegistrationError;
use crate::oauth::server_url::ServerUrl;
use crate::oauth::store::StoreError;
use crate::oauth::token_request::TokenError;

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
