//! What the system tells of the directories that a path goes through, as signs for `settle`.

use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::debounce::FileChange;
use super::resolved_path::ResolvedPath;

/// Whether the system tells that a writer has closed a file: inotify does.
const REPORTS_CLOSE: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// How often a file is looked at that is not watched.
pub(super) const DEGRADED_POLL_INTERVAL: Duration = Duration::from_millis(500);

/// What wakes the thread.
#[derive(Debug)]
pub(super) enum WatchMessage {
    /// Something happened in a directory at this time, or could not be told.
    FsEvent(notify::Result<Event>, Instant),
    /// The watch is no longer wanted.
    Stop,
}

/// Sees what happens along a route.
pub(super) struct FileWatcher {
    watcher: Option<RecommendedWatcher>,
    resolved_path: ResolvedPath,
    watched_dirs: Vec<PathBuf>,
    /// Whether everything that should be watched is, as far as was told.
    healthy: bool,
}

impl FileWatcher {
    /// Watches along a path; what is seen goes to `signs`.
    pub(super) fn open(path: &Path, signs: Sender<WatchMessage>) -> Self {
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // That somebody opens or reads a file is told as well, ourselves included.
            let read =
                matches!(&event, Ok(Event { kind: EventKind::Access(of), .. }) if !is_write_close(*of));
            if !read {
                // It fails only when nobody listens any more.
                let _ = signs.send(WatchMessage::FsEvent(event, Instant::now()));
            }
        });
        match watcher {
            Ok(watcher) => {
                let mut eyes = Self { watcher: Some(watcher), ..Self::disabled() };
                eyes.update_watches(path);
                eyes
            }
            Err(error) => {
                let mut eyes = Self::disabled();
                eyes.mark_degraded(path, &error);
                eyes
            }
        }
    }

    /// Sees nothing.
    pub(super) fn disabled() -> Self {
        Self {
            watcher: None,
            resolved_path: ResolvedPath::default(),
            watched_dirs: Vec::new(),
            healthy: true,
        }
    }

    /// Whether signs can be expected of every change, as far as is known.
    pub(super) fn is_healthy(&self) -> bool {
        self.healthy
    }

    /// Follows the path anew, for what it goes through may be other links and directories now, and watches these.
    pub(super) fn update_watches(&mut self, path: &Path) {
        let Some(watcher) = &mut self.watcher else { return };
        let mut failed = None;
        // What comes into being while the watches are set up is seen by following once more.
        for _ in 0..4 {
            let route = ResolvedPath::resolve(path);
            let folders = route.watch_dirs();
            self.watched_dirs.retain(|folder| {
                let stays = folders.contains(folder);
                if !stays {
                    // It fails where the directory is gone, and its watch with it.
                    let _ = watcher.unwatch(folder);
                }
                stays
            });
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
            None if !self.healthy => {
                self.healthy = true;
                tracing::info!(path = %path.display(), "the configuration is watched again");
            }
            None => {}
        }
    }

    /// Watches everything anew: something happened that was not seen.
    pub(super) fn reset_watches(&mut self, path: &Path) {
        self.unwatch_where(|_| true);
        self.update_watches(path);
    }

    /// What an event means for the file, if anything.
    pub(super) fn classify_event(&mut self, event: &notify::Result<Event>) -> Option<FileChange> {
        // Events that were lost, and trouble: nothing is known, so everything is looked at.
        let Ok(event) = event else { return Some(FileChange::Replaced) };
        if event.need_rescan() || event.paths.is_empty() {
            self.unwatch_where(|_| true);
            return Some(FileChange::Replaced);
        }
        let of_folder = |folder: &PathBuf| event.paths.contains(folder);
        if self.watched_dirs.iter().any(of_folder) && affects_directory(event.kind) {
            // Its name may stand for another directory now; the watch stays with the old one.
            self.unwatch_where(of_folder);
            return Some(FileChange::Replaced);
        }
        let at = |place: &Path| event.paths.iter().any(|path| path == place);
        if self.resolved_path.target().is_some_and(at) {
            return classify_file_event(event.kind);
        }
        self.resolved_path.watch_points.iter().any(|place| at(place)).then_some(FileChange::Replaced)
    }

    /// Gives watches up, so that [`follow`](Self::follow) sets them up anew.
    fn unwatch_where(&mut self, which: impl Fn(&PathBuf) -> bool) {
        let Some(watcher) = &mut self.watcher else { return };
        self.watched_dirs.retain(|folder| {
            let goes = which(folder);
            if goes {
                let _ = watcher.unwatch(folder);
            }
            !goes
        });
    }

    /// Says once that the file is looked at rather than watched.
    pub(super) fn mark_degraded(&mut self, path: &Path, error: &notify::Error) {
        if self.healthy {
            self.healthy = false;
            tracing::warn!(
                path = %path.display(),
                %error,
                "the configuration cannot be watched; looking at it every {} ms instead. \
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

/// Whether a directory itself may be another one.
fn affects_directory(kind: EventKind) -> bool {
    matches!(kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) | EventKind::Create(_))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc::{self, Receiver};

    use notify::event::{CreateKind, DataChange, Flag, MetadataKind, RemoveKind, RenameMode};

    use super::*;

    fn check(event: &Event, expect: Option<FileChange>) {
        let mut eyes = FileWatcher::disabled();
        eyes.resolved_path.watch_points =
            ["/etc/p.yaml", "/etc/..data", "/etc/d1/p.yaml"].map(PathBuf::from).to_vec();
        eyes.watched_dirs = eyes.resolved_path.watch_dirs();
        assert_eq!(eyes.classify_event(&Ok(event.clone())), expect, "{event:?}");
    }

    fn event(kind: EventKind, path: &str) -> Event {
        Event::new(kind).add_path(PathBuf::from(path))
    }

    #[test]
    fn events_of_the_file_are_told_apart() {
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
    fn neighbours_are_nobodys_business() {
        let data = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        check(&event(data, "/etc/p.yaml.swp"), None);
        check(&event(EventKind::Create(CreateKind::Folder), "/etc/d2"), None);
        check(&event(EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)), "/etc"), None);
    }

    #[test]
    fn what_was_lost_may_have_been_anything() {
        check(&Event::new(EventKind::Other).set_flag(Flag::Rescan), Some(FileChange::Replaced));
        let mut eyes = FileWatcher::disabled();
        assert_eq!(eyes.classify_event(&Err(notify::Error::generic("trouble"))), Some(FileChange::Replaced));
    }

    /// Replaces a directory on the way, with others below it or not, has that noticed, and expects the file in the new
    /// one to be watched.
    #[cfg(unix)]
    fn check_replaced(folder: &str, notice: impl Fn(&mut FileWatcher, &Path, &Receiver<WatchMessage>)) {
        let (signs, root) = (mpsc::channel(), tempfile::tempdir().expect("a directory"));
        let path = root.path().join("above/etc/p.yaml");
        let make = || {
            fs::create_dir_all(root.path().join("above/etc")).expect("a directory");
            fs::write(&path, "a: 1\n").expect("a file");
        };
        make();
        let mut eyes = FileWatcher::open(&path, signs.0);
        fs::rename(root.path().join(folder), root.path().join("old")).expect("it can be moved");
        make();
        notice(&mut eyes, &path, &signs.1);
        while signs.1.try_recv().is_ok() {}
        fs::remove_file(&path).expect("it was there");
        next(&mut eyes, &signs.1);
    }

    /// Waits for a sign that means something for the file.
    #[cfg(unix)]
    fn next(eyes: &mut FileWatcher, signs: &Receiver<WatchMessage>) -> FileChange {
        loop {
            let sign = signs.recv_timeout(Duration::from_mins(1)).expect("something stirs");
            let WatchMessage::FsEvent(event, _) = sign else { panic!("nobody stops it") };
            if let Some(notice) = eyes.classify_event(&event) {
                return notice;
            }
        }
    }

    #[test]
    #[cfg(unix)]
    fn another_directory_of_the_same_name_is_watched() {
        check_replaced("above/etc", |eyes, path, signs| {
            assert_eq!(next(eyes, signs), FileChange::Replaced);
            eyes.update_watches(path);
        });
        check_replaced("above", |eyes, path, _| eyes.reset_watches(path));
    }
}
