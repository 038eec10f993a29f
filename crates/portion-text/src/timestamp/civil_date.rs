//! Dates of the Gregorian calendar.

use super::YEARS;

/// The parts of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CivilDate {
    /// Year.
    pub year: i64,
    /// Month, from 1.
    pub month: i64,
    /// Day of the month, from 1.
    pub day: i64,
}

impl CivilDate {
    /// Returns the days since 1970-01-01 (Howard Hinnant, `days_from_civil`).
    pub fn days(self) -> i64 {
        let year = if self.month <= 2 { self.year - 1 } else { self.year };
        let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let of_year = (153 * (self.month + if self.month > 2 { -3 } else { 9 }) + 2) / 5 + self.day - 1;
        era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
    }

    /// Returns the date of a day (Howard Hinnant, `civil_from_days`).
    pub fn from_days(days: i64) -> Self {
        let day = days + 719_468;
        let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let shifted = (5 * of_year + 2) / 153;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        let year = year + era * 400 + i64::from(month <= 2);
        Self { year, month, day: of_year - (153 * shifted + 2) / 5 + 1 }
    }

    /// Returns the number of days of its month.
    pub fn days_of_month(self) -> i64 {
        let leap = self.year % 4 == 0 && (self.year % 100 != 0 || self.year % 400 == 0);
        match self.month {
            2 => 28 + i64::from(leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }

    /// Returns the date some months later, on the last day of the month if that is shorter.
    pub fn add_months(self, months: i64) -> Option<Self> {
        let month = self.year.checked_mul(12)?.checked_add(self.month - 1)?.checked_add(months)?;
        let first = Self { year: month.div_euclid(12), month: month.rem_euclid(12) + 1, day: 1 };
        let day = self.day.min(first.days_of_month());
        YEARS.contains(&first.year).then_some(Self { day, ..first })
    }
}
