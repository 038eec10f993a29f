//! The access token of one server: read, renewed, or obtained by a login, once for all requests that need it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::StatusCode;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::auth_error::AuthError;
use crate::challenge::Challenge;
use crate::credentials::{ClientIdentity, Credentials, Secret};
use crate::discovery::{Discovery, discover};
use crate::endpoint::Endpoint;
use crate::http::{HttpError, OAuthHttp};
use crate::login::{LoginChoices, LoginError, choose_scope, log_in};
use crate::registration::RegistrationError;
use crate::server_url::ServerUrl;
use crate::store::{StoreError, TokenStore};
use crate::token_request::{TokenEndpoint, TokenError, revoke};

/// Time for another process to finish with the tokens, before a logout gives up.
const LOGOUT_LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// A request that changes nothing and shows whether the server asks for authorization.
const PROBE: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

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

/// Access to one server.
#[derive(Clone)]
pub struct OAuthSession(Arc<Inner>);

struct Inner {
    server: ServerUrl,
    store: TokenStore,
    options: SessionOptions,
    http: OAuthHttp,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_loaded: bool,
    credentials: Option<Arc<Credentials>>,
    /// Work that obtains a token at present, or did last.
    running: Option<Work>,
}

/// Work that obtains a token, and its outcome.
#[derive(Clone)]
struct Work {
    outcome: watch::Receiver<Option<Outcome>>,
    may_log_in: bool,
}

type Outcome = Result<Arc<Credentials>, Arc<AuthError>>;

/// What a request needs.
#[derive(Clone, Default)]
struct Need {
    /// Access token that the server rejected.
    rejected: Option<Secret>,
    challenge: Option<Challenge>,
    /// False if a token was rejected that has just been renewed.
    may_refresh: bool,
    may_log_in: bool,
}

/// Result of a logout.
#[derive(Debug)]
pub enum LogoutOutcome {
    /// There were no tokens.
    NotLoggedIn,
    /// The tokens were removed. `is_revoked` tells whether the server revoked them; it may offer no revocation.
    Removed {
        /// True if the server revoked them.
        is_revoked: bool,
    },
    /// The tokens were removed here, but the server did not revoke them.
    NotRevoked(TokenError),
}

impl OAuthSession {
    /// Creates a session with the stored tokens of `server`.
    pub fn new(server: ServerUrl, store: TokenStore, options: SessionOptions) -> Self {
        let (http, state) = (OAuthHttp::default(), Mutex::default());
        Self(Arc::new(Inner { server, store, options, http, state }))
    }

    /// Returns true while a token is being obtained.
    pub fn is_pending(&self) -> bool {
        self.0.state().running.as_ref().is_some_and(Work::is_running)
    }

    /// Returns the access token, renewed if it expires soon; `None` if there is none.
    pub async fn token(&self) -> Option<Secret> {
        let stored = self.0.current()?;
        if !stored.tokens.is_due() || stored.tokens.refresh_token.is_none() {
            return Some(stored.tokens.access_token.clone());
        }
        let rejected = Some(stored.tokens.access_token.clone());
        match self.obtain(Need { rejected, may_refresh: true, ..Need::default() }).await {
            Ok(credentials) => Some(credentials.tokens.access_token.clone()),
            Err(error) => {
                tracing::debug!(%error, "the access token was not renewed");
                (!stored.tokens.is_expired()).then(|| stored.tokens.access_token.clone())
            }
        }
    }

    /// Returns another token after the server rejected `rejected` with this status. `is_repeated` is set if the same
    /// request was rejected before. `Ok(None)` if the response has nothing to do with authorization.
    ///
    /// # Errors
    /// Returns [`AuthError`] if there is no token.
    pub async fn renew(
        &self,
        rejected: Option<Secret>,
        status: StatusCode,
        challenge: Challenge,
        is_repeated: bool,
    ) -> Result<Option<Secret>, Arc<AuthError>> {
        let is_step_up = status == StatusCode::FORBIDDEN && challenge.is_insufficient_scope();
        if status != StatusCode::UNAUTHORIZED && (!is_step_up || is_repeated) {
            return Ok(None);
        }
        let may_refresh = !is_repeated && !is_step_up;
        let need = Need { rejected, challenge: Some(challenge), may_refresh, may_log_in: true };
        self.obtain(need).await.map(|credentials| Some(credentials.tokens.access_token.clone()))
    }

