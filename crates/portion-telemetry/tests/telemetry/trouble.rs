//! Files that cannot be written: nobody who tells notices.

use std::fs;
use std::path::Path;

use portion_telemetry::read::{Filter, ReadError, Reader};
use rusqlite::Connection;

use crate::sample::{LONG, Place, hear, page};

/// More than the queue holds.
const MANY: u64 = 10_000;

fn recorded(place: &Place) -> usize {
    place.reader().requests(&Filter::default()).expect("it can be read").len()
}

fn make_directory(path: &Path) {
    fs::create_dir_all(path.parent().expect("it is in one")).expect("it can be made");
}

#[cfg(unix)]
#[test]
fn the_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let recorder = place.recorder();
    hear(&recorder, page(0));
    assert!(recorder.flush(LONG));
    let check = |path: &Path, expect: u32| {
        let mode = fs::metadata(path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, expect, "{}", path.display());
    };
    check(place.path.parent().expect("it is in one"), 0o700);
    let name = |suffix: &str| place.path.with_file_name(format!("telemetry.db{suffix}"));
    ["", "-wal", "-shm", ".lock"].into_iter().for_each(|suffix| check(&name(suffix), 0o600));
}

#[test]
fn garbage_is_set_aside() {
    let place = Place::new();
    make_directory(&place.path);
    for number in 1..=2_usize {
        let garbage = "SQLite format 3\0".to_owned() + &"this is no database".repeat(100);
        fs::write(&place.path, garbage).expect("it can be written");
        place.record([page(0)]);
        assert_eq!(recorded(&place), 1);
        let aside = place.path.with_file_name(format!("telemetry.db.corrupt-{number}"));
        let kept = fs::read_to_string(aside).expect("it is there");
        assert!(kept.contains("this is no database"));
    }
}

