//! Zones of times: offsets, abbreviations, and the names of IANA.

use std::sync::LazyLock;

use jiff::civil::DateTime;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::{SECONDS_PER_DAY, Timestamp, digits};

/// Names of zones, and their hours ahead of UTC.
const ZONES: [(&str, i64); 12] = [
    ("Z z UTC GMT WET", 0),
    ("CET BST WEST", 1),
    ("CEST EET", 2),
    ("EEST MSK", 3),
    ("JST KST", 9),
    ("AEST", 10),
    ("AEDT", 11),
    ("EDT", -4),
    ("EST CDT", -5),
    ("CST MDT", -6),
    ("MST PDT", -7),
    ("PST", -8),
];

/// The zones of IANA, whose data are part of the binary.
static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

impl Timestamp {
    /// Returns the time in UTC of a local time in a zone, and the local time of a time with a zone. The zone is an offset, an
    /// abbreviation, or a name of IANA; `None` if it is not known.
    ///
    /// ```
    /// use portion_text::timestamp::Timestamp;
    ///
    /// let local = Timestamp::parse("2024-07-05 12:00:00").and_then(|time| time.in_zone("Europe/Paris"));
    /// assert_eq!(local.map(Timestamp::write).as_deref(), Some("2024-07-05 10:00:00Z"));
    /// ```
    pub fn in_zone(self, zone: &str) -> Option<Self> {
        let seconds = match fixed_offset(zone) {
            Some(ahead) if self.is_zoned => self.seconds + ahead,
            Some(ahead) => self.seconds - ahead,
            None => self.in_named_zone(zone)?,
        };
        Some(Self { seconds, is_date: false, is_zoned: !self.is_zoned, ..self })
    }

    /// Returns the seconds of the time in a zone of IANA: `Europe/Paris`, `[Europe/Paris]`.
    fn in_named_zone(self, zone: &str) -> Option<i64> {
        let name = zone.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(zone);
        let is_name = name.contains('/') || name.len() < zone.len();
        let zone: TimeZone = is_name.then(|| DATABASE.get(name).ok()).flatten()?;
        if self.is_zoned {
            let time = jiff::Timestamp::from_second(self.seconds).ok()?;
            return Some(self.seconds + i64::from(zone.to_offset(time).seconds()));
        }
        let date = self.date();
        let second = self.second_of_day().min(SECONDS_PER_DAY - 1);
        let part = |n: i64| i8::try_from(n).ok();
        let time = DateTime::new(
            i16::try_from(date.year).ok()?,
            part(date.month)?,
            part(date.day)?,
            part(second / 3_600)?,
            part(second / 60 % 60)?,
            part(second % 60)?,
            0,
        );
        Some(zone.to_ambiguous_timestamp(time.ok()?).compatible().ok()?.as_second())
    }
}

/// Returns the seconds ahead of UTC of an offset, which may have the name of a zone after it, or of an abbreviation.
fn fixed_offset(text: &str) -> Option<i64> {
    if let Some((_, hours)) = ZONES.iter().find(|(names, _)| names.split(' ').any(|name| name == text)) {
        return Some(hours * 3_600);
    }
    let text =
        text.strip_suffix(']').and_then(|rest| rest.split_once('[')).map_or(text, |(offset, _)| offset);
    let (sign, rest) = match text.chars().next()? {
        '+' => (1, &text[1..]),
        '-' => (-1, &text[1..]),
        _ => return text.eq_ignore_ascii_case("z").then_some(0),
    };
    let (hours, rest) = digits(rest, 2)?;
    let minutes = match rest.strip_prefix(':').unwrap_or(rest) {
        "" => 0,
        two => digits(two, 2).filter(|(_, rest)| rest.is_empty())?.0,
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3_600 + minutes * 60))
}
