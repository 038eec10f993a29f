//! Configuration changes, refused configurations and alerts: marks on the time axis, a list below the charts, and a
//! page.

use maud::{Markup, html};
use portion_core::event::{AlertChanged, ConfigApplied, ConfigChange, ConfigRejected};
use portion_telemetry::read::{Filter, ReadError, Reader};
use serde_json::{Value, json};

use super::findings::window_length;
use super::format::{percent, plural, timestamp};
use super::frame::{Frame, NavItem};
use super::{Failure, PageRequest};
use crate::answer::Answer;
use crate::query::{Range, link};

/// Maximum number of events of each kind, the newest first.
const MAX_SHOWN: usize = 200;
/// Number of events on pages about something else.
const MAX_ON_OTHER_PAGES: usize = 6;
/// Maximum number of configuration changes named in a mark.
const MAX_NAMED: usize = 4;

/// An event on the time axis.
enum Event {
    Configured(ConfigApplied),
    Refused(ConfigRejected),
    Alert(AlertChanged),
}

/// Events of a time range, the newest first.
pub(super) struct Events {
    events: Vec<Event>,
    /// There are more events than these.
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
            Self::Alert(alert) if alert.is_raised => "alert",
            Self::Alert(_) => "over",
        }
    }

    fn title(&self) -> String {
        match self {
            Self::Configured(configured) => format!("Configuration {}", configured.version),
            Self::Refused(_) => "Configuration refused".to_owned(),
            Self::Alert(alert) if alert.is_raised => {
                format!("Alert: {} {}", alert.alert_name, percent(alert.share))
            }
            Self::Alert(alert) => format!("Alert over: {}", alert.alert_name),
        }
    }

    /// Returns the file that the event is about.
    fn source(&self) -> Option<&str> {
        match self {
            Self::Configured(configured) => Some(&configured.source),
            Self::Refused(refused) => Some(&refused.source),
            Self::Alert(_) => None,
        }
    }

    /// Returns the details, line by line.
    fn lines(&self) -> Vec<String> {
        match self {
            Self::Configured(configured) => configured.changes.iter().map(describe).collect(),
            Self::Refused(refused) => refused.errors.clone(),
            Self::Alert(alert) => vec![format!(
                "{} of {} in {}",
                alert.matching_requests,
                plural(alert.requests, "request", "requests"),
                window_length(alert)
            )],
        }
    }
}

impl Events {
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Returns true if there is an event of this kind.
    pub(super) fn has(&self, kind: &str) -> bool {
        self.events.iter().any(|event| event.kind() == kind)
    }

    pub(super) fn read(reader: &Reader, range: &Range) -> Result<Self, ReadError> {
        // One extra event tells whether there are more.
        let filter = Filter { limit: Some(MAX_SHOWN + 1), ..range.filter() };
        let kinds: [Vec<Event>; 3] = [
            reader.configurations(&filter)?.into_iter().map(Event::Configured).collect(),
            reader.misconfigurations(&filter)?.into_iter().map(Event::Refused).collect(),
            reader.alerts(&filter)?.into_iter().map(Event::Alert).collect(),
        ];
        let more = kinds.iter().any(|kind| kind.len() > MAX_SHOWN);
        let mut events: Vec<Event> =
            kinds.into_iter().flat_map(|kind| kind.into_iter().take(MAX_SHOWN)).collect();
        events.sort_by_key(|event| std::cmp::Reverse(event.at()));
        Ok(Self { events, more })
    }

    /// Returns the marks for the script.
    pub(super) fn marks(&self) -> Vec<Value> {
        let mark = |event: &Event| {
            let lines = event.lines();
            let more = lines.len().saturating_sub(MAX_NAMED);
            let mut shown: Vec<String> = lines.into_iter().take(MAX_NAMED).collect();
            shown.extend((more > 0).then(|| format!("and {more} more")));
            shown.extend(event.source().map(str::to_owned));
            json!({ "at": event.at() as f64 / 1e6, "kind": event.kind(), "title": event.title(), "lines": shown })
        };
        self.events.iter().rev().map(mark).collect()
    }
}

/// Renders the list below the charts.
pub(super) fn section(events: &Events, range: &Range) -> Markup {
    let shown = events.events.len().min(MAX_ON_OTHER_PAGES);
    html! {
        section aria-labelledby="changes" {
            h2 #changes { "Changes and alerts" }
            (list(&events.events[..shown]))
            @if events.events.len() > shown {
                p { a href=(link("/changes", &range.parameters())) { "All changes and alerts" } }
            }
        }
    }
}

pub(super) fn page(request: &PageRequest<'_>) -> Result<Answer, Failure> {
    let range = &request.selection.range;
    let events = Events::read(&request.reader, range)?;
    let content = html! {
        h1 { "Changes and alerts" }
        (list(&events.events))
        @if events.more {
            p.quiet { "The newest " (MAX_SHOWN) " of each kind are shown; choose an earlier end for older ones." }
        }
    };
    let frame =
        Frame { title: "Changes", nav: NavItem::Changes, path: "/changes", range: Some(range), extra: &[] };
    Ok(Answer::page(200, frame.render(&content)))
}

fn list(events: &[Event]) -> Markup {
    html! {
        @if events.is_empty() {
            p.quiet { "No changes or alerts in this time." }
        } @else {
            ol.events {
                @for event in events {
                    li.(event.kind()) id=[id(event)] {
                        (timestamp(event.at()))
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
                @for ConfigChange { key, old, new } in &configured.changes {
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

/// Returns the element id, for events that other pages link to.
fn id(event: &Event) -> Option<String> {
    match event {
        Event::Configured(configured) => Some(id_of(configured)),
        _ => None,
    }
}

/// Each file numbers its own versions, so the id contains the time as well.
fn id_of(configured: &ConfigApplied) -> String {
    format!("v{}-{}", configured.version, configured.at)
}

/// Returns a link to a configuration on the page of changes.
pub(super) fn link_to(configured: &ConfigApplied) -> String {
    let range = Range::around(configured.at);
    link("/changes", &range.parameters()) + "#" + &id_of(configured)
}

fn describe(change: &ConfigChange) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "unset".to_owned());
    format!("{}: {} → {}", change.key, value(&change.old), value(&change.new))
}
