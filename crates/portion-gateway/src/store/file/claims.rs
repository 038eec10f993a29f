//! Claims of snapshots: one process at a time replaces a list that grows.
//!
//! A claim is a file with its owner, and with the time until which it holds, by the clock of the store.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::Shared;
use super::directory::{create_private_dir, open_file, read_file, write_file};
use crate::store::{CLAIM_TIME, FieldName, OwnerId, SnapshotKey, StoreWriteError};

/// Name of the file that is locked while claims are read and changed.
const LOCK: &str = "claims";
/// Longest wait for the lock. It is held while a snapshot is written.
const MAX_LOCK_WAIT: Duration = Duration::from_secs(5);
/// Time between attempts to lock it.
const LOCK_INTERVAL: Duration = Duration::from_millis(20);

impl Shared {
    /// Claims a snapshot, or renews the claim. Returns false if another owner has it.
    pub(super) fn claim(&self, key: SnapshotKey, owner: OwnerId) -> Result<bool, StoreWriteError> {
        let _lock = self.lock_claims()?;
        Ok(self.claim_locked(key, owner)?)
    }

    /// Gives up a claim, if the owner has it.
    pub(super) fn release(&self, key: SnapshotKey, owner: OwnerId) -> io::Result<()> {
        let _lock = self.lock_claims()?;
        let path = self.claim_path(key);
        match read_claim(&path) {
            Some((holder, _)) if holder == owner => fs::remove_file(path),
            _ => Ok(()),
        }
    }

    /// Replaces a snapshot under a claim.
    pub(super) fn replace(
        &self,
        key: SnapshotKey,
        owner: OwnerId,
        fields: &[(FieldName, Vec<u8>)],
        bytes: usize,
    ) -> Result<(), StoreWriteError> {
        let _lock = self.lock_claims()?;
        if !self.claim_locked(key, owner)? {
            return Err(StoreWriteError::Claimed);
        }
        self.put(key, fields, bytes as u64)
    }

    fn claim_locked(&self, key: SnapshotKey, owner: OwnerId) -> io::Result<bool> {
        let (path, now) = (self.claim_path(key), (self.clock)());
        // One that ends later than any claim of now was made before the clock was set back.
        let holds = |end| now < end && end <= now + CLAIM_TIME;
        if read_claim(&path).is_some_and(|(holder, end)| holder != owner && holds(end)) {
            return Ok(false);
        }
        create_private_dir(&self.scope_path(&self.scope(key.scope)))?;
        let end = now.duration_since(UNIX_EPOCH).unwrap_or_default() + CLAIM_TIME;
        let millis = u64::try_from(end.as_millis()).unwrap_or(u64::MAX);
        let claim = [&owner[..], &millis.to_le_bytes()].concat();
        write_file(&self.root, &path, &claim).map(|()| true)
    }

    fn claim_path(&self, key: SnapshotKey) -> PathBuf {
        self.snapshot_path(&self.scope(key.scope), key.id).with_extension("claim")
    }

    /// Locks all claims of the directory, until the file is closed.
    fn lock_claims(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let (file, begun) = (open_file(&mut options, &self.root.join(LOCK))?, Instant::now());
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if begun.elapsed() < MAX_LOCK_WAIT => {
                    thread::sleep(LOCK_INTERVAL);
                }
                Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::TimedOut.into()),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

/// Reads the owner of a claim, and when it ends; `None` if there is no claim.
fn read_claim(path: &Path) -> Option<(OwnerId, SystemTime)> {
    let bytes = read_file(path).ok()?;
    let (owner, millis) = bytes.split_first_chunk::<16>()?;
    let millis = u64::from_le_bytes(millis.try_into().ok()?);
    Some((*owner, UNIX_EPOCH.checked_add(Duration::from_millis(millis))?))
}
