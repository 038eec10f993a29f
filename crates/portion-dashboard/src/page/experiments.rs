//! Arms of experiments, held against each other.

use maud::{Markup, html};
use portion_telemetry::experiment::{Comparison, Design, MIN_SESSIONS, Measured, Verdict};
use portion_telemetry::show::grouped;
use portion_telemetry::statistics::Estimate;

use super::frame::{Frame, Place};
use super::told::{counted, percent};
use super::{Failure, Visit};
use crate::answer::Answer;

pub(super) fn page(visit: &Visit<'_>) -> Result<Answer, Failure> {
    let range = &visit.asked.range;
    let comparisons = visit.reader.experiment(&range.filter())?;
    let content = html! {
        h1 { "Experiments" }
        @if comparisons.is_empty() {
            (teach())
        } @else {
            p.quiet { "Means and shares over sessions with their 95 % confidence intervals; verdicts from "
                (MIN_SESSIONS) " sessions an arm on." }
            @for comparison in &comparisons { (section(comparison)) }
        }
    };
    let frame = Frame {
        title: "Experiments",
        place: Place::Experiments,
        path: "/experiments",
        range: Some(range),
        kept: &[],
    };
    Ok(Answer::page(200, frame.around(&content)))
}

fn section(comparison: &Comparison) -> Markup {
    let Comparison { endpoint, design, shaped, unshaped, measures } = comparison;
    let name = endpoint.as_ref().map_or_else(|| "All endpoints".to_owned(), ToString::to_string);
    let what = match design {
        Design::Split => "split: some sessions are shaped, the others are not",
        Design::Shadow => {
            "shadow: nobody is shaped; what shaping would have served is compared with what was"
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
                        th.n scope="col" { "Shaped" span.quiet { (counted(shaped.sessions, " session", " sessions")) } }
                        th.n scope="col" { "Unshaped" span.quiet { (counted(unshaped.sessions, " session", " sessions")) } }
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
    let told = |value: f64| if share { percent(value) } else { rounded(value) };
    html! {
        @match estimate {
            None => "–",
            Some(Estimate { value, range }) => {
                (told(value))
                @if let Some((low, high)) = range { " " span.quiet { (told(low)) " … " (told(high)) } }
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

fn teach() -> Markup {
    html! {
        p { "No request of this time was part of an experiment. To see what shaping changes before it does, let it be tried
            beside what is served:" }
        pre { code { "experiment: shadow" } }
        p { "Or shape one half of the sessions only, and hold both against each other:" }
        pre { code { "experiment: {split: 50}" } }
    }
}