    /// Logs in, also if there is a token.
    ///
    /// # Errors
    /// Returns [`AuthError`] if that fails.
    pub async fn log_in(&self) -> Result<(), AuthError> {
        let inner = &self.0;
        let lock = timeout(LOGOUT_LOCK_TIMEOUT, inner.store.lock(&inner.server)).await;
        let _lock = lock.map_err(|_| AuthError::Locked(inner.server.clone()))??;
        let challenge = inner.probe().await?;
        inner.log_in(challenge.as_ref(), None).await.map(drop)
    }

    /// Removes the tokens and revokes them at the server, if it offers that.
    ///
    /// # Errors
    /// Returns [`AuthError`] if they cannot be removed.
    pub async fn log_out(&self) -> Result<LogoutOutcome, AuthError> {
        let inner = &self.0;
        let lock = timeout(LOGOUT_LOCK_TIMEOUT, inner.store.lock(&inner.server)).await;
        let _lock = lock.map_err(|_| AuthError::Locked(inner.server.clone()))??;
        let stored = match inner.store.load(&inner.server) {
            Err(StoreError::Corrupt(_)) => None,
            loaded => loaded?,
        };
        inner.store.remove(&inner.server)?;
        let Some(credentials) = stored else { return Ok(LogoutOutcome::NotLoggedIn) };
        Ok(match revoke(&inner.http, &credentials, inner.server.is_loopback()).await {
            Ok(is_revoked) => LogoutOutcome::Removed { is_revoked },
            Err(error) => LogoutOutcome::NotRevoked(error),
        })
    }

    /// Waits for the work that runs, or starts it, until there is a token that was not rejected.
    async fn obtain(&self, need: Need) -> Result<Arc<Credentials>, Arc<AuthError>> {
        let limit = self.0.options.request_timeout;
        let waiting = async {
            loop {
                let (mut work, is_own) = self.join_or_start(&need);
                let outcome = match work.outcome.wait_for(Option::is_some).await {
                    Ok(outcome) => outcome.clone(),
                    Err(_) => None,
                };
                let outcome =
                    outcome.unwrap_or_else(|| Err(Arc::new(AuthError::Stopped(self.0.server.clone()))));
                let is_new =
                    |found: &Arc<Credentials>| need.rejected.as_ref() != Some(&found.tokens.access_token);
                // Work for another request may have done less than this one needs.
                let is_complete = is_own || work.may_log_in || !need.may_log_in;
                if (outcome.is_err() && is_complete) || is_own || outcome.as_ref().is_ok_and(is_new) {
                    return outcome;
                }
            }
        };
        timeout(limit, waiting)
            .await
            .unwrap_or_else(|_| Err(Arc::new(AuthError::Waiting(self.0.server.clone()))))
    }

    /// Returns the work to wait for, and true if it was started for this need.
    fn join_or_start(&self, need: &Need) -> (Work, bool) {
        let mut state = self.0.state();
        if let Some(work) = state.running.as_ref().filter(|work| work.is_running()) {
            return (work.clone(), false);
        }
        let (sender, outcome) = watch::channel(None);
        let work = Work { outcome, may_log_in: need.may_log_in };
        state.running = Some(work.clone());
        drop(state);
        let (inner, need) = (Arc::clone(&self.0), need.clone());
        // A task of its own: it must not end with the request that started it.
        tokio::spawn(async move {
            let outcome = inner.work(&need).await.map_err(Arc::new);
            if let Ok(credentials) = &outcome {
                inner.state().credentials = Some(Arc::clone(credentials));
            }
            sender.send_replace(Some(outcome));
        });
        (work, true)
    }
}

