//! Backups of edited files, and what `uninstall` restores.
//!
//! Each file has a directory: `original` has the bytes without Portion, `previous` those before the last edit, and
//! `record.json` names the file and the digest of what was written.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use super::FileError;

const ORIGINAL: &str = "original";
const PREVIOUS: &str = "previous";
const RECORD: &str = "record.json";

/// The directory with the backups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State(pub PathBuf);

/// State of an edited file, for its restoration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The file.
    pub file: PathBuf,
    /// Name of its client.
    pub client: Option<String>,
    /// Digest of what was written last.
    pub written: String,
    /// Names of the servers that were wrapped then.
    pub servers: Vec<String>,
}

/// Copy of what is remembered of a file, to be put back.
#[derive(Debug)]
pub(crate) struct Memory {
    folder: PathBuf,
    /// The record and the original, where there were any.
    files: [(&'static str, Option<Vec<u8>>); 2],
}

impl Memory {
    /// Remembers this again, and nothing else.
    pub(crate) fn restore(self) {
        for (name, bytes) in self.files {
            let path = self.folder.join(name);
            let _ = match bytes {
                Some(bytes) => fs::write(path, bytes),
                None => fs::remove_file(path),
            };
        }
    }
}

impl State {
    /// Returns all records, sorted by file. Unreadable ones are left out.
    pub fn records(&self) -> Vec<Record> {
        let folders = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let mut records: Vec<Record> =
            folders.filter_map(|folder| read_record(&folder.path().join(RECORD))).collect();
        records.sort_by(|one, other| one.file.cmp(&other.file));
        records
    }

    /// Returns the bytes of a file without Portion, if it has the bytes that were written last.
    pub(crate) fn original(&self, file: &Path, current: &[u8]) -> Option<Vec<u8>> {
        let folder = self.folder(file);
        let record = read_record(&folder.join(RECORD))?;
        (record.file == file && record.written == digest(current)).then_some(())?;
        fs::read(folder.join(ORIGINAL)).ok()
    }

    /// Returns the servers that were behind Portion when a file was written last, even if it has changed since.
    pub(crate) fn servers(&self, file: &Path) -> Vec<String> {
        let record = read_record(&self.folder(file).join(RECORD)).filter(|record| record.file == file);
        record.map(|record| record.servers).unwrap_or_default()
    }

    /// Stores the bytes before an edit, and returns their path.
    pub(crate) fn back_up(&self, file: &Path, previous: &[u8]) -> Result<PathBuf, FileError> {
        self.store(file, PREVIOUS, previous)
    }

    /// Stores what `uninstall` restores after `written` was written.
    pub(crate) fn remember(
        &self,
        file: &Path,
        client: Option<&str>,
        original: &[u8],
        written: &[u8],
        servers: Vec<String>,
    ) -> Result<(), FileError> {
        let (client, written) = (client.map(str::to_owned), digest(written));
        let record = Record { file: file.to_owned(), client, written, servers };
        let text = serde_json::to_vec_pretty(&record)
            .map_err(|source| FileError::Backup { path: self.folder(file), source: source.into() })?;
        self.store(file, ORIGINAL, original)?;
        self.store(file, RECORD, &text)?;
        Ok(())
    }

    /// Returns what is remembered of a file.
    pub(crate) fn memory(&self, file: &Path) -> Memory {
        let folder = self.folder(file);
        let files = [RECORD, ORIGINAL].map(|name| (name, fs::read(folder.join(name)).ok()));
        Memory { folder, files }
    }

    /// Forgets what `uninstall` restores. The bytes before the last edit are kept.
    pub(crate) fn forget(&self, file: &Path) {
        let folder = self.folder(file);
        for name in [RECORD, ORIGINAL] {
            let _ = fs::remove_file(folder.join(name));
        }
    }

    fn folder(&self, file: &Path) -> PathBuf {
        let digest = Sha256::digest(file.as_os_str().as_encoded_bytes());
        let name = u64::from_be_bytes(std::array::from_fn(|i| digest[i]));
        self.0.join(format!("{name:016x}"))
    }

    /// Writes a file that only the user can read: configurations contain secrets.
    fn store(&self, file: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf, FileError> {
        let folder = self.folder(file);
        let path = folder.join(name);
        let write = || -> io::Result<()> {
            create_private_folder(&folder)?;
            // Such a file is readable by its owner alone.
            let mut new = NamedTempFile::new_in(&folder)?;
            new.write_all(bytes)?;
            new.as_file().sync_all()?;
            new.persist(&path)?;
            Ok(())
        };
        write().map_err(|source| FileError::Backup { path: path.clone(), source })?;
        Ok(path)
    }
}

fn read_record(path: &Path) -> Option<Record> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Returns the SHA-256 of bytes in hexadecimal digits.
fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}
