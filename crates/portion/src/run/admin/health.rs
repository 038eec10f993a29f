//! `/health`: the state of this process since it started.
//!
//! The status is 200 while requests are accepted, even if the state is `degraded`: a supervisor must not restart a process
//! that serves. `reasons` lists the problems. At shutdown the status is 503 and the state `draining`, so that a load
//! balancer sends requests elsewhere.

use std::time::{Duration, SystemTime};

use hyper::StatusCode;
use portion_config::live::ConfigStatus;
use portion_core::event::Outcome;
use portion_gateway::accuracy::AccuracyStats;
use portion_gateway::store::{BackendStatus, StoreStats};
use portion_telemetry::alert::{AlertState, OVERSIZED};
use portion_telemetry::meter::Totals;
use portion_telemetry::recorder::QueueSnapshot as Records;
use portion_text::display::counted;
use portion_tokens::accuracy::{Accuracy, MIN_ACCURATE_SHARE};
use serde_json::{Map, Value, json};

use super::super::observers::oversized_endpoints;
use crate::run::setup::Setup;

/// Smallest number of samples for a share.
const MIN_SAMPLES: u64 = 20;
/// Time that lost records remain a reason, so that a check each minute sees them.
const LOSS_REPORT_INTERVAL: Duration = Duration::from_mins(5);

