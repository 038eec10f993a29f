//! A configuration that is in force, and stays so until another one can be: what its file says from now on is obeyed from
//! now on.
//!
//! A change is read, checked as a whole, and put in place of the one before at a stroke. What cannot be obeyed changes
//! nothing: it is told, here and to whoever asks for the [state](Live::state). What was changed is told value by value, of
//! secrets alone that they were.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use portion_core::event::{Change, Configured, Event, Misconfigured, Observer};

use portion_gateway::book::Book as _;

use crate::config::Config;
use crate::difference::{diff, waiting};
use crate::history::{History, HistoryError};
use crate::problem::{Errors, Warnings};
use crate::sources::Sources;
use crate::watch::{Seen, Settle, Watch, WatchError};

/// What puts a configuration into force.
pub type Govern = Box<dyn Fn(&Arc<Config>) + Send + Sync>;

/// A configuration that is in force, watched for as long as this lives.
pub struct Live {
    kept: Arc<Kept>,
    _watch: Option<Watch>,
}

/// What is to be known of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The number of the version in force.
    pub version: u64,
    /// The file, where there is one.
    pub file: Option<PathBuf>,
    /// Since when this version is in force, microseconds since 1970.
    pub since: u64,
    /// What is wrong with what the file says now; empty where that is in force.
    pub errors: Vec<String>,
    /// Changes that are not obeyed before a restart.
    pub waiting: Vec<String>,
    /// How often another version came into force.
    pub reloads: u64,
    /// How often one was refused.
    pub refusals: u64,
}

struct Kept {
    /// Those of the start, but for the file's text.
    sources: Sources,
    /// What we were started with: commands, listeners and secrets stay those.
    first: Arc<Config>,
    current: ArcSwap<Config>,
    state: Mutex<State>,
    history: Option<Mutex<History>>,
    observer: Arc<dyn Observer>,
    govern: Govern,
}

impl Live {
    /// Loads what the sources say, as one of the versions of its file's history.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn load(sources: &Sources, history: Option<&mut History>) -> Result<(Config, Warnings), Errors> {
        let (config, warnings) = Config::load(sources, 0)?;
        let version = sources.file.as_ref().map_or(0, |(path, text)| recorded(history, path, text, 1));
        Ok((config.numbered(version), warnings))
    }

    /// Keeps what is in force now by what its file says. `govern` is called with each version that comes after. A version
    /// that no process had before is told of.
    ///
    /// # Errors
    /// Where the file cannot be watched.
    pub fn keep(
        sources: Sources,
        config: Arc<Config>,
        history: Option<History>,
        observer: Arc<dyn Observer>,
        govern: Govern,
    ) -> Result<Self, WatchError> {
        let file = sources.file.clone();
        let path = file.as_ref().map(|(path, _)| path.clone());
        let state =
            State { version: config.version(), file: path, since: micros(), ..State::default() }.into();
        let (first, current) = (Arc::clone(&config), ArcSwap::new(config));
        let replaced = history.as_ref().and_then(History::replaced);
        let history = history.map(Mutex::new);
        let kept = Arc::new(Kept { sources, first, current, state, history, observer, govern });
        if let Some((path, replaced)) = file.as_ref().map(|(path, _)| path).zip(replaced) {
            kept.began(path, replaced);
        }
        let watch = file.map(|(path, text)| {
            let kept = Arc::clone(&kept);
            Watch::start(&path, Some(&text), Settle::default(), move |seen| kept.heed(&path_of(&kept), seen))
        });
        Ok(Self { kept, _watch: watch.transpose()? })
    }

    /// What is to be known of it.
    pub fn state(&self) -> State {
        self.kept.state().clone()
    }
}

impl Kept {
    /// The file was changed before this process began. What stood there may not be valid by now: then it is told without
    /// what was changed.
    fn began(&self, path: &Path, replaced: String) {
        let replaced = self.sources.with(path, replaced);
        let config = self.current.load();
        let changes = Config::load(&replaced, 0).map_or_else(|_| Vec::new(), |(old, _)| diff(&old, &config));
        self.tell(path, config.version(), changes);
    }

