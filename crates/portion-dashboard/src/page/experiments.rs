//! Page of experiments: comparisons of their arms.

use maud::{Markup, html};
use portion_telemetry::experiment::{Comparison, Design, MIN_SESSIONS, Measured, Verdict};
use portion_telemetry::show::grouped;
use portion_telemetry::statistics::Estimate;

use super::format::{percent, plural};
use super::frame::{Frame, NavItem};
use super::{Failure, PageRequest};
use crate::answer::Answer;

pub(super) fn page(request: &PageRequest<'_>) -> Result<Answer, Failure> {
    let range = &request.selection.range;
    let comparisons = request.reader.experiment(&range.filter())?;
    let content = html! {
        h1 { "Experiments" }
        @if comparisons.is_empty() {
            (instructions())
        } @else {
            p.quiet { "Means and shares over sessions with 95 % confidence intervals. A verdict needs "
                (MIN_SESSIONS) " sessions per arm." }
            @for comparison in &comparisons { (section(comparison)) }
        }
    };
    let frame = Frame {
        title: "Experiments",
        nav: NavItem::Experiments,
        path: "/experiments",
        range: Some(range),
        extra: &[],
    };
    Ok(Answer::page(200, frame.render(&content)))
}

fn section(comparison: &Comparison) -> Markup {
    let Comparison { endpoint, design, shaped, unshaped, measures } = comparison;
    let name = endpoint.as_ref().map_or_else(|| "All endpoints".to_owned(), ToString::to_string);
    let what = match design {
        Design::Split => "split: some sessions are shaped, the others are not",
        Design::Shadow => {
            "shadow: no session is shaped; each reply is compared with the reply that shaping would have made"
        }
    };
    html! {
        section {
            h2 { (name) }
            p.quiet { (what) }
            div.scroll tabindex="0" role="region" aria-label={ (name) ", " (design.name()) } {
                table.experiment {
                    thead { tr {
                        th scope="col" { "Measure" }
                        th.n scope="col" { "Shaped" span.quiet { (plural(shaped.sessions, " session", " sessions")) } }
                        th.n scope="col" { "Unshaped" span.quiet { (plural(unshaped.sessions, " session", " sessions")) } }
                        th.n scope="col" { "Difference" }
                        th scope="col" { "Shaped is" }
                    } }
                    tbody { @for measured in measures { (row(measured)) } }
                }
            }
        }
    }
}

fn row(measured: &Measured) -> Markup {
    let share = measured.measure.is_share();
    let verdict = measured.verdict;
    html! {
        tr {
            th scope="row" { (measured.measure.title()) }
            td.n data-title="Shaped" { (estimate(measured.shaped, share)) }
            td.n data-title="Unshaped" { (estimate(measured.unshaped, share)) }
            td.n data-title="Difference" { (estimate(measured.difference, share)) }
            td data-title="Shaped is" {
                span.verdict data-sure[matches!(verdict, Verdict::Lower | Verdict::Higher)] { (verdict.name()) }
            }
        }
    }
}

fn estimate(estimate: Option<Estimate>, share: bool) -> Markup {
    let format = |value: f64| if share { percent(value) } else { rounded(value) };
    html! {
        @match estimate {
            None => "–",
            Some(Estimate { value, range }) => {
                (format(value))
                @if let Some((low, high)) = range { " " span.quiet { (format(low)) " … " (format(high)) } }
            }
        }
    }
}

fn rounded(value: f64) -> String {
    if value.abs() >= 999.5 {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}{}", grouped(value.abs().round() as u64));
    }
    let digits = if value.abs() < 9.995 { 2 } else { usize::from(value.abs() < 99.95) };
    format!("{value:.digits$}")
}

fn instructions() -> Markup {
    html! {
        p { "No request in this time was part of an experiment. To try shaping without changing any reply:" }
        pre { code { "experiment: shadow" } }
        p { "To shape half of the sessions and compare both halves:" }
        pre { code { "experiment: {split: 50}" } }
    }
}
