//! The log on stderr. Stdout belongs to the protocol.

use portion_config::key::{LEVEL_VARIABLE, level_choices, parse_level};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

/// Crate whose events are logged from `info` on: an operator sees that a changed configuration is in force.
const CONFIG_TARGET: &str = "portion_config";

/// Starts the log of a command without a configuration, which would report an invalid `PORTION_LOG`.
pub(crate) fn init_without_config(json: bool) {
    init_stderr(None, json);
    if let Err(named) = level_of_variable() {
        tracing::warn!("{LEVEL_VARIABLE} is {named}; it must be {}", level_choices());
    }
}

/// Returns the level of `PORTION_LOG`, or its value if that is none.
fn level_of_variable() -> Result<Option<LevelFilter>, String> {
    let named = std::env::var(LEVEL_VARIABLE).unwrap_or_default();
    parse_level(&named).map_err(|_| named)
}

/// Starts the log at the level of `PORTION_LOG`, else at the configured one, else at `warn`.
pub(crate) fn init_stderr(written: Option<&str>, json: bool) {
    let by_variable = level_of_variable().unwrap_or_default();
    let level = by_variable.or_else(|| written.and_then(|level| parse_level(level).unwrap_or_default()));
    let filter = match level {
        Some(level) => Targets::new().with_default(level),
        None => Targets::new().with_default(LevelFilter::WARN).with_target(CONFIG_TARGET, LevelFilter::INFO),
    };
    let plain = fmt::layer().with_writer(std::io::stderr).with_target(false).log_internal_errors(false);
    let layer = if json { plain.json().flatten_event(true).boxed() } else { plain.boxed() };
    tracing_subscriber::registry().with(layer.with_filter(filter)).init();
}
