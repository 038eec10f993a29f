//! Files that only their owner can read, written whole or not at all.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, IsADirectory, NotADirectory, NotFound};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Directory for files that are being written, in the store's own.
const TEMPORARY: &str = "tmp";
/// Attempts to move files to a place where other processes write or remove the same ones.
const MAX_MOVE_ATTEMPTS: usize = 16;

/// Creates the directory of a store, if it is missing.
///
/// # Errors
/// If it cannot be created, belongs to another user, or others can write to it.
pub fn prepare_directory(root: &Path) -> io::Result<()> {
    create_private_dir(root)?;
    check_own_dir(root)
}

/// Creates a directory and those above it, for the owner alone.
pub(super) fn create_private_dir(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
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

/// Fails if nothing can be written into a directory that is there: the file system may be read-only.
#[cfg(unix)]
pub(super) fn check_writable(path: &Path) -> io::Result<()> {
    match rustix::fs::access(path, rustix::fs::Access::WRITE_OK) {
        Err(error) if error != rustix::io::Errno::NOENT => Err(error.into()),
        _ => Ok(()),
    }
}

/// Files fail when they are written.
#[cfg(not(unix))]
pub(super) fn check_writable(_: &Path) -> io::Result<()> {
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

/// Opens a regular file. Anything else, such as a pipe, is damage, and keeps nobody waiting.
pub(super) fn open_file(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags);
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{} is no regular file: remove it", path.display()),
        ))
    }
}

/// Reads a regular file.
pub(super) fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_file(OpenOptions::new().read(true), path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
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

/// Returns a new path for something that is being written.
pub(super) fn temporary_path(root: &Path) -> io::Result<PathBuf> {
    let directory = root.join(TEMPORARY);
    create_private_dir(&directory)?;
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(directory.join(hex(&random)))
}

/// Writes a file whole, in place of any earlier one.
pub(super) fn write_file(root: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = temporary_path(root)?;
    let written = create_private_file(&temporary)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            // More precise than what the system sets: views are ordered by it.
            file.set_modified(SystemTime::now())
        })
        .and_then(|()| replace_file(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Moves a directory with one file to its place. If there is one already, its file is replaced, and the files beside it stay.
/// Other processes may write or remove the same directory meanwhile: the last one wins, and none fails.
pub(super) fn move_directory(temporary: &Path, place: &Path, file_name: &str) -> io::Result<()> {
    let mut attempts = 1;
    loop {
        match try_move_directory(temporary, place, file_name) {
            Err(error) if attempts < MAX_MOVE_ATTEMPTS && is_collision(&error) => attempts += 1,
            moved => return moved,
        }
    }
}

fn try_move_directory(temporary: &Path, place: &Path, file_name: &str) -> io::Result<()> {
    if let Some(parent) = place.parent() {
        create_private_dir(parent)?;
    }
    if fs::rename(temporary, place).is_ok() {
        return Ok(());
    }
    let moved = replace_file(&temporary.join(file_name), &place.join(file_name));
    let _ = match &moved {
        Ok(()) => fs::remove_dir(temporary),
        // A file may be in its place. A directory stays.
        Err(_) => fs::remove_file(place),
    };
    moved
}

/// Moves a file to its place, whatever is there.
fn replace_file(temporary: &Path, place: &Path) -> io::Result<()> {
    match fs::rename(temporary, place) {
        Err(error) if error.kind() == IsADirectory => {
            fs::remove_dir_all(place)?;
            fs::rename(temporary, place)
        }
        moved => moved,
    }
}

/// Returns true if another process may have changed the place of a directory meanwhile.
fn is_collision(error: &io::Error) -> bool {
    matches!(error.kind(), AlreadyExists | DirectoryNotEmpty | IsADirectory | NotADirectory | NotFound)
}

/// Removes what earlier processes have begun to write and left.
pub(super) fn remove_stale_temporaries(root: &Path, is_stale: impl Fn(&fs::Metadata) -> bool) {
    for entry in fs::read_dir(root.join(TEMPORARY)).into_iter().flatten().flatten() {
        if entry.metadata().is_ok_and(|metadata| is_stale(&metadata)) {
            let _ = fs::remove_file(entry.path()).or_else(|_| fs::remove_dir_all(entry.path()));
        }
    }
}

/// Returns bytes in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{
        create_private_dir, hex, move_directory, remove_stale_temporaries, temporary_path, write_file,
    };

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let root = tempfile::tempdir().expect("a directory");
        let path = root.path().join("file");
        for content in ["first", "second and longer", "3"] {
            write_file(root.path(), &path, content.as_bytes()).expect("it can be written");
            assert_eq!(fs::read_to_string(&path).expect("a file"), content);
        }
        assert!(write_file(root.path(), &root.path().join("none/file"), b"x").is_err());
        let left = fs::read_dir(root.path().join("tmp")).expect("a directory").count();
        assert_eq!(left, 0, "nothing is left of what failed");
    }

    #[test]
    fn a_directory_is_moved_whatever_is_in_its_place() {
        let root = tempfile::tempdir().expect("a directory");
        let place = root.path().join("scope/id");
        let check = |content: &str| {
            let temporary = temporary_path(root.path()).expect("a path");
            create_private_dir(&temporary).expect("it can be created");
            fs::write(temporary.join("fields"), content).expect("it can be written");
            move_directory(&temporary, &place, "fields").expect("it can be moved");
            assert_eq!(fs::read_to_string(place.join("fields")).expect("a file"), content);
            let left = fs::read_dir(root.path().join("tmp")).expect("a directory").count();
            assert_eq!(left, 0, "{content}");
        };
        check("where nothing is, not even the directory above");
        fs::write(place.join("view"), "kept").expect("it can be written");
        check("where a directory is");
        assert_eq!(fs::read_to_string(place.join("view")).expect("a file"), "kept");
        fs::remove_file(place.join("fields")).expect("it is there");
        create_private_dir(&place.join("fields/more")).expect("it can be created");
        check("where a directory is in place of the file");
        fs::remove_dir_all(&place).expect("it is there");
        fs::write(&place, "").expect("it can be written");
        check("where a file is");
        let absent = temporary_path(root.path()).expect("a path");
        move_directory(&absent, &place, "fields").expect_err("it is not there, however often it is tried");
        assert_eq!(fs::read_to_string(place.join("fields")).expect("a file"), "where a file is");
    }

    #[test]
    fn stale_temporaries_are_removed_whatever_they_are() {
        let root = tempfile::tempdir().expect("a directory");
        remove_stale_temporaries(root.path(), |_| true);
        for _ in 0..2 {
            fs::write(temporary_path(root.path()).expect("a path"), "x").expect("it can be written");
            let directory = temporary_path(root.path()).expect("a path");
            create_private_dir(&directory).expect("it can be created");
            fs::write(directory.join("fields"), "x").expect("it can be written");
        }
        let count = || fs::read_dir(root.path().join("tmp")).expect("a directory").count();
        assert_eq!(count(), 4);
        remove_stale_temporaries(root.path(), |_| false);
        assert_eq!(count(), 4);
        remove_stale_temporaries(root.path(), fs::Metadata::is_file);
        assert_eq!(count(), 2);
        remove_stale_temporaries(root.path(), |_| true);
        assert_eq!(count(), 0);
    }

    #[test]
    fn bytes_have_two_digits_each() {
        assert_eq!(hex(&[]), "");
        assert_eq!(hex(&[0, 9, 16, 255]), "000910ff");
    }
}
