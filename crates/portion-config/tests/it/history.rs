//! Tests the versions of a configuration: numbered alike by every process, kept intact, and restored.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use portion_config::history::{History, HistoryError, MAX_VERSIONS};
use tempfile::TempDir;

const SOURCE: &str = "/etc/portion/portion.yaml";

/// A directory for histories and configuration files.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    fn history(&self) -> History {
        History::open(&self.folder()).expect("it can be opened")
    }

    fn folder(&self) -> PathBuf {
        self.0.path().join("state/portion/config")
    }

    /// Creates a configuration file in a directory of its own.
    fn file(&self, text: &str) -> PathBuf {
        let folder = self.0.path().join("etc");
        fs::create_dir_all(&folder).expect("a directory");
        let path = folder.join("portion.yaml");
        fs::write(&path, text).expect("a file");
        path
    }
}

fn record(history: &mut History, text: &str) -> u64 {
    history.record(Path::new(SOURCE), text, 1_795_312_121_000_000).expect("there is room")
}

/// Records texts one after another and expects these numbers.
fn check(texts: &[&str], expect: &[u64]) {
    let place = Place::new();
    let mut history = place.history();
    let numbers: Vec<_> = texts.iter().map(|text| record(&mut history, text)).collect();
    assert_eq!(numbers, expect, "{texts:?}");
    for (text, number) in texts.iter().zip(numbers) {
        assert_eq!(history.text(number).expect("it is kept"), *text);
    }
}

#[test]
fn a_text_keeps_its_version_until_another_is_recorded() {
    check(&["a: 1\n", "a: 1\n", "a: 2\n", "a: 1\n"], &[1, 1, 2, 3]);
    check(&["", "\r\n", "no end", "# portion {}\n"], &[1, 2, 3, 4]);
}

#[test]
fn versions_are_listed_with_their_metadata() {
    let place = Place::new();
    let mut history = place.history();
    record(&mut history, "a: 1\n");
    record(&mut history, "a: 2\n");
    let versions = place.history().list().expect("it can be read");
    let numbers: Vec<_> = versions.iter().map(|version| version.number).collect();
    assert_eq!(numbers, [1, 2]);
    let first = &versions[0];
    assert_eq!((first.at, &*first.source, first.bytes), (1_795_312_121_000_000, SOURCE, 5));
    assert_eq!(first.sha256, "37b128c59f1f5097f73f82691cb519f1f568667faab5ced1b4ab979d36837eae");
}

