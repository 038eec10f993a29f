//! Writes the reference of metrics from the table that all exporters use.

use std::fmt::Write as _;

use portion_telemetry::names::{ALL, Kind, Metric, label};

use super::{Outcome, check};

const HEAD: &str = "\
# Metrics

All metrics, as `/metrics` and OTLP export them. A test writes this page from the code. [Telemetry](../telemetry.md) says how to
switch the exporters on; [For a team](../team.md) has rules and a dashboard.

Values count from the start of one process. Names follow the [OpenTelemetry conventions for
MCP](https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/) where they exist. The first 200 endpoints have labels of their own, later
ones share `other`, resources share `*`, and requests without a known endpoint share `none`.

| Prometheus | OpenTelemetry | kind | labels | description |
| --- | --- | --- | --- | --- |
";

#[test]
fn the_reference_has_all_metrics() -> Outcome {
    let mut text = HEAD.to_owned();
    for metric in ALL {
        writeln!(text, "{}", row(metric))?;
    }
    check("docs/reference/metrics.md", &text)
}

fn row(metric: &Metric) -> String {
    let kind = match metric.kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram(_) => "histogram",
    };
    let labels: Vec<String> = metric.attributes.iter().map(|name| format!("`{}`", label(name))).collect();
    let (name, labels) = (metric.prometheus(), labels.join(", "));
    format!("| `{name}` | `{}` | {kind} | {labels} | {} |", metric.name, metric.help)
}
