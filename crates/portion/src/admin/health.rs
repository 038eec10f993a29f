//! Whether a running Portion is well.

use serde_json::json;

use crate::setup::Setup;

/// `degraded` where the configuration file says what cannot be obeyed, or records are lost.
pub(super) fn health(setup: &Setup) -> String {
    let (state, records) = setup.health();
    let store = setup.store();
    let is_well = state.errors.is_empty() && records.is_none_or(|records| records.dropped == 0);
    let health = json!({
        "status": if is_well { "ok" } else { "degraded" },
        "version": env!("CARGO_PKG_VERSION"),
        "config": {
            "version": state.version,
            "file": state.file,
            "since": state.since,
            "valid": state.errors.is_empty(),
            "errors": state.errors,
            "waitingForRestart": state.waiting,
            "reloads": state.reloads,
            "refusals": state.refusals,
        },
        "store": {
            "snapshots": store.snapshots,
            "principals": store.principals,
            "bytes": store.bytes,
            "evicted": store.evicted,
            "expired": store.expired,
            "refused": store.refused,
        },
        "telemetry": records.map(|records| json!({
            "written": records.written,
            "dropped": records.dropped,
            "failed": records.failed,
            "queue": records.queue,
        })),
    });
    format!("{health}\n")
}
