//! Charts: caption, legend, drawing area for the script, and the same data as a table.

use maud::{Markup, PreEscaped, html};
use portion_telemetry::read::{Slot, TrafficStats};
use portion_telemetry::show::grouped;
use serde_json::{Value, json};

use super::changes::Events;
use super::format::{duration, share_or_dash, timestamp};

pub(super) use super::chart_data::ChartData;

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
