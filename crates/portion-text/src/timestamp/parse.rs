//! Parses dates and times.

use super::{CivilDate, Timestamp};

/// Longest time, in bytes: nine decimals, an offset and the name of a zone.
const MAX_BYTES: usize = 80;

impl Timestamp {
    /// Parses ISO 8601, with a space or `T`; also `2024/5/1`, `2024年5月1日`, `01 May 2024`, `01-May-24`, `May 1, 2024`,
    /// `May 2024`, and the forms of programs: `Sun Dec 04 04:47:44 2005`, with an offset behind it in git, `Sun Dec 04 2005 04:47:44
    /// GMT+0000 (…)`, `22/Jan/2019:03:56:14 +0330`, `081109 203615`, `20081109203615`, `2008:11:09 20:36:15`, `May 1st, 2024`,
    /// `01-MAY-24 06.30.00.000 PM`, and milliseconds of .NET: `/Date(1735689600000+0100)/`.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_BYTES {
            return None;
        }
        if let Some(inside) = text.strip_prefix("/Date(") {
            return Self::parse_milliseconds(inside.strip_suffix(")/")?);
        }
        let found = iso_date(text)
            .or_else(|| year_last(text))
            .or_else(|| named_month(text))
            .or_else(|| month_in_slashes(text))
            .or_else(|| compact_date(text))
            .or_else(|| basic_date(text));
        // Fewer digits are numbers, where nothing says that they are a time.
        if text.len() == 14
            && let Some(time) = Self::parse_digits(text)
        {
            return Some(time);
        }
        let Some((date, rest)) = found else { return Self::parse_before_offset(text) };
        if !(1..=12).contains(&date.month) || !(1..=date.days_of_month()).contains(&date.day) {
            return None;
        }
        let timestamp = Self::from_days(date.days());
        let time = rest.trim_start_matches(',');
        if time.is_empty() {
            return Some(timestamp);
        }
        let separator = match time.chars().next()? {
            'T' | 't' => 'T',
            ' ' | ':' => ' ',
            _ => return None,
        };
        let (seconds, nanos, zone) = time_of_day(time[1..].trim_start())?;
        let local =
            Self { seconds: timestamp.seconds + seconds, nanos, is_date: false, separator, is_zoned: false };
        if zone.is_empty() { Some(local) } else { local.in_zone(zone) }
    }

    /// Parses milliseconds since 1970, which are in UTC whatever offset stands behind them.
    fn parse_milliseconds(text: &str) -> Option<Self> {
        let end = text.rfind(['+', '-']).filter(|at| *at > 0).unwrap_or(text.len());
        let milliseconds: i64 = text[..end].parse().ok()?;
        let nanos = u32::try_from(milliseconds.rem_euclid(1_000)).ok()? * 1_000_000;
        let seconds = milliseconds.div_euclid(1_000);
        Some(Self { seconds, nanos, is_date: false, is_zoned: true, ..Self::from_days(0) })
    }

    /// Parses `Sun Dec 04 04:47:44 2005 +0100`: the offset stands behind the year.
    fn parse_before_offset(text: &str) -> Option<Self> {
        let (local, offset) = text.rsplit_once(' ').filter(|(_, word)| word.starts_with(['+', '-']))?;
        Self::parse(local).filter(|local| !local.is_date && !local.is_zoned)?.in_zone(offset)
    }

    /// Parses digits of a time from 1900 to 2100: a year, which is its first day, `20240131` or `20240131235959`.
    pub fn parse_digits(text: &str) -> Option<Self> {
        let is_digits = text.bytes().all(|b| b.is_ascii_digit());
        let (year, _) =
            digits(text, 4).filter(|(year, _)| is_digits && YEARS_OF_SHORT_DATES.contains(year))?;
        let part = |at: usize| &text[at..at + 2];
        let date = || format!("{year}-{}-{}", part(4), part(6));
        match text.len() {
            4 => Self::parse(&format!("{year}-01-01")),
            8 => Self::parse(&date()),
            14 => Self::parse(&format!("{} {}:{}:{}", date(), part(8), part(10), part(12))),
            _ => None,
        }
    }

    /// Parses ISO 8601 with year, month and day: `2024-05-01`, `2024-05-01 10:20`, `2024-05-01T10:20:30.5+02:00`.
    pub fn parse_iso(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let is_iso = (10..=MAX_BYTES).contains(&bytes.len())
            && bytes[4] == b'-'
            && bytes[7] == b'-'
            && bytes.get(10).is_none_or(|sign| matches!(sign, b'T' | b't' | b' '));
        if is_iso { Self::parse(text) } else { None }
    }

    /// Returns true for a time that other programs read as well: of ISO 8601 with all of its signs, and no name of a zone.
    pub fn is_plain_iso(text: &str) -> bool {
        let time = text.get(11..).unwrap_or_default().trim_end_matches(['Z', 'z']);
        let (clock, offset) = time.split_at(time.find(['+', '-']).unwrap_or(time.len()));
        let clock = clock.trim().as_bytes();
        let is_sign = |b: &u8| b.is_ascii_digit() || matches!(b, b':' | b'.');
        let is_clock = clock.is_empty() || clock.get(2) == Some(&b':') && clock.iter().all(is_sign);
        let is_offset = offset.is_empty() || offset.len() == 6 && offset.as_bytes()[3] == b':';
        is_clock && is_offset && Self::parse_iso(text).is_some()
    }
}

