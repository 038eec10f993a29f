//! Overview: the start page.

use maud::{Markup, html};
use portion_telemetry::read::{Participants, TrafficStats};
use portion_telemetry::show::grouped;
use portion_tokens::accuracy::MIN_ACCURATE_SHARE;

use super::format::{self, dollars, duration, percent, plural, share_or_dash, short, term};
use super::frame::{self, Frame, NavItem};
use super::{Failure, PageRequest, changes, charts, endpoints, findings, requests};
use crate::answer::Answer;
use crate::query::micros;
use crate::selection::Selection;

pub(super) fn page(request: &PageRequest<'_>) -> Result<Answer, Failure> {
    let PageRequest { reader, selection, query, token_price, lost, now } = request;
    let range = &selection.range;
    let selection = &selection.participants();
    let filter = selection.filter();
    let total = reader.total(&filter)?;
    let traffic = reader.endpoints(&filter)?;
    let events = changes::Events::read(reader, range)?;
    let alerts = reader.active_alerts(micros(*now))?;
    let sort = endpoints::Sort::read(query)?;
    let findings = findings::list(reader, &traffic, selection)?;
    let plotted = charts::ChartData::read(reader, &filter, range)?;
    let summary_context =
        SummaryContext { token_price: *token_price, lost: *lost, is_alert_raised: !alerts.is_empty() };
    let participants = reader.participants(&range.filter())?;
    let content = html! {
        h1.unseen { "Overview" }
        (form(selection, &participants))
        (findings::banner(&alerts))
        (strip(&total, summary_context))
        @if total.requests == 0 {
            (frame::no_requests())
        } @else {
            (findings)
            (charts::section(&plotted, &events))
        }
        (changes::section(&events, range))
        @if total.requests > 0 { (endpoints::section(&traffic, sort, range)) }
        (format::list())
    };
    let which = selection.which();
    let extra = [which[6], which[7], ("sort", query.get("sort")), ("order", query.get("order"))];
    let frame =
        Frame { title: "Overview", nav: NavItem::Overview, path: "/", range: Some(range), extra: &extra };
    Ok(Answer::page(200, frame.render(&content)))
}

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

/// Renders the choice of a server and a client. It is left out where there is nothing to choose.
fn form(selection: &Selection, participants: &Participants) -> Markup {
    let range = &selection.range;
    let is_choice = participants.servers.len() > 1 || participants.clients.len() > 1;
    html! {
        @if is_choice || selection.server.is_some() || selection.client.is_some() {
            form.filters action="/" {
                input type="hidden" name="since" value=(range.from);
                @if let Some(to) = &range.to { input type="hidden" name="until" value=(to); }
                (requests::choices(selection, participants))
                button { "Filter" }
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
