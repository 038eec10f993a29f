//! JSON forms of recorded events.

use portion_core::event::{AlertChanged, ConfigApplied, ConfigRejected};
use portion_telemetry::read::{Traffic, TrafficStats};
use portion_telemetry::show::values;
use portion_telemetry::timestamp;
use serde_json::{Value, json};

/// Formats a time as RFC 3339 in UTC.
pub(super) fn timestamp(at: u64) -> Value {
    Value::from(timestamp::rfc3339(at))
}

/// Returns the statistics of an endpoint row without the endpoint, and the requests by outcome.
pub(super) fn statistics(stats: &TrafficStats) -> Value {
    let traffic = Traffic { stats: stats.clone(), ..Traffic::default() };
    let mut json = values::endpoints(&[traffic])[0].take();
    if let Value::Object(members) = &mut json {
        for name in ["upstream", "kind", "endpoint", "counter"] {
            members.remove(name);
        }
        members.insert("outcomes".to_owned(), json!(stats.outcomes));
    }
    json
}

pub(super) fn configuration(configured: &ConfigApplied) -> Value {
    let changes = configured.changes.iter().map(|change| {
        // Values are stored as JSON; other text is returned as a string.
        let value = |value: &Option<String>| {
            value
                .as_ref()
                .map(|text| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str())))
        };
        json!({ "key": change.key, "old": value(&change.old), "new": value(&change.new) })
    });
    json!({
        "timestamp": timestamp(configured.at),
        "configVersion": configured.version,
        "source": configured.source,
        "changes": changes.collect::<Vec<_>>(),
    })
}

pub(super) fn refused(refused: &ConfigRejected) -> Value {
    json!({ "timestamp": timestamp(refused.at), "source": refused.source, "errors": refused.errors })
}

pub(super) fn alert(alert: &AlertChanged) -> Value {
    json!({
        "timestamp": timestamp(alert.at),
        "alert": alert.alert_name,
        "raised": alert.is_raised,
        "share": alert.share,
        "threshold": alert.threshold,
        "requests": alert.requests,
        "counted": alert.matching_requests,
        "windowSeconds": alert.window.as_secs(),
        "process": format!("{:016x}", alert.process),
    })
}
