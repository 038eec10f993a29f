//! Ranges of dates and times.

use portion_json::span::Span;
use portion_text::timestamp::Timestamp;

/// Range of the timestamps of a field.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum TimestampRange {
    /// No text yet.
    #[default]
    None,
    /// All texts are timestamps of the same precision: the earliest and the latest.
    Range([(Timestamp, Span); 2]),
    /// Some text is not such a timestamp.
    Mixed,
}

impl TimestampRange {
    /// Adds a text without its quotes.
    #[inline]
    pub(super) fn add(&mut self, text: &str, at: Span) {
        if matches!(self, Self::Mixed) {
            return;
        }
        *self = match (Timestamp::parse_iso(text), *self) {
            (Some(timestamp), Self::None) => Self::Range([(timestamp, at); 2]),
            (Some(timestamp), Self::Range([earliest, latest]))
                if precision(timestamp) == precision(latest.0) =>
            {
                Self::Range([
                    if order_key(timestamp) < order_key(earliest.0) { (timestamp, at) } else { earliest },
                    if order_key(timestamp) > order_key(latest.0) { (timestamp, at) } else { latest },
                ])
            }
            _ => Self::Mixed,
        };
    }
}

/// Returns the precision of a timestamp: without a time of day, and with a zone. Only timestamps of the same precision are
/// compared.
fn precision(timestamp: Timestamp) -> (bool, bool) {
    (timestamp.is_date, timestamp.is_zoned)
}

fn order_key(timestamp: Timestamp) -> (i64, u32) {
    (timestamp.seconds, timestamp.nanos)
}

/// Formats seconds since 1970 as `2024-05-01T10:00:00Z`.
pub(super) fn format_timestamp(seconds: i64) -> String {
    Timestamp { seconds, nanos: 0, is_date: false, separator: 'T', is_zoned: true }.write()
}

#[cfg(test)]
mod tests {
    use portion_text::timestamp::Timestamp;

    use super::format_timestamp;

    #[test]
    fn seconds_are_written_as_they_are_read() {
        for seconds in [0, -1, 951_782_400, 1_714_558_830, 4_102_444_799, -2_208_988_800] {
            let read = Timestamp::parse_iso(&format_timestamp(seconds));
            assert_eq!(read.map(|timestamp| timestamp.seconds), Some(seconds));
        }
    }
}
