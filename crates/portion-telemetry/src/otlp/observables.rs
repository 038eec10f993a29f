//! Exports the metrics of the program that `/metrics` shows, read whenever the SDK exports.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::meter::{Family, Point, Value};
use crate::names::{self, Kind, Metric};
use opentelemetry::KeyValue;
use opentelemetry::metrics::Meter;

/// Returns all families at once.
pub(crate) type FamilySource = Box<dyn Fn() -> Vec<Family> + Send + Sync>;

/// Registers an observable instrument for each metric except histograms, which [`Meters`](crate::otlp::providers::Meters) records.
pub(crate) fn observe(meter: &Meter, source: FamilySource) {
    let collector = Arc::new(Collector { source, collected: Mutex::default() });
    for metric in names::ALL {
        let (collector, Metric { name, unit, help, .. }) = (Arc::clone(&collector), metric);
        match metric.kind {
            Kind::Counter => {
                let counter = meter.u64_observable_counter(*name).with_unit(*unit).with_description(*help);
                let counter = counter.with_callback(move |counter| {
                    for Point { attributes, value } in collector.points(metric) {
                        if let Value::Count(count) = value {
                            counter.observe(count, &pairs(attributes));
                        }
                    }
                });
                counter.build();
            }
            Kind::Gauge => {
                let gauge = meter.f64_observable_gauge(*name).with_unit(*unit).with_description(*help);
                let gauge = gauge.with_callback(move |gauge| {
                    for Point { attributes, value } in collector.points(metric) {
                        match value {
                            Value::Count(count) => gauge.observe(count as f64, &pairs(attributes)),
                            Value::Number(number) => gauge.observe(number, &pairs(attributes)),
                            Value::Histogram(_) => {}
                        }
                    }
                });
                gauge.build();
            }
            Kind::Histogram(_) => {}
        }
    }
}

/// Converts attributes to those of the SDK.
pub(crate) fn pairs(attributes: Vec<(&'static str, String)>) -> Vec<KeyValue> {
    attributes.into_iter().map(|(name, value)| KeyValue::new(name, value)).collect()
}

/// Families of one export. The SDK asks for one metric after the other; all of an export must come from the same read.
struct Collector {
    source: FamilySource,
    collected: Mutex<Collected>,
}

#[derive(Default)]
struct Collected {
    families: Vec<Family>,
    /// Metrics delivered from these families.
    delivered: HashSet<&'static str>,
}

impl Collector {
    /// Returns the points of a metric. A second request for the same metric starts a new export and reads the families
    /// again.
    fn points(&self, metric: &Metric) -> Vec<Point> {
        let mut collected = self.collected.lock().unwrap_or_else(PoisonError::into_inner);
        if collected.families.is_empty() || collected.delivered.contains(metric.name) {
            *collected = Collected { families: (self.source)(), ..Collected::default() };
        }
        collected.delivered.insert(metric.name);
        let family = collected.families.iter().find(|family| family.metric == metric);
        family.map_or_else(Vec::new, |family| family.points.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::*;

    #[test]
    fn what_is_sent_together_is_told_at_once() {
        let times = AtomicU64::new(0);
        let source = Box::new(move || {
            let time = times.fetch_add(1, Relaxed);
            vec![Family::of(&names::RECORDS_WRITTEN, time), Family::of(&names::RECORDS_QUEUED, time)]
        });
        let collector = Collector { source, collected: Mutex::default() };
        let check = |metric, expect: Option<u64>| {
            let collected = collector.points(metric).pop().map(|point| point.value);
            assert_eq!(collected, expect.map(Value::Count));
        };
        for time in 0..3 {
            check(&names::SNAPSHOTS, None);
            check(&names::RECORDS_WRITTEN, Some(time));
            check(&names::RECORDS_QUEUED, Some(time));
        }
    }
}
