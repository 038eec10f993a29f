//! Parses URL queries and builds links.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use portion_telemetry::read::{Filter, Series};
use portion_telemetry::timestamp::{parse_timestamp, rfc3339};
use thiserror::Error;

/// Characters that need no escape (RFC 3986, unreserved).
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Default start of the range.
pub(crate) const DEFAULT_SINCE: &str = "24h";
/// Half the length of a range around a point in time.
const AROUND_REACH: Duration = Duration::from_hours(12);
/// Maximum number of slots on the time axis.
const MAX_SLOTS: usize = 120;

/// Parameters as pairs of name and value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query(Vec<(String, String)>);

/// An invalid parameter.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("invalid `{name}`: {why}")]
pub(crate) struct InvalidParameter {
    /// Name of the parameter.
    pub(crate) name: String,
    /// Expected values.
    pub(crate) why: String,
}

impl InvalidParameter {
    pub(crate) fn new(name: &str, why: impl Into<String>) -> Self {
        Self { name: name.to_owned(), why: why.into() }
    }
}

impl Query {
    /// Parses a query string. Invalid UTF-8 becomes U+FFFD.
    pub(crate) fn read(raw: Option<&str>) -> Self {
        let pairs = raw.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        let part = |text: &str| decoded(&text.replace('+', " "));
        Self(
            pairs
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
                .map(|(name, value)| (part(name), part(value)))
                .collect(),
        )
    }

    /// Returns the value of a parameter. An empty value, as forms send it, counts as none.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(at, _)| at == name);
        found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }

    /// Returns all parameters; empty values are `None`.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.0.iter().map(|(name, _)| (name.as_str(), self.get(name)))
    }

    /// Returns an error if there is a parameter that is not in `known`.
    pub(crate) fn check(&self, known: &[&str]) -> Result<(), InvalidParameter> {
        match self.0.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, _)) if known.is_empty() => {
                Err(InvalidParameter::new(name, "this path takes no parameters"))
            }
            Some((name, _)) => {
                Err(InvalidParameter::new(name, format!("expected one of {}", known.join(", "))))
            }
            None => Ok(()),
        }
    }
}

/// Returns a path with a query. Parameters without a value are left out.
pub(crate) fn link(path: &str, parameters: &[(&str, Option<&str>)]) -> String {
    let mut link = path.to_owned();
    let mut mark = '?';
    for (name, value) in parameters {
        if let Some(value) = value {
            let _ = write!(link, "{mark}{name}={}", encoded(value));
            mark = '&';
        }
    }
    link
}

/// Escapes text for a path segment or a query.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

/// Decodes a path segment or a query part.
pub(crate) fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Parses a number of exactly `digits` hexadecimal digits.
pub(crate) fn hex_number(text: &str, digits: usize) -> Option<u128> {
    let plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    u128::from_str_radix(text, 16).ok().filter(|_| plain)
}

/// Time range of a page, in microseconds since 1970; the end is exclusive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) since: u64,
    pub(crate) until: u64,
    /// Start and end as entered, kept by links.
    pub(crate) from: String,
    pub(crate) to: Option<String>,
}

impl Range {
    /// Ranges offered in the navigation.
    pub(crate) const PRESETS: [&str; 6] = ["15m", "1h", "6h", "24h", "7d", "30d"];

    pub(crate) fn read(query: &Query, now: SystemTime) -> Result<Self, InvalidParameter> {
        let read =
            |name, text: &str| parse_timestamp(text, now).map_err(|why| InvalidParameter::new(name, why));
        let from = expand_time_of_day(query.get("since").unwrap_or(DEFAULT_SINCE), now);
        let to = query.get("until").map(|to| expand_time_of_day(to, now));
        let since = read("since", &from)?;
        let until = match &to {
            Some(to) => read("until", to)?,
            // Includes requests of this very microsecond.
            None => micros(now).saturating_add(1),
        };
        if since >= until {
            return Err(InvalidParameter::new(
                "since",
                "expected a time before `until` and not in the future",
            ));
        }
        Ok(Self { since, until, from, to })
    }

