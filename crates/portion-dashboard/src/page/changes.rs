//! What was changed, refused and raised: marks on the axis of time, a list below it, a page of its own.

use maud::{Markup, html};
use portion_core::event::{Alerted, Change, Configured, Misconfigured};
use portion_telemetry::read::{ReadError, Reader};
use serde_json::{Value, json};

use super::frame::{Frame, Place};
use super::standing::took_minutes;
use super::told::{counted, moment, percent};
use super::{Failure, Visit};
use crate::answer::Answer;
use crate::query::link;
use crate::range::Range;

/// Of each, at most.
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
pub(super) struct Events(Vec<Event>);

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

    /// What it says, line by line.
    fn lines(&self) -> Vec<String> {
        match self {
            Self::Configured(configured) if configured.changes.is_empty() => {
                vec![format!("from {}", configured.source)]
            }
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
        let filter = portion_telemetry::read::Filter { limit: Some(MOST), ..range.filter() };
        let configured = reader.configurations(&filter)?.into_iter().map(Event::Configured);
        let refused = reader.misconfigurations(&filter)?.into_iter().map(Event::Refused);
        let alerts = reader.alerts(&filter)?.into_iter().map(Event::Alert);
        let mut events: Vec<Event> = configured.chain(refused).chain(alerts).collect();
        events.sort_by_key(|event| std::cmp::Reverse(event.at()));
        Ok(Self(events))
    }

    /// What the script marks on the axis.
    pub(super) fn marks(&self) -> Vec<Value> {
        let mark = |event: &Event| {
            let lines = event.lines();
            let more = lines.len().saturating_sub(NAMED);
            let mut shown: Vec<String> = lines.into_iter().take(NAMED).collect();
            shown.extend((more > 0).then(|| format!("and {more} more")));
            json!({ "at": event.at() as f64 / 1e6, "kind": event.kind(), "title": event.title(), "lines": shown })
        };
        self.0.iter().rev().map(mark).collect()
    }
}

/// The list below charts.
pub(super) fn section(events: &Events, range: &Range) -> Markup {
    let more = events.0.len().saturating_sub(FEW);
    html! {
        section aria-labelledby="changes" {
            h2 #changes { "Changes and alerts" }
            (list(&events.0[..events.0.len() - more]))
            @if more > 0 {
                p { a href=(link("/changes", &range.parameters())) { "All " (events.0.len()) " of them" } }
            }
        }
    }
}

pub(super) fn page(visit: &Visit<'_>) -> Result<Answer, Failure> {
    let range = &visit.asked.range;
    let events = Events::read(&visit.reader, range)?;
    let content = html! {
        h1 { "Changes and alerts" }
        (list(&events.0))
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
                    li.(event.kind()) id=[version(event)] {
                        (moment(event.at()))
                        strong { (event.title()) }
                        (detail(event))
                    }
                }
            }
        }
    }
}

fn detail(event: &Event) -> Markup {
    match event {
        Event::Configured(configured) if !configured.changes.is_empty() => html! {
            ul.diff {
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
        other => html! { ul.diff { @for line in other.lines() { li { (line) } } } },
    }
}

fn version(event: &Event) -> Option<String> {
    match event {
        Event::Configured(configured) => Some(format!("v{}", configured.version)),
        _ => None,
    }
}

fn told(change: &Change) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "unset".to_owned());
    format!("{}: {} → {}", change.key, value(&change.old), value(&change.new))
}
