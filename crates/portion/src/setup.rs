//! What every command in front of a server puts together: the configuration, what makes the replies, and who keeps
//! account of them.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use portion_config::history::History;
use portion_config::live::{Live, State};
use portion_config::{Config, Errors, Otlp, Sources, Warnings, find, places};
use portion_core::event::Observer;
use portion_gateway::book::Book as _;
use portion_gateway::gateway::Gateway;
use portion_gateway::mcp::Lanes;
use portion_gateway::rules::Rules;
use portion_gateway::settings::{Settings, random_secret};
use portion_gateway::store::{self, MemoryStore};
use portion_otlp::Exporter;
use portion_telemetry::recorder::{self, Recorder};

use crate::log;
use crate::options::{Keys, Options};
use crate::surroundings::surroundings;

/// How long the end of the program waits for what is still to be found out of replies.
const SETTLING: Duration = Duration::from_millis(500);
/// How long it then waits for the last records.
const FAREWELL: Duration = Duration::from_millis(500);
/// How long it waits for a collector to take the last of what was served.
const EXPORTED: Duration = Duration::from_secs(2);

/// A configuration, before anything is started.
pub(crate) struct Loaded {
    pub(crate) config: Arc<Config>,
    sources: Sources,
    history: Option<History>,
}

/// What stands in front of servers.
pub(crate) struct Setup {
    pub(crate) config: Arc<Config>,
    gateway: Arc<Gateway>,
    live: Live,
    recorder: Option<Arc<Recorder>>,
    exporter: Option<Arc<Exporter>>,
    /// Whether spans are exported.
    traces: bool,
}

/// Whoever leaves waits, for a moment, until what was told last is kept and sent.
pub(crate) struct Parting {
    gateway: Arc<Gateway>,
    recorder: Option<Arc<Recorder>>,
    exporter: Option<Arc<Exporter>>,
}

impl Loaded {
    /// What file, environment and options say. Begins to log as they say.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub(crate) fn of<K: Keys>(options: &Options<K>) -> Result<Self, Box<dyn Error>> {
        let sources = find(options.file(), options.given())?;
        let mut history = sources.file.as_ref().and_then(|(path, _)| opened(path));
        let (config, Warnings(warnings)) = Live::load(&sources, history.as_mut())?;
        log::to_stderr(config.log_level(), config.logs_json());
        for warning in warnings {
            tracing::warn!("{warning}");
        }
        Ok(Self { config: Arc::new(config), sources, history })
    }

    /// Starts what it is for.
    ///
    /// # Errors
    /// Where the file cannot be watched, or the system has no randomness.
    pub(crate) fn start(self) -> Result<Setup, Box<dyn Error>> {
        let Self { config, sources, history } = self;
        // The vocabulary takes longer to load than the server may take to answer.
        let tokenizer = config.tokenizer();
        std::thread::spawn(move || tokenizer.warm());
        let room = surroundings();
        let (memory, ttl) = (config.snapshot_memory(), config.snapshot_ttl());
        let store = Arc::new(MemoryStore::new(store::Limits { memory, ttl }));
        let recorder = config.telemetry(places::telemetry).map(recorder::Settings::new);
        let recorder = recorder.map(|settings| Arc::new(Recorder::start(settings)));
        let otlp = otlp(&config);
        let traces = otlp.as_ref().is_some_and(|otlp| otlp.traces.is_some());
        let exporter = otlp.map(|otlp| Arc::new(Exporter::start(otlp)));
        let mut observers: Vec<Arc<dyn Observer>> = Vec::new();
        observers.extend(recorder.clone().map(|recorder| recorder as Arc<dyn Observer>));
        observers.extend(exporter.clone().map(|exporter| exporter as Arc<dyn Observer>));
        let observer: Arc<dyn Observer> = Arc::new(observers);
        let rules = Rules::new(Arc::clone(&config) as _, room);
        let settings =
            Settings { observer: Arc::clone(&observer), ..Settings::new(rules, store, random_secret()?) };
        let gateway = Arc::new(Gateway::new(settings));
        let governed = Arc::clone(&gateway);
        let govern = Box::new(move |config: &Arc<Config>| {
            governed.govern(Rules::new(Arc::clone(config) as _, room));
        });
        let live = Live::keep(sources, Arc::clone(&config), history, observer, govern)?;
        if let Some(file) = config.file() {
            tracing::info!(file = %file.display(), version = config.version(), "configured");
        }
        Ok(Setup { config, gateway, live, recorder, exporter, traces })
    }
}

impl Setup {
    /// The lanes to a server, which may have a name.
    pub(crate) fn lanes(&self, upstream: Option<&str>) -> Lanes {
        let listing = self.config.listing(upstream);
        let lanes = Lanes::new(Arc::clone(&self.gateway), listing, self.config.upstream_message_limit());
        let lanes = lanes.tracing(self.traces);
        match upstream {
            Some(name) => lanes.to(name),
            None => lanes,
        }
    }

    /// What waits, when it is dropped, for the end of what was told: others may still hold this setup then.
    pub(crate) fn parting(&self) -> Parting {
        let (gateway, recorder, exporter) =
            (Arc::clone(&self.gateway), self.recorder.clone(), self.exporter.clone());
        Parting { gateway, recorder, exporter }
    }

    /// What the store holds.
    pub(crate) fn store(&self) -> store::Figures {
        self.gateway.stored()
    }

    /// What is to be known of the configuration, and what was recorded.
    pub(crate) fn health(&self) -> (State, Option<recorder::Figures>) {
        (self.live.state(), self.recorder.as_ref().map(|recorder| recorder.figures()))
    }
}

impl Drop for Parting {
    fn drop(&mut self) {
        if !self.gateway.settle(SETTLING) {
            tracing::warn!("what was to be found out of the last replies is not recorded");
        }
        if let Some(recorder) = &self.recorder {
            recorder.flush(FAREWELL);
        }
        if let Some(exporter) = &self.exporter {
            exporter.close(EXPORTED);
        }
    }
}

/// Where metrics and traces are sent, if anywhere.
fn otlp(config: &Config) -> Option<portion_otlp::Settings> {
    let collector = match config.otlp() {
        Otlp::Off => return None,
        Otlp::Auto => None,
        Otlp::At(url) => Some(url),
    };
    portion_otlp::Settings::of(collector, |name| std::env::var(name).ok())
}

/// The history of a file. Without one, there is no going back to its versions.
pub(crate) fn opened(path: &Path) -> Option<History> {
    let opened = places::history(path).map(|folder| History::open(&folder));
    opened?.inspect_err(|error| tracing::warn!(%error, "versions of the configuration are not kept")).ok()
}

/// Whether an error is one of the configuration, which ends the program with the code of wrong usage.
pub(crate) fn is_misconfigured(error: &(dyn Error + 'static)) -> bool {
    error.is::<Errors>() || error.is::<find::Unreadable>()
}
