//! Paths that the command line of a server names, as arguments for its tools.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use portion_client::check::{KnownPaths, KnownValues};

/// Largest text that is read as an example, in bytes.
const MAX_EXAMPLE_BYTES: u64 = 1 << 20;
/// Files of a directory that are looked at.
const MAX_ENTRIES: usize = 2_000;

/// Returns the first directory among the words of a command, and the largest text directly in it.
pub(super) fn known_paths(command: &[OsString]) -> KnownValues {
    let words = command.iter().skip(1).map(PathBuf::from);
    let directory = words.into_iter().find(|path| path.is_dir()).and_then(|path| path.canonicalize().ok());
    let file = directory.as_deref().and_then(largest_text);
    let is_small = directory.as_deref().is_some_and(has_few_entries);
    let text = |path: PathBuf| path.to_str().map(str::to_owned);
    KnownPaths { directory: directory.and_then(text), file: file.and_then(text), is_small }.into()
}

/// Returns true if a directory has few entries, at every depth together.
fn has_few_entries(directory: &Path) -> bool {
    let (mut waiting, mut left) = (vec![directory.to_owned()], MAX_ENTRIES);
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok) {
            let Some(others) = left.checked_sub(1) else { return false };
            left = others;
            // The type of a link is not that of its target, so that no link is followed.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push(entry.path());
            }
        }
    }
    true
}

fn largest_text(directory: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).ok()?.take(MAX_ENTRIES).filter_map(Result::ok);
    let sized = entries.filter_map(|entry| {
        let found = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        (!is_hidden && found.len() <= MAX_EXAMPLE_BYTES).then(|| (found.len(), entry.path()))
    });
    let mut sized: Vec<(u64, PathBuf)> = sized.collect();
    sized.sort_unstable_by(|one, other| other.cmp(one));
    let is_text = |path: &PathBuf| fs::read(path).is_ok_and(|bytes| str::from_utf8(&bytes).is_ok());
    sized.into_iter().map(|(_, path)| path).find(is_text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use portion_client::check::{Tool, fill_arguments};
    use serde_json::json;

    use super::{MAX_ENTRIES, has_few_entries, known_paths};

    #[test]
    fn the_largest_text_of_a_directory_is_an_example() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().canonicalize().expect("a path");
        for (name, bytes) in
            [("a.txt", &b"some text"[..]), ("b.bin", &[0xff; 99]), (".c", &[b'x'; 50]), ("d", b"y")]
        {
            fs::write(path.join(name), bytes).expect("a file");
        }
        let command = ["server".into(), "--flag".into(), path.clone().into_os_string()];
        let listed = json!({"name": "read_file", "inputSchema": {"required": ["path"]}});
        let tool = Tool::parse(&listed).expect("a tool");
        let filled = fill_arguments(&tool, &known_paths(&command)).expect("a path");
        assert_eq!(filled["path"], json!(path.join("a.txt")));
        assert!(fill_arguments(&tool, &known_paths(&["server".into()])).is_err());
        fs::create_dir(path.join("e")).expect("a directory");
        assert!(has_few_entries(&path));
        for number in 0..MAX_ENTRIES {
            fs::write(path.join("e").join(number.to_string()), b"").expect("a file");
        }
        assert!(!has_few_entries(&path));
    }
}
