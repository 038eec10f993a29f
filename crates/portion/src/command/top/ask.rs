//! What the file says of a time.

use std::time::Duration;

use portion_telemetry::read::{Alert, Endpoint, Figures, Filter, ReadError, Reader, Record, Series, Traffic};

/// Requests of an endpoint that are shown.
const REQUESTS: usize = 200;
/// How far back alerts are looked for: what was raised before is over, or is raised again.
const ALERTS: Duration = Duration::from_hours(24);
/// How far back the line of tokens goes at least, and how many points it has.
const LINE: Duration = Duration::from_hours(1);
const POINTS: usize = 120;

/// What the file says of a time.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// When it was asked, in microseconds since 1970.
    pub(super) now: u64,
    pub(super) traffic: Vec<Traffic>,
    /// All of them together, as far as counts go.
    pub(super) all: Figures,
    pub(super) line: Series,
    /// The alert that stands.
    pub(super) alert: Option<Alert>,
    /// The last requests of the endpoint that is looked at.
    pub(super) requests: Vec<Record>,
    /// Why nothing can be read.
    pub(super) trouble: Option<String>,
}

/// Asks the file for the time up to now.
pub(super) fn ask(
    reader: &Reader,
    range: Duration,
    detail: Option<&Endpoint>,
    now: u64,
) -> Result<Found, ReadError> {
    let back = |range: Duration| Some(now.saturating_sub(range.as_micros() as u64));
    let of = |range| Filter { since: back(range), ..Filter::default() };
    let traffic = reader.endpoints(&of(range))?;
    let long = range.max(LINE);
    let step = Series::step(back(long).unwrap_or_default(), now, POINTS);
    let requests = match detail {
        None => Vec::new(),
        Some(endpoint) => {
            let filter = Filter {
                endpoint: Some(exactly(&endpoint.name)),
                limit: Some(REQUESTS),
                ..Filter::default()
            };
            let mut found = reader.requests(&filter)?;
            found.retain(|record| record.endpoint == *endpoint);
            found
        }
    };
    Ok(Found {
        now,
        all: together(&traffic),
        traffic,
        line: reader.series(&of(long), step)?,
        alert: standing(reader.alerts(&of(ALERTS))?),
        requests,
        trouble: None,
    })
}

/// The newest alert that was raised and is not over, of any process.
fn standing(alerts: Vec<Alert>) -> Option<Alert> {
    let mut seen: Vec<(u64, String)> = Vec::new();
    alerts.into_iter().find(|alert| {
        let whose = (alert.process, alert.alert.clone());
        let newest = !seen.contains(&whose);
        seen.push(whose);
        newest && alert.raised
    })
}

fn together(traffic: &[Traffic]) -> Figures {
    let mut all = Figures::default();
    for Traffic { figures, .. } in traffic {
        all.requests += figures.requests;
        all.follow_ups += figures.follow_ups;
        all.errors += figures.errors;
        all.sized += figures.sized;
        all.oversized += figures.oversized;
        all.original_tokens = all.original_tokens.saturating_add(figures.original_tokens);
        all.served_tokens = all.served_tokens.saturating_add(figures.served_tokens);
        all.accuracy.sampled += figures.accuracy.sampled;
        all.accuracy.near += figures.accuracy.near;
    }
    all
}

/// A pattern that the name alone is like.
fn exactly(name: &str) -> String {
    let mut pattern = String::with_capacity(name.len());
    for character in name.chars() {
        if matches!(character, '*' | '?' | '[') {
            pattern.extend(['[', character, ']']);
        } else {
            pattern.push(character);
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_stands_until_its_process_takes_it_back() {
        let alert = |at, process, raised| Alert {
            at,
            process,
            raised,
            alert: "oversized".to_owned(),
            share: 0.1,
            threshold: 0.05,
            requests: 100,
            counted: 10,
            window: Duration::from_mins(5),
        };
        let check = |alerts: Vec<Alert>, expect: Option<u64>| {
            assert_eq!(standing(alerts).map(|alert| alert.at), expect);
        };
        check(vec![], None);
        check(vec![alert(2, 1, false), alert(1, 1, true)], None);
        check(vec![alert(3, 1, true), alert(2, 1, false), alert(1, 1, true)], Some(3));
        check(vec![alert(3, 1, false), alert(2, 2, true), alert(1, 1, true)], Some(2));
    }

    #[test]
    fn names_mean_themselves() {
        assert_eq!(exactly("list_*[a]?"), "list_[*][[]a][?]");
    }
}
