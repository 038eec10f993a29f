//! Reads numbers as people and programs write them.

use super::ColumnForm;

/// A number in a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellNumber {
    /// A 64-bit integer.
    Integer(i64),
    /// Any other number.
    Real(f64),
}

impl std::fmt::Display for CellNumber {
    /// Writes the number as in JSON and SQL.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Integer(n) => write!(f, "{n}"),
            Self::Real(n) => write!(f, "{n:?}"),
        }
    }
}

/// Most digits of a number: a 64-bit float holds no more.
const MAX_DIGITS: usize = 17;
/// Largest number of signs of a number that are none of these digits: zeros before them, and the point.
const MAX_LEADING_ZEROS: usize = 7;
/// Digits after the point that no part of a version has.
const MIN_FLOAT_DECIMALS: usize = 4;
/// Fewest digits of a text with signs between them that is a telephone number, and most bytes of a code.
const MIN_PHONE_DIGITS: usize = 7;
const MAX_CODE_BYTES: usize = 24;
/// Signs of currencies, which may stand before or after an amount.
const CURRENCIES: [char; 6] = ['$', '€', '£', '¥', '₹', '₩'];
/// Units that may stand behind a number, the longer ones first.
const UNITS: [&str; 5] = ["%", "\u{2030}", "°C", "°F", "°"];
/// Letters behind amounts of money, and what they multiply by.
const SCALES: [(char, f64); 4] = [('K', 1e3), ('M', 1e6), ('B', 1e9), ('T', 1e12)];
/// White space and apostrophes that separate thousands.
const THOUSANDS_SPACES: [char; 6] = [' ', '\u{a0}', '\u{2009}', '\u{202f}', '\'', '\u{2019}'];
/// Longest number with an exponent, in bytes.
const MAX_SCIENTIFIC_BYTES: usize = 26;

/// Facts about the numbers of a column, all of which can still be read in one of these ways.
#[derive(Clone, Debug)]
pub(super) struct NumberFacts {
    are_plain: bool,
    are_amounts: bool,
    are_commas: bool,
    /// True if a text has separators or a currency.
    is_decorated: bool,
    /// True if a text has a comma that can only stand before a fraction.
    has_decimal_comma: bool,
    currency: Option<String>,
    /// Of plain numbers: the least and the most digits after the point, and their kinds.
    decimals: Option<(usize, usize)>,
    has_whole: bool,
    has_padded_whole: bool,
    has_trailing_zero: bool,
    /// True if a text with a fraction is no version.
    has_float: bool,
    are_pointed_thousands: bool,
    has_pointed_thousands: bool,
}

impl Default for NumberFacts {
    fn default() -> Self {
        Self {
            are_plain: true,
            are_amounts: true,
            are_commas: true,
            is_decorated: false,
            has_decimal_comma: false,
            currency: None,
            decimals: None,
            has_whole: false,
            has_padded_whole: false,
            has_trailing_zero: false,
            has_float: false,
            are_pointed_thousands: true,
            has_pointed_thousands: false,
        }
    }
}

impl NumberFacts {
    /// Adds a text; returns false if it is no number in any of the ways that are left.
    pub(super) fn insert(&mut self, text: &str) -> bool {
        if text.trim() != text {
            return false;
        }
        let was = (self.are_plain, self.are_amounts, self.are_commas);
        let is_plain = plain_number(text).is_some();
        let digits = text.strip_prefix('-').unwrap_or(text);
        let is_scientific = is_plain && text.contains(['e', 'E']);
        let fraction = digits.split_once('.').map(|(_, fraction)| fraction);
        let amount = if is_plain { Some("") } else { amount_currency(text) };
        let is_comma = decimal_comma(text).is_some();
        if !(was.0 && is_plain || was.1 && amount.is_some() || was.2 && is_comma) {
            return false;
        }
        self.are_plain &= is_plain;
        self.are_commas &= is_comma;
        self.is_decorated |= !is_plain;
        self.has_decimal_comma |= has_decimal_comma(text);
        match (amount, &self.currency) {
            (None, _) => self.are_amounts = false,
            (Some(""), _) => {}
            (Some(sign), None) => self.currency = Some(sign.to_owned()),
            (Some(sign), Some(first)) => self.are_amounts &= first == sign,
        }
        self.has_float |= is_scientific;
        if is_plain && !is_scientific {
            match fraction {
                None => self.has_whole = true,
                Some(fraction) => {
                    let (min, max) = self.decimals.unwrap_or((usize::MAX, 0));
                    self.decimals = Some((min.min(fraction.len()), max.max(fraction.len())));
                    let is_whole = fraction.bytes().all(|b| b == b'0');
                    self.has_padded_whole |= is_whole;
                    self.has_float |= is_float(text, fraction);
                    self.has_trailing_zero |= fraction.ends_with('0') && fraction != "0";
                }
            }
        }
        let is_pointed = is_pointed_thousands(digits);
        self.are_pointed_thousands &= is_pointed || is_plain && fraction.is_none() && digits.len() <= 3;
        self.has_pointed_thousands |= is_pointed;
        self.are_plain || self.are_amounts || self.are_commas
    }

