//! Tests that every kind of change to a configuration file is reported: once, and only when the text is
//! complete.
//!
//! No test depends on speed. A last change shows that nothing else was reported, because it has to be the
//! next report. Where a file must not be reported in between, the debounce interval is an hour.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, SystemTime};

use portion_config::watch::{DebounceOptions, FileContent, MAX_FILE_BYTES, WatchHandle};
use tempfile::TempDir;

const FIRST: &str = "limits:\n  hardCap: 4000\n";
const SECOND: &str = "limits:\n  hardCap: 8000\n  maxPageSize: 500\n";
const LAST: &str = "limits:\n  hardCap: 9000\n";
const HOUR: Duration = Duration::from_hours(1);

/// A directory with a configuration file in it.
struct Place {
    folder: TempDir,
    path: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("etc/portion.yaml");
        fs::create_dir(folder.path().join("etc")).expect("a directory");
        fs::write(&path, FIRST).expect("a file");
        Self { folder, path }
    }

    /// Creates the layout of Kubernetes: the file is a link through a link to a directory that is
    /// replaced later.
    fn mounted() -> Self {
        let place = Self::new();
        let volume = place.path.parent().expect("a directory");
        fs::remove_file(&place.path).expect("it was there");
        fs::create_dir(volume.join("..2026_11_22")).expect("a directory");
        fs::write(volume.join("..2026_11_22/portion.yaml"), FIRST).expect("a file");
        link("..2026_11_22", &volume.join("..data"));
        link("..data/portion.yaml", &place.path);
        place
    }

    fn replace(&self, text: &str) {
        rename_over(&self.path, text);
    }
}

/// Runs `act` while watching, and expects these reports and no others until the last change.
fn check(place: &Place, options: DebounceOptions, act: impl FnOnce(&Place), expect: &[FileContent]) {
    let (_watch, reports) = watch(&place.path, Some(FIRST), options);
    act(place);
    for seen in expect {
        assert_eq!(&next(&reports), seen);
    }
    place.replace(LAST);
    assert_eq!(next(&reports), text(LAST), "more was told than expected");
}

/// Starts a watch and returns its reports.
fn watch(path: &Path, known: Option<&str>, options: DebounceOptions) -> (WatchHandle, Receiver<FileContent>) {
    let (sender, reports) = mpsc::channel();
    let watch = WatchHandle::start(path, known, options, move |seen| {
        let _ = sender.send(seen);
    });
    (watch.expect("it is watched"), reports)
}

fn next(reports: &Receiver<FileContent>) -> FileContent {
    reports.recv_timeout(Duration::from_mins(1)).expect("something is told")
}

fn text(of: &str) -> FileContent {
    FileContent::Text(of.to_owned())
}

fn rename_over(path: &Path, text: &str) {
    let beside = path.with_extension("tmp");
    fs::write(&beside, text).expect("there is room");
    fs::rename(beside, path).expect("it can be replaced");
}

fn link(to: &str, at: &Path) {
    #[cfg(unix)]
    std::os::unix::fs::symlink(to, at).expect("a link");
    #[cfg(not(unix))]
    panic!("no link from {} to {to} on this system", at.display());
}

/// Only events are used, no polls.
fn usual() -> DebounceOptions {
    DebounceOptions { poll_interval: HOUR, ..DebounceOptions::default() }
}

/// Incomplete or open files are never reported.
fn patient() -> DebounceOptions {
    DebounceOptions { incomplete_interval: HOUR, open_writer_timeout: HOUR, ..usual() }
}

fn pause() {
    std::thread::sleep(Duration::from_millis(60));
}

#[test]
fn a_write_in_place_is_reported() {
    let act = |place: &Place| fs::write(&place.path, SECOND).expect("it can be written");
    check(&Place::new(), usual(), act, &[text(SECOND)]);
}

#[test]
#[cfg(target_os = "linux")]
fn slow_writes_are_reported_when_the_writer_is_done() {
    let act = |place: &Place| {
        let mut file = File::create(&place.path).expect("it can be written");
        for line in SECOND.split_inclusive('\n') {
            pause();
            file.write_all(line.as_bytes()).expect("it can be written");
        }
        pause();
    };
    check(&Place::new(), patient(), act, &[text(SECOND)]);
}

#[test]
fn a_renamed_file_is_reported() {
    check(&Place::new(), patient(), |place| place.replace(SECOND), &[text(SECOND)]);
}

#[test]
fn a_text_without_a_final_newline_is_reported() {
    let text_of = SECOND.trim_end();
    check(&Place::new(), usual(), |place| place.replace(text_of), &[text(text_of)]);
}

