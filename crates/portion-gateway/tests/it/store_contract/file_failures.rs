//! Files that cannot be written or read, or are damaged, and processes that write the same ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_core::cursor::Scope;
use portion_core::view::View;
use portion_gateway::call::ReuseKey;
use portion_gateway::store::file::FileStoreLimits;
use portion_gateway::store::{
    CachedStore, FieldName, FileStore, SnapshotKey, SnapshotStore as _, StoreLookupError, StoreReadError,
    StoreWriteError,
};
use tempfile::TempDir;

use super::files::{put, store};
use super::{named, run};
use crate::samples::lines::Lines;
use crate::samples::{drawer, drawers, list_bookings};

const LIMITS: FileStoreLimits = FileStoreLimits { bytes: 64 << 20, ttl: Duration::from_mins(10) };

fn open(root: &TempDir) -> FileStore {
    FileStore::open(root.path(), "server", LIMITS).expect("a directory")
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

/// Returns the directory of the only snapshot.
fn snapshot_directory(root: &Path) -> PathBuf {
    let directories = |path: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(path).expect("a directory").flatten().map(|entry| entry.path());
        entries.filter(|path| path.is_dir() && !path.ends_with("tmp")).collect()
    };
    let scopes = directories(root);
    assert_eq!(scopes.len(), 1, "{scopes:?}");
    let snapshots = directories(&scopes[0]);
    assert_eq!(snapshots.len(), 1, "{snapshots:?}");
    snapshots[0].clone()
}

/// Nothing can be written while a file is in place of the directory for temporary files.
#[tokio::test]
async fn a_store_that_cannot_be_written_says_so_until_it_can() {
    let root = tempfile::tempdir().expect("a directory");
    let (store, temporary) = (open(&root), root.path().join("tmp"));
    store.put(ada(1), fields(1)).await.expect("it can be written");
    assert!(store.status().is_available);
    for is_probed in [false, true] {
        fs::remove_dir_all(&temporary).expect("it is there");
        fs::write(&temporary, "").expect("it can be written");
        let failures = store.status().failure_count;
        let written = store.put(ada(2), fields(2)).await;
        assert!(matches!(written, Err(StoreWriteError::Unreachable(_))), "{written:?}");
        let lost = store.status();
        assert!(!lost.is_available && lost.problem.is_some(), "{lost:?}");
        assert_eq!(lost.failure_count, failures + 1);
        store.get(ada(1), &[FieldName::Meta]).await.expect("it can still be read");
        store.expire().await;
        assert!(!store.status().is_available, "reading is no writing");
        fs::remove_file(&temporary).expect("it is there");
        if is_probed {
            store.expire().await;
        } else {
            store.put(ada(2), fields(2)).await.expect("it can be written again");
        }
        let found = store.status();
        assert!(found.is_available && found.problem.is_none(), "{found:?}");
        let left = fs::read_dir(&temporary).expect("a directory").count();
        assert_eq!(left, 0, "nothing is left of it");
    }
}

/// An error of the system is no damage: the snapshot may be read later.
#[cfg(unix)]
#[tokio::test]
async fn a_store_that_cannot_be_read_says_so_until_it_can() {
    let root = tempfile::tempdir().expect("a directory");
    let store = open(&root);
    store.put(ada(1), fields(1)).await.expect("it can be written");
    let file = snapshot_directory(root.path()).join("fields");
    let whole = fs::read(&file).expect("a file");
    fs::remove_file(&file).expect("it is there");
    std::os::unix::fs::symlink(&file, &file).expect("a link to itself");
    let read = store.get(ada(1), &[FieldName::Meta]).await;
    assert!(matches!(read, Err(StoreReadError::Unreachable(_))), "{read:?}");
    let lost = store.status();
    assert!(!lost.is_available && lost.problem.is_some() && lost.failure_count == 1, "{lost:?}");
    fs::remove_file(&file).expect("it is there");
    fs::write(&file, whole).expect("it can be written");
    store.get(ada(1), &[FieldName::Meta]).await.expect("it is readable again");
    assert!(store.status().is_available);
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
    let (store, temporary) = (open(&root), root.path().join("tmp"));
    let lines = Lines::default();
    let guard = tracing::subscriber::set_default(lines.clone());
    run(store.put(ada(1), fields(1))).expect("it can be written");
    assert_eq!(lines.text(), "");
    fs::remove_dir_all(&temporary).expect("it is there");
    fs::write(&temporary, "").expect("it can be written");
    for _ in 0..3 {
        run(store.put(ada(2), fields(2))).expect_err("it cannot be written");
    }
    fs::remove_file(&temporary).expect("it is there");
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
    fs::remove_dir_all(root.path().join("tmp")).expect("it is there");
    fs::write(root.path().join("tmp"), "").expect("it can be written");
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
    let temporary = root.path().join("tmp");
    // At first the snapshot and a view cannot be written, then another view alone.
    for number in 0..2 {
        let view = drawer(&snapshot, number);
        fs::remove_dir_all(&temporary).expect("it is there");
        fs::write(&temporary, "").expect("it can be written");
        if number == 0 {
            put(&here, &scope, 1, &snapshot).await.expect("it is in memory");
        }
        let refused = here.put_view(&scope, named(1), (&snapshot, view.clone()), Instant::now()).await;
        refused.expect("it is in memory");
        flush();
        fs::remove_file(&temporary).expect("it is there");
        find(&here, View::root().id()).await.expect("it is in memory");
        flush();
        let written = find(&store(root.path(), 0), view.id()).await;
        written.expect("the snapshot was written, with its view");
    }
}

