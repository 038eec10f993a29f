//! The snapshot store, and the secrets that have to live as long as it does.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use portion_config::Config;
use portion_config::find;
use portion_config::named_file::read_named_text;
use portion_core::cursor::Scope;
use portion_gateway::gateway_parts::random_secret;
use portion_gateway::store::disk::{DiskLimits, DiskStore, load_or_create_secret};
use portion_gateway::store::redis::{RedisSettings, RedisStore, StoreUrl};
use portion_gateway::store::{CachedStore, MemoryStore, SnapshotStore as _, StoreLimits};
use thiserror::Error;

use crate::cli::failure::{Result, StartError, UsageError};
use crate::run::server::ServerIds;

/// Purposes of secrets that are derived from the keys: cursors, and the names of keys in a shared store.
const CURSORS: &str = "cursors";
const STORE_NAMES: &str = "names of a shared store";

/// Longest wait for a shared store that is checked, and the pause between two looks at its state.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
const PROBE_PAUSE: Duration = Duration::from_millis(20);

/// Largest file of keys, in bytes.
const MAX_FILE_BYTES: usize = 1 << 20;
/// Fewest bytes of a key.
const MIN_KEY_BYTES: usize = 32;
/// Advice for making a key.
const MAKE_KEY: &str = "make one by: openssl rand -base64 32";

/// A store, and the secrets of its cursors and scopes.
pub(crate) struct Storage {
    pub(crate) store: CachedStore,
    pub(crate) cursor_secret: [u8; 32],
    pub(crate) earlier_cursor_secrets: Vec<[u8; 32]>,
    pub(crate) principal_secret: [u8; 32],
    /// Reason why the configured files cannot be used, if so.
    pub(crate) problem: Option<String>,
}

impl Storage {
    /// Opens the configured store for these servers. `default_ttl`: time to live unless one is configured. If its files
    /// cannot be used, or a shared store cannot be reached, a warning says why, and snapshots are kept in memory only.
    ///
    /// # Errors
    /// If the keys or the URL are invalid, or the system has no randomness.
    pub(crate) fn open(config: &Config, servers: &ServerIds, default_ttl: Duration) -> Result<Self> {
        let ttl = config.snapshot_ttl().unwrap_or(default_ttl);
        let limits = StoreLimits { memory_bytes: config.snapshot_memory(), ttl };
        let disk_bytes = config.snapshot_disk() as u64;
        let keys = config.cursor_keys().map(CursorKeys::read).transpose();
        let keys = keys.map_err(|error| UsageError::from(error.to_string()))?;
        let opened = match (config.shared_store(), &keys) {
            (Some(url), Some(keys)) => open_shared(url, keys, servers, limits)?,
            _ if config.has_file_store() => {
                let file_limits = DiskLimits { bytes: disk_bytes, ttl: limits.ttl };
                match open_files(&servers.local, file_limits, limits) {
                    Ok(opened) => opened,
                    Err(error) => {
                        tracing::warn!(%error, "results are kept in memory only");
                        Self { problem: Some(error.to_string()), ..Self::in_memory(limits, 0)? }
                    }
                }
            }
            _ => Self::in_memory(limits, disk_bytes)?,
        };
        Ok(match keys.map(|keys| keys.secrets(CURSORS)) {
            Some((cursor_secret, earlier_cursor_secrets)) => {
                Self { cursor_secret, earlier_cursor_secrets, ..opened }
            }
            None => opened,
        })
    }

    /// Keeps snapshots in memory, and in a temporary file if that is not off.
    fn in_memory(limits: StoreLimits, disk_bytes: u64) -> Result<Self> {
        let store = if disk_bytes == 0 {
            CachedStore::from(Arc::new(MemoryStore::new(limits)))
        } else {
            let disk = DiskLimits { bytes: disk_bytes, ttl: limits.ttl };
            CachedStore::with_temporary_file(limits, DiskStore::temporary(disk, None))
        };
        Ok(Self::new(store, random_secret()?, random_secret()?))
    }

    fn new(store: CachedStore, cursor_secret: [u8; 32], principal_secret: [u8; 32]) -> Self {
        let (earlier_cursor_secrets, problem) = (Vec::new(), None);
        Self { store, cursor_secret, earlier_cursor_secrets, principal_secret, problem }
    }
}

