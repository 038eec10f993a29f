//! `/metrics`, with the names that OTLP uses too.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use hyper::StatusCode;
use portion_telemetry::alert::OVERSIZED;
use portion_telemetry::meter::Family;
use portion_telemetry::{names, prometheus};

use crate::run::setup::Setup;

/// Returns all metrics in the text format of Prometheus.
pub(super) fn metrics(setup: &Setup) -> (StatusCode, String) {
    (StatusCode::OK, prometheus::text(&metric_families(setup)))
}

/// Exports the metrics by OTLP, if that is configured. The setup holds the exporter, so that the exporter must not hold
/// the setup.
pub(crate) fn export_metrics(setup: &Arc<Setup>) {
    let source = Arc::downgrade(setup);
    setup.export_metrics(move || source.upgrade().map_or_else(Vec::new, |setup| metric_families(&setup)));
}

/// Returns all metrics.
fn metric_families(setup: &Setup) -> Vec<Family> {
    let (state, records) = setup.config_and_recorder_status();
    let (store, mut families) = (setup.store_stats(), setup.meter().families());
    families.extend(alert_families(setup));
    if let Some(records) = records {
        families.extend([
            Family::of(&names::RECORDS_WRITTEN, records.written),
            Family::of(&names::RECORDS_DROPPED, records.dropped),
            Family::of(&names::RECORD_WRITES_FAILED, records.failed),
            Family::of(&names::RECORDS_QUEUED, records.queued as u64),
        ]);
    }
    let mut dropped = Family::new(&names::MESSAGES_DROPPED);
    let counts = setup.dropped_stats();
    for (reason, count) in [
        ("unasked", counts.unsolicited),
        ("cancelled", counts.cancelled),
        ("invalid", counts.invalid),
        ("oversized", counts.oversized),
    ] {
        dropped.push(vec![(names::REASON, reason.to_owned())], count);
    }
    let mut build = Family::new(&names::BUILD);
    build.push(vec![(names::VERSION, env!("CARGO_PKG_VERSION").to_owned())], true);
    families.extend([
        Family::of(&names::IN_FALLBACK, setup.accuracy_stats().in_fallback_count as u64),
        Family::of(&names::CONFIG_VERSION, state.version),
        Family::of(&names::CONFIG_VALID, state.errors.is_empty()),
        Family::of(&names::CONFIG_SINCE, state.active_since as f64 / 1e6),
        Family::of(&names::CONFIG_RELOADS, state.reload_count),
        Family::of(&names::CONFIG_REFUSALS, state.rejected_count),
        Family::of(&names::SNAPSHOTS, store.snapshots as u64),
        Family::of(&names::SNAPSHOT_BYTES, store.bytes as u64),
        Family::of(&names::SNAPSHOTS_SPILLED, store.spilled as u64),
        Family::of(&names::SPILLED_BYTES, store.spilled_bytes),
        Family::of(&names::SNAPSHOTS_EVICTED, store.evicted),
        Family::of(&names::SNAPSHOTS_EXPIRED, store.expired),
        Family::of(&names::SNAPSHOTS_REFUSED, store.refused),
        dropped,
        build,
        Family::of(&names::START_TIME, seconds(setup.started_at())),
    ]);
    if let Some(backend) = setup.backend_status() {
        families.extend([
            Family::of(&names::STORE_AVAILABLE, backend.is_available),
            Family::of(&names::STORE_FAILURES, backend.failure_count),
        ]);
    }
    families
}

fn alert_families(setup: &Setup) -> Vec<Family> {
    let [mut active, mut share, mut threshold] =
        [&names::ALERT_ACTIVE, &names::WINDOW_SHARE, &names::ALERT_THRESHOLD].map(Family::new);
    let alert = || vec![(names::ALERT, OVERSIZED.to_owned())];
    if let Some((state, _)) = setup.alarm().state() {
        active.push(alert(), state.raised);
        threshold.push(alert(), state.rule.percent / 100.0);
        if let Some(is) = state.share() {
            share.push(alert(), is);
        }
    }
    vec![active, share, threshold, Family::of(&names::WEBHOOKS_FAILED, setup.webhook_failure_count())]
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
