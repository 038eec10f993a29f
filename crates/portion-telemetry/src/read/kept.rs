//! Since when there is what: single requests, and what they add up to.

use std::ops::RangeInclusive;

use super::{Filter, ReadError, Reader};
use crate::rollup::Grain;

/// Since when there is what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The oldest and the newest request that are kept, in microseconds since 1970.
    requests: Option<(i64, i64)>,
    /// The first hour that is added up.
    hours: Option<i64>,
    /// Minutes of single endpoints are kept from that moment on.
    minutes: i64,
}

impl Reader {
    /// Since when there is what.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn kept(&self) -> Result<Kept, ReadError> {
        let sql = "SELECT (SELECT min(at) FROM requests), (SELECT max(at) FROM requests),
                   (SELECT min(at) FROM rollups WHERE grain = ?), (SELECT minutes FROM rolled)";
        Ok(self.connection.query_row(sql, [Grain::HourOfAll.code()], |row| {
            let ends: (Option<i64>, Option<i64>) = (row.get(0)?, row.get(1)?);
            Ok(Kept { requests: ends.0.zip(ends.1), hours: row.get(2)?, minutes: row.get(3)? })
        })?)
    }
}

impl Kept {
    /// From when to when anything is known, in microseconds since 1970.
    pub fn span(&self) -> Option<RangeInclusive<u64>> {
        let (first, last) = self.requests?;
        Some(first.min(self.hours.unwrap_or(first)).unsigned_abs()..=last.unsigned_abs())
    }

    /// Since when there are single requests, where there were some before that are only added up: by the hour.
    pub fn single_since(&self) -> Option<u64> {
        let (first, _) = self.requests?;
        self.hours.filter(|hour| *hour < Grain::Hour.floor(first)).map(|_| first.unsigned_abs())
    }

    /// The time that an answer from sums is of: where it reaches back to when nothing finer is kept, it begins and ends with
    /// an hour, or a minute.
    pub fn rounded(&self, filter: &Filter) -> Filter {
        let Filter { since, until, .. } = *filter;
        let Some(single) = self.single_since().filter(|single| since.is_none_or(|since| since < *single))
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

    fn kept(first: u64, hours: Option<u64>, minutes: u64) -> Kept {
        let [first, minutes] = [first, minutes].map(u64::cast_signed);
        Kept { requests: Some((first, first)), hours: hours.map(u64::cast_signed), minutes }
    }

    #[test]
    fn single_requests_are_missing_where_hours_reach_further_back() {
        assert_eq!(Kept::default().single_since(), None);
        assert_eq!(kept(9 * HOUR + 1, None, 0).single_since(), None);
        assert_eq!(kept(9 * HOUR + 1, Some(9 * HOUR), 0).single_since(), None, "all may be of that hour");
        assert_eq!(kept(9 * HOUR + 1, Some(8 * HOUR), 0).single_since(), Some(9 * HOUR + 1));
        assert_eq!(kept(9 * HOUR + 1, Some(8 * HOUR), 0).span(), Some(8 * HOUR..=9 * HOUR + 1));
        assert_eq!(kept(9 * HOUR + 1, None, 0).span(), Some(9 * HOUR + 1..=9 * HOUR + 1));
    }

    #[test]
    fn times_are_rounded_outwards_where_nothing_finer_is_kept() {
        let kept = kept(9 * HOUR + 20 * MINUTE, Some(HOUR), 7 * HOUR);
        let check = |since: Option<u64>, until: Option<u64>, expect: (Option<u64>, Option<u64>)| {
            let of = |since, until| Filter { since, until, ..Filter::default() };
            let rounded = kept.rounded(&of(since, until));
            assert_eq!((rounded.since, rounded.until), expect, "{since:?} to {until:?}");
            assert_eq!(kept.rounded(&rounded), rounded, "once is enough");
        };
        let half = |hour| Some(hour * HOUR + 30 * MINUTE + 1);
        check(None, None, (None, None));
        check(half(2), half(4), (Some(2 * HOUR), Some(5 * HOUR)));
        check(Some(2 * HOUR), Some(5 * HOUR), (Some(2 * HOUR), Some(5 * HOUR)));
        check(None, half(4), (None, Some(5 * HOUR)));
        check(half(2), None, (Some(2 * HOUR), None));
        // Where minutes are kept.
        check(half(7), half(8), (Some(7 * HOUR + 30 * MINUTE), Some(8 * HOUR + 31 * MINUTE)));
        // Some of the hour is gone.
        check(Some(9 * HOUR + 1), half(9), (Some(9 * HOUR), Some(9 * HOUR + 31 * MINUTE)));
        check(half(2), half(10), (Some(2 * HOUR), half(10)));
        // All of it is there.
        check(half(9), Some(9 * HOUR + 40 * MINUTE), (half(9), Some(9 * HOUR + 40 * MINUTE)));
    }
}
