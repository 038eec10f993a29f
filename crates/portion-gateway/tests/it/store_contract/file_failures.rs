//! A file that cannot be written or read, or is replaced, and processes that write the same one.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_core::cursor::Scope;
use portion_core::view::View;
use portion_gateway::store::disk::DiskLimits;
use portion_gateway::store::{
    CachedStore, DiskStore, FieldName, SnapshotKey, SnapshotStore as _, StoreLookupError, StoreReadError,
    StoreWriteError,
};
use tempfile::TempDir;

use super::files::{database, put, store};
use super::{named, run};
use crate::samples::lines::Lines;
use crate::samples::{drawer, drawers};

const LIMITS: DiskLimits = DiskLimits { bytes: 64 << 20, ttl: Duration::from_mins(10) };

fn open(root: &TempDir) -> DiskStore {
    DiskStore::open(root.path(), "server", LIMITS).expect("a directory")
}

fn ada(id: u8) -> SnapshotKey {
    SnapshotKey { scope: Scope::from_principal("ada"), id: named(id) }
}

fn fields(byte: u8) -> Vec<(FieldName, Vec<u8>)> {
    vec![(FieldName::Meta, vec![byte; 100]), (FieldName::View([1; 5]), vec![byte; 9])]
}

/// Runs work that may not wait: without a timer, a pause panics.
fn without_waiting<T: Send>(work: impl Future<Output = T> + Send) -> T {
    let run = || tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(work);
    std::thread::scope(|scope| scope.spawn(run).join().expect("nobody waits"))
}

/// Lets each write of a field fail, or not.
fn refuse_writes(root: &Path, refuses: bool) {
    let change = if refuses {
        "CREATE TRIGGER full BEFORE INSERT ON fields BEGIN SELECT raise(ABORT, 'no space'); END"
    } else {
        "DROP TRIGGER full"
    };
    let connection = rusqlite::Connection::open(database(root)).expect("a database");
    connection.execute_batch(change).expect("it can be changed");
}

#[tokio::test]
async fn a_store_that_cannot_be_written_says_so_until_it_can() {
    let root = tempfile::tempdir().expect("a directory");
    let store = open(&root);
    store.put(ada(1), fields(1)).await.expect("it can be written");
    assert!(store.status().is_available);
    for is_probed in [false, true] {
        refuse_writes(root.path(), true);
        let failures = store.status().failure_count;
        let written = store.put(ada(2), fields(2)).await;
        assert!(matches!(written, Err(StoreWriteError::Unreachable(_))), "{written:?}");
        let lost = store.status();
        assert!(!lost.is_available && lost.problem.is_some(), "{lost:?}");
        assert_eq!(lost.failure_count, failures + 1);
        store.get(ada(1), &[FieldName::Meta]).await.expect("it can still be read");
        store.expire().await;
        assert!(!store.status().is_available, "reading is no writing");
        refuse_writes(root.path(), false);
        if is_probed {
            store.expire().await;
        } else {
            store.put(ada(2), fields(2)).await.expect("it can be written again");
        }
        let found = store.status();
        assert!(found.is_available && found.problem.is_none(), "{found:?}");
        let connection = rusqlite::Connection::open(database(root.path())).expect("a database");
        let left =
            connection.query_row("SELECT count(*) FROM fields WHERE name = 'probe'", [], |row| row.get(0));
        assert_eq!(left, Ok(0_i64), "nothing is left of it");
    }
}

/// Something else in place of the file is no damage: results may be read later.
#[cfg(unix)]
#[tokio::test]
async fn a_store_that_cannot_be_read_says_so_until_it_can() {
    let root = tempfile::tempdir().expect("a directory");
    let (store, file, aside) = (open(&root), database(root.path()), root.path().join("aside"));
    let make_pipe = |path: &Path| {
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.expect("mkfifo runs").success());
    };
    let replacements: [&dyn Fn(&Path); 3] = [
        &|path| std::os::unix::fs::symlink(path, path).expect("a link to itself"),
        &|path| fs::create_dir(path).expect("a directory"),
        &|path| make_pipe(path),
    ];
    store.put(ada(1), fields(1)).await.expect("it can be written");
    for (number, replace) in replacements.iter().enumerate() {
        let failures = store.status().failure_count;
        fs::rename(&file, &aside).expect("it is there");
        replace(&file);
        let read = without_waiting(store.get(ada(1), &[FieldName::Meta]));
        let Err(StoreReadError::Unreachable(why)) = read else { panic!("{number}: {read:?}") };
        assert!(why.contains("remove it"), "{number}: {why}");
        let lost = store.status();
        assert!(!lost.is_available && lost.failure_count == failures + 1, "{number}: {lost:?}");
        fs::rename(&file, root.path().join(number.to_string())).expect("it is there");
        fs::rename(&aside, &file).expect("it is there");
        store.get(ada(1), &[FieldName::Meta]).await.expect("it is readable again");
        assert!(store.status().is_available);
    }
}