/// Returns status and body. The state is `degraded` if the configuration file is invalid, records cannot be written or were
/// just lost, the store behind the memory is lost, an alert is raised, or estimates are inaccurate.
pub(super) fn health(setup: &Setup) -> (StatusCode, String) {
    let (state, records) = setup.config_and_recorder_status();
    let (counts, dropped) = (setup.gateway.accuracy_stats(), setup.gateway.drop_counts());
    let (store, totals, watched) =
        (setup.gateway.store_stats(), setup.observers.meter.totals(), setup.observers.alerts.alarm.state());
    let mut reasons =
        degraded_reasons(&state, records.as_ref(), watched.as_ref().map(|(alert, _)| alert), totals.accuracy);
    if counts.in_fallback_count > 0 {
        reasons.push(format!(
            "token counts of {} are far too low; the byte limit applies: run portion calibrate",
            counted(counts.in_fallback_count, "endpoint")
        ));
    }
    let backend = setup.backend_status();
    reasons.extend(backend.as_ref().and_then(|backend| backend.problem.as_ref()).map(|problem| {
        format!("the snapshot store is not available, and results are kept in this process only: {problem}")
    }));
    let is_draining = setup.drain_flag.is_set();
    let status = match (is_draining, reasons.is_empty()) {
        (true, _) => "draining",
        (false, true) => "ok",
        (false, false) => "degraded",
    };
    let health = json!({
        "status": status,
        "reasons": reasons,
        "version": env!("CARGO_PKG_VERSION"),
        "uptimeSeconds": SystemTime::now().duration_since(setup.started_at).unwrap_or_default().as_secs(),
        "traffic": traffic_json(&totals),
        "oversized": {
            "recent": watched.as_ref().map(|(state, _)| recent_json(state)),
            "sinceStart": share_json(totals.oversized_share(), totals.sized, totals.oversized),
        },
        "estimates": estimates_json(totals.accuracy, &counts),
        "alerts": watched.as_ref().map_or(json!([]), |(state, since)| json!([{
            "alert": OVERSIZED,
            "raised": state.raised,
            "level": state.level.name(),
            "since": since,
            "endpoints": oversized_endpoints(state),
        }])),
        "config": config_json(&state),
        "store": store_json(&store, backend.as_ref()),
        "dropped": {
            "unasked": dropped.unsolicited,
            "cancelled": dropped.cancelled,
            "invalid": dropped.invalid,
            "oversized": dropped.oversized,
        },
        "telemetry": records.map(|records| json!({
            "written": records.written,
            "dropped": records.dropped,
            "failed": records.failed,
            "queue": records.queued,
            "trouble": records.last_error,
        })),
    });
    let code = if is_draining { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    (code, format!("{health}\n"))
}

/// Returns status and body for callers without a credential: they learn if requests are accepted, and nothing else.
pub(super) fn bare_health(setup: &Setup) -> (StatusCode, String) {
    if setup.drain_flag.is_set() {
        (StatusCode::SERVICE_UNAVAILABLE, "{\"status\":\"draining\"}\n".to_owned())
    } else {
        (StatusCode::OK, "{\"status\":\"ok\"}\n".to_owned())
    }
}

fn estimates_json(accuracy: Accuracy, counts: &AccuracyStats) -> Value {
    let inaccurate = || accuracy.inaccurate_count as f64 / accuracy.sample_count as f64;
    json!({
        "exactCounter": counts.exact_counter,
        "sampled": accuracy.sample_count,
        "nearShare": accuracy.accurate_share(),
        "farShare": (accuracy.sample_count > 0).then(inaccurate),
        "bias": accuracy.bias(),
        "endpointsInFallback": counts.in_fallback_count,
        "endpointsTooHigh": counts.too_high_count,
    })
}

fn config_json(state: &ConfigStatus) -> Value {
    json!({
        "version": state.version,
        "file": state.file,
        "since": state.active_since,
        "valid": state.errors.is_empty(),
        "errors": state.errors,
        "waitingForRestart": state.pending_restart,
        "reloads": state.reload_count,
        "refusals": state.rejected_count,
    })
}

fn store_json(store: &StoreStats, backend: Option<&BackendStatus>) -> Value {
    json!({
        "snapshots": store.snapshots,
        "principals": store.principals,
        "bytes": store.bytes,
        "spilled": store.spilled,
        "spilledBytes": store.spilled_bytes,
        "evicted": store.evicted,
        "expired": store.expired,
        "refused": store.refused,
        "backend": backend.map(|backend| json!({
            "available": backend.is_available,
            "problem": backend.problem,
            "failures": backend.failure_count,
        })),
    })
}

fn degraded_reasons(
    config: &ConfigStatus,
    records: Option<&Records>,
    alert: Option<&AlertState>,
    accuracy: Accuracy,
) -> Vec<String> {
    let mut reasons = Vec::new();
    if !config.errors.is_empty() {
        reasons.push("the configuration file is invalid: the previous version is in force".to_owned());
    }
    reasons.extend(records.into_iter().flat_map(telemetry_reasons));
    reasons.extend(
        alert.filter(|alert| alert.raised).map(|alert| format!("alert {OVERSIZED}: {}", alert.sentence())),
    );
    if let Some(near) = accuracy
        .accurate_share()
        .filter(|near| accuracy.sample_count >= MIN_SAMPLES && *near < MIN_ACCURATE_SHARE)
    {
        reasons.push(format!(
            "{:.0} % of {} sampled estimates are within 20 % of the exact count; the target is {:.0} %: \
             run portion calibrate",
            near * 100.0,
            accuracy.sample_count,
            MIN_ACCURATE_SHARE * 100.0
        ));
    }
    reasons
}

/// Returns the problem of telemetry: it cannot be written, or records were lost a short time ago.
fn telemetry_reasons(records: &Records) -> Vec<String> {
    let Records { dropped, queued: queue, .. } = records;
    let queued = counted(*queue, "record") + if *queue == 1 { " is" } else { " are" };
    let trouble = |why| format!("telemetry cannot be written, and {queued} queued: {why}");
    let trouble = records.last_error.as_ref().map(trouble);
    let recent = records.last_drop.filter(|ago| *ago < LOSS_REPORT_INTERVAL).map(|ago| {
        let ago = ago.as_secs();
        let lost = counted(*dropped as usize, "record") + if *dropped == 1 { " was" } else { " were" };
        format!("{lost} lost, the last {ago} s ago: writing failed or was too slow")
    });
    trouble.into_iter().chain(recent).collect()
}

fn traffic_json(totals: &Totals) -> Value {
    let outcomes = Outcome::ALL.into_iter().map(|outcome| (outcome.name().into(), totals.of(outcome).into()));
    json!({
        "requests": totals.requests(),
        "followUps": totals.follow_ups,
        "errors": totals.errors,
        "outcomes": outcomes.collect::<Map<String, Value>>(),
        "paginationAdoption": totals.adoption(),
        "followUpsPerFirst": totals.follow_ups_per_first(),
        "averageTokens": totals.mean_tokens(),
        "averageBytes": totals.mean_bytes(),
        "upstreamTokens": totals.tokens.0,
        "servedTokens": totals.tokens.1,
        "reduction": totals.reduction(),
    })
}

fn recent_json(state: &AlertState) -> Value {
    let mut recent = share_json(state.share(), state.requests, state.oversized);
    recent["threshold"] = json!(state.rule.percent / 100.0);
    recent["windowSeconds"] = json!(state.rule.window.as_secs_f64());
    recent
}

fn share_json(share: Option<f64>, requests: u64, oversized: u64) -> Value {
    json!({ "share": share, "requests": requests, "oversized": oversized })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn telemetry_is_wrong_while_it_fails_and_for_a_while_after_it_lost_something() {
        let well = Records { written: 7, failed: 2, dropped: 796, ..Records::default() };
        let check = |records: &Records, expect: &[&str]| assert_eq!(telemetry_reasons(records), expect);
        check(&well, &[]);
        check(&Records { last_drop: Some(LOSS_REPORT_INTERVAL), ..well.clone() }, &[]);
        let trouble = Some("/var/portion.db: database is locked".to_owned());
        let fails =
            "telemetry cannot be written, and 50 records are queued: /var/portion.db: database is locked";
        check(&Records { queued: 50, last_error: trouble.clone(), ..well.clone() }, &[fails]);
        let recent = "796 records were lost, the last 25 s ago: writing failed or was too slow";
        let lost = Some(Duration::from_secs(25));
        check(&Records { last_drop: lost, ..well.clone() }, &[recent]);
        check(&Records { last_drop: lost, queued: 50, last_error: trouble, ..well }, &[fails, recent]);
    }
}
