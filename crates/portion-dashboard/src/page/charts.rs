//! Charts: caption, legend, drawing area for the script, and the same data as a table.

use maud::{Markup, PreEscaped, html};
use portion_core::event::Outcome;
use portion_telemetry::read::{Filter, ReadError, Reader, Slot, TrafficStats};
use portion_telemetry::show::grouped;
use serde_json::{Value, json};

use super::changes::Events;
use super::format::{duration, share_or_dash, timestamp};
use crate::query::Range;

/// A line or bar series of a chart.
struct ChartSeries<'a> {
    key: &'a str,
    title: &'a str,
    cell: &'a dyn Fn(&TrafficStats) -> String,
}

/// Renders all charts of a page and their data.
pub(super) fn section(data: &ChartData, events: &Events) -> Markup {
    let outcomes: Vec<_> = data.outcomes().collect();
    let counts: Vec<_> =
        outcomes.iter().map(|outcome| move |stats: &TrafficStats| grouped(stats.of(*outcome))).collect();
    let stacked: Vec<ChartSeries<'_>> = outcomes
        .iter()
        .zip(&counts)
        .map(|(outcome, cell)| ChartSeries { key: outcome.name(), title: outcome.name(), cell })
        .collect();
    html! {
        section.charts aria-labelledby="charts" {
            h2.unseen #charts { "Charts" }
            (chart("tokens", "Tokens upstream → model", "tokens from the server, and tokens sent to the model", data, &[
                ChartSeries { key: "came", title: "upstream", cell: &|stats| grouped(stats.original_tokens) },
                ChartSeries { key: "served", title: "model", cell: &|stats| grouped(stats.served_tokens) },
            ]))
            (chart("outcomes", "Requests by outcome", "stacked", data, &stacked))
            (chart("oversized", "Oversized share", "of first calls: their results were above the budget", data, &[
                ChartSeries { key: "share", title: "above the budget", cell: &|stats| share_or_dash(stats.oversized_share()) },
            ]))
            (chart("latency", "Added latency", "time added by Portion", data, &[
                ChartSeries { key: "p50", title: "p50", cell: &|stats| duration(stats.overhead.p50) },
                ChartSeries { key: "p95", title: "p95", cell: &|stats| duration(stats.overhead.p95) },
                ChartSeries { key: "p99", title: "p99", cell: &|stats| duration(stats.overhead.p99) },
            ]))
            (chart("accuracy", "Estimates", "against exact counts; the line is 90 %", data, &[
                ChartSeries { key: "near", title: "within 20 %", cell: &|stats| share_or_dash(stats.accuracy.accurate_share()) },
                ChartSeries { key: "bias", title: "bias", cell: &|stats| share_or_dash(stats.accuracy.bias()) },
            ]))
            (marks_legend(events))
            (embedded(data, events))
        }
    }
}

/// Statistics of a time range by slot.
pub(super) struct ChartData {
    /// Length of a slot, in microseconds.
    pub(super) step: u64,
    /// Start of the first slot and end of the last, in microseconds since 1970.
    axis: (u64, u64),
    /// Slots with requests.
    pub(super) slots: Vec<Slot>,
}

impl ChartData {
    pub(super) fn read(reader: &Reader, filter: &Filter, range: &Range) -> Result<Self, ReadError> {
        let series = reader.series(filter, range.step())?;
        let step = series.step.as_micros() as u64;
        let axis = (range.since / step * step, range.until.saturating_sub(1) / step * step + step);
        Ok(Self { step, axis, slots: series.slots })
    }

    /// Returns the outcomes that occur, in the order of [`Outcome::ALL`].
    pub(super) fn outcomes(&self) -> impl Iterator<Item = Outcome> {
        let was = |outcome: &Outcome| self.slots.iter().any(|slot| slot.stats.of(*outcome) > 0);
        Outcome::ALL.into_iter().filter(was)
    }