/// Returns the errors for which the store of a configuration would not be opened. What a running process has read is not
/// read again: a pipe can be read only once.
pub(crate) fn start_errors(config: &Config, running: Option<&Config>) -> Vec<StartError> {
    let known_keys = running.and_then(Config::cursor_keys);
    let keys = config.cursor_keys().filter(|keys| known_keys != Some(*keys));
    let keys = keys.and_then(|keys| CursorKeys::read(keys).err());
    let known_url = running.and_then(Config::shared_store);
    let url = config.shared_store().filter(|url| known_url != Some(*url));
    let url = url.and_then(|url| StoreUrl::parse(url).and_then(|url| RedisStore::check(&url)).err());
    let keys = keys.map(|error| StartError::at_key(config, "cursorKeys", &error));
    let url = url.map(|error| StartError::at_key(config, "store", &error));
    keys.into_iter().chain(url).collect()
}

/// Opens a store that several instances share.
fn open_shared(url: &str, keys: &CursorKeys, servers: &ServerIds, limits: StoreLimits) -> Result<Storage> {
    let url = StoreUrl::parse(url).map_err(|error| UsageError::from(error.to_string()))?;
    let settings = redis_settings(url, keys, &servers.names, &servers.shared, limits.ttl);
    let store = CachedStore::new(MemoryStore::new(limits), Arc::new(RedisStore::open(settings)?));
    // The same for all instances, whatever keys they have. Cursors and names of keys are signed with the keys.
    let principal_secret = *Scope::from_parts(&[0; 32], [b"principals".as_slice()]).as_bytes();
    Ok(Storage::new(store, keys.secrets(CURSORS).0, principal_secret))
}

/// Returns the settings of a store whose names of keys are hashed with these keys.
fn redis_settings(
    url: StoreUrl,
    keys: &CursorKeys,
    namespace: &str,
    server: &str,
    ttl: Duration,
) -> RedisSettings {
    let (newest, earlier) = keys.secrets(STORE_NAMES);
    RedisSettings {
        url,
        secrets: [vec![newest], earlier].concat(),
        namespace: namespace.to_owned(),
        server: server.to_owned(),
        ttl,
    }
}

/// Connects to a shared store. Returns its URL without credentials, and why it cannot be used, if so.
pub(crate) fn probe_shared_store(config: &Config, url: &str) -> (String, Result<(), String>) {
    let shown = StoreUrl::parse(url).map_or("store".to_owned(), |url| url.to_string());
    let probe = || -> Result<()> {
        let keys = config.cursor_keys().ok_or("a shared store needs cursorKeys")?;
        let url = StoreUrl::parse(url)?;
        let keys = CursorKeys::read(keys)?;
        let settings = redis_settings(url, &keys, "doctor", "doctor", Duration::from_secs(1));
        let store = RedisStore::open(settings)?;
        let end = Instant::now() + PROBE_TIMEOUT;
        while !store.status().is_available {
            if Instant::now() >= end {
                return Err(store.status().problem.unwrap_or_else(|| "it does not answer".to_owned()).into());
            }
            std::thread::sleep(PROBE_PAUSE);
        }
        Ok(())
    };
    (shown, probe().map_err(|error| error.to_string()))
}

/// Keys, the newest first. There is at least one.
struct CursorKeys {
    newest: [u8; 32],
    earlier: Vec<[u8; 32]>,
}

/// The error for keys that cannot be used. It never contains a key.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum CursorKeyError {
    #[error("the file of cursorKeys cannot be read: {path}: {reason}")]
    Unreadable { path: String, reason: String },
    #[error("cursorKeys has no key; {MAKE_KEY}")]
    Empty,
    #[error("line {line} of cursorKeys is not a key in base64; {MAKE_KEY}")]
    NotBase64 { line: usize },
    #[error(
        "line {line} of cursorKeys has {bytes} bytes, and a key has at least {MIN_KEY_BYTES}; {MAKE_KEY}"
    )]
    TooShort { line: usize, bytes: usize },
}

impl CursorKeys {
    /// Reads keys from a file of this name, or from the text itself if there is no such file. The text may have
    /// commas between keys.
    ///
    /// # Errors
    /// If there is no key, or a line is not one.
    fn read(text: &str) -> Result<Self, CursorKeyError> {
        let path = Path::new(text.trim());
        match read_named_text(path, MAX_FILE_BYTES) {
            Ok(content) => {
                warn_if_public(path);
                Self::parse(&content)
            }
            Err(error) => Self::parse(&text.replace(',', "\n")).map_err(|_| CursorKeyError::Unreadable {
                // It may be a mistyped key.
                path: if text.contains(['/', '.', '\\']) {
                    path.display().to_string()
                } else {
                    "…".to_owned()
                },
                reason: error.to_string(),
            }),
        }
    }

