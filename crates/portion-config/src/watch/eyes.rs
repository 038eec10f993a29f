//! What the system tells of the directories that a path goes through, as signs for `settle`.

use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::route::Route;
use super::settle::Notice;

/// Whether the system tells that a writer has closed a file: inotify does.
const CLOSES_ARE_TOLD: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// How often a file is looked at that is not watched.
pub(super) const UNWATCHED: Duration = Duration::from_millis(500);

/// What wakes the thread.
#[derive(Debug)]
pub(super) enum Sign {
    /// Something happened in a directory at this time, or could not be told.
    Stirred(notify::Result<Event>, Instant),
    /// The watch is no longer wanted.
    Stop,
}

/// Sees what happens along a route.
pub(super) struct Eyes {
    watcher: Option<RecommendedWatcher>,
    route: Route,
    watched: Vec<PathBuf>,
    /// Whether everything that should be watched is, as far as was told.
    sharp: bool,
}

impl Eyes {
    /// Watches along a path; what is seen goes to `signs`.
    pub(super) fn open(path: &Path, signs: Sender<Sign>) -> Self {
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // That somebody opens or reads a file is told as well, ourselves included.
            let read = matches!(&event, Ok(Event { kind: EventKind::Access(of), .. }) if !closed(*of));
            if !read {
                // It fails only when nobody listens any more.
                let _ = signs.send(Sign::Stirred(event, Instant::now()));
            }
        });
        match watcher {
            Ok(watcher) => {
                let mut eyes = Self { watcher: Some(watcher), ..Self::shut() };
                eyes.follow(path);
                eyes
            }
            Err(error) => {
                let mut eyes = Self::shut();
                eyes.blurred(path, &error);
                eyes
            }
        }
    }

    /// Sees nothing.
    pub(super) fn shut() -> Self {
        Self { watcher: None, route: Route::default(), watched: Vec::new(), sharp: true }
    }

    /// Whether signs can be expected of every change, as far as is known.
    pub(super) fn sharp(&self) -> bool {
        self.sharp
    }

    /// Follows the path anew, for what it goes through may be other links and directories now, and watches these.
    pub(super) fn follow(&mut self, path: &Path) {
        let Some(watcher) = &mut self.watcher else { return };
        let mut failed = None;
        // What comes into being while the watches are set up is seen by following once more.
        for _ in 0..4 {
            let route = Route::of(path);
            let folders = route.folders();
            self.watched.retain(|folder| {
                let stays = folders.contains(folder);
                if !stays {
                    // It fails where the directory is gone, and its watch with it.
                    let _ = watcher.unwatch(folder);
                }
                stays
            });
            failed = None;
            for folder in folders {
                if self.watched.contains(&folder) {
                    continue;
                }
                match watcher.watch(&folder, RecursiveMode::NonRecursive) {
                    Ok(()) => self.watched.push(folder),
                    Err(error) => failed = Some(error),
                }
            }
            let settled = route == Route::of(path);
            self.route = route;
            if settled {
                break;
            }
        }
        match failed {
            Some(error) => self.blurred(path, &error),
            None if !self.sharp => {
                self.sharp = true;
                tracing::info!(path = %path.display(), "the configuration is watched again");
            }
            None => {}
        }
    }

    /// Watches everything anew: something happened that was not seen.
    pub(super) fn renew(&mut self, path: &Path) {
        self.forget(|_| true);
        self.follow(path);
    }

    /// What an event means for the file, if anything.
    pub(super) fn notice(&mut self, event: &notify::Result<Event>) -> Option<Notice> {
        // Events that were lost, and trouble: nothing is known, so everything is looked at.
        let Ok(event) = event else { return Some(Notice::Replaced) };
        if event.need_rescan() || event.paths.is_empty() {
            self.forget(|_| true);
            return Some(Notice::Replaced);
        }
        let of_folder = |folder: &PathBuf| event.paths.contains(folder);
        if self.watched.iter().any(of_folder) && structural(event.kind) {
            // Its name may stand for another directory now; the watch stays with the old one.
            self.forget(of_folder);
            return Some(Notice::Replaced);
        }
        let at = |place: &Path| event.paths.iter().any(|path| path == place);
        if self.route.end().is_some_and(at) {
            return notice_of_file(event.kind);
        }
        self.route.places.iter().any(|place| at(place)).then_some(Notice::Replaced)
    }

    /// Gives watches up, so that [`follow`](Self::follow) sets them up anew.
    fn forget(&mut self, which: impl Fn(&PathBuf) -> bool) {
        let Some(watcher) = &mut self.watcher else { return };
        self.watched.retain(|folder| {
            let goes = which(folder);
            if goes {
                let _ = watcher.unwatch(folder);
            }
            !goes
        });
    }

    /// Says once that the file is looked at rather than watched.
    pub(super) fn blurred(&mut self, path: &Path, error: &notify::Error) {
        if self.sharp {
            self.sharp = false;
            tracing::warn!(
                path = %path.display(),
                %error,
                "the configuration cannot be watched; looking at it every {} ms instead. \
                 On Linux, fs.inotify.max_user_watches and max_user_instances may be too low",
                UNWATCHED.as_millis()
            );
        }
    }
}

