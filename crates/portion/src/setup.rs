//! What every command in front of a server puts together: the configuration, what makes the replies, and who keeps
//! account of them.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use portion_config::history::History;
use portion_config::live::{ConfigStatus, LiveConfig};
use portion_config::{Config, Errors, Sources, Warnings, find, user_dirs};
use portion_core::event::Observer;
use portion_gateway::accuracy;
use portion_gateway::dropped_messages;
use portion_gateway::gateway::Gateway;
use portion_gateway::gateway_parts::{GatewayParts, random_secret};
use portion_gateway::policy_source::PolicySource as _;
use portion_gateway::principal::{DEFAULT_PRINCIPAL_HEADERS, PrincipalResolver};
use portion_gateway::rules::EndpointRules;
use portion_gateway::store::{self, MemoryStore};
use portion_mcp::mcp::McpProcessorFactory;
use portion_mcp::one_shot_flag::OneShotFlag;
use portion_mcp::relay::ShutdownDeadline;
use portion_telemetry::alert::Alarm;
use portion_telemetry::meter::Meter;
use portion_telemetry::recorder;

use crate::admin::metric_families;
use crate::alerts;
use crate::environment::room_from_environment;
use crate::log;
use crate::observers::Observers;
use crate::options::{ConfigOptions, KeyGroups};

/// How long the end of the program waits for what is still to be found out of replies.
const SETTLE_TIMEOUT: Duration = Duration::from_millis(500);
/// How long it waits in all, where nobody waits for the end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(4);

/// A configuration, before anything is started.
pub(crate) struct LoadedConfig {
    pub(crate) config: Arc<Config>,
    sources: Sources,
    history: Option<History>,
}

/// What stands in front of servers.
pub(crate) struct Setup {
    pub(crate) config: Arc<Config>,
    /// Tells callers over HTTP apart.
    pub(crate) principals: PrincipalResolver,
    gateway: Arc<Gateway>,
    live_config: LiveConfig,
    observers: Observers,
    started_at: SystemTime,
    drain_flag: Arc<OneShotFlag>,
}

/// Whoever leaves waits, when this is dropped, for a moment, until what was told last is kept and sent: others may still
/// hold the setup then.
pub(crate) struct ShutdownGuard {
    setup: Arc<Setup>,
    closing: ShutdownDeadline,
}

impl LoadedConfig {
    /// What file, environment and options say. Begins to log as they say.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub(crate) fn load<K: KeyGroups>(options: &ConfigOptions<K>) -> Result<Self, Box<dyn Error>> {
        let sources = find(options.file(), options.values())?;
        let mut history = sources.file.as_ref().and_then(|(path, _)| open_history(path));
        let (config, Warnings(warnings)) = LiveConfig::load(&sources, history.as_mut())?;
        log::init_stderr(config.log_level(), config.has_json_log());
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
        std::thread::spawn(move || tokenizer.preload());
        let room = room_from_environment();
        let (memory, ttl) = (config.snapshot_memory(), config.snapshot_ttl());
        let store = Arc::new(MemoryStore::new(store::StoreLimits { memory_bytes: memory, ttl }));
        let observers = Observers::start(&config);
        let observer: Arc<dyn Observer> = Arc::clone(&observers.async_observer) as _;
        let rules = EndpointRules::new(Arc::clone(&config) as _, room);
        let settings = GatewayParts {
            observer: Arc::clone(&observer),
            ..GatewayParts::new(rules, store, random_secret()?)
        };
        let gateway = Arc::new(Gateway::new(settings));
        let (governed, alarm) = (Arc::clone(&gateway), Arc::clone(&observers.alerts.alarm));
        let govern = Box::new(move |config: &Arc<Config>| {
            alarm.set_rule(alerts::alert_rule(&config.alerts()));
            governed.replace_rules(EndpointRules::new(Arc::clone(config) as _, room));
        });
        let live = LiveConfig::start(sources, Arc::clone(&config), history, observer, govern)?;
        if let Some(file) = config.file() {
            tracing::info!(file = %file.display(), version = config.version(), "configured");
        }
        let headers = config.principal_headers().map_or(DEFAULT_PRINCIPAL_HEADERS.to_vec(), |names| {
            // The configuration has refused all that are none.
            names.iter().filter_map(|name| name.parse().ok()).collect()
        });
        let principals = PrincipalResolver::new(random_secret()?, headers);
        let setup = Arc::new(Setup {
            config,
            principals,
            gateway,
            live_config: live,
            observers,
            started_at: SystemTime::now(),
            drain_flag: Arc::default(),
        });
        // It holds the exporter. Whoever leaves holds it until the last is sent.
        let told = Arc::downgrade(&setup);
        setup
            .observers
            .export_metrics(move || told.upgrade().map_or_else(Vec::new, |setup| metric_families(&setup)));
        Ok(setup)
    }
}