#[test]
#[cfg(unix)]
fn a_changed_link_is_reported() {
    let flip = |place: &Place, day: &str, content: &str| {
        let volume = place.path.parent().expect("a directory");
        fs::create_dir(volume.join(day)).expect("a directory");
        fs::write(volume.join(day).join("portion.yaml"), content).expect("a file");
        link(day, &volume.join("..data_tmp"));
        fs::rename(volume.join("..data_tmp"), volume.join("..data")).expect("it can be replaced");
    };
    let place = Place::mounted();
    let (_watch, reports) = watch(&place.path, Some(FIRST), usual());
    for (day, content) in [("..2026_11_23", SECOND), ("..2026_11_24", FIRST), ("..2026_11_25", SECOND)] {
        flip(&place, day, content);
        assert_eq!(next(&reports), text(content));
    }
    // The new target of the link is watched as well.
    let target = place.path.canonicalize().expect("it is there");
    rename_over(&target, LAST);
    assert_eq!(next(&reports), text(LAST));
}

#[test]
#[cfg(unix)]
fn a_directory_on_the_way_that_is_a_link_is_followed() {
    let place = Place::new();
    let (one, two) = (place.folder.path().join("one"), place.folder.path().join("two"));
    for (release, content) in [(&one, FIRST), (&two, SECOND)] {
        fs::create_dir(release).expect("a directory");
        fs::write(release.join("portion.yaml"), content).expect("a file");
    }
    let current = place.folder.path().join("current");
    link("one", &current);
    let place = Place { path: current.join("portion.yaml"), ..place };
    let act = |place: &Place| {
        let next = place.folder.path().join("next");
        link("two", &next);
        fs::rename(next, current).expect("it can be replaced");
    };
    check(&place, usual(), act, &[text(SECOND)]);
}

#[test]
fn a_recreated_file_is_reported_once() {
    let act = |place: &Place| {
        fs::remove_file(&place.path).expect("it was there");
        fs::write(&place.path, SECOND).expect("it can be made");
    };
    check(&Place::new(), patient(), act, &[text(SECOND)]);
}

#[test]
fn a_missing_file_and_its_return_are_reported() {
    let place = Place::new();
    let (_watch, reports) = watch(&place.path, Some(FIRST), usual());
    fs::remove_file(&place.path).expect("it was there");
    assert_eq!(next(&reports), FileContent::Missing);
    place.replace(FIRST);
    assert_eq!(next(&reports), text(FIRST));
}

/// V3.4, as far as it concerns the watch: a half-written file is not a configuration and does not replace
/// one.
#[test]
fn v3_4_half_a_file_is_not_reported() {
    let act = |place: &Place| {
        let (half, rest) = SECOND.split_at(SECOND.len() / 2);
        fs::write(&place.path, half).expect("it can be written");
        pause();
        let mut file = File::options().append(true).open(&place.path).expect("it is there");
        file.write_all(rest.as_bytes()).expect("it can be written");
    };
    check(&Place::new(), patient(), act, &[text(SECOND)]);
}

/// V3.4 for a file that is truncated at the end of a line: a prefix of the previous text is not
/// reported.
#[test]
fn v3_4_a_truncated_file_is_not_reported() {
    let act = |place: &Place| {
        fs::write(&place.path, "limits:\n").expect("it can be written");
        pause();
        fs::write(&place.path, "").expect("it can be written");
        pause();
        fs::write(&place.path, SECOND).expect("it can be written");
    };
    check(&Place::new(), patient(), act, &[text(SECOND)]);
}

/// Asserts that every text is reported completely while `write` replaces one by the next.
fn check_storm(write: impl Fn(&Place, &str)) {
    let place = Place::new();
    let (_watch, reports) = watch(&place.path, Some(FIRST), patient());
    let versions: Vec<_> = (0..60).map(|n| format!("name: v{n}\n").repeat(8_000) + "end: true\n").collect();
    for (number, version) in versions.iter().enumerate() {
        write(&place, version);
        std::thread::sleep(Duration::from_millis(number as u64 * 7 % 25));
    }
    loop {
        let FileContent::Text(seen) = next(&reports) else { panic!("a text is always there") };
        let number = versions.iter().position(|version| *version == seen);
        if number.expect("it is whole") + 1 == versions.len() {
            break;
        }
    }
}

#[test]
fn v3_4_replaced_files_are_never_mixed() {
    check_storm(Place::replace);
}

#[test]
#[cfg(target_os = "linux")]
fn v3_4_overwritten_texts_are_never_mixed() {
    check_storm(|place, text| {
        let mut file = File::create(&place.path).expect("it can be written");
        for lines in text.as_bytes().chunks("name: v00\n".len() * 2_000) {
            file.write_all(lines).expect("it can be written");
            std::thread::yield_now();
        }
    });
}

#[test]
fn a_touch_is_not_reported() {
    let act = |place: &Place| {
        let file = File::options().append(true).open(&place.path).expect("it is there");
        file.set_modified(SystemTime::UNIX_EPOCH).expect("times can be set");
        drop(file);
        pause();
        place.replace(FIRST);
        pause();
    };
    check(&Place::new(), usual(), act, &[]);
}