    fn heed(&self, path: &Path, seen: Seen) {
        let why = match seen {
            Seen::Text(text) => return self.read(path, text),
            Seen::Empty => "says nothing; to go back to the defaults, write {}",
            Seen::Gone => "is not there any more; put it back, or restart to go on without it",
            Seen::Unreadable(why) => return self.refuse(path, vec![format!("{}: {why}", path.display())]),
        };
        self.refuse(path, vec![format!("{} {why}", path.display())]);
    }

    fn read(&self, path: &Path, text: String) {
        let sources = self.sources.with(path, text);
        let (config, warnings) = match Config::load(&sources, 0) {
            Ok(loaded) => loaded,
            Err(Errors(errors)) => {
                return self.refuse(path, errors.iter().map(ToString::to_string).collect());
            }
        };
        for warning in &warnings.0 {
            tracing::warn!("{warning}");
        }
        let text = sources.file.map(|(_, text)| text).unwrap_or_default();
        let next = self.current.load().version() + 1;
        let mut history = self.history.as_ref().map(locked);
        let entered = history.as_mut().map(|history| history.enter(path, &text, micros()));
        let version = entered.map_or(next, |entered| known(entered, next));
        self.put(path, config.numbered(version));
        // The disk may take longer than a change may.
        let settled = history.as_mut().map_or(Ok(()), |history| history.settle());
        known(settled, ());
    }

    fn put(&self, path: &Path, config: Config) {
        let config = Arc::new(config);
        let changes = diff(&self.current.load(), &config);
        let waiting = waiting(&self.first, &config);
        (self.govern)(&config);
        self.current.store(Arc::clone(&config));
        let version = config.version();
        {
            let mut state = self.state();
            state.reloads += 1;
            state.version = version;
            state.since = micros();
            state.errors.clear();
            state.waiting = waiting.iter().map(|change| change.key.clone()).collect();
        }
        self.tell(path, version, changes);
        for Change { key, .. } in waiting {
            tracing::warn!(version, key, "obeyed only after a restart");
        }
    }

    fn tell(&self, path: &Path, version: u64, changes: Vec<Change>) {
        let source = path.display().to_string();
        tracing::info!(version, source, changes = changes.len(), "the configuration is another one now");
        for Change { key, old, new } in &changes {
            let (old, new) = (shown(old.as_ref()), shown(new.as_ref()));
            tracing::info!(version, source, key, old, new, "changed");
        }
        let configured = Configured { at: micros(), version, source, changes };
        self.observer.hear(Event::Configured(Arc::new(configured)));
    }

    /// The last good one stays.
    fn refuse(&self, path: &Path, errors: Vec<String>) {
        let version = self.current.load().version();
        for error in &errors {
            tracing::error!("{error}");
        }
        tracing::error!(version, "the configuration is not obeyed: the version before stays in force");
        let source = path.display().to_string();
        {
            let mut state = self.state();
            state.refusals += 1;
            state.errors.clone_from(&errors);
        }
        let misconfigured = Misconfigured { at: micros(), source, errors };
        self.observer.hear(Event::Misconfigured(Arc::new(misconfigured)));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }
}

fn path_of(kept: &Kept) -> PathBuf {
    kept.sources.file.as_ref().map(|(path, _)| path.clone()).unwrap_or_default()
}

/// The number of a version, by its history; `else_` where that does not work.
fn recorded(history: Option<&mut History>, path: &Path, text: &str, else_: u64) -> u64 {
    let Some(history) = history else { return else_ };
    known(history.record(path, text, micros()), else_)
}

/// What the history says; `else_` where it does not work.
fn known<T>(said: Result<T, HistoryError>, else_: T) -> T {
    said.unwrap_or_else(|error| {
        tracing::warn!(%error, "this version of the configuration cannot be gone back to");
        else_
    })
}

fn shown(value: Option<&String>) -> &str {
    value.map_or("(unset)", String::as_str)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn micros() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or(Duration::ZERO).as_micros() as u64
}
