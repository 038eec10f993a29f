//! Tokens in the state directory of the user: one file per server, readable by the user alone.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use thiserror::Error;
use tokio::time::sleep;

use super::metadata::AuthorizationServer;
use crate::oauth::http::excerpt;
use crate::oauth::server_url::ServerUrl;

/// Pause between attempts to lock.
const LOCK_INTERVAL: Duration = Duration::from_millis(50);

/// Largest file, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Start of the year 10000, in seconds since 1970. Such times cannot be written as RFC 3339.
const YEAR_10000: u64 = 253_402_300_800;

/// A token is renewed this long before it expires, but not before nine tenths of its lifetime.
const RENEWAL_MARGIN: Duration = Duration::from_mins(1);

/// Longest lifetime that is stored: ten years. Servers may name any number.
const MAX_LIFETIME: Duration = Duration::from_hours(10 * 365 * 24);

/// Directory of tokens.
#[derive(Clone, Debug)]
pub struct TokenStore {
    directory: PathBuf,
}

/// Reason that tokens cannot be read or written.
#[derive(Debug, Error)]
pub enum StoreError {
    /// An error of the file system.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// The action that failed.
        action: &'static str,
        /// File or directory.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// A file that is no longer readable.
    #[error("{0} cannot be read; remove it and log in again")]
    Corrupt(PathBuf),
}

/// Purpose of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockKind {
    /// The tokens are read, renewed and written: for seconds.
    Tokens,
    /// A browser shows a login: for minutes. The tokens can be renewed meanwhile.
    Login,
}

/// Keeps a lock of a server from other processes, until it is dropped.
#[derive(Debug)]
pub(crate) struct StoreLock {
    _file: File,
}

impl TokenStore {
    /// Returns the store in this directory, which is created when it is needed.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Reads the tokens of a server.
    pub(crate) fn load(&self, server: &ServerUrl) -> Result<Option<Credentials>, StoreError> {
        let found = read(&self.file(server))?;
        // Guards against two URLs with one file name.
        Ok(found.filter(|credentials| credentials.server == server.as_str()))
    }

    /// Replaces the tokens of a server.
    pub(crate) fn save(&self, server: &ServerUrl, credentials: &Credentials) -> Result<(), StoreError> {
        self.create()?;
        let path = self.file(server);
        let fail = |source| StoreError::Io { action: "write", path: path.clone(), source };
        // Such files are readable by their owner alone.
        let mut file = NamedTempFile::new_in(&self.directory).map_err(fail)?;
        let text = serde_json::to_vec_pretty(credentials).map_err(|error| fail(error.into()))?;
        file.write_all(&text).map_err(fail)?;
        file.as_file().sync_all().map_err(fail)?;
        file.persist(&path).map_err(|error| fail(error.error))?;
        Ok(())
    }

    /// Removes the tokens of a server.
    pub(crate) fn remove(&self, server: &ServerUrl) -> Result<(), StoreError> {
        let path = self.file(server);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(StoreError::Io { action: "remove", path, source })
            }
            _ => Ok(()),
        }
    }

    /// Returns all logins, sorted by server. Files that cannot be read are skipped with a warning.
    ///
    /// # Errors
    /// Returns [`StoreError`] if the directory cannot be read.
    pub fn list(&self) -> Result<Vec<StoredLogin>, StoreError> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => {
                return Err(StoreError::Io { action: "read", path: self.directory.clone(), source });
            }
            Ok(entries) => entries,
        };
        let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
        let paths = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
        let mut logins: Vec<StoredLogin> = paths
            .filter_map(|path| match read(&path) {
                Ok(credentials) => credentials.and_then(describe),
                Err(error) => {
                    tracing::warn!(%error, "a stored login was skipped");
                    None
                }
            })
            .collect();
        logins.sort_by(|a, b| a.server.cmp(&b.server));
        Ok(logins)
    }

    /// Waits until no other process holds this lock of a server.
    pub(crate) async fn lock(&self, server: &ServerUrl, kind: LockKind) -> Result<StoreLock, StoreError> {
        loop {
            if let Some(lock) = self.try_lock(server, kind)? {
                return Ok(lock);
            }
            sleep(LOCK_INTERVAL).await;
        }
    }

    /// Takes this lock of a server, unless another process holds it.
    pub(crate) fn try_lock(
        &self,
        server: &ServerUrl,
        kind: LockKind,
    ) -> Result<Option<StoreLock>, StoreError> {
        self.create()?;
        let extension = match kind {
            LockKind::Tokens => "lock",
            LockKind::Login => "login.lock",
        };
        let path = self.directory.join(format!("{}.{extension}", server.file_stem()));
        let fail = |source| StoreError::Io { action: "lock", path: path.clone(), source };
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(fail)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(StoreLock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(fail(error)),
        }
    }

    pub(crate) fn file(&self, server: &ServerUrl) -> PathBuf {
        self.directory.join(format!("{}.json", server.file_stem()))
    }

    fn create(&self) -> Result<(), StoreError> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        let fail = |source| StoreError::Io { action: "create", path: self.directory.clone(), source };
        builder.create(&self.directory).map_err(fail)
    }
}

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

