//! Pages that say why there is nothing to show, and what to do.

use maud::{Markup, html};
use portion_telemetry::read::ReadError;

use super::frame::{Frame, Place, times};
use crate::answer::Answer;
use crate::query::{Query, Wrong};
use crate::range::USUAL;
use crate::site::Nothing;

/// The parameters that say which time.
const TIMES: [&str; 2] = ["since", "until"];

/// What is said where nothing is recorded.
pub(crate) const OFF: &str = "telemetry is off: nothing is recorded";

/// There are no records.
pub(super) fn nothing(nothing: &Nothing) -> Answer {
    let (title, content) = match nothing {
        Nothing::Off => (
            "Telemetry is off",
            html! {
                p { "Nothing is recorded, so there is nothing to show." }
                p { "To record sizes, times and codes of requests, never what is in them, start Portion without "
                    code { "--telemetry off" } ", and take " code { "telemetry: off" } " out of the configuration ("
                    code { "PORTION_TELEMETRY" } " out of the environment). To keep them in a file of your choice:" }
                pre { code { "telemetry: /srv/portion/telemetry.db" } }
            },
        ),
        Nothing::Unread(ReadError::Missing(path)) => {
            ("Nothing recorded yet", teach(&path.display().to_string()))
        }
        Nothing::Unread(error) => (
            "The records cannot be read",
            html! {
                p { (error) "." }
                p { "Another file is named with " code { "portion dashboard --telemetry FILE" } ". Requests are served all the same." }
            },
        ),
    };
    page(nothing.status(), title, &content)
}

/// A parameter cannot be. Where it is the time, another can be asked for.
pub(super) fn wrong(wrong: &Wrong, path: &str, query: &Query) -> Answer {
    let kept: Vec<_> = query.pairs().filter(|(name, _)| !TIMES.contains(name)).collect();
    page(
        400,
        "That cannot be asked",
        &html! {
            p { (wrong) "." }
            @if TIMES.contains(&wrong.name.as_str()) {
                (times(path, query.get(TIMES[0]).unwrap_or(USUAL), query.get(TIMES[1]), &kept))
            }
            p { a href="/" { "Back to the overview" } }
        },
    )
}

/// There is no such page, or no longer.
pub(super) fn unknown(what: &str) -> Answer {
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
    let frame = Frame { title, place: Place::Within, path: "", range: None, kept: &[] };
    let content = html! { section.notice { h1 { (title) } (content) } };
    Answer::page(status, frame.around(&content))
}

/// How records come about.
fn teach(path: &str) -> Markup {
    html! {
        p { "Put Portion in front of an MCP server, and use it: each request that has content leaves a record here." }
        pre { code { "portion wrap -- npx -y @modelcontextprotocol/server-filesystem ~/notes" } }
        p { "Over HTTP, for several clients:" }
        pre { code { "portion serve --url https://mcp.example.com/mcp" } }
        p.quiet { "Records are kept in " code { (path) } "." }
    }
}

/// Nothing was asked in some time.
pub(super) fn quiet() -> Markup {
    html! {
        p.quiet { "Nothing was asked in this time, or nothing that is like what you look for. Choose a longer one above." }
    }
}