/// A key for equal calls that is no file is no answer, and one that cannot be read or removed is a failure.
#[cfg(unix)]
#[tokio::test]
async fn keys_for_equal_calls_are_read_or_fail() {
    let root = tempfile::tempdir().expect("a directory");
    let (store, reuse) = (open(&root), ReuseKey::new(&list_bookings(), "{}"));
    let (scope, id) = (ada(1).scope, ada(1).id);
    store.put(ada(1), fields(1)).await.expect("it can be written");
    assert_eq!(store.reusable(scope, reuse).await, Ok(None));
    assert_eq!(store.set_reusable(scope, reuse, None).await, Ok(()), "there is nothing to clear");
    store.set_reusable(scope, reuse, Some(id)).await.expect("it can be written");
    assert_eq!(store.reusable(scope, reuse).await, Ok(Some(id)));
    let scope_directory = snapshot_directory(root.path()).parent().expect("a scope").to_owned();
    let entries = fs::read_dir(scope_directory).expect("a directory").flatten().map(|entry| entry.path());
    let is_key =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("reuse-"));
    let file = entries.into_iter().find(is_key).expect("a key");
    fs::remove_file(&file).expect("it is there");
    std::os::unix::fs::symlink(&file, &file).expect("a link to itself");
    let read = store.reusable(scope, reuse).await;
    assert!(matches!(read, Err(StoreReadError::Unreachable(_))), "{read:?}");
    fs::remove_file(&file).expect("it is there");
    fs::create_dir(&file).expect("a directory");
    assert_eq!(store.reusable(scope, reuse).await, Ok(None));
    let cleared = store.set_reusable(scope, reuse, None).await;
    assert!(matches!(cleared, Err(StoreWriteError::Unreachable(_))), "{cleared:?}");
}

/// Whatever is in place of a whole snapshot is a lost snapshot at once, and is replaced when it is written again.
#[tokio::test]
async fn a_damaged_snapshot_is_lost() {
    let (root, scope, snapshot) =
        (tempfile::tempdir().expect("a directory"), Scope::from_principal("ada"), Arc::new(drawers(40)));
    let store = store(root.path(), 0);
    put(&store, &scope, 1, &snapshot).await.expect("there is room");
    let directory = snapshot_directory(root.path());
    let file = directory.join("fields");
    let whole = fs::read(&file).expect("a file");
    let write = |bytes: &[u8]| fs::write(&file, bytes).expect("it can be written");
    let damages: [&dyn Fn(); 7] = [
        &|| write(b""),
        &|| write(&whole[..10]),
        &|| write(&whole[..whole.len() / 2]),
        &|| write(&whole[..whole.len() - 1]),
        &|| write(&[&b"XXXX"[..], &whole[4..]].concat()),
        &|| {
            fs::remove_file(&file).expect("it is there");
            fs::create_dir_all(file.join("more")).expect("it can be created");
        },
        &|| {
            fs::remove_dir_all(&directory).expect("it is there");
            fs::write(&directory, "").expect("it can be written");
        },
    ];
    let find = async || store.find(&scope, named(1), View::root().id(), Instant::now()).await;
    for (number, damage) in damages.iter().enumerate() {
        damage();
        let found = without_waiting(find());
        assert!(
            matches!(found, Err(StoreLookupError::SnapshotGone { .. } | StoreLookupError::Unknown)),
            "damage {number}: {found:?}"
        );
        let view = (&snapshot, drawer(&snapshot, 0));
        let kept = store.put_view(&scope, named(1), view, Instant::now()).await;
        assert!(matches!(kept, Ok(()) | Err(StoreWriteError::SnapshotGone)), "damage {number}: {kept:?}");
        assert!(store.backend_status().is_some_and(|status| status.is_available), "damage {number}");
        put(&store, &scope, 1, &snapshot).await.expect("it is replaced");
        assert_eq!(find().await.expect("it is whole").id, named(1), "damage {number}");
    }
}

