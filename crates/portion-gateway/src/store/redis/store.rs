//! The operations of the store.

use std::sync::Arc;
use std::time::Duration;

use portion_core::cursor::{Scope, SnapshotId, ViewId};
use thiserror::Error;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::connection::Connector;
use super::failure::Failure;
use super::keeper::Keeper;
use super::names::KeyNames;
use super::operations::{Shared, use_time};
use super::url::{StoreUrl, UrlError};
use crate::call::ReuseKey;
use crate::store::{
    BackendStatus, FieldName, Fields, OwnerId, ReadFuture, SnapshotKey, SnapshotStore, StoreFuture,
    StoreReadError, StoreWriteError, WriteFuture,
};
/// Longest time for writing a snapshot.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest time for reading a snapshot.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// Settings of a store.
#[derive(Clone, Debug)]
pub struct RedisSettings {
    /// Its location.
    pub url: StoreUrl,
    /// Secrets of the names of keys, the one for new keys first. Keys under the others are still found.
    pub secrets: Vec<[u8; 32]>,
    /// Prefix of all keys. Instances with the same prefix share snapshots.
    pub namespace: String,
    /// Identity of the servers: equal calls are answered from snapshots of the same servers only.
    pub server: String,
    /// Time to live after the last use: `snapshotTtl`.
    pub ttl: Duration,
}

/// The error for a store that cannot be opened. A store that cannot be reached is no error.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The URL, or a file that it names, is invalid.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The thread of the connection cannot start.
    #[error("the thread of the snapshot store cannot start: {0}")]
    Thread(#[from] std::io::Error),
}

/// Stores snapshots in Redis or Valkey.
pub struct RedisStore {
    shared: Arc<Shared>,
    /// Runs the connection. `None` only while it is dropped.
    runtime: Option<Runtime>,
}

impl RedisStore {
    /// Checks that a store could be opened, without connecting to it.
    ///
    /// # Errors
    /// If the client refuses the URL, or the file of its certificates cannot be read.
    pub fn check(url: &StoreUrl) -> Result<(), UrlError> {
        Connector::new(url, super::RESPONSE_TIMEOUT).map(drop)
    }

    /// Opens a store, and begins to connect.
    ///
    /// # Errors
    /// If the settings are invalid. A store that does not answer is no error.
    pub fn open(settings: RedisSettings) -> Result<Self, OpenError> {
        let RedisSettings { url, secrets, namespace, server, ttl } = settings;
        let connector = Connector::new(&url, super::RESPONSE_TIMEOUT)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("portion-redis")
            .enable_all()
            .build()?;
        let keeper = Arc::new(Keeper::new(url.to_string(), format!("{}:probe", url.prefix), ttl));
        runtime.spawn(Arc::clone(&keeper).keep(connector));
        let names =
            secrets.iter().map(|secret| KeyNames::new(*secret, &url.prefix, &namespace, &server)).collect();
        Ok(Self { shared: Arc::new(Shared { keeper, names, ttl }), runtime: Some(runtime) })
    }

    /// Runs an operation on the thread of the connection, so that the caller may run on any other.
    fn spawn<T, F>(&self, lost: impl FnOnce() -> T + Send + 'static, operation: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let task = self.runtime.as_ref().map(|runtime| runtime.spawn(operation));
        Box::pin(async move {
            match task {
                Some(task) => task.await.unwrap_or_else(|_| lost()),
                None => lost(),
            }
        })
    }
}

impl Drop for RedisStore {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl SnapshotStore for RedisStore {
    fn put(&self, key: SnapshotKey, fields: Fields) -> WriteFuture<'_> {
        let shared = Arc::clone(&self.shared);
        let bytes = fields.iter().map(|(_, field)| field.len()).sum();
        self.spawn(write_ended, async move {
            let Some(names) = shared.names.first().map(|names| names.snapshot(key)) else { return Ok(()) };
            let draft = names.draft(use_time());
            let written = timeout(WRITE_TIMEOUT, shared.put(&names, &draft, fields)).await;
            let written = written.unwrap_or(Err(Failure::TimedOut));
            if let Err(failure) = &written {
                shared.give_up(&names, &draft, bytes, Some(failure)).await;
            }
            Ok(written?)
        })
    }

    fn claim(&self, key: SnapshotKey, owner: OwnerId) -> WriteFuture<'_, bool> {
        let shared = Arc::clone(&self.shared);
        self.spawn(write_ended, async move { Ok(shared.claim(key, owner).await?) })
    }

    fn release(&self, key: SnapshotKey, owner: OwnerId) -> StoreFuture<'_, ()> {
        let shared = Arc::clone(&self.shared);
        self.spawn(|| {}, async move {
            // Otherwise it expires.
            let _ = shared.release(key, owner).await;
        })
    }

    fn replace(&self, key: SnapshotKey, owner: OwnerId, fields: Fields) -> WriteFuture<'_> {
        let shared = Arc::clone(&self.shared);
        self.spawn(write_ended, async move {
            let replaced = timeout(WRITE_TIMEOUT, shared.replace(key, owner, fields)).await;
            if replaced.unwrap_or(Err(Failure::TimedOut))? { Ok(()) } else { Err(StoreWriteError::Claimed) }
        })
    }

    fn put_view(&self, key: SnapshotKey, view: ViewId, bytes: Vec<u8>) -> WriteFuture<'_> {
        let shared = Arc::clone(&self.shared);
        self.spawn(write_ended, async move {
            if shared.put_view(key, view, &bytes).await? {
                Ok(())
            } else {
                Err(StoreWriteError::SnapshotGone)
            }
        })
    }

    fn get<'a>(&'a self, key: SnapshotKey, names: &'a [FieldName]) -> ReadFuture<'a, Vec<Option<Vec<u8>>>> {
        let (shared, names) = (Arc::clone(&self.shared), names.to_vec());
        self.spawn(read_ended, async move {
            let read = timeout(READ_TIMEOUT, shared.get(key, &names)).await;
            read.unwrap_or_else(|_| Err(Failure::TimedOut.into()))
        })
    }

    fn touch(&self, key: SnapshotKey) -> ReadFuture<'_, ()> {
        let shared = Arc::clone(&self.shared);
        self.spawn(read_ended, async move { shared.touch(key).await })
    }

    fn set_reusable(&self, scope: Scope, reuse: ReuseKey, id: Option<SnapshotId>) -> WriteFuture<'_> {
        let shared = Arc::clone(&self.shared);
        self.spawn(write_ended, async move { Ok(shared.set_reusable(scope, reuse, id).await?) })
    }

    fn reusable(&self, scope: Scope, reuse: ReuseKey) -> ReadFuture<'_, Option<SnapshotId>> {
        let shared = Arc::clone(&self.shared);
        self.spawn(read_ended, async move { Ok(shared.reusable(scope, reuse).await?) })
    }

    fn status(&self) -> BackendStatus {
        self.shared.keeper.status()
    }
}

fn write_ended<T>() -> Result<T, StoreWriteError> {
    Err(StoreWriteError::Unreachable("its thread has ended".into()))
}

fn read_ended<T>() -> Result<T, StoreReadError> {
    Err(StoreReadError::Unreachable("its thread has ended".into()))
}

impl From<Failure> for StoreWriteError {
    fn from(failure: Failure) -> Self {
        Self::Unreachable(failure.to_string())
    }
}

impl From<Failure> for StoreReadError {
    fn from(failure: Failure) -> Self {
        Self::Unreachable(failure.to_string())
    }
}