/// Parses `2024-05-01`, `2024-05`, `2024/5/1` or `2024年5月1日`. Returns the rest of the text.
fn iso_date(text: &str) -> Option<(CivilDate, &str)> {
    let (year, rest) = digits(text, 4)?;
    if let Some((month, rest)) = rest.strip_prefix('年').and_then(one_or_two_digits) {
        let (day, rest) = one_or_two_digits(rest.strip_prefix('月')?)?;
        return Some((CivilDate { year, month, day }, rest.strip_prefix('日')?));
    }
    let sign = rest.chars().next().filter(|c| matches!(c, '-' | '/' | ':'))?;
    if let Some((month, "")) = digits(&rest[1..], 2).filter(|_| sign == '-') {
        return Some((CivilDate { year, month, day: 1 }, ""));
    }
    let (month, after) = one_or_two_digits(&rest[1..])?;
    let (day, after) = one_or_two_digits(after.strip_prefix(sign)?)?;
    let is_padded = rest.len() - after.len() == 6;
    // Cameras write colons, with a time behind the date.
    let is_date = if sign == ':' {
        is_padded && after.starts_with(' ')
    } else {
        is_padded || YEARS_OF_SHORT_DATES.contains(&year)
    };
    is_date.then_some((CivilDate { year, month, day }, after))
}

/// Years of dates whose months and days may have one digit. Other numbers of this form are codes.
const YEARS_OF_SHORT_DATES: std::ops::RangeInclusive<i64> = 1_900..=2_100;

/// Reads a number of one or two digits. Returns the rest of the text.
pub(crate) fn one_or_two_digits(text: &str) -> Option<(i64, &str)> {
    digits(text, 2).or_else(|| digits(text, 1))
}

/// Returns the year of two digits, from 1970 on.
pub(crate) fn year_of_two_digits(year: i64) -> i64 {
    if year < 70 { 2_000 + year } else { 1_900 + year }
}

/// Parses `01 May 2024`, `01-May-24`, `May 1, 2024`, `Wed, 01 May 2024` or `May 2024`. Returns the rest of the text.
fn named_month(text: &str) -> Option<(CivilDate, &str)> {
    if let Some((month, year)) = text.split_once(' ')
        && let Some((year, "")) = digits(year, 4)
    {
        return Some((CivilDate { year, month: month_number(month)?, day: 1 }, ""));
    }
    let (mut day, mut month, mut year, mut rest) = (None, None, None, text);
    for _ in 0..4 {
        rest = rest.trim_start_matches([' ', ',', '-']);
        let end = rest.find([' ', ',', '-']).unwrap_or(rest.len());
        let word = &rest[..end];
        rest = &rest[end..];
        let number =
            ["st", "nd", "rd", "th"].iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(word);
        match number.parse::<i64>() {
            Ok(n) if word.len() == 4 && number == word => year = Some(n),
            Ok(n) if number.len() <= 2 && day.is_none() => day = Some(n),
            Ok(n) if word.len() == 2 && month.is_some() => year = Some(year_of_two_digits(n)),
            Ok(_) => return None,
            Err(_) => month = month_number(word).or(month),
        }
        if let (Some(day), Some(month), Some(year)) = (day, month, year) {
            return Some((CivilDate { year, month, day }, rest));
        }
    }
    None
}

