//! One version of the configuration: checked as a whole, immutable.

mod access;
mod cascade;
mod check;
mod endpoint_config;
mod rest;
mod upstream;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use portion_policy::endpoint::{EndpointConfig, EndpointTarget, ListingOptions, PolicySource};
use portion_policy::upstream::UpstreamTarget;

use crate::find::Sources;
use crate::read::{ConfigReader, SourceLines};
use crate::settings::{Errors, Origin, Settings, Warnings};
use crate::value::Value;
use cascade::TypedValues;

pub(crate) use cascade::{Cascade, PatternRule};
pub use rest::{OAuthConfig, RestConfig};
pub use upstream::{LoginConfig, ServerConfig, Upstream};

/// One version of the configuration.
#[derive(Debug)]
pub struct Config {
    version: u64,
    file: Option<PathBuf>,
    top: Settings,
    /// Rules for endpoints, from the least to the most specific.
    rules: Vec<PatternRule>,
    /// Rules as written.
    declared_rules: Vec<(String, Settings)>,
    upstreams: Vec<Upstream>,
}

/// Destination of metrics and traces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OtlpTarget<'a> {
    /// No export.
    Off,
    /// The destination in the variables of OpenTelemetry, if they are set.
    Auto,
    /// The collector at this URL, with references followed.
    Collector(&'a str),
}

