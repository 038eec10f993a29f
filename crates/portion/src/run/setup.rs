//! Builds what each command in front of a server needs: configuration, gateway and observers.

use std::error::Error;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use portion_config::history::History;
use portion_config::live::{ConfigStatus, LiveConfig};
use portion_config::{Config, Sources, Warnings, find};
use portion_core::event::Observer;
use portion_core::policy::{ClientLimits, MIN_BUDGET};
use portion_gateway::gateway::Gateway;
use portion_gateway::gateway_parts::GatewayParts;
use portion_gateway::principal::{DEFAULT_PRINCIPAL_HEADERS, PrincipalResolver};
use portion_gateway::rules::{EndpointRule, EndpointRules};
use portion_gateway::store;
use portion_mcp::front::ShutdownDeadline;
use portion_mcp::mcp::McpProcessorFactory;
use portion_mcp::once::OneShotFlag;
use portion_net::worker::Deadline;
use portion_policy::client::ResultLimit;
use portion_policy::endpoint::{EndpointKind, EndpointTarget, PolicySource as _};
use portion_telemetry::read::Endpoint;
use portion_telemetry::recorder;
use portion_tokens::Tokenizer;

use crate::cli::failure::StartCheck;
use crate::cli::options::{ConfigOptions, KeyGroups};
use crate::cli::terminal;
use crate::run::observers::{self, Observers};
use crate::run::server::ServerIds;
use crate::run::storage::{self, Storage};

/// Longest time of a shutdown for the recount of the last replies.
const RECOUNT_TIMEOUT: Duration = Duration::from_millis(500);

/// Longest time of a shutdown for writing the last results to the store.
const STORE_TIMEOUT: Duration = Duration::from_millis(500);

/// Time to live of results, unless one is configured.
pub(crate) const SNAPSHOT_TTL: Duration = Duration::from_mins(10);

/// Variable with Claude Code's limit for results, in tokens. It passes its environment to the servers that it starts.
///
/// Source: <https://code.claude.com/docs/en/mcp#mcp-output-limits-and-warnings>.
pub(crate) const MAX_MCP_OUTPUT_TOKENS: &str = "MAX_MCP_OUTPUT_TOKENS";

/// A configuration, before anything is started.
pub(crate) struct LoadedConfig {
    pub(crate) config: Arc<Config>,
    sources: Sources,
    history: Option<History>,
}

/// A running gateway with its configuration and observers.
pub(crate) struct Setup {
    pub(crate) config: Arc<Config>,
    /// Identifies callers over HTTP.
    pub(crate) principals: PrincipalResolver,
    pub(crate) gateway: Arc<Gateway>,
    /// Reason why the configured store could not be opened, if so.
    store_problem: Option<String>,
    live_config: LiveConfig,
    /// Factories of all servers, whose rules change with the configuration.
    factories: Arc<Mutex<Vec<McpProcessorFactory>>>,
    pub(crate) observers: Observers,
    pub(crate) started_at: SystemTime,
    /// Set at shutdown: new requests are rejected, open ones are finished.
    pub(crate) drain_flag: Arc<OneShotFlag>,
}

/// Flushes records, metrics and alerts when it is dropped. Other tasks may still hold the setup then.
pub(crate) struct ShutdownGuard {
    setup: Arc<Setup>,
    pub(crate) shutdown_deadline: ShutdownDeadline,
}

impl LoadedConfig {
    /// Reads file, environment and options, and starts the log.
    ///
    /// # Errors
    /// Returns all problems of the configuration.
    pub(crate) fn load<K: KeyGroups>(options: &ConfigOptions<K>) -> Result<Self, Box<dyn Error>> {
        let sources = options.sources()?;
        let mut history = sources.file.as_ref().and_then(|(path, _)| open_history(path));
        let (config, Warnings(warnings)) = LiveConfig::load(&sources, history.as_mut())?;
        terminal::start_log(config.log_level(), config.has_json_log());
        for warning in warnings {
            tracing::warn!("{warning}");
        }
        Ok(Self { config: Arc::new(config), sources, history })
    }

