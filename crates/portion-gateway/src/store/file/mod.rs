//! Stores snapshots in a directory, so that they survive a restart and can be shared by the processes of a
//! user.
//!
//! Only the owner can read the files. Every file is written beside its place and renamed, so that nobody reads
//! half of one. A file that is damaged all the same is a lost snapshot. The directory contains:
//!
//! - `key`: the secret that signs cursors, see [`load_or_create_secret`];
//! - `clock`: the time of the boot, so that expiry does not depend on changes of the system's clock;
//! - `SCOPE/ID/fields`: a snapshot; its modification time is the time of its last use;
//! - `SCOPE/ID/view-…`: views that were added later;
//! - `SCOPE/ID.gone`: the header of a snapshot that is gone, kept for a day;
//! - `SCOPE/ID.claim`: the process that may replace a snapshot, and until when;
//! - `claims`: locked while claims are read and changed;
//! - `SCOPE/reuse-…`: the id of the snapshot that answers equal calls.

mod availability;
mod boot_clock;
mod claims;
mod container;
mod directory;
mod secret;
mod usage;

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use portion_core::cursor::{Scope, SnapshotId, ViewId};

use self::availability::Availability;
use self::container::{Container, is_damage};
use self::directory::{
    check_writable, create_private_dir, create_private_file, hex, move_directory, open_file, read_file,
    temporary_path, write_file,
};
use self::usage::{Usage, subdirectories};
use super::{
    BackendStatus, FieldName, OwnerId, SnapshotKey, SnapshotStore, StoreFuture, StoreReadError,
    StoreWriteError,
};
use crate::offload::offload;
use crate::reuse_key::ReuseKey;

pub use directory::prepare_directory;
pub use secret::load_or_create_secret;

/// Name of the file with the fields of a snapshot.
const FIELDS: &str = "fields";
/// Largest number of views of a snapshot that were added later.
const MAX_VIEWS: usize = 64;
/// Time for which the header of a snapshot that is gone is kept.
const HEADER_TTL: Duration = Duration::from_hours(24);
/// Time after which an unused reuse file or a half-written file is removed.
const STALE_AFTER: Duration = Duration::from_hours(1);
/// Time for which the size of the directory is assumed to change by our own writes only.
const USAGE_TTL: Duration = Duration::from_secs(30);

/// Returns the current time; replaceable in tests.
pub type WallClock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// Limits of a [`FileStore`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStoreLimits {
    /// Bytes of all snapshots: `snapshotDisk`.
    pub bytes: u64,
    /// Time to live after the last use: `snapshotTtl`.
    pub ttl: Duration,
}

/// Stores snapshots in a directory.
#[derive(Clone)]
pub struct FileStore {
    shared: Arc<Shared>,
}

struct Shared {
    root: PathBuf,
    namespace: String,
    limits: FileStoreLimits,
    clock: WallClock,
    /// Bytes of all snapshots, and when they were last counted.
    known_bytes: Mutex<Option<(u64, SystemTime)>>,
    availability: Availability,
}

impl FileStore {
    /// Opens the store in a directory, which is created if it is missing. Stores with different namespaces share
    /// the directory and its limit, but none of their content: the namespace is that of the server.
    ///
    /// # Errors
    /// As for [`prepare_directory`].
    pub fn open(root: &Path, namespace: &str, limits: FileStoreLimits) -> io::Result<Self> {
        prepare_directory(root)?;
        Self::with_clock(root, namespace, limits, boot_clock::clock(root))
    }

    /// Opens the store with another clock.
    ///
    /// # Errors
    /// As for [`prepare_directory`].
    pub fn with_clock(
        root: &Path,
        namespace: &str,
        limits: FileStoreLimits,
        clock: WallClock,
    ) -> io::Result<Self> {
        prepare_directory(root)?;
        let (root, namespace) = (root.to_owned(), namespace.to_owned());
        let (known_bytes, availability) = (Mutex::new(None), Availability::default());
        let shared = Shared { root, namespace, limits, clock, known_bytes, availability };
        Ok(Self { shared: Arc::new(shared) })
    }
}

