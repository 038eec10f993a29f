//! Keeps the versions of a configuration file that were in force or were replaced by one of them, so that one can be
//! restored.
//!
//! There is one directory per configuration file, with one file per version: `00000012.yaml`, a header
//! line and then the text, byte for byte. The header line is a YAML comment, so that a version can be
//! used as it is. Texts refer to secrets and contain none, except the URL of a webhook; only their owner
//! may read them.
//!
//! Several processes may watch one configuration and record versions in one directory. There is no lock
//! that could be left behind: a version is written to a temporary file and then renamed, unless another
//! process has taken its number; in that case the directory is read again. Truncated and unknown files
//! are skipped.
//!
//! ```
//! use portion_config::history::History;
//!
//! let folder = tempfile::tempdir()?;
//! let mut history = History::open(folder.path())?;
//! let number = history.record("portion.yaml".as_ref(), "hardCap: 9000", 0)?;
//! assert_eq!(history.text(number)?, "hardCap: 9000");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod restore;

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use portion_text::display::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tempfile::Builder;
use thiserror::Error;

pub use restore::StagedVersion;

/// Maximum number of versions.
pub const MAX_VERSIONS: usize = 100;

/// Maximum attempts to get a number while other processes take numbers.
const MAX_ATTEMPTS: usize = 100;

/// Start of the header line.
const HEADER_PREFIX: &str = "# portion ";

/// Maximum bytes of the header line; paths are at most 4 KiB on Linux, and are escaped.
const MAX_HEADER_BYTES: u64 = 1 << 15;

/// The versions of one configuration file.
#[derive(Debug)]
pub struct History {
    dir: PathBuf,
    /// Version that this process had last: the next one that it records has this number or a higher one.
    latest_known: u64,
    /// Last version that this process was the first to record.
    latest_recorded: Option<u64>,
    /// Path and file of the last version, until it is synced to disk.
    unsynced: Option<(PathBuf, File)>,
}

/// The error for a version that cannot be recorded, found or restored.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// The directory cannot be used.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// Action that failed.
        action: &'static str,
        /// Path of the action.
        path: PathBuf,
        /// Cause of the error.
        source: io::Error,
    },
    /// There is no such version.
    #[error("there is no version {number} of the configuration; {}", describe_available(*.oldest, *.newest))]
    UnknownVersion {
        /// Requested number.
        number: u64,
        /// Oldest existing version.
        oldest: Option<u64>,
        /// Newest existing version.
        newest: Option<u64>,
    },
    /// The file of the version was changed.
    #[error("version {number} is damaged: `{}` differs from its checksum; choose another version", path.display())]
    Damaged {
        /// Number of the version.
        number: u64,
        /// File of the version.
        path: PathBuf,
    },
    /// Other processes record so fast that no number is available.
    #[error("other processes are recording versions in `{}`; try again", .0.display())]
    Contended(PathBuf),
    /// The configuration file cannot be replaced.
    #[error(
        "`{}` cannot be replaced because `{}` is not writable ({source}). Restore version {number} (`{}`) at the source of the \
         file: its ConfigMap in Kubernetes, or its package, image or deployment",
        target.display(), folder.display(), version.display()
    )]
    NotReplaceable {
        /// Configuration file, with links resolved.
        target: PathBuf,
        /// Its directory.
        folder: PathBuf,
        /// Version that was to be restored.
        number: u64,
        /// File of that version.
        version: PathBuf,
        /// Cause of the error.
        source: io::Error,
    },
    /// The configuration file may not be written.
    #[error("`{}` is read-only: make it writable, then restore version {number} again", target.display())]
    ReadOnly {
        /// Configuration file, with links resolved.
        target: PathBuf,
        /// Version that was to be restored.
        number: u64,
    },
    /// The owner of the configuration file could no longer read it.
    #[error("`{}` belongs to another user: restore version {number} as its owner", target.display())]
    OwnerMismatch {
        /// Configuration file, with links resolved.
        target: PathBuf,
        /// Version that was to be restored.
        number: u64,
    },
}