    /// Returns the form of the numbers; `are_cells`: true if no value has a type, so that numbers are written without quotes.
    pub(super) fn form(&self, are_cells: bool) -> ColumnForm {
        if self.are_plain {
            return if self.is_canonical(are_cells) { ColumnForm::Number } else { ColumnForm::Text };
        }
        if self.are_commas && self.has_decimal_comma {
            return ColumnForm::DecimalComma;
        }
        if self.are_amounts && self.is_decorated { ColumnForm::Amount } else { ColumnForm::Text }
    }

    pub(super) fn has_fractions(&self) -> bool {
        self.decimals.is_some() || self.has_float
    }

    pub(super) fn has_padded_fractions(&self) -> bool {
        self.has_trailing_zero || self.has_padded_whole
    }

    /// Returns true if no two texts are spellings of one number: fractions of one length, or the shortest fractions of
    /// floats. In quotes, others of several lengths may be parts of versions: `3.9`, `3.11`.
    fn is_canonical(&self, are_cells: bool) -> bool {
        match self.decimals {
            None => true,
            Some(_) if self.has_whole && self.has_padded_whole => false,
            Some((min, max)) => min == max || !self.has_trailing_zero && (are_cells || self.has_float),
        }
    }

    /// Returns true if the points of the numbers may stand between thousands.
    pub(super) fn may_have_pointed_thousands(&self) -> bool {
        self.are_pointed_thousands && self.has_pointed_thousands
    }
}

/// Returns true for a plain number with a fraction that no version has: `-3.5`, `1.05`, `329.5`, `0.8444`.
fn is_float(text: &str, fraction: &str) -> bool {
    let whole_digits = text.len() - fraction.len() - 1;
    text.starts_with('-')
        || fraction.len() >= MIN_FLOAT_DECIMALS
        || fraction.len() > 1 && fraction.starts_with('0')
        // Versions may begin with a year.
        || whole_digits > 2 && whole_digits != 4
}

/// Returns the number of a text that is written in canonical form, so that `007` stays text. An exponent has a sign: `1e5` is a
/// code.
///
/// ```
/// use portion_text::column_form::{CellNumber, plain_number};
///
/// assert_eq!(plain_number("-12"), Some(CellNumber::Integer(-12)));
/// assert_eq!(plain_number("5e-08"), Some(CellNumber::Real(5e-8)));
/// assert_eq!(plain_number("007"), None);
/// ```
pub fn plain_number(text: &str) -> Option<CellNumber> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if let Some((mantissa, exponent)) = digits.split_once(['e', 'E']) {
        let power = exponent.strip_prefix(['-', '+']).filter(|power| is_digits(power))?;
        let is_number =
            plain_number(mantissa).is_some() && power.len() <= 3 && text.len() <= MAX_SCIENTIFIC_BYTES;
        return is_number.then(|| text.parse().ok().filter(|n: &f64| n.is_finite()).map(CellNumber::Real))?;
    }
    if !digits.starts_with(|c: char| c.is_ascii_digit()) || digits.len() > MAX_DIGITS + MAX_LEADING_ZEROS {
        return None;
    }
    let (whole, fraction) =
        digits.split_once('.').map_or((digits, None), |(whole, part)| (whole, Some(part)));
    if !is_digits(whole) || whole.len() > 1 && whole.starts_with('0') {
        return None;
    }
    match fraction {
        None => text.parse().ok().map(CellNumber::Integer),
        Some(fraction) if is_digits(fraction) => {
            let significant = match whole {
                "0" => fraction.trim_start_matches('0').len(),
                whole => whole.len() + fraction.len(),
            };
            (significant <= MAX_DIGITS).then(|| text.parse().ok().map(CellNumber::Real))?
        }
        Some(_) => None,
    }
}

