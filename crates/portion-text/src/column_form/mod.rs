//! Decides what the texts of a column are: numbers, booleans, times, or words.
//!
//! A column is decided as a whole, so that `=`, `GROUP BY`, `ORDER BY` and facts agree about each of its values. Numbers
//! must have one canonical form: `1.9` beside `1.10` are versions, and `007` is a code.
//!
//! ```
//! use portion_text::column_form::{CellNumber, ColumnForm, FormLearner};
//!
//! let form = |texts: &[&str]| {
//!     let mut learner = FormLearner::default();
//!     texts.iter().for_each(|text| learner.insert(text));
//!     learner.form()
//! };
//! assert_eq!(form(&["9", "120"]).number("120"), Some(CellNumber::Integer(120)));
//! assert_eq!(form(&["60,17", "1.060,00"]).number("1.060,00"), Some(CellNumber::Real(1060.0)));
//! assert_eq!(form(&["1.9", "1.10"]), ColumnForm::Text);
//! ```

mod number;

pub use number::{CellNumber, amount, code_number, plain_number};

use crate::timestamp::{CivilDate, Timestamp, digits, one_or_two_digits, year_of_two_digits};
use number::NumberFacts;

/// The form of the texts of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColumnForm {
    /// Texts as they are.
    #[default]
    Text,
    /// Plain numbers: `12`, `12.50`. Of cells without types, other texts among them stay texts.
    Number,
    /// Amounts, with commas between thousands or signs of currencies: `1,400.50`, `$2.50`, `(679.45)`.
    Amount,
    /// Numbers with a comma before the fraction: `60,17`, `1.060,17`.
    DecimalComma,
    /// `true` and `false`, in any case.
    Boolean,
    /// Dates and times; numeric dates in this order.
    Time(DateOrder),
}

impl ColumnForm {
    /// Returns the number of a text in a column of this form.
    pub fn number(self, text: &str) -> Option<CellNumber> {
        match self {
            Self::Number => plain_number(text),
            Self::Amount => amount(text),
            Self::DecimalComma => number::decimal_comma(text),
            Self::Boolean if text.eq_ignore_ascii_case("true") => Some(CellNumber::Integer(1)),
            Self::Boolean if text.eq_ignore_ascii_case("false") => Some(CellNumber::Integer(0)),
            Self::Text | Self::Boolean | Self::Time(_) => None,
        }
    }

    /// Returns true if the values of the column are no texts.
    pub fn is_numeric(self) -> bool {
        matches!(self, Self::Number | Self::Amount | Self::DecimalComma | Self::Boolean)
    }
}

/// Bytes of a time before its first digit: `Wednesday, September 20, 2023`.
const MAX_DATE_WORDS: usize = 24;
/// Texts that stand for a missing value in columns of numbers, booleans and times.
const MISSING: [&str; 14] =
    ["", ".", "-", "--", "\u{2013}", "\u{2014}", "N/A", "n/a", "NA", "NaN", "nan", "None", "null", "NULL"];

/// Returns true for a text that stands for a missing value in a column of numbers, booleans or times.
pub fn is_missing(text: &str) -> bool {
    text.len() <= 4 && MISSING.contains(&text)
}

/// Most words before the first number of a column.
const MAX_LEADING_WORDS: usize = 32;

/// Learns the form of a column from its texts.
#[derive(Clone, Debug)]
pub struct FormLearner {
    text_count: usize,
    number_count: usize,
    /// True if a text that is no number has a digit, or if there are many words and no number.
    has_codes: bool,
    has_number_codes: bool,
    are_booleans: bool,
    numbers: Option<NumberFacts>,
    times: Option<TimeFacts>,
}

impl Default for FormLearner {
    fn default() -> Self {
        Self {
            text_count: 0,
            number_count: 0,
            has_codes: false,
            has_number_codes: false,
            are_booleans: true,
            numbers: Some(NumberFacts::default()),
            times: Some(TimeFacts::default()),
        }
    }
}

