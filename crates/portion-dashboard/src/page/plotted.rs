//! The figures of a range as charts hold them: a value for each slot of the axis, those in which nothing was asked
//! included.

use portion_core::event::Outcome;
use portion_telemetry::read::{Filter, ReadError, Reader, Slot, TrafficStats};
use serde_json::{Value, json};

use crate::range::Range;

/// The figures of a range along its axis.
pub(super) struct Plotted {
    /// How long a slot is, in microseconds.
    pub(super) step: u64,
    /// The beginning of the first slot, and of the one after the last.
    axis: (u64, u64),
    /// Those in which anything was asked.
    pub(super) slots: Vec<Slot>,
}

impl Plotted {
    pub(super) fn read(reader: &Reader, filter: &Filter, range: &Range) -> Result<Self, ReadError> {
        let series = reader.series(filter, range.step())?;
        let step = series.step.as_micros() as u64;
        let axis = (range.since / step * step, range.until.saturating_sub(1) / step * step + step);
        Ok(Self { step, axis, slots: series.slots })
    }

    /// Outcomes that there were, in the order of [`Outcome::ALL`].
    pub(super) fn outcomes(&self) -> impl Iterator<Item = Outcome> {
        let was = |outcome: &Outcome| self.slots.iter().any(|slot| slot.stats.of(*outcome) > 0);
        Outcome::ALL.into_iter().filter(was)
    }

    /// What the charts draw. Moments are seconds, shares 0 to 1, times milliseconds.
    pub(super) fn json(&self) -> Value {
        let along = |value: &dyn Fn(&TrafficStats) -> Value, nothing: Value| self.along(value, &nothing);
        let count = |value: &dyn Fn(&TrafficStats) -> u64| along(&|figures| json!(value(figures)), json!(0));
        let maybe = |value: &dyn Fn(&TrafficStats) -> Option<f64>| {
            along(&|figures| json!(value(figures)), Value::Null)
        };
        let outcomes: serde_json::Map<String, Value> = self
            .outcomes()
            .map(|outcome| (outcome.name().to_owned(), count(&|figures| figures.of(outcome))))
            .collect();
        let added = |of: fn(&TrafficStats) -> std::time::Duration| {
            maybe(&|figures| (figures.requests > 0).then(|| of(figures).as_secs_f64() * 1e3))
        };
        let seconds: Vec<f64> = self.moments().map(|at| at as f64 / 1e6).collect();
        json!({
            "step": self.step as f64 / 1e6,
            "at": seconds,
            "tokens": { "came": count(&|figures| figures.original_tokens), "served": count(&|figures| figures.served_tokens) },
            "outcomes": outcomes,
            "oversized": { "share": maybe(&TrafficStats::oversized_share) },
            "latency": {
                "p50": added(|figures| figures.overhead.p50),
                "p95": added(|figures| figures.overhead.p95),
                "p99": added(|figures| figures.overhead.p99),
            },
            "accuracy": {
                "near": maybe(&|figures| figures.accuracy.near_share()),
                "bias": maybe(&|figures| figures.accuracy.bias()),
            },
        })
    }

    fn moments(&self) -> impl Iterator<Item = u64> {
        (self.axis.0..self.axis.1).step_by(self.step.max(1) as usize)
    }

    fn along(&self, value: &dyn Fn(&TrafficStats) -> Value, nothing: &Value) -> Value {
        let mut slots = self.slots.iter().peekable();
        self.moments()
            .map(|at| match slots.next_if(|slot| slot.at == at) {
                Some(slot) => value(&slot.stats),
                None => nothing.clone(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_slot_has_a_value() {
        const MINUTE: u64 = 60_000_000;
        let stats = TrafficStats {
            requests: 3,
            outcomes: BTreeMap::from([("paginated".to_owned(), 2), ("expired".to_owned(), 1)]),
            original_tokens: 900,
            ..TrafficStats::default()
        };
        let slots = vec![Slot { at: 2 * MINUTE, stats }];
        let json = Plotted { step: MINUTE, axis: (MINUTE, 4 * MINUTE), slots }.json();
        assert_eq!(json["at"], json!([60.0, 120.0, 180.0]));
        assert_eq!(json["tokens"]["came"], json!([0, 900, 0]));
        assert_eq!(json["outcomes"], json!({ "paginated": [0, 2, 0], "expired": [0, 1, 0] }));
        assert_eq!(json["oversized"]["share"], json!([null, null, null]));
        assert_eq!(json["latency"]["p95"], json!([null, 0.0, null]));
    }
}
