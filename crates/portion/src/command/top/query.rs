//! Reads the figures of a time range.

use std::time::Duration;

use portion_core::event::AlertChanged;
use portion_telemetry::read::{Endpoint, Filter, ReadError, Reader, Record, Series, Traffic, TrafficStats};

/// Largest number of shown requests of an endpoint.
const MAX_REQUESTS: usize = 200;
/// Largest number of points of the token chart.
const MAX_POINTS: usize = 120;

/// Figures of a time range.
#[derive(Clone, Debug, Default)]
pub(super) struct TopData {
    /// Time of the query, in microseconds since 1970.
    pub(super) queried_at: u64,
    pub(super) traffic: Vec<Traffic>,
    /// Sum over all endpoints.
    pub(super) total: TrafficStats,
    pub(super) token_series: Series,
    /// Raised alert.
    pub(super) alert: Option<AlertChanged>,
    /// Last requests of the selected endpoint.
    pub(super) requests: Vec<Record>,
    /// Reason that the file cannot be read.
    pub(super) error: Option<String>,
}

/// Reads the time range that ends now.
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
