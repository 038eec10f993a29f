//! The store of payloads, and the secrets that have to live as long as it does.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use portion_config::{Config, user_dirs};
use portion_gateway::gateway_parts::random_secret;
use portion_gateway::store::file::{FileStore, FileStoreLimits, load_or_create_secret};
use portion_gateway::store::{CachedStore, MemoryStore, StoreLimits};

/// A store, and the secrets of its cursors and scopes.
pub(crate) struct Storage {
    pub(crate) store: CachedStore,
    pub(crate) cursor_secret: [u8; 32],
    pub(crate) principal_secret: [u8; 32],
}

impl Storage {
    /// Opens the configured store for the servers with this namespace. If its files cannot be used, a warning
    /// says why, and payloads are kept in memory only.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub(crate) fn open(config: &Config, namespace: &str) -> Result<Self, Box<dyn Error>> {
        let limits = StoreLimits { memory_bytes: config.snapshot_memory(), ttl: config.snapshot_ttl() };
        let memory = MemoryStore::new(limits);
        let file_limits = FileStoreLimits { bytes: config.snapshot_disk() as u64, ttl: limits.ttl };
        if config.has_file_store() {
            match open_files(namespace, file_limits) {
                Ok((files, cursor_secret, principal_secret)) => {
                    let store = CachedStore::new(memory, Arc::new(files));
                    return Ok(Self { store, cursor_secret, principal_secret });
                }
                Err(error) => tracing::warn!(%error, "results are kept in memory only"),
            }
        }
        let store = CachedStore::from(Arc::new(memory));
        Ok(Self { store, cursor_secret: random_secret()?, principal_secret: random_secret()? })
    }
}

fn open_files(namespace: &str, limits: FileStoreLimits) -> io::Result<(FileStore, [u8; 32], [u8; 32])> {
    let root: PathBuf = user_dirs::snapshot_dir()
        .ok_or_else(|| io::Error::other("there is no home directory for the files of store file"))?;
    let files = FileStore::open(&root, namespace, limits)?;
    let secret = |purpose: &str| load_or_create_secret(&root, &format!("{purpose} of {namespace}"));
    Ok((files, secret("cursors")?, secret("principals")?))
}
