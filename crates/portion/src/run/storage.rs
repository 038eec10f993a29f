//! The snapshot store, and the secrets that have to live as long as it does.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_config::{Config, find};
use portion_core::cursor::Scope;
use portion_gateway::gateway_parts::random_secret;
use portion_gateway::store::disk::{DiskLimits, DiskStore, load_or_create_secret};
use portion_gateway::store::redis::{RedisSettings, RedisStore, StoreUrl};
use portion_gateway::store::{CachedStore, MemoryStore, SnapshotStore as _, StoreLimits};

use crate::cli::failure::UsageError;
use crate::run::cursor_keys::CursorKeys;
use crate::run::server::ServerIds;
use crate::run::start_error::StartError;

/// Purposes of secrets that are derived from the keys: cursors, and the names of keys in a shared store.
const CURSORS: &str = "cursors";
const STORE_NAMES: &str = "names of a shared store";

/// Longest wait for a shared store that is checked, and the pause between two looks at its state.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
const PROBE_PAUSE: Duration = Duration::from_millis(20);

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
    pub(crate) fn open(
        config: &Config,
        servers: &ServerIds,
        default_ttl: Duration,
    ) -> Result<Self, Box<dyn Error>> {
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
    fn in_memory(limits: StoreLimits, disk_bytes: u64) -> Result<Self, Box<dyn Error>> {
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
fn open_shared(
    url: &str,
    keys: &CursorKeys,
    servers: &ServerIds,
    limits: StoreLimits,
) -> Result<Storage, Box<dyn Error>> {
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
    let probe = || -> Result<(), Box<dyn Error>> {
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

fn open_files(namespace: &str, file_limits: DiskLimits, limits: StoreLimits) -> io::Result<Storage> {
    let root: PathBuf = find::snapshot_dir()
        .ok_or_else(|| io::Error::other("there is no home directory for the files of store file"))?;
    let files = DiskStore::open(&root, namespace, file_limits)?;
    let secret = |purpose: &str| load_or_create_secret(&root, &format!("{purpose} of {namespace}"));
    let store = CachedStore::new(MemoryStore::new(limits), Arc::new(files));
    Ok(Storage::new(store, secret("cursors")?, secret("principals")?))
}