    /// Returns the data for the script. Times are in seconds, shares 0 to 1, durations in milliseconds.
    pub(super) fn json(&self) -> Value {
        let per_slot =
            |value: &dyn Fn(&TrafficStats) -> Value, nothing: Value| self.per_slot(value, &nothing);
        let count = |value: &dyn Fn(&TrafficStats) -> u64| per_slot(&|stats| json!(value(stats)), json!(0));
        let maybe = |value: &dyn Fn(&TrafficStats) -> Option<f64>| {
            per_slot(&|stats| json!(value(stats)), Value::Null)
        };
        let outcomes: serde_json::Map<String, Value> = self
            .outcomes()
            .map(|outcome| (outcome.name().to_owned(), count(&|stats| stats.of(outcome))))
            .collect();
        let added = |of: fn(&TrafficStats) -> std::time::Duration| {
            maybe(&|stats| (stats.requests > 0).then(|| of(stats).as_secs_f64() * 1e3))
        };
        let seconds: Vec<f64> = self.timestamps().map(|at| at as f64 / 1e6).collect();
        json!({
            "step": self.step as f64 / 1e6,
            "at": seconds,
            "tokens": { "came": count(&|stats| stats.original_tokens), "served": count(&|stats| stats.served_tokens) },
            "outcomes": outcomes,
            "oversized": { "share": maybe(&TrafficStats::oversized_share) },
            "latency": {
                "p50": added(|stats| stats.overhead.p50),
                "p95": added(|stats| stats.overhead.p95),
                "p99": added(|stats| stats.overhead.p99),
            },
            "accuracy": {
                "near": maybe(&|stats| stats.accuracy.accurate_share()),
                "bias": maybe(&|stats| stats.accuracy.bias()),
            },
        })
    }

    fn timestamps(&self) -> impl Iterator<Item = u64> {
        (self.axis.0..self.axis.1).step_by(self.step.max(1) as usize)
    }

    fn per_slot(&self, value: &dyn Fn(&TrafficStats) -> Value, nothing: &Value) -> Value {
        let mut slots = self.slots.iter().peekable();
        self.timestamps()
            .map(|at| match slots.next_if(|slot| slot.at == at) {
                Some(slot) => value(&slot.stats),
                None => nothing.clone(),
            })
            .collect()
    }
}

/// Explains the marks on the charts, if there are any.
fn marks_legend(events: &Events) -> Markup {
    html! {
        @if !events.is_empty() {
            ul.legend.marks aria-label="Marks on the charts" {
                @for (class, name) in [
                    ("configuration", "configuration applied"),
                    ("refused", "configuration refused"),
                    ("alert", "alert raised"),
                    ("over", "alert over"),
                ] {
                    @if events.has(class) { li class=(class) { (name) } }
                }
                li.quiet { "A dashed line across a chart is a target." }
            }
        }
    }
}

fn chart(key: &str, title: &str, what: &str, data: &ChartData, series: &[ChartSeries<'_>]) -> Markup {
    let id = format!("chart-{key}");
    html! {
        figure.chart data-chart=(key) aria-labelledby=(id) {
            figcaption {
                h3 id=(id) { (title) }
                p.quiet { (what) }
            }
            ul.legend {
                @for one in series {
                    li data-series=(one.key) { span.key {} (one.title) " " span.value {} }
                }
            }
            div.drawing { div.plot {} }
            details {
                summary { "As a table" }
                div.scroll tabindex="0" role="region" aria-label={ (title) ", as a table" } {
                    (table(title, data, series))
                }
            }
        }
    }
}

fn table(title: &str, data: &ChartData, series: &[ChartSeries<'_>]) -> Markup {
    let row = |slot: &Slot| {
        html! {
            tr {
                th scope="row" { (timestamp(slot.at)) }
                @for one in series { td.n { ((one.cell)(&slot.stats)) } }
            }
        }
    };
    html! {
        table {
            caption.unseen { (title) }
            thead { tr { th scope="col" { "From" } @for one in series { th.n scope="col" { (one.title) } } } }
            tbody { @for slot in &data.slots { (row(slot)) } }
        }
    }
}

/// Embeds the data for the script. It is not executable and cannot close its element.
fn embedded(data: &ChartData, events: &Events) -> Markup {
    let mut json = data.json();
    if let Value::Object(members) = &mut json {
        members.insert("marks".to_owned(), json!(events.marks()));
    }
    let text = json.to_string().replace('<', "\\u003c");
    html! { script type="application/json" id="plotted" { (PreEscaped(text)) } }
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
        let json = ChartData { step: MINUTE, axis: (MINUTE, 4 * MINUTE), slots }.json();
        assert_eq!(json["at"], json!([60.0, 120.0, 180.0]));
        assert_eq!(json["tokens"]["came"], json!([0, 900, 0]));
        assert_eq!(json["outcomes"], json!({ "paginated": [0, 2, 0], "expired": [0, 1, 0] }));
        assert_eq!(json["oversized"]["share"], json!([null, null, null]));
        assert_eq!(json["latency"]["p95"], json!([null, 0.0, null]));
    }
}
