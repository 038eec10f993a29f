//! Watches the directories on the way of a path and converts file system events for `debounce`.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::debounce::FileChange;

/// True if the system reports that a writer has closed a file: inotify does.
const REPORTS_CLOSE: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// Interval between polls of a file that cannot be watched.
pub(super) const DEGRADED_POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Maximum symbolic links, as in Linux (`path_resolution(7)`); a cycle of links ends here.
const MAX_SYMLINKS: usize = 40;

/// A message to the watch thread.
#[derive(Debug)]
pub(super) enum WatchMessage {
    /// An event or an error, with the time at which it was received.
    FsEvent(notify::Result<Event>, Instant),
    /// A request to stop.
    Stop,
}

/// Watches the directories on the way of a path.
#[derive(Default)]
pub(super) struct FileWatcher {
    watcher: Option<RecommendedWatcher>,
    resolved_path: ResolvedPath,
    watched_dirs: Vec<PathBuf>,
    /// True if a change is known that may cause no event.
    pub(super) is_degraded: bool,
}

impl FileWatcher {
    /// Watches the directories of a path and sends events to `messages`.
    pub(super) fn open(path: &Path, messages: Sender<WatchMessage>) -> Self {
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // Opening and reading cause events as well, including those of this process.
            let read =
                matches!(&event, Ok(Event { kind: EventKind::Access(of), .. }) if !is_write_close(*of));
            if !read {
                // Fails only if the receiver is gone.
                let _ = messages.send(WatchMessage::FsEvent(event, Instant::now()));
            }
        });
        let mut file_watcher = Self::default();
        match watcher {
            Ok(watcher) => {
                file_watcher.watcher = Some(watcher);
                file_watcher.update_watches(path);
            }
            Err(error) => file_watcher.mark_degraded(path, &error),
        }
        file_watcher
    }

    /// Resolves the path again, because its links and directories may have changed, and watches the new
    /// directories.
    pub(super) fn update_watches(&mut self, path: &Path) {
        let mut failed = None;
        // Resolving again detects changes that were made while the watches were set up.
        for _ in 0..4 {
            let route = ResolvedPath::resolve(path);
            let folders = route.watch_dirs();
            self.unwatch_where(|folder| !folders.contains(folder));
            let Some(watcher) = &mut self.watcher else { return };
            failed = None;
            for folder in folders {
                if self.watched_dirs.contains(&folder) {
                    continue;
                }
                match watcher.watch(&folder, RecursiveMode::NonRecursive) {
                    Ok(()) => self.watched_dirs.push(folder),
                    Err(error) => failed = Some(error),
                }
            }
            let settled = route == ResolvedPath::resolve(path);
            self.resolved_path = route;
            if settled {
                break;
            }
        }
        match failed {
            Some(error) => self.mark_degraded(path, &error),
            None if self.is_degraded => {
                self.is_degraded = false;
                tracing::info!(path = %path.display(), "the configuration file is watched again");
            }
            None => {}
        }
    }

    /// Replaces all watches, after a change that caused no event.
    pub(super) fn reset_watches(&mut self, path: &Path) {
        self.unwatch_where(|_| true);
        self.update_watches(path);
    }

    /// Returns the meaning of an event for the file, if it has one.
    pub(super) fn classify_event(&mut self, event: &notify::Result<Event>) -> Option<FileChange> {
        // Lost events and errors: the state is unknown, so everything is checked.
        let Ok(event) = event else { return Some(FileChange::Replaced) };
        if event.need_rescan() || event.paths.is_empty() {
            self.unwatch_where(|_| true);
            return Some(FileChange::Replaced);
        }
        let of_folder = |folder: &PathBuf| event.paths.contains(folder);
        if self.watched_dirs.iter().any(of_folder) && affects_directory(event.kind) {
            // The name may refer to another directory now; the watch stays with the old one.
            self.unwatch_where(of_folder);
            return Some(FileChange::Replaced);
        }
        let at = |place: &Path| event.paths.iter().any(|path| path == place);
        if self.resolved_path.target().is_some_and(at) {
            return classify_file_event(event.kind);
        }
        self.resolved_path.watch_points.iter().any(|place| at(place)).then_some(FileChange::Replaced)
    }

    /// Removes watches, so that [`update_watches`](Self::update_watches) sets them up again.
    fn unwatch_where(&mut self, which: impl Fn(&PathBuf) -> bool) {
        let Some(watcher) = &mut self.watcher else { return };
        self.watched_dirs.retain(|folder| {
            let goes = which(folder);
            if goes {
                // Fails if the directory, and with it the watch, is gone.
                let _ = watcher.unwatch(folder);
            }
            !goes
        });
    }

    /// Logs once that the file is polled instead of watched.
    pub(super) fn mark_degraded(&mut self, path: &Path, error: &notify::Error) {
        if !self.is_degraded {
            self.is_degraded = true;
            tracing::warn!(
                path = %path.display(),
                %error,
                "the configuration file cannot be watched; it is polled every {} ms instead. \
                 On Linux, fs.inotify.max_user_watches and max_user_instances may be too low",
                DEGRADED_POLL_INTERVAL.as_millis()
            );
        }
    }
}