/// Parses `Sun Dec 04 04:47:44 2005`, with or without a day of the week, and with or without a zone before the year.
/// Returns the time and the zone.
fn year_last(text: &str) -> Option<(CivilDate, &str)> {
    let (before, year) = text.rsplit_once(' ')?;
    let (year, _) = digits(year, 4).filter(|(_, rest)| rest.is_empty())?;
    let mut rest = before;
    for _ in 0..2 {
        let (word, more) = rest.split_once(' ')?;
        rest = more.trim_start();
        let Some(month) = month_number(word) else { continue };
        let end = rest.find(' ')?;
        let day = rest[..end].parse().ok().filter(|_| end <= 2)?;
        return Some((CivilDate { year, month, day }, &rest[end..]));
    }
    None
}

/// Parses `22/Jan/2019:03:56:14 +0330`. Returns the rest of the text.
fn month_in_slashes(text: &str) -> Option<(CivilDate, &str)> {
    let (day, rest) = digits(text, 2)?;
    let (name, rest) = rest.strip_prefix('/')?.split_once('/')?;
    let (year, rest) = digits(rest, 4)?;
    Some((CivilDate { year, month: month_number(name)?, day }, rest))
}

/// Parses `081109 203615`: year, month and day in two digits each. Returns the rest of the text.
fn compact_date(text: &str) -> Option<(CivilDate, &str)> {
    let (year, rest) = digits(text, 2)?;
    let (month, rest) = digits(rest, 2)?;
    let (day, rest) = digits(rest, 2)?;
    let is_time = rest.len() == 7 && rest.starts_with(' ');
    is_time.then_some((CivilDate { year: 2000 + year, month, day }, rest))
}

/// Parses `20240501T183000Z`. Returns the rest of the text.
fn basic_date(text: &str) -> Option<(CivilDate, &str)> {
    let (year, rest) = digits(text, 4)?;
    let (month, rest) = digits(rest, 2)?;
    let (day, rest) = digits(rest, 2)?;
    rest.starts_with('T').then_some((CivilDate { year, month, day }, rest))
}

/// English names of the months.
pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// English names of the days of the week, from Sunday.
pub const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Returns the number of a month by its English name or the first three letters.
pub fn month_number(word: &str) -> Option<i64> {
    let is_named = |name: &&str| {
        name.eq_ignore_ascii_case(word) || word.len() == 3 && name[..3].eq_ignore_ascii_case(word)
    };
    MONTHS.iter().position(is_named).map(|at| at as i64 + 1)
}

/// Parses `10:20`, `10:20:30.5`, `06.30.00.5 PM`, `6:30 PM` or `102030`. Returns seconds, nanoseconds and the rest.
fn time_of_day(text: &str) -> Option<(i64, u32, &str)> {
    // With points, as Oracle has it, there are seconds.
    let has_points = text.len() >= 8 && [2, 5].iter().all(|at| text.as_bytes()[*at] == b'.');
    let sign = if has_points { '.' } else { ':' };
    let one_digit = || digits(text, 1).filter(|(_, rest)| rest.starts_with(':'));
    let (mut hour, rest) = digits(text, 2).or_else(one_digit)?;
    if let Some((minutes_and_seconds, rest)) = digits(rest, 4) {
        let (minute, second) = (minutes_and_seconds / 100, minutes_and_seconds % 100);
        let is_end = rest.is_empty() || rest.starts_with(['Z', '+', '-']);
        let is_valid = hour < 24 && minute < 60 && second <= 60 && is_end;
        return is_valid.then_some((hour * 3_600 + minute * 60 + second, 0, rest));
    }
    let (minute, mut rest) = digits(rest.strip_prefix(sign)?, 2)?;
    let (mut second, mut nanos) = (0, 0);
    if let Some(more) = rest.strip_prefix(sign) {
        (second, rest) = digits(more, 2)?;
        if let Some(fraction) = rest.strip_prefix(['.', ',']) {
            let length = fraction.bytes().take_while(u8::is_ascii_digit).count();
            let kept = length.min(9);
            nanos = fraction.get(..kept)?.parse::<u32>().ok()?.checked_mul(10_u32.pow(9 - kept as u32))?;
            rest = fraction.get(length..)?;
        }
    }
    rest = rest.trim_start();
    let is_half = |half: &&str| {
        ["am", "pm"].contains(&&*half.to_ascii_lowercase()) && !rest[2..].starts_with(char::is_alphanumeric)
    };
    if let Some(half) = rest.get(..2).filter(is_half) {
        (hour, rest) = ((1..=12).contains(&hour).then_some(hour % 12)?, rest[2..].trim_start());
        hour += if half.eq_ignore_ascii_case("pm") { 12 } else { 0 };
    }
    let is_valid = hour <= 24 && minute < 60 && second <= 60;
    is_valid.then_some((hour * 3_600 + minute * 60 + second, nanos, rest))
}