/// Returns the number that people write for a code of digits: 1005 for `01005`, 2125551234 for `(212) 555-1234`.
///
/// ```
/// use portion_text::column_form::code_number;
///
/// assert_eq!(code_number("01005"), Some(1005));
/// assert_eq!(code_number("+1 212-555-1234"), Some(12_125_551_234));
/// assert_eq!(code_number("2024-0017"), None);
/// ```
pub fn code_number(text: &str) -> Option<u64> {
    let digits = text.strip_prefix('+').unwrap_or(text);
    if text.len() > MAX_CODE_BYTES || !digits.starts_with(|c: char| c.is_ascii_digit() || c == '(') {
        return None;
    }
    let (mut number, mut count) = (0_u64, 0);
    // Lengths of the groups of digits, as decimal digits.
    let (mut groups, mut length) = (0_u64, 0);
    for byte in digits.bytes() {
        match byte {
            b'0'..=b'9' => {
                number = number.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
                (count, length) = (count + 1, length + 1);
            }
            b' ' | b'-' | b'(' | b')' if length > 0 => (groups, length) = (groups * 10 + length % 10, 0),
            b' ' | b'-' | b'(' | b')' => {}
            _ => return None,
        }
    }
    let is_plain = count == digits.len();
    let is_phone = count >= MIN_PHONE_DIGITS
        && (text.starts_with(['+', '(']) || length == 4 && matches!(groups, 33 | 133));
    (is_plain || is_phone).then_some(number)
}

/// Returns true for a code of digits that is no number in canonical form.
pub(super) fn is_number_code(text: &str) -> bool {
    let is_plain = !text.starts_with('0') && is_digits(text);
    !is_plain && text != "0" && code_number(text).is_some()
}

/// Returns the number of an amount: `$2.50`, `1,400`, `1 400.50 €`, `-€1,400.00`, `(679.45)`, `679.45-`, `12.50 USD`, `$1.2M`,
/// `+1.25%`.
pub fn amount(text: &str) -> Option<CellNumber> {
    undecorated(text, true).map(|(number, _)| number)
}

/// Returns the sign of the currency of an amount, which may be empty.
fn amount_currency(text: &str) -> Option<&str> {
    undecorated(text, true).map(|(_, currency)| currency)
}

/// Returns the number of a text with a comma before the fraction: `60,17`, `1.060,17`, `5`, `1.099,50 €`.
pub(super) fn decimal_comma(text: &str) -> Option<CellNumber> {
    undecorated(text, false).map(|(number, _)| number)
}

/// Reads a number with a currency and a sign around it; returns it with the currency. `is_point`: the fraction begins with
/// a point.
fn undecorated(text: &str, is_point: bool) -> Option<(CellNumber, &str)> {
    if text.len() > 40 || !text.bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
    let is_minus = |c: char| matches!(c, '-' | '\u{2212}');
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let mut signs = usize::from(inner.is_some());
    // Digits behind a plus are a telephone number.
    let unsigned = text.strip_prefix('+').filter(|rest| rest.ends_with(|c: char| !c.is_ascii_digit()));
    let mut rest = inner.or(unsigned).unwrap_or(text).trim();
    let mut currency = "";
    for strip_sign in [true, false, true] {
        let stripped = if strip_sign { rest.strip_prefix(is_minus) } else { after_currency(rest) };
        if let Some(after) = stripped {
            signs += usize::from(strip_sign);
            if !strip_sign {
                currency = &rest[..rest.len() - after.len()];
            }
            rest = after.trim_start();
        }
    }
    let is_code = |code: &str| code.len() == 3 && code.bytes().all(|b| b.is_ascii_uppercase());
    if let Some((before, code)) = rest.rsplit_once(' ').filter(|(_, code)| is_code(code)) {
        (rest, currency) = (before, code);
    } else if let Some((code, after)) = rest.split_once(' ').filter(|(code, _)| is_code(code)) {
        (rest, currency) = (after, code);
        if let Some(after) = rest.strip_prefix(is_minus) {
            (signs, rest) = (signs + 1, after.trim_start());
        }
    }
    let scale = SCALES.iter().find_map(|(letter, scale)| Some((rest.strip_suffix(*letter)?, *scale)));
    let scale = scale.filter(|_| !currency.is_empty()).map(|(before, scale)| {
        rest = before;
        scale
    });
    let unit = || UNITS.iter().find_map(|unit| rest.strip_suffix(unit));
    if let Some(before) = rest.strip_suffix(CURRENCIES).or_else(unit) {
        (currency, rest) = (&rest[before.len()..], before.trim_end());
    }
    if let Some(before) = rest.strip_suffix(is_minus) {
        (signs, rest) = (signs + 1, before.trim_end());
    }
    let (point, thousands) = if is_point { ('.', ',') } else { (',', '.') };
    let (whole, fraction) = rest.split_once(point).map_or((rest, None), |(whole, part)| (whole, Some(part)));
    let mut groups: Vec<&str> = whole.split(thousands).collect();
    if groups.len() == 1 {
        groups = whole.split(THOUSANDS_SPACES).collect();
    }
    let is_grouped = groups.iter().all(|group| is_digits(group)) && are_thousands(&groups);
    let is_code = whole.len() > 1 && whole.starts_with('0');
    let digit_count = text.bytes().filter(u8::is_ascii_digit).count();
    if signs > 1
        || is_code
        || !is_grouped
        || digit_count > MAX_DIGITS
        || fraction.is_some_and(|part| !is_digits(part))
    {
        return None;
    }
    let sign = if signs == 1 { "-" } else { "" };
    let plain = match fraction {
        Some(fraction) => format!("{sign}{}.{fraction}", groups.concat()),
        None => format!("{sign}{}", groups.concat()),
    };
    let number = plain.parse().map(CellNumber::Integer).or_else(|_| plain.parse().map(CellNumber::Real));
    let number = match (number.ok()?, scale) {
        (number, None) => number,
        (CellNumber::Integer(n), Some(scale)) => CellNumber::Real(n as f64 * scale),
        (CellNumber::Real(n), Some(scale)) => CellNumber::Real(n * scale),
    };
    Some((number, currency))
}

