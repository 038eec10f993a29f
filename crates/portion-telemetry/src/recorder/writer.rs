//! The one who writes: takes what waits, a batch in a transaction, and forgets what is old.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use portion_core::event::Event;

use super::Settings;
use super::desk::Desk;
use super::episode::{Episode, tell};
use crate::store::{self, Cure, Keep, Store, Trouble};

/// Events of a transaction at most.
pub(super) const BATCH: usize = 512;
/// How long an event waits at most: where some come, and where none came for a while.
const PAUSE: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(1));
/// How long a file is left alone that could not be written: at first, and at most.
const RESPITE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// Steps that are taken in a row where much is not added up yet: some tens of milliseconds.
const STEPS: usize = 4;
/// How often old records are looked for.
const TENDING: Duration = Duration::from_mins(1);

/// The one who writes.
#[derive(Debug)]
pub(super) struct Writer {
    settings: Settings,
    events: Receiver<Event>,
    desk: Arc<Desk>,
    /// What is to be written next: what could not be is kept, and tried again.
    batch: Vec<Event>,
    store: Option<Store>,
    respite: Duration,
    /// Not before then is anything tried that failed.
    retry: Option<Instant>,
    tended: Option<Instant>,
    episode: Episode,
}

/// What a clock says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    pub(super) instant: Instant,
    /// Microseconds since 1970.
    pub(super) at: u64,
}

impl Now {
    fn read() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { instant: Instant::now(), at: u64::try_from(since.as_micros()).unwrap_or(u64::MAX) }
    }
}

impl Writer {
    pub(super) fn new(settings: Settings, events: Receiver<Event>, desk: Arc<Desk>) -> Self {
        Self {
            settings,
            events,
            desk,
            batch: Vec::with_capacity(BATCH),
            store: None,
            respite: RESPITE.0,
            retry: None,
            tended: None,
            episode: Episode::default(),
        }
    }

    /// Writes until nobody tells anything more.
    pub(super) fn run(mut self) {
        let _ended = Ended(Arc::clone(&self.desk));
        let mut pause = PAUSE.0;
        loop {
            let closing = self.desk.is_closing();
            let before = self.desk.figures().written;
            self.turn(Now::read());
            let idle = self.desk.figures().written == before;
            pause = if idle { (pause * 2).min(PAUSE.1) } else { PAUSE.0 };
            self.desk.turn(false);
            if closing {
                break;
            }
            thread::park_timeout(pause);
        }
        // The file is closed before it is told.
        self.store = None;
    }

    /// Writes what waits, where it can be written.
    pub(super) fn turn(&mut self, now: Now) {
        let hurry = self.desk.take_hurry();
        if !hurry && self.retry.is_some_and(|retry| now.instant < retry) {
            return self.look(now, true, None);
        }
        match self.write(now) {
            Ok(()) => {
                (self.respite, self.retry) = (RESPITE.0, None);
                self.desk.succeed();
                self.look(now, false, None);
            }
            Err(trouble) => {
                let why = trouble.of(&self.settings.path);
                self.desk.fail(why.clone());
                self.retry = Some(now.instant + self.respite);
                self.respite = (self.respite * 2).min(RESPITE.1);
                self.look(now, true, Some(&why));
                self.mend(&trouble);
            }
        }
    }

    fn write(&mut self, now: Now) -> Result<(), Trouble> {
        let mut store = self.opened()?;
        self.tend(&mut store, now);
        let written = self.write_all(&mut store);
        self.store = Some(store);
        written
    }

    fn write_all(&mut self, store: &mut Store) -> Result<(), Trouble> {
        loop {
            let room = BATCH.saturating_sub(self.batch.len());
            self.batch.extend(self.events.try_iter().take(room));
            if self.batch.is_empty() {
                return catch_up(store);
            }
            store.write(&self.batch)?;
            self.desk.wrote(self.batch.len());
            self.batch.clear();
            store.roll()?;
        }
    }

    /// The file, which is opened where it is not, or where another one stands in its place.
    fn opened(&mut self) -> Result<Store, Trouble> {
        let path = &self.settings.path;
        match self.store.take() {
            Some(store) if store.stands_at(path) => Ok(store),
            other => {
                drop(other);
                // Some room above what is kept: old records go only now and then.
                store::open(path, self.settings.keep_bytes.saturating_mul(5) / 4)
            }
        }
    }

    /// Takes a step towards what is to be kept, where it is time.
    fn tend(&mut self, store: &mut Store, now: Now) {
        if self.tended.is_some_and(|tended| now.instant.saturating_duration_since(tended) < TENDING) {
            return;
        }
        let keep = Keep { age: self.settings.keep_for, bytes: self.settings.keep_bytes };
        let more = store.retain(now.at, &keep).unwrap_or_else(|error| {
            tracing::debug!(%error, "old telemetry is not forgotten yet");
            false
        });
        self.tended = (!more).then_some(now.instant);
    }

