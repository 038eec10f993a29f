//! Keeps the configuration in force and applies changes of its file.
//!
//! A changed file is read, checked as a whole, and replaces the previous version atomically. An invalid one, and one with
//! which the process would not start, changes nothing: its errors are logged and available as the
//! [status](LiveConfig::status). Changes are logged key by key, for secrets without their values.
//!
//! ```
//! use portion_config::{Config, Sources, diff};
//!
//! let load = |text: &str| {
//!     let file = Some(("portion.yaml".into(), text.to_owned()));
//!     Config::load(&Sources { file, ..Sources::default() }, 1).unwrap().0
//! };
//! let changes = diff(&load("hardCap: 9000"), &load("hardCap: 8000"));
//! assert_eq!((changes[0].key.as_str(), changes[0].new.as_deref()), ("hardCap", Some("8000")));
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use portion_core::event::{ConfigApplied, ConfigChange, ConfigRejected, Event, Observer};
use portion_policy::endpoint::PolicySource as _;

use crate::config::Config;
use crate::find::Sources;
use crate::history::{History, HistoryError};
use crate::key::{Key, SettingsLevel};
use crate::settings::{Errors, Settings, Warnings};
use crate::value::Value;
use crate::watch::{DebounceOptions, FileContent, WatchError, WatchHandle};

/// Placeholder for every secret.
const SECRET_PLACEHOLDER: &str = "\"(secret)\"";

/// Callback that returns the errors for which the process would not start with a valid configuration.
pub type CheckStart = Box<dyn Fn(&Config) -> Vec<String> + Send + Sync>;

/// Callback that puts a configuration into force.
pub type ApplyConfig = Box<dyn Fn(&Arc<Config>) + Send + Sync>;

/// The configuration in force, watched until this value is dropped.
pub struct LiveConfig {
    shared: Arc<LiveShared>,
    _watch: Option<WatchHandle>,
}

/// Status of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigStatus {
    /// Number of the version in force.
    pub version: u64,
    /// Path of the file, if there is one.
    pub file: Option<PathBuf>,
    /// Time since when this version is in force, in microseconds since 1970.
    pub active_since: u64,
    /// Errors of the current file; empty if it is in force.
    pub errors: Vec<String>,
    /// Keys with changes that need a restart.
    pub pending_restart: Vec<String>,
    /// Number of versions that came into force.
    pub reload_count: u64,
    /// Number of versions that were rejected.
    pub rejected_count: u64,
}

struct LiveShared {
    /// Sources at the start; the text of the file may have changed since.
    sources: Sources,
    /// Configuration at the start: commands, listeners and secrets are taken from it until a restart.
    initial: Arc<Config>,
    current: ArcSwap<Config>,
    status: Mutex<ConfigStatus>,
    history: Option<Mutex<History>>,
    observer: Arc<dyn Observer>,
    check_start: CheckStart,
    apply_config: ApplyConfig,
}

impl LiveConfig {
    /// Loads the configuration from its sources and records it in the history of its file.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn load(sources: &Sources, history: Option<&mut History>) -> Result<(Config, Warnings), Errors> {
        let (config, warnings) = Config::load(sources, 0)?;
        let version = sources.file.as_ref().map_or(0, |(path, text)| record_version(history, path, text, 1));
        Ok((config.with_version(version), warnings))
    }

    /// Keeps the configuration up to date with its file. `apply_config` is called with each later version in which
    /// `check_start` finds no errors. If the current version was not recorded by another process before, its changes are
    /// reported.
    ///
    /// # Errors
    /// If the file cannot be watched.
    pub fn start(
        sources: Sources,
        config: Arc<Config>,
        history: Option<History>,
        observer: Arc<dyn Observer>,
        check_start: CheckStart,
        apply_config: ApplyConfig,
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
        let shared = Arc::new(LiveShared {
            sources,
            initial: first,
            current,
            status: state,
            history,
            observer,
            check_start,
            apply_config,
        });
        if let Some((path, replaced)) = file.as_ref().map(|(path, _)| path).zip(replaced) {
            shared.report_change_before_start(path, replaced);
        }
        let watch = file.map(|(path, text)| {
            let (shared, watched) = (Arc::clone(&shared), path.clone());
            WatchHandle::start(&path, Some(&text), DebounceOptions::default(), move |seen| {
                shared.on_file_change(&watched, seen);
            })
        });
        Ok(Self { shared, _watch: watch.transpose()? })
    }

    /// Returns the current status.
    pub fn status(&self) -> ConfigStatus {
        self.shared.lock_status().clone()
    }
}

