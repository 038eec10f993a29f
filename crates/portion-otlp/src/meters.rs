//! What is measured of each request, by the names and bounds that `/metrics` has too. The SDK adds up and sends it now and
//! then.

use std::collections::HashSet;
use std::sync::Arc;

use opentelemetry::metrics::{Counter, Histogram, Meter};
use opentelemetry::{KeyValue, StringValue};
use portion_core::event::Served;
use portion_core::tokens::accuracy;
use portion_telemetry::meter::NAMED;
use portion_telemetry::names::{self, Kind, Metric};

use crate::span;

/// The name of all endpoints that have none of their own: a series each costs memory for ever.
const OTHER: &str = "other";

/// What is measured.
#[derive(Debug)]
pub(crate) struct Meters {
    duration: Histogram<f64>,
    requests: Counter<u64>,
    follow_ups: Counter<u64>,
    tokens: Counter<u64>,
    content: Counter<u64>,
    sized: Counter<u64>,
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
        let histogram = |of: &Metric| {
            let bounds = if let Kind::Histogram(bounds) = of.kind { bounds } else { &[] };
            let named = meter.f64_histogram(of.name).with_unit(of.unit).with_description(of.help);
            named.with_boundaries(bounds.to_vec()).build()
        };
        let counter =
            |of: &Metric| meter.u64_counter(of.name).with_unit(of.unit).with_description(of.help).build();
        Self {
            duration: histogram(&names::OPERATION_DURATION),
            requests: counter(&names::REQUESTS),
            follow_ups: counter(&names::FOLLOW_UPS),
            tokens: counter(&names::TOKENS),
            content: counter(&names::CONTENT),
            sized: counter(&names::SIZED),
            oversized: counter(&names::OVERSIZED),
            overhead: histogram(&names::OVERHEAD),
            estimate_error: histogram(&names::ESTIMATE_ERROR),
            endpoints: Endpoints::default(),
        }
    }

    /// Measures a request.
    pub(crate) fn measure(&mut self, served: &Served) {
        let endpoint = self.endpoints.told(served);
        self.duration.record(served.latency.as_secs_f64(), &operation(served, endpoint.clone()));
        self.overhead.record(served.overhead.as_secs_f64(), &[]);
        let mut of_endpoint =
            vec![KeyValue::new(names::KIND, served.kind), KeyValue::new(names::ENDPOINT, endpoint)];
        of_endpoint.extend(upstream(served));
        let with = |name: &'static str, value: &'static str| {
            let more = [KeyValue::new(name, value)];
            of_endpoint.iter().cloned().chain(more).collect::<Vec<_>>()
        };
        let (came, went) = (with(names::DIRECTION, "upstream"), with(names::DIRECTION, "served"));
        self.requests.add(1, &with(names::OUTCOME, served.outcome.name()));
        self.content.add(served.response_bytes, &went);
        let tokens = served.tokens();
        self.tokens.add(tokens.0, &came);
        self.tokens.add(tokens.1, &went);
        if served.follow_up {
            self.follow_ups.add(1, &of_endpoint);
        } else {
            self.content.add(served.original_bytes, &came);
        }
        if let Some(is_oversized) = served.is_oversized() {
            self.sized.add(1, &of_endpoint);
            self.oversized.add(u64::from(is_oversized), &of_endpoint);
        }
        if let (Some(estimated), Some(actual)) = (served.estimated_tokens, served.actual_tokens) {
            let error = accuracy::error(estimated, actual).abs();
            self.estimate_error.record(error, &[KeyValue::new(names::COUNTER, served.counter)]);
        }
    }
}

fn operation(served: &Served, endpoint: StringValue) -> Vec<KeyValue> {
    let mut all = vec![KeyValue::new(names::METHOD, span::method(served.kind))];
    match served.kind {
        "tool" => all.push(KeyValue::new(names::TOOL, endpoint)),
        "prompt" => all.push(KeyValue::new(names::PROMPT, endpoint)),
        _ => {}
    }
    all.extend(upstream(served));
    all.push(KeyValue::new(names::FOLLOW_UP, if served.follow_up { "true" } else { "false" }));
    all.extend(span::error(served).map(|error| KeyValue::new(names::ERROR, error)));
    all
}

fn upstream(served: &Served) -> Option<KeyValue> {
    served.upstream.clone().map(|upstream| KeyValue::new(names::UPSTREAM, upstream))
}

impl Endpoints {
    /// By what name an endpoint is told.
    fn told(&mut self, served: &Served) -> StringValue {
        match (served.kind, &served.endpoint) {
            // URIs can be without end.
            ("resource", _) => "*".into(),
            (_, none) if none.is_empty() => "none".into(),
            (_, endpoint) if self.0.contains(endpoint) => Arc::clone(endpoint).into(),
            (_, endpoint) if self.0.len() < NAMED => {
                self.0.insert(Arc::clone(endpoint));
                Arc::clone(endpoint).into()
            }
            _ => OTHER.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_endpoints_are_told_apart() {
        let mut endpoints = Endpoints::default();
        let mut told = |kind, endpoint: &str| {
            let served = Served { kind, endpoint: endpoint.into(), ..Served::default() };
            endpoints.told(&served).as_str().to_owned()
        };
        let names: Vec<String> = (0..NAMED * 2).map(|number| format!("tool_{number}")).collect();
        let first: Vec<String> = names.iter().map(|name| told("tool", name)).collect();
        assert_eq!(first[..NAMED], names[..NAMED]);
        assert!(first[NAMED..].iter().all(|name| name == OTHER));
        assert_eq!(told("tool", "tool_0"), "tool_0", "those who were first stay");
        assert_eq!((told("resource", "file:///a"), told("tool", "")), ("*".into(), "none".into()));
    }
}
