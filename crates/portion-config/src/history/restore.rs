//! Puts a version back in the place of the configuration file, for every process that watches it to find.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::Builder;

use super::{History, HistoryError};

impl History {
    /// Makes the configuration file at `path` say what a version said. Links stay what they are; the file that they lead
    /// to is replaced at once, with its permissions and its owner. It is made where it is missing.
    ///
    /// # Errors
    /// [`HistoryError::UnknownVersion`] and [`HistoryError::Damaged`] of the version; [`HistoryError::NotReplaceable`] where the file's
    /// directory cannot be written to, [`HistoryError::OwnerMismatch`] where its owner would lose it. The file is then as it
    /// was.
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
        // A file that is a mount of its own cannot be replaced either.
        file.persist(&target).map_err(|error| match error.error.kind() {
            io::ErrorKind::ResourceBusy | io::ErrorKind::PermissionDenied => fixed(error.error),
            _ => failed(error.error),
        })?;
        sync_dir(folder);
        Ok(())
    }
}

/// Where a path leads, or would if the file were there.
fn resolve_target(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        found => return found,
    }
    // A link to what is missing is itself left alone: the file is made where it leads to.
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

/// Has a directory's names on disk, where it can be had: a name that is lost with the power is no damage.
pub(super) fn sync_dir(folder: &Path) {
    #[cfg(unix)]
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    #[cfg(not(unix))]
    let _ = folder;
}
