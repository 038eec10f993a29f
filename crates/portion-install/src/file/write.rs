//! Replaces files: all of them, or none.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::{FileError, Snapshot};

/// A file and its new content.
#[derive(Clone, Copy, Debug)]
pub struct Replacement<'a> {
    /// The file as it was read.
    pub old: &'a Snapshot,
    /// New content.
    pub bytes: &'a [u8],
}

/// A new content beside its file. Dropped without a rename, it is removed.
struct Prepared<'a> {
    replacement: Replacement<'a>,
    temporary: PathBuf,
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Replaces the files, each by a rename. `before_rename` runs when all new contents are on disk and no file has changed.
///
/// If a rename fails, the files that were already replaced get their old bytes back.
///
/// # Errors
/// Returns an error if a file is read-only, has changed since it was read, or cannot be written, and any error of
/// `before_rename`. Then all files are as they were.
pub fn write_all(
    replacements: &[Replacement<'_>],
    before_rename: impl FnOnce() -> Result<(), FileError>,
) -> Result<(), FileError> {
    let prepared =
        replacements.iter().map(|one| prepare(*one)).collect::<Result<Vec<Prepared<'_>>, FileError>>()?;
    before_rename()?;
    for one in &prepared {
        check_unchanged(one.replacement.old)?;
    }
    for (index, one) in prepared.iter().enumerate() {
        if let Err(source) = fs::rename(&one.temporary, &one.replacement.old.target) {
            for done in &prepared[..index] {
                let old = done.replacement.old;
                let back = prepare(Replacement { old, bytes: &old.bytes });
                let _ = back.and_then(|back| {
                    fs::rename(&back.temporary, &old.target).map_err(|source| failed(old, source))
                });
            }
            return Err(failed(one.replacement.old, source));
        }
        sync_folder(&one.replacement.old.target);
    }
    Ok(())
}

fn failed(file: &Snapshot, source: io::Error) -> FileError {
    FileError::Write { path: file.path.clone(), source }
}

/// Writes a new content beside the file, with its permissions and owner.
fn prepare(replacement: Replacement<'_>) -> Result<Prepared<'_>, FileError> {
    let Replacement { old, bytes } = replacement;
    let metadata = fs::metadata(&old.target).map_err(|source| failed(old, source))?;
    if metadata.permissions().readonly() {
        return Err(FileError::ReadOnly { path: old.path.clone() });
    }
    let (mut out, temporary) = create_beside(&old.target).map_err(|source| failed(old, source))?;
    let prepared = Prepared { replacement, temporary };
    let mut fill = || -> io::Result<()> {
        out.write_all(bytes)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            // Only root may give a file away. Another user keeps it.
            let _ = std::os::unix::fs::fchown(&out, Some(metadata.uid()), Some(metadata.gid()));
        }
        out.set_permissions(metadata.permissions())?;
        out.sync_all()
    };
    fill().map_err(|source| failed(old, source))?;
    Ok(prepared)
}

/// Creates a file of a new name in the same directory.
fn create_beside(target: &Path) -> io::Result<(File, PathBuf)> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut attempt = 0_u32;
    loop {
        let path = target.with_file_name(format!(".{name}.portion-{}-{attempt}", std::process::id()));
        match options.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => attempt += 1,
            opened => return Ok((opened?, path)),
        }
    }
}

fn check_unchanged(file: &Snapshot) -> Result<(), FileError> {
    let same_target = fs::canonicalize(&file.path).is_ok_and(|target| target == file.target);
    let same_bytes = fs::read(&file.target).is_ok_and(|bytes| bytes == file.bytes);
    if same_target && same_bytes { Ok(()) } else { Err(FileError::Changed { path: file.path.clone() }) }
}

/// Makes a rename durable, where the system can.
fn sync_folder(target: &Path) {
    if let Some(folder) = target.parent()
        && let Ok(folder) = File::open(folder)
    {
        let _ = folder.sync_all();
    }
}