impl SnapshotStore for FileStore {
    fn put(
        &self,
        key: SnapshotKey,
        fields: Vec<(FieldName, Vec<u8>)>,
    ) -> StoreFuture<'_, Result<(), StoreWriteError>> {
        let shared = Arc::clone(&self.shared);
        let bytes = fields.iter().map(|(_, bytes)| bytes.len()).sum();
        Box::pin(offload(bytes, move || {
            let written = shared.put(key, &fields, bytes as u64);
            shared.availability.record_write(bytes, &written);
            written
        }))
    }

    fn claim(&self, key: SnapshotKey, owner: OwnerId) -> StoreFuture<'_, Result<bool, StoreWriteError>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(offload(usize::MAX, move || shared.claim(key, owner)))
    }

    fn release(&self, key: SnapshotKey, owner: OwnerId) -> StoreFuture<'_, ()> {
        let shared = Arc::clone(&self.shared);
        // Otherwise it expires.
        Box::pin(offload(usize::MAX, move || drop(shared.release(key, owner))))
    }

    fn replace(
        &self,
        key: SnapshotKey,
        owner: OwnerId,
        fields: Vec<(FieldName, Vec<u8>)>,
    ) -> StoreFuture<'_, Result<(), StoreWriteError>> {
        let shared = Arc::clone(&self.shared);
        let bytes = fields.iter().map(|(_, bytes)| bytes.len()).sum();
        Box::pin(offload(usize::MAX, move || {
            let written = shared.replace(key, owner, &fields, bytes);
            shared.availability.record_write(bytes, &written);
            written
        }))
    }

    fn put_view(
        &self,
        key: SnapshotKey,
        view: ViewId,
        bytes: Vec<u8>,
    ) -> StoreFuture<'_, Result<(), StoreWriteError>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(offload(usize::MAX, move || {
            let written = shared.put_view(key, view, &bytes);
            shared.availability.record_small_write(&written);
            written
        }))
    }

    fn get<'a>(
        &'a self,
        key: SnapshotKey,
        names: &'a [FieldName],
    ) -> StoreFuture<'a, Result<Vec<Option<Vec<u8>>>, StoreReadError>> {
        let (shared, names) = (Arc::clone(&self.shared), names.to_vec());
        Box::pin(offload(usize::MAX, move || {
            let read = shared.get(key, &names);
            shared.availability.record_read(&read);
            if read == Err(StoreReadError::Unknown) {
                shared.notice_unwritable();
            }
            read
        }))
    }

    fn touch(&self, key: SnapshotKey) -> StoreFuture<'_, Result<(), StoreReadError>> {
        Box::pin(async move {
            let touched = self.shared.open_live(key).map(drop);
            self.shared.availability.record_read(&touched);
            touched
        })
    }

    fn set_reusable(
        &self,
        scope: Scope,
        reuse: ReuseKey,
        id: Option<SnapshotId>,
    ) -> StoreFuture<'_, Result<(), StoreWriteError>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(offload(usize::MAX, move || {
            let changed = match id {
                Some(id) => shared.set_reusable(scope, reuse, id),
                None => shared.clear_reusable(scope, reuse),
            };
            shared.availability.record_small_write(&changed);
            changed
        }))
    }

    fn reusable(
        &self,
        scope: Scope,
        reuse: ReuseKey,
    ) -> StoreFuture<'_, Result<Option<SnapshotId>, StoreReadError>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(offload(usize::MAX, move || {
            let read = shared.reusable(scope, reuse);
            shared.availability.record_read(&read);
            read
        }))
    }

    fn expire(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.shared.probe();
            self.shared.sweep();
        })
    }

    fn status(&self) -> BackendStatus {
        self.shared.availability.status()
    }
}

impl Shared {
    /// Returns the scope within the namespace of this store.
    fn scope(&self, scope: Scope) -> Scope {
        scope.derive(&self.namespace)
    }

    fn scope_path(&self, scope: &Scope) -> PathBuf {
        self.root.join(hex(scope.as_bytes()))
    }

    fn snapshot_path(&self, scope: &Scope, id: SnapshotId) -> PathBuf {
        self.scope_path(scope).join(hex(&id))
    }

    fn reuse_path(&self, scope: &Scope, reuse: ReuseKey) -> PathBuf {
        self.scope_path(scope).join(format!("reuse-{}", hex(reuse.as_bytes())))
    }

    fn put(
        &self,
        key: SnapshotKey,
        fields: &[(FieldName, Vec<u8>)],
        bytes: u64,
    ) -> Result<(), StoreWriteError> {
        let scope = self.scope(key.scope);
        self.make_room(&self.scope_path(&scope), bytes)?;
        let path = self.snapshot_path(&scope, key.id);
        let temporary = temporary_path(&self.root)?;
        let written = (|| {
            create_private_dir(&temporary)?;
            let mut file = io::BufWriter::new(create_private_file(&temporary.join(FIELDS))?);
            container::write(&mut file, &scope, fields)?;
            file.into_inner()?.set_modified((self.clock)())?;
            // Ids are random, so one that exists is a repeated write, or a list that has grown.
            move_directory(&temporary, &path, FIELDS)
        })();
        if written.is_err() {
            let _ = fs::remove_dir_all(&temporary);
        }
        written?;
        // Views that were added before are kept, but those that were just written replace them.
        for (name, _) in fields.iter().filter(|(name, _)| matches!(name, FieldName::View(_))) {
            let _ = fs::remove_file(path.join(name.to_string()));
        }
        Ok(())
    }

