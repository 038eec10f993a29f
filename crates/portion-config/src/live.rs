//! A configuration that is in force, and stays so until another one can be: what its file says from now on is obeyed from
//! now on.
//!
//! A change is read, checked as a whole, and put in place of the one before at a stroke. What cannot be obeyed changes
//! nothing: it is told, here and to whoever asks for the [state](LiveConfig::status). What was changed is told value by value, of
//! secrets alone that they were.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use portion_core::event::{ConfigApplied, ConfigChange, ConfigRejected, Event, Observer};

use portion_gateway::policy_source::PolicySource as _;

use crate::config::Config;
use crate::diff::{diff, restart_required};
use crate::history::{History, HistoryError};
use crate::problem::{Errors, Warnings};
use crate::sources::Sources;
use crate::watch::{DebounceOptions, FileContent, WatchError, WatchHandle};

/// What puts a configuration into force.
pub type ApplyConfig = Box<dyn Fn(&Arc<Config>) + Send + Sync>;

/// A configuration that is in force, watched for as long as this lives.
pub struct LiveConfig {
    shared: Arc<LiveShared>,
    _watch: Option<WatchHandle>,
}

/// What is to be known of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigStatus {
    /// The number of the version in force.
    pub version: u64,
    /// The file, where there is one.
    pub file: Option<PathBuf>,
    /// Since when this version is in force, microseconds since 1970.
    pub active_since: u64,
    /// What is wrong with what the file says now; empty where that is in force.
    pub errors: Vec<String>,
    /// Changes that are not obeyed before a restart.
    pub pending_restart: Vec<String>,
    /// How often another version came into force.
    pub reload_count: u64,
    /// How often one was refused.
    pub rejected_count: u64,
}

struct LiveShared {
    /// Those of the start, but for the file's text.
    sources: Sources,
    /// What we were started with: commands, listeners and secrets stay those.
    initial: Arc<Config>,
    current: ArcSwap<Config>,
    status: Mutex<ConfigStatus>,
    history: Option<Mutex<History>>,
    observer: Arc<dyn Observer>,
    apply_config: ApplyConfig,
}

impl LiveConfig {
    /// Loads what the sources say, as one of the versions of its file's history.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn load(sources: &Sources, history: Option<&mut History>) -> Result<(Config, Warnings), Errors> {
        let (config, warnings) = Config::load(sources, 0)?;
        let version = sources.file.as_ref().map_or(0, |(path, text)| record_version(history, path, text, 1));
        Ok((config.with_version(version), warnings))
    }

    /// Keeps what is in force now by what its file says. `govern` is called with each version that comes after. A version
    /// that no process had before is told of.
    ///
    /// # Errors
    /// Where the file cannot be watched.
    pub fn start(
        sources: Sources,
        config: Arc<Config>,
        history: Option<History>,
        observer: Arc<dyn Observer>,
        govern: ApplyConfig,
    ) -> Result<Self, WatchError> {
        let file = sources.file.clone();
        let path = file.as_ref().map(|(path, _)| path.clone());
        let state = ConfigStatus {
            version: config.version(),
            file: path,
            active_since: now_micros(),
            ..ConfigStatus::default()
        }
        .into();
        let (first, current) = (Arc::clone(&config), ArcSwap::new(config));
        let replaced = history.as_ref().and_then(History::previous_text);
        let history = history.map(Mutex::new);
        let kept = Arc::new(LiveShared {
            sources,
            initial: first,
            current,
            status: state,
            history,
            observer,
            apply_config: govern,
        });
        if let Some((path, replaced)) = file.as_ref().map(|(path, _)| path).zip(replaced) {
            kept.report_change_before_start(path, replaced);
        }
        let watch = file.map(|(path, text)| {
            let kept = Arc::clone(&kept);
            WatchHandle::start(&path, Some(&text), DebounceOptions::default(), move |seen| {
                kept.on_file_change(&config_path(&kept), seen)
            })
        });
        Ok(Self { shared: kept, _watch: watch.transpose()? })
    }

    /// What is to be known of it.
    pub fn status(&self) -> ConfigStatus {
        self.shared.lock_status().clone()
    }
}

impl LiveShared {
    /// The file was changed before this process began. What stood there may not be valid by now: then it is told without
    /// what was changed.
    fn report_change_before_start(&self, path: &Path, replaced: String) {
        let replaced = self.sources.with_file(path, replaced);
        let config = self.current.load();
        let changes = Config::load(&replaced, 0).map_or_else(|_| Vec::new(), |(old, _)| diff(&old, &config));
        self.publish_changes(path, config.version(), changes);
    }

