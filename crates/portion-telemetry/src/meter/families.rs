//! Metric values by name and attributes, ready for any export format.

use portion_core::event::{EndpointKind, Outcome, RequestServed};

use super::{EndpointCounters, Labels, Meter, OutcomeKey, Totals};
use crate::names::{self, Kind, Metric};

/// Maximum number of bounds. The counts are stored inline, because they are updated on the request path.
const MAX_BOUNDS: usize = 15;

/// All values of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// The metric.
    pub metric: &'static Metric,
    /// Values, each with different attributes.
    pub points: Vec<Point>,
}

/// One value of a metric with its attributes.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Attributes as pairs of name and value.
    pub attributes: Vec<(&'static str, String)>,
    /// The value.
    pub value: Value,
}

/// Value of a metric.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An integer.
    Count(u64),
    /// A floating-point number.
    Number(f64),
    /// A histogram.
    Histogram(Histogram),
}

impl Family {
    /// Creates a family with one value and no attributes.
    pub fn of(metric: &'static Metric, value: impl Into<Value>) -> Self {
        Self { metric, points: vec![Point { attributes: Vec::new(), value: value.into() }] }
    }

    /// Creates a family without values.
    pub fn new(metric: &'static Metric) -> Self {
        Self { metric, points: Vec::new() }
    }

