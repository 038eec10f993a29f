//! Charts: a caption, what it says in words, a place for the script to draw in, and the same as a table.

use maud::{Markup, PreEscaped, html};
use portion_telemetry::read::{Slot, TrafficStats};
use portion_telemetry::show::grouped;
use serde_json::{Value, json};

use super::changes::Events;
use super::told::{moment, part, took};

pub(super) use super::plotted::Plotted;

/// A line or bar of a chart.
struct Drawn<'a> {
    key: &'a str,
    title: &'a str,
    cell: &'a dyn Fn(&TrafficStats) -> String,
}

/// All charts of a page, and what they draw.
pub(super) fn section(plotted: &Plotted, events: &Events) -> Markup {
    let outcomes: Vec<_> = plotted.outcomes().collect();
    let counts: Vec<_> =
        outcomes.iter().map(|outcome| move |figures: &TrafficStats| grouped(figures.of(*outcome))).collect();
    let stacked: Vec<Drawn<'_>> = outcomes
        .iter()
        .zip(&counts)
        .map(|(outcome, cell)| Drawn { key: outcome.name(), title: outcome.name(), cell })
        .collect();
    html! {
        section.charts aria-labelledby="charts" {
            h2.unseen #charts { "Along the axis of time" }
            (chart("tokens", "Tokens upstream → model", "what came, and what of it the model was sent", plotted, &[
                Drawn { key: "came", title: "upstream", cell: &|figures| grouped(figures.original_tokens) },
                Drawn { key: "served", title: "model", cell: &|figures| grouped(figures.served_tokens) },
            ]))
            (chart("outcomes", "Requests by outcome", "stacked", plotted, &stacked))
            (chart("oversized", "Oversized share", "of first calls; the line is 5 %", plotted, &[
                Drawn { key: "share", title: "above the budget", cell: &|figures| part(figures.oversized_share()) },
            ]))
            (chart("latency", "Added latency", "what of it was Portion’s", plotted, &[
                Drawn { key: "p50", title: "p50", cell: &|figures| took(figures.overhead.p50) },
                Drawn { key: "p95", title: "p95", cell: &|figures| took(figures.overhead.p95) },
                Drawn { key: "p99", title: "p99", cell: &|figures| took(figures.overhead.p99) },
            ]))
            (chart("accuracy", "Estimates", "where counted exactly; the line is 90 %", plotted, &[
                Drawn { key: "near", title: "within 20 %", cell: &|figures| part(figures.accuracy.near_share()) },
                Drawn { key: "bias", title: "bias", cell: &|figures| part(figures.accuracy.bias()) },
            ]))
            (data(plotted, events))
        }
    }
}

fn chart(key: &str, title: &str, what: &str, plotted: &Plotted, drawn: &[Drawn<'_>]) -> Markup {
    let id = format!("chart-{key}");
    html! {
        figure.chart data-chart=(key) aria-labelledby=(id) {
            figcaption {
                h3 id=(id) { (title) }
                p.quiet { (what) }
            }
            ul.legend {
                @for one in drawn {
                    li data-series=(one.key) { span.key {} (one.title) " " span.value {} }
                }
            }
            div.drawing { div.plot {} }
            details {
                summary { "As a table" }
                div.scroll tabindex="0" role="region" aria-label={ (title) ", as a table" } {
                    (table(title, plotted, drawn))
                }
            }
        }
    }
}

fn table(title: &str, plotted: &Plotted, drawn: &[Drawn<'_>]) -> Markup {
    let row = |slot: &Slot| {
        html! {
            tr {
                th scope="row" { (moment(slot.at)) }
                @for one in drawn { td.n { ((one.cell)(&slot.stats)) } }
            }
        }
    };
    html! {
        table {
            caption.unseen { (title) }
            thead { tr { th scope="col" { "from" } @for one in drawn { th.n scope="col" { (one.title) } } } }
            tbody { @for slot in &plotted.slots { (row(slot)) } }
        }
    }
}

/// What the script draws: no code, and nothing in it ends the element that it stands in.
fn data(plotted: &Plotted, events: &Events) -> Markup {
    let mut json = plotted.json();
    if let Value::Object(members) = &mut json {
        members.insert("marks".to_owned(), json!(events.marks()));
    }
    let text = json.to_string().replace('<', "\\u003c");
    html! { script type="application/json" id="plotted" { (PreEscaped(text)) } }
}
