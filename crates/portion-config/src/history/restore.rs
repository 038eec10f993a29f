//! Restores a version to the configuration file, so that every process that watches it finds the change.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::Builder;

use super::{History, HistoryError};

impl History {
    /// Replaces the content of the configuration file at `path` by that of a version. Links stay; the
    /// file that they lead to is replaced atomically, with its permissions and owner. It is created if it
    /// is missing.
    ///
    /// # Errors
    /// [`HistoryError::UnknownVersion`] and [`HistoryError::Damaged`] for the version;
    /// [`HistoryError::NotReplaceable`] if the directory of the file is not writable,
    /// [`HistoryError::OwnerMismatch`] if the owner would change. The file is then unchanged.
    pub fn restore(&self, path: &Path, number: u64) -> Result<(), HistoryError> {
        let text = self.text(number)?;
        let target = resolve_target(path).map_err(HistoryError::io_error("find", path))?;
        let folder = target.parent().unwrap_or(Path::new("."));
        let fixed = |source| HistoryError::NotReplaceable {
            target: target.clone(),
            folder: folder.to_owned(),
            number,
            version: self.version_path(number),
            source,
        };
        let failed = |source| HistoryError::Io { action: "write", path: target.clone(), source };
        let mut file =
            Builder::new().prefix(".portion-").tempfile_in(folder).map_err(|error| match error.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => fixed(error),
                _ => failed(error),
            })?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        match fs::metadata(&target) {
            Ok(before) => {
                keep_owner(file.as_file(), &before)
                    .map_err(|_| HistoryError::OwnerMismatch { target: target.clone(), number })?;
                file.as_file().set_permissions(before.permissions()).map_err(failed)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        file.as_file().sync_all().map_err(failed)?;
        // A file that is a mount point cannot be replaced either.
        file.persist(&target).map_err(|error| match error.error.kind() {
            io::ErrorKind::ResourceBusy | io::ErrorKind::PermissionDenied => fixed(error.error),
            _ => failed(error.error),
        })?;
        sync_dir(folder);
        Ok(())
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