    /// Adds a value with these attributes.
    pub fn push(&mut self, attributes: Vec<(&'static str, String)>, value: impl Into<Value>) {
        self.points.push(Point { attributes, value: value.into() });
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<bool> for Value {
    fn from(holds: bool) -> Self {
        Self::Count(u64::from(holds))
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<Histogram> for Value {
    fn from(histogram: Histogram) -> Self {
        Self::Histogram(histogram)
    }
}

impl Meter {
    /// Returns all counters as metric families.
    pub fn families(&self) -> Vec<Family> {
        let (mut endpoints, totals, overhead, estimates, raised) = {
            let counters = self.counters.lock();
            let endpoints =
                counters.index.iter().map(|(labels, at)| (labels.clone(), counters.endpoints[*at].clone()));
            let endpoints: Vec<(Labels, EndpointCounters)> = endpoints.collect();
            (
                endpoints,
                counters.totals(),
                counters.overhead.clone(),
                counters.estimates.clone(),
                counters.raised.clone(),
            )
        };
        endpoints.sort_by(|one, other| one.0.cmp(&other.0));
        let [mut durations, mut requests, mut follow_ups, mut tokens, mut content, mut sized, mut oversized] =
            [
                &names::OPERATION_DURATION,
                &names::REQUESTS,
                &names::FOLLOW_UPS,
                &names::TOKENS,
                &names::CONTENT,
                &names::SIZED,
                &names::OVERSIZED,
            ]
            .map(Family::new);
        for (labels, endpoint) in endpoints {
            let with = |more: &[(&'static str, &str)]| labels.with(more);
            for (outcome, count) in
                Outcome::ALL.into_iter().zip(endpoint.totals.outcomes).filter(|(_, count)| *count > 0)
            {
                requests.push(with(&[(names::OUTCOME, outcome.name())]), count);
            }
            follow_ups.push(with(&[]), endpoint.totals.follow_ups);
            for (family, (upstream, served)) in
                [(&mut tokens, endpoint.totals.tokens), (&mut content, endpoint.totals.bytes)]
            {
                family.push(with(&[(names::DIRECTION, "upstream")]), upstream);
                family.push(with(&[(names::DIRECTION, "served")]), served);
            }
            sized.push(with(&[]), endpoint.totals.sized);
            oversized.push(with(&[]), endpoint.totals.oversized);
            for (ended, histogram) in endpoint.durations {
                durations.push(labels.operation(ended), histogram);
            }
        }
        let mut families = vec![durations, requests, follow_ups, tokens, content, sized, oversized];
        families.extend(totals.families());
        families.push(Family::of(&names::OVERHEAD, overhead));
        let [mut errors, mut bias, mut alerts] =
            [&names::ESTIMATE_ERROR, &names::ESTIMATE_BIAS, &names::ALERTS_RAISED].map(Family::new);
        for (counter, estimates) in estimates {
            let attributes = vec![(names::COUNTER, counter.to_owned())];
            bias.push(attributes.clone(), estimates.accuracy.bias().unwrap_or_default());
            errors.push(attributes, estimates.errors);
        }
        for (alert, count) in raised {
            alerts.push(vec![(names::ALERT, alert.into_owned())], count);
        }
        families.extend([errors, bias, alerts]);
        families
    }

    /// Returns the attributes of the duration histogram that an observed request falls into, as in
    /// [`families`](Self::families).
    pub fn operation(&self, served: &RequestServed) -> Vec<(&'static str, String)> {
        let labels = self.counters.lock().labels(served);
        labels.operation((served.error, served.follow_up))
    }
}

impl Totals {
    /// Returns totals that exist from the start. A counter that first appears with a value above 0 shows no increase
    /// to a scraper.
    fn families(&self) -> Vec<Family> {
        let [mut requests, mut tokens] = [&names::ALL_REQUESTS, &names::ALL_TOKENS].map(Family::new);
        for outcome in Outcome::ALL {
            requests.push(vec![(names::OUTCOME, outcome.name().to_owned())], self.of(outcome));
        }
        let (upstream, served) = self.tokens;
        for (direction, count) in [("upstream", upstream), ("served", served)] {
            tokens.push(vec![(names::DIRECTION, direction.to_owned())], count);
        }
        vec![
            Family::of(&names::TOKENS_KEPT_OUT, upstream as f64 - served as f64),
            requests,
            tokens,
            Family::of(&names::ALL_SIZED, self.sized),
            Family::of(&names::ALL_OVERSIZED, self.oversized),
        ]
    }
}

impl Labels {
    /// Returns the labels as attributes, followed by `more`.
    fn with(&self, more: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
        let mut attributes = self.upstream();
        attributes.push((names::KIND, self.kind.name().to_owned()));
        attributes.push((names::ENDPOINT, self.endpoint.to_string()));
        attributes.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
        attributes
    }

    /// Returns the attributes that the MCP conventions define for operation durations.
    fn operation(&self, (error, follow_up): OutcomeKey) -> Vec<(&'static str, String)> {
        let name = match self.kind {
            EndpointKind::Tool => Some(names::TOOL),
            EndpointKind::Prompt => Some(names::PROMPT),
            EndpointKind::Resource => None,
        };
        let mut attributes = vec![(names::METHOD, names::method(self.kind).to_owned())];
        attributes.extend(name.map(|name| (name, self.endpoint.to_string())));
        attributes.extend(self.upstream());
        attributes.push((names::FOLLOW_UP, follow_up.to_string()));
        attributes.extend(error.map(|error| (names::ERROR, names::error_type(error).to_owned())));
        attributes
    }

    fn upstream(&self) -> Vec<(&'static str, String)> {
        self.upstream.iter().map(|upstream| (names::UPSTREAM, upstream.to_string())).collect()
    }
}

/// Number of values up to each bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    bounds: &'static [f64],
    /// One count per bound, and one for values above the last bound.
    counts: [u64; MAX_BOUNDS + 1],
    sum: f64,
}

impl Histogram {
    /// Creates an empty histogram. Bounds after the fifteenth are ignored.
    pub fn new(bounds: &'static [f64]) -> Self {
        let bounds = &bounds[..bounds.len().min(MAX_BOUNDS)];
        Self { bounds, counts: [0; MAX_BOUNDS + 1], sum: 0.0 }
    }

    /// Creates an empty histogram with the bounds of `metric`.
    pub(super) fn of(metric: &Metric) -> Self {
        match metric.kind {
            Kind::Histogram(bounds) => Self::new(bounds),
            Kind::Counter | Kind::Gauge => Self::new(&[]),
        }
    }

    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        let slot = self.bounds.partition_point(|bound| *bound < value);
        self.counts[slot] += 1;
        self.sum += value;
    }

    /// Returns the bounds and the number of values in each bucket. The last count is for values above the last bound.
    pub fn buckets(&self) -> (&'static [f64], &[u64]) {
        (self.bounds, &self.counts[..=self.bounds.len()])
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the sum of the values.
    pub fn sum(&self) -> f64 {
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_at_a_bound_is_up_to_it() {
        let mut histogram = Histogram::new(&[0.5, 1.0]);
        [0.0, 0.5, 0.75, 1.0, 1.5].into_iter().for_each(|value| histogram.add(value));
        assert_eq!(histogram.buckets().1, [2, 2, 1]);
        assert_eq!((histogram.count(), histogram.sum()), (5, 3.75));
    }
}