fn notice_of_file(kind: EventKind) -> Option<Notice> {
    match kind {
        EventKind::Access(of) => closed(of).then_some(Notice::Closed),
        EventKind::Modify(ModifyKind::Data(_)) if CLOSES_ARE_TOLD => Some(Notice::Writing),
        EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) => {
            Some(Notice::Replaced)
        }
        _ => Some(Notice::Touched),
    }
}

fn closed(of: AccessKind) -> bool {
    of == AccessKind::Close(AccessMode::Write)
}

/// Whether a directory itself may be another one.
fn structural(kind: EventKind) -> bool {
    matches!(kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) | EventKind::Create(_))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc::{self, Receiver};

    use notify::event::{CreateKind, DataChange, Flag, MetadataKind, RemoveKind, RenameMode};

    use super::*;

    fn check(event: &Event, expect: Option<Notice>) {
        let mut eyes = Eyes::shut();
        eyes.route.places = ["/etc/p.yaml", "/etc/..data", "/etc/d1/p.yaml"].map(PathBuf::from).to_vec();
        eyes.watched = eyes.route.folders();
        assert_eq!(eyes.notice(&Ok(event.clone())), expect, "{event:?}");
    }

    fn event(kind: EventKind, path: &str) -> Event {
        Event::new(kind).add_path(PathBuf::from(path))
    }

    #[test]
    fn events_of_the_file_are_told_apart() {
        let check = |kind, expect| check(&event(kind, "/etc/d1/p.yaml"), Some(expect));
        let data = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        check(data, if CLOSES_ARE_TOLD { Notice::Writing } else { Notice::Touched });
        check(EventKind::Access(AccessKind::Close(AccessMode::Write)), Notice::Closed);
        check(EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)), Notice::Touched);
        check(EventKind::Modify(ModifyKind::Name(RenameMode::To)), Notice::Replaced);
        check(EventKind::Create(CreateKind::File), Notice::Replaced);
        check(EventKind::Remove(RemoveKind::File), Notice::Replaced);
    }

    #[test]
    fn links_and_directories_replace_the_file() {
        let (to, gone) = (ModifyKind::Name(RenameMode::To), EventKind::Remove(RemoveKind::Folder));
        check(&event(EventKind::Modify(to), "/etc/..data"), Some(Notice::Replaced));
        check(&event(gone, "/etc/d1"), Some(Notice::Replaced));
        check(&event(gone, "/etc"), Some(Notice::Replaced));
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
        check(&Event::new(EventKind::Other).set_flag(Flag::Rescan), Some(Notice::Replaced));
        let mut eyes = Eyes::shut();
        assert_eq!(eyes.notice(&Err(notify::Error::generic("trouble"))), Some(Notice::Replaced));
    }

    /// Replaces a directory on the way, with others below it or not, has that noticed, and expects the file in the new
    /// one to be watched.
    #[cfg(unix)]
    fn check_replaced(folder: &str, notice: impl Fn(&mut Eyes, &Path, &Receiver<Sign>)) {
        let (signs, root) = (mpsc::channel(), tempfile::tempdir().expect("a directory"));
        let path = root.path().join("above/etc/p.yaml");
        let make = || {
            fs::create_dir_all(root.path().join("above/etc")).expect("a directory");
            fs::write(&path, "a: 1\n").expect("a file");
        };
        make();
        let mut eyes = Eyes::open(&path, signs.0);
        fs::rename(root.path().join(folder), root.path().join("old")).expect("it can be moved");
        make();
        notice(&mut eyes, &path, &signs.1);
        while signs.1.try_recv().is_ok() {}
        fs::remove_file(&path).expect("it was there");
        next(&mut eyes, &signs.1);
    }

    /// Waits for a sign that means something for the file.
    #[cfg(unix)]
    fn next(eyes: &mut Eyes, signs: &Receiver<Sign>) -> Notice {
        loop {
            let sign = signs.recv_timeout(Duration::from_mins(1)).expect("something stirs");
            let Sign::Stirred(event, _) = sign else { panic!("nobody stops it") };
            if let Some(notice) = eyes.notice(&event) {
                return notice;
            }
        }
    }

    #[test]
    #[cfg(unix)]
    fn another_directory_of_the_same_name_is_watched() {
        check_replaced("above/etc", |eyes, path, signs| {
            assert_eq!(next(eyes, signs), Notice::Replaced);
            eyes.follow(path);
        });
        check_replaced("above", |eyes, path, _| eyes.renew(path));
    }
}
