//! Key statistics at the top of a page.

use portion_telemetry::alert::DEFAULT_SHARE;
use portion_telemetry::read::TrafficStats;
use portion_telemetry::show::grouped;
use portion_tokens::accuracy::MIN_ACCURATE_SHARE;

use super::format::{duration, percent, plural, share_or_dash, short};
use maud::{Markup, html};

/// Renders the key statistics. `lost` is the number of records known to be lost.
pub(super) fn strip(stats: &TrafficStats, lost: Option<u64>) -> Markup {
    let TrafficStats {
        requests, follow_ups, errors, original_tokens, served_tokens, accuracy, overhead, ..
    } = stats;
    let oversized = stats.oversized_share();
    let near = accuracy.accurate_share();
    let error_share = (*requests > 0).then(|| *errors as f64 / *requests as f64);
    html! {
        dl.figures {
            (figure("Requests", &short(*requests), Some(&grouped(*requests)), &plural(*follow_ups, "follow-up", "follow-ups"), false))
            (figure("Tokens to the model", &short(*served_tokens), Some(&grouped(*served_tokens)),
                &format!("of {} upstream", short(*original_tokens)), false))
            (figure("Kept out", &share_or_dash(stats.reduction()), None, "follow-ups included", false))
            (figure("Oversized", &share_or_dash(oversized), None,
                &format!("{} of {} first calls", grouped(stats.oversized), grouped(stats.sized)),
                oversized.is_some_and(|share| share > DEFAULT_SHARE)))
            (figure("Errors", &grouped(*errors), None, &error_share.map_or_else(|| "none".to_owned(), |share| format!("{} of requests", percent(share))), false))
            (figure("Estimates within 20 %", &share_or_dash(near), None, &format!("of {} counted exactly", grouped(accuracy.sample_count)),
                near.is_some_and(|near| near < MIN_ACCURATE_SHARE)))
            (figure("Added latency, p95", &duration(overhead.p95), None, &format!("{} at p99", duration(overhead.p99)), false))
            @if let Some(lost) = lost.filter(|lost| *lost > 0) {
                (figure("Not recorded", &grouped(lost), None, "since this process started", true))
            }
        }
    }
}

fn figure(name: &str, value: &str, exact: Option<&str>, detail: &str, alarming: bool) -> Markup {
    html! {
        div {
            dt { (name) }
            dd class=[alarming.then_some("alarm")] title=[exact] { (value) }
            dd.beside { (detail) }
        }
    }
}