    /// Parses a key on each line. Empty lines and those that begin with `#` are ignored.
    fn parse(text: &str) -> Result<Self, CursorKeyError> {
        let lines = (1..).zip(text.lines().map(str::trim));
        let keys = lines.filter(|(_, key)| !key.is_empty() && !key.starts_with('#'));
        let keys = keys.map(|(line, key)| parse_key(line, key)).collect::<Result<Vec<_>, _>>()?;
        let (newest, earlier) = keys.split_first().ok_or(CursorKeyError::Empty)?;
        Ok(Self { newest: *newest, earlier: earlier.to_vec() })
    }

    /// Returns a secret for a purpose from the newest key, and those from the earlier ones.
    fn secrets(&self, purpose: &str) -> ([u8; 32], Vec<[u8; 32]>) {
        let derive = |key: &[u8; 32]| *Scope::from_parts(key, [purpose.as_bytes()]).as_bytes();
        (derive(&self.newest), self.earlier.iter().map(derive).collect())
    }
}

fn open_files(namespace: &str, file_limits: DiskLimits, limits: StoreLimits) -> io::Result<Storage> {
    let root: PathBuf = find::snapshot_dir()
        .ok_or_else(|| io::Error::other("there is no home directory for the files of store file"))?;
    let files = DiskStore::open(&root, namespace, file_limits)?;
    let secret = |purpose: &str| load_or_create_secret(&root, &format!("{purpose} of {namespace}"));
    let store = CachedStore::new(MemoryStore::new(limits), Arc::new(files));
    Ok(Storage::new(store, secret("cursors")?, secret("principals")?))
}

/// Decodes a key of any length, and hashes it.
fn parse_key(line: usize, key: &str) -> Result<[u8; 32], CursorKeyError> {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let alphabet = if key.contains(['-', '_']) { &URL_SAFE } else { &STANDARD };
    let key = GeneralPurpose::new(alphabet, config).decode(key);
    let key = key.map_err(|_| CursorKeyError::NotBase64 { line })?;
    if key.len() < MIN_KEY_BYTES {
        return Err(CursorKeyError::TooShort { line, bytes: key.len() });
    }
    Ok(*Scope::from_parts(&[0; 32], [b"cursor key".as_slice(), &key]).as_bytes())
}

/// Warns if every user of this machine can read the keys.
fn warn_if_public(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o004 != 0) {
            tracing::warn!(file = %path.display(), "every user can read the keys of cursors: run chmod 600");
        }
    }
    #[cfg(not(unix))]
    let _ = path;
}

#[cfg(test)]
mod tests {
    use super::{CursorKeyError, CursorKeys};

    const NEW: &str = "bmV3IG5ldyBuZXcgbmV3IG5ldyBuZXcgbmV3IG5ldyE=";
    const OLD: &str = "b2xkIG9sZCBvbGQgb2xkIG9sZCBvbGQgb2xkIG9sZCE";

    fn error(text: &str) -> CursorKeyError {
        CursorKeys::read(text).err().expect("it is refused")
    }

    #[test]
    fn keys_come_from_a_file_or_the_text() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), format!("# keys\n{NEW}\r\n\n{OLD}\n")).expect("it can be written");
        let from_file = CursorKeys::read(&file.path().display().to_string()).expect("two keys");
        let from_text = CursorKeys::read(&format!("{NEW},{OLD}")).expect("two keys");
        assert_eq!(from_file.secrets("cursors"), from_text.secrets("cursors"));
        assert_ne!(from_file.secrets("cursors"), from_text.secrets("names"));
        let old = CursorKeys::read(OLD).expect("a key");
        assert_eq!(from_file.secrets("cursors").1, [old.secrets("cursors").0]);
    }

    #[test]
    fn other_texts_are_refused_without_their_content() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.path().display().to_string();
        let check = |content: &str, expect: CursorKeyError| {
            std::fs::write(file.path(), content).expect("it can be written");
            assert_eq!(error(&path), expect);
        };
        check("", CursorKeyError::Empty);
        check("# none\n", CursorKeyError::Empty);
        check(&format!("{NEW}\nsecret!\n"), CursorKeyError::NotBase64 { line: 2 });
        check("c2hvcnQ=\n", CursorKeyError::TooShort { line: 1, bytes: 5 });
        assert!(error("/no/such/file.keys").to_string().contains("/no/such/file.keys"));
        assert!(!error("c2hvcnQ").to_string().contains("c2hvcnQ"));
    }
}