    /// Starts the gateway for these servers. `default_ttl`: time to live of results, unless one is configured.
    /// `start_check`: the errors of the command with a changed configuration.
    ///
    /// # Errors
    /// Returns an error if the file cannot be watched, the store or the keys of cursors are invalid, or the system
    /// has no randomness.
    pub(crate) fn start(
        self,
        servers: &ServerIds,
        default_ttl: Duration,
        start_check: StartCheck,
    ) -> Result<Arc<Setup>, Box<dyn Error>> {
        let Self { config, sources, history } = self;
        // The first call does not wait for the vocabulary of almost all models.
        std::thread::spawn(|| Tokenizer::default().prepare());
        let client_limits = limits_from_environment();
        let Storage { store, cursor_secret, earlier_cursor_secrets, principal_secret, problem } =
            Storage::open(&config, servers, default_ttl)?;
        let observers = Observers::start(&config);
        let observer: Arc<dyn Observer> = Arc::clone(&observers.async_observer) as _;
        let rules = EndpointRules::new(Arc::clone(&config) as _, client_limits);
        let parts = GatewayParts {
            observer: Arc::clone(&observer),
            earlier_cursor_secrets,
            ..GatewayParts::new(rules, store, cursor_secret)
        };
        let gateway = Arc::new(Gateway::new(parts));
        let (live_gateway, alarm) = (Arc::clone(&gateway), Arc::clone(&observers.alerts.alarm));
        let factories: Arc<Mutex<Vec<McpProcessorFactory>>> = Arc::default();
        let listed_factories = Arc::clone(&factories);
        let apply_config = Box::new(move |config: &Arc<Config>| {
            for factory in listed_factories.lock().unwrap_or_else(PoisonError::into_inner).iter() {
                factory.set_rule_patterns(config.listing(factory.upstream.as_deref()).rule_patterns);
            }
            alarm.set_rule(observers::alert_rule(&config.alerts()));
            live_gateway.replace_rules(EndpointRules::new(Arc::clone(config) as _, client_limits));
        });
        let running = Arc::clone(&config);
        let check_start = Box::new(move |config: &Config| {
            let errors = start_check(config).into_iter();
            let errors = errors.chain(storage::start_errors(config, Some(&running)));
            errors.map(|error| error.to_string()).collect::<Vec<_>>()
        });
        let live =
            LiveConfig::start(sources, Arc::clone(&config), history, observer, check_start, apply_config)?;
        if let Some(file) = config.file() {
            tracing::info!(file = %file.display(), version = config.version(), "configured");
        }
        let headers = config.principal_headers().map_or(DEFAULT_PRINCIPAL_HEADERS.to_vec(), |names| {
            // The configuration has rejected invalid names.
            names.iter().filter_map(|name| name.parse().ok()).collect()
        });
        let principals = PrincipalResolver::new(principal_secret, headers);
        Ok(Arc::new(Setup {
            config,
            principals,
            gateway,
            store_problem: problem,
            live_config: live,
            factories,
            observers,
            started_at: SystemTime::now(),
            drain_flag: Arc::default(),
        }))
    }
}

impl Setup {
    /// Returns the processors for a server, which may have a name.
    pub(crate) fn processors(&self, upstream: Option<&str>) -> McpProcessorFactory {
        let listing = self.config.listing(upstream);
        let limit = self.config.upstream_message_limit();
        let mut factory = McpProcessorFactory::new(Arc::clone(&self.gateway), listing, limit);
        factory.max_client_message_bytes = self.config.client_message_limit();
        factory.exports_traces = self.observers.exports_traces;
        factory.upstream = upstream.map(Into::into);
        self.factories.lock().unwrap_or_else(PoisonError::into_inner).push(factory.clone());
        factory
    }