#[test]
fn what_never_was_a_database_is_not_touched() {
    for text in ["notes of mine".repeat(100), "short".to_owned()] {
        let place = Place::new();
        make_directory(&place.path);
        fs::write(&place.path, &text).expect("it can be written");
        let recorder = place.recorder();
        hear(&recorder, page(0));
        assert!(!recorder.flush(LONG));
        let trouble = recorder.snapshot().last_error.expect("it fails");
        assert!(trouble.contains("is not a Portion telemetry file: it is left unchanged"), "{trouble}");
        assert_eq!(fs::read_to_string(&place.path).expect("it is there"), text);
        assert!(matches!(Reader::open(&place.path), Err(ReadError::Foreign(_))));
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let place = Place::new();
    make_directory(&place.path);
    let directory = place.path.parent().expect("it is in one");
    let error = Reader::open(directory).expect_err("it is no file").to_string();
    assert_eq!(error, format!("{} cannot be read: it is a directory", directory.display()));
}

#[test]
fn a_file_that_is_corrupt_further_in_is_set_aside() {
    let place = Place::new();
    place.record((0..3_000).map(page));
    let mut bytes = fs::read(&place.path).expect("it is there");
    bytes[8_192..].fill(0x5a);
    fs::write(&place.path, bytes).expect("it can be written");
    let recorder = place.recorder();
    hear(&recorder, page(0));
    assert!((0..3).any(|_| recorder.flush(LONG)), "{:?}", recorder.snapshot());
    assert_eq!(recorded(&place), 1);
    assert!(place.path.with_file_name("telemetry.db.corrupt-1").exists());
}

#[test]
fn an_older_file_is_brought_up_to_date_by_whoever_comes_first() {
    let old = |place: &Place| {
        make_directory(&place.path);
        let connection = Connection::open(&place.path).expect("it can be made");
        connection
            .execute_batch(include_str!("../../src/store/migrations/0001-requests.sql"))
            .expect("it is SQL");
        connection
            .execute_batch("PRAGMA application_id = 0x5072746e; PRAGMA user_version = 1")
            .expect("they can be set");
    };
    let place = Place::new();
    old(&place);
    assert_eq!(recorded(&place), 0);
    let configurations = place.reader().configurations(&Filter::default()).expect("there is a table of them");
    assert_eq!(configurations, []);
    let place = Place::new();
    old(&place);
    place.record([page(0)]);
    assert_eq!(recorded(&place), 1);
}

#[test]
fn a_newer_file_is_not_touched() {
    let place = Place::new();
    place.record([page(0)]);
    let connection = Connection::open(&place.path).expect("it can be opened");
    connection.pragma_update(None, "user_version", 99).expect("it can be set");
    drop(connection);
    let before = fs::read(&place.path).expect("it is there");
    let recorder = place.recorder();
    (0..MANY).for_each(|number| hear(&recorder, page(number)));
    assert!(!recorder.flush(LONG));
    let snapshot = recorder.snapshot();
    assert_eq!((snapshot.written, snapshot.dropped, snapshot.queued), (0, MANY - 8_192, 8_192));
    assert!(snapshot.failed > 0);
    drop(recorder);
    assert_eq!(fs::read(&place.path).expect("it is there"), before);
    assert!(matches!(Reader::open(&place.path), Err(ReadError::Newer { found: 99, .. })));
}

#[test]
fn a_database_of_something_else_is_not_touched() {
    let place = Place::new();
    make_directory(&place.path);
    let connection = Connection::open(&place.path).expect("it can be made");
    connection
        .execute_batch("CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine')")
        .expect("it is SQL");
    drop(connection);
    let before = fs::read(&place.path).expect("it is there");
    let recorder = place.recorder();
    hear(&recorder, page(0));
    assert!(!recorder.flush(LONG));
    drop(recorder);
    assert_eq!(fs::read(&place.path).expect("it is there"), before);
    assert!(matches!(Reader::open(&place.path), Err(ReadError::Foreign(_))));
}

#[test]
fn a_directory_that_cannot_be_made_is_tried_again() {
    let place = Place::new();
    let in_the_way = place.directory.path().join("share");
    fs::write(&in_the_way, "no directory").expect("it can be written");
    let recorder = place.recorder();
    (0..MANY).for_each(|number| hear(&recorder, page(number)));
    assert!(!recorder.flush(LONG));
    assert!(matches!(Reader::open(&place.path), Err(ReadError::Missing(_))));
    fs::remove_file(&in_the_way).expect("it can be removed");
    assert!(recorder.flush(LONG), "{:?}", recorder.snapshot());
    let snapshot = recorder.snapshot();
    assert_eq!((snapshot.written, snapshot.dropped, snapshot.queued), (8_192, MANY - 8_192, 0));
    assert_eq!(recorded(&place), 8_192);
}

#[test]
fn a_file_that_another_one_locks_is_tried_again() {
    let place = Place::new();
    place.record([page(0)]);
    let other = Connection::open(&place.path).expect("it can be opened");
    other.execute_batch("BEGIN IMMEDIATE").expect("it can be locked");
    let recorder = place.recorder();
    hear(&recorder, page(1));
    assert!(!recorder.flush(LONG));
    assert_eq!(recorder.snapshot().queued, 1);
    assert_eq!(recorded(&place), 1, "reading goes on");
    other.execute_batch("COMMIT").expect("it can be unlocked");
    assert!((0..3).any(|_| recorder.flush(LONG)), "{:?}", recorder.snapshot());
    assert_eq!(recorded(&place), 2);
}

#[test]
fn a_file_that_is_removed_is_made_anew() {
    let place = Place::new();
    let recorder = place.recorder();
    hear(&recorder, page(0));
    assert!(recorder.flush(LONG));
    fs::remove_dir_all(place.path.parent().expect("it is in one")).expect("it can be removed");
    hear(&recorder, page(1));
    assert!((0..3).any(|_| recorder.flush(LONG)), "{:?}", recorder.snapshot());
    assert_eq!(recorded(&place), 1);
}