impl FormLearner {
    /// Adds a text. One that stands for a missing value is none.
    pub fn insert(&mut self, text: &str) {
        if is_missing(text) {
            return;
        }
        self.text_count += 1;
        let has_digit = text.bytes().any(|b| b.is_ascii_digit());
        self.has_number_codes |= has_digit && number::is_number_code(text);
        if self.is_settled() {
            return;
        }
        self.are_booleans =
            self.are_booleans && (text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false"));
        if let Some(times) = &mut self.times
            && !times.insert(text)
        {
            self.times = None;
        }
        let Some(numbers) = &mut self.numbers else { return };
        if has_digit && numbers.insert(text) {
            self.number_count += 1;
        } else if has_digit || self.number_count == 0 && self.text_count > MAX_LEADING_WORDS {
            self.has_codes = true;
            self.numbers = None;
        }
    }

    /// Returns true if the column can only be texts, whatever follows.
    pub fn is_settled(&self) -> bool {
        self.numbers.is_none() && self.times.is_none() && !self.are_booleans
    }

    /// Returns true if there is no text but those that stand for missing values.
    pub fn is_empty(&self) -> bool {
        self.text_count == 0
    }

    /// Returns true if a text may look like a number without being one in the form of the column.
    pub fn has_codes(&self) -> bool {
        self.has_codes || self.numbers.as_ref().is_some_and(|numbers| numbers.form(false) == ColumnForm::Text)
    }

    /// Returns true if a text is a code of digits for which people write a number: `01005`.
    pub fn has_number_codes(&self) -> bool {
        self.has_number_codes
    }

    /// Returns true if a time is written otherwise than in plain ISO 8601, so that other programs do not read it.
    pub fn has_other_times(&self) -> bool {
        self.times.as_ref().is_some_and(|times| times.numeric_dates > 0 || times.has_other_forms)
    }

    /// Returns true if a plain number has a fraction or an exponent.
    pub fn has_fractions(&self) -> bool {
        self.numbers.as_ref().is_some_and(NumberFacts::has_fractions)
    }

    /// Returns true if the fraction of a plain number ends in a zero that says nothing: `12.50`, `3.0`.
    pub fn has_padded_fractions(&self) -> bool {
        self.numbers.as_ref().is_some_and(NumberFacts::has_padded_fractions)
    }

    /// Returns true if a text is no number.
    pub fn has_words(&self) -> bool {
        self.number_count < self.text_count
    }

    /// Returns the form of texts.
    pub fn form(&self) -> ColumnForm {
        self.form_among(false)
    }

    /// Returns the form of texts. `has_numbers`: true for texts beside numbers; then words among them stay texts, and plain
    /// numbers are numbers, however few.
    pub fn form_among(&self, has_numbers: bool) -> ColumnForm {
        self.decide(if has_numbers { usize::MAX } else { 0 }, false)
    }

    /// Decides the form of texts, of which so many may be words per number.
    fn decide(&self, max_words: usize, are_cells: bool) -> ColumnForm {
        if self.text_count == 0 {
            return ColumnForm::Text;
        }
        if self.are_booleans {
            return ColumnForm::Boolean;
        }
        if let Some(order) = self.times.as_ref().and_then(TimeFacts::order) {
            return ColumnForm::Time(order);
        }
        let word_count = self.text_count - self.number_count;
        match self.numbers.as_ref().map(|numbers| numbers.form(are_cells)) {
            Some(ColumnForm::Number) if self.number_count.saturating_mul(max_words) >= word_count => {
                ColumnForm::Number
            }
            Some(form) if word_count == 0 => form,
            _ => ColumnForm::Text,
        }
    }

    /// Returns the forms of the cells of one table, which have no types. Beside a column with decimal commas, points may stand between
    /// thousands: `1.400`.
    pub fn forms<'a>(columns: impl Iterator<Item = &'a Self> + Clone) -> Vec<ColumnForm> {
        let has_commas = columns.clone().any(|column| column.decide(1, true) == ColumnForm::DecimalComma);
        let pointed = |column: &Self| {
            has_commas
                && column.number_count == column.text_count
                && column.numbers.as_ref().is_some_and(NumberFacts::may_have_pointed_thousands)
        };
        columns
            .map(|column| if pointed(column) { ColumnForm::DecimalComma } else { column.decide(1, true) })
            .collect()
    }
}

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
struct TimeFacts {
    /// Dates such as `05.01.2024`, and those of them in which only one order is possible.
    numeric_dates: usize,
    day_first: usize,
    month_first: usize,
    other_times: usize,
    /// True if one of these is no plain time of ISO 8601.
    has_other_forms: bool,
}