#[test]
fn processes_agree_on_numbers() {
    let place = Place::new();
    let texts: Vec<_> = (0..10).map(|n| format!("hardCap: {n}000\n")).collect();
    let histories: Vec<_> = (0..4).map(|_| place.history()).collect();
    let numbers: Vec<Vec<u64>> = thread::scope(|scope| {
        let one = |mut history| texts.iter().map(|text| record(&mut history, text)).collect();
        let all: Vec<_> = histories.into_iter().map(|history| scope.spawn(move || one(history))).collect();
        all.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(numbers, vec![(1..=10).collect::<Vec<_>>(); 4]);
}

#[test]
fn a_late_process_gets_the_existing_number() {
    let place = Place::new();
    let (mut early, mut late) = (place.history(), place.history());
    assert_eq!(["a", "b", "c"].map(|text| record(&mut early, text)), [1, 2, 3]);
    assert_eq!(["a", "b", "c", "a"].map(|text| record(&mut late, text)), [1, 2, 3, 4]);
    assert_eq!(record(&mut early, "a"), 4);
}

#[test]
fn the_newest_versions_are_kept() {
    let place = Place::new();
    let mut history = place.history();
    for n in 1..=MAX_VERSIONS + 5 {
        record(&mut history, &format!("a: {n}\n"));
    }
    let numbers: Vec<_> =
        history.list().expect("it can be read").iter().map(|version| version.number).collect();
    assert_eq!(numbers, (6..=MAX_VERSIONS as u64 + 5).collect::<Vec<_>>());
    let gone = history.text(5).expect_err("it has gone");
    assert_eq!(gone.to_string(), "there is no version 5 of the configuration; versions 6 to 105 are stored");
}

#[test]
fn files_that_are_no_versions_are_skipped() {
    let place = Place::new();
    let mut history = place.history();
    record(&mut history, "a: 1\n");
    record(&mut history, "a: 2\n");
    let path = |name: &str| place.folder().join(name);
    // Truncated, edited, copied from elsewhere, and unrelated files.
    fs::copy(path("00000001.yaml"), path("00000007.yaml")).expect("there is room");
    let cut = fs::read(path("00000002.yaml")).expect("it is there");
    fs::write(path("00000002.yaml"), &cut[..cut.len() - 1]).expect("there is room");
    fs::write(path("notes.txt"), "mine").expect("there is room");
    fs::write(path("9.yaml"), "mine").expect("there is room");
    fs::write(path(".recording-x"), "half").expect("there is room");
    fs::create_dir(path("00000009.yaml")).expect("there is room");
    let mut history = place.history();
    let numbers: Vec<_> =
        history.list().expect("it can be read").iter().map(|version| version.number).collect();
    assert_eq!(numbers, [1]);
    assert!(matches!(history.text(2), Err(HistoryError::Damaged { number: 2, .. })));
    assert!(matches!(history.text(7), Err(HistoryError::Damaged { number: 7, .. })));
    assert_eq!(record(&mut history, "a: 3\n"), 10, "numbers that are taken are not taken again");
    assert_eq!(fs::read_to_string(path("notes.txt")).expect("it is left alone"), "mine");
}

#[test]
fn an_edited_version_is_damaged() {
    let place = Place::new();
    let mut history = place.history();
    record(&mut history, "hardCap: 4000\n");
    record(&mut history, "hardCap: 5000\n");
    let path = place.folder().join("00000001.yaml");
    let kept = fs::read_to_string(&path).expect("it is there").replace("4000\n", "9000\n");
    fs::write(&path, kept).expect("there is room");
    let error = history.text(1).expect_err("it is not what was recorded");
    assert!(error.to_string().starts_with("version 1 is damaged"), "{error}");
    assert_eq!(history.previous("hardCap: 5000\n").expect("it can be read"), None);
}

#[test]
fn the_previous_version_has_another_text() {
    let place = Place::new();
    let mut history = place.history();
    let previous = |history: &History, present: &str| {
        history.previous(present).expect("it can be read").map(|version| version.number)
    };
    assert_eq!(previous(&history, "a: 1\n"), None);
    record(&mut history, "a: 1\n");
    assert_eq!(previous(&history, "a: 1\n"), None);
    record(&mut history, "a: 2\n");
    assert_eq!(previous(&history, "a: 2\n"), Some(1));
    assert_eq!(previous(&history, "a: [\n"), Some(2), "what was never in force is left for what was");
    assert_eq!(previous(&history, ""), Some(2));
}

#[test]
#[cfg(unix)]
fn only_the_owner_may_read_versions() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    record(&mut place.history(), "a: 1\n");
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&place.folder()), 0o700);
    assert_eq!(mode(&place.folder().join("00000001.yaml")), 0o600);
}

#[test]
fn an_unusable_directory_is_an_error() {
    let place = Place::new();
    let file = place.file("a: 1\n");
    let error = History::open(&file.join("history")).expect_err("a file is no directory");
    assert!(error.to_string().starts_with("cannot create the directory"), "{error}");
    let mut history = place.history();
    fs::remove_dir_all(place.folder()).expect("it was there");
    assert!(matches!(history.record(Path::new(SOURCE), "a: 1\n", 0), Err(HistoryError::Io { .. })));
}

