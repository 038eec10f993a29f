//! Restores a version to the configuration file, so that every process that watches it finds the change.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use super::{History, HistoryError, sha256_hex};

/// A version that is written beside the configuration file and can replace it. Dropped, it leaves nothing behind.
#[derive(Debug)]
pub struct StagedVersion {
    file: NamedTempFile,
    place: Place,
}

/// The version and the file that it replaces.
#[derive(Debug)]
struct Place {
    number: u64,
    /// File of the version.
    version: PathBuf,
    /// Configuration file, with links resolved.
    target: PathBuf,
}

impl History {
    /// Replaces the content of the configuration file at `path` by that of a version. Links stay; the
    /// file that they lead to is replaced atomically, with its permissions and owner. It is created if it
    /// is missing.
    ///
    /// # Errors
    /// As for [`stage`](Self::stage) and [`StagedVersion::apply`].
    pub fn restore(&self, path: &Path, number: u64) -> Result<(), HistoryError> {
        self.stage(path, number)?.apply()
    }

    /// Prepares to [`restore`](Self::restore) a version, and leaves the file as it is.
    ///
    /// # Errors
    /// [`HistoryError::UnknownVersion`] and [`HistoryError::Damaged`] for the version;
    /// [`HistoryError::NotReplaceable`] if the directory of the file is not writable,
    /// [`HistoryError::ReadOnly`] if the file is not, [`HistoryError::OwnerMismatch`] if the owner would change.
    pub fn stage(&self, path: &Path, number: u64) -> Result<StagedVersion, HistoryError> {
        let text = self.text(number)?;
        let target = resolve_target(path).map_err(HistoryError::io_error("find", path))?;
        let place = Place { number, version: self.version_path(number), target };
        let mut file = Builder::new().prefix(".portion-").tempfile_in(place.folder()).map_err(|error| {
            match error.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => place.fixed(error),
                _ => place.failed(error),
            }
        })?;
        file.write_all(text.as_bytes()).map_err(|error| place.failed(error))?;
        match fs::metadata(&place.target) {
            Ok(before) => {
                if before.permissions().readonly() {
                    return Err(HistoryError::ReadOnly { target: place.target, number });
                }
                keep_owner(file.as_file(), &before)
                    .map_err(|_| HistoryError::OwnerMismatch { target: place.target.clone(), number })?;
                file.as_file().set_permissions(before.permissions()).map_err(|error| place.failed(error))?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(place.failed(error)),
        }
        file.as_file().sync_all().map_err(|error| place.failed(error))?;
        Ok(StagedVersion { file, place })
    }

    /// Records a text that is about to be replaced, unless a version has it. Returns the number of the new
    /// version.
    ///
    /// # Errors
    /// As for [`record`](Self::record).
    pub fn keep(&mut self, source: &Path, text: &str, at: u64) -> Result<Option<u64>, HistoryError> {
        let sha256 = sha256_hex(text);
        let mut versions = self.list()?.into_iter();
        if versions.any(|version| version.sha256 == sha256 && self.text(version.number).is_ok()) {
            return Ok(None);
        }
        self.record(source, text, at).map(Some)
    }
}

impl StagedVersion {
    /// Replaces the configuration file.
    ///
    /// # Errors
    /// [`HistoryError::NotReplaceable`] if the file is a mount point, and [`HistoryError::Io`]. The file is then
    /// unchanged.
    pub fn apply(self) -> Result<(), HistoryError> {
        let Self { file, place } = self;
        // A file that is a mount point cannot be replaced either.
        file.persist(&place.target).map_err(|error| match error.error.kind() {
            io::ErrorKind::ResourceBusy | io::ErrorKind::PermissionDenied => place.fixed(error.error),
            _ => place.failed(error.error),
        })?;
        sync_dir(place.folder());
        Ok(())
    }
}

impl Place {
    fn folder(&self) -> &Path {
        self.target.parent().unwrap_or(Path::new("."))
    }

    fn fixed(&self, source: io::Error) -> HistoryError {
        HistoryError::NotReplaceable {
            target: self.target.clone(),
            folder: self.folder().to_owned(),
            number: self.number,
            version: self.version.clone(),
            source,
        }
    }

    fn failed(&self, source: io::Error) -> HistoryError {
        HistoryError::Io { action: "write", path: self.target.clone(), source }
    }
}

/// Resolves the links of a path, even if the file does not exist.
fn resolve_target(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        found => return found,
    }
    // A link to a missing file stays: the file is created at its target.
    let to = match fs::read_link(path) {
        Ok(to) => path.parent().map_or_else(|| to.clone(), |parent| parent.join(&to)),
        Err(_) => path.to_owned(),
    };
    let name = to.file_name().ok_or(io::ErrorKind::NotFound)?;
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(parent.canonicalize()?.join(name))
}

#[cfg(unix)]
fn keep_owner(file: &File, before: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let now = file.metadata()?;
    if (now.uid(), now.gid()) == (before.uid(), before.gid()) {
        return Ok(());
    }
    fchown(file, Some(before.uid()), Some(before.gid()))
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Syncs a directory to disk where possible: a file name lost in a power failure does no harm.
pub(super) fn sync_dir(folder: &Path) {
    #[cfg(unix)]
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    #[cfg(not(unix))]
    let _ = folder;
}
