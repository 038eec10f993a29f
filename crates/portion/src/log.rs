//! What Portion tells its operator, on stderr: stdout is the protocol's.

use tracing::level_filters::LevelFilter;

/// Logs to stderr from the level that `PORTION_LOG` names: off, error, warn (the default), info, debug, trace.
pub(crate) fn to_stderr() {
    let named = std::env::var("PORTION_LOG").ok();
    let level = named.and_then(|name| name.parse().ok()).unwrap_or(LevelFilter::WARN);
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(level).with_target(false).init();
}