#[test]
fn a_version_is_restored() {
    let place = Place::new();
    let file = place.file("a: 2\n");
    let mut history = place.history();
    record(&mut history, "a: 1\n");
    history.restore(&file, 1).expect("it can be replaced");
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "a: 1\n");
    fs::remove_file(&file).expect("it was there");
    history.restore(&file, 1).expect("it can be made");
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "a: 1\n");
    let beside = fs::read_dir(file.parent().expect("a directory")).expect("it can be read").count();
    assert_eq!(beside, 1, "nothing is left beside it");
    assert!(matches!(history.restore(&file, 2), Err(HistoryError::UnknownVersion { number: 2, .. })));
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "a: 1\n");
}

#[test]
fn a_text_that_no_version_has_is_kept() {
    let place = Place::new();
    let mut history = place.history();
    record(&mut history, "a: 1\n");
    record(&mut history, "a: 2\n");
    let file = place.file("a: [\n");
    let mut keep = |text: &str| history.keep(&file, text, 7).expect("there is room");
    assert_eq!(["a: 1\n", "a: [\n", "a: [\n", "a: 2\n"].map(&mut keep), [None, Some(3), None, None]);
    assert_eq!(history.text(3).expect("it is kept"), "a: [\n");
}

#[test]
fn the_oldest_version_is_restored_although_it_is_removed() {
    let place = Place::new();
    let mut history = place.history();
    (1..=MAX_VERSIONS).for_each(|n| {
        record(&mut history, &format!("a: {n}\n"));
    });
    let file = place.file("a: 0\n");
    let staged = history.stage(&file, 1).expect("it can be replaced");
    assert_eq!(history.keep(&file, "a: 0\n", 7).expect("there is room"), Some(MAX_VERSIONS as u64 + 1));
    assert!(history.text(1).is_err(), "the new version is in its place");
    staged.apply().expect("it can be replaced");
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "a: 1\n");
}

#[test]
fn a_read_only_file_is_left_alone() {
    let place = Place::new();
    let mut history = place.history();
    record(&mut history, "a: 1\n");
    let file = place.file("a: 2\n");
    let mut permissions = fs::metadata(&file).expect("metadata").permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&file, permissions).expect("it is ours");
    let error = history.restore(&file, 1).expect_err("it is read-only").to_string();
    assert!(error.contains("portion.yaml` is read-only: make it writable"), "{error}");
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "a: 2\n");
    let beside = fs::read_dir(file.parent().expect("a directory")).expect("it can be read").count();
    assert_eq!(beside, 1, "nothing is left beside it");
}

#[test]
#[cfg(unix)]
fn a_version_is_restored_through_a_link_with_its_permissions() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = Place::new();
    let file = place.file("a: 2\n");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("it is ours");
    let link = place.0.path().join("portion.yaml");
    symlink("etc/portion.yaml", &link).expect("a link");
    let mut history = place.history();
    record(&mut history, "a: 1\n");
    // The second time, the target of the link is missing: then only the owner may read the new file.
    for expect in [0o640, 0o600] {
        history.restore(&link, 1).expect("it can be replaced");
        assert_eq!(fs::read_link(&link).expect("it still is one"), Path::new("etc/portion.yaml"));
        assert_eq!(fs::read_to_string(&file).expect("it is there"), "a: 1\n");
        let mode = fs::metadata(&file).expect("it is there").permissions().mode() & 0o777;
        assert_eq!(mode, expect, "{mode:o}");
        fs::remove_file(&file).expect("it was there");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn the_error_for_an_irreplaceable_file_names_a_remedy() {
    let place = Place::new();
    let mut history = place.history();
    record(&mut history, "a: 1\n");
    // In a directory where nobody can create a file, including root.
    let fixed = Path::new("/sys/kernel/uevent_seqnum");
    if !fixed.exists() {
        return;
    }
    let error = history.restore(fixed, 1).expect_err("nobody can");
    let HistoryError::NotReplaceable { number: 1, .. } = &error else { panic!("{error}") };
    assert!(error.to_string().contains("its ConfigMap in Kubernetes"), "{error}");
}