fn read(path: &Path) -> Result<Option<Credentials>, StoreError> {
    let fail = |source| StoreError::Io { action: "read", path: path.to_owned(), source };
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fail(error)),
        Ok(metadata) if metadata.len() > MAX_FILE_BYTES => return Err(StoreError::Corrupt(path.to_owned())),
        Ok(_) => {}
    }
    let bytes = fs::read(path).map_err(fail)?;
    serde_json::from_slice(&bytes).map(Some).map_err(|_| StoreError::Corrupt(path.to_owned()))
}

fn describe(credentials: Credentials) -> Option<StoredLogin> {
    let tokens = credentials.tokens;
    let expires_at = tokens.expires_at.filter(|at| *at < YEAR_10000);
    Some(StoredLogin {
        server: ServerUrl::parse(&credentials.server).ok()?.to_string(),
        issuer: excerpt(&credentials.issuer),
        scope: tokens.scope.as_deref().map(excerpt),
        expires_at: expires_at.map(|at| UNIX_EPOCH + Duration::from_secs(at)),
        is_renewable: tokens.refresh_token.is_some(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{
        ClientIdentity, Credentials, LockKind, MAX_LIFETIME, Secret, TokenStore, Tokens, YEAR_10000,
        describe, now,
    };
    use crate::oauth::server_url::ServerUrl;

    fn credentials(server: &ServerUrl) -> Credentials {
        let tokens = Tokens {
            access_token: Secret::new("a"),
            refresh_token: Some(Secret::new("r")),
            scope: None,
            renew_at: None,
            expires_at: Some(1),
        };
        Credentials {
            server: server.as_str().to_owned(),
            resource: None,
            issuer: "https://as.example".into(),
            token_endpoint: "https://as.example/token".into(),
            revocation_endpoint: None,
            client: ClientIdentity::configured("id", Some("secret")),
            tokens,
        }
    }

    #[test]
    fn lists_are_readable_whatever_is_stored() {
        let server = ServerUrl::parse("https://h.example/a").expect("a URL");
        let mut stored = credentials(&server);
        stored.issuer = "https://as.example\u{1b}[2J\n".into();
        stored.tokens.scope = Some("a ".repeat(1000));
        for (at, is_shown) in [(YEAR_10000 - 1, true), (YEAR_10000, false), (u64::MAX, false)] {
            stored.tokens.expires_at = Some(at);
            let listed = describe(stored.clone()).expect("a login");
            assert_eq!(listed.expires_at.is_some(), is_shown, "{at}");
            assert_eq!(listed.issuer, "https://as.example [2J ");
            assert_eq!(listed.scope.map(|scope| scope.chars().count()), Some(300));
        }
    }

    #[test]
    fn tokens_are_kept_by_server_and_for_the_user_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = TokenStore::new(folder.path().join("oauth"));
        let [one, other] = ["https://h.example/a?k=v", "https://h.example/b"]
            .map(|url| ServerUrl::parse(url).expect("a URL"));
        assert_eq!(store.load(&one).expect("no file"), None);
        assert!(store.list().expect("no folder").is_empty());
        store.save(&one, &credentials(&one)).expect("saved");
        store.save(&one, &credentials(&one)).expect("saved again");
        assert_eq!(store.load(&one).expect("a file"), Some(credentials(&one)));
        assert_eq!(store.load(&other).expect("no file"), None);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path| std::fs::metadata(path).expect("a file").permissions().mode() & 0o777;
            assert_eq!((mode(store.file(&one)), mode(store.directory.clone())), (0o600, 0o700));
        }
        let listed = store.list().expect("a folder");
        assert_eq!(listed.iter().map(|login| &*login.server).collect::<Vec<_>>(), ["https://h.example/a"]);
        let try_lock = |server, kind| store.try_lock(server, kind).expect("a file");
        let lock = try_lock(&one, LockKind::Tokens).expect("free");
        assert!(try_lock(&one, LockKind::Tokens).is_none());
        assert!(try_lock(&one, LockKind::Login).is_some());
        assert!(try_lock(&other, LockKind::Tokens).is_some());
        drop(lock);
        assert!(try_lock(&one, LockKind::Tokens).is_some());
        store.remove(&one).expect("removed");
        store.remove(&one).expect("nothing to remove");
        assert_eq!(store.load(&one).expect("no file"), None);
    }

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
