//! The directory of a store, and files in it that only their owner can read.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

/// Creates the directory of a store, if it is missing.
///
/// # Errors
/// If it cannot be created, belongs to another user, or others can write to it.
pub fn prepare_directory(root: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(root)?;
    check_own_dir(root)
}

/// Fails if a directory belongs to another user, or others can write to it. Root could use it all the same.
#[cfg(unix)]
fn check_own_dir(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = fs::metadata(path)?;
    let (owner, mode, user) = (metadata.uid(), metadata.mode(), rustix::process::geteuid().as_raw());
    let path = path.display();
    if owner != user {
        return Err(io::Error::other(format!(
            "{path} belongs to user {owner}, and must belong to this one ({user}): run as user {owner}, or remove it"
        )));
    }
    if mode & 0o022 != 0 {
        return Err(io::Error::other(format!(
            "{path} has mode {:o}, and must be writable by its owner alone: run chmod 700 {path}, or remove it",
            mode & 0o777
        )));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_own_dir(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Creates a new file for the owner alone.
pub(super) fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Opens a regular file for reading. Anything else, such as a pipe, keeps nobody waiting.
pub(super) fn open_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags);
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(no_file(path)) }
}

/// Returns the error for something else in place of a file.
pub(super) fn no_file(path: &Path) -> io::Error {
    io::Error::other(format!("{} is no regular file: remove it", path.display()))
}

/// Fails if others than the owner can read or write a file.
pub(super) fn check_private(file: &File, path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = file.metadata()?.permissions().mode();
        if mode & 0o077 != 0 {
            let path = path.display();
            return Err(io::Error::other(format!(
                "{path} has mode {:o}, and must be readable by its owner alone: run chmod 600 {path}, or remove it",
                mode & 0o777
            )));
        }
    }
    #[cfg(not(unix))]
    let _ = (file, path);
    Ok(())
}

/// Removes the results of versions that wrote a directory for each caller.
pub(super) fn remove_earlier_format(root: &Path) {
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let is_scope = name.len() == 64 && name.iter().all(u8::is_ascii_hexdigit);
        if is_scope || name == b"tmp" {
            let _ = fs::remove_dir_all(entry.path());
        } else if name == b"clock" || name == b"claims" {
            let _ = fs::remove_file(entry.path());
        }
    }
}