/// Returns true for the groups of digits of a number: of three, or, as in India, of two before the last three.
fn are_thousands(groups: &[&str]) -> bool {
    let [first, middle @ .., last] = groups else { return true };
    let are_of = |length: usize| first.len() <= 3 && middle.iter().all(|group| group.len() == length);
    last.len() == 3 && (are_of(3) || are_of(2))
}

/// Returns the rest of a text behind the sign of a currency, which may have letters before it: `R$`, `US$`.
fn after_currency(text: &str) -> Option<&str> {
    let letters = text.bytes().take(2).take_while(u8::is_ascii_uppercase).count();
    let rest = text[letters..].strip_prefix(CURRENCIES)?;
    (letters == 0 || text[letters..].starts_with('$')).then_some(rest)
}

/// Returns true for a text such as `60,17`, whose comma cannot stand between thousands.
fn has_decimal_comma(text: &str) -> bool {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    digits.rsplit_once(',').is_some_and(|(whole, fraction)| {
        let whole = whole.trim_start_matches(|c: char| !c.is_ascii_digit());
        is_digits(fraction) && (fraction.len() != 3 || whole.contains('.') || whole == "0" || whole.len() > 3)
    })
}

/// Returns true for digits with points between thousands: `1.400`.
fn is_pointed_thousands(digits: &str) -> bool {
    let mut groups = digits.split('.');
    let first =
        groups.next().is_some_and(|first| is_digits(first) && first.len() <= 3 && !first.starts_with('0'));
    let mut rest = groups.peekable();
    first && rest.peek().is_some() && rest.all(|group| group.len() == 3 && is_digits(group))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::{CellNumber, amount};

    #[test]
    fn amounts_are_read_as_people_write_them() {
        for (text, expect) in [
            ("$2.50", Some(2.5)),
            ("1,400", Some(1400.0)),
            ("-€1,400.00", Some(-1400.0)),
            ("$-471.04", Some(-471.04)),
            ("USD -471.04", Some(-471.04)),
            ("-USD -4", None),
            ("(679.45)", Some(-679.45)),
            ("(1,679)", Some(-1679.0)),
            ("679.45-", Some(-679.45)),
            ("\u{2212}5", Some(-5.0)),
            ("2 828.53", Some(2828.53)),
            ("2\u{a0}828", Some(2828.0)),
            ("12.50 USD", Some(12.5)),
            ("1,234 €", Some(1234.0)),
            ("+1.25%", Some(1.25)),
            ("-7.5 °C", Some(-7.5)),
            ("$1.5M", Some(1.5e6)),
            ("-$2K", Some(-2000.0)),
            ("US$ 1,400", Some(1400.0)),
            ("CHF 1\u{2019}400.50", Some(1400.5)),
            ("1'400'000", Some(1.4e6)),
            ("\u{20b9}3,00,993.00", Some(300_993.0)),
            ("12,34,56,789", Some(123_456_789.0)),
            ("1,23,45", None),
            ("300,99,093", Some(30_099_093.0)),
            ("5'11", None),
            ("+15", None),
            ("12K", None),
            ("(-5)", None),
            ("60,17", None),
            ("1.099,50 €", None),
            ("12 34", None),
            ("5 kg", None),
            ("", None),
            ("-", None),
            ("$", None),
        ] {
            let number = match amount(text) {
                Some(CellNumber::Integer(n)) => Some(n as f64),
                Some(CellNumber::Real(n)) => Some(n),
                None => None,
            };
            assert_eq!(number, expect, "{text}");
        }
    }
}
