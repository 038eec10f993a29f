//! Pages shown when there is nothing to show. They explain why and what to do.

use maud::{Markup, html};
use portion_telemetry::read::ReadError;

use super::frame::{Frame, NavItem, times};
use crate::answer::Answer;
use crate::query::{DEFAULT_SINCE, InvalidParameter, Query};
use crate::records::NoRecords;

/// Parameters of the time range.
const TIME_PARAMETERS: [&str; 2] = ["since", "until"];

/// Renders the page when there are no records.
pub(super) fn no_records(reason: &NoRecords) -> Answer {
    let (title, content) = match reason {
        NoRecords::Off => (
            "Telemetry is off",
            html! {
                p { "Nothing is recorded, so there is nothing to show." }
                p { "To record sizes, times and codes of requests, never their content, start Portion without "
                    code { "--telemetry off" } ", and remove " code { "telemetry: off" } " from the configuration ("
                    code { "PORTION_TELEMETRY" } " from the environment). To use another file:" }
                pre { code { "telemetry: /srv/portion/telemetry.db" } }
            },
        ),
        NoRecords::Unreadable(ReadError::Missing(path)) => {
            ("Nothing recorded yet", instructions(&path.display().to_string()))
        }
        NoRecords::Unreadable(error) => (
            "The records cannot be read",
            html! {
                p { (error) "." }
                p { "To read another file, use " code { "portion dashboard --telemetry FILE" } ". Requests are served regardless." }
            },
        ),
    };
    page(reason.status(), title, &content)
}

/// Renders the page for an invalid parameter. For times, it contains the form to correct them.
pub(super) fn invalid(invalid: &InvalidParameter, path: &str, query: &Query) -> Answer {
    let extra: Vec<_> = query.pairs().filter(|(name, _)| !TIME_PARAMETERS.contains(name)).collect();
    page(
        400,
        "Invalid request",
        &html! {
            p { (invalid) "." }
            @if TIME_PARAMETERS.contains(&invalid.name.as_str()) {
                (times(path, query.get(TIME_PARAMETERS[0]).unwrap_or(DEFAULT_SINCE), query.get(TIME_PARAMETERS[1]), &extra))
            }
            p { a href="/" { "Back to the overview" } }
        },
    )
}

/// Renders the page for an unknown path.
pub(super) fn not_found(what: &str) -> Answer {
    page(
        404,
        "Not found",
        &html! {
            p { (what) }
            p { a href="/" { "Back to the overview" } }
        },
    )
}

fn page(status: u16, title: &str, content: &Markup) -> Answer {
    let frame = Frame { title, nav: NavItem::Within, path: "", range: None, extra: &[] };
    let content = html! { section.notice { h1 { (title) } (content) } };
    Answer::page(status, frame.render(&content))
}

/// Explains how to record requests.
fn instructions(path: &str) -> Markup {
    html! {
        p { "Put Portion in front of the servers of your clients, start a client anew, and use it. Each request with content is recorded here." }
        pre { code { "portion install" } }
        p { "In front of one server:" }
        pre { code { "portion wrap -- npx -y @modelcontextprotocol/server-filesystem ~/notes" } }
        p { "Over HTTP, for several clients:" }
        pre { code { "portion serve --url https://mcp.example.com/mcp" } }
        p.quiet { "Records are kept in " code { (path) } "." }
    }
}

/// Renders the note for a time range without requests.
pub(super) fn no_requests() -> Markup {
    html! {
        p.quiet { "No matching requests in this time. Choose a longer range above." }
    }
}
