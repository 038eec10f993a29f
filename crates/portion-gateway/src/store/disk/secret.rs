//! The secret that signs cursors, kept with the snapshots that they lead to.

use std::io::{self, Read as _, Write as _};
use std::path::Path;

use portion_core::cursor::Scope;
use tempfile::NamedTempFile;

use super::directory::{check_private, open_file, prepare_directory};

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
