//! The tokens of a server, and what is needed to renew and to revoke them.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::oauth::metadata::AuthorizationServer;

/// A token is renewed this long before it expires, but not before nine tenths of its lifetime.
const RENEWAL_MARGIN: Duration = Duration::from_mins(1);
/// Longest lifetime that is stored: ten years. Servers may name any number.
const MAX_LIFETIME: Duration = Duration::from_hours(10 * 365 * 24);

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// Identity of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientIdentity {
    /// Id of the client.
    pub client_id: String,
    /// Secret of the client, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<Secret>,
    /// True if the secret is sent in a header instead of the body.
    #[serde(default)]
    pub(crate) uses_basic: bool,
    /// Seconds since 1970 at which the secret expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret_expires_at: Option<u64>,
}

/// Tokens of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tokens {
    pub(crate) access_token: Secret,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refresh_token: Option<Secret>,
    /// Granted scopes, or the requested ones if the server does not name them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scope: Option<String>,
    /// Seconds since 1970 at which the access token is renewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) renew_at: Option<u64>,
    /// Seconds since 1970 at which the access token expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<u64>,
}

/// Tokens of a server, and the client that they were issued to, as stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Credentials {
    /// URL of the MCP server.
    pub(crate) server: String,
    /// Resource that the tokens are for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) resource: Option<String>,
    /// The authorization server that issued the tokens.
    pub(crate) issuer: String,
    pub(crate) token_endpoint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) revocation_endpoint: Option<String>,
    pub(crate) client: ClientIdentity,
    pub(crate) tokens: Tokens,
}

/// A stored login, for lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLogin {
    /// URL of the server, without its query.
    pub server: String,
    /// The authorization server.
    pub issuer: String,
    /// Scopes.
    pub scope: Option<String>,
    /// Time at which the access token expires.
    pub expires_at: Option<SystemTime>,
    /// True if the access token can be renewed without a login.
    pub is_renewable: bool,
}

impl ClientIdentity {
    /// Returns a client that was registered by other means, or the URL of its metadata document.
    pub fn configured(client_id: &str, client_secret: Option<&str>) -> Self {
        Self {
            client_id: client_id.to_owned(),
            client_secret: client_secret.map(Secret::new),
            uses_basic: false,
            secret_expires_at: None,
        }
    }

    /// Chooses how a configured client authenticates.
    pub(crate) fn for_server(self, server: &AuthorizationServer) -> Self {
        // RFC 8414 names client_secret_basic as the default.
        let accepts_post =
            server.auth_methods.as_ref().is_some_and(|known| known.iter().any(|m| m == "client_secret_post"));
        Self { uses_basic: self.client_secret.is_some() && !accepts_post, ..self }
    }

    /// Returns true if the secret has expired, so that nothing can be requested with it.
    pub(crate) fn is_expired(&self) -> bool {
        self.secret_expires_at.is_some_and(|at| at <= now())
    }
}

impl Tokens {
    /// Sets the times of a token that was requested just now.
    pub(crate) fn with_lifetime(self, lifetime: Option<Duration>) -> Self {
        let now = now();
        let at = |duration: Duration| now.saturating_add(duration.as_secs());
        let lifetime = lifetime.map(|time| time.min(MAX_LIFETIME));
        let renewal = lifetime.map(|time| time.saturating_sub(RENEWAL_MARGIN).max(time * 9 / 10));
        Self { renew_at: renewal.map(at), expires_at: lifetime.map(at), ..self }
    }

    /// Returns true if the token should be renewed before it is used.
    pub(crate) fn is_due(&self) -> bool {
        self.renew_at.is_some_and(|at| at <= now())
    }

    /// Returns true if the access token is certainly no longer valid.
    pub(crate) fn is_expired(&self) -> bool {
        self.expires_at.is_some_and(|at| at <= now())
    }
}

/// Returns the seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{MAX_LIFETIME, Secret, Tokens, now};

    fn tokens() -> Tokens {
        Tokens {
            access_token: Secret::new("hidden-1"),
            refresh_token: Some(Secret::new("hidden-2")),
            scope: None,
            renew_at: None,
            expires_at: None,
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        assert!(!format!("{:?}", tokens()).contains("hidden"));
    }

    #[test]
    fn a_token_is_renewed_before_it_expires() {
        let tokens = tokens();
        let lasting = tokens.clone().with_lifetime(Some(Duration::from_hours(1)));
        assert!(!lasting.is_due() && !lasting.is_expired());
        assert!(lasting.renew_at.is_some_and(|at| at > now() + 3500));
        assert!(tokens.clone().with_lifetime(Some(Duration::ZERO)).is_expired());
        assert!(!tokens.with_lifetime(None).is_due());
    }

    #[test]
    fn lifetimes_are_bounded() {
        for seconds in [MAX_LIFETIME.as_secs() + 1, 300_000_000_000, u64::MAX] {
            let lasting = tokens().with_lifetime(Some(Duration::from_secs(seconds)));
            assert!(!lasting.is_due() && !lasting.is_expired(), "{seconds}");
            assert!(lasting.expires_at.is_some_and(|at| at <= now() + MAX_LIFETIME.as_secs()), "{seconds}");
        }
    }
}