/// A whole file in place of another is damage.
#[tokio::test]
async fn a_snapshot_in_place_of_another_is_lost() {
    let (root, scope) = (tempfile::tempdir().expect("a directory"), Scope::from_principal("ada"));
    let store = store(root.path(), 0);
    put(&store, &scope, 1, &Arc::new(drawers(40))).await.expect("there is room");
    let directory = snapshot_directory(root.path());
    put(&store, &scope, 2, &Arc::new(drawers(50))).await.expect("there is room");
    let other = directory.with_file_name("020202020202");
    fs::copy(other.join("fields"), directory.join("fields")).expect("it can be copied");
    let find = async |id| store.find(&scope, named(id), View::root().id(), Instant::now()).await;
    let found = find(1).await;
    assert!(matches!(found, Err(StoreLookupError::Unknown)), "{found:?}");
    assert_eq!(find(2).await.expect("it is there").id, named(2));
}

/// A pipe in place of any file is damage, and keeps nobody waiting.
#[cfg(unix)]
#[tokio::test]
async fn a_pipe_keeps_nobody_waiting() {
    use super::files::files;
    use portion_gateway::store::file::load_or_create_secret;
    let make_pipe = |path: &Path| {
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.expect("mkfifo runs").success());
    };
    let root = tempfile::tempdir().expect("a directory");
    let (reuse, view, owner) = (ReuseKey::new(&list_bookings(), "{}"), [2; 5], [3; 16]);
    let store = open(&root);
    store.put(ada(1), fields(1)).await.expect("it can be written");
    store.put_view(ada(1), view, vec![7; 9]).await.expect("it can be written");
    store.set_reusable(ada(1).scope, reuse, Some(ada(1).id)).await.expect("it can be written");
    assert_eq!(store.claim(ada(1), owner).await, Ok(true));
    load_or_create_secret(root.path(), "cursors").expect("it is created");
    let directory = snapshot_directory(root.path());
    make_pipe(&directory.with_file_name("020202020202.gone"));
    for path in files(root.path()).iter().filter(|path| path.is_file()) {
        fs::remove_file(path).expect("it is there");
        make_pipe(path);
    }
    let store = open(&root);
    let gone = StoreReadError::SnapshotGone { header: Vec::new() };
    assert_eq!(store.get(ada(1), &[FieldName::Meta]).await, Err(gone.clone()));
    assert_eq!(store.touch(ada(1)).await, Err(gone));
    assert_eq!(store.get(ada(2), &[FieldName::Meta]).await, Err(StoreReadError::Unknown));
    assert_eq!(store.put_view(ada(1), view, vec![7; 9]).await, Err(StoreWriteError::SnapshotGone));
    assert_eq!(store.reusable(ada(1).scope, reuse).await, Ok(None));
    let claimed = store.claim(ada(1), owner).await;
    assert!(matches!(claimed, Err(StoreWriteError::Unreachable(_))), "{claimed:?}");
    let secret = load_or_create_secret(root.path(), "cursors").expect_err("it is a pipe");
    assert!(secret.to_string().contains("remove it"), "{secret}");
    assert!(store.status().is_available);
    // What is written again replaces them.
    store.put(ada(1), fields(2)).await.expect("it can be written");
    let names = [FieldName::Meta, FieldName::View(view)];
    assert_eq!(store.get(ada(1), &names).await, Ok(vec![Some(vec![2; 100]), None]));
    store.put_view(ada(1), view, vec![8; 9]).await.expect("it can be written");
    fs::remove_file(root.path().join("claims")).expect("it is there");
    assert_eq!(store.claim(ada(1), owner).await, Ok(true));
    assert_eq!(store.get(ada(1), &names).await, Ok(vec![Some(vec![2; 100]), Some(vec![8; 9])]));
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
    let remover = FileStore::open(root.path(), "server", FileStoreLimits { ttl: Duration::ZERO, ..LIMITS });
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
