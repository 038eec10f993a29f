//! Names, units and attributes of all metrics: one table for Prometheus and OTLP.
//!
//! Metrics that the [MCP conventions](https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/) define have the name
//! and the bounds given there. All others begin with `portion.`. Names and attributes are those of OpenTelemetry.
//! [`Metric::prometheus`] translates them as
//! [specified](https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/), so the same rules
//! and dashboards work for scraped and collected metrics.
//!
//! ```
//! use portion_telemetry::names;
//!
//! assert_eq!(names::REQUESTS.prometheus(), "portion_requests_total");
//! ```

use portion_core::event::{EndpointKind, ServedError};

/// A metric.
#[derive(Debug, PartialEq)]
pub struct Metric {
    /// Name in OpenTelemetry.
    pub name: &'static str,
    /// Instrument kind.
    pub kind: Kind,
    /// Unit in UCUM. Text in braces is an annotation, not a unit.
    pub unit: &'static str,
    /// Description.
    pub help: &'static str,
    /// Attributes of the values. An attribute that does not apply is left out.
    pub attributes: &'static [&'static str],
}

/// Instrument kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Only increases.
    Counter,
    /// Increases and decreases.
    Gauge,
    /// Counts values up to each of these bounds.
    Histogram(&'static [f64]),
}

/// JSON-RPC method of a request: `tools/call`.
pub const METHOD: &str = "mcp.method.name";
/// Name of the tool, for tool calls.
pub const TOOL: &str = "gen_ai.tool.name";
/// Name of the prompt, for prompts.
pub const PROMPT: &str = "gen_ai.prompt.name";
/// Code of the error served, if any; `tool_error` for an error of the tool.
pub const ERROR: &str = "error.type";
/// Name of the upstream server, if it has one.
pub const UPSTREAM: &str = "upstream";
/// Kind of the endpoint: `tool`, `resource`, `prompt`.
pub const KIND: &str = "kind";
/// Name of the endpoint. [`Meter`](crate::meter::Meter) bounds the number of values.
pub const ENDPOINT: &str = "endpoint";
/// Outcome of a request.
pub const OUTCOME: &str = "outcome";
/// `true` if a request was answered from a snapshot, else `false`.
pub const FOLLOW_UP: &str = "follow_up";
/// `upstream` for payloads, `served` for replies.
pub const DIRECTION: &str = "direction";
/// Name of the token counter.
pub const COUNTER: &str = "counter";
/// Name of the alert.
pub const ALERT: &str = "alert";
/// Reason why a message was dropped.
pub const REASON: &str = "reason";
/// Version of Portion.
pub const VERSION: &str = "version";

/// Attributes of values by endpoint.
const BY_ENDPOINT: &[&str] = &[UPSTREAM, KIND, ENDPOINT];
/// Attributes of values by endpoint and direction.
const BY_ENDPOINT_AND_DIRECTION: &[&str] = &[UPSTREAM, KIND, ENDPOINT, DIRECTION];

/// Bounds in seconds, from the MCP conventions.
const DURATION_BOUNDS: &[f64] =
    &[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];
/// Bounds in seconds for the time that Portion adds.
const OVERHEAD_BOUNDS: &[f64] =
    &[0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5];
/// Bounds for the relative error of an estimate. Up to 0.2 an estimate is near, above 0.3 it is far off.
const ERROR_BOUNDS: &[f64] = &[0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0];

macro_rules! metrics {
    ($($ident:ident $name:literal $unit:literal $kind:expr, $attributes:expr, $help:literal;)*) => {
        $(
            #[doc = $help]
            pub const $ident: Metric =
                Metric { name: $name, kind: $kind, unit: $unit, help: $help, attributes: $attributes };
        )*

        /// All metrics, in the order in which they are exported.
        pub const ALL: &[&Metric] = &[$(&$ident),*];
    };
}

use Kind::{Counter, Gauge, Histogram};