/// Parses exactly so many digits. Returns the rest of the text.
pub fn digits(text: &str, count: usize) -> Option<(i64, &str)> {
    let (number, rest) = text.split_at_checked(count)?;
    let value = number.bytes().try_fold(0_i64, |value, b| {
        let digit = b.is_ascii_digit().then(|| i64::from(b - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })?;
    (count > 0).then_some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    fn check(text: &str, seconds: Option<i64>) {
        assert_eq!(Timestamp::parse_iso(text).map(|timestamp| timestamp.seconds), seconds, "{text}");
    }

    #[test]
    fn forms_of_logs() {
        let check = |text: &str, written: Option<&str>| {
            let timestamp = Timestamp::parse(text);
            assert_eq!(timestamp.map(Timestamp::write).as_deref(), written, "{text}");
        };
        check("Sun Dec 04 04:47:44 2005", Some("2005-12-04 04:47:44"));
        check("Sun Dec  4 04:47:44 2005", Some("2005-12-04 04:47:44"));
        check("Dec 4 04:47:44 2005", Some("2005-12-04 04:47:44"));
        check("Sun Aug 31 00:29:15 +0000 2014", Some("2014-08-31 00:29:15Z"));
        check("Sun Aug 31 01:29:15 +0200 2014", Some("2014-08-30 23:29:15Z"));
        check("Sun Aug 31 01:29:15 2014 +0200", Some("2014-08-30 23:29:15Z"));
        check(
            "Sun Aug 31 2014 01:29:15 GMT+0200 (Central European Summer Time)",
            Some("2014-08-30 23:29:15Z"),
        );
        check("22/Jan/2019:03:56:14 +0330", Some("2019-01-22 00:26:14Z"));
        check("22/Jan/2019:03:56:14", Some("2019-01-22 03:56:14"));
        check("081109 203615", Some("2008-11-09 20:36:15"));
        check("20240501T183000Z", Some("2024-05-01T18:30:00Z"));
        check("20240501183000", Some("2024-05-01 18:30:00"));
        check("2024:05:01 18:30:00", Some("2024-05-01 18:30:00"));
        check("May 1st, 2024", Some("2024-05-01"));
        check("22nd February 2024", Some("2024-02-22"));
        check("29-DEC-23 08.17.22.000000000 PM", Some("2023-12-29 20:17:22"));
        check("20240501T183000+0200", Some("2024-05-01T16:30:00Z"));
        check("2024-05-01 06:30 PM", Some("2024-05-01 18:30:00"));
        check("May 1, 2024 12:05:00 am", Some("2024-05-01 00:05:00"));
        check("2024-05-01 13:30 PM", None);
        check("20240501T", None);
        for other in [
            "Jun 14 15:16:01",
            "03-17 16:13:38.811",
            "Sun Dec 04 2005 x",
            "081309 203615",
            "22/Foo/2019:03:56:14",
            "20241301183000",
            "2024:05:01",
            "2024-05-01 18.30",
            "Sun 2005",
        ] {
            check(other, None);
        }
    }

    #[test]
    fn iso_times_are_read_as_written() {
        check("1970-01-01", Some(0));
        check("1969-12-31", Some(-86_400));
        check("2024-05-01T10:20:30Z", Some(1_714_558_830));
        check("2024-05-01 10:20:30", Some(1_714_558_830));
        check("2024-05-01 10:20:30 UTC", Some(1_714_558_830));
        check("2024-05-01T12:20:30.123456+02:00", Some(1_714_558_830));
        check("2024-05-01T03:20:30-0700", Some(1_714_558_830));
        check("2024-05-01T10:20", Some(1_714_558_800));
        check("2024-05-01T12:20:30[Europe/Paris]", Some(1_714_558_830));
        check("2024-05-01T12:20:30+02:00[Europe/Paris]", Some(1_714_558_830));
        check("2024-05-01 12:20:30 Europe/Paris", Some(1_714_558_830));
        check("2024-01-05 05:00:00.5 America/Argentina/Buenos_Aires", Some(1_704_441_600));
        for other in [
            "2024-13-01",
            "2024-00-00",
            "2024-02-30",
            "2022-2023",
            "2024-05",
            "2024/05/01",
            "2024-05-01x",
            "2024-05-01T",
            "2024-05-01T10:20+25",
            "2024-05-01T10:20[Europe/Nowhere]",
            "2024-05-01T10:20 Europe",
            "2024-05-01T10:20Z[",
            "12345-67-8",
            "",
            "ä2024-1-1",
        ] {
            check(other, None);
        }
    }
}