fn classify_file_event(kind: EventKind) -> Option<FileChange> {
    match kind {
        EventKind::Access(of) => is_write_close(of).then_some(FileChange::Closed),
        EventKind::Modify(ModifyKind::Data(_)) if REPORTS_CLOSE => Some(FileChange::Writing),
        EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) => {
            Some(FileChange::Replaced)
        }
        _ => Some(FileChange::MetadataChanged),
    }
}

fn is_write_close(of: AccessKind) -> bool {
    of == AccessKind::Close(AccessMode::Write)
}

/// Returns true if a directory may have been replaced.
fn affects_directory(kind: EventKind) -> bool {
    matches!(kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) | EventKind::Create(_))
}

/// The places on the way of a path to its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ResolvedPath {
    /// Symbolic links, and as the last element the file, or the first missing place on the way to it. The
    /// parent directories of each are free of links.
    pub(super) watch_points: Vec<PathBuf>,
}

impl ResolvedPath {
    /// Resolves an absolute path.
    pub(super) fn resolve(path: &Path) -> Self {
        let mut ahead: VecDeque<PathStep> = path_steps(path).collect();
        let (mut places, mut real, mut links) = (Vec::new(), PathBuf::new(), 0);
        while let Some(step) = ahead.pop_front() {
            let name = match step {
                PathStep::Root(root) => {
                    real = root;
                    continue;
                }
                PathStep::Parent => {
                    real.pop();
                    continue;
                }
                PathStep::Child(name) => name,
            };
            real.push(name);
            let kind = fs::symlink_metadata(&real).map(|of| of.file_type());
            let target = match &kind {
                Ok(kind) if kind.is_symlink() && links < MAX_SYMLINKS => fs::read_link(&real).ok(),
                _ => None,
            };
            if let Some(target) = target {
                links += 1;
                places.push(real.clone());
                real.pop();
                for step in path_steps(&target).collect::<Vec<_>>().into_iter().rev() {
                    ahead.push_front(step);
                }
            } else if !kind.is_ok_and(|kind| kind.is_dir()) {
                break;
            }
        }
        places.push(real);
        Self { watch_points: places }
    }

    /// Returns the directories to watch for a change of any place. All of them exist.
    fn watch_dirs(&self) -> Vec<PathBuf> {
        let mut folders: Vec<_> =
            self.watch_points.iter().filter_map(|place| place.parent()).map(Path::to_owned).collect();
        folders.sort_unstable();
        folders.dedup();
        folders
    }

    /// Returns the file, or the first missing place on the way to it.
    pub(super) fn target(&self) -> Option<&Path> {
        self.watch_points.last().map(PathBuf::as_path)
    }
}

enum PathStep {
    Root(PathBuf),
    Parent,
    Child(OsString),
}

