//! Writes metrics in the text format of Prometheus.
//!
//! Source: <https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format>.
//!
//! ```
//! use portion_telemetry::meter::{Family, Value};
//! use portion_telemetry::{names, prometheus};
//!
//! let text = prometheus::text(&[Family::of(&names::REQUESTS, Value::Count(3))]);
//! assert!(text.ends_with("# TYPE portion_requests_total counter\nportion_requests_total 3\n"));
//! ```

use std::fmt::{self, Write as _};

use crate::meter::{Family, Histogram, Point, Value};
use crate::names::{Kind, label};

/// `Content-Type` of the format.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Formats metric families. A family without values has only its header lines.
pub fn text(families: &[Family]) -> String {
    let mut out = String::new();
    for family in families {
        // Writing to a `String` cannot fail.
        let _ = write(&mut out, family);
    }
    out
}

fn write(out: &mut String, family: &Family) -> fmt::Result {
    let name = family.metric.prometheus();
    let kind = match family.metric.kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram(_) => "histogram",
    };
    writeln!(out, "# HELP {name} {}\n# TYPE {name} {kind}", family.metric.help)?;
    for Point { attributes, value } in &family.points {
        let labels = Labels { attributes, le: None };
        match value {
            Value::Count(count) => writeln!(out, "{name}{labels} {count}")?,
            Value::Number(number) => writeln!(out, "{name}{labels} {number}")?,
            Value::Histogram(histogram) => buckets(out, &name, attributes, histogram)?,
        }
    }
    Ok(())
}

fn buckets(out: &mut String, name: &str, attributes: &[Attribute], histogram: &Histogram) -> fmt::Result {
    let (bounds, counts) = histogram.buckets();
    let mut up_to = 0;
    for (bound, count) in bounds.iter().copied().chain([f64::INFINITY]).zip(counts) {
        up_to += count;
        writeln!(out, "{name}_bucket{} {up_to}", Labels { attributes, le: Some(bound) })?;
    }
    let labels = Labels { attributes, le: None };
    writeln!(out, "{name}_sum{labels} {}\n{name}_count{labels} {up_to}", histogram.sum())
}

type Attribute = (&'static str, String);

struct Labels<'a> {
    attributes: &'a [Attribute],
    /// Upper bound of a bucket.
    le: Option<f64>,
}

impl fmt::Display for Labels<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut between = '{';
        for (name, value) in self.attributes {
            write!(f, "{between}{}=\"", label(name))?;
            for c in value.chars() {
                match c {
                    '\\' => f.write_str("\\\\")?,
                    '"' => f.write_str("\\\"")?,
                    '\n' => f.write_str("\\n")?,
                    c => f.write_char(c)?,
                }
            }
            f.write_char('"')?;
            between = ',';
        }
        match self.le {
            Some(bound) if bound.is_infinite() => write!(f, "{between}le=\"+Inf\"}}"),
            Some(bound) => write!(f, "{between}le=\"{bound}\"}}"),
            None if between == ',' => f.write_char('}'),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names;

    #[test]
    fn values_are_written_as_prometheus_reads_them() {
        let mut requests = Family::new(&names::REQUESTS);
        requests
            .push(vec![(names::ENDPOINT, "a\"b\\c\nd".to_owned()), (names::OUTCOME, "raw".to_owned())], 3);
        let mut errors = Histogram::new(&[0.5, 1.0]);
        [0.25, 0.5, 4.0].into_iter().for_each(|value| errors.add(value));
        let errors = Family::of(&names::ESTIMATE_ERROR, errors);
        let expect = r#"# HELP portion_requests_total Requests with content, by outcome.
# TYPE portion_requests_total counter
portion_requests_total{endpoint="a\"b\\c\nd",outcome="raw"} 3
# HELP portion_estimate_error Relative error of estimates against exact counts, where both exist: up to 0.2 is near; one or two tokens count as 0.
# TYPE portion_estimate_error histogram
portion_estimate_error_bucket{le="0.5"} 2
portion_estimate_error_bucket{le="1"} 2
portion_estimate_error_bucket{le="+Inf"} 3
portion_estimate_error_sum 4.75
portion_estimate_error_count 3
# HELP portion_alert_active 1 while the alert is raised, else 0.
# TYPE portion_alert_active gauge
portion_alert_active 1
"#;
        assert_eq!(text(&[requests, errors, Family::of(&names::ALERT_ACTIVE, true)]), expect);
    }
}