    fn on_file_change(&self, path: &Path, seen: FileContent) {
        let why = match seen {
            FileContent::Text(text) => return self.reload(path, text),
            FileContent::Empty => "says nothing; to go back to the defaults, write {}",
            FileContent::Missing => "is not there any more; put it back, or restart to go on without it",
            FileContent::Unreadable(why) => {
                return self.reject(path, vec![format!("{}: {why}", path.display())]);
            }
        };
        self.reject(path, vec![format!("{} {why}", path.display())]);
    }

    fn reload(&self, path: &Path, text: String) {
        let sources = self.sources.with_file(path, text);
        let (config, warnings) = match Config::load(&sources, 0) {
            Ok(loaded) => loaded,
            Err(Errors(errors)) => {
                return self.reject(path, errors.iter().map(ToString::to_string).collect());
            }
        };
        for warning in &warnings.0 {
            tracing::warn!("{warning}");
        }
        let text = sources.file.map(|(_, text)| text).unwrap_or_default();
        let next = self.current.load().version() + 1;
        let mut history = self.history.as_ref().map(lock);
        let entered = history.as_mut().map(|history| history.record_unsynced(path, &text, now_micros()));
        let version = entered.map_or(next, |entered| unwrap_or_warn(entered, next));
        self.activate(path, config.with_version(version));
        // The disk may take longer than a change may.
        let settled = history.as_mut().map_or(Ok(()), |history| history.sync());
        unwrap_or_warn(settled, ());
    }

    fn activate(&self, path: &Path, config: Config) {
        let config = Arc::new(config);
        let changes = diff(&self.current.load(), &config);
        let waiting = restart_required(&self.initial, &config);
        (self.apply_config)(&config);
        self.current.store(Arc::clone(&config));
        let version = config.version();
        {
            let mut state = self.lock_status();
            state.reload_count += 1;
            state.version = version;
            state.active_since = now_micros();
            state.errors.clear();
            state.pending_restart = waiting.iter().map(|change| change.key.clone()).collect();
        }
        self.publish_changes(path, version, changes);
        for ConfigChange { key, .. } in waiting {
            tracing::warn!(version, key, "obeyed only after a restart");
        }
    }

    fn publish_changes(&self, path: &Path, version: u64, changes: Vec<ConfigChange>) {
        let source = path.display().to_string();
        tracing::info!(version, source, changes = changes.len(), "the configuration is another one now");
        for ConfigChange { key, old, new } in &changes {
            let (old, new) = (display_value(old.as_ref()), display_value(new.as_ref()));
            tracing::info!(version, source, key, old, new, "changed");
        }
        let configured = ConfigApplied { at: now_micros(), version, source, changes };
        self.observer.observe(Event::ConfigApplied(Arc::new(configured)));
    }

    /// The last good one stays.
    fn reject(&self, path: &Path, errors: Vec<String>) {
        let version = self.current.load().version();
        for error in &errors {
            tracing::error!("{error}");
        }
        tracing::error!(version, "the configuration is not obeyed: the version before stays in force");
        let source = path.display().to_string();
        {
            let mut state = self.lock_status();
            state.rejected_count += 1;
            state.errors.clone_from(&errors);
        }
        let misconfigured = ConfigRejected { at: now_micros(), source, errors };
        self.observer.observe(Event::ConfigRejected(Arc::new(misconfigured)));
    }

    fn lock_status(&self) -> MutexGuard<'_, ConfigStatus> {
        lock(&self.status)
    }
}

fn config_path(kept: &LiveShared) -> PathBuf {
    kept.sources.file.as_ref().map(|(path, _)| path.clone()).unwrap_or_default()
}

/// The number of a version, by its history; `else_` where that does not work.
fn record_version(history: Option<&mut History>, path: &Path, text: &str, else_: u64) -> u64 {
    let Some(history) = history else { return else_ };
    unwrap_or_warn(history.record(path, text, now_micros()), else_)
}

/// What the history says; `else_` where it does not work.
fn unwrap_or_warn<T>(said: Result<T, HistoryError>, else_: T) -> T {
    said.unwrap_or_else(|error| {
        tracing::warn!(%error, "this version of the configuration cannot be gone back to");
        else_
    })
}

fn display_value(value: Option<&String>) -> &str {
    value.map_or("(unset)", String::as_str)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now_micros() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or(Duration::ZERO).as_micros() as u64
}