fn path_steps(path: &Path) -> impl Iterator<Item = PathStep> + '_ {
    let root = path.has_root().then(|| PathStep::Root(path.ancestors().last().unwrap_or(path).to_owned()));
    root.into_iter().chain(path.components().filter_map(|component| match component {
        Component::ParentDir => Some(PathStep::Parent),
        Component::Normal(name) => Some(PathStep::Child(name.to_owned())),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    }))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc::{self, Receiver};

    use notify::event::{CreateKind, DataChange, Flag, MetadataKind, RemoveKind, RenameMode};

    use super::*;

    fn check(event: &Event, expect: Option<FileChange>) {
        let mut file_watcher = FileWatcher::default();
        file_watcher.resolved_path.watch_points =
            ["/etc/p.yaml", "/etc/..data", "/etc/d1/p.yaml"].map(PathBuf::from).to_vec();
        file_watcher.watched_dirs = file_watcher.resolved_path.watch_dirs();
        assert_eq!(file_watcher.classify_event(&Ok(event.clone())), expect, "{event:?}");
    }

    fn event(kind: EventKind, path: &str) -> Event {
        Event::new(kind).add_path(PathBuf::from(path))
    }

    #[test]
    fn events_of_the_file_are_classified() {
        let check = |kind, expect| check(&event(kind, "/etc/d1/p.yaml"), Some(expect));
        let data = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        check(data, if REPORTS_CLOSE { FileChange::Writing } else { FileChange::MetadataChanged });
        check(EventKind::Access(AccessKind::Close(AccessMode::Write)), FileChange::Closed);
        check(EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)), FileChange::MetadataChanged);
        check(EventKind::Modify(ModifyKind::Name(RenameMode::To)), FileChange::Replaced);
        check(EventKind::Create(CreateKind::File), FileChange::Replaced);
        check(EventKind::Remove(RemoveKind::File), FileChange::Replaced);
    }

    #[test]
    fn links_and_directories_replace_the_file() {
        let (to, gone) = (ModifyKind::Name(RenameMode::To), EventKind::Remove(RemoveKind::Folder));
        check(&event(EventKind::Modify(to), "/etc/..data"), Some(FileChange::Replaced));
        check(&event(gone, "/etc/d1"), Some(FileChange::Replaced));
        check(&event(gone, "/etc"), Some(FileChange::Replaced));
    }

    #[test]
    fn other_files_are_ignored() {
        let data = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        check(&event(data, "/etc/p.yaml.swp"), None);
        check(&event(EventKind::Create(CreateKind::Folder), "/etc/d2"), None);
        check(&event(EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)), "/etc"), None);
    }

    #[test]
    fn lost_events_count_as_a_replacement() {
        check(&Event::new(EventKind::Other).set_flag(Flag::Rescan), Some(FileChange::Replaced));
        let mut file_watcher = FileWatcher::default();
        assert_eq!(
            file_watcher.classify_event(&Err(notify::Error::generic("trouble"))),
            Some(FileChange::Replaced)
        );
    }

    /// Replaces a directory on the way, with or without others below it, lets `notice` handle that, and
    /// asserts that the file in the new one is watched.
    #[cfg(unix)]
    fn check_replaced(folder: &str, notice: impl Fn(&mut FileWatcher, &Path, &Receiver<WatchMessage>)) {
        let (messages, root) = (mpsc::channel(), tempfile::tempdir().expect("a directory"));
        let path = root.path().join("above/etc/p.yaml");
        let make = || {
            fs::create_dir_all(root.path().join("above/etc")).expect("a directory");
            fs::write(&path, "a: 1\n").expect("a file");
        };
        make();
        let mut file_watcher = FileWatcher::open(&path, messages.0);
        fs::rename(root.path().join(folder), root.path().join("old")).expect("it can be moved");
        make();
        notice(&mut file_watcher, &path, &messages.1);
        while messages.1.try_recv().is_ok() {}
        fs::remove_file(&path).expect("it was there");
        next(&mut file_watcher, &messages.1);
    }

    /// Waits for an event that concerns the file.
    #[cfg(unix)]
    fn next(file_watcher: &mut FileWatcher, messages: &Receiver<WatchMessage>) -> FileChange {
        loop {
            let sign = messages.recv_timeout(Duration::from_mins(1)).expect("something stirs");
            let WatchMessage::FsEvent(event, _) = sign else { panic!("nobody stops it") };
            if let Some(notice) = file_watcher.classify_event(&event) {
                return notice;
            }
        }
    }

    #[test]
    #[cfg(unix)]
    fn another_directory_of_the_same_name_is_watched() {
        check_replaced("above/etc", |file_watcher, path, messages| {
            assert_eq!(next(file_watcher, messages), FileChange::Replaced);
            file_watcher.update_watches(path);
        });
        check_replaced("above", |file_watcher, path, _| file_watcher.reset_watches(path));
    }
}

#[cfg(all(test, unix))]
mod resolved_path_tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Creates links (name, target) and files (name, no target), and asserts the places on the way of a
    /// path.
    fn check(there: &[(&str, Option<&str>)], path: &str, expect: &[&str]) {
        let folder = tempfile::tempdir().expect("a directory");
        let root = folder.path().canonicalize().expect("it is there");
        for (name, target) in there {
            let at = root.join(name);
            fs::create_dir_all(at.parent().expect("a directory")).expect("it can be made");
            match target {
                Some(target) => symlink(target, at).expect("a link"),
                None => fs::write(at, "").expect("a file"),
            }
        }
        let expect: Vec<_> = expect.iter().map(|place| root.join(place)).collect();
        assert_eq!(ResolvedPath::resolve(&root.join(path)).watch_points, expect, "{path} among {there:?}");
    }

    #[test]
    fn every_link_on_the_way_is_a_watch_point() {
        check(&[("etc/p.yaml", None)], "etc/p.yaml", &["etc/p.yaml"]);
        let mounted = [("d1/p.yaml", None), ("..data", Some("d1")), ("p.yaml", Some("..data/p.yaml"))];
        check(&mounted, "p.yaml", &["p.yaml", "..data", "d1/p.yaml"]);
        let released = [("v1/conf/p.yaml", None), ("now/current", Some("../v1"))];
        check(&released, "now/current/conf/p.yaml", &["now/current", "v1/conf/p.yaml"]);
        check(
            &released,
            "now/current/../now/current/conf/p.yaml",
            &["now/current", "now/current", "v1/conf/p.yaml"],
        );
    }

    #[test]
    fn the_first_missing_place_is_a_watch_point() {
        check(&[("etc/other", None)], "etc/not/yet/p.yaml", &["etc/not"]);
        check(&[("p.yaml", Some("away/p.yaml"))], "p.yaml", &["p.yaml", "away"]);
        check(&[("file", None)], "file/p.yaml", &["file"]);
    }

    #[test]
    fn a_cycle_of_links_ends() {
        let ring = [("a", Some("b")), ("b", Some("a"))];
        let expect: Vec<_> = ["a", "b"].into_iter().cycle().take(MAX_SYMLINKS + 1).collect();
        check(&ring, "a", &expect);
    }
}
