//! One version of what an operator wrote: checked as a whole, never changed.

mod alerts;
mod cascade;
mod check;
mod defaults;
mod endpoint_config;
mod upstream;
mod values;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use portion_core::tokens::Tokenizer;
use portion_gateway::mcp::ListingOptions;
use portion_gateway::policy_source::{EndpointConfig, EndpointTarget, PolicySource};

pub use alerts::AlertSettings;
pub(crate) use cascade::{Cascade, PatternRule};
pub use upstream::{ServerConfig, Upstream};

use crate::problem::{Errors, Warnings};
use crate::read::{ConfigReader, SourceLines};
use crate::settings::Settings;
use crate::sources::Sources;
use crate::value::Value;

/// One version of what an operator wrote.
#[derive(Debug)]
pub struct Config {
    version: u64,
    file: Option<PathBuf>,
    top: Settings,
    /// Rules for endpoints, from the least to the most specific.
    rules: Vec<PatternRule>,
    /// The same as they were written.
    declared_rules: Vec<(String, Settings)>,
    upstreams: Vec<Upstream>,
}

/// Where metrics and traces are sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OtlpTarget<'a> {
    /// Nowhere.
    Off,
    /// Where the variables of OpenTelemetry say, if they do.
    Auto,
    /// To the collector of that URL, references followed.
    Collector(&'a str),
}