impl Work {
    fn is_running(&self) -> bool {
        self.outcome.has_changed().is_ok() && self.outcome.borrow().is_none()
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the tokens, read from the store the first time.
    fn current(&self) -> Option<Arc<Credentials>> {
        let mut state = self.state();
        if !state.is_loaded {
            state.is_loaded = true;
            state.credentials = self.load().map(Arc::new);
        }
        state.credentials.clone()
    }

    /// Reads the tokens, unless another client was chosen.
    fn load(&self) -> Option<Credentials> {
        let loaded = self.store.load(&self.server).unwrap_or_else(|error| {
            tracing::warn!(%error, "the stored login cannot be used");
            None
        });
        let chosen = self.options.client_id.as_ref();
        loaded.filter(|stored| chosen.is_none_or(|id| *id == stored.client.client_id))
    }

    /// Obtains a token that differs from the rejected one.
    async fn work(&self, need: &Need) -> Result<Arc<Credentials>, AuthError> {
        // Held during a login, so that two processes do not both open a browser.
        let _lock = self.store.lock(&self.server).await?;
        let stored = self.load();
        if let Some(stored) = &stored {
            // Another process may have renewed it meanwhile.
            if need.rejected.as_ref() != Some(&stored.tokens.access_token) && !stored.tokens.is_expired() {
                return Ok(Arc::new(stored.clone()));
            }
            if need.may_refresh
                && let Some(renewed) = self.refresh(stored).await?
            {
                return Ok(renewed);
            }
        }
        if !need.may_log_in {
            return Err(AuthError::LoginRequired(self.server.clone()));
        }
        let is_step_up = need.challenge.as_ref().is_some_and(Challenge::is_insufficient_scope);
        let granted = stored.filter(|_| is_step_up).and_then(|stored| stored.tokens.scope);
        self.log_in(need.challenge.as_ref(), granted.as_deref()).await
    }

    /// Renews the tokens; `None` if only a login helps.
    async fn refresh(&self, stored: &Credentials) -> Result<Option<Arc<Credentials>>, AuthError> {
        let Some(token) = stored.tokens.refresh_token.as_ref().filter(|_| !stored.client.is_expired()) else {
            return Ok(None);
        };
        let Ok(url) = Endpoint::parse(&stored.token_endpoint, self.server.is_loopback()) else {
            return Ok(None);
        };
        let endpoint = TokenEndpoint {
            http: &self.http,
            url: url.url(),
            client: &stored.client,
            resource: stored.resource.as_deref(),
        };
        match endpoint.refresh(token, &stored.tokens).await {
            Ok(tokens) => {
                let renewed = Credentials { tokens, ..stored.clone() };
                self.store.save(&self.server, &renewed)?;
                tracing::info!(server = %self.server, "renewed the access token");
                Ok(Some(Arc::new(renewed)))
            }
            Err(error) if error.needs_login() => {
                tracing::info!(server = %self.server, %error, "the refresh token is no longer valid");
                self.store.remove(&self.server)?;
                self.state().credentials = None;
                Ok(None)
            }
            Err(reason) => Err(AuthError::NotRenewed { server: self.server.clone(), reason }),
        }
    }

    /// Logs in and stores the tokens. The store must be locked.
    async fn log_in(
        &self,
        challenge: Option<&Challenge>,
        granted: Option<&str>,
    ) -> Result<Arc<Credentials>, AuthError> {
        let Some(show) = &self.options.show else {
            return Err(AuthError::LoginRequired(self.server.clone()));
        };
        let failed = |reason: LoginError| match reason {
            LoginError::Registration(reason @ RegistrationError::NoLogin(_)) => AuthError::NoLogin(reason),
            reason => AuthError::LoginFailed { server: self.server.clone(), reason },
        };
        let found =
            discover(&self.http, &self.server, challenge).await.map_err(|error| failed(error.into()))?;
        let scope = self.scope(challenge, granted, &found);
        let choices = self.choices();
        let login = log_in(&self.http, &self.server, &found, scope.as_deref(), &choices, show.as_ref());
        let credentials = login.await.map_err(failed)?;
        self.store.save(&self.server, &credentials)?;
        tracing::info!(server = %self.server, issuer = credentials.issuer, "logged in");
        Ok(Arc::new(credentials))
    }

    fn scope(
        &self,
        challenge: Option<&Challenge>,
        granted: Option<&str>,
        found: &Discovery,
    ) -> Option<String> {
        let challenged = challenge.and_then(|challenge| challenge.scope.as_deref());
        choose_scope(self.options.scope.as_deref(), challenged, granted, found)
    }

    fn choices(&self) -> LoginChoices {
        let options = &self.options;
        let client = options.client_id.as_deref();
        LoginChoices {
            client: client.map(|id| ClientIdentity::configured(id, options.client_secret.as_deref())),
            client_metadata_url: options.client_metadata_url.clone(),
            callback_port: options.callback_port,
            timeout: options.login_timeout,
        }
    }

    /// Sends a request without a token and returns the challenge of the server, if it asks for authorization.
    async fn probe(&self) -> Result<Option<Challenge>, HttpError> {
        let response = self.http.post_message(self.server.url(), PROBE.to_vec()).await?;
        let is_challenge = response.status() == StatusCode::UNAUTHORIZED;
        Ok(is_challenge.then(|| Challenge::from_headers(response.headers())))
    }
}