    /// Sees to it that the next try may go better.
    fn mend(&mut self, trouble: &Trouble) {
        match trouble.cure() {
            // To forget old records may make room.
            Cure::Wait => self.tended = None,
            Cure::Reopen => self.store = None,
            Cure::Inspect => {
                if let Some(store) = self.store.take()
                    && let Err(error) = store.give_up(&self.settings.path)
                {
                    tracing::debug!(%error, "corrupt telemetry is not set aside yet");
                }
            }
            Cure::Skip => {
                self.desk.lose(self.batch.len());
                self.batch.clear();
                self.store = None;
            }
        }
    }

    fn look(&mut self, now: Now, failing: bool, why: Option<&str>) {
        if let Some(told) = self.episode.look(now.instant, failing, self.desk.figures().dropped) {
            tell(told, why, || self.desk.take_untold());
        }
    }
}

/// Adds up what an earlier version of this program wrote, some of it each time.
fn catch_up(store: &mut Store) -> Result<(), Trouble> {
    for _ in 0..STEPS {
        if !store.roll()? {
            break;
        }
    }
    Ok(())
}

/// Tells that the writer has ended, however it did.
struct Ended(Arc<Desk>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.turn(true);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{SyncSender, sync_channel};

    use portion_core::event::Served;

    use super::*;

    /// A writer without a thread, whom one can tell what the time is.
    fn writer(directory: &tempfile::TempDir) -> (Writer, SyncSender<Event>) {
        let (sender, receiver) = sync_channel(2_000);
        let settings = Settings::new(directory.path().join("telemetry.db"));
        (Writer::new(settings, receiver, Arc::default()), sender)
    }

    fn tell(writer: &Writer, sender: &SyncSender<Event>, events: u64) {
        for at in 0..events {
            writer.desk.comes();
            let served = Served { at, endpoint: "list_bookings".into(), kind: "tool", ..Served::default() };
            sender.send(Event::Served(Arc::new(served))).expect("there is room");
        }
    }

    #[test]
    fn a_full_disk_is_tried_again_later() {
        let directory = tempfile::tempdir().expect("directories can be made");
        let (mut writer, sender) = writer(&directory);
        let start = Instant::now();
        let after = |writer: &mut Writer, millis| {
            writer.turn(Now { instant: start + Duration::from_millis(millis), at: 1_000 });
            let figures = writer.desk.figures();
            (figures.written, figures.failed, figures.queue)
        };
        tell(&writer, &sender, 100);
        assert_eq!(after(&mut writer, 0), (100, 0, 0));
        let pages = |writer: &Writer, most: i64| {
            let store = writer.store.as_ref().expect("it is open");
            let set = store.connection().pragma_update_and_check(None, "max_page_count", most, |_| Ok(()));
            set.expect("it can be set");
        };
        pages(&writer, 1);
        tell(&writer, &sender, 1_500);
        assert_eq!(writer.desk.figures().trouble, None);
        assert_eq!(after(&mut writer, 200), (100, 1, 1_500));
        let trouble = writer.desk.figures().trouble.expect("it fails");
        assert!(trouble.contains("telemetry.db: ") && trouble.contains("full"), "{trouble}");
        pages(&writer, 100_000);
        assert_eq!(after(&mut writer, 400), (100, 1, 1_500), "not yet");
        assert!(writer.desk.figures().trouble.is_some(), "nor is it well");
        assert_eq!(after(&mut writer, 700), (1_600, 1, 0));
        assert_eq!(writer.desk.figures().trouble, None);
    }

    #[test]
    fn the_respite_grows_and_somebody_who_waits_ends_it() {
        let directory = tempfile::tempdir().expect("directories can be made");
        let (mut writer, sender) = writer(&directory);
        writer.settings.path = directory.path().join("file/telemetry.db");
        std::fs::write(directory.path().join("file"), "no directory").expect("it can be written");
        tell(&writer, &sender, 1);
        let start = Instant::now();
        let mut tries = |millis, hurry: bool| {
            if hurry {
                writer.desk.flush(Duration::ZERO, || {});
            }
            let before = writer.desk.figures().failed;
            writer.turn(Now { instant: start + Duration::from_millis(millis), at: 0 });
            writer.desk.figures().failed > before
        };
        // Half a second, then one, then two.
        let found: Vec<u64> = (0..20).map(|step| step * 250).filter(|millis| tries(*millis, false)).collect();
        assert_eq!(found, [0, 500, 1_500, 3_500]);
        assert!(!tries(5_000, false));
        assert!(tries(5_001, true));
    }
}
