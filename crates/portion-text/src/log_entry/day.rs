//! Reads the day in the time of a log entry, as it is written there.

use std::borrow::Cow;

use crate::timestamp::Timestamp;

const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/// Returns the day of a time: the words before the time of day, without the day of the week, and the year behind it.
///
/// ```
/// use portion_text::log_entry::day_of;
///
/// assert_eq!(day_of("Jun 14 15:16:01").as_deref(), Some("Jun 14"));
/// assert_eq!(day_of("2024-05-01T10:00:00Z").as_deref(), Some("2024-05-01"));
/// assert_eq!(day_of("15:16:01"), None);
/// ```
pub fn day_of(time: &str) -> Option<Cow<'_, str>> {
    let time = time.trim();
    if time.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return day_of_number(time);
    }
    let clock = clock_start(time)?;
    let date = time.get(..clock)?.trim_end_matches([' ', 'T', 't', ':', ',', '-', '_']);
    let date = WEEKDAYS
        .iter()
        .find_map(|day| date.strip_prefix(day).map(|rest| rest.trim_start_matches([' ', ','])))
        .unwrap_or(date);
    if !date.bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
    let year = time.rsplit(' ').next().filter(|year| is_year(year) && !date.contains(*year));
    Some(year.map_or(Cow::Borrowed(date), |year| Cow::Owned(format!("{date} {year}"))))
}

/// Returns the offset of the time of day: two digits and a colon, or six digits behind a date of digits.
fn clock_start(time: &str) -> Option<usize> {
    let bytes = time.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_start = |at: &usize| {
        let begins = *at == 0 || !is_digit(*at - 1);
        let length = (*at..bytes.len()).take_while(|at| is_digit(*at)).count();
        let is_last = *at > 0 && *at + length == bytes.len();
        begins
            && (matches!(length, 1 | 2) && bytes.get(*at + length) == Some(&b':') || length == 6 && is_last)
    };
    let from = time.find('/').map_or(0, |_| time.find(':').map_or(0, |colon| colon + 1));
    // In `22/Jan/2019:03:56:00` the first colon ends the date.
    let first = (0..bytes.len()).find(is_start)?;
    let behind_year = first > 0 && bytes.get(first - 1) == Some(&b'/');
    if behind_year { (from..bytes.len()).find(is_start) } else { Some(first) }
}

/// Returns the day of seconds, milliseconds or microseconds since 1970.
fn day_of_number(time: &str) -> Option<Cow<'_, str>> {
    // Less is a time since the start of the machine.
    let seconds = time.parse::<f64>().ok().filter(|seconds| *seconds >= 6e8)?;
    Timestamp::from_epoch(seconds).filter(|time| time.is_in_range()).map(|time| Cow::Owned(time.write_date()))
}

fn is_year(word: &str) -> bool {
    word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::day_of;

    #[test]
    fn days_are_read_as_written() {
        for (time, day) in [
            ("2024-05-01 10:00:00,123", Some("2024-05-01")),
            ("2024-05-01T10:00:00.5+02:00", Some("2024-05-01")),
            ("2024/05/01 10:00:00", Some("2024/05/01")),
            ("01.05.2024 10:00", Some("01.05.2024")),
            ("22/Jan/2019:03:56:00 +0330", Some("22/Jan/2019")),
            ("Sun Dec 04 04:47:44 2005", Some("Dec 04 2005")),
            ("Jun 14 15:16:01", Some("Jun 14")),
            ("Jun  9 06:06:20", Some("Jun  9")),
            ("03-17 16:13:30.811", Some("03-17")),
            ("081109 203615", Some("081109")),
            ("Wed, 01 May 2024 10:20:30 GMT", Some("01 May 2024")),
            ("1714558830", Some("2024-05-01")),
            ("1714558830123", Some("2024-05-01")),
            ("10:00:00", None),
            ("12.345678", None),
            ("", None),
            ("é", None),
        ] {
            assert_eq!(day_of(time).as_deref(), day, "{time}");
        }
    }
}
