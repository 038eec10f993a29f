//! Tests that a configuration stays in force until a valid one replaces it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use portion_config::history::History;
use portion_config::live::LiveConfig;
use portion_config::{Config, Sources};
use portion_core::event::{Event, Observer};
use portion_core::policy::ClientLimits;
use portion_policy::endpoint::PolicySource as _;

/// Longer than any change takes.
const PATIENCE: Duration = Duration::from_secs(20);

struct EventSender(Mutex<std::sync::mpsc::Sender<Event>>);

impl Observer for EventSender {
    fn observe(&self, event: Event) {
        let _ = self.0.lock().expect("nobody panics with it").send(event);
    }
}

/// A watched file, the events it causes, and the threshold in force.
struct Fixture {
    folder: tempfile::TempDir,
    events: Receiver<Event>,
    threshold: Arc<Mutex<usize>>,
    live: LiveConfig,
}

fn threshold(config: &Arc<Config>) -> usize {
    config.endpoint_config(None).limits.resolve(ClientLimits::UNKNOWN).token_budget_threshold
}

impl Fixture {
    fn new(text: &str) -> Self {
        Self::within(tempfile::tempdir().expect("a directory"), text)
    }

    /// Starts like another process with the same file.
    fn within(folder: tempfile::TempDir, text: &str) -> Self {
        let file = file(folder.path());
        fs::write(&file, text).expect("written");
        let mut history = History::open(&folder.path().join("history")).expect("a history");
        let sources = Sources { file: Some((file, text.to_owned())), ..Sources::default() };
        let (config, _) = LiveConfig::load(&sources, Some(&mut history)).expect("valid");
        let config = Arc::new(config);
        let (sender, events) = channel();
        let current = Arc::new(Mutex::new(threshold(&config)));
        let applied = Arc::clone(&current);
        let check_start = Box::new(|config: &Config| {
            let taken = config.explicit_admin().map(|at| format!("portion.yaml: {at} is taken"));
            taken.into_iter().collect::<Vec<_>>()
        });
        let apply_config = Box::new(move |config: &Arc<Config>| {
            *applied.lock().expect("nobody panics with it") = threshold(config);
        });
        let observer = Arc::new(EventSender(Mutex::new(sender)));
        let live = LiveConfig::start(sources, config, Some(history), observer, check_start, apply_config);
        let live = live.expect("watched");
        Self { folder, events, threshold: current, live }
    }

    /// Replaces the file and returns the next event.
    fn says(&self, text: &str) -> Event {
        let new = self.folder.path().join("new");
        fs::write(&new, text).expect("written");
        fs::rename(new, file(self.folder.path())).expect("renamed");
        self.events.recv_timeout(PATIENCE).expect("it is heard")
    }

    fn in_force(&self) -> usize {
        *self.threshold.lock().expect("nobody panics with it")
    }
}

fn file(folder: &Path) -> PathBuf {
    folder.join("portion.yaml")
}

#[test]
fn v3_1_a_change_is_in_force_and_on_record() {
    let fixture = Fixture::new("tokenBudgetThreshold: 4000\n");
    let Event::ConfigApplied(applied) = fixture.says("tokenBudgetThreshold: 8000\nlisten: '127.0.0.1:1'\n")
    else {
        panic!("it is valid")
    };
    assert_eq!((fixture.in_force(), applied.version), (8_000, 2));
    let changes: Vec<_> = applied
        .changes
        .iter()
        .map(|change| (&*change.key, change.old.as_deref(), change.new.as_deref()))
        .collect();
    let listen = ("listen", Some("\"127.0.0.1:8765\""), Some("\"127.0.0.1:1\""));
    assert_eq!(changes, [listen, ("tokenBudgetThreshold", Some("4000"), Some("8000"))]);
    let state = fixture.live.status();
    assert_eq!((state.version, state.reload_count, state.pending_restart), (2, 1, vec!["listen".to_owned()]));
}

