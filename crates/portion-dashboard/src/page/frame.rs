//! What stands around every page: its head, the way to others, the time that it is about.

use maud::{DOCTYPE, Markup, html};

use super::told::moment;
use crate::assets::Asset;
use crate::query::link;
use crate::range::Range;

/// Where one is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Overview,
    Requests,
    Sessions,
    Experiments,
    Changes,
    /// Below one of these.
    Within,
}

/// A page.
pub(super) struct Frame<'a> {
    /// What it is called.
    pub(super) title: &'a str,
    pub(super) place: Place,
    /// Its path, where it can be about another time; empty where it cannot.
    pub(super) path: &'a str,
    /// The time that it is about; links keep it.
    pub(super) range: Option<&'a Range>,
    /// Further parameters, which another time keeps.
    pub(super) kept: &'a [(&'a str, Option<&'a str>)],
}

impl Frame<'_> {
    /// The page with that in it.
    pub(super) fn around(&self, content: &Markup) -> Markup {
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
                        p { "Sizes, times and codes; never what was in a request or a reply." }
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
            (Place::Overview, "/", "Overview"),
            (Place::Requests, "/requests", "Requests"),
            (Place::Sessions, "/sessions", "Sessions"),
            (Place::Experiments, "/experiments", "Experiments"),
            (Place::Changes, "/changes", "Changes"),
        ];
        html! {
            ul {
                @for (place, path, name) in pages {
                    li { a href=(link(path, &self.time())) aria-current=[(place == self.place).then_some("page")] { (name) } }
                }
            }
        }
    }

    fn ranges(&self, range: &Range) -> Markup {
        let is_preset = range.is_open() && Range::PRESETS.contains(&range.from.as_str());
        let to = |since: &str| {
            let mut parameters = vec![("since", Some(since))];
            parameters.extend(self.kept);
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

    /// From one moment to another.
    fn custom(&self, range: &Range, is_preset: bool) -> Markup {
        html! {
            details.custom {
                summary class=[(!is_preset).then_some("here")] {
                    @if is_preset { "Custom" } @else {
                        (moment(range.since)) " – " @if range.is_open() { "now" } @else { (moment(range.until)) }
                    }
                }
                (times(self.path, &range.from, range.to.as_deref(), self.kept))
            }
        }
    }
}

/// From one moment to another, as they were written: the script says dates in the viewer's zone, and sends them in UTC.
pub(super) fn times(path: &str, from: &str, to: Option<&str>, kept: &[(&str, Option<&str>)]) -> Markup {
    html! {
        form.times action=(path) {
            @for (name, value) in kept {
                @if let Some(value) = value { input type="hidden" name=(name) value=(value); }
            }
            label { "From " input name="since" value=(from) required; }
            label { "to " input name="until" value=[to] placeholder="now"; }
            button { "Show" }
            p { "How long ago (90m, 2h, 7d), a time of today (09:30) or a date (2026-11-22T08:00), in " span.zone { "UTC" } "." }
        }
    }
}
