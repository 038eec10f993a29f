//! The directory of a store, and files in it that only their owner can read: also the secret that signs cursors, kept with the
//! snapshots that they lead to.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use portion_core::cursor::Scope;
use tempfile::NamedTempFile;

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

const FILE_NAME: &str = "key";

/// Returns a secret for a purpose, derived from the one in the directory, which is created if it is missing.
///
/// # Errors
/// If the directory cannot be used, or the file cannot be read or written, is not a secret, or can be read by others.
pub fn load_or_create_secret(root: &Path, purpose: &str) -> io::Result<[u8; 32]> {
    prepare_directory(root)?;
    let path = root.join(FILE_NAME);
    let opened = open_file(&path).or_else(|_| create(root, &path).and_then(|()| open_file(&path)));
    let mut file = opened?;
    check_private(&file, &path)?;
    let mut bytes = Vec::new();
    (&mut file).take(33).read_to_end(&mut bytes)?;
    let secret = <[u8; 32]>::try_from(bytes).map_err(|bytes| {
        let path = path.display();
        io::Error::other(format!("{path} has {} bytes, and a key has 32: remove it", bytes.len()))
    })?;
    Ok(*Scope::from_parts(&secret, [purpose.as_bytes()]).as_bytes())
}

/// Creates the file. If another process creates it at the same time, that one stays.
fn create(root: &Path, path: &Path) -> io::Result<()> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(io::Error::other)?;
    let mut file = NamedTempFile::new_in(root)?;
    file.write_all(&secret)?;
    match file.persist_noclobber(path) {
        Err(failed) if failed.error.kind() != io::ErrorKind::AlreadyExists => Err(failed.error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{FILE_NAME, create, load_or_create_secret};

    #[test]
    fn a_secret_is_created_once_and_differs_by_purpose() {
        let root = tempfile::tempdir().expect("a directory");
        let first = load_or_create_secret(root.path(), "cursors").expect("it is created");
        assert_eq!(load_or_create_secret(root.path(), "cursors").expect("it is there"), first);
        assert_ne!(load_or_create_secret(root.path(), "principals").expect("it is there"), first);
    }

    #[test]
    fn the_file_that_is_there_first_stays() {
        let root = tempfile::tempdir().expect("a directory");
        let path = root.path().join(FILE_NAME);
        std::fs::write(&path, "first").expect("it can be written");
        create(root.path(), &path).expect("another process has created it");
        assert_eq!(std::fs::read(&path).expect("a file"), b"first");
        create(root.path(), &root.path().join("none/key")).expect_err("there is no such directory");
        assert_eq!(std::fs::read_dir(root.path()).expect("a directory").count(), 1, "nothing is left");
    }

    #[test]
    fn a_key_of_another_length_is_refused() {
        let root = tempfile::tempdir().expect("a directory");
        load_or_create_secret(root.path(), "cursors").expect("it is created");
        std::fs::write(root.path().join(FILE_NAME), b"short").expect("it can be written");
        let error = load_or_create_secret(root.path(), "cursors").expect_err("it is no key");
        assert!(error.to_string().contains("has 5 bytes"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = tempfile::tempdir().expect("a directory");
        load_or_create_secret(root.path(), "cursors").expect("it is created");
        let path = root.path().join(FILE_NAME);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).expect("it is ours");
        let error = load_or_create_secret(root.path(), "cursors").expect_err("others can read it");
        assert!(error.to_string().contains("chmod 600"), "{error}");
    }
}