    /// Frees expired snapshots even without requests. Must be called within a runtime.
    pub(crate) fn spawn_expiry_task(self: &Arc<Self>) {
        let ttl = self.config.snapshot_ttl().unwrap_or(SNAPSHOT_TTL);
        let every = (ttl / 2).clamp(Duration::from_secs(1), Duration::from_secs(30));
        let setup = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(every).await;
                let Some(setup) = setup.upgrade() else { return };
                setup.gateway.store_stats();
            }
        });
    }

    /// Returns a guard that flushes when it is dropped.
    pub(crate) fn shutdown_guard(self: &Arc<Self>) -> ShutdownGuard {
        ShutdownGuard { setup: Arc::clone(self), shutdown_deadline: ShutdownDeadline::default() }
    }

    /// Waits until the store has all results, or the deadline is over.
    pub(crate) async fn flush_store(self: &Arc<Self>, deadline: Deadline) {
        let setup = Arc::clone(self);
        let flushed = tokio::task::spawn_blocking(move || setup.gateway.flush_store(deadline.remaining()));
        // A failure is logged when the process ends.
        let _ = flushed.await;
    }

    /// Returns the state of the store behind the memory, if there is one, or was to be one.
    pub(crate) fn backend_status(&self) -> Option<store::BackendStatus> {
        let missing = || {
            let problem = self.store_problem.clone()?;
            Some(store::BackendStatus { is_available: false, problem: Some(problem), failure_count: 1 })
        };
        self.gateway.backend_status().or_else(missing)
    }

    /// Returns the state of the configuration and of the recorder.
    pub(crate) fn config_and_recorder_status(&self) -> (ConfigStatus, Option<recorder::QueueSnapshot>) {
        (self.live_config.status(), self.observers.recorder.as_ref().map(|recorder| recorder.snapshot()))
    }

    /// Returns the number of alert messages that could not be delivered.
    pub(crate) fn webhook_failure_count(&self) -> u64 {
        self.observers.alerts.webhook.as_ref().map_or(0, |webhook| webhook.failed_count())
    }
}

impl Drop for ShutdownGuard {
    fn drop(&mut self) {
        let deadline = self.shutdown_deadline.deadline();
        if !self.setup.gateway.flush(deadline.at_most(RECOUNT_TIMEOUT).remaining()) {
            tracing::warn!("exact token counts of the last replies were not recorded");
        }
        if !self.setup.gateway.flush_store(deadline.at_most(STORE_TIMEOUT).remaining()) {
            tracing::warn!("the last results are not stored; their cursors end with this process");
        }
        self.setup.observers.shutdown(deadline);
    }
}

/// The history of a file. Without one, there is no going back to its versions.
pub(crate) fn open_history(path: &Path) -> Option<History> {
    let opened = find::history_dir(path).map(|folder| History::open(&folder));
    opened?.inspect_err(|error| tracing::warn!(%error, "configuration versions are not recorded")).ok()
}

/// Returns the limits in the environment. An invalid value is logged and ignored.
pub(crate) fn limits_from_environment() -> ClientLimits {
    let Some(value) = std::env::var_os(MAX_MCP_OUTPUT_TOKENS) else { return ClientLimits::UNKNOWN };
    let value = value.to_string_lossy();
    let Some(tokens) = value.trim().parse().ok().filter(|tokens| *tokens > 0) else {
        tracing::warn!("{MAX_MCP_OUTPUT_TOKENS} is {value}, which is not a number of tokens: it is ignored");
        return ClientLimits::UNKNOWN;
    };
    let room = ResultLimit::Tokens(tokens).reply_room();
    let min = 2 * MIN_BUDGET;
    if room.max_tokens < Some(min) {
        tracing::warn!("{MAX_MCP_OUTPUT_TOKENS} is {tokens}, but explicit requests may need {min}");
    }
    room
}

/// Rules of recorded endpoints under a configuration.
pub(crate) struct EndpointRuleLookup(EndpointRules);

impl EndpointRuleLookup {
    /// Creates the rules of a configuration.
    pub(crate) fn new(config: Config) -> Self {
        Self(EndpointRules::new(Arc::new(config), limits_from_environment()))
    }

    /// Returns the rule of an endpoint.
    pub(crate) fn rule_for(&self, endpoint: &Endpoint) -> Arc<EndpointRule> {
        let kind = EndpointKind::from_name(&endpoint.kind).unwrap_or_default();
        self.0.rule_for(EndpointTarget { upstream: endpoint.upstream.as_deref(), kind, name: &endpoint.name })
    }
}
