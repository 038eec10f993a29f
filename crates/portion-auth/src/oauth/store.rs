//! Tokens in the state directory of the user: one file per server, readable by the user alone.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use tempfile::NamedTempFile;
use thiserror::Error;
use tokio::time::sleep;

use crate::oauth::credentials::{Credentials, StoredLogin};
use crate::oauth::http::excerpt;
use crate::oauth::server_url::ServerUrl;

/// Pause between attempts to lock.
const LOCK_INTERVAL: Duration = Duration::from_millis(50);
/// Largest file, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Start of the year 10000, in seconds since 1970. Such times cannot be written as RFC 3339.
const YEAR_10000: u64 = 253_402_300_800;

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
    use super::{LockKind, TokenStore, YEAR_10000, describe};
    use crate::oauth::credentials::{ClientIdentity, Credentials, Secret, Tokens};
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
}