impl TimeFacts {
    /// Adds a text; returns false if it is no time.
    fn insert(&mut self, text: &str) -> bool {
        // Times have signs, so that most texts are told from them by their first bytes.
        if !text.bytes().take(MAX_DATE_WORDS).any(|b| b.is_ascii_digit()) || text.len() < 6 {
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
        if Timestamp::is_plain_iso(text) {
            return true;
        }
        self.has_other_forms = true;
        Timestamp::parse(text).is_some()
    }

    /// Returns the order of the dates; `None` if it is not clear.
    fn order(&self) -> Option<DateOrder> {
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

/// Reads `31.01.2024`, `1/31/2024`, `31-01-2024` or `1/31/24`. Returns both numbers, the year, and the rest of the text.
fn numeric_date(text: &str) -> Option<(i64, i64, i64, &str)> {
    let (first, rest) = one_or_two_digits(text)?;
    let sign = rest.chars().next().filter(|sign| matches!(sign, '.' | '/' | '-'))?;
    let (second, rest) = one_or_two_digits(&rest[1..])?;
    let rest = rest.strip_prefix(sign)?;
    // Other short numbers with points are versions.
    let may_be_short = sign == '/' || text.len() - rest.len() == 6;
    let short =
        || digits(rest, 2).filter(|_| may_be_short).map(|(year, rest)| (year_of_two_digits(year), rest));
    let (year, rest) = digits(rest, 4).or_else(short)?;
    let ends = rest.is_empty() || rest.starts_with([' ', 'T', ',']);
    ends.then_some((first, second, year, rest))
}

#[cfg(test)]
mod tests {
    use super::{ColumnForm, DateOrder, FormLearner};

    fn learn(texts: &[&str]) -> FormLearner {
        let mut learner = FormLearner::default();
        texts.iter().for_each(|text| learner.insert(text));
        learner
    }

    #[test]
    fn texts_of_one_form() {
        let check = |texts: &[&str], expect: ColumnForm| {
            assert_eq!(learn(texts).form(), expect, "{texts:?}");
        };
        for numbers in [
            &["9", "120", "-3", ""][..],
            &["15.50", "0.25"],
            &["9", "15.50"],
            &["0.8444218515250481", "0.5", "12.125"],
            &["91.0", "0.5", "3.3333333333333335"],
            &["0.5", "12.25", "7", "1.05"],
            &["-1.5", "2.25"],
            &["9", "N/A", ".", "-", "8"],
            &["329.5", "99.25"],
            &["1234567890123456789"],
            &["0.0123", "5e-08", "1.25e-05", "0.00012345678901234567"],
            &["1.230e-05", "9.100e-12"],
        ] {
            check(numbers, ColumnForm::Number);
        }
        for texts in [
            &["1.9", "1.10"][..],
            &["3.9", "3.11"],
            &["18.4", "20.11", "9"],
            &["2024.2", "2024.11"],
            &["1", "1.0"],
            &["007", "12"],
            &["+5", "6"],
            &["1e5"],
            &["12345678901234567890"],
            &["9", "unknown"],
            &["1", " 2"],
            &["555-1234"],
            &["10 USD", "10 EUR"],
            &["", ""],
            &["N/A", "-"],
            &["1.2.10", "1.2.3"],
            &["1.2.3", "4"],
            &["05/01/2024", "06/02/2024"],
        ] {
            check(texts, ColumnForm::Text);
        }
        check(&["1,234.50", "20", "(4.50)"], ColumnForm::Amount);
        check(&["$2.50", "$10"], ColumnForm::Amount);
        check(&["+1.2%", "-0.41%"], ColumnForm::Amount);
        check(&["-7.0°C", "12.5°C"], ColumnForm::Amount);
        check(&["$998K", "$1.2B"], ColumnForm::Amount);
        check(&["R$ 3.524,90", "R$ 5,70"], ColumnForm::DecimalComma);
        check(&["60,17", "1.060,17", "5"], ColumnForm::DecimalComma);
        check(&["0,125", "10,750"], ColumnForm::DecimalComma);
        check(&["true", "FALSE"], ColumnForm::Boolean);
        check(&["2024-01-05", "2024-01-06T10:00:00Z"], ColumnForm::Time(DateOrder::Unknown));
        check(&["31.01.2024", "05.02.2024"], ColumnForm::Time(DateOrder::DayFirst));
        check(&["31.01.24 10:00", "05.02.24 11:30"], ColumnForm::Time(DateOrder::DayFirst));
        check(&["1/31/24", "2/5/24", "n/a"], ColumnForm::Time(DateOrder::MonthFirst));
        for times in [
            &["02-Jan-23", "29-Nov-24"][..],
            &["Wednesday, September 20, 2023", "Monday, January 02, 2023"],
            &["2023/1/2", "2024/11/29"],
            &["2023年3月31日", "2024年11月2日"],
            &["November 2024", "May 2023"],
        ] {
            check(times, ColumnForm::Time(DateOrder::Unknown));
        }
        check(&["01/31/2024 10:00", "02/05/2024 11:30"], ColumnForm::Time(DateOrder::MonthFirst));
    }

    #[test]
    fn cells_may_have_words_among_numbers() {
        let check = |cells: &[&str], expect: ColumnForm| {
            assert_eq!(FormLearner::forms([learn(cells)].iter()), [expect], "{cells:?}");
        };
        check(&["1", "N/A", "3.5", "-"], ColumnForm::Number);
        check(&["1", "a", "b"], ColumnForm::Text);
        check(&["1", "5 kg"], ColumnForm::Text);
        check(&["3.5", "12.25", "7"], ColumnForm::Number);
        check(&["1.9", "1.10"], ColumnForm::Text);
        assert_eq!(learn(&["1", "a", "b"]).form_among(true), ColumnForm::Number);
        assert_eq!(learn(&["a", "b"]).form_among(true), ColumnForm::Text);
    }
}
