//! Time ranges for which records and roll-ups are kept.

use std::ops::RangeInclusive;

use super::{Filter, ReadError, Reader};
use crate::rollup::Grain;

/// Time ranges for which records and roll-ups are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Times of the oldest and newest request, in microseconds since 1970.
    requests: Option<(i64, i64)>,
    /// First hour with a roll-up.
    hours: Option<i64>,
    /// Start of the minute roll-ups of single endpoints.
    minutes: i64,
}

impl Reader {
    /// Reads the time ranges that are kept.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn retention(&self) -> Result<Retention, ReadError> {
        let sql = "SELECT (SELECT min(at) FROM requests), (SELECT max(at) FROM requests),
                   (SELECT min(at) FROM rollups WHERE grain = ?), (SELECT minutes FROM rolled)";
        Ok(self.connection.query_row(sql, [Grain::HourOfAll.code()], |row| {
            let ends: (Option<i64>, Option<i64>) = (row.get(0)?, row.get(1)?);
            Ok(Retention { requests: ends.0.zip(ends.1), hours: row.get(2)?, minutes: row.get(3)? })
        })?)
    }
}

impl Retention {
    /// Returns the range of all data, in microseconds since 1970. `None` if nothing is recorded.
    pub fn span(&self) -> Option<RangeInclusive<u64>> {
        let (first, last) = self.requests?;
        Some(first.min(self.hours.unwrap_or(first)).unsigned_abs()..=last.unsigned_abs())
    }

    /// Returns the start of single records, if older ones are kept only as hourly roll-ups. Microseconds since 1970.
    pub fn records_since(&self) -> Option<u64> {
        let (first, _) = self.requests?;
        self.hours.filter(|hour| *hour < Grain::Hour.floor(first)).map(|_| first.unsigned_abs())
    }

    /// Widens a filter to the time range that roll-ups can answer. Where only roll-ups are kept, it begins and ends
    /// with a full hour or minute.
    pub fn rounded(&self, filter: &Filter) -> Filter {
        let Filter { since, until, .. } = *filter;
        let Some(single) = self.records_since().filter(|single| since.is_none_or(|since| since < *single))
        else {
            return filter.clone();
        };
        let grain = |at: i64| if at < self.minutes { Grain::Hour } else { Grain::Minute };
        let stored = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
        let whole = Grain::Hour.ceiling(stored(single));
        let floor = |at| grain(stored(at)).floor(stored(at)).unsigned_abs();
        let ceiling = |at| match stored(at) {
            early if early < whole => grain(early).ceiling(early).unsigned_abs(),
            _ => at,
        };
        Filter { since: since.map(floor), until: until.map(ceiling), ..filter.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000_000;
    const HOUR: u64 = 60 * MINUTE;

    fn retention(first: u64, hours: Option<u64>, minutes: u64) -> Retention {
        let [first, minutes] = [first, minutes].map(u64::cast_signed);
        Retention { requests: Some((first, first)), hours: hours.map(u64::cast_signed), minutes }
    }

    #[test]
    fn single_requests_are_missing_where_hours_reach_further_back() {
        assert_eq!(Retention::default().records_since(), None);
        assert_eq!(retention(9 * HOUR + 1, None, 0).records_since(), None);
        assert_eq!(
            retention(9 * HOUR + 1, Some(9 * HOUR), 0).records_since(),
            None,
            "all may be of that hour"
        );
        assert_eq!(retention(9 * HOUR + 1, Some(8 * HOUR), 0).records_since(), Some(9 * HOUR + 1));
        assert_eq!(retention(9 * HOUR + 1, Some(8 * HOUR), 0).span(), Some(8 * HOUR..=9 * HOUR + 1));
        assert_eq!(retention(9 * HOUR + 1, None, 0).span(), Some(9 * HOUR + 1..=9 * HOUR + 1));
    }

    #[test]
    fn times_are_rounded_outwards_where_nothing_finer_is_kept() {
        let retention = retention(9 * HOUR + 20 * MINUTE, Some(HOUR), 7 * HOUR);
        let check = |since: Option<u64>, until: Option<u64>, expect: (Option<u64>, Option<u64>)| {
            let of = |since, until| Filter { since, until, ..Filter::default() };
            let rounded = retention.rounded(&of(since, until));
            assert_eq!((rounded.since, rounded.until), expect, "{since:?} to {until:?}");
            assert_eq!(retention.rounded(&rounded), rounded, "once is enough");
        };
        let half = |hour| Some(hour * HOUR + 30 * MINUTE + 1);
        check(None, None, (None, None));
        check(half(2), half(4), (Some(2 * HOUR), Some(5 * HOUR)));
        check(Some(2 * HOUR), Some(5 * HOUR), (Some(2 * HOUR), Some(5 * HOUR)));
        check(None, half(4), (None, Some(5 * HOUR)));
        check(half(2), None, (Some(2 * HOUR), None));
        // Range with minute roll-ups.
        check(half(7), half(8), (Some(7 * HOUR + 30 * MINUTE), Some(8 * HOUR + 31 * MINUTE)));
        // Some records of the hour are deleted.
        check(Some(9 * HOUR + 1), half(9), (Some(9 * HOUR), Some(9 * HOUR + 31 * MINUTE)));
        check(half(2), half(10), (Some(2 * HOUR), half(10)));
        // All records of the hour are there.
        check(half(9), Some(9 * HOUR + 40 * MINUTE), (half(9), Some(9 * HOUR + 40 * MINUTE)));
    }
}
