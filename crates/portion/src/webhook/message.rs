//! What is posted of an alert: figures for programs, and a text that chats (Slack, Mattermost) show.

use std::time::{Duration, UNIX_EPOCH};

use portion_telemetry::alert::Change;
use serde_json::json;

use crate::alerts::blamed;

/// What is posted, JSON.
pub(super) fn of(change: &Change) -> String {
    let Change { alerted, state, since } = change;
    let message = json!({
        "alert": alerted.alert,
        "state": if alerted.raised { "raised" } else { "over" },
        "share": alerted.share,
        "threshold": alerted.threshold,
        "requests": alerted.requests,
        "oversized": alerted.counted,
        "window": alerted.window.as_secs_f64(),
        "at": time(alerted.at),
        "since": time(*since),
        "endpoints": blamed(state),
        "host": host(),
        "version": env!("CARGO_PKG_VERSION"),
        "text": text(change),
    });
    message.to_string()
}

fn text(change: &Change) -> String {
    let host = host().map_or(String::new(), |host| format!(" at {host}"));
    format!("Portion{host}: {}", change.state.sentence())
}

fn time(micros: u64) -> String {
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_micros(micros)).to_string()
}

/// The name of this machine.
#[cfg(unix)]
fn host() -> Option<String> {
    rustix::system::uname().nodename().to_str().ok().map(str::to_owned)
}

/// The name of this machine.
#[cfg(not(unix))]
fn host() -> Option<String> {
    std::env::var("COMPUTERNAME").ok()
}