impl Config {
    /// What the sources say, if it can be obeyed.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub fn load(sources: &Sources, version: u64) -> Result<(Self, Warnings), Errors> {
        let mut reading = ConfigReader::default();
        let mut layer = reading.read_sources(sources);
        if let Some(outside) = sources.secret_resolver.as_deref() {
            reading.expand_references(&mut layer.top, outside);
        }
        let upstreams =
            reading.resolve_upstreams(layer.upstreams, &layer.rules, sources.secret_resolver.as_deref());
        let config = Self {
            version,
            file: sources.file.as_ref().map(|(path, _)| path.clone()),
            top: layer.top,
            rules: cascade::rules_by_specificity(&layer.rules, None),
            declared_rules: layer.rules.0,
            upstreams,
        };
        config.check(&mut reading);
        config.check_alerts(&mut reading);
        let ConfigReader { mut problems, mut warnings, secret_ranges: hidden, is_file_parsed: is_whole } =
            reading;
        if let Some((_, text)) = sources.file.as_ref().filter(|_| is_whole) {
            let lines = SourceLines::new(text, &hidden);
            problems.iter_mut().chain(&mut warnings).for_each(|problem| lines.add_snippet(problem));
        }
        problems.sort();
        problems.dedup();
        warnings.sort();
        if problems.is_empty() { Ok((config, Warnings(warnings))) } else { Err(Errors(problems)) }
    }

    /// The same as another version.
    #[must_use]
    pub fn with_version(self, version: u64) -> Self {
        Self { version, ..self }
    }

    /// The file that it was read from.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// What was written for everything.
    pub fn top(&self) -> &Settings {
        &self.top
    }

    /// The servers, in the order in which they were written.
    pub fn upstreams(&self) -> &[Upstream] {
        &self.upstreams
    }

    /// What was written for endpoints of any server: patterns with their settings, in the order in which they were written.
    pub fn endpoints(&self) -> impl Iterator<Item = (&str, &Settings)> {
        self.declared_rules.iter().map(|(pattern, settings)| (pattern.as_str(), settings))
    }

    /// How long a payload is kept after the last cursor to it.
    pub fn snapshot_ttl(&self) -> Duration {
        match self.value("snapshotTtl") {
            Some(Value::Duration(time)) => *time,
            _ => Duration::from_mins(10),
        }
    }

    /// Bytes for payloads that are kept.
    pub fn snapshot_memory(&self) -> usize {
        self.size("snapshotMemory", 512 << 20)
    }

    /// Bytes of the largest message that is taken from a server.
    pub fn upstream_message_limit(&self) -> usize {
        self.size("upstreamMessageLimit", 256 << 20)
    }

    /// Bytes of the largest message that is taken from a client.
    pub fn client_message_limit(&self) -> usize {
        self.size("clientMessageLimit", 64 << 20)
    }

    /// How long running requests may take to finish after a signal to end.
    pub fn drain_timeout(&self) -> Duration {
        match self.value("drainTimeout") {
            Some(Value::Duration(time)) => *time,
            _ => Duration::from_secs(30),
        }
    }

    /// What counts tokens.
    pub fn tokenizer(&self) -> Tokenizer {
        self.choice("tokenizer").and_then(|name| name.parse().ok()).unwrap_or_default()
    }

    /// Where to listen.
    pub fn listen(&self) -> SocketAddr {
        self.address("listen").unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, 8765)))
    }

    /// Where health, metrics and records are served; `None`: nowhere. `wrap` serves them only where an address
    /// [was written](Self::top).
    pub fn admin(&self) -> Option<SocketAddr> {
        match self.value("admin") {
            Some(Value::Choice(_)) => None,
            _ => self.address("admin").or(Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 9465)))),
        }
    }

    /// The address that was written for that, and no other.
    pub fn explicit_admin(&self) -> Option<SocketAddr> {
        self.address("admin")
    }

    /// Further hosts by which we may be asked.
    pub fn allow_hosts(&self) -> Vec<String> {
        self.names("allowHosts")
    }

    /// Origins whose pages may ask.
    pub fn allow_origins(&self) -> Vec<String> {
        self.names("allowOrigins")
    }

    /// Whether to listen where other machines can ask without being authenticated.
    pub fn insecure(&self) -> bool {
        matches!(self.value("insecure"), Some(Value::Boolean(true)))
    }

    /// The headers that carry credentials, where any were written.
    pub fn principal_headers(&self) -> Option<Vec<String>> {
        self.value("principalHeaders").map(|_| self.names("principalHeaders"))
    }

    /// The level of the log, where one was written.
    pub fn log_level(&self) -> Option<&'static str> {
        self.choice("logLevel")
    }

    /// Whether the log is JSON.
    pub fn has_json_log(&self) -> bool {
        self.choice("logFormat") == Some("json")
    }

    /// How the tools of a server are listed.
    pub fn listing(&self, upstream: Option<&str>) -> ListingOptions {
        self.base_cascade(upstream).listing()
    }

    /// The file that requests are recorded in; `None` where they are not. `usual` is where that is unless something else
    /// was written.
    pub fn telemetry(&self, usual: impl FnOnce() -> Option<PathBuf>) -> Option<PathBuf> {
        match self.value("telemetry") {
            Some(Value::Choice("off")) => None,
            Some(Value::Text(path)) => Some(path.into()),
            _ => usual(),
        }
    }

    /// Where metrics and traces are sent.
    pub fn otlp(&self) -> OtlpTarget<'_> {
        match self.value("otlp") {
            Some(Value::Choice("off")) => OtlpTarget::Off,
            Some(Value::Reference(url)) => OtlpTarget::Collector(url.reveal()),
            _ => OtlpTarget::Auto,
        }
    }

    fn value(&self, key: &str) -> Option<&Value> {
        self.top.get(key).map(|set| &set.value)
    }

    fn choice(&self, key: &str) -> Option<&'static str> {
        match self.value(key) {
            Some(Value::Choice(word)) => Some(word),
            _ => None,
        }
    }

    fn size(&self, key: &str, default: u64) -> usize {
        let size = match self.value(key) {
            Some(Value::Size(size)) => *size,
            _ => default,
        };
        usize::try_from(size).unwrap_or(usize::MAX)
    }

    fn address(&self, key: &str) -> Option<SocketAddr> {
        match self.value(key) {
            Some(Value::Text(address)) => address.parse().ok(),
            _ => None,
        }
    }

    fn names(&self, key: &str) -> Vec<String> {
        match self.value(key) {
            Some(Value::Names(names)) => names.clone(),
            _ => Vec::new(),
        }
    }
}

impl PolicySource for Config {
    fn version(&self) -> u64 {
        self.version
    }

    fn endpoint_config(&self, target: Option<EndpointTarget<'_>>) -> EndpointConfig {
        self.cascade(target).endpoint_config()
    }
}

/// The salt of what was written for everything.
pub(crate) fn global_salt() -> Arc<str> {
    Arc::from("")
}
