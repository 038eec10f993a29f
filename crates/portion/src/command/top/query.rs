//! What the file says of a time.

use std::time::Duration;

use portion_core::event::AlertChanged;
use portion_telemetry::read::{Endpoint, Filter, ReadError, Reader, Record, Series, Traffic, TrafficStats};

/// Requests of an endpoint that are shown.
const MAX_REQUESTS: usize = 200;
/// Points of the line of tokens at most.
const MAX_POINTS: usize = 120;

/// What the file says of a time.
#[derive(Clone, Debug, Default)]
pub(super) struct TopData {
    /// When it was asked, in microseconds since 1970.
    pub(super) queried_at: u64,
    pub(super) traffic: Vec<Traffic>,
    /// All of them together.
    pub(super) total: TrafficStats,
    pub(super) token_series: Series,
    /// The alert that stands.
    pub(super) alert: Option<AlertChanged>,
    /// The last requests of the endpoint that is looked at.
    pub(super) requests: Vec<Record>,
    /// Why nothing can be read.
    pub(super) error: Option<String>,
}

/// Asks the file for the time up to now.
pub(super) fn query_data(
    reader: &Reader,
    range: Duration,
    detail: Option<&Endpoint>,
    now: u64,
) -> Result<TopData, ReadError> {
    let filter = Filter { since: Some(now.saturating_sub(range.as_micros() as u64)), ..Filter::default() };
    let traffic = reader.endpoints(&filter)?;
    let step = Series::step(filter.since.unwrap_or_default(), now, MAX_POINTS);
    let requests = match detail {
        None => Vec::new(),
        Some(endpoint) => {
            let of = Some(endpoint.clone());
            reader.requests(&Filter { of, limit: Some(MAX_REQUESTS), ..Filter::default() })?
        }
    };
    Ok(TopData {
        queried_at: now,
        total: reader.total(&filter)?,
        traffic,
        token_series: reader.series(&filter, step)?,
        alert: reader.active_alerts(now)?.into_iter().next(),
        requests,
        error: None,
    })
}