/// The file, or the directory, is removed while it is open: what was in it is gone, and it is created again.
#[tokio::test]
async fn a_file_that_is_removed_is_created_again() {
    let parent = tempfile::tempdir().expect("a directory");
    let root = parent.path().join("results");
    let store = DiskStore::open(&root, "server", LIMITS).expect("a directory");
    for removes_directory in [false, true] {
        store.put(ada(1), fields(1)).await.expect("it can be written");
        if removes_directory {
            fs::remove_dir_all(&root).expect("it is there");
        } else {
            fs::remove_file(database(&root)).expect("it is there");
        }
        assert_eq!(store.get(ada(1), &[FieldName::Meta]).await, Err(StoreReadError::Unknown));
        assert!(store.status().is_available);
    }
}

/// Results of versions with other files are removed, and so is the content of another version of the tables.
#[tokio::test]
async fn another_format_is_removed() {
    let root = tempfile::tempdir().expect("a directory");
    let earlier = root.path().join("0a".repeat(32)).join("010101010101");
    fs::create_dir_all(&earlier).expect("a directory");
    for file in ["clock", "claims", "key"] {
        fs::write(root.path().join(file), "x").expect("it can be written");
    }
    open(&root).put(ada(1), fields(1)).await.expect("it can be written");
    assert!(!earlier.exists() && !root.path().join("clock").exists() && root.path().join("key").exists());
    let connection = rusqlite::Connection::open(database(root.path())).expect("a database");
    connection.execute_batch("PRAGMA user_version = 7").expect("it can be changed");
    drop(connection);
    let store = open(&root);
    assert_eq!(store.get(ada(1), &[FieldName::Meta]).await, Err(StoreReadError::Unknown));
    store.put(ada(1), fields(1)).await.expect("it can be written");
}

/// A result that is unknown while nothing can be written may be in the memory of another process, which could not write it.
#[cfg(unix)]
#[tokio::test]
async fn a_store_that_cannot_be_written_is_noticed_by_reading() {
    use std::os::unix::fs::PermissionsExt as _;
    let root = tempfile::tempdir().expect("a directory");
    let store = store(root.path(), 0);
    let find = async || store.find(&ada(1).scope, ada(1).id, View::root().id(), Instant::now()).await;
    fs::set_permissions(root.path(), fs::Permissions::from_mode(0o500)).expect("it is ours");
    // Root may write there.
    if fs::write(root.path().join("x"), "").is_err() {
        let found = without_waiting(find());
        assert!(matches!(found, Err(StoreLookupError::Unreachable(_))), "{found:?}");
        assert!(store.backend_status().is_some_and(|status| !status.is_available));
    }
    fs::set_permissions(root.path(), fs::Permissions::from_mode(0o700)).expect("it is ours");
}

#[test]
fn a_lost_store_is_logged_once_and_so_is_its_return() {
    let root = tempfile::tempdir().expect("a directory");
    let store = open(&root);
    let lines = Lines::default();
    let guard = tracing::subscriber::set_default(lines.clone());
    run(store.put(ada(1), fields(1))).expect("it can be written");
    assert_eq!(lines.text(), "");
    refuse_writes(root.path(), true);
    for _ in 0..3 {
        run(store.put(ada(2), fields(2))).expect_err("it cannot be written");
    }
    refuse_writes(root.path(), false);
    for _ in 0..3 {
        run(store.put(ada(2), fields(2))).expect("it can be written again");
    }
    drop(guard);
    let log = lines.text();
    let [lost, found] = log.lines().collect::<Vec<_>>()[..] else { panic!("{log}") };
    assert!(lost.starts_with("WARN") && lost.contains("not available"), "{lost}");
    assert!(found.starts_with("INFO") && found.contains("are available"), "{found}");
}

#[tokio::test]
async fn a_view_is_replaced_by_another_version() {
    let root = tempfile::tempdir().expect("a directory");
    let store = open(&root);
    store.put(ada(1), fields(1)).await.expect("it can be written");
    for version in [vec![2], vec![2], vec![3; 5]] {
        store.put_view(ada(1), [7; 5], version.clone()).await.expect("it can be written");
        assert_eq!(store.get(ada(1), &[FieldName::View([7; 5])]).await, Ok(vec![Some(version)]));
    }
    refuse_writes(root.path(), true);
    let refused = store.put_view(ada(1), [8; 5], vec![4]).await;
    assert!(matches!(refused, Err(StoreWriteError::Unreachable(_))), "{refused:?}");
    assert!(!store.status().is_available, "a view that cannot be written is a failure as well");
}

