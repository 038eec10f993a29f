//! What is measured of each request. The SDK adds up and sends it now and then.

use std::collections::HashSet;
use std::sync::Arc;

use opentelemetry::metrics::{Counter, Histogram, Meter};
use opentelemetry::{KeyValue, StringValue};
use portion_core::event::Served;

use crate::{names, span};

/// Names of endpoints that are told apart; later ones are all one, for a series each costs memory for ever.
const ENDPOINTS: usize = 200;
/// The name of all others.
const OTHER: &str = "other";

/// Bounds that the conventions advise for durations, seconds:
/// <https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/#metric-mcpserveroperationduration>.
const DURATIONS: [f64; 14] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];
/// Bounds of what we add, seconds: it is some milliseconds.
const OVERHEADS: [f64; 11] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0];
/// Bounds of how far estimates are off, as a share of the exact count. 0.3 is where counting is called wrong.
const ERRORS: [f64; 8] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0];

/// What is measured.
#[derive(Debug)]
pub(crate) struct Meters {
    duration: Histogram<f64>,
    requests: Counter<u64>,
    tokens: Counter<u64>,
    oversized: Counter<u64>,
    overhead: Histogram<f64>,
    estimate_error: Histogram<f64>,
    endpoints: Endpoints,
}

/// Those whose names are told.
#[derive(Debug, Default)]
struct Endpoints(HashSet<Arc<str>>);

impl Meters {
    pub(crate) fn new(meter: &Meter) -> Self {
        let histogram = |name, unit, bounds: &[f64], doc| {
            meter
                .f64_histogram(name)
                .with_unit(unit)
                .with_boundaries(bounds.to_vec())
                .with_description(doc)
                .build()
        };
        let counter = |name, unit, doc| meter.u64_counter(name).with_unit(unit).with_description(doc).build();
        Self {
            duration: histogram(names::DURATION, "s", &DURATIONS, "From the request to the reply"),
            requests: counter(names::REQUESTS, "{request}", "Requests that were answered"),
            tokens: counter(
                names::TOKENS,
                "{token}",
                "Tokens that payloads would have cost, and replies did",
            ),
            oversized: counter(names::OVERSIZED, "{request}", "Payloads above the budget of a reply"),
            overhead: histogram(names::OVERHEAD, "s", &OVERHEADS, "What of the duration was Portion's"),
            estimate_error: histogram(
                names::ESTIMATE_ERROR,
                "1",
                &ERRORS,
                "How far estimates were off, as a share of the exact count",
            ),
            endpoints: Endpoints::default(),
        }
    }

    /// Measures a request.
    pub(crate) fn measure(&mut self, served: &Served) {
        let outcome = KeyValue::new(names::OUTCOME, served.outcome.name());
        let operation = self.operation(served);
        self.duration.record(served.latency.as_secs_f64(), &operation);
        self.overhead.record(served.overhead.as_secs_f64(), &[]);
        self.requests.add(1, &[outcome]);
        let direction = |name: &'static str| [KeyValue::new(names::DIRECTION, name)];
        // What is read of a snapshot has come before.
        if let Some(tokens) = served.original_tokens.filter(|_| !served.follow_up) {
            self.tokens.add(tokens, &direction("original"));
        }
        if let Some(tokens) = served.estimated_tokens {
            self.tokens.add(tokens, &direction("served"));
        }
        if served.is_oversized() == Some(true) {
            self.oversized.add(1, &[]);
        }
        if let (Some(estimated), Some(actual @ 1..)) = (served.estimated_tokens, served.actual_tokens) {
            self.estimate_error.record(estimated.abs_diff(actual) as f64 / actual as f64, &[]);
        }
    }

    fn operation(&mut self, served: &Served) -> Vec<KeyValue> {
        let mut all = vec![KeyValue::new(names::METHOD, span::method(served.kind))];
        match served.kind {
            "tool" => {
                all.push(KeyValue::new(names::OPERATION, "execute_tool"));
                all.push(KeyValue::new(names::TOOL, self.endpoints.told(&served.endpoint)));
            }
            "prompt" => all.push(KeyValue::new(names::PROMPT, self.endpoints.told(&served.endpoint))),
            _ => {}
        }
        all.extend(span::error(served).map(|error| KeyValue::new(names::ERROR, error)));
        all
    }
}

impl Endpoints {
    /// By what name an endpoint is told.
    fn told(&mut self, endpoint: &Arc<str>) -> StringValue {
        if !self.0.contains(endpoint) {
            if self.0.len() == ENDPOINTS {
                return OTHER.into();
            }
            self.0.insert(Arc::clone(endpoint));
        }
        Arc::clone(endpoint).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_endpoints_are_told_apart() {
        let mut endpoints = Endpoints::default();
        let names = (0..ENDPOINTS * 2).map(|number| Arc::from(format!("tool_{number}")));
        let names: Vec<Arc<str>> = names.collect();
        let mut told = |name: &Arc<str>| endpoints.told(name).as_str().to_owned();
        let first: Vec<String> = names.iter().map(&mut told).collect();
        let other = |told: &&String| *told == OTHER;
        assert_eq!(first.iter().filter(other).count(), ENDPOINTS);
        assert_eq!(first.iter().skip(ENDPOINTS).filter(other).count(), ENDPOINTS);
        assert_eq!(told(&names[0]), "tool_0", "those who were first stay");
    }
}
