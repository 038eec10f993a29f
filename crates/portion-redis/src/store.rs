//! The operations of the store.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use portion_core::cursor::{Scope, SnapshotId, ViewId};
use portion_gateway::call::ReuseKey;
use portion_gateway::store::{
    BackendStatus, FieldName, SnapshotKey, SnapshotStore, StoreFuture, StoreReadError, StoreWriteError,
};
use redis::{Pipeline, Value, pipe};
use thiserror::Error;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{sleep, timeout};

use crate::connection::Connector;
use crate::failure::Failure;
use crate::keeper::Keeper;
use crate::names::{KeyNames, SnapshotNames};
use crate::url::{StoreUrl, UrlError};

/// Largest number of views of a snapshot that were added later.
const MAX_VIEWS: i64 = 64;
/// Time for which the header, and the id for equal calls, outlive a snapshot.
const HEADER_TTL: Duration = Duration::from_hours(1);
/// Bytes of fields that are written in one transaction, unless a single field is larger.
const WRITE_BATCH_BYTES: usize = 1 << 20;
/// Fields that are read in one round trip: 2 MiB of blocks.
const READ_BATCH_FIELDS: usize = 32;
/// Longest time for writing a snapshot.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest time for reading a snapshot.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// Wait for a snapshot that another instance is still writing: it writes after its reply.
const MAX_WRITE_DELAY: Duration = Duration::from_secs(1);
/// The same for a view of a snapshot that is there. Views that are not used are removed, so this is shorter.
const MAX_VIEW_DELAY: Duration = Duration::from_millis(300);
/// Time between attempts to read what another instance is writing.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Values of fields, in their order.
type FieldValues = Vec<Option<Vec<u8>>>;

/// Settings of a store.
#[derive(Clone, Debug)]
pub struct RedisSettings {
    /// Its location.
    pub url: StoreUrl,
    /// Secrets of the names of keys, the one for new keys first. Keys under the others are still found.
    pub secrets: Vec<[u8; 32]>,
    /// Name of what shares snapshots, the same for all instances.
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

struct Shared {
    keeper: Arc<Keeper>,
    /// Names for new keys first.
    names: Vec<KeyNames>,
    ttl: Duration,
}

impl RedisStore {
    /// Opens a store, and begins to connect.
    ///
    /// # Errors
    /// If the settings are invalid. A store that does not answer is no error.
    pub fn open(settings: RedisSettings) -> Result<Self, OpenError> {
        let RedisSettings { url, secrets, namespace, server, ttl } = settings;
        // The client needs a default. An error says that there is one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let connector = Connector::new(&url, crate::RESPONSE_TIMEOUT)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("portion-redis")
            .enable_all()
            .build()?;
        let keeper = Arc::new(Keeper::new(url.to_string(), format!("{}:probe", url.prefix)));
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
    fn put(
        &self,
        key: SnapshotKey,
        fields: Vec<(FieldName, Vec<u8>)>,
    ) -> StoreFuture<'_, Result<(), StoreWriteError>> {
        let shared = Arc::clone(&self.shared);
        self.spawn(write_ended, async move {
            let Some(names) = shared.names.first().map(|names| names.snapshot(key)) else { return Ok(()) };
            let draft = names.draft(use_time());
            let written = timeout(WRITE_TIMEOUT, shared.put(&names, &draft, fields)).await;
            let written = written.unwrap_or(Err(Failure::TimedOut));
            if written.is_err() {
                shared.remove_draft(&draft).await;
            }
            Ok(written?)
        })
    }

    fn put_view(
        &self,
        key: SnapshotKey,
        view: ViewId,
        bytes: Vec<u8>,
    ) -> StoreFuture<'_, Result<(), StoreWriteError>> {
        let shared = Arc::clone(&self.shared);
        self.spawn(write_ended, async move {
            if shared.put_view(key, view, &bytes).await? {
                Ok(())
            } else {
                Err(StoreWriteError::SnapshotGone)
            }
        })
    }

