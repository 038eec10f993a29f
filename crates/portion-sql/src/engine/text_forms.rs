//! Reads numbers with units, versions, durations and numeric dates in the texts of a column.

use std::sync::LazyLock;

use regex::Regex;

use crate::dialect::pattern;

/// Most characters of a unit.
const MAX_UNIT_CHARS: usize = 12;

/// A version: `1.10`, `v1.2.3-beta.1`.
static VERSION: LazyLock<Regex> = LazyLock::new(|| pattern(r"^v*(\d+)\.(\d+)(?:\.(\d+))?(?:[-+]|$)"));
/// A time of day or a duration: `58:45`, `1:02:11`, `07:28 PM`.
static CLOCK: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)^(?:(\d+):)?(\d+):(\d+)(?: ([ap])m)?$"));
/// A duration with units: `5h 52m`, `PT1H2M3S`, `2y10d`, `2.5s`, `450ms`; and a part of it.
static DURATION: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)^(?:pt)?(?:\d+(?:\.\d+)?[ywdhms][a-z]*\s*)+$"));
static DURATION_PART: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)(\d+(?:\.\d+)?)(ms(?:ec)?|[ywdhms])"));
/// A number and what is around it: `10 kg`, `$1,400`.
static MEASURE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?s)^([^0-9.-]*?)([-+]?)([0-9][0-9.,]*)([^0-9]*)$"));
/// A date such as `15.01.2024` or `01/15/2024 10:00:00`.
static NUMERIC_DATE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(\d{1,2})([./-])(\d{1,2})([./-])\d{4}(?: \d{1,2}:\d\d(:\d\d)?( [AP]M)?)?$"));

/// Returns the number in a text and what is around it: `10` and `kg`, `1,400` and `$`; `None` if it has no number, or several.
pub(super) fn number_and_unit(text: &str) -> Option<(&str, String)> {
    let (_, [before, sign, number, after]) = MEASURE.captures(text)?.extract();
    let is_code = !sign.is_empty() && before.ends_with(char::is_alphanumeric);
    let start = before.len();
    let number = &text[start..start + sign.len() + number.len()];
    (!is_code).then(|| (number, format!("{}{}", before.trim(), after.trim())))
}

/// Returns the parts of a version: `1.10` has two, `v1.2.3-beta.1` three.
pub(super) fn version_parts(text: &str) -> Option<Vec<i64>> {
    let version = VERSION.captures(text)?;
    version.iter().skip(1).flatten().map(|part| part.as_str().parse().ok()).collect()
}

/// Returns the milliseconds of a time of day or a duration: `58:45`, `1:02:11`, `07:28 PM`, `5h 52m`, `PT1H2M3S`.
pub(super) fn duration_parts(text: &str) -> Option<Vec<i64>> {
    let text = text.trim();
    if let Some(clock) = CLOCK.captures(text) {
        let parts = (1..=3).filter_map(|at| clock.get(at)).map(|part| part.as_str().parse().ok());
        let parts: Vec<i64> = parts.collect::<Option<_>>()?;
        let seconds = parts.iter().fold(0_i64, |sum, part| sum.saturating_mul(60).saturating_add(*part));
        let noon = if parts.len() == 3 { 43_200 } else { 720 };
        let seconds = match clock.get(4).map(|half| half.as_str()) {
            None => seconds,
            Some("a" | "A") => seconds % noon,
            Some(_) => seconds % noon + noon,
        };
        return Some(vec![seconds.saturating_mul(1000)]);
    }
    let parts = DURATION_PART.captures_iter(text).filter_map(|part| {
        let seconds = match &*part[2].to_ascii_lowercase() {
            "y" => 365.0 * 86_400.0,
            "w" => 7.0 * 86_400.0,
            "d" => 86_400.0,
            "h" => 3_600.0,
            "m" => 60.0,
            "s" => 1.0,
            _ => 0.001,
        };
        Some((part[1].parse::<f64>().ok()? * seconds * 1000.0) as i64)
    });
    DURATION.is_match(text).then(|| vec![parts.fold(0, i64::saturating_add)])
}

/// Returns the number of a text such as `10 kg`, `50%` or `USD 1,400`, in thousandths.
pub(super) fn measure_parts(text: &str) -> Option<Vec<i64>> {
    let (number, unit) = number_and_unit(text)?;
    let number: f64 = number.replace(',', "").parse().ok()?;
    let before = text[..text.find(|c: char| c.is_ascii_digit())?].trim_end_matches(['-', '+']);
    let is_unit = unit.chars().count() <= MAX_UNIT_CHARS && !unit.contains([':', '/']);
    let is_before = before.is_empty() || before.ends_with(' ') && before.len() == 4;
    (is_unit && is_before).then(|| vec![(number * 1e3) as i64])
}

/// Returns the call that reads dates such as `15.01.2024`, `15/01/2024` or `01/15/2024 10:00:00`; `None` if a text has another form.
/// It names both formats if no date tells whether the day or the month comes first.
pub(super) fn numeric_date_call(name: &str, samples: &[String]) -> Option<String> {
    let (mut is_month_first, mut is_day_first, mut first) = (false, false, None);
    for text in samples {
        let date = NUMERIC_DATE.captures(text.trim()).filter(|date| date[2] == date[4])?;
        let is_over_12 = |at: usize| date[at].parse::<u32>().is_ok_and(|number| number > 12);
        is_month_first |= is_over_12(3);
        is_day_first |= is_over_12(1) || &date[2] == ".";
        first.get_or_insert(date);
    }
    let date = first?;
    let has = |at: usize| date.get(at).is_some();
    let time = match (date[0].contains(':'), has(6)) {
        (false, _) => String::new(),
        (true, is_half) => {
            let (hour, half) = if is_half { ("HH12", " AM") } else { ("HH24", "") };
            format!(" {hour}:MI{}{half}", if has(5) { ":SS" } else { "" })
        }
    };
    let function = if time.is_empty() { "to_date" } else { "to_timestamp" };
    let format = |first: &str, second: &str| format!("'{first}{0}{second}{0}YYYY{time}'", &date[2]);
    Some(match (is_month_first, is_day_first) {
        (true, _) => format!("{function}({name}, {})", format("MM", "DD")),
        (false, true) => format!("{function}({name}, {})", format("DD", "MM")),
        (false, false) => format!(
            "{function}({name}, {}), or {}: no value tells which",
            format("DD", "MM"),
            format("MM", "DD")
        ),
    })
}
