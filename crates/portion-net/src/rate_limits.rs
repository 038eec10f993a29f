//! Reads how long an API asks its clients to wait: `Retry-After`, and rate limits that are used up.
//!
//! ```
//! use std::time::{Duration, SystemTime};
//!
//! use http::HeaderMap;
//! use portion_net::rate_limits::retry_after;
//!
//! let mut headers = HeaderMap::new();
//! headers.insert("retry-after", "7".parse()?);
//! assert_eq!(retry_after(&headers, SystemTime::now()), Some(Duration::from_secs(7)));
//! # Ok::<(), http::header::InvalidHeaderValue>(())
//! ```

use std::time::{Duration, SystemTime};

use http::header::{HeaderMap, RETRY_AFTER};

/// Longest delay that is taken from a response.
pub const MAX_RETRY_AFTER: Duration = Duration::from_hours(24);
/// Numbers above this are points in time, not seconds from now.
const MIN_EPOCH_SECONDS: u64 = 1_000_000_000;
/// Numbers above this are points in time in milliseconds.
const MIN_EPOCH_MILLIS: u64 = 1_000_000_000_000;

/// Header fields that report how many requests remain, and when the count starts anew.
const LIMIT_FIELDS: [(&str, &str); 3] = [
    ("ratelimit-remaining", "ratelimit-reset"),
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
    ("x-rate-limit-remaining", "x-rate-limit-reset"),
];

/// Returns the delay that `Retry-After` asks for: seconds or a date.
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        // Longer delays end any request; the limit keeps times in range.
        return Duration::try_from_secs_f64(seconds.clamp(0.0, MAX_RETRY_AFTER.as_secs_f64())).ok();
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default().min(MAX_RETRY_AFTER))
}

/// Returns the time until the quota of an API starts anew, if it is used up.
pub fn quota_delay(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    for (remaining, reset) in LIMIT_FIELDS {
        if let (Some(0.0), Some(reset)) = (number(remaining), number(reset)) {
            return until_reset(reset, now);
        }
    }
    let combined = headers.get("ratelimit")?.to_str().ok()?;
    let member = |names: [&str; 2]| {
        combined.split([',', ';']).find_map(|part| {
            let (name, value) = part.trim().split_once('=')?;
            names.contains(&name.trim()).then(|| value.trim().parse::<f64>().ok())?
        })
    };
    if member(["r", "remaining"])? > 0.0 { None } else { until_reset(member(["t", "reset"])?, now) }
}

fn until_reset(reset: f64, now: SystemTime) -> Option<Duration> {
    let whole = reset.max(0.0) as u64;
    let at = match whole {
        MIN_EPOCH_MILLIS.. => SystemTime::UNIX_EPOCH + Duration::from_millis(whole),
        MIN_EPOCH_SECONDS.. => SystemTime::UNIX_EPOCH + Duration::from_secs(whole),
        _ => return Duration::try_from_secs_f64(reset.max(0.0)).ok(),
    };
    Some(at.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use http::header::{HeaderMap, HeaderName, HeaderValue};

    use super::{quota_delay, retry_after};

    fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        fields
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn delays_are_read_from_headers() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let check = |value: &'static str, expect: Option<u64>| {
            let delay = retry_after(&headers(&[("retry-after", value)]), now);
            assert_eq!(delay.map(|delay| delay.as_secs()), expect, "{value}");
        };
        check("7", Some(7));
        check("-1", Some(0));
        check("Tue, 14 Nov 2023 22:13:30 GMT", Some(10));
        check("Tue, 14 Nov 2000 22:13:30 GMT", Some(0));
        check("soon", None);
        check("10000000000000000000", Some(86_400));
        check("nan", None);
    }

    #[test]
    fn used_up_quotas_are_read() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let check = |fields: &[(&'static str, &'static str)], expect: Option<u64>| {
            assert_eq!(quota_delay(&headers(fields), now).map(|delay| delay.as_secs()), expect, "{fields:?}");
        };
        check(&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1700000005")], Some(5));
        check(&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1700000005000")], Some(5));
        check(&[("ratelimit-remaining", "0"), ("ratelimit-reset", "3")], Some(3));
        check(&[("ratelimit-remaining", "1"), ("ratelimit-reset", "3")], None);
        check(&[("ratelimit", "\"default\";r=0;t=4")], Some(4));
        check(&[("ratelimit", "limit=10, remaining=0, reset=6")], Some(6));
        check(&[("ratelimit", "limit=10, remaining=2, reset=6")], None);
        check(&[("ratelimit-remaining", "0")], None);
    }
}