impl Config {
    /// Loads a configuration from its sources.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn load(sources: &Sources, version: u64) -> Result<(Self, Warnings), Errors> {
        let mut reader = ConfigReader::default();
        let mut layer = reader.read_sources(sources);
        if let Some(outside) = sources.secret_resolver.as_deref() {
            reader.expand_references(&mut layer.top, outside);
        }
        let upstreams =
            reader.resolve_upstreams(layer.upstreams, &layer.rules, sources.secret_resolver.as_deref());
        let config = Self {
            version,
            file: sources.file.as_ref().map(|(path, _)| path.clone()),
            top: layer.top,
            rules: cascade::rules_by_specificity(&layer.rules, None),
            declared_rules: layer.rules.0,
            upstreams,
        };
        config.check(&mut reader);
        config.check_alerts(&mut reader);
        config.check_access(&mut reader);
        let ConfigReader { mut problems, mut warnings, secret_ranges: hidden, is_file_parsed: is_whole } =
            reader;
        if let Some((_, text)) = sources.file.as_ref().filter(|_| is_whole) {
            let lines = SourceLines::new(text, &hidden);
            problems.iter_mut().chain(&mut warnings).for_each(|problem| lines.add_snippet(problem));
        }
        problems.sort();
        problems.dedup();
        warnings.sort();
        if problems.is_empty() { Ok((config, Warnings(warnings))) } else { Err(Errors(problems)) }
    }

    /// Returns the configuration with another version number.
    #[must_use]
    pub fn with_version(self, version: u64) -> Self {
        Self { version, ..self }
    }

    /// Returns the file that it was read from.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the settings for everything.
    pub fn top(&self) -> &Settings {
        &self.top
    }

    /// Returns the servers, in order.
    pub fn upstreams(&self) -> &[Upstream] {
        &self.upstreams
    }

    /// Returns the choices for logins at a server with this name.
    pub fn login(&self, name: &str) -> Option<&LoginConfig> {
        let upstream = self.upstreams.iter().find(|upstream| *upstream.name == *name)?;
        if let ServerConfig::Url { login, .. } = &upstream.server { Some(login) } else { None }
    }

    /// Yields the patterns of endpoints of all servers with their settings, in order.
    pub fn endpoints(&self) -> impl Iterator<Item = (&str, &Settings)> {
        self.declared_rules.iter().map(|(pattern, settings)| (pattern.as_str(), settings))
    }

    /// Returns how long a payload is kept after its last cursor was issued, if it is configured.
    pub fn snapshot_ttl(&self) -> Option<Duration> {
        self.duration("snapshotTtl")
    }

    /// Returns the memory for stored payloads, in bytes.
    pub fn snapshot_memory(&self) -> usize {
        self.size("snapshotMemory").unwrap_or(512 << 20)
    }

    /// Returns true if payloads are also kept in files.
    pub fn has_file_store(&self) -> bool {
        self.choice("store") == Some("file")
    }

    /// Returns the URL of the store that several instances share, with references followed.
    pub fn shared_store(&self) -> Option<&str> {
        self.revealed("store")
    }

    /// Returns the file with the keys of cursors, or the keys, with references followed.
    pub fn cursor_keys(&self) -> Option<&str> {
        self.revealed("cursorKeys")
    }

    /// Returns the disk space for stored payloads, in bytes; 0 if it is off.
    pub fn snapshot_disk(&self) -> usize {
        match self.value("snapshotDisk") {
            Some(Value::Choice(_)) => 0,
            _ => self.size("snapshotDisk").unwrap_or(2 << 30),
        }
    }

    /// Returns the maximum size of a message from a server, in bytes.
    pub fn upstream_message_limit(&self) -> usize {
        self.size("upstreamMessageLimit").unwrap_or(256 << 20)
    }

    /// Returns the maximum size of a message from a client, in bytes.
    pub fn client_message_limit(&self) -> usize {
        self.size("clientMessageLimit").unwrap_or(64 << 20)
    }

    /// Returns how long running requests may take to finish after a termination signal.
    pub fn drain_timeout(&self) -> Duration {
        self.duration("drainTimeout").unwrap_or(Duration::from_secs(30))
    }

    /// Returns the address to listen at, or a default.
    pub fn listen_or(&self, default: SocketAddr) -> SocketAddr {
        self.address("listen").unwrap_or(default)
    }

    /// Returns the address for health, metrics and records; `None` if they are not served. `wrap` serves
    /// them only if an address [is configured](Self::explicit_admin).
    pub fn admin(&self) -> Option<SocketAddr> {
        match self.value("admin") {
            Some(Value::Choice(_)) => None,
            _ => self.address("admin").or(Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 9465)))),
        }
    }

    /// Returns the configured address for health, metrics and records, without the default.
    pub fn explicit_admin(&self) -> Option<SocketAddr> {
        self.address("admin")
    }

    /// Returns additional host names that requests may use.
    pub fn allow_hosts(&self) -> Vec<String> {
        self.names("allowHosts").unwrap_or_default()
    }

    /// Returns origins whose pages may send requests.
    pub fn allow_origins(&self) -> Vec<String> {
        self.names("allowOrigins").unwrap_or_default()
    }

    /// Returns true if Portion may listen where other machines can connect without authentication.
    pub fn insecure(&self) -> bool {
        self.boolean("insecure") == Some(true)
    }

    /// Returns the headers that carry credentials, if they are configured.
    pub fn principal_headers(&self) -> Option<Vec<String>> {
        self.value("principalHeaders").map(|_| self.names("principalHeaders").unwrap_or_default())
    }

    /// Returns the log level, if it is configured.
    pub fn log_level(&self) -> Option<&'static str> {
        self.choice("logLevel")
    }

    /// Returns true if the log is JSON.
    pub fn has_json_log(&self) -> bool {
        self.choice("logFormat") == Some("json")
    }

    /// Returns the options for listing the tools of a server.
    pub fn listing(&self, upstream: Option<&str>) -> ListingOptions {
        ListingOptions {
            rule_patterns: self.tool_patterns(upstream),
            ..self.base_cascade(upstream).listing()
        }
    }

    /// Returns the patterns of rules that can only be meant for tools or prompts of a server.
    fn tool_patterns(&self, upstream: Option<&str>) -> Vec<String> {
        let own = self.upstreams.iter().find(|own| Some(&*own.name) == upstream);
        let own = own.into_iter().flat_map(Upstream::endpoints);
        // A rule for all servers may match a tool of another one.
        let general = self.endpoints().filter(|_| self.upstreams.len() < 2);
        let names = own.chain(general).map(|(pattern, _)| pattern);
        names.filter(|name| !name.contains(['/', ':', ' '])).map(str::to_owned).collect()
    }

    /// Returns the file in which requests are recorded; `None` if they are not recorded. `default_file`
    /// supplies the path if none is configured.
    pub fn telemetry(&self, default_file: impl FnOnce() -> Option<PathBuf>) -> Option<PathBuf> {
        match self.value("telemetry") {
            Some(Value::Choice("off")) => None,
            Some(Value::Text(path)) => Some(path.into()),
            _ => default_file(),
        }
    }

    /// Returns the price of a million input tokens, in US dollars.
    pub fn token_price(&self) -> Option<f64> {
        self.number("tokenPrice")
    }

    /// Returns the destination of metrics and traces.
    pub fn otlp(&self) -> OtlpTarget<'_> {
        match self.value("otlp") {
            Some(Value::Choice("off")) => OtlpTarget::Off,
            Some(Value::Reference(url)) => OtlpTarget::Collector(url.reveal()),
            _ => OtlpTarget::Auto,
        }
    }

    fn address(&self, key: &str) -> Option<SocketAddr> {
        self.text(key)?.parse().ok()
    }
}

