//! Measures the directory of a store, and selects the snapshots to remove.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A stored snapshot.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) scope: usize,
    pub(super) path: PathBuf,
    pub(super) last_used: SystemTime,
    pub(super) bytes: u64,
}

/// All stored snapshots, the least recently used first.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// Directories of the scopes.
    pub(super) scopes: Vec<PathBuf>,
    pub(super) entries: Vec<Entry>,
}

impl Usage {
    /// Reads the directory. What other processes remove meanwhile is not there.
    pub(super) fn read(root: &Path, fields_file: &str) -> Self {
        let mut usage = Self::default();
        for scope in subdirectories(root).filter(|path| is_scope(path)) {
            let index = usage.scopes.len();
            for path in subdirectories(&scope) {
                let Ok(fields) = fs::metadata(path.join(fields_file)) else { continue };
                let files = fs::read_dir(&path).into_iter().flatten().flatten();
                let bytes = files.filter_map(|file| Some(file.metadata().ok()?.len())).sum();
                let last_used = fields.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                usage.entries.push(Entry { scope: index, path, last_used, bytes });
            }
            usage.scopes.push(scope);
        }
        usage.entries.sort_by_key(|entry| entry.last_used);
        usage
    }

    pub(super) fn bytes(&self) -> u64 {
        self.entries.iter().map(|entry| entry.bytes).sum()
    }

    /// Removes and returns the snapshots that have to go for `bytes` more of the scope with this directory, so
    /// that all fit into `limit`. Each scope is guaranteed an equal share, by the rules of
    /// [`MemoryStore`](super::super::MemoryStore).
    pub(super) fn evict_for(&mut self, scope: &Path, bytes: u64, limit: u64) -> Vec<Entry> {
        let own = self.scopes.iter().position(|known| known == scope).unwrap_or(self.scopes.len());
        let scopes = self
            .entries
            .iter()
            .map(|entry| entry.scope)
            .chain([own])
            .collect::<std::collections::BTreeSet<_>>();
        let share = limit / scopes.len() as u64;
        let mut evicted = Vec::new();
        while self.bytes() + bytes > limit {
            let held = |scope: usize| -> u64 {
                self.entries.iter().filter(|entry| entry.scope == scope).map(|entry| entry.bytes).sum()
            };
            let victim = if held(own) > 0 && held(own) + bytes > share {
                Some(own)
            } else {
                scopes.iter().copied().filter(|scope| *scope != own).max_by_key(|scope| held(*scope))
            };
            let oldest = self.entries.iter().position(|entry| Some(entry.scope) == victim);
            let Some(oldest) = oldest else { break };
            evicted.push(self.entries.remove(oldest));
        }
        evicted
    }
}

pub(super) fn subdirectories(path: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path())
}

/// Returns true if a directory is named after a scope.
fn is_scope(path: &Path) -> bool {
    let name = path.file_name().map(std::ffi::OsStr::as_encoded_bytes).unwrap_or_default();
    name.len() == 64 && name.iter().all(u8::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::time::{Duration, SystemTime};

    use super::{Entry, Usage};

    /// Checks which snapshots go: `held` has the scope and bytes of each, the least recently used first.
    #[track_caller]
    fn check(held: &[(usize, u64)], own: usize, bytes: u64, limit: u64, gone: &[usize]) {
        let entry = |(at, (scope, bytes)): (usize, &(usize, u64))| Entry {
            scope: *scope,
            path: PathBuf::from(at.to_string()),
            last_used: SystemTime::UNIX_EPOCH + Duration::from_secs(at as u64),
            bytes: *bytes,
        };
        let scopes: Vec<PathBuf> = (0..3).map(|scope| PathBuf::from(format!("scope{scope}"))).collect();
        let scope = scopes[own].clone();
        let mut usage = Usage { scopes, entries: held.iter().enumerate().map(entry).collect() };
        let evicted = usage.evict_for(&scope, bytes, limit);
        let names: Vec<PathBuf> = gone.iter().map(|at| PathBuf::from(at.to_string())).collect();
        assert_eq!(evicted.into_iter().map(|entry| entry.path).collect::<Vec<_>>(), names);
    }

    #[test]
    fn snapshots_are_measured_in_the_directories_of_scopes_alone() {
        let root = tempfile::tempdir().expect("a directory");
        let add = |scope: &str, id: &str, files: &[(&str, usize)], seconds: u64| {
            let directory = root.path().join(scope).join(id);
            fs::create_dir_all(&directory).expect("it can be created");
            for (name, bytes) in files {
                fs::write(directory.join(name), vec![0_u8; *bytes]).expect("it can be written");
            }
            let last_used = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            if let Ok(file) = fs::File::options().write(true).open(directory.join("fields")) {
                file.set_modified(last_used).expect("it is ours");
            }
        };
        let (one, other) = ("0a".repeat(32), "F0".repeat(32));
        add(&one, "b", &[("fields", 100), ("view-1", 20), ("view-2", 3)], 30);
        add(&one, "a", &[("fields", 7)], 10);
        add(&other, "c", &[("fields", 1_000)], 20);
        // One without fields, and directories that are no scopes.
        add(&one, "d", &[("view-1", 50)], 5);
        for name in ["tmp", &"0a".repeat(31), &"0a".repeat(33), &"0g".repeat(32)] {
            add(name, "e", &[("fields", 10_000)], 1);
        }
        fs::write(root.path().join("key"), "x").expect("it can be written");
        let usage = Usage::read(root.path(), "fields");
        assert_eq!((usage.bytes(), usage.scopes.len()), (1_130, 2));
        let entries = usage.entries.iter().map(|entry| {
            assert!(entry.path.starts_with(&usage.scopes[entry.scope]));
            (entry.path.file_name().and_then(|name| name.to_str()), entry.bytes)
        });
        assert_eq!(entries.collect::<Vec<_>>(), [(Some("a"), 7), (Some("c"), 1_000), (Some("b"), 123)]);
    }

    #[test]
    fn the_least_recently_used_of_the_largest_scope_goes() {
        check(&[(0, 40), (0, 40)], 0, 20, 100, &[]);
        check(&[(0, 40), (0, 40)], 0, 30, 100, &[0]);
        check(&[(0, 40), (0, 40)], 1, 30, 100, &[0]);
        check(&[(1, 20), (0, 60), (0, 20)], 1, 20, 100, &[1]);
        check(&[(1, 10), (0, 60), (1, 30)], 1, 20, 100, &[0, 1]);
        check(&[], 1, 20, 10, &[]);
        check(&[(0, 50), (1, 30)], 1, 20, 100, &[]);
        check(&[(0, 80)], 1, 60, 100, &[0]);
    }
}