    fn get<'a>(
        &'a self,
        key: SnapshotKey,
        names: &'a [FieldName],
    ) -> StoreFuture<'a, Result<Vec<Option<Vec<u8>>>, StoreReadError>> {
        let (shared, names) = (Arc::clone(&self.shared), names.to_vec());
        self.spawn(read_ended, async move {
            let read = timeout(READ_TIMEOUT, shared.get(key, &names)).await;
            read.unwrap_or_else(|_| Err(Failure::TimedOut.into()))
        })
    }

    fn touch(&self, key: SnapshotKey) -> StoreFuture<'_, Result<(), StoreReadError>> {
        let shared = Arc::clone(&self.shared);
        self.spawn(read_ended, async move { shared.touch(key).await })
    }

    fn set_reusable(
        &self,
        scope: Scope,
        reuse: ReuseKey,
        id: Option<SnapshotId>,
    ) -> StoreFuture<'_, Result<(), StoreWriteError>> {
        let shared = Arc::clone(&self.shared);
        self.spawn(write_ended, async move { Ok(shared.set_reusable(scope, reuse, id).await?) })
    }

    fn reusable(
        &self,
        scope: Scope,
        reuse: ReuseKey,
    ) -> StoreFuture<'_, Result<Option<SnapshotId>, StoreReadError>> {
        let shared = Arc::clone(&self.shared);
        self.spawn(read_ended, async move { Ok(shared.reusable(scope, reuse).await?) })
    }

    fn status(&self) -> BackendStatus {
        self.shared.keeper.status()
    }
}

impl Shared {
    fn ttl_ms(&self) -> u64 {
        millis(self.ttl)
    }

    /// Returns the time to live of small keys that outlive a snapshot.
    fn outliving_ms(&self) -> u64 {
        millis(self.ttl + HEADER_TTL)
    }

    /// Writes a hash aside, and puts it in place with the header at last: until then nobody finds the snapshot. A growing
    /// list is written again under the same id, and keeps the views that were added.
    async fn put(
        &self,
        names: &SnapshotNames,
        draft: &str,
        fields: Vec<(FieldName, Vec<u8>)>,
    ) -> Result<(), Failure> {
        let mut commands = pipe();
        commands.atomic();
        let (mut bytes, mut header) = (0, None);
        for (name, field) in fields {
            bytes += field.len();
            commands.cmd("HSET").arg(draft).arg(name.to_string()).arg(&field);
            if name == FieldName::Header {
                header = Some(field);
            }
            if bytes >= WRITE_BATCH_BYTES {
                self.expire(&mut commands, draft);
                self.keeper.run(&commands).await?;
                commands = pipe();
                commands.atomic();
                bytes = 0;
            }
        }
        for (name, field) in self.added_views(names).await? {
            commands.cmd("HSETNX").arg(draft).arg(name).arg(field);
        }
        if let Some(header) = header {
            commands.cmd("SET").arg(&names.header).arg(header).arg("PX").arg(self.outliving_ms());
        }
        commands.cmd("RENAME").arg(draft).arg(&names.fields);
        self.expire(&mut commands, &names.fields);
        self.keeper.run(&commands).await?;
        Ok(())
    }

    /// Returns the fields of views that were added to a snapshot.
    async fn added_views(&self, names: &SnapshotNames) -> Result<Vec<(String, Vec<u8>)>, Failure> {
        let mut commands = pipe();
        commands.cmd("ZRANGE").arg(&names.views).arg(0).arg(-1);
        let added: Vec<String> = read(self.keeper.run(&commands).await?.into_iter().last())?;
        if added.is_empty() {
            return Ok(Vec::new());
        }
        let mut commands = pipe();
        commands.cmd("HMGET").arg(&names.fields).arg(&added);
        let fields: Vec<Option<Vec<u8>>> = read(self.keeper.run(&commands).await?.into_iter().last())?;
        Ok(added.into_iter().zip(fields).filter_map(|(name, field)| Some((name, field?))).collect())
    }

