//! The figures of the program, as they stand whenever the SDK sends: those that `/metrics` has.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use opentelemetry::KeyValue;
use opentelemetry::metrics::Meter;
use portion_telemetry::meter::{Family, Point, Value};
use portion_telemetry::names::{self, Kind, Metric};

/// What tells them, all at once.
pub(crate) type Figures = Box<dyn Fn() -> Vec<Family> + Send + Sync>;

/// Has the SDK ask for every one but histograms, which it makes itself of single values.
pub(crate) fn observe(meter: &Meter, figures: Figures) {
    let latest = Arc::new(Latest { figures, told: Mutex::default() });
    for metric in names::ALL {
        let (latest, Metric { name, unit, help, .. }) = (Arc::clone(&latest), metric);
        match metric.kind {
            Kind::Counter => {
                let counter = meter.u64_observable_counter(*name).with_unit(*unit).with_description(*help);
                let counter = counter.with_callback(move |counter| {
                    for Point { attributes, value } in latest.points(metric) {
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
                    for Point { attributes, value } in latest.points(metric) {
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

/// As the SDK has attributes.
pub(crate) fn pairs(attributes: Vec<(&'static str, String)>) -> Vec<KeyValue> {
    attributes.into_iter().map(|(name, value)| KeyValue::new(name, value)).collect()
}

/// The SDK asks for one name after the other: what is sent together is told at once.
struct Latest {
    figures: Figures,
    told: Mutex<Told>,
}

#[derive(Default)]
struct Told {
    families: Vec<Family>,
    /// Names that were asked for since.
    asked: HashSet<&'static str>,
}

impl Latest {
    /// The points of a name. Whoever asks for one again is sending anew.
    fn points(&self, metric: &Metric) -> Vec<Point> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.families.is_empty() || told.asked.contains(metric.name) {
            *told = Told { families: (self.figures)(), ..Told::default() };
        }
        told.asked.insert(metric.name);
        let family = told.families.iter().find(|family| family.metric == metric);
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
        let figures = Box::new(move || {
            let time = times.fetch_add(1, Relaxed);
            vec![Family::of(&names::RECORDS_WRITTEN, time), Family::of(&names::RECORDS_QUEUED, time)]
        });
        let latest = Latest { figures, told: Mutex::default() };
        let check = |metric, expect: Option<u64>| {
            let told = latest.points(metric).pop().map(|point| point.value);
            assert_eq!(told, expect.map(Value::Count));
        };
        for time in 0..3 {
            check(&names::SNAPSHOTS, None);
            check(&names::RECORDS_WRITTEN, Some(time));
            check(&names::RECORDS_QUEUED, Some(time));
        }
    }
}