impl History {
    /// Opens the history in a directory, which is created (for its owner only) if it is missing.
    ///
    /// # Errors
    /// [`HistoryError::Io`] if the directory cannot be created or read.
    pub fn open(folder: &Path) -> Result<Self, HistoryError> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder).map_err(HistoryError::io_error("create the directory", folder))?;
        let mut history =
            Self { dir: folder.to_owned(), latest_known: 0, latest_recorded: None, unsynced: None };
        history.latest_known = history.list()?.last().map_or(0, |version| version.number);
        Ok(history)
    }

    /// Records a text that is in force since `at` (microseconds since 1970) and came from `source`.
    /// Returns its number: that of an equal text that another process has recorded since, or that is the
    /// newest version; else the next number. Beyond [`MAX_VERSIONS`] versions the oldest are removed.
    ///
    /// # Errors
    /// [`HistoryError::Io`], for example if the disk is full, and [`HistoryError::Contended`]. Nothing is
    /// left half-written.
    pub fn record(&mut self, source: &Path, text: &str, at: u64) -> Result<u64, HistoryError> {
        let number = self.record_unsynced(source, text, at)?;
        self.sync()?;
        Ok(number)
    }

    /// Adds an entry without waiting for the disk, which may take long; [`sync`](Self::sync) waits. If
    /// the system fails in between, the version may be truncated, and is skipped.
    ///
    /// # Errors
    /// As for [`record`](Self::record).
    pub fn record_unsynced(&mut self, source: &Path, text: &str, at: u64) -> Result<u64, HistoryError> {
        let sha256 = sha256_hex(text);
        for _ in 0..MAX_ATTEMPTS {
            let numbers = self.version_numbers()?;
            let newest = numbers.last().copied().unwrap_or(0);
            if let Some(number) = self.find_recorded(&numbers, &sha256) {
                self.latest_known = number;
                return Ok(number);
            }
            let version = Version {
                number: newest.saturating_add(1),
                at,
                source: source.to_string_lossy().into_owned(),
                sha256: sha256.clone(),
                bytes: text.len(),
            };
            if self.write(&version, text)? {
                self.latest_known = version.number;
                self.latest_recorded = Some(version.number);
                self.prune(&numbers);
                return Ok(version.number);
            }
        }
        Err(HistoryError::Contended(self.dir.clone()))
    }

    /// Waits until the last recorded version is on disk.
    ///
    /// # Errors
    /// [`HistoryError::Io`] if it cannot be written: then it is removed.
    pub fn sync(&mut self) -> Result<(), HistoryError> {
        let Some((path, file)) = self.unsynced.take() else { return Ok(()) };
        if let Err(source) = file.sync_all() {
            let _ = fs::remove_file(&path);
            return Err(HistoryError::Io { action: "record the configuration as", path, source });
        }
        restore::sync_dir(&self.dir);
        Ok(())
    }

    /// Returns all versions that are intact, as far as that is known without reading their whole text;
    /// the oldest first.
    ///
    /// # Errors
    /// [`HistoryError::Io`] if the directory cannot be read.
    pub fn list(&self) -> Result<Vec<Version>, HistoryError> {
        Ok(self.version_numbers()?.into_iter().filter_map(|number| self.read_version(number)).collect())
    }

    /// Returns the text of a version.
    ///
    /// # Errors
    /// [`HistoryError::UnknownVersion`] and [`HistoryError::Damaged`].
    pub fn text(&self, number: u64) -> Result<String, HistoryError> {
        let path = self.version_path(number);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let numbers = self.version_numbers()?;
                let (oldest, newest) = (numbers.first().copied(), numbers.last().copied());
                return Err(HistoryError::UnknownVersion { number, oldest, newest });
            }
            Err(source) => return Err(HistoryError::Io { action: "read", path, source }),
        };
        let text = verified_text(&bytes, number).map(str::to_owned);
        text.ok_or(HistoryError::Damaged { number, path })
    }

    /// Returns the text that was in force before the last recorded version; `None` if another process
    /// recorded that version, or if there was none before.
    pub fn previous_text(&self) -> Option<String> {
        let recorded = self.latest_recorded.filter(|first| *first == self.latest_known)?;
        let numbers = self.version_numbers().ok()?;
        let mut before = numbers.into_iter().rev().filter(|number| *number < recorded);
        before.find_map(|number| self.text(number).ok())
    }

    /// Returns the version to restore if the file contains `present`: the newest one with another text.
    /// If the file was never in force, this is the last version in force.
    ///
    /// # Errors
    /// [`HistoryError::Io`] if the directory cannot be read.
    pub fn previous(&self, present: &str) -> Result<Option<Version>, HistoryError> {
        let sha256 = sha256_hex(present);
        let numbers = self.version_numbers()?;
        let mut versions = numbers.iter().rev().filter_map(|number| self.read_version(*number));
        Ok(versions.find(|version| version.sha256 != sha256 && self.text(version.number).is_ok()))
    }

    /// Returns the newest version with this text that others have recorded since, or the newest of all if
    /// it has this text.
    fn find_recorded(&self, numbers: &[u64], sha256: &str) -> Option<u64> {
        let newest = numbers.last()?;
        numbers
            .iter()
            .rev()
            .take_while(|number| *number == newest || **number > self.latest_known)
            .filter_map(|number| self.read_version(*number))
            .find(|version| version.sha256 == sha256)
            .map(|version| version.number)
    }

    /// Writes a version; false if its number is already taken.
    fn write(&mut self, version: &Version, text: &str) -> Result<bool, HistoryError> {
        let path = self.version_path(version.number);
        let failed =
            |source| HistoryError::Io { action: "record the configuration as", path: path.clone(), source };
        // Readable for its owner only, and removed if anything fails.
        let mut file = Builder::new().prefix(".recording-").tempfile_in(&self.dir).map_err(failed)?;
        file.write_all(header_line(version).as_bytes()).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        match file.persist_noclobber(&path) {
            Ok(file) => {
                self.unsynced = Some((path, file));
                Ok(true)
            }
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(failed(error.error)),
        }
    }

    /// Removes the oldest versions. A failure is ignored: the next call tries again.
    fn prune(&self, before: &[u64]) {
        let surplus = (before.len() + 1).saturating_sub(MAX_VERSIONS);
        for number in before.iter().take(surplus) {
            let _ = fs::remove_file(self.version_path(*number));
        }
    }

    /// Returns the numbers in use, ascending.
    fn version_numbers(&self) -> Result<Vec<u64>, HistoryError> {
        let failed = HistoryError::io_error("read the directory", &self.dir);
        let entries = fs::read_dir(&self.dir).map_err(failed)?;
        let mut numbers: Vec<_> = entries
            .filter_map(Result::ok)
            .filter_map(|entry| parse_file_name(entry.file_name().to_str()?))
            .collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn read_version(&self, number: u64) -> Option<Version> {
        read_version(&self.version_path(number), number)
    }

    fn version_path(&self, number: u64) -> PathBuf {
        self.dir.join(file_name(number))
    }
}

