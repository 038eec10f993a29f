//! The log on stderr. Stdout belongs to the protocol.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

/// Crate whose events are logged from `info` on: an operator sees that a changed configuration is in force.
const CONFIG_TARGET: &str = "portion_config";

/// Variable with the level, for all commands.
const LEVEL_VARIABLE: &str = "PORTION_LOG";

/// Starts the log of a command without a configuration, which would report an invalid `PORTION_LOG`.
pub(crate) fn init_without_config(json: bool) {
    init_stderr(None, json);
    let named = std::env::var(LEVEL_VARIABLE).unwrap_or_default();
    if !named.is_empty() && named.parse::<LevelFilter>().is_err() {
        tracing::warn!("{LEVEL_VARIABLE} is {named}; it must be off, error, warn, info, debug or trace");
    }
}

/// Starts the log at the configured level, or at that of `PORTION_LOG`: off, error, warn (the default), info, debug, trace.
pub(crate) fn init_stderr(written: Option<&str>, json: bool) {
    let named = std::env::var(LEVEL_VARIABLE).unwrap_or_default();
    // An empty text would be parsed as `error`.
    let by_variable: Option<LevelFilter> =
        Some(&named).filter(|name| !name.is_empty()).and_then(|name| name.parse().ok());
    let level = by_variable.or_else(|| written.and_then(|level| level.parse().ok()));
    let filter = match level {
        Some(level) => Targets::new().with_default(level),
        None => Targets::new().with_default(LevelFilter::WARN).with_target(CONFIG_TARGET, LevelFilter::INFO),
    };
    let plain = fmt::layer().with_writer(std::io::stderr).with_target(false).log_internal_errors(false);
    let layer = if json { plain.json().flatten_event(true).boxed() } else { plain.boxed() };
    tracing_subscriber::registry().with(layer.with_filter(filter)).init();
}