#[test]
fn a_change_before_the_start_is_reported_by_the_first_process() {
    let collect_events = |fixture: Fixture| {
        let Fixture { folder, events, live, .. } = fixture;
        drop(live);
        (folder, events.try_iter().collect::<Vec<_>>())
    };
    let (folder, events) = collect_events(Fixture::new("hardCap: 5000\nhardByteLimit: 60000\n"));
    assert!(events.is_empty(), "there was nothing before: {events:?}");
    let (folder, events) = collect_events(Fixture::within(folder, "hardCap: 6000\nhardByteLimit: 60000\n"));
    let [Event::ConfigApplied(applied)] = &events[..] else { panic!("{events:?}") };
    let changes =
        applied.changes.iter().map(|change| (&*change.key, change.old.as_deref(), change.new.as_deref()));
    assert_eq!(changes.collect::<Vec<_>>(), [("hardCap", Some("5000"), Some("6000"))]);
    assert_eq!((applied.version, &*applied.source), (2, &*file(folder.path()).display().to_string()));
    let (folder, events) = collect_events(Fixture::within(folder, "hardCap: 6000\nhardByteLimit: 60000\n"));
    assert!(events.is_empty(), "the second who finds it says nothing: {events:?}");
    let (folder, events) = collect_events(Fixture::within(folder, "hardCap: 5000\nhardByteLimit: 60000\n"));
    assert!(matches!(&events[..], [Event::ConfigApplied(applied)] if applied.version == 3), "{events:?}");

    // Text that was valid for another version of this program may be invalid now.
    let mut history = History::open(&folder.path().join("history")).expect("a history");
    history.record(&file(folder.path()), "nonsense: 1\n", 1).expect("there is room");
    let (_, events) = collect_events(Fixture::within(folder, "hardCap: 6000\n"));
    let [Event::ConfigApplied(applied)] = &events[..] else { panic!("{events:?}") };
    assert_eq!((applied.version, applied.changes.len()), (5, 0));
}

#[test]
fn v3_4_an_invalid_file_changes_nothing_and_is_reported_until_fixed() {
    let fixture = Fixture::new("tokenBudgetThreshold: 4000\n");
    for broken in ["tokenBudgetThreshold: 8000\nhardCap: 10\nnonsense: 1\n", "[", "# nothing\n"] {
        let Event::ConfigRejected(rejected) = fixture.says(broken) else { panic!("{broken} is invalid") };
        assert_eq!(fixture.in_force(), 4_000);
        let state = fixture.live.status();
        assert_eq!((&state.errors, state.version), (&rejected.errors, 1));
        assert!(rejected.errors.iter().all(|error| error.contains("portion.yaml")), "{rejected:?}");
    }
    let Event::ConfigApplied(applied) = fixture.says("tokenBudgetThreshold: 5000\n") else {
        panic!("it is valid")
    };
    assert_eq!((fixture.in_force(), applied.version, fixture.live.status().errors.len()), (5_000, 2, 0));
    assert_eq!(fixture.live.status().rejected_count, 3);
}

#[test]
fn a_file_with_which_the_process_would_not_start_changes_nothing() {
    let fixture = Fixture::new("tokenBudgetThreshold: 4000\n");
    let Event::ConfigRejected(rejected) =
        fixture.says("{tokenBudgetThreshold: 8000, admin: '127.0.0.1:1'}\n")
    else {
        panic!("it is rejected")
    };
    assert_eq!(rejected.errors, ["portion.yaml: 127.0.0.1:1 is taken"]);
    assert_eq!((fixture.in_force(), fixture.live.status().errors), (4_000, rejected.errors.clone()));
    assert_eq!(fixture.live.status().pending_restart, Vec::<String>::new());
    assert!(matches!(fixture.says("tokenBudgetThreshold: 8000\n"), Event::ConfigApplied(_)));
    assert_eq!((fixture.in_force(), fixture.live.status().errors.len()), (8_000, 0));
}

#[test]
fn a_repeated_text_is_a_new_version() {
    let fixture = Fixture::new("tokenBudgetThreshold: 4000\n");
    fixture.says("tokenBudgetThreshold: 8000\n");
    let history = History::open(&fixture.folder.path().join("history")).expect("a history");
    history.restore(&file(fixture.folder.path()), 1).expect("it is there");
    let Ok(Event::ConfigApplied(applied)) = fixture.events.recv_timeout(PATIENCE) else {
        panic!("it is heard")
    };
    assert_eq!((fixture.in_force(), applied.version), (4_000, 3));
    let sources = Sources {
        file: Some((file(fixture.folder.path()), history.text(3).expect("kept"))),
        ..Sources::default()
    };
    assert_eq!(Config::load(&sources, 7).expect("valid").0.version(), 7);
}
