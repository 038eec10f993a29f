//! What was changed, refused and raised: marks on the axis of time, a list below it, a page of its own.

use maud::{Markup, html};
use portion_core::event::{Alerted, Change, Configured, Misconfigured};
use portion_telemetry::read::{Filter, ReadError, Reader};
use serde_json::{Value, json};

use super::frame::{Frame, Place};
use super::standing::took_minutes;
use super::told::{counted, moment, percent};
use super::{Failure, Visit};
use crate::answer::Answer;
use crate::query::link;
use crate::range::Range;

/// Of each, at most: the newest.
const MOST: usize = 200;
/// Lines of a page that is about something else.
const FEW: usize = 6;
/// Changes of one configuration that a line names.
const NAMED: usize = 4;

/// Something that happened at a moment.
enum Event {
    Configured(Configured),
    Refused(Misconfigured),
    Alert(Alerted),
}

/// What happened in some time, the newest first.
pub(super) struct Events {
    events: Vec<Event>,
    /// There are more than these.
    more: bool,
}

impl Event {
    fn at(&self) -> u64 {
        match self {
            Self::Configured(configured) => configured.at,
            Self::Refused(refused) => refused.at,
            Self::Alert(alert) => alert.at,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Configured(_) => "configuration",
            Self::Refused(_) => "refused",
            Self::Alert(alert) if alert.raised => "alert",
            Self::Alert(_) => "over",
        }
    }

    fn title(&self) -> String {
        match self {
            Self::Configured(configured) => format!("Configuration {}", configured.version),
            Self::Refused(_) => "Configuration refused".to_owned(),
            Self::Alert(alert) if alert.raised => format!("Alert: {} {}", alert.alert, percent(alert.share)),
            Self::Alert(alert) => format!("Alert over: {}", alert.alert),
        }
    }

    /// Which file it is about.
    fn source(&self) -> Option<&str> {
        match self {
            Self::Configured(configured) => Some(&configured.source),
            Self::Refused(refused) => Some(&refused.source),
            Self::Alert(_) => None,
        }
    }

    /// What it says, line by line.
    fn lines(&self) -> Vec<String> {
        match self {
            Self::Configured(configured) => configured.changes.iter().map(told).collect(),
            Self::Refused(refused) => refused.errors.clone(),
            Self::Alert(alert) => vec![format!(
                "{} of {} in {}",
                alert.counted,
                counted(alert.requests, "request", "requests"),
                took_minutes(alert)
            )],
        }
    }
}

impl Events {
    pub(super) fn read(reader: &Reader, range: &Range) -> Result<Self, ReadError> {
        // One more tells whether there are more.
        let filter = Filter { limit: Some(MOST + 1), ..range.filter() };
        let kinds: [Vec<Event>; 3] = [
            reader.configurations(&filter)?.into_iter().map(Event::Configured).collect(),
            reader.misconfigurations(&filter)?.into_iter().map(Event::Refused).collect(),
            reader.alerts(&filter)?.into_iter().map(Event::Alert).collect(),
        ];
        let more = kinds.iter().any(|kind| kind.len() > MOST);
        let mut events: Vec<Event> = kinds.into_iter().flat_map(|kind| kind.into_iter().take(MOST)).collect();
        events.sort_by_key(|event| std::cmp::Reverse(event.at()));
        Ok(Self { events, more })
    }

    /// What the script marks on the axis.
    pub(super) fn marks(&self) -> Vec<Value> {
        let mark = |event: &Event| {
            let lines = event.lines();
            let more = lines.len().saturating_sub(NAMED);
            let mut shown: Vec<String> = lines.into_iter().take(NAMED).collect();
            shown.extend((more > 0).then(|| format!("and {more} more")));
            shown.extend(event.source().map(str::to_owned));
            json!({ "at": event.at() as f64 / 1e6, "kind": event.kind(), "title": event.title(), "lines": shown })
        };
        self.events.iter().rev().map(mark).collect()
    }
}

/// The list below charts.
pub(super) fn section(events: &Events, range: &Range) -> Markup {
    let shown = events.events.len().min(FEW);
    html! {
        section aria-labelledby="changes" {
            h2 #changes { "Changes and alerts" }
            (list(&events.events[..shown]))
            @if events.events.len() > shown {
                p { a href=(link("/changes", &range.parameters())) { "All of them" } }
            }
        }
    }
}

pub(super) fn page(visit: &Visit<'_>) -> Result<Answer, Failure> {
    let range = &visit.asked.range;
    let events = Events::read(&visit.reader, range)?;
    let content = html! {
        h1 { "Changes and alerts" }
        (list(&events.events))
        @if events.more {
            p.quiet { "The newest " (MOST) " of each kind; choose a time that ends earlier for those before them." }
        }
    };
    let frame =
        Frame { title: "Changes", place: Place::Changes, path: "/changes", range: Some(range), kept: &[] };
    Ok(Answer::page(200, frame.around(&content)))
}

fn list(events: &[Event]) -> Markup {
    html! {
        @if events.is_empty() {
            p.quiet { "Nothing was changed, refused or raised in this time." }
        } @else {
            ol.events {
                @for event in events {
                    li.(event.kind()) id=[id(event)] {
                        (moment(event.at()))
                        strong { (event.title()) }
                        div.diff {
                            (detail(event))
                            @if let Some(source) = event.source() { p.quiet { (source) } }
                        }
                    }
                }
            }
        }
    }
}

fn detail(event: &Event) -> Markup {
    match event {
        Event::Configured(configured) if !configured.changes.is_empty() => html! {
            ul {
                @for Change { key, old, new } in &configured.changes {
                    li {
                        code { (key) } " "
                        @if let Some(old) = old { del { (old) } } @else { span.quiet { "unset" } }
                        " → "
                        @if let Some(new) = new { ins { (new) } } @else { span.quiet { "unset" } }
                    }
                }
            }
        },
        other => html! { ul { @for line in other.lines() { li { (line) } } } },
    }
}

/// Where it stands on the page, if anything leads there.
fn id(event: &Event) -> Option<String> {
    match event {
        Event::Configured(configured) => Some(id_of(configured)),
        _ => None,
    }
}

/// Versions are counted for each file: moments tell them apart.
fn id_of(configured: &Configured) -> String {
    format!("v{}-{}", configured.version, configured.at)
}

/// The page of changes, where that one is.
pub(super) fn link_to(configured: &Configured) -> String {
    let range = Range::around(configured.at);
    link("/changes", &range.parameters()) + "#" + &id_of(configured)
}

fn told(change: &Change) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "unset".to_owned());
    format!("{}: {} → {}", change.key, value(&change.old), value(&change.new))
}
