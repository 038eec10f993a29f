//! Pages that say why there is nothing to show, and what to do.

use maud::{Markup, html};
use portion_telemetry::read::ReadError;

use super::frame::{Frame, Place};
use crate::answer::Answer;
use crate::query::Wrong;
use crate::site::Nothing;

/// What is said where nothing is recorded.
pub(crate) const OFF: &str = "telemetry is off: nothing is recorded";

/// There are no records.
pub(super) fn nothing(nothing: &Nothing) -> Answer {
    let (title, content) = match nothing {
        Nothing::Off => (
            "Telemetry is off",
            html! {
                p { "Nothing is recorded, so there is nothing to show." }
                p { "To record sizes, times and codes of requests, never what is in them, start Portion with "
                    code { "--telemetry on" } ", or write it in the configuration:" }
                pre { code { "telemetry: on" } }
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

/// A parameter cannot be.
pub(super) fn wrong(wrong: &Wrong) -> Answer {
    page(
        400,
        "That cannot be asked",
        &html! {
            p { (wrong) "." }
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
