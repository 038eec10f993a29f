//! The versions of a configuration file that were in force, so that one can be gone back to.
//!
//! One directory for each configuration file, one file in it for each version: `00000012.yaml`, a line about it and then
//! the text, byte for byte. That line is a comment to YAML, so that a version can be read and used as it lies there.
//! Texts refer to secrets and hold none but the URL of a webhook; nobody but their owner may read them.
//!
//! Several processes may watch one configuration and record what they see in one directory. There is no lock to be left
//! behind: a version is written beside, and gets its name only if nobody else has taken it, else the directory is looked
//! at once more. What was cut off, or is no version at all, is passed over.

mod restore;
mod version_file;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tempfile::Builder;
use thiserror::Error;

pub use version_file::Version;

/// How many versions are kept.
pub const MAX_VERSIONS: usize = 100;

/// How often a number is tried to be had, if other processes keep taking it.
const MAX_ATTEMPTS: usize = 100;

/// The versions of one configuration file.
#[derive(Debug)]
pub struct History {
    dir: PathBuf,
    /// The version that this process is known to have: what it records next is that one or later.
    latest_known: u64,
    /// The last version that this process was the first to record.
    latest_recorded: Option<u64>,
    /// What was written last, until it is on the disk.
    unsynced: Option<(PathBuf, fs::File)>,
}

/// Why a version cannot be kept, found, or put back.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// The directory cannot be used.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// There is no such version.
    #[error("there is no version {number} of the configuration; {}", describe_available(*.oldest, *.newest))]
    UnknownVersion {
        /// What was asked for.
        number: u64,
        /// The oldest that there is.
        oldest: Option<u64>,
        /// The newest that there is.
        newest: Option<u64>,
    },
    /// Its file is not what was written.
    #[error("version {number} is damaged: `{}` is not what was recorded; choose another version", path.display())]
    Damaged {
        /// Its number.
        number: u64,
        /// Its file.
        path: PathBuf,
    },
    /// Others record so fast that there is no number to be had.
    #[error("other processes keep recording versions in `{}`; try again", .0.display())]
    Contended(PathBuf),
    /// The configuration file cannot be replaced where it is.
    #[error(
        "`{}` cannot be replaced, for `{}` cannot be written to ({source}). Put version {number} (`{}`) where that file comes \
         from: in Kubernetes its ConfigMap, else its package, image or deployment",
        target.display(), folder.display(), version.display()
    )]
    NotReplaceable {
        /// The configuration file, all links followed.
        target: PathBuf,
        /// Its directory.
        folder: PathBuf,
        /// The version that was to be put back.
        number: u64,
        /// Where it is kept.
        version: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Whoever owns the configuration file could not read it any more.
    #[error("`{}` belongs to somebody else and would not any more: go back to version {number} as its owner", target.display())]
    OwnerMismatch {
        /// The configuration file, all links followed.
        target: PathBuf,
        /// The version that was to be put back.
        number: u64,
    },
}

