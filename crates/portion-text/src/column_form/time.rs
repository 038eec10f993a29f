//! Reads the dates and times of a column.

use crate::timestamp::{CivilDate, Timestamp, digits};

/// The order of day and month in numeric dates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DateOrder {
    /// No date shows it: other forms, or day and month that may be either.
    #[default]
    Unknown,
    /// `31.01.2024`
    DayFirst,
    /// `01/31/2024`
    MonthFirst,
}

/// Facts about the times of a column.
#[derive(Clone, Debug, Default)]
pub(super) struct TimeFacts {
    /// Dates such as `05.01.2024`, and those of them in which only one order is possible.
    numeric_dates: usize,
    day_first: usize,
    month_first: usize,
    other_times: usize,
}

impl TimeFacts {
    /// Adds a text; returns false if it is no time.
    pub(super) fn insert(&mut self, text: &str) -> bool {
        // Times have signs, so that most texts are told from them by their first bytes.
        if !text.bytes().take(12).any(|b| b.is_ascii_digit()) || text.len() < 6 {
            return false;
        }
        if let Some((first, second, ..)) = numeric_date(text) {
            self.numeric_dates += 1;
            self.day_first += usize::from(first > 12 || text.as_bytes().get(2) == Some(&b'.'));
            self.month_first += usize::from(second > 12);
            return read_time(text, DateOrder::DayFirst)
                .or_else(|| read_time(text, DateOrder::MonthFirst))
                .is_some();
        }
        self.other_times += 1;
        Timestamp::parse(text).is_some()
    }

    /// Returns the order of the dates; `None` if it is not clear.
    pub(super) fn order(&self) -> Option<DateOrder> {
        match (self.numeric_dates, self.day_first, self.month_first) {
            (0, ..) => (self.other_times > 0).then_some(DateOrder::Unknown),
            _ if self.other_times > 0 => None,
            (_, 1.., 0) => Some(DateOrder::DayFirst),
            (_, 0, 1..) => Some(DateOrder::MonthFirst),
            _ => None,
        }
    }
}

/// Reads a date or a time. Numeric dates are read in the given order; if that is unknown, only one order must be possible.
pub fn read_time(text: &str, order: DateOrder) -> Option<Timestamp> {
    let Some((first, second, year, rest)) = numeric_date(text) else { return Timestamp::parse(text) };
    let is_day_first = match order {
        DateOrder::DayFirst => true,
        DateOrder::MonthFirst => false,
        DateOrder::Unknown if first > 12 || text.as_bytes().get(2) == Some(&b'.') => true,
        DateOrder::Unknown if second > 12 => false,
        DateOrder::Unknown => return None,
    };
    let (day, month) = if is_day_first { (first, second) } else { (second, first) };
    let date = CivilDate { year, month, day };
    let is_valid = (1..=12).contains(&month) && (1..=date.days_of_month()).contains(&day);
    let rest = rest.trim_start_matches(',');
    if !is_valid {
        return None;
    }
    Timestamp::parse(&format!("{year:04}-{month:02}-{day:02}{rest}"))
}

/// Reads `31.01.2024`, `1/31/2024` or `31-01-2024`. Returns both numbers, the year, and the rest of the text.
fn numeric_date(text: &str) -> Option<(i64, i64, i64, &str)> {
    let one_or_two = |text| digits(text, 2).or_else(|| digits(text, 1));
    let (first, rest) = one_or_two(text)?;
    let sign = rest.chars().next().filter(|sign| matches!(sign, '.' | '/' | '-'))?;
    let (second, rest) = one_or_two(&rest[1..])?;
    let (year, rest) = digits(rest.strip_prefix(sign)?, 4)?;
    let ends = rest.is_empty() || rest.starts_with([' ', 'T', ',']);
    ends.then_some((first, second, year, rest))
}
