//! What figures are called, wherever they go: one table for Prometheus and for OTLP.
//!
//! What the [conventions for MCP](https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/) name is called so, with the
//! bounds that they recommend; all else begins with `portion.`. Names and attributes are OpenTelemetry's, and
//! [`Metric::prometheus`] is how [its translation](https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/)
//! has them: whether figures come by a scrape or by a collector, the same rules and dashboards hold.

/// Figures of one name.
#[derive(Debug, PartialEq)]
pub struct Metric {
    /// Its name in OpenTelemetry.
    pub name: &'static str,
    /// How its values go.
    pub kind: Kind,
    /// What it counts, in UCUM; what stands in braces is no unit.
    pub unit: &'static str,
    /// What it says.
    pub help: &'static str,
    /// What tells its values apart; an attribute that does not apply is left out.
    pub attributes: &'static [&'static str],
}

/// How values go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Up.
    Counter,
    /// Up and down.
    Gauge,
    /// How often up to each of these bounds.
    Histogram(&'static [f64]),
}

/// What was asked, as JSON-RPC has it: `tools/call`.
pub const METHOD: &str = "mcp.method.name";
/// The tool, where it is one.
pub const TOOL: &str = "gen_ai.tool.name";
/// The prompt, where it is one.
pub const PROMPT: &str = "gen_ai.prompt.name";
/// The code of the error that was served, where one was; `tool_error` for one of a tool's own.
pub const ERROR: &str = "error.type";
/// The server, where it has a name.
pub const UPSTREAM: &str = "upstream";
/// What the endpoint is: `tool`, `resource`, `prompt`.
pub const KIND: &str = "kind";
/// The endpoint; see [`Meter`](crate::meter::Meter) for how many there can be.
pub const ENDPOINT: &str = "endpoint";
/// What became of a request.
pub const OUTCOME: &str = "outcome";
/// Whether a request was answered from a snapshot: `true` or `false`.
pub const FOLLOW_UP: &str = "follow_up";
/// `upstream` for what payloads are, `served` for what replies are.
pub const DIRECTION: &str = "direction";
/// What counts tokens.
pub const COUNTER: &str = "counter";
/// Which alert.
pub const ALERT: &str = "alert";
/// A version of this program.
pub const VERSION: &str = "version";

/// What tells endpoints apart.
const OF_ENDPOINT: &[&str] = &[UPSTREAM, KIND, ENDPOINT];
/// The same, with the two directions.
const BOTH_WAYS: &[&str] = &[UPSTREAM, KIND, ENDPOINT, DIRECTION];

/// Seconds, as the conventions for MCP have them.
const DURATIONS: &[f64] = &[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];
/// Seconds that a request can be with us.
const OVERHEADS: &[f64] =
    &[0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5];
/// Shares of the exact count. Up to 0.2 an estimate is near, above 0.3 it is badly wrong.
const ERRORS: &[f64] = &[0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0];

macro_rules! metrics {
    ($($ident:ident $name:literal $unit:literal $kind:expr, $attributes:expr, $help:literal;)*) => {
        $(
            #[doc = $help]
            pub const $ident: Metric =
                Metric { name: $name, kind: $kind, unit: $unit, help: $help, attributes: $attributes };
        )*

        /// Every one, in the order in which they are shown.
        pub const ALL: &[&Metric] = &[$(&$ident),*];
    };
}

use Kind::{Counter, Gauge, Histogram};

