//! What the file says of a time.

use std::time::Duration;

use portion_core::event::Alerted;
use portion_telemetry::read::{Endpoint, Filter, ReadError, Reader, Record, Series, Traffic, TrafficStats};

/// Requests of an endpoint that are shown.
const REQUESTS: usize = 200;
/// Points of the line of tokens at most.
const POINTS: usize = 120;

/// What the file says of a time.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// When it was asked, in microseconds since 1970.
    pub(super) now: u64,
    pub(super) traffic: Vec<Traffic>,
    /// All of them together.
    pub(super) all: TrafficStats,
    pub(super) line: Series,
    /// The alert that stands.
    pub(super) alert: Option<Alerted>,
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
    let filter = Filter { since: Some(now.saturating_sub(range.as_micros() as u64)), ..Filter::default() };
    let traffic = reader.endpoints(&filter)?;
    let step = Series::step(filter.since.unwrap_or_default(), now, POINTS);
    let requests = match detail {
        None => Vec::new(),
        Some(endpoint) => {
            let of = Some(endpoint.clone());
            reader.requests(&Filter { of, limit: Some(REQUESTS), ..Filter::default() })?
        }
    };
    Ok(Found {
        now,
        all: reader.total(&filter)?,
        traffic,
        line: reader.series(&filter, step)?,
        alert: reader.active_alerts(now)?.into_iter().next(),
        requests,
        trouble: None,
    })
}