impl HistoryError {
    fn io_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action: what, path, source }
    }
}

/// One version of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Number, rising from 1.
    #[serde(rename = "version")]
    pub number: u64,
    /// Time since when it was in force, or when another version replaced it, in microseconds since 1970.
    pub at: u64,
    /// Path of the configuration file, lossily if it is not Unicode: it is only displayed.
    pub source: String,
    /// SHA-256 of the text, in hexadecimal digits.
    pub sha256: String,
    /// Length of the text in bytes.
    pub bytes: usize,
}

/// Returns the SHA-256 of a text, in hexadecimal digits.
fn sha256_hex(text: &str) -> String {
    hex(&Sha256::digest(text))
}

fn describe_available(oldest: Option<u64>, newest: Option<u64>) -> String {
    match (oldest, newest) {
        (Some(oldest), Some(newest)) => format!("versions {oldest} to {newest} are stored"),
        _ => "none has been recorded yet".to_owned(),
    }
}

/// Returns the file name of a version.
fn file_name(number: u64) -> String {
    format!("{number:08}.yaml")
}

/// Parses the number of a version from its file name.
fn parse_file_name(of: &str) -> Option<u64> {
    let number = of.strip_suffix(".yaml")?.parse().ok()?;
    (file_name(number) == of && number > 0).then_some(number)
}

/// Returns the header line of a version, with a line feed.
fn header_line(version: &Version) -> String {
    // Serializing numbers and strings cannot fail.
    let about = serde_json::to_string(version).unwrap_or_default();
    format!("{HEADER_PREFIX}{about}\n")
}

/// Reads the header of a version, if its file has the length that the header gives.
fn read_version(path: &Path, number: u64) -> Option<Version> {
    let file = File::open(path).ok()?;
    let length = file.metadata().ok().filter(fs::Metadata::is_file)?.len();
    let mut line = Vec::new();
    BufReader::new(file.take(MAX_HEADER_BYTES)).read_until(b'\n', &mut line).ok()?;
    let version = parse_header(&line, number)?;
    (length == (line.len() as u64).checked_add(version.bytes as u64)?).then_some(version)
}

/// Returns the text in the file of a version, if its hash matches.
fn verified_text(bytes: &[u8], number: u64) -> Option<&str> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?.checked_add(1)?;
    let (line, text) = bytes.split_at_checked(end)?;
    let version = parse_header(line, number)?;
    let text = std::str::from_utf8(text).ok()?;
    (version.sha256 == sha256_hex(text)).then_some(text)
}

fn parse_header(line: &[u8], number: u64) -> Option<Version> {
    let about = line.strip_prefix(HEADER_PREFIX.as_bytes())?;
    serde_json::from_slice(about).ok().filter(|version: &Version| version.number == number)
}