    /// Returns the range of 12 hours before and after a point in time.
    pub(crate) fn around(at: u64) -> Self {
        let reach = AROUND_REACH.as_micros() as u64;
        let (since, until) = (at.saturating_sub(reach), at.saturating_add(reach));
        Self { since, until, from: rfc3339(since), to: Some(rfc3339(until)) }
    }

    /// Returns true if the range has no fixed end.
    pub(crate) fn is_open(&self) -> bool {
        self.to.is_none()
    }

    /// Returns the URL parameters of the range.
    pub(crate) fn parameters(&self) -> [(&'static str, Option<&str>); 2] {
        [("since", Some(&self.from)), ("until", self.to.as_deref())]
    }

    pub(crate) fn filter(&self) -> Filter {
        Filter { since: Some(self.since), until: Some(self.until), ..Filter::default() }
    }

    /// Returns the slot length of the time axis.
    pub(crate) fn step(&self) -> Duration {
        Series::step(self.since, self.until, MAX_SLOTS)
    }
}

/// Expands a time of day to today's date in UTC, so a link with it means the same tomorrow.
fn expand_time_of_day(text: &str, now: SystemTime) -> String {
    let today = format!("{}T{text}", &rfc3339(micros(now))[..10]);
    if parse_timestamp(&today, now).is_ok() { today } else { text.to_owned() }
}

pub(crate) fn micros(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read_as_they_were_written() {
        let name = "docs/list & find?=50 %+é";
        let link = link("/requests", &[("endpoint", Some(name)), ("outcome", None), ("limit", Some("5"))]);
        assert_eq!(link, "/requests?endpoint=docs%2Flist%20%26%20find%3F%3D50%20%25%2B%C3%A9&limit=5");
        let query = Query::read(link.split_once('?').map(|(_, query)| query));
        assert_eq!((query.get("endpoint"), query.get("limit")), (Some(name), Some("5")));
        assert_eq!(query.get("outcome"), None);
    }

    #[test]
    fn forms_send_blanks_and_nothing() {
        let query = Query::read(Some("since=2026-11-22+10:00&until=&&x"));
        assert_eq!((query.get("since"), query.get("until")), (Some("2026-11-22 10:00"), None));
        let wrong = query.check(&["since", "until"]).expect_err("there is no x");
        assert_eq!(wrong.to_string(), "invalid `x`: expected one of since, until");
    }

    #[test]
    fn numbers_have_all_their_digits() {
        assert_eq!(hex_number("00ff", 4), Some(255));
        for none in ["ff", "+0ff", "00fg", "00ffff"] {
            assert_eq!(hex_number(none, 4), None);
        }
    }

    const HOUR: u64 = 3_600_000_000;

    #[test]
    fn ranges_are_read_and_kept_as_written() {
        let now = UNIX_EPOCH + Duration::from_hours(1_000);
        let check = |query: &str, expect: Result<(u64, u64), &str>| {
            let range = Range::read(&Query::read(Some(query)), now);
            let hours = |range: Range| (range.since / HOUR, range.until / HOUR);
            assert_eq!(
                range.map(hours).map_err(|wrong| wrong.name),
                expect.map_err(str::to_owned),
                "{query}"
            );
        };
        check("", Ok((976, 1_000)));
        check("since=6h", Ok((994, 1_000)));
        check("since=6h&until=2h", Ok((994, 998)));
        check("since=1970-02-01T00:00", Ok((744, 1_000)));
        check("since=1970-02-11T10:00&until=11:30:00", Ok((994, 995)));
        check("since=12:00&until=14:00", Ok((996, 998)));
        check("since=12:60", Err("since"));
        check("since=1200", Err("since"));
        check("since=é2:00", Err("since"));
        check("since=2h&until=6h", Err("since"));
        check("since=soon", Err("since"));
        check("until=later", Err("until"));
        check("since=2999-01-01", Err("since"));
        let parameters = |query: &str, since: &str, until: &str| {
            let range = Range::read(&Query::read(Some(query)), now).expect("it is one");
            assert_eq!(range.parameters(), [("since", Some(since)), ("until", Some(until))]);
        };
        parameters("since=6h&until=2h", "6h", "2h");
        parameters("since=12:00&until=14:00", "1970-02-11T12:00", "1970-02-11T14:00");
    }
}