impl TypedValues for Config {
    fn value(&self, key: &str) -> Option<&Value> {
        self.top.value(key)
    }
}

impl PolicySource for Config {
    fn version(&self) -> u64 {
        self.version
    }

    fn endpoint_config(&self, target: Option<EndpointTarget<'_>>) -> EndpointConfig {
        self.cascade(target).endpoint_config()
    }

    fn has_rule_of_path(&self, own: EndpointTarget<'_>, general: &str) -> bool {
        let matches = |rule: &PatternRule| rule.pattern.matches(own.name) && !rule.pattern.matches(general);
        self.rules_for(own).iter().any(matches)
    }
}

/// Returns the salt of the settings for everything.
pub(crate) fn global_salt() -> Arc<str> {
    Arc::from("")
}

/// Value of `alertOn` by which every oversized call counts.
pub(crate) const EVERY: &str = "every";

/// Settings of alerts.
#[derive(Clone, PartialEq)]
pub struct AlertSettings {
    /// True if every oversized call counts, false if only repeated ones do.
    pub counts_every_call: bool,
    /// Percentage of calls that may be oversized; `None` for no alert.
    pub oversized_percent: Option<f64>,
    /// Length of the window.
    pub window: Duration,
    /// URL to which alerts are posted, with references followed.
    pub webhook_url: Option<String>,
}

/// Hides the URL, which may be secret.
impl std::fmt::Debug for AlertSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { counts_every_call: every, oversized_percent: oversized, window, webhook_url: webhook } =
            self;
        let mut alerts = f.debug_struct("Alerts");
        alerts.field("every", every);
        alerts.field("oversized", oversized).field("window", window).field("webhook", &webhook.is_some());
        alerts.finish()
    }
}

impl Config {
    /// Returns the settings of alerts.
    pub fn alerts(&self) -> AlertSettings {
        AlertSettings {
            counts_every_call: self.choice("alertOn") == Some(EVERY),
            oversized_percent: match self.value("alertOversized") {
                Some(Value::Choice(_)) => None,
                Some(Value::Number(percent)) => Some(*percent),
                _ => Some(5.0),
            },
            window: self.duration("alertWindow").unwrap_or(Duration::from_mins(5)),
            webhook_url: self.revealed("alertWebhook").map(str::to_owned),
        }
    }

    /// Checks the URL for alerts. A URL with references that were not followed cannot be checked.
    fn check_alerts(&self, reader: &mut ConfigReader) {
        let Some(url) = self.alerts().webhook_url.filter(|url| !url.contains('$')) else { return };
        if UpstreamTarget::new(&url).is_err() {
            let origin = self.top.get("alertWebhook").map_or(Origin::Default, |set| set.origin.clone());
            let fix = "write the whole URL, such as https://hooks.example.com/portion, or none";
            reader.report(origin, "alertWebhook is not a URL", fix);
        }
    }
}
