//! The tokens of a session in memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::AuthError;
use crate::oauth::credentials::{Credentials, Secret};
use crate::oauth::store::StoreError;

/// Time for which a failed login is not repeated. `portion login` repeats it at any time.
const FAILURE_MEMORY: Duration = Duration::from_mins(1);

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
pub(crate) struct TokenState {
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
    pub(crate) fn take_newest(
        &mut self,
        loaded: Result<Option<Credentials>, StoreError>,
    ) -> Option<Arc<Credentials>> {
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
    pub(crate) fn keep(&mut self, credentials: Arc<Credentials>, is_saved: bool) {
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
    pub(crate) fn recent_failure(&self, now: Instant) -> Option<Arc<AuthError>> {
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
    use super::TokenState;
    use crate::oauth::credentials::{ClientIdentity, Credentials, Secret, Tokens};
    use crate::oauth::server_url::ServerUrl;
    use crate::oauth::store::StoreError;

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
