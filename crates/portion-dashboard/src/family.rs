//! A request, and those that go back to the same payload.

use portion_telemetry::read::{Filter, ReadError, Reader, Record};

/// Requests that go back to one payload, at most: the newest.
pub(crate) const MOST: usize = 1_000;

/// The request of that number, if it is recorded, and all that go back to the same payload, it among them, the newest first.
pub(crate) fn found(reader: &Reader, number: u128) -> Result<Option<(Record, Vec<Record>)>, ReadError> {
    let found = reader.requests(&Filter { request: Some(number), ..Filter::default() })?;
    let Some(record) = found.into_iter().next() else { return Ok(None) };
    let family = match record.origin {
        Some(_) => {
            reader.requests(&Filter { origin: record.origin, limit: Some(MOST), ..Filter::default() })?
        }
        None => Vec::new(),
    };
    Ok(Some((record, family)))
}