impl History {
    /// The history in a directory, which is made (for its owner alone) where it is missing.
    ///
    /// # Errors
    /// [`HistoryError::Io`] where it cannot be made or read.
    pub fn open(folder: &Path) -> Result<Self, HistoryError> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder).map_err(HistoryError::io_error("make the directory", folder))?;
        let mut history =
            Self { dir: folder.to_owned(), latest_known: 0, latest_recorded: None, unsynced: None };
        history.latest_known = history.list()?.last().map_or(0, |version| version.number);
        Ok(history)
    }

    /// Keeps a text that is in force since `at` (microseconds since 1970) and came from `source`, and says its number:
    /// that of an equal text that another process recorded since, or that is the newest; else the next.
    /// Beyond [`MAX_VERSIONS`] versions the oldest go.
    ///
    /// # Errors
    /// [`HistoryError::Io`], as of a full disk, and [`HistoryError::Contended`]. Nothing is left half-written.
    pub fn record(&mut self, source: &Path, text: &str, at: u64) -> Result<u64, HistoryError> {
        let number = self.record_unsynced(source, text, at)?;
        self.sync()?;
        Ok(number)
    }

    /// The same without waiting for the disk, which may take long: [`sync`](Self::sync) does. If the system fails before
    /// that, the version may be cut off, and is passed over.
    ///
    /// # Errors
    /// As of [`record`](Self::record).
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
                source: source.to_owned(),
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

    /// Waits until what was entered last is on the disk.
    ///
    /// # Errors
    /// [`HistoryError::Io`] where it does not get there: then it is gone.
    pub fn sync(&mut self) -> Result<(), HistoryError> {
        let Some((path, file)) = self.unsynced.take() else { return Ok(()) };
        if let Err(source) = file.sync_all() {
            let _ = fs::remove_file(&path);
            return Err(HistoryError::Io { action: "keep the configuration as", path, source });
        }
        restore::sync_dir(&self.dir);
        Ok(())
    }

    /// Every version that is whole, as far as can be told without reading all of it; the oldest first.
    ///
    /// # Errors
    /// [`HistoryError::Io`] where the directory cannot be read.
    pub fn list(&self) -> Result<Vec<Version>, HistoryError> {
        Ok(self.version_numbers()?.into_iter().filter_map(|number| self.read_version(number)).collect())
    }

    /// The text of a version, as it was.
    ///
    /// # Errors
    /// [`HistoryError::UnknownVersion`] and [`HistoryError::Damaged`].
    pub fn text(&self, number: u64) -> Result<String, HistoryError> {
        let path = self.version_path(number);
        let kept = match fs::read(&path) {
            Ok(kept) => kept,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let numbers = self.version_numbers()?;
                let (oldest, newest) = (numbers.first().copied(), numbers.last().copied());
                return Err(HistoryError::UnknownVersion { number, oldest, newest });
            }
            Err(source) => return Err(HistoryError::Io { action: "read", path, source }),
        };
        let text = version_file::verified_text(&kept, number).map(str::to_owned);
        text.ok_or(HistoryError::Damaged { number, path })
    }

    /// The text that was in force before what was entered last: `None` where another process entered that, or nothing was
    /// before.
    pub fn previous_text(&self) -> Option<String> {
        let entered = self.latest_recorded.filter(|first| *first == self.latest_known)?;
        let numbers = self.version_numbers().ok()?;
        let mut before = numbers.into_iter().rev().filter(|number| *number < entered);
        before.find_map(|number| self.text(number).ok())
    }

    /// The version to go back to where the file says `present`: the newest one with another text. A file that was never
    /// in force goes back to what was last.
    ///
    /// # Errors
    /// [`HistoryError::Io`] where the directory cannot be read.
    pub fn previous(&self, present: &str) -> Result<Option<Version>, HistoryError> {
        let sha256 = sha256_hex(present);
        let numbers = self.version_numbers()?;
        let mut versions = numbers.iter().rev().filter_map(|number| self.read_version(*number));
        Ok(versions.find(|version| version.sha256 != sha256 && self.text(version.number).is_ok()))
    }

    /// The newest version with this text that others recorded since, or the newest of all if it has it.
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

    /// Writes a version; `false` where its number has been taken meanwhile.
    fn write(&mut self, version: &Version, text: &str) -> Result<bool, HistoryError> {
        let path = self.version_path(version.number);
        let failed =
            |source| HistoryError::Io { action: "keep the configuration as", path: path.clone(), source };
        // Readable for its owner alone, and gone if anything fails.
        let mut file = Builder::new().prefix(".recording-").tempfile_in(&self.dir).map_err(failed)?;
        file.write_all(version_file::header_line(version).as_bytes()).map_err(failed)?;
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

    /// Lets the oldest go. That one cannot be removed is no reason to fail: the next time it is tried again.
    fn prune(&self, before: &[u64]) {
        let surplus = (before.len() + 1).saturating_sub(MAX_VERSIONS);
        for number in before.iter().take(surplus) {
            let _ = fs::remove_file(self.version_path(*number));
        }
    }

    /// The numbers that are taken, rising.
    fn version_numbers(&self) -> Result<Vec<u64>, HistoryError> {
        let failed = HistoryError::io_error("read the directory", &self.dir);
        let entries = fs::read_dir(&self.dir).map_err(failed)?;
        let mut numbers: Vec<_> = entries
            .filter_map(Result::ok)
            .filter_map(|entry| version_file::parse_file_name(entry.file_name().to_str()?))
            .collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn read_version(&self, number: u64) -> Option<Version> {
        version_file::read_version(&self.version_path(number), number)
    }

    fn version_path(&self, number: u64) -> PathBuf {
        self.dir.join(version_file::file_name(number))
    }
}

impl HistoryError {
    fn io_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action: what, path, source }
    }
}

/// SHA-256 of a text, in hexadecimal digits.
fn sha256_hex(text: &str) -> String {
    format!("{:x}", Sha256::digest(text))
}

fn describe_available(oldest: Option<u64>, newest: Option<u64>) -> String {
    match (oldest, newest) {
        (Some(oldest), Some(newest)) => format!("{oldest} to {newest} are kept"),
        _ => "none has been recorded yet".to_owned(),
    }
}