    /// Removes what was written of a snapshot, if the store still answers. Otherwise it expires.
    async fn remove_draft(&self, draft: &str) {
        let mut commands = pipe();
        commands.cmd("UNLINK").arg(draft);
        let _ = self.keeper.run(&commands).await;
    }

    fn expire(&self, commands: &mut Pipeline, key: &str) {
        commands.cmd("PEXPIRE").arg(key).arg(self.ttl_ms());
    }

    /// Returns false if the snapshot is not there.
    async fn put_view(&self, key: SnapshotKey, view: ViewId, bytes: &[u8]) -> Result<bool, Failure> {
        for names in &self.names {
            let names = names.snapshot(key);
            let mut commands = pipe();
            commands.cmd("HEXISTS").arg(&names.fields).arg(FieldName::Meta.to_string());
            if !is_one(self.keeper.run(&commands).await?.first()) {
                continue;
            }
            let field = FieldName::View(view).to_string();
            let mut commands = pipe();
            commands.atomic();
            commands.cmd("HSET").arg(&names.fields).arg(&field).arg(bytes);
            commands.cmd("ZADD").arg(&names.views).arg(use_time()).arg(&field);
            self.expire(&mut commands, &names.fields);
            self.expire(&mut commands, &names.views);
            commands.cmd("ZRANGE").arg(&names.views).arg(0).arg(-1 - MAX_VIEWS);
            let answers = self.keeper.run(&commands).await?;
            let oldest: Vec<String> = read(answers.into_iter().last())?;
            if !oldest.is_empty() {
                let mut commands = pipe();
                commands.atomic();
                commands.cmd("HDEL").arg(&names.fields).arg(&oldest);
                commands.cmd("ZREM").arg(&names.views).arg(&oldest);
                self.keeper.run(&commands).await?;
            }
            return Ok(true);
        }
        Ok(false)
    }

    async fn get(
        &self,
        key: SnapshotKey,
        fields: &[FieldName],
    ) -> Result<Vec<Option<Vec<u8>>>, StoreReadError> {
        let (first, rest) = fields.split_at(fields.len().min(READ_BATCH_FIELDS));
        let begun = Instant::now();
        let mut has_header = false;
        loop {
            if let Some((names, mut values)) = self.find(key, first).await? {
                let lacks_view = |(name, value): (&FieldName, &Option<Vec<u8>>)| {
                    matches!(name, FieldName::View(_)) && value.is_none()
                };
                if first.iter().zip(&values).any(lacks_view) && begun.elapsed() < MAX_VIEW_DELAY {
                    sleep(RETRY_INTERVAL).await;
                    continue;
                }
                for batch in rest.chunks(READ_BATCH_FIELDS) {
                    let mut commands = pipe();
                    read_fields(&mut commands, &names, batch);
                    let answers = self.keeper.run(&commands).await?;
                    values.extend(read::<Vec<Option<Vec<u8>>>>(answers.into_iter().next())?);
                }
                return Ok(values);
            }
            match self.gone(key).await? {
                StoreReadError::Unknown if begun.elapsed() < MAX_WRITE_DELAY => sleep(RETRY_INTERVAL).await,
                // Both are written at once, perhaps since the look at the fields.
                StoreReadError::SnapshotGone { .. } if !has_header => has_header = true,
                gone => return Err(gone),
            }
        }
    }

    /// Finds a snapshot under the names of any secret, and reads its first fields.
    async fn find(
        &self,
        key: SnapshotKey,
        fields: &[FieldName],
    ) -> Result<Option<(SnapshotNames, FieldValues)>, Failure> {
        for names in &self.names {
            let names = names.snapshot(key);
            if let Some(values) = self.read_first(&names, fields).await? {
                return Ok(Some((names, values)));
            }
        }
        Ok(None)
    }

