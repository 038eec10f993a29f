//! Choices of the operator for the logins at a server.

use std::sync::Arc;
use std::time::Duration;

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