metrics! {
    OPERATION_DURATION "mcp.server.operation.duration" "s" Histogram(DURATION_BOUNDS),
        &[METHOD, TOOL, PROMPT, UPSTREAM, FOLLOW_UP, ERROR],
        "Time from a request with content to its reply, the server included.";
    REQUESTS "portion.requests" "{request}" Counter, &[UPSTREAM, KIND, ENDPOINT, OUTCOME],
        "Requests with content, by outcome.";
    FOLLOW_UPS "portion.follow_ups" "{request}" Counter, BY_ENDPOINT,
        "Requests answered from a kept result.";
    TOKENS "portion.tokens" "{token}" Counter, BY_ENDPOINT_AND_DIRECTION,
        "Tokens of results (upstream) and of the replies made from them, follow-ups included (served).";
    TOKENS_KEPT_OUT "portion.tokens_kept_out" "{token}" Gauge, &[],
        "Tokens of results minus tokens served of them.";
    CONTENT "portion.content" "By" Counter, BY_ENDPOINT_AND_DIRECTION,
        "Bytes of results (upstream) and of replies (served).";
    SIZED "portion.calls_sized" "{call}" Counter, BY_ENDPOINT,
        "First calls whose result has a known cost.";
    OVERSIZED "portion.calls_oversized" "{call}" Counter, BY_ENDPOINT,
        "First calls whose result exceeded the budget.";
    ALL_REQUESTS "portion.all.requests" "{request}" Counter, &[OUTCOME],
        "Requests of all endpoints, starting at 0; series by endpoint start with their first request.";
    ALL_TOKENS "portion.all.tokens" "{token}" Counter, &[DIRECTION],
        "Tokens of all endpoints, starting at 0.";
    ALL_SIZED "portion.all.calls_sized" "{call}" Counter, &[],
        "Sized calls of all endpoints, starting at 0.";
    ALL_OVERSIZED "portion.all.calls_oversized" "{call}" Counter, &[],
        "Oversized calls of all endpoints, starting at 0.";
    OVERHEAD "portion.overhead" "s" Histogram(OVERHEAD_BOUNDS), &[],
        "Time that Portion adds to a request.";
    ESTIMATE_ERROR "portion.estimate.error" "1" Histogram(ERROR_BOUNDS), &[COUNTER],
        "Relative error of estimates against exact counts, where both exist: up to 0.2 is near; one or two tokens count as 0.";
    ESTIMATE_BIAS "portion.estimate.bias" "1" Gauge, &[COUNTER],
        "Mean relative error of estimates; negative if they are too low.";
    IN_FALLBACK "portion.endpoints_in_fallback" "{endpoint}" Gauge, &[],
        "Endpoints whose estimates are far too low, so the byte limit applies.";
    ALERT_ACTIVE "portion.alert.active" "" Gauge, &[ALERT],
        "1 while the alert is raised, else 0.";
    ALERTS_RAISED "portion.alerts_raised" "{alert}" Counter, &[ALERT],
        "Alerts raised.";
    WINDOW_SHARE "portion.alert.share" "1" Gauge, &[ALERT],
        "Share that the alert watches, over its window; absent without calls.";
    ALERT_THRESHOLD "portion.alert.threshold" "1" Gauge, &[ALERT],
        "Share above which the alert is raised; absent while alerts are off.";
    WEBHOOKS_FAILED "portion.webhooks_failed" "{message}" Counter, &[],
        "Alert messages that could not be delivered.";
    RECORDS_WRITTEN "portion.records_written" "{record}" Counter, &[],
        "Records written.";
    RECORDS_DROPPED "portion.records_dropped" "{record}" Counter, &[],
        "Records lost.";
    RECORD_WRITES_FAILED "portion.record_writes_failed" "{write}" Counter, &[],
        "Failed writes of records; they are retried.";
    RECORDS_QUEUED "portion.records_queued" "{record}" Gauge, &[],
        "Records waiting to be written.";
    CONFIG_VERSION "portion.config.version" "" Gauge, &[],
        "Version of the configuration in force.";
    CONFIG_VALID "portion.config.valid" "" Gauge, &[],
        "1 if the configuration file is in force, 0 if it was refused.";
    CONFIG_SINCE "portion.config.last_reload_timestamp" "s" Gauge, &[],
        "Time at which the configuration came into force.";
    CONFIG_RELOADS "portion.config.reloads" "{reload}" Counter, &[],
        "Configurations that came into force.";
    CONFIG_REFUSALS "portion.config.refusals" "{refusal}" Counter, &[],
        "Configurations refused.";
    SNAPSHOTS "portion.snapshots" "{snapshot}" Gauge, &[],
        "Results kept.";
    SNAPSHOT_BYTES "portion.snapshot" "By" Gauge, &[],
        "Bytes of the results kept.";
    SNAPSHOTS_SPILLED "portion.snapshots_spilled" "{snapshot}" Gauge, &[],
        "Results in the temporary file.";
    SPILLED_BYTES "portion.spilled" "By" Gauge, &[],
        "Bytes of the results in the temporary file.";
    SNAPSHOTS_EVICTED "portion.snapshots_evicted" "{snapshot}" Counter, &[],
        "Results evicted to make room.";
    SNAPSHOTS_EXPIRED "portion.snapshots_expired" "{snapshot}" Counter, &[],
        "Results that expired.";
    SNAPSHOTS_REFUSED "portion.snapshots_refused" "{snapshot}" Counter, &[],
        "Results that did not fit in the store.";
    STORE_AVAILABLE "portion.store.available" "" Gauge, &[],
        "1 if the store behind the memory can be read and written, else 0; only with a file or a shared store.";
    STORE_FAILURES "portion.store.failures" "{failure}" Counter, &[],
        "Operations of the store behind the memory that failed.";
    MESSAGES_DROPPED "portion.messages_dropped" "{message}" Counter, &[REASON],
        "Messages of servers dropped or shortened: unasked, cancelled (late answers), invalid, oversized.";
    BUILD "portion.build.info" "" Gauge, &[VERSION],
        "Version of this program.";
    START_TIME "process.start_time" "s" Gauge, &[],
        "Time at which this process started to serve.";
}

impl Metric {
    /// Returns the name for Prometheus: with its unit, and with `_total` for counters.
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

/// Returns an attribute name as a Prometheus label.
pub fn label(attribute: &str) -> String {
    attribute.replace('.', "_")
}

/// Returns the MCP method that asks an endpoint of this kind.
pub fn method(kind: EndpointKind) -> &'static str {
    match kind {
        EndpointKind::Tool => "tools/call",
        EndpointKind::Resource => "resources/read",
        EndpointKind::Prompt => "prompts/get",
    }
}

/// Returns an error as the conventions name it: `tool_error` for an error of the upstream.
pub fn error_type(error: ServedError) -> &'static str {
    match error {
        ServedError::Own(code) => code.name(),
        ServedError::Upstream => "tool_error",
    }
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