metrics! {
    OPERATION_DURATION "mcp.server.operation.duration" "s" Histogram(DURATIONS),
        &[METHOD, TOOL, PROMPT, UPSTREAM, FOLLOW_UP, ERROR],
        "From a request with content to its reply, the upstream's time included.";
    REQUESTS "portion.requests" "{request}" Counter, &[UPSTREAM, KIND, ENDPOINT, OUTCOME],
        "Requests with content that were answered, by what became of them.";
    FOLLOW_UPS "portion.follow_ups" "{request}" Counter, OF_ENDPOINT,
        "Requests that were answered from a snapshot.";
    TOKENS "portion.tokens" "{token}" Counter, BOTH_WAYS,
        "Tokens: upstream, what payloads would have cost; served, what was served of them, follow-ups included.";
    TOKENS_KEPT_OUT "portion.tokens_kept_out" "{token}" Gauge, &[],
        "Tokens of payloads less those that were served of them, since the start.";
    CONTENT "portion.content" "By" Counter, BOTH_WAYS,
        "Bytes: upstream, those of payloads; served, those of replies.";
    SIZED "portion.calls_sized" "{call}" Counter, OF_ENDPOINT,
        "First calls whose payload has a known cost.";
    OVERSIZED "portion.calls_oversized" "{call}" Counter, OF_ENDPOINT,
        "Those of them whose payload was above the budget.";
    ALL_REQUESTS "portion.all.requests" "{request}" Counter, &[OUTCOME],
        "Requests of all endpoints together, from 0 on: those by endpoint begin with the first.";
    ALL_TOKENS "portion.all.tokens" "{token}" Counter, &[DIRECTION],
        "Tokens of all endpoints together, from 0 on.";
    ALL_SIZED "portion.all.calls_sized" "{call}" Counter, &[],
        "Sized calls of all endpoints together, from 0 on.";
    ALL_OVERSIZED "portion.all.calls_oversized" "{call}" Counter, &[],
        "Oversized calls of all endpoints together, from 0 on.";
    OVERHEAD "portion.overhead" "s" Histogram(OVERHEADS), &[],
        "What of the time of requests was ours.";
    ESTIMATE_ERROR "portion.estimate.error" "1" Histogram(ERRORS), &[COUNTER],
        "How far off estimates are where tokens were counted exactly too, as a share of that: up to 0.2 is near; a token or two is 0.";
    ESTIMATE_BIAS "portion.estimate.bias" "1" Gauge, &[COUNTER],
        "By how much estimates are too high on average, since the start; negative: too low.";
    IN_FALLBACK "portion.endpoints_in_fallback" "{endpoint}" Gauge, &[],
        "Endpoints whose counts are badly too low, so that the byte limit decides.";
    ALERT_ACTIVE "portion.alert.active" "" Gauge, &[ALERT],
        "Whether an alert is raised.";
    ALERTS_RAISED "portion.alerts_raised" "{alert}" Counter, &[ALERT],
        "Alerts that were raised.";
    WINDOW_SHARE "portion.alert.share" "1" Gauge, &[ALERT],
        "The share that an alert is about, over its window; nothing where nothing was asked.";
    WEBHOOKS_FAILED "portion.webhooks_failed" "{message}" Counter, &[],
        "Messages of alerts that could not be delivered.";
    RECORDS_WRITTEN "portion.records_written" "{record}" Counter, &[],
        "Records that were written.";
    RECORDS_DROPPED "portion.records_dropped" "{record}" Counter, &[],
        "Records that were lost.";
    RECORD_WRITES_FAILED "portion.record_writes_failed" "{write}" Counter, &[],
        "Writes of records that failed; they are tried again.";
    RECORDS_QUEUED "portion.records_queued" "{record}" Gauge, &[],
        "Records that wait to be written.";
    CONFIG_VERSION "portion.config.version" "" Gauge, &[],
        "The version of the configuration in force.";
    CONFIG_VALID "portion.config.valid" "" Gauge, &[],
        "Whether what the configuration file says is in force.";
    CONFIG_SINCE "portion.config.last_reload_timestamp" "s" Gauge, &[],
        "Since when it is in force.";
    CONFIG_RELOADS "portion.config.reloads" "{reload}" Counter, &[],
        "Configurations that came into force.";
    CONFIG_REFUSALS "portion.config.refusals" "{refusal}" Counter, &[],
        "Configurations that were refused.";
    SNAPSHOTS "portion.snapshots" "{snapshot}" Gauge, &[],
        "Snapshots that are kept.";
    SNAPSHOT_BYTES "portion.snapshot" "By" Gauge, &[],
        "Bytes of the snapshots that are kept.";
    SNAPSHOTS_EVICTED "portion.snapshots_evicted" "{snapshot}" Counter, &[],
        "Snapshots that made room for others.";
    SNAPSHOTS_EXPIRED "portion.snapshots_expired" "{snapshot}" Counter, &[],
        "Snapshots whose time was over.";
    SNAPSHOTS_REFUSED "portion.snapshots_refused" "{snapshot}" Counter, &[],
        "Snapshots that found no room.";
    BUILD "portion.build.info" "" Gauge, &[VERSION],
        "The version of this program.";
    START_TIME "process.start_time" "s" Gauge, &[],
        "When this process began to serve.";
}

impl Metric {
    /// Its name for Prometheus: with its unit, and `_total` where it counts.
    pub fn prometheus(&self) -> String {
        let unit = match (self.unit, self.kind) {
            ("s", _) => "_seconds",
            ("By", _) => "_bytes",
            ("1", Gauge) => "_ratio",
            _ => "",
        };
        let total = if self.kind == Counter { "_total" } else { "" };
        format!("{}{unit}{total}", label(self.name))
    }
}

/// An attribute's name as a label of Prometheus.
pub fn label(attribute: &str) -> String {
    attribute.replace('.', "_")
}

/// What the method of a request is called, by the kind of its endpoint.
pub fn method(kind: &str) -> Option<&'static str> {
    match kind {
        "tool" => Some("tools/call"),
        "resource" => Some("resources/read"),
        "prompt" => Some("prompts/get"),
        _ => None,
    }
}

/// The code of an error as the conventions have it: `tool_error` where the upstream said so itself.
pub fn error_type(code: &'static str) -> &'static str {
    if code == "upstream" { "tool_error" } else { code }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_translated_as_opentelemetry_does() {
        let check = |metric: &Metric, expect: &str| assert_eq!(metric.prometheus(), expect);
        check(&OPERATION_DURATION, "mcp_server_operation_duration_seconds");
        check(&REQUESTS, "portion_requests_total");
        check(&CONTENT, "portion_content_bytes_total");
        check(&ESTIMATE_ERROR, "portion_estimate_error");
        check(&ESTIMATE_BIAS, "portion_estimate_bias_ratio");
        check(&SNAPSHOT_BYTES, "portion_snapshot_bytes");
        check(&START_TIME, "process_start_time_seconds");
        assert_eq!(label(TOOL), "gen_ai_tool_name");
    }

    #[test]
    fn every_name_is_its_own() {
        let names: BTreeSet<String> = ALL.iter().map(|metric| metric.prometheus()).collect();
        assert_eq!(names.len(), ALL.len());
    }
}
