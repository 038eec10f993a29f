//! The tokens of a session in memory, and the work that obtains them: a renewal, or a login.
//!
//! They have different locks, so that a login that waits for a person does not keep any process from renewing tokens.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::StatusCode;
use tokio::sync::watch;

use super::discovery::{Challenge, discover};
use super::login::{LoginError, RegistrationError, choose_scope, log_in};
use super::server_url::{Endpoint, ServerUrl};
use super::store::{Credentials, LockKind, Secret, StoreError, TokenStore};
use super::{AuthError, SessionOptions};
use crate::oauth::http::{HttpError, OAuthHttp, excerpt};
use crate::oauth::token_request::TokenEndpoint;

/// A request that changes nothing and shows whether the server asks for authorization.
const PROBE: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// Time for which a failed login is not repeated. `portion login` repeats it at any time.
const FAILURE_MEMORY: Duration = Duration::from_mins(1);

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

impl Need {
    /// Returns true if these tokens are what is needed.
    fn is_met_by(&self, found: &Credentials) -> bool {
        self.rejected.as_ref() != Some(&found.tokens.access_token) && !found.tokens.is_expired()
    }
}

/// Kind of work. A session runs one of each kind at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkKind {
    Renewal,
    Login,
}

/// Work that runs, and its outcome.
#[derive(Clone)]
pub(crate) struct Work {
    pub(crate) outcome: watch::Receiver<Option<Outcome>>,
    pub(crate) may_refresh: bool,
}

/// Tokens; `None` if only a login helps.
pub(crate) type Outcome = Result<Option<Arc<Credentials>>, Arc<AuthError>>;

/// Tokens in memory, and the work on them.
#[derive(Default)]
pub(super) struct TokenState {
    pub(crate) is_loaded: bool,
    pub(crate) credentials: Option<Arc<Credentials>>,
    /// True while the tokens in memory could not be written.
    pub(crate) is_unsaved: bool,
    /// Access token of the file, as it was last read or written.
    on_file: Option<Secret>,
    /// The last login that failed before the eyes of a person.
    pub(crate) failed_login: Option<(Instant, Arc<AuthError>)>,
    renewal: Option<Work>,
    login: Option<Work>,
}

impl Work {
    pub(crate) fn is_running(&self) -> bool {
        self.outcome.has_changed().is_ok() && self.outcome.borrow().is_none()
    }
}

impl TokenState {
    /// Returns the place of the work of this kind that runs at present, or did last.
    pub(crate) fn slot(&mut self, kind: WorkKind) -> &mut Option<Work> {
        match kind {
            WorkKind::Renewal => &mut self.renewal,
            WorkKind::Login => &mut self.login,
        }
    }

    pub(crate) fn is_working(&self) -> bool {
        [&self.renewal, &self.login].into_iter().flatten().any(Work::is_running)
    }

    /// Returns the tokens of the file. Those in memory come first if the file cannot be read, or has not changed since
    /// they could not be written.
    fn take_newest(&mut self, loaded: Result<Option<Credentials>, StoreError>) -> Option<Arc<Credentials>> {
        self.is_loaded = true;
        match loaded {
            Err(error) => tracing::warn!(%error, "the stored login cannot be used"),
            Ok(found) => {
                let on_file = found.as_ref().map(|found| found.tokens.access_token.clone());
                if !self.is_unsaved || on_file != self.on_file {
                    self.is_unsaved = false;
                    self.credentials = found.map(Arc::new);
                }
                self.on_file = on_file;
            }
        }
        self.credentials.clone()
    }

    /// Keeps new tokens, which are in the file if `is_saved`.
    fn keep(&mut self, credentials: Arc<Credentials>, is_saved: bool) {
        if is_saved {
            self.on_file = Some(credentials.tokens.access_token.clone());
        }
        self.is_unsaved = !is_saved;
        self.is_loaded = true;
        self.credentials = Some(credentials);
    }

    /// Removes tokens that are no longer valid.
    pub(crate) fn forget(&mut self) {
        self.credentials = None;
        self.is_unsaved = false;
    }

    /// Returns the error of the last login, if it has just failed.
    fn recent_failure(&self, now: Instant) -> Option<Arc<AuthError>> {
        let recent = self.failed_login.as_ref();
        let recent = recent.filter(|(at, _)| now.saturating_duration_since(*at) < FAILURE_MEMORY);
        recent.map(|(_, failure)| Arc::clone(failure))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use super::super::AuthError;
    use super::super::server_url::ServerUrl;
    use super::super::store::StoreError;
    use super::super::store::{ClientIdentity, Credentials, Secret, Tokens};
    use super::TokenState;

    fn credentials(access_token: &str) -> Credentials {
        let tokens = Tokens {
            access_token: Secret::new(access_token),
            refresh_token: None,
            scope: None,
            renew_at: None,
            expires_at: None,
        };
        Credentials {
            server: "https://h.example/".into(),
            resource: None,
            issuer: "https://as.example".into(),
            token_endpoint: "https://as.example/token".into(),
            revocation_endpoint: None,
            client: ClientIdentity::configured("id", None),
            tokens,
        }
    }

    fn check(state: &mut TokenState, loaded: Result<Option<&str>, StoreError>, expect: Option<&str>) {
        let found = state.take_newest(loaded.map(|token| token.map(credentials)));
        assert_eq!(found.as_deref(), expect.map(credentials).as_ref());
    }

    #[test]
    fn tokens_that_are_not_stored_come_before_an_older_file() {
        let corrupt = || Err(StoreError::Corrupt(PathBuf::from("x")));
        for before in [Some("old"), None] {
            let mut state = TokenState::default();
            check(&mut state, corrupt(), None);
            check(&mut state, Ok(before), before);
            check(&mut state, corrupt(), before);
            state.keep(Arc::new(credentials("new")), false);
            assert!(state.is_unsaved);
            check(&mut state, Ok(before), Some("new"));
            check(&mut state, corrupt(), Some("new"));
            check(&mut state, Ok(before), Some("new"));
            // Another process has logged in.
            check(&mut state, Ok(Some("other")), Some("other"));
            assert!(!state.is_unsaved);
            state.keep(Arc::new(credentials("newer")), true);
            check(&mut state, Ok(Some("newer")), Some("newer"));
            check(&mut state, Ok(None), None);
        }
    }

    #[test]
    fn a_failed_login_is_remembered_for_a_minute() {
        let server = ServerUrl::parse("https://h.example").expect("a URL");
        let start = Instant::now();
        let mut state = TokenState::default();
        assert!(state.recent_failure(start).is_none());
        state.failed_login = Some((start, Arc::new(AuthError::Stopped(server))));
        assert!(state.recent_failure(start + Duration::from_secs(59)).is_some());
        assert!(state.recent_failure(start + Duration::from_mins(1)).is_none());
    }
}