#[test]
#[cfg(unix)]
fn a_file_without_permission_is_reported_until_it_is_readable() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let (_watch, reports) = watch(&place.path, Some(FIRST), usual());
    let chmod =
        |mode| fs::set_permissions(&place.path, fs::Permissions::from_mode(mode)).expect("it is ours");
    chmod(0o000);
    // Root may read everything: then there is nothing to test.
    if File::open(&place.path).is_err() {
        assert!(matches!(next(&reports), FileContent::Unreadable(_)));
        chmod(0o600);
        assert_eq!(next(&reports), text(FIRST));
    }
    place.replace(LAST);
    assert_eq!(next(&reports), text(LAST));
}

#[test]
fn binary_content_is_reported_as_unreadable() {
    let unreadable = |make: &dyn Fn(&Path), why: &str| {
        let place = Place::new();
        let (_watch, reports) = watch(&place.path, Some(FIRST), usual());
        let beside = place.folder.path().join("beside");
        make(&beside);
        if beside.is_dir() {
            fs::remove_file(&place.path).expect("it was there");
        }
        fs::rename(beside, &place.path).expect("it can be replaced");
        let seen = match next(&reports) {
            FileContent::Missing => next(&reports),
            seen => seen,
        };
        let FileContent::Unreadable(said) = seen else { panic!("{seen:?}") };
        assert!(said.contains(why), "{said}");
    };
    unreadable(&|path| fs::write(path, b"name: \xff\n").expect("a file"), "not UTF-8 at byte 6");
    unreadable(
        &|path| fs::write(path, vec![b'#'; MAX_FILE_BYTES as usize + 1]).expect("a file"),
        "the maximum is 1048576",
    );
    unreadable(&|path| fs::create_dir(path).expect("a directory"), "not a regular file");
}

#[test]
fn a_file_without_content_is_reported_as_empty() {
    check(&Place::new(), usual(), |place| place.replace("# all gone\n"), &[FileContent::Empty]);
}

#[test]
fn a_recreated_directory_is_watched_again() {
    let place = Place::new();
    let (_watch, reports) = watch(&place.path, Some(FIRST), usual());
    let folder = place.path.parent().expect("a directory");
    for content in [SECOND, FIRST] {
        fs::remove_dir_all(folder).expect("it was there");
        assert_eq!(next(&reports), FileContent::Missing);
        fs::create_dir(folder).expect("it can be made");
        fs::write(&place.path, content).expect("it can be made");
        assert_eq!(next(&reports), text(content));
    }
    // Renamed, with another one in its place.
    let other = place.folder.path().join("other");
    fs::create_dir(&other).expect("a directory");
    fs::write(other.join("portion.yaml"), SECOND).expect("a file");
    fs::rename(folder, place.folder.path().join("old")).expect("it can be moved");
    fs::rename(other, folder).expect("it can be moved");
    let seen = match next(&reports) {
        FileContent::Missing => next(&reports),
        seen => seen,
    };
    assert_eq!(seen, text(SECOND));
    place.replace(LAST);
    assert_eq!(next(&reports), text(LAST));
}

#[test]
fn a_file_created_later_is_reported() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("not/yet/portion.yaml");
    let (_watch, reports) = watch(&path, None, usual());
    assert_eq!(next(&reports), FileContent::Missing);
    fs::create_dir_all(path.parent().expect("a directory")).expect("it can be made");
    fs::write(&path, FIRST).expect("it can be made");
    assert_eq!(next(&reports), text(FIRST));
}

#[test]
fn changes_without_events_are_found() {
    let place = Place::new();
    let (above, old) = (place.folder.path().join("above"), place.folder.path().join("old"));
    let place = Place { path: above.join("etc/portion.yaml"), ..place };
    let make = |text| {
        fs::create_dir_all(above.join("etc")).expect("a directory");
        fs::write(above.join("etc/portion.yaml"), text).expect("a file");
    };
    make(FIRST);
    // A directory above the watched one causes no event.
    let act = |_: &Place| {
        fs::rename(&above, old).expect("it can be moved");
        make(SECOND);
    };
    check(&place, DebounceOptions::default(), act, &[text(SECOND)]);
}

#[test]
fn a_change_before_the_watch_is_reported() {
    let place = Place::new();
    place.replace(SECOND);
    check(&place, usual(), |_| {}, &[text(SECOND)]);
}

#[test]
fn nothing_is_reported_after_the_watch_ends() {
    let place = Place::new();
    let (watch, reports) = watch(&place.path, None, usual());
    assert_eq!(next(&reports), text(FIRST));
    drop(watch);
    place.replace(SECOND);
    // The thread has ended, and `on_change` with it.
    assert!(reports.recv().is_err());
}
