//! What every command in front of a server puts together: the configuration, what makes the replies, and who keeps
//! account of them.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use portion_config::history::History;
use portion_config::live::{Live, State};
use portion_config::{Config, Errors, Sources, Warnings, find, places};
use portion_core::event::Observer;
use portion_gateway::accuracy;
use portion_gateway::book::Book as _;
use portion_gateway::dropped;
use portion_gateway::front::http::{DEFAULT_PRINCIPAL_HEADERS, Principals};
use portion_gateway::gateway::Gateway;
use portion_gateway::latch::Latch;
use portion_gateway::mcp::Lanes;
use portion_gateway::relay::Closing;
use portion_gateway::rules::Rules;
use portion_gateway::settings::{Settings, random_secret};
use portion_gateway::store::{self, MemoryStore};
use portion_telemetry::alert::Alarm;
use portion_telemetry::meter::Meter;
use portion_telemetry::recorder;

use crate::admin::families;
use crate::alerts;
use crate::log;
use crate::observers::Observers;
use crate::options::{Keys, Options};
use crate::surroundings::surroundings;

/// How long the end of the program waits for what is still to be found out of replies.
const SETTLING: Duration = Duration::from_millis(500);
/// How long it waits in all, where nobody waits for the end.
const PARTING: Duration = Duration::from_secs(4);

/// A configuration, before anything is started.
pub(crate) struct Loaded {
    pub(crate) config: Arc<Config>,
    sources: Sources,
    history: Option<History>,
}

/// What stands in front of servers.
pub(crate) struct Setup {
    pub(crate) config: Arc<Config>,
    /// Tells callers over HTTP apart.
    pub(crate) principals: Principals,
    gateway: Arc<Gateway>,
    live: Live,
    observers: Observers,
    started: SystemTime,
    leaving: Arc<Latch>,
}

/// Whoever leaves waits, when this is dropped, for a moment, until what was told last is kept and sent: others may still
/// hold the setup then.
pub(crate) struct Parting {
    setup: Arc<Setup>,
    closing: Closing,
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
    pub(crate) fn start(self) -> Result<Arc<Setup>, Box<dyn Error>> {
        let Self { config, sources, history } = self;
        // The vocabulary takes longer to load than the server may take to answer.
        let tokenizer = config.tokenizer();
        std::thread::spawn(move || tokenizer.warm());
        let room = surroundings();
        let (memory, ttl) = (config.snapshot_memory(), config.snapshot_ttl());
        let store = Arc::new(MemoryStore::new(store::Limits { memory, ttl }));
        let observers = Observers::start(&config);
        let observer: Arc<dyn Observer> = Arc::clone(&observers.all) as _;
        let rules = Rules::new(Arc::clone(&config) as _, room);
        let settings =
            Settings { observer: Arc::clone(&observer), ..Settings::new(rules, store, random_secret()?) };
        let gateway = Arc::new(Gateway::new(settings));
        let (governed, alarm) = (Arc::clone(&gateway), Arc::clone(&observers.alerts.alarm));
        let govern = Box::new(move |config: &Arc<Config>| {
            alarm.set_rule(alerts::rule(&config.alerts()));
            governed.govern(Rules::new(Arc::clone(config) as _, room));
        });
        let live = Live::keep(sources, Arc::clone(&config), history, observer, govern)?;
        if let Some(file) = config.file() {
            tracing::info!(file = %file.display(), version = config.version(), "configured");
        }
        let headers = config.principal_headers().map_or(DEFAULT_PRINCIPAL_HEADERS.to_vec(), |names| {
            // The configuration has refused all that are none.
            names.iter().filter_map(|name| name.parse().ok()).collect()
        });
        let principals = Principals::new(random_secret()?, headers);
        let setup = Arc::new(Setup {
            config,
            principals,
            gateway,
            live,
            observers,
            started: SystemTime::now(),
            leaving: Arc::default(),
        });
        // It holds the exporter. Whoever leaves holds it until the last is sent.
        let told = Arc::downgrade(&setup);
        setup.observers.tell(move || told.upgrade().map_or_else(Vec::new, |setup| families(&setup)));
        Ok(setup)
    }
}

impl Setup {
    /// The lanes to a server, which may have a name.
    pub(crate) fn lanes(&self, upstream: Option<&str>) -> Lanes {
        let listing = self.config.listing(upstream);
        let lanes = Lanes::new(Arc::clone(&self.gateway), listing, self.config.upstream_message_limit());
        let lanes = lanes.with_client_limit(self.config.client_message_limit());
        let lanes = lanes.tracing(self.observers.traces);
        match upstream {
            Some(name) => lanes.to(name),
            None => lanes,
        }
    }

    /// Frees what has expired even where nobody asks for anything. Call it within a runtime.
    pub(crate) fn keep_house(self: &Arc<Self>) {
        let every = (self.config.snapshot_ttl() / 2).clamp(Duration::from_secs(1), Duration::from_secs(30));
        let setup = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(every).await;
                let Some(setup) = setup.upgrade() else { return };
                setup.store();
            }
        });
    }

    /// What waits, when it is dropped, for the end of what was told.
    pub(crate) fn parting(self: &Arc<Self>) -> Parting {
        Parting { setup: Arc::clone(self), closing: Closing::default() }
    }

    /// Set once the program is asked to end: new requests are refused, those that run are finished.
    pub(crate) fn leaving(&self) -> Arc<Latch> {
        Arc::clone(&self.leaving)
    }

    /// What the store holds.
    pub(crate) fn store(&self) -> store::Figures {
        self.gateway.stored()
    }

    /// How many messages of servers were not relayed.
    pub(crate) fn dropped(&self) -> dropped::Figures {
        self.gateway.dropped()
    }

    /// How near counts come to what they are held against.
    pub(crate) fn accuracy(&self) -> accuracy::Figures {
        self.gateway.accuracy()
    }

    /// What is to be known of the configuration, and what was recorded.
    pub(crate) fn health(&self) -> (State, Option<recorder::QueueSnapshot>) {
        (self.live.state(), self.observers.recorder.as_ref().map(|recorder| recorder.snapshot()))
    }

    /// What was served since the start.
    pub(crate) fn meter(&self) -> &Meter {
        &self.observers.meter
    }

    /// What watches over it.
    pub(crate) fn alarm(&self) -> &Alarm {
        &self.observers.alerts.alarm
    }

    /// Messages of alerts that could not be delivered.
    pub(crate) fn webhooks_failed(&self) -> u64 {
        self.observers.alerts.webhook.as_ref().map_or(0, |webhook| webhook.failed())
    }

    /// When it was started.
    pub(crate) fn started(&self) -> SystemTime {
        self.started
    }
}

impl Parting {
    /// Waits no longer than the stop of this relay may take.
    pub(crate) fn within(&mut self, closing: &Closing) {
        self.closing = closing.clone();
    }
}

impl Drop for Parting {
    fn drop(&mut self) {
        let until = Instant::now() + self.closing.rest().unwrap_or(PARTING);
        let left = until.saturating_duration_since(Instant::now());
        if !self.setup.gateway.settle(left.min(SETTLING)) {
            tracing::warn!("what was to be found out of the last replies is not recorded");
        }
        self.setup.observers.end(until);
    }
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
