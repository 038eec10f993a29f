//! The work that obtains the token of one server: a renewal, or a login.
//!
//! They have different locks, so that a login that waits for a person does not keep any process from renewing tokens.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use http::StatusCode;

use super::AuthError;
use super::server_url::Endpoint;
use crate::oauth::SessionOptions;
use crate::oauth::challenge::Challenge;
use crate::oauth::credentials::{Credentials, Secret};
use crate::oauth::discovery::discover;
use crate::oauth::http::{HttpError, OAuthHttp, excerpt};
use crate::oauth::login::{LoginError, choose_scope, log_in};
use crate::oauth::registration::RegistrationError;
use crate::oauth::server_url::ServerUrl;
use crate::oauth::store::{LockKind, TokenStore};
use crate::oauth::token_request::TokenEndpoint;
use crate::oauth::token_state::{Outcome, TokenState, WorkKind};

/// A request that changes nothing and shows whether the server asks for authorization.
const PROBE: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// Obtains the token of one server.
pub(crate) struct TokenWork {
    pub(crate) server: ServerUrl,
    pub(crate) store: TokenStore,
    pub(crate) options: SessionOptions,
    pub(crate) http: OAuthHttp,
    state: Mutex<TokenState>,
}

/// Requirements of a request for a token.
#[derive(Clone, Default)]
pub(crate) struct Need {
    /// Access token that the server rejected.
    pub(crate) rejected: Option<Secret>,
    pub(crate) challenge: Option<Challenge>,
    /// False if a token was rejected that has just been renewed.
    pub(crate) may_refresh: bool,
    pub(crate) may_log_in: bool,
}

impl Need {
    /// Returns true if these tokens are what is needed.
    fn is_met_by(&self, found: &Credentials) -> bool {
        self.rejected.as_ref() != Some(&found.tokens.access_token) && !found.tokens.is_expired()
    }
}