/// A snapshot or view that could not be written is in memory only, and is written when it is used again.
#[tokio::test]
async fn what_was_refused_is_written_later() {
    let root = tempfile::tempdir().expect("a directory");
    let (here, scope, snapshot) =
        (store(root.path(), 1 << 20), Scope::from_principal("ada"), Arc::new(drawers(40)));
    let flush = || assert!(here.flush(Duration::from_mins(1)));
    let find = async |store: &CachedStore, view| store.find(&scope, named(1), view, Instant::now()).await;
    open(&root).put(ada(9), fields(1)).await.expect("it can be written");
    // At first the snapshot and a view cannot be written, then another view alone.
    for number in 0..2 {
        let view = drawer(&snapshot, number);
        refuse_writes(root.path(), true);
        if number == 0 {
            put(&here, &scope, 1, &snapshot).await.expect("it is in memory");
        }
        let refused = here.put_view(&scope, named(1), (&snapshot, view.clone()), Instant::now()).await;
        refused.expect("it is in memory");
        flush();
        refuse_writes(root.path(), false);
        find(&here, View::root().id()).await.expect("it is in memory");
        flush();
        let written = find(&store(root.path(), 0), view.id()).await;
        written.expect("the snapshot was written, with its view");
    }
}

/// A whole result in place of another is damage.
#[tokio::test]
async fn a_snapshot_in_place_of_another_is_lost() {
    let (root, scope) = (tempfile::tempdir().expect("a directory"), Scope::from_principal("ada"));
    let store = store(root.path(), 0);
    for (id, count) in [(1, 40), (2, 50)] {
        put(&store, &scope, id, &Arc::new(drawers(count))).await.expect("there is room");
    }
    let connection = rusqlite::Connection::open(database(root.path())).expect("a database");
    let swap = "DELETE FROM fields WHERE snapshot = 1; UPDATE fields SET snapshot = 1; DELETE FROM snapshots WHERE row = 2";
    connection.execute_batch(swap).expect("it can be changed");
    let found = store.find(&scope, named(1), View::root().id(), Instant::now()).await;
    assert!(matches!(found, Err(StoreLookupError::Unknown)), "{found:?}");
}

/// Views that were added to a snapshot are still there when it is written again, unless they are written with it.
#[tokio::test]
async fn a_snapshot_that_is_written_again_keeps_its_views() {
    let root = tempfile::tempdir().expect("a directory");
    let store = open(&root);
    store.put(ada(1), fields(1)).await.expect("it can be written");
    for view in [[1; 5], [2; 5]] {
        store.put_view(ada(1), view, vec![7; 9]).await.expect("it can be written");
    }
    store.put(ada(1), fields(3)).await.expect("it can be written");
    let names = [FieldName::Meta, FieldName::View([1; 5]), FieldName::View([2; 5])];
    let read = store.get(ada(1), &names).await;
    assert_eq!(read, Ok(vec![Some(vec![3; 100]), Some(vec![3; 9]), Some(vec![7; 9])]));
}

/// Several processes write the same snapshot while another removes it as expired: no write fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn processes_that_write_the_same_snapshot_do_not_collide() {
    let root = tempfile::tempdir().expect("a directory");
    let remover = DiskStore::open(root.path(), "server", DiskLimits { ttl: Duration::ZERO, ..LIMITS });
    let remover = remover.expect("a directory");
    let writers: Vec<_> = (0..4)
        .map(|_| {
            let store = open(&root);
            tokio::spawn(async move {
                for byte in 0..100 {
                    store.put(ada(1), fields(byte)).await.expect("the last one wins");
                    let kept = store.put_view(ada(1), [2; 5], vec![byte]).await;
                    assert!(matches!(kept, Ok(()) | Err(StoreWriteError::SnapshotGone)), "{kept:?}");
                }
                assert_eq!(store.status().failure_count, 0);
            })
        })
        .collect();
    while !writers.iter().all(tokio::task::JoinHandle::is_finished) {
        remover.expire().await;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    for writer in writers {
        writer.await.expect("no write fails");
    }
    let store = open(&root);
    store.put(ada(1), fields(5)).await.expect("it can be written");
    let read = store.get(ada(1), &[FieldName::Meta]).await;
    assert_eq!(read, Ok(vec![Some(vec![5; 100])]));
}
