//! The message of an alert: figures for programs, and a text that Slack and Mattermost show.

use std::time::{Duration, UNIX_EPOCH};

use portion_telemetry::alert::{AlertState, Change};
use serde_json::{Value, json};

/// Returns the message as JSON.
pub(super) fn to_json(change: &Change) -> String {
    let Change { alerted, state, since } = change;
    let message = json!({
        "alert": alerted.alert_name,
        "state": if alerted.is_raised { "raised" } else { "over" },
        "share": alerted.share,
        "threshold": alerted.threshold,
        "requests": alerted.requests,
        "oversized": alerted.matching_requests,
        "window": alerted.window.as_secs_f64(),
        "at": format_time(alerted.at),
        "since": format_time(*since),
        "endpoints": oversized_endpoints(state),
        "host": host_name(),
        "version": env!("CARGO_PKG_VERSION"),
        "text": summary_text(change),
    });
    message.to_string()
}

fn summary_text(change: &Change) -> String {
    let host = host_name().map_or(String::new(), |host| format!(" at {host}"));
    format!("Portion{host}: {}", change.state.sentence())
}

fn format_time(micros: u64) -> String {
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_micros(micros)).to_string()
}

/// Returns the name of this machine.
#[cfg(unix)]
fn host_name() -> Option<String> {
    rustix::system::uname().nodename().to_str().ok().map(str::to_owned)
}

/// Returns the name of this machine.
#[cfg(not(unix))]
fn host_name() -> Option<String> {
    std::env::var("COMPUTERNAME").ok()
}

/// Returns the endpoints with the most oversized calls, as JSON.
pub(crate) fn oversized_endpoints(state: &AlertState) -> Value {
    let endpoints = state.endpoints.iter();
    endpoints.map(|(endpoint, count)| json!({ "endpoint": **endpoint, "oversized": count })).collect()
}
