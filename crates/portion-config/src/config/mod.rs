//! One version of what an operator wrote: checked as a whole, never changed.

mod alerts;
mod cascade;
mod check;
mod force;
mod upstream;
mod values;
mod written;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use portion_core::tokens::Tokenizer;
use portion_gateway::book::{Book, Target, Written};
use portion_gateway::mcp::Listing;

pub use alerts::Alerts;
pub(crate) use cascade::{Cascade, Rule};
pub use upstream::{Server, Upstream};

use crate::problem::{Errors, Warnings};
use crate::read::{Lines, Reading};
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
    rules: Vec<Rule>,
    /// The same as they were written.
    own: Vec<(String, Settings)>,
    upstreams: Vec<Upstream>,
}

/// Where metrics and traces are sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Otlp<'a> {
    /// Nowhere.
    Off,
    /// Where the variables of OpenTelemetry say, if they do.
    Auto,
    /// To the collector of that URL, references followed.
    At(&'a str),
}

impl Config {
    /// What the sources say, if it can be obeyed.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub fn load(sources: &Sources, version: u64) -> Result<(Self, Warnings), Errors> {
        let mut reading = Reading::default();
        let mut layer = reading.layers(sources);
        if let Some(outside) = sources.outside.as_deref() {
            reading.follow(&mut layer.top, outside);
        }
        let upstreams = reading.served(layer.upstreams, &layer.rules, sources.outside.as_deref());
        let config = Self {
            version,
            file: sources.file.as_ref().map(|(path, _)| path.clone()),
            top: layer.top,
            rules: cascade::ordered(&layer.rules, None),
            own: layer.rules.0,
            upstreams,
        };
        config.check(&mut reading);
        config.check_alerts(&mut reading);
        let Reading { mut problems, mut warnings, hidden, is_whole } = reading;
        if let Some((_, text)) = sources.file.as_ref().filter(|_| is_whole) {
            let lines = Lines::new(text, &hidden);
            problems.iter_mut().chain(&mut warnings).for_each(|problem| lines.show(problem));
        }
        problems.sort();
        problems.dedup();
        warnings.sort();
        if problems.is_empty() { Ok((config, Warnings(warnings))) } else { Err(Errors(problems)) }
    }

    /// The same as another version.
    #[must_use]
    pub fn numbered(self, version: u64) -> Self {
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
        self.own.iter().map(|(pattern, settings)| (pattern.as_str(), settings))
    }

    /// How long a payload is kept after the last cursor to it.
    pub fn snapshot_ttl(&self) -> Duration {
        match self.value("snapshotTtl") {
            Some(Value::Time(time)) => *time,
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
            Some(Value::Time(time)) => *time,
            _ => Duration::from_secs(30),
        }
    }

    /// What counts tokens.
    pub fn tokenizer(&self) -> Tokenizer {
        self.word("tokenizer").and_then(|name| name.parse().ok()).unwrap_or_default()
    }

    /// Where to listen.
    pub fn listen(&self) -> SocketAddr {
        self.address("listen").unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, 8765)))
    }

    /// Where health, metrics and records are served; `None`: nowhere. `wrap` serves them only where an address
    /// [was written](Self::top).
    pub fn admin(&self) -> Option<SocketAddr> {
        match self.value("admin") {
            Some(Value::Word(_)) => None,
            _ => self.address("admin").or(Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 9465)))),
        }
    }

    /// The address that was written for that, and no other.
    pub fn admin_written(&self) -> Option<SocketAddr> {
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
        matches!(self.value("insecure"), Some(Value::Truth(true)))
    }

    /// The headers that carry credentials, where any were written.
    pub fn principal_headers(&self) -> Option<Vec<String>> {
        self.value("principalHeaders").map(|_| self.names("principalHeaders"))
    }

    /// The level of the log, where one was written.
    pub fn log_level(&self) -> Option<&'static str> {
        self.word("logLevel")
    }

    /// Whether the log is JSON.
    pub fn logs_json(&self) -> bool {
        self.word("logFormat") == Some("json")
    }

    /// How the tools of a server are listed.
    pub fn listing(&self, upstream: Option<&str>) -> Listing {
        self.general(upstream).listing()
    }

    /// The file that requests are recorded in; `None` where they are not. `usual` is where that is unless something else
    /// was written.
    pub fn telemetry(&self, usual: impl FnOnce() -> Option<PathBuf>) -> Option<PathBuf> {
        match self.value("telemetry") {
            Some(Value::Word("off")) => None,
            Some(Value::Text(path)) => Some(path.into()),
            _ => usual(),
        }
    }

    /// Where metrics and traces are sent.
    pub fn otlp(&self) -> Otlp<'_> {
        match self.value("otlp") {
            Some(Value::Word("off")) => Otlp::Off,
            Some(Value::Reference(url)) => Otlp::At(url.reveal()),
            _ => Otlp::Auto,
        }
    }

    fn value(&self, key: &str) -> Option<&Value> {
        self.top.get(key).map(|set| &set.value)
    }

    fn word(&self, key: &str) -> Option<&'static str> {
        match self.value(key) {
            Some(Value::Word(word)) => Some(word),
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

impl Book for Config {
    fn version(&self) -> u64 {
        self.version
    }

    fn written(&self, target: Option<Target<'_>>) -> Written {
        self.cascade(target).written()
    }
}

/// The salt of what was written for everything.
pub(crate) fn everywhere() -> Arc<str> {
    Arc::from("")
}
