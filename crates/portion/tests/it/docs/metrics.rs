//! Writes the reference of metrics from the table that all exporters use.

use std::fmt::Write as _;

use portion_telemetry::names::{ALL, Kind, Metric, label};

use super::{Outcome, check};

const HEAD: &str = "\
# Metrics

All metrics of a process since its start, by their names in `/metrics`. A test writes this page. [Telemetry](../telemetry.md) says how to
switch the exporters on. In OTLP dots separate namespaces, and units and `_total` are left out: `portion.requests`, `portion.config.version`.

Names with `_total` are counters, others gauges, if no histograms. The first 200 endpoints have labels of their own, later ones share
`other`, resources share `*`, and requests without a known endpoint share `none`.

| name | labels | description |
| --- | --- | --- |
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
    let kind = if matches!(metric.kind, Kind::Histogram(_)) { "Histogram: " } else { "" };
    let labels: Vec<String> = metric.attributes.iter().map(|name| format!("`{}`", label(name))).collect();
    let (name, labels) = (metric.prometheus(), labels.join(", "));
    format!("| `{name}` | {labels} | {kind}{} |", metric.help)
}