impl TokenWork {
    pub(crate) fn new(server: ServerUrl, store: TokenStore, options: SessionOptions) -> Self {
        Self { server, store, options, http: OAuthHttp::default(), state: Mutex::default() }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, TokenState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the tokens, read from the store the first time.
    pub(crate) fn current(&self) -> Option<Arc<Credentials>> {
        if !self.state().is_loaded {
            self.load();
        }
        self.state().credentials.clone()
    }

    /// Does the work of this kind.
    pub(crate) async fn run(&self, kind: WorkKind, need: &Need) -> Outcome {
        if kind == WorkKind::Renewal {
            return self.renew(need).await.map_err(Arc::new);
        }
        // A person who has refused a login is not asked again at once.
        if let Some(failure) = self.state().recent_failure(Instant::now()) {
            return Err(failure);
        }
        let outcome = self.log_in_once(need).await.map_err(Arc::new);
        if let Err(failure) = &outcome
            && matches!(&**failure, AuthError::LoginFailed { reason, .. } if reason.was_shown())
        {
            self.state().failed_login = Some((Instant::now(), Arc::clone(failure)));
        }
        outcome.map(Some)
    }

    /// Finds tokens that another process has stored, or renews them.
    async fn renew(&self, need: &Need) -> Result<Option<Arc<Credentials>>, AuthError> {
        let _lock = self.store.lock(&self.server, LockKind::Tokens).await?;
        let Some(mut stored) = self.load() else { return Ok(None) };
        if self.state().is_unsaved {
            stored = self.keep(Credentials::clone(&stored));
        }
        if need.is_met_by(&stored) {
            return Ok(Some(stored));
        }
        if need.may_refresh { self.refresh(&stored).await } else { Ok(None) }
    }

    /// Logs in, unless another process has done so.
    async fn log_in_once(&self, need: &Need) -> Result<Arc<Credentials>, AuthError> {
        if self.options.show.is_none() {
            return Err(self.missing_login(need.challenge.as_ref()).await);
        }
        let _login = self.store.lock(&self.server, LockKind::Login).await?;
        let stored = self.load();
        if let Some(stored) = stored.as_ref().filter(|stored| need.is_met_by(stored)) {
            return Ok(Arc::clone(stored));
        }
        let is_step_up = need.challenge.as_ref().is_some_and(Challenge::is_insufficient_scope);
        let granted = stored.filter(|_| is_step_up).and_then(|stored| stored.tokens.scope.clone());
        let credentials = self.log_in(need.challenge.as_ref(), granted.as_deref()).await?;
        let lock = self.store.lock(&self.server, LockKind::Tokens).await;
        let _tokens = lock.inspect_err(|error| tracing::warn!(%error, "the tokens are not locked")).ok();
        // Whether other tokens are newer is judged by the file as it is now.
        self.load();
        Ok(self.keep(credentials))
    }

    /// Returns the error of a session that starts no login: with the command for one, if the server describes it.
    async fn missing_login(&self, challenge: Option<&Challenge>) -> AuthError {
        match discover(&self.http, &self.server, challenge).await {
            Ok(found) if found.server.is_assumed => AuthError::CredentialsRequired(self.server.clone()),
            _ => AuthError::LoginRequired(self.server.clone()),
        }
    }

    /// Returns the newest tokens, of the file or in memory, unless another client was chosen.
    fn load(&self) -> Option<Arc<Credentials>> {
        let chosen = self.options.client_id.as_ref();
        let loaded = self
            .store
            .load(&self.server)
            .map(|found| found.filter(|stored| chosen.is_none_or(|id| *id == stored.client.client_id)));
        self.state().take_newest(loaded)
    }

    /// Stores the tokens. If that fails, they stay in memory: the old refresh token may be used up.
    fn keep(&self, credentials: Credentials) -> Arc<Credentials> {
        let credentials = Arc::new(credentials);
        let saved = self.store.save(&self.server, &credentials);
        if let Err(error) = &saved {
            tracing::warn!(%error, "the tokens are not stored, and are lost when the process ends");
        }
        self.state().keep(Arc::clone(&credentials), saved.is_ok());
        credentials
    }

    /// Renews the tokens; they must be locked. `None` if only a login helps.
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
                tracing::info!(server = %self.server, "renewed the access token");
                Ok(Some(self.keep(renewed)))
            }
            Err(error) if error.needs_login() => {
                tracing::info!(server = %self.server, %error, "the refresh token is no longer valid");
                if let Err(error) = self.store.remove(&self.server) {
                    tracing::warn!(%error, "the tokens are no longer valid, but stay in their file");
                }
                self.state().forget();
                Ok(None)
            }
            Err(reason) => Err(AuthError::NotRenewed { server: self.server.clone(), reason }),
        }
    }

    /// Logs in. The lock of logins must be held; the tokens are not stored yet.
    pub(crate) async fn log_in(
        &self,
        challenge: Option<&Challenge>,
        granted: Option<&str>,
    ) -> Result<Credentials, AuthError> {
        let Some(show) = &self.options.show else {
            return Err(AuthError::LoginRequired(self.server.clone()));
        };
        let failed = |reason: LoginError| match reason {
            LoginError::Registration(reason @ RegistrationError::NoLogin(_)) => AuthError::NoLogin(reason),
            reason => AuthError::LoginFailed { server: self.server.clone(), reason },
        };
        let found =
            discover(&self.http, &self.server, challenge).await.map_err(|error| failed(error.into()))?;
        let challenged = challenge.and_then(|challenge| challenge.scope.as_deref());
        let scope = choose_scope(self.options.scope.as_deref(), challenged, granted, &found);
        let login = log_in(&self.http, &self.server, &found, scope.as_deref(), &self.options, show.as_ref());
        let credentials = login.await.map_err(failed)?;
        tracing::info!(server = %self.server, issuer = excerpt(&credentials.issuer), "logged in");
        Ok(credentials)
    }

    /// Sends a request without a token and returns the challenge of the server, if it asks for authorization.
    pub(crate) async fn probe(&self) -> Result<Option<Challenge>, HttpError> {
        let response = self.http.post_message(self.server.url(), PROBE.to_vec()).await?;
        let is_challenge = response.status() == StatusCode::UNAUTHORIZED;
        Ok(is_challenge.then(|| Challenge::from_headers(response.headers())))
    }
}
