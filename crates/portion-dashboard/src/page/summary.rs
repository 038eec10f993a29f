//! Key statistics at the top of a page.

use portion_telemetry::read::TrafficStats;
use portion_telemetry::show::grouped;
use portion_tokens::accuracy::MIN_ACCURATE_SHARE;

use super::format::{dollars, duration, percent, plural, share_or_dash, short};
use super::term::term;
use maud::{Markup, html};

/// Facts beside the traffic that the key statistics show.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SummaryContext {
    /// Price of a million input tokens, in US dollars.
    pub(super) token_price: Option<f64>,
    /// Number of records known to be lost.
    pub(super) lost: Option<u64>,
    /// The alert on oversized calls is raised.
    pub(super) is_alert_raised: bool,
}

/// Colour of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tone {
    Plain,
    Warning,
    Alarm,
}

/// Renders the key statistics.
pub(super) fn strip(stats: &TrafficStats, context: SummaryContext) -> Markup {
    let SummaryContext { token_price, lost, is_alert_raised } = context;
    let TrafficStats {
        requests, follow_ups, errors, original_tokens, served_tokens, accuracy, overhead, ..
    } = stats;
    let oversized = stats.oversized_share();
    let near = accuracy.accurate_share();
    // A result above the budget is what Portion is for; only calls that keep asking for one are worth a look.
    let oversized_tone = if is_alert_raised { Tone::Warning } else { Tone::Plain };
    let near_tone =
        if near.is_some_and(|near| near < MIN_ACCURATE_SHARE) { Tone::Warning } else { Tone::Plain };
    let cost = |tokens: f64| token_price.map(|price| tokens * price / 1e6);
    let saved = *original_tokens as f64 - *served_tokens as f64;
    let error_share = (*requests > 0).then(|| *errors as f64 / *requests as f64);
    html! {
        dl.figures {
            (figure("Tokens kept out", &signed(saved), Some(&grouped(original_tokens.abs_diff(*served_tokens))),
                &format!("{} of {} upstream", share_or_dash(stats.reduction()), short(*original_tokens)), Tone::Plain))
            (figure("Tokens to the model", &short(*served_tokens), Some(&grouped(*served_tokens)), "follow-ups included", Tone::Plain))
            (figure("Requests", &short(*requests), Some(&grouped(*requests)), &plural(*follow_ups, "follow-up", "follow-ups"), Tone::Plain))
            @if let (Some(saved), Some(spent)) = (cost(saved), cost(*served_tokens as f64)) {
                (figure("Saved", &dollars(saved), None, &format!("{} spent on replies", dollars(spent)), Tone::Plain))
            }
            (figure("Oversized", &share_or_dash(oversized), None,
                &format!("{} of {} first calls", grouped(stats.oversized), grouped(stats.sized)),
                oversized_tone))
            (figure("Errors", &grouped(*errors), None, &error_share.map_or_else(|| "none".to_owned(), |share| format!("{} of requests", percent(share))), Tone::Plain))
            (figure("Estimates within 20 %", &share_or_dash(near), None, &format!("of {} counted exactly", grouped(accuracy.sample_count)),
                near_tone))
            (figure("Added latency, p95", &duration(overhead.p95), None, &format!("{} at p99", duration(overhead.p99)), Tone::Plain))
            @if let Some(lost) = lost.filter(|lost| *lost > 0) {
                (figure("Not recorded", &grouped(lost), None, "since this process started", Tone::Alarm))
            }
        }
    }
}

/// Returns a number of tokens, negative if replies were larger than results.
fn signed(tokens: f64) -> String {
    let size = short(tokens.abs() as u64);
    if tokens < 0.0 { format!("−{size}") } else { size }
}

fn figure(name: &str, value: &str, exact: Option<&str>, detail: &str, tone: Tone) -> Markup {
    let class = match tone {
        Tone::Plain => None,
        Tone::Warning => Some("warning"),
        Tone::Alarm => Some("alarm"),
    };
    html! {
        div {
            dt { (term(name)) }
            dd class=[class] title=[exact] { (value) }
            dd.beside { (detail) }
        }
    }
}