impl Setup {
    /// Returns the gateway.
    pub(crate) fn gateway(&self) -> Arc<Gateway> {
        Arc::clone(&self.gateway)
    }

    /// The lanes to a server, which may have a name.
    pub(crate) fn processors(&self, upstream: Option<&str>) -> McpProcessorFactory {
        let listing = self.config.listing(upstream);
        let lanes = McpProcessorFactory::new(
            Arc::clone(&self.gateway),
            listing,
            self.config.upstream_message_limit(),
        );
        let lanes = lanes.with_max_client_message_bytes(self.config.client_message_limit());
        let lanes = lanes.with_tracing(self.observers.exports_traces);
        match upstream {
            Some(name) => lanes.with_upstream(name),
            None => lanes,
        }
    }

    /// Frees what has expired even where nobody asks for anything. Call it within a runtime.
    pub(crate) fn spawn_expiry_task(self: &Arc<Self>) {
        let every = (self.config.snapshot_ttl() / 2).clamp(Duration::from_secs(1), Duration::from_secs(30));
        let setup = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(every).await;
                let Some(setup) = setup.upgrade() else { return };
                setup.store_stats();
            }
        });
    }

    /// What waits, when it is dropped, for the end of what was told.
    pub(crate) fn shutdown_guard(self: &Arc<Self>) -> ShutdownGuard {
        ShutdownGuard { setup: Arc::clone(self), closing: ShutdownDeadline::default() }
    }

    /// Set once the program is asked to end: new requests are refused, those that run are finished.
    pub(crate) fn drain_flag(&self) -> Arc<OneShotFlag> {
        Arc::clone(&self.drain_flag)
    }

    /// What the store holds.
    pub(crate) fn store_stats(&self) -> store::StoreStats {
        self.gateway.store_stats()
    }

    /// How many messages of servers were not relayed.
    pub(crate) fn dropped_stats(&self) -> dropped_messages::DropCounts {
        self.gateway.drop_counts()
    }

    /// How near counts come to what they are held against.
    pub(crate) fn accuracy_stats(&self) -> accuracy::AccuracyStats {
        self.gateway.accuracy_stats()
    }

    /// What is to be known of the configuration, and what was recorded.
    pub(crate) fn config_and_recorder_status(&self) -> (ConfigStatus, Option<recorder::QueueSnapshot>) {
        (self.live_config.status(), self.observers.recorder.as_ref().map(|recorder| recorder.snapshot()))
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
    pub(crate) fn webhook_failure_count(&self) -> u64 {
        self.observers.alerts.webhook.as_ref().map_or(0, |webhook| webhook.failed_count())
    }

    /// When it was started.
    pub(crate) fn started_at(&self) -> SystemTime {
        self.started_at
    }
}

impl ShutdownGuard {
    /// Waits no longer than the stop of this relay may take.
    pub(crate) fn set_deadline(&mut self, closing: &ShutdownDeadline) {
        self.closing = closing.clone();
    }
}

impl Drop for ShutdownGuard {
    fn drop(&mut self) {
        let until = Instant::now() + self.closing.remaining().unwrap_or(SHUTDOWN_TIMEOUT);
        let left = until.saturating_duration_since(Instant::now());
        if !self.setup.gateway.flush(left.min(SETTLE_TIMEOUT)) {
            tracing::warn!("what was to be found out of the last replies is not recorded");
        }
        self.setup.observers.shutdown(until);
    }
}

/// The history of a file. Without one, there is no going back to its versions.
pub(crate) fn open_history(path: &Path) -> Option<History> {
    let opened = user_dirs::history_dir(path).map(|folder| History::open(&folder));
    opened?.inspect_err(|error| tracing::warn!(%error, "versions of the configuration are not kept")).ok()
}

/// Whether an error is one of the configuration, which ends the program with the code of wrong usage.
pub(crate) fn is_misconfigured(error: &(dyn Error + 'static)) -> bool {
    error.is::<Errors>() || error.is::<find::UnreadableFile>()
}