impl LiveShared {
    /// Reports a change that was made before this process started. If the previous text is no longer
    /// valid, the changes are not listed.
    fn report_change_before_start(&self, path: &Path, replaced: String) {
        let replaced = self.sources.with_file(path, replaced);
        let config = self.current.load();
        let changes = Config::load(&replaced, 0).map_or_else(|_| Vec::new(), |(old, _)| diff(&old, &config));
        self.publish_changes(path, config.version(), changes);
    }

    fn on_file_change(&self, path: &Path, seen: FileContent) {
        let why = match seen {
            FileContent::Text(text) => return self.reload(path, text),
            FileContent::Empty => "is empty; to return to the defaults, write {}",
            FileContent::Missing => "is missing; restore it, or restart without it",
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
        let errors = (self.check_start)(&config);
        if !errors.is_empty() {
            return self.reject(path, errors);
        }
        for warning in &warnings.0 {
            tracing::warn!("{warning}");
        }
        let text = sources.file.map(|(_, text)| text).unwrap_or_default();
        let next = self.current.load().version() + 1;
        let mut history = self.history.as_ref().map(lock);
        let recorded = history.as_mut().map(|history| history.record_unsynced(path, &text, now_micros()));
        let version = recorded.map_or(next, |recorded| unwrap_or_warn(recorded, next));
        self.activate(path, config.with_version(version));
        // Writing to disk may take longer than a change of the configuration may.
        let synced = history.as_mut().map_or(Ok(()), |history| history.sync());
        unwrap_or_warn(synced, ());
    }

    fn activate(&self, path: &Path, config: Config) {
        let config = Arc::new(config);
        let changes = diff(&self.current.load(), &config);
        let pending = restart_required(&self.initial, &config);
        (self.apply_config)(&config);
        self.current.store(Arc::clone(&config));
        let version = config.version();
        if !self.lock_status().errors.is_empty() {
            tracing::info!(version, source = %path.display(), "the configuration file is valid again");
        }
        {
            let mut state = self.lock_status();
            state.reload_count += 1;
            state.version = version;
            state.active_since = now_micros();
            state.errors.clear();
            state.pending_restart = pending.iter().map(|change| change.key.clone()).collect();
        }
        self.publish_changes(path, version, changes);
        for ConfigChange { key, .. } in pending {
            tracing::warn!(version, key, "the change takes effect after a restart");
        }
    }

    fn publish_changes(&self, path: &Path, version: u64, changes: Vec<ConfigChange>) {
        let source = path.display().to_string();
        tracing::info!(version, source, changes = changes.len(), "a new configuration is in force");
        for ConfigChange { key, old, new } in &changes {
            let (old, new) = (display_value(old.as_ref()), display_value(new.as_ref()));
            tracing::info!(version, source, key, old, new, "changed");
        }
        let configured = ConfigApplied { at: now_micros(), version, source, changes };
        self.observer.observe(Event::ConfigApplied(Arc::new(configured)));
    }

    /// Rejects a change; the last valid version stays in force.
    fn reject(&self, path: &Path, errors: Vec<String>) {
        let version = self.current.load().version();
        for error in &errors {
            tracing::error!("{error}");
        }
        tracing::error!(version, "the configuration is invalid: the previous version stays in force");
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

/// Records a version and returns its number; `fallback` if that fails.
fn record_version(history: Option<&mut History>, path: &Path, text: &str, fallback: u64) -> u64 {
    let Some(history) = history else { return fallback };
    unwrap_or_warn(history.record(path, text, now_micros()), fallback)
}

/// Returns the result of the history, or logs the error and returns `fallback`.
fn unwrap_or_warn<T>(result: Result<T, HistoryError>, fallback: T) -> T {
    result.unwrap_or_else(|error| {
        tracing::warn!(%error, "this version of the configuration cannot be restored");
        fallback
    })
}

fn display_value(value: Option<&String>) -> &str {
    value.map_or("(unset)", String::as_str)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the time in microseconds since 1970.
pub fn now_micros() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or(Duration::ZERO).as_micros() as u64
}

/// The value of one key. A secret is compared, but not shown.
struct FlatSetting {
    value: Value,
    shown: String,
    is_reloadable: bool,
}

/// Returns every changed key by its path: `endpoints.list_*.pageSize`. For secrets, the values are not
/// given.
pub fn diff(old: &Config, new: &Config) -> Vec<ConfigChange> {
    changes_with_reload(old, new).into_iter().map(|(change, _)| change).collect()
}

/// Returns the changes that need a restart: commands, listeners, secrets, names of tools.
pub fn restart_required(old: &Config, new: &Config) -> Vec<ConfigChange> {
    let changes = changes_with_reload(old, new).into_iter();
    changes.filter_map(|(change, reloads)| (!reloads).then_some(change)).collect()
}

fn changes_with_reload(old: &Config, new: &Config) -> Vec<(ConfigChange, bool)> {
    let (old, new) = (flatten(old), flatten(new));
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let change = |key: &String| {
        let (was, is) = (old.get(key), new.get(key));
        let shown =
            |set: Option<&FlatSetting>| set.map(|set| set.shown.clone()).or_else(|| default_json(key));
        let change = ConfigChange { key: key.clone(), old: shown(was), new: shown(is) };
        let is_change = match (was, is) {
            // A value that is not shown may have changed even if it looks the same.
            (Some(was), Some(is)) => was.value != is.value,
            // Writing down a default changes nothing.
            _ => change.old != change.new,
        };
        is_change.then_some((change, was.or(is)?.is_reloadable))
    };
    keys.into_iter().filter_map(change).collect()
}

/// Returns the default of a key at the top level; at the other levels, the default is the value of the
/// level above.
fn default_json(key: &str) -> Option<String> {
    let key =
        Key::by_name(key).filter(|key| key.is_allowed_at(SettingsLevel::Top) && !key.default.is_empty())?;
    let json = key.parse(key.default).map_or_else(|_| key.default.into(), |value| value.to_json());
    Some(json.to_string())
}

fn flatten(config: &Config) -> BTreeMap<String, FlatSetting> {
    let mut out = BTreeMap::new();
    add_settings(&mut out, "", config.top());
    for (pattern, settings) in config.endpoints() {
        add_settings(&mut out, &format!("endpoints.{pattern}."), settings);
    }
    for upstream in config.upstreams() {
        let prefix = format!("upstreams.{}.", upstream.name);
        add_settings(&mut out, &prefix, &upstream.settings);
        for (pattern, settings) in upstream.endpoints() {
            add_settings(&mut out, &format!("{prefix}endpoints.{pattern}."), settings);
        }
    }
    out
}

fn add_settings(out: &mut BTreeMap<String, FlatSetting>, prefix: &str, settings: &Settings) {
    for (_, set) in settings.iter() {
        let (key, is_reloadable) = (format!("{prefix}{}", set.key.name), set.key.is_reloadable);
        if let Value::Secrets(secrets) = &set.value {
            for (name, secret) in secrets {
                let (value, shown) = (Value::Reference(secret.clone()), SECRET_PLACEHOLDER.to_owned());
                out.insert(format!("{key}.{name}"), FlatSetting { value, shown, is_reloadable });
            }
        } else {
            let (value, shown) = (set.value.clone(), set.value.to_json().to_string());
            out.insert(key, FlatSetting { value, shown, is_reloadable });
        }
    }
}
