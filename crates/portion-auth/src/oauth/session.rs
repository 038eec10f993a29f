//! The access token of one server: read, renewed, or obtained by a login, once for all requests that need it.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tokio::sync::watch;
use tokio::time::timeout;

use super::discovery::Challenge;
use super::store::{Credentials, LockKind, Secret, StoreError, TokenStore};
use super::token_work::{Need, Outcome, TokenWork, Work, WorkKind};
use super::{AuthError, SessionOptions};
use crate::oauth::server_url::ServerUrl;
use crate::oauth::token_request::{TokenError, revoke};

/// Time for another process to release a lock, before a login or logout of the user gives up.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest time that a request waits for the renewal of a token that is still valid.
const EARLY_RENEWAL_TIMEOUT: Duration = Duration::from_secs(2);

/// Access to one server.
#[derive(Clone)]
pub struct OAuthSession(Arc<TokenWork>);

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
        Self(Arc::new(TokenWork::new(server, store, options)))
    }

    /// Returns true while a token is being obtained.
    pub fn is_pending(&self) -> bool {
        self.0.state().is_working()
    }

    /// Returns the access token, renewed if it expires soon; `None` if there is none.
    pub async fn token(&self) -> Option<Secret> {
        let stored = self.0.current()?;
        if !stored.tokens.is_due() || stored.tokens.refresh_token.is_none() {
            return Some(stored.tokens.access_token.clone());
        }
        let rejected = Some(stored.tokens.access_token.clone());
        let mut limit = self.0.options.request_timeout;
        if !stored.tokens.is_expired() {
            limit = limit.min(EARLY_RENEWAL_TIMEOUT);
        }
        match self.obtain(Need { rejected, may_refresh: true, ..Need::default() }, limit).await {
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
        self.obtain(need, self.0.options.request_timeout)
            .await
            .map(|credentials| Some(credentials.tokens.access_token.clone()))
    }

    /// Logs in, also if there is a token.
    ///
    /// # Errors
    /// Returns [`AuthError`] if that fails.
    pub async fn log_in(&self) -> Result<(), AuthError> {
        let work = &self.0;
        let lock = timeout(LOCK_TIMEOUT, work.store.lock(&work.server, LockKind::Login)).await;
        let _login = lock.map_err(|_| AuthError::Locked(work.server.clone()))??;
        let challenge = work.probe().await?;
        let credentials = work.log_in(challenge.as_ref(), None).await?;
        let _tokens = work.store.lock(&work.server, LockKind::Tokens).await?;
        Ok(work.store.save(&work.server, &credentials)?)
    }

    /// Removes the tokens and revokes them at the server, if it offers that.
    ///
    /// # Errors
    /// Returns [`AuthError`] if they cannot be removed.
    pub async fn log_out(&self) -> Result<LogoutOutcome, AuthError> {
        let work = &self.0;
        let lock = timeout(LOCK_TIMEOUT, work.store.lock(&work.server, LockKind::Tokens)).await;
        let _tokens = lock.map_err(|_| AuthError::Busy(work.server.clone()))??;
        let stored = match work.store.load(&work.server) {
            Err(StoreError::Corrupt(_)) => None,
            loaded => loaded?,
        };
        work.store.remove(&work.server)?;
        let Some(credentials) = stored else { return Ok(LogoutOutcome::NotLoggedIn) };
        Ok(match revoke(&work.http, &credentials, work.server.is_loopback()).await {
            Ok(is_revoked) => LogoutOutcome::Removed { is_revoked },
            Err(error) => LogoutOutcome::NotRevoked(error),
        })
    }

    /// Renews the token, or logs in if that does not help and is allowed.
    async fn obtain(&self, need: Need, limit: Duration) -> Result<Arc<Credentials>, Arc<AuthError>> {
        let login_required = || Arc::new(AuthError::LoginRequired(self.0.server.clone()));
        let obtaining = async {
            if let Some(renewed) = self.run(WorkKind::Renewal, &need).await? {
                return Ok(renewed);
            }
            if !need.may_log_in {
                return Err(login_required());
            }
            self.run(WorkKind::Login, &need).await?.ok_or_else(login_required)
        };
        timeout(limit, obtaining)
            .await
            .unwrap_or_else(|_| Err(Arc::new(AuthError::Waiting(self.0.server.clone()))))
    }

    /// Waits for the work of this kind that runs, or starts it, until it has done what this request needs.
    async fn run(&self, kind: WorkKind, need: &Need) -> Outcome {
        loop {
            let (mut work, is_own) = self.join_or_start(kind, need);
            let outcome = match work.outcome.wait_for(Option::is_some).await {
                Ok(outcome) => outcome.clone(),
                Err(_) => None,
            };
            let outcome = outcome.unwrap_or_else(|| Err(Arc::new(AuthError::Stopped(self.0.server.clone()))));
            let is_enough = match &outcome {
                Ok(Some(found)) => need.rejected.as_ref() != Some(&found.tokens.access_token),
                // A renewal for another request may have tried less than this one needs.
                Ok(None) | Err(_) => kind == WorkKind::Login || work.may_refresh || !need.may_refresh,
            };
            if is_own || is_enough {
                return outcome;
            }
        }
    }

    /// Returns the work to wait for, and true if it was started for this need.
    fn join_or_start(&self, kind: WorkKind, need: &Need) -> (Work, bool) {
        let mut state = self.0.state();
        let slot = state.slot(kind);
        if let Some(work) = slot.as_ref().filter(|work| work.is_running()) {
            return (work.clone(), false);
        }
        let (sender, outcome) = watch::channel(None);
        let work = Work { outcome, may_refresh: need.may_refresh };
        *slot = Some(work.clone());
        drop(state);
        let (tokens, need) = (Arc::clone(&self.0), need.clone());
        // A task of its own: it must not end with the request that started it.
        tokio::spawn(async move {
            let outcome = tokens.run(kind, &need).await;
            sender.send_replace(Some(outcome));
        });
        (work, true)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::convert::Infallible;
    use std::io::Write as _;
    use std::net::TcpStream;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use bytes::Bytes;
    use http::{Request, Response, StatusCode};
    use http_body_util::{BodyExt as _, Full};
    use hyper::body::Incoming;
    use hyper::server::conn::http1;
    use hyper::service::service_fn;
    use hyper_util::rt::TokioIo;
    use oauth2::url::{Url, form_urlencoded};
    use serde_json::json;
    use tempfile::TempDir;
    use tokio::net::TcpListener;

    use super::super::AuthError;
    use super::super::discovery::Challenge;
    use super::super::store::{ClientIdentity, Credentials, Secret, Tokens, now};
    use super::{OAuthSession, SessionOptions};
    use crate::oauth::server_url::ServerUrl;
    use crate::oauth::store::{LockKind, TokenStore};

    /// An authorization server whose refresh tokens are good once: `r0` is followed by `r1`. Tokens expire at once.
    struct Fixture {
        origin: String,
        server: ServerUrl,
        store: TokenStore,
        _folder: TempDir,
    }

    impl Fixture {
        async fn start() -> Self {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
            let origin = format!("http://{}", listener.local_addr().expect("an address"));
            let refreshes = Arc::new(AtomicUsize::new(0));
            let base = origin.clone();
            tokio::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let (origin, refreshes) = (base.clone(), Arc::clone(&refreshes));
                    let service =
                        service_fn(move |request| respond(request, origin.clone(), Arc::clone(&refreshes)));
                    tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
                }
            });
            let folder = tempfile::tempdir().expect("a folder");
            let store = TokenStore::new(folder.path().join("oauth"));
            let server = ServerUrl::parse(&format!("{origin}/mcp")).expect("a URL");
            Self { origin, server, store, _folder: folder }
        }

        /// Stores tokens that are due, and expire at this time.
        fn store_tokens(&self, expires_at: u64) {
            let tokens = Tokens {
                access_token: Secret::new("a0"),
                refresh_token: Some(Secret::new("r0")),
                scope: None,
                renew_at: Some(1),
                expires_at: Some(expires_at),
            };
            let credentials = Credentials {
                server: self.server.as_str().to_owned(),
                resource: None,
                issuer: self.origin.clone(),
                token_endpoint: format!("{}/token", self.origin),
                revocation_endpoint: None,
                client: ClientIdentity::configured("id", None),
                tokens,
            };
            self.store.save(&self.server, &credentials).expect("saved");
        }

        fn session(&self, options: SessionOptions) -> OAuthSession {
            let request_timeout = Duration::from_hours(1);
            let options = SessionOptions { login_timeout: request_timeout, request_timeout, ..options };
            OAuthSession::new(self.server.clone(), self.store.clone(), options)
        }
    }

    async fn respond(
        request: Request<Incoming>,
        origin: String,
        refreshes: Arc<AtomicUsize>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        let path = request.uri().path().to_owned();
        let body = request.into_body().collect().await.expect("a body").to_bytes();
        let (status, document) = match path.as_str() {
            "/.well-known/oauth-authorization-server" => (
                StatusCode::OK,
                json!({
                    "issuer": origin,
                    "authorization_endpoint": format!("{origin}/authorize"),
                    "token_endpoint": format!("{origin}/token"),
                    "registration_endpoint": format!("{origin}/register"),
                    "code_challenge_methods_supported": ["S256"],
                }),
            ),
            "/register" => (StatusCode::CREATED, json!({"client_id": "id"})),
            "/token" => {
                let form: HashMap<_, _> = form_urlencoded::parse(&body).into_owned().collect();
                let count = refreshes.load(Ordering::SeqCst);
                if form.get("refresh_token") == Some(&format!("r{count}")) {
                    let next = refreshes.fetch_add(1, Ordering::SeqCst) + 1;
                    let (access, refresh) = (format!("a{next}"), format!("r{next}"));
                    let document = json!({"access_token": access, "refresh_token": refresh, "token_type": "Bearer",
                        "expires_in": 0});
                    (StatusCode::OK, document)
                } else {
                    (StatusCode::BAD_REQUEST, json!({"error": "invalid_grant"}))
                }
            }
            _ => (StatusCode::NOT_FOUND, json!({})),
        };
        let mut response = Response::new(Full::from(document.to_string()));
        *response.status_mut() = status;
        response.headers_mut().insert("content-type", http::HeaderValue::from_static("application/json"));
        Ok(response)
    }

    fn refuse(url: &str) {
        let url = Url::parse(url).expect("a URL");
        let query: HashMap<_, _> = url.query_pairs().into_owned().collect();
        let redirect = Url::parse(&query["redirect_uri"]).expect("a URL");
        let address = ("127.0.0.1", redirect.port().expect("a port"));
        let mut stream = TcpStream::connect(address).expect("a listener");
        let target = format!("{}?error=access_denied&state={}", redirect.path(), query["state"]);
        let host = format!("{}:{}", address.0, address.1);
        write!(stream, "GET {target} HTTP/1.1\r\nhost: {host}\r\n\r\n").expect("sent");
        std::mem::forget(stream);
    }

    async fn token(session: &OAuthSession) -> Option<String> {
        session.token().await.map(|token| token.expose().to_owned())
    }

    #[tokio::test]
    async fn a_pending_login_does_not_block_a_renewal() {
        let fixture = Fixture::start().await;
        fixture.store_tokens(1);
        let login = fixture.store.try_lock(&fixture.server, LockKind::Login).expect("a file").expect("free");
        assert_eq!(token(&fixture.session(SessionOptions::default())).await.as_deref(), Some("a1"));
        drop(login);
    }

    #[tokio::test]
    async fn a_token_that_is_still_valid_is_used_while_its_renewal_hangs() {
        let fixture = Fixture::start().await;
        fixture.store_tokens(now() + 3600);
        let tokens =
            fixture.store.try_lock(&fixture.server, LockKind::Tokens).expect("a file").expect("free");
        assert_eq!(token(&fixture.session(SessionOptions::default())).await.as_deref(), Some("a0"));
        drop(tokens);
    }

    #[tokio::test]
    async fn tokens_that_cannot_be_stored_are_renewed_from_memory() {
        let fixture = Fixture::start().await;
        fixture.store_tokens(1);
        let session = fixture.session(SessionOptions::default());
        assert_eq!(token(&session).await.as_deref(), Some("a1"));
        // A folder in place of the file can be neither read nor replaced.
        let file = fixture.store.file(&fixture.server);
        std::fs::remove_file(&file).expect("removed");
        std::fs::create_dir(&file).expect("a folder");
        assert_eq!(token(&session).await.as_deref(), Some("a2"));
        assert_eq!(token(&session).await.as_deref(), Some("a3"));
        std::fs::remove_dir(&file).expect("removed");
        fixture.store_tokens(1);
        assert_eq!(token(&session).await, None, "the file is newer, and its refresh token is used up");
    }

    #[tokio::test]
    async fn a_refused_login_is_not_repeated_at_once() {
        let fixture = Fixture::start().await;
        let shown = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&shown);
        let show = move |url: &str| {
            counter.fetch_add(1, Ordering::SeqCst);
            refuse(url);
        };
        let session =
            fixture.session(SessionOptions { show: Some(Arc::new(show)), ..SessionOptions::default() });
        for _ in 0..3 {
            let renewed = session.renew(None, StatusCode::UNAUTHORIZED, Challenge::default(), false).await;
            let error = renewed.expect_err("a refusal");
            assert!(matches!(&*error, AuthError::LoginFailed { .. }), "{error}");
        }
        assert_eq!(shown.load(Ordering::SeqCst), 1);
        session.log_in().await.expect_err("a refusal");
        assert_eq!(shown.load(Ordering::SeqCst), 2, "the user asked for a login");
    }
}