    fn put_view(&self, key: SnapshotKey, view: ViewId, bytes: &[u8]) -> Result<(), StoreWriteError> {
        self.open_live(key).map_err(|error| match error {
            StoreReadError::Unreachable(why) => StoreWriteError::Unreachable(why),
            StoreReadError::SnapshotGone { .. } | StoreReadError::Unknown => StoreWriteError::SnapshotGone,
        })?;
        let directory = self.snapshot_path(&self.scope(key.scope), key.id);
        let path = directory.join(FieldName::View(view).to_string());
        if read_file(&path).is_ok_and(|stored| stored == bytes) {
            return Ok(());
        }
        match write_file(&self.root, &path, bytes) {
            // Another process has removed the snapshot meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StoreWriteError::SnapshotGone);
            }
            written => written?,
        }
        let mut views: Vec<(SystemTime, PathBuf)> = fs::read_dir(&directory)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_name() != FIELDS)
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        views.sort();
        for (_, oldest) in views.iter().take(views.len().saturating_sub(MAX_VIEWS)) {
            let _ = fs::remove_file(oldest);
        }
        Ok(())
    }

    fn get(&self, key: SnapshotKey, names: &[FieldName]) -> Result<Vec<Option<Vec<u8>>>, StoreReadError> {
        let mut fields = self.open_live(key)?;
        let directory = self.snapshot_path(&self.scope(key.scope), key.id);
        let read = |name: &FieldName| {
            if matches!(name, FieldName::View(_))
                && let Ok(view) = read_view(&directory.join(name.to_string()))
            {
                return Ok(Some(view));
            }
            fields.read(*name)
        };
        let values = names.iter().map(read).collect::<io::Result<_>>();
        values.map_err(|error| read_error(error, || fields.read(FieldName::Header).ok().flatten()))
    }

    /// Notices files that cannot be written: another process may have had to keep in memory what is unknown here.
    fn notice_unwritable(&self) {
        if let Err(error) = check_writable(&self.root) {
            self.availability.record_small_write(&Err(error.into()));
        }
    }

    /// Opens a snapshot that has not expired, and restarts its time to live.
    fn open_live(&self, key: SnapshotKey) -> Result<Container, StoreReadError> {
        let scope = self.scope(key.scope);
        let path = self.snapshot_path(&scope, key.id);
        let opened = open_file(OpenOptions::new().read(true).write(true), &path.join(FIELDS));
        let file = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(read_file(&path.with_extension("gone"))
                    .map_or(StoreReadError::Unknown, |header| StoreReadError::SnapshotGone { header }));
            }
            opened => opened.map_err(|error| read_error(error, || None))?,
        };
        let (now, last_used) = ((self.clock)(), file.metadata()?.modified()?);
        if self.has_expired(last_used, now) {
            let header = self.remove(&path, &scope).unwrap_or_default();
            return Err(StoreReadError::SnapshotGone { header });
        }
        file.set_modified(now)?;
        Container::open(file, &scope).map_err(|error| read_error(error, || None))
    }

    fn set_reusable(&self, scope: Scope, reuse: ReuseKey, id: SnapshotId) -> Result<(), StoreWriteError> {
        let scope = self.scope(scope);
        let path = self.reuse_path(&scope, reuse);
        let write = || {
            create_private_dir(&self.scope_path(&scope))?;
            write_file(&self.root, &path, &id)
        };
        // Another process may have removed the scope, because it was empty.
        Ok(write().or_else(|_| write())?)
    }

    fn clear_reusable(&self, scope: Scope, reuse: ReuseKey) -> Result<(), StoreWriteError> {
        match fs::remove_file(self.reuse_path(&self.scope(scope), reuse)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn reusable(&self, scope: Scope, reuse: ReuseKey) -> Result<Option<SnapshotId>, StoreReadError> {
        match read_file(&self.reuse_path(&self.scope(scope), reuse)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound || is_damage(&error) => Ok(None),
            read => Ok(SnapshotId::try_from(read?).ok()),
        }
    }

    fn has_expired(&self, last_used: SystemTime, now: SystemTime) -> bool {
        last_used.checked_add(self.limits.ttl).is_some_and(|end| end <= now)
    }

    /// Removes a snapshot, and keeps its header for a while. Returns the header.
    fn remove(&self, path: &Path, scope: &Scope) -> Option<Vec<u8>> {
        let fields = open_file(OpenOptions::new().read(true), &path.join(FIELDS));
        let fields = fields.and_then(|file| Container::open(file, scope));
        let header = fields.and_then(|mut fields| fields.read(FieldName::Header)).ok().flatten();
        if let Some(header) = &header {
            let _ = write_file(&self.root, &path.with_extension("gone"), header);
        }
        // Renamed first, so that nobody finds a part of it.
        if let Ok(temporary) = temporary_path(&self.root) {
            let moved = fs::rename(path, &temporary);
            let _ = moved.and_then(|()| fs::remove_dir_all(&temporary));
        }
        header
    }

    /// Evicts snapshots until `bytes` more of a scope fit.
    fn make_room(&self, scope: &Path, bytes: u64) -> Result<(), StoreWriteError> {
        let limit = self.limits.bytes;
        if bytes > limit {
            return Err(StoreWriteError::NoCapacity { bytes: bytes as usize, room: limit as usize });
        }
        let now = (self.clock)();
        let mut known = self.known_bytes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((held, counted_at)) = known.as_mut()
            && *held + bytes <= limit
            && counted_at.checked_add(USAGE_TTL).is_some_and(|end| now < end)
        {
            *held += bytes;
            return Ok(());
        }
        let mut usage = self.read_live_usage(now);
        for entry in usage.evict_for(scope, bytes, limit) {
            tracing::info!(bytes = entry.bytes, "stored snapshot evicted to make room");
            self.remove_entry(&usage, entry.scope, &entry.path);
        }
        *known = Some((usage.bytes() + bytes, now));
        Ok(())
    }

    /// Reads what is stored, and removes what has expired.
    fn read_live_usage(&self, now: SystemTime) -> Usage {
        let mut usage = Usage::read(&self.root, FIELDS);
        let (expired, live) = std::mem::take(&mut usage.entries)
            .into_iter()
            .partition(|entry| self.has_expired(entry.last_used, now));
        usage.entries = live;
        for entry in expired as Vec<usage::Entry> {
            self.remove_entry(&usage, entry.scope, &entry.path);
        }
        usage
    }

    fn remove_entry(&self, usage: &Usage, scope: usize, path: &Path) {
        let name = usage.scopes.get(scope).and_then(|path| path.file_name()?.to_str());
        if let Some(scope) = name.and_then(Scope::from_hex) {
            self.remove(path, &scope);
        }
    }

    /// Writes and reads a file if the last operation has failed: the disk may have room again.
    fn probe(&self) {
        let Some(bytes) = self.availability.probe_bytes() else { return };
        let probed = temporary_path(&self.root).and_then(|path| {
            let read = write_file(&self.root, &path, &vec![0_u8; bytes]).and_then(|()| fs::read(&path));
            let _ = fs::remove_file(&path);
            read.map(drop)
        });
        self.availability.record_probe(&probed);
    }

    /// Removes what has expired, with everything that belongs to it.
    fn sweep(&self) {
        let now = (self.clock)();
        let usage = self.read_live_usage(now);
        *self.known_bytes.lock().unwrap_or_else(PoisonError::into_inner) = Some((usage.bytes(), now));
        // Files that carry no time of ours have the system's.
        let now = SystemTime::now();
        let is_older = |metadata: &fs::Metadata, age| {
            metadata.modified().is_ok_and(|at| now.duration_since(at).is_ok_and(|since| since > age))
        };
        directory::remove_stale_temporaries(&self.root, |metadata| is_older(metadata, STALE_AFTER));
        for scope in &usage.scopes {
            for file in fs::read_dir(scope).into_iter().flatten().flatten() {
                let Ok(metadata) = file.metadata() else { continue };
                let path = file.path();
                let is_header = path.extension().is_some_and(|extension| extension == "gone");
                let leads_nowhere = || {
                    let id = read_file(&path).unwrap_or_default();
                    !scope.join(hex(&id)).join(FIELDS).exists()
                };
                let is_unused = metadata.is_file()
                    && if is_header {
                        is_older(&metadata, HEADER_TTL)
                    } else {
                        is_older(&metadata, STALE_AFTER) && leads_nowhere()
                    };
                if is_unused {
                    let _ = fs::remove_file(path);
                }
            }
            if subdirectories(scope).next().is_none() {
                // Fails unless it is empty.
                let _ = fs::remove_dir(scope);
            }
        }
    }
}

/// Returns the error of a read. A damaged file is a lost snapshot: nothing can be read from it later either.
fn read_error(error: io::Error, read_header: impl FnOnce() -> Option<Vec<u8>>) -> StoreReadError {
    if !is_damage(&error) {
        return error.into();
    }
    tracing::warn!(%error, "a stored snapshot is damaged; its cursors read cursor_expired");
    StoreReadError::SnapshotGone { header: read_header().unwrap_or_default() }
}

/// Reads a view, and marks it as used.
fn read_view(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open_file(OpenOptions::new().read(true).write(true), path)?;
    file.set_modified(SystemTime::now())?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl From<io::Error> for StoreWriteError {
    fn from(error: io::Error) -> Self {
        Self::Unreachable(error.to_string())
    }
}

impl From<io::Error> for StoreReadError {
    fn from(error: io::Error) -> Self {
        Self::Unreachable(error.to_string())
    }
}
