//! What Portion tells its operator, on stderr: stdout is the protocol's.

use tracing::level_filters::LevelFilter;

/// Logs to stderr from the level that `PORTION_LOG` names: off, error, warn (the default), info, debug, trace.
pub(crate) fn to_stderr() {
    let named = std::env::var("PORTION_LOG").unwrap_or_default();
    let level = named.parse().ok();
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(level.unwrap_or(LevelFilter::WARN))
        .with_target(false)
        .init();
    if level.is_none() && !named.is_empty() {
        tracing::warn!("PORTION_LOG is {named}, but it is off, error, warn, info, debug or trace");
    }
}