    /// Reads fields, and restarts the time to live. Returns `None` if there is no such snapshot.
    async fn read_first(
        &self,
        names: &SnapshotNames,
        fields: &[FieldName],
    ) -> Result<Option<FieldValues>, Failure> {
        let mut commands = pipe();
        read_fields(&mut commands, names, fields);
        // The meta is written last.
        commands.cmd("HEXISTS").arg(&names.fields).arg(FieldName::Meta.to_string());
        // Replicas refuse the rest, and can be read all the same.
        commands.ignore_errors();
        self.use_again(&mut commands, names);
        for field in fields.iter().filter(|field| matches!(field, FieldName::View(_))) {
            commands.cmd("ZADD").arg(&names.views).arg("XX").arg(use_time()).arg(field.to_string());
        }
        let mut answers = self.keeper.run(&commands).await?.into_iter();
        let (values, exists) = (answers.next(), answers.next());
        let values = read(values)?;
        Ok(is_one(exists.as_ref()).then_some(values))
    }

    /// Restarts the time to live of all keys of a snapshot.
    fn use_again(&self, commands: &mut Pipeline, names: &SnapshotNames) {
        self.expire(commands, &names.fields);
        self.expire(commands, &names.views);
        commands.cmd("PEXPIRE").arg(&names.header).arg(self.outliving_ms());
    }

    async fn touch(&self, key: SnapshotKey) -> Result<(), StoreReadError> {
        for names in &self.names {
            let names = names.snapshot(key);
            let mut commands = pipe();
            self.use_again(&mut commands, &names);
            if is_one(self.keeper.run(&commands).await?.first()) {
                return Ok(());
            }
        }
        Err(StoreReadError::Unknown)
    }

    /// Returns the error for a snapshot that is not there, with its header if that is still known.
    async fn gone(&self, key: SnapshotKey) -> Result<StoreReadError, Failure> {
        for names in &self.names {
            let mut commands = pipe();
            commands.cmd("GET").arg(names.snapshot(key).header);
            let answers = self.keeper.run(&commands).await?;
            if let Some(header) = read::<Option<Vec<u8>>>(answers.into_iter().next())? {
                return Ok(StoreReadError::SnapshotGone { header });
            }
        }
        Ok(StoreReadError::Unknown)
    }

    async fn set_reusable(
        &self,
        scope: Scope,
        reuse: ReuseKey,
        id: Option<SnapshotId>,
    ) -> Result<(), Failure> {
        for (at, names) in self.names.iter().enumerate() {
            let (name, mut commands) = (names.reuse(scope, reuse), pipe());
            match id.filter(|_| at == 0) {
                Some(id) => commands.cmd("SET").arg(name).arg(&id[..]).arg("PX").arg(self.outliving_ms()),
                None => commands.cmd("UNLINK").arg(name),
            };
            self.keeper.run(&commands).await?;
        }
        Ok(())
    }

    async fn reusable(&self, scope: Scope, reuse: ReuseKey) -> Result<Option<SnapshotId>, Failure> {
        for names in &self.names {
            let mut commands = pipe();
            commands.cmd("GET").arg(names.reuse(scope, reuse));
            let answers = self.keeper.run(&commands).await?;
            if let Some(id) = read::<Option<Vec<u8>>>(answers.into_iter().next())? {
                return Ok(SnapshotId::try_from(id).ok());
            }
        }
        Ok(None)
    }
}

fn read_fields(commands: &mut Pipeline, names: &SnapshotNames, fields: &[FieldName]) {
    let command = commands.cmd("HMGET").arg(&names.fields);
    for field in fields {
        command.arg(field.to_string());
    }
}

/// Converts an answer.
fn read<T: redis::FromRedisValue>(answer: Option<Value>) -> Result<T, Failure> {
    let value = answer.unwrap_or(Value::Nil).extract_error()?;
    T::from_redis_value(value).map_err(|error| redis::RedisError::from(error).into())
}

fn is_one(answer: Option<&Value>) -> bool {
    answer == Some(&Value::Int(1))
}

/// Returns the time of a use, which orders views.
fn use_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros() as u64)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1)
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
