//! Measurements of each request: the histograms of `/metrics`, with the same names, attributes and bounds. The SDK can
//! only build histograms from single values. All other metrics are [`observables`](crate::otlp::observables).

use std::sync::Arc;

use crate::meter;
use crate::names::{self, Kind, Metric};
use portion_core::event::RequestServed;
use portion_tokens::accuracy;

use crate::otlp::observables::pairs;
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Histogram, Meter};

/// Instruments of a request.
#[derive(Debug)]
pub(crate) struct Meters {
    duration: Histogram<f64>,
    overhead: Histogram<f64>,
    estimate_error: Histogram<f64>,
    /// Provides the attributes of endpoints.
    meter: Arc<meter::Meter>,
}

impl Meters {
    pub(crate) fn new(to: &Meter, meter: Arc<meter::Meter>) -> Self {
        let histogram = |of: &Metric| {
            let bounds = if let Kind::Histogram(bounds) = of.kind { bounds } else { &[] };
            let named = to.f64_histogram(of.name).with_unit(of.unit).with_description(of.help);
            named.with_boundaries(bounds.to_vec()).build()
        };
        Self {
            duration: histogram(&names::OPERATION_DURATION),
            overhead: histogram(&names::OVERHEAD),
            estimate_error: histogram(&names::ESTIMATE_ERROR),
            meter,
        }
    }

    /// Records the measurements of a request.
    pub(crate) fn measure(&self, served: &RequestServed) {
        self.duration.record(served.latency.as_secs_f64(), &pairs(self.meter.operation(served)));
        self.overhead.record(served.overhead.as_secs_f64(), &[]);
        if let (Some(estimated), Some(actual)) = (served.estimated_tokens, served.actual_tokens) {
            let error = accuracy::relative_error(estimated, actual).abs();
            self.estimate_error.record(error, &[KeyValue::new(names::COUNTER, served.counter)]);
        }
    }
}
