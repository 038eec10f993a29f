//! Values of `--timeout`.

use std::time::Duration;

/// Parses a time limit in seconds. Nothing can answer within 0 s.
pub(crate) fn parse_seconds(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds @ 1..) => Ok(Duration::from_secs(seconds)),
        _ => Err("write a whole number of seconds from 1".to_owned()),
    }
}
