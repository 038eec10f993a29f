//! The needs of every page, and the frame around it: head, navigation and time range. Pages when there is nothing
//! to show say why and what to do.

use std::time::SystemTime;

use maud::{DOCTYPE, Markup, html};
use portion_telemetry::read::{ReadError, Reader};

use super::format::timestamp;
use crate::answer::{Answer, Asset};
use crate::query::{DEFAULT_SINCE, InvalidParameter, Query, Range, link};
use crate::selection::{NoRecords, Selection};

/// Parameters of the time range.
const TIME_PARAMETERS: [&str; 2] = ["since", "until"];

/// Entry of the navigation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NavItem {
    Overview,
    Requests,
    Sessions,
    Experiments,
    Changes,
    /// A page below one of these.
    Within,
}

/// A page without its content.
pub(super) struct Frame<'a> {
    /// Title of the page.
    pub(super) title: &'a str,
    pub(super) nav: NavItem,
    /// Path for links to other time ranges; empty if the page has no time range.
    pub(super) path: &'a str,
    /// Time range of the page, kept by links.
    pub(super) range: Option<&'a Range>,
    /// Further parameters, kept when the time range changes.
    pub(super) extra: &'a [(&'a str, Option<&'a str>)],
}

impl Frame<'_> {
    /// Renders the page around `content`.
    pub(super) fn render(&self, content: &Markup) -> Markup {
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) " · Portion" }
                    link rel="icon" type="image/svg+xml" href=(Asset::Icon.path());
                    link rel="stylesheet" href=(Asset::PlotStyle.path());
                    link rel="stylesheet" href=(Asset::Style.path());
                    script defer src=(Asset::Plot.path()) {}
                    script defer src=(Asset::Script.path()) {}
                }
                body {
                    a.skip href="#content" { "Skip to the content" }
                    header {
                        a.brand href=(link("/", &self.time())) { "Portion" }
                        nav aria-label="Pages" { (self.pages()) }
                        @if let Some(range) = self.range.filter(|_| !self.path.is_empty()) { (self.ranges(range)) }
                    }
                    main #content tabindex="-1" { (content) }
                    footer {
                        p { "Sizes, times and codes; never the content of requests or replies." }
                        p { a href="/api/openapi.json" { "API" } }
                    }
                }
            }
        }
    }

    fn time(&self) -> [(&'static str, Option<&str>); 2] {
        self.range.map_or([("since", None), ("until", None)], Range::parameters)
    }

    fn pages(&self) -> Markup {
        let pages = [
            (NavItem::Overview, "/", "Overview"),
            (NavItem::Requests, "/requests", "Requests"),
            (NavItem::Sessions, "/sessions", "Sessions"),
            (NavItem::Experiments, "/experiments", "Experiments"),
            (NavItem::Changes, "/changes", "Changes"),
        ];
        html! {
            ul {
                @for (nav, path, name) in pages {
                    li { a href=(link(path, &self.time())) aria-current=[(nav == self.nav).then_some("page")] { (name) } }
                }
            }
        }
    }

    fn ranges(&self, range: &Range) -> Markup {
        let is_preset = range.is_open() && Range::PRESETS.contains(&range.from.as_str());
        let to = |since: &str| {
            let mut parameters = vec![("since", Some(since))];
            parameters.extend(self.extra);
            link(self.path, &parameters)
        };
        html! {
            nav.range aria-label="Time" {
                ul {
                    @for preset in Range::PRESETS {
                        @let here = is_preset && range.from == preset;
                        li { a href=(to(preset)) aria-current=[here.then_some("true")] { (preset) } }
                    }
                    li { (self.custom(range, is_preset)) }
                }
                label.live hidden {
                    input type="checkbox" id="live";
                    " Live"
                    output {}
                }
            }
        }
    }

    /// Renders the custom time range.
    fn custom(&self, range: &Range, is_preset: bool) -> Markup {
        html! {
            details.custom {
                summary class=[(!is_preset).then_some("here")] {
                    @if is_preset { "Custom" } @else {
                        (timestamp(range.since)) " – " @if range.is_open() { "now" } @else { (timestamp(range.until)) }
                    }
                }
                (times(self.path, &range.from, range.to.as_deref(), self.extra))
            }
        }
    }
}

/// Renders the form for a time range, with the text as entered. The script shows dates in the viewer's time zone and
/// submits UTC.
pub(super) fn times(path: &str, from: &str, to: Option<&str>, extra: &[(&str, Option<&str>)]) -> Markup {
    html! {
        form.times action=(path) {
            @for (name, value) in extra {
                @if let Some(value) = value { input type="hidden" name=(name) value=(value); }
            }
            label { "From " input name="since" value=(from) required; }
            label { "to " input name="until" value=[to] placeholder="now"; }
            button { "Show" }
            p { "An age (90m, 2h, 7d), a time of today (09:30) or a date (2026-11-22T08:00), in " span.zone { "UTC" } "." }
        }
    }
}

/// A page request: everything that a page needs.
pub(super) struct PageRequest<'a> {
    pub reader: Reader,
    pub selection: Selection,
    pub query: &'a Query,
    /// Price of a million input tokens, in US dollars.
    pub token_price: Option<f64>,
    pub lost: Option<u64>,
    pub now: SystemTime,
}

/// Renders the page when there are no records.
pub(super) fn no_records_page(reason: &NoRecords) -> Answer {
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
pub(super) fn invalid_page(invalid: &InvalidParameter, path: &str, query: &Query) -> Answer {
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
pub(super) fn not_found_page(what: &str) -> Answer {
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
