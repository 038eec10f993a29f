//! Finds a request and the requests that read from the same payload.

use portion_telemetry::read::{Filter, ReadError, Reader, Record};

/// Maximum number of related requests, the newest first.
pub(crate) const MAX_RELATED: usize = 1_000;

/// Returns the request of that number, if it is recorded, and all requests on the same payload, the newest first. The
/// list includes the request itself.
pub(crate) fn find(reader: &Reader, number: u128) -> Result<Option<(Record, Vec<Record>)>, ReadError> {
    let found = reader.requests(&Filter { request: Some(number), ..Filter::default() })?;
    let Some(record) = found.into_iter().next() else { return Ok(None) };
    let related = match record.origin {
        Some(_) => reader.requests(&Filter {
            origin: record.origin,
            limit: Some(MAX_RELATED),
            ..Filter::default()
        })?,
        None => Vec::new(),
    };
    Ok(Some((record, related)))
}
