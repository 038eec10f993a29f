//! Compares two JSON texts by value, and numbers exactly.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::string::{string_end, unescape};

/// Returns true if two valid JSON texts hold the same values.
///
/// White space, escapes, the spelling of numbers (`1.0`, `1`, `1e0`) and the order of keys may differ. Linear, without
/// recursion.
pub fn is_equivalent_json(a: &str, b: &str) -> bool {
    a == b || has_same_tokens(a, b) || a.as_bytes().first() == b.as_bytes().first() && digest(a) == digest(b)
}

/// Returns a number that equal values share, whatever the order of their keys.
fn digest(json: &str) -> u64 {
    let hash = |part: &dyn Fn(&mut DefaultHasher)| {
        let mut hasher = DefaultHasher::new();
        part(&mut hasher);
        hasher.finish()
    };
    // For each open container: the sum for the members of an object, or the last number for the items of an array; and the key.
    let mut open: Vec<(u64, Option<u64>)> = vec![(0, None)];
    let add = |open: &mut Vec<(u64, Option<u64>)>, value: u64| {
        let Some((sum, key)) = open.last_mut() else { return };
        *sum = match key.take() {
            Some(key) => sum.wrapping_add(hash(&|hasher| (key, value).hash(hasher))),
            None => hash(&|hasher| (*sum, value).hash(hasher)),
        };
    };
    let mut tokens = JsonTokens { text: json, offset: 0 }.peekable();
    while let Some(token) = tokens.next() {
        match token {
            "{" | "[" => open.push((u64::from(token == "{"), None)),
            "}" | "]" => {
                let (sum, _) = open.pop().unwrap_or_default();
                add(&mut open, sum);
            }
            "," | ":" => {}
            _ => {
                let value = match Decimal::parse(token) {
                    Some(number) => hash(&|hasher| number.hash(hasher)),
                    None if token.starts_with('"') => hash(&|hasher| unescape(token).hash(hasher)),
                    None => hash(&|hasher| (token, ()).hash(hasher)),
                };
                match open.last_mut().filter(|_| tokens.peek() == Some(&":")) {
                    Some((_, key)) => *key = Some(value),
                    None => add(&mut open, value),
                }
            }
        }
    }
    open.pop().unwrap_or_default().0
}

/// Returns true if two JSON texts have the same tokens in the same order.
fn has_same_tokens(a: &str, b: &str) -> bool {
    let (mut left, mut right) = (JsonTokens { text: a, offset: 0 }, JsonTokens { text: b, offset: 0 });
    loop {
        match (left.next(), right.next()) {
            (None, None) => return true,
            (Some(x), Some(y)) if x == y || is_equivalent_scalar(x, y) => {}
            _ => return false,
        }
    }
}

fn is_equivalent_scalar(a: &str, b: &str) -> bool {
    if a.starts_with('"') && b.starts_with('"') {
        let plain = |s: &str| -> Cow<'_, str> { unescape(s).into() };
        return (a.contains('\\') || b.contains('\\')) && plain(a) == plain(b);
    }
    let (a, b) = (Decimal::parse(a), Decimal::parse(b));
    a.is_some() && a == b
}

/// A number as `0.digits × 10^scale`, so that `1.0`, `1` and `10e-1` are equal and nothing is rounded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    is_negative: bool,
    digits: Vec<u8>,
    scale: i64,
}

impl Decimal {
    /// Returns `None` for text that is no number, and for exponents beyond 64 bits, which compare as written.
    fn parse(number: &str) -> Option<Self> {
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        Self::from_parts(mantissa, exponent.parse().ok()?)
    }

    /// Parses a valid number. An exponent beyond 64 bits becomes the nearest one.
    pub(super) fn parse_saturating(number: &str) -> Self {
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let beyond = if exponent.starts_with('-') { i64::MIN / 2 } else { i64::MAX / 2 };
        let within = |exponent: &i64| exponent.unsigned_abs() < beyond.unsigned_abs();
        let exponent = exponent.parse().ok().filter(within).unwrap_or(beyond);
        Self::from_parts(mantissa, exponent).unwrap_or(Self::ZERO)
    }

    fn from_parts(mantissa: &str, exponent: i64) -> Option<Self> {
        let (is_negative, rest) = mantissa.strip_prefix('-').map_or((false, mantissa), |rest| (true, rest));
        let (whole, fraction) = rest.split_once('.').unwrap_or((rest, ""));
        let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        if !all.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let first = all.iter().position(|digit| *digit != b'0');
        let (Some(first), Some(last)) = (first, all.iter().rposition(|digit| *digit != b'0')) else {
            return Some(Self::ZERO);
        };
        let point = i64::try_from(whole.len()).ok()? - i64::try_from(first).ok()?;
        let scale = exponent.checked_add(point)?;
        Some(Self { is_negative, digits: all[first..=last].to_vec(), scale })
    }

    const ZERO: Self = Self { is_negative: false, digits: Vec::new(), scale: 0 };

    /// Returns `digits / 10^places`.
    pub(super) fn from_digits(digits: i64, places: u8) -> Self {
        Self::parse_saturating(&format!("{digits}e-{places}"))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let size = || {
            let scales = || self.scale.cmp(&other.scale).then_with(|| self.digits.cmp(&other.digits));
            (!self.digits.is_empty()).cmp(&!other.digits.is_empty()).then_with(scales)
        };
        match (self.is_negative, other.is_negative) {
            (false, false) => size(),
            (true, true) => size().reverse(),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Iterates over the tokens of valid JSON, each as written.
struct JsonTokens<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> Iterator for JsonTokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.offset), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.offset += 1;
        }
        let start = self.offset;
        self.offset = match *bytes.get(start)? {
            b'"' => string_end(bytes, start),
            b'{' | b'}' | b'[' | b']' | b',' | b':' => start + 1,
            _ => {
                let scalar =
                    |b: &u8| matches!(b, b'-' | b'+' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z');
                start + bytes[start..].iter().take_while(|b| scalar(b)).count().max(1)
            }
        };
        self.text.get(start..self.offset)
    }
}

/// A JSON number.
#[derive(Clone, Debug)]
pub enum ParsedNumber {
    /// `digits / 10^places`, without trailing zeros.
    Decimal {
        /// The number times `10^places`.
        digits: i64,
        /// Decimal places.
        places: u8,
    },
    /// A number with more digits, or with an exponent, and its nearest double.
    Big(Box<Decimal>, f64),
}

/// Longest number without its sign that is parsed as a decimal.
const MAX_DECIMAL_DIGITS: usize = 19;

impl ParsedNumber {
    /// Parses a number that is valid JSON.
    pub fn parse(text: &str) -> Self {
        let bytes = text.as_bytes();
        let (negative, rest) = match bytes.split_first() {
            Some((b'-', rest)) => (true, rest),
            _ => (false, bytes),
        };
        if rest.len() <= MAX_DECIMAL_DIGITS
            && let Some((mut digits, mut places)) = parse_decimal(rest)
        {
            while places > 0 && digits % 10 == 0 {
                digits /= 10;
                places -= 1;
            }
            if let Ok(digits) = i64::try_from(digits) {
                return Self::Decimal { digits: if negative { -digits } else { digits }, places };
            }
        }
        let nearest = text.parse().unwrap_or(f64::NAN);
        Self::Big(Box::new(Decimal::parse_saturating(text)), nearest)
    }

    /// Returns the nearest double.
    pub fn to_f64(&self) -> f64 {
        match self {
            Self::Decimal { digits, places } => *digits as f64 / power_of_ten(*places) as f64,
            Self::Big(_, nearest) => *nearest,
        }
    }

    /// Compares by size, exactly. Exponents beyond 64 bits are equal.
    pub fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Decimal { digits: a, places: p }, Self::Decimal { digits: b, places: q }) if p == q => {
                a.cmp(b)
            }
            (Self::Decimal { digits: a, places: p }, Self::Decimal { digits: b, places: q }) => {
                // 63 bits times 10^19 fit 127.
                (i128::from(*a) * power_of_ten(q.saturating_sub(*p)))
                    .cmp(&(i128::from(*b) * power_of_ten(p.saturating_sub(*q))))
            }
            (Self::Big(a, _), Self::Big(b, _)) => a.cmp(b),
            (Self::Big(a, _), Self::Decimal { digits, places }) => {
                (**a).cmp(&Decimal::from_digits(*digits, *places))
            }
            (Self::Decimal { digits, places }, Self::Big(b, _)) => {
                Decimal::from_digits(*digits, *places).cmp(b)
            }
        }
    }
}

/// Returns the digits and the number of decimal places, or `None` for a number with an exponent.
#[inline]
fn parse_decimal(bytes: &[u8]) -> Option<(u64, u8)> {
    let (mut digits, mut places, mut fraction) = (0_u64, 0_u8, 0_u8);
    for byte in bytes {
        match byte {
            b'0'..=b'9' => {
                digits = digits.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
                places += fraction;
            }
            b'.' => fraction = 1,
            _ => return None,
        }
    }
    Some((digits, places))
}

/// Returns 10 to the power of at most `MAX_DECIMAL_DIGITS`.
pub fn power_of_ten(places: u8) -> i128 {
    POWERS_OF_TEN.get(usize::from(places)).copied().unwrap_or(i128::MAX)
}

const POWERS_OF_TEN: [i128; MAX_DECIMAL_DIGITS + 1] = {
    let mut powers = [1; MAX_DECIMAL_DIGITS + 1];
    let mut i = 1;
    while i <= MAX_DECIMAL_DIGITS {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

#[cfg(test)]
mod tests {
    use super::is_equivalent_json;

    fn check(a: &str, b: &str, same: bool) {
        assert_eq!(is_equivalent_json(a, b), same, "{a} {b}");
        assert_eq!(is_equivalent_json(b, a), same, "{b} {a}");
    }

    #[test]
    fn values_are_compared_not_spellings() {
        check(r#"{"a": [1, 2.0]}"#, r#"{"a":[1,2]}"#, true);
        check(r#""\u00e9""#, r#""é""#, true);
        check("1e400", "1e400", true);
        check("1e400", "1e401", false);
        check("1e-400", "2e-400", false);
        check("1e-400", "0", false);
        check("-0.0", "0e7", true);
        check("-1", "1", false);
        check("100", "1e2", true);
        check("0.00120", "12E-4", true);
        check("0.012", "12E-4", false);
        check("12345678901234567890", "12345678901234567890.0", true);
        check("9007199254740992", "9007199254740993", false);
        check("1e99999999999999999999", "1e99999999999999999999", true);
        check("1e99999999999999999999", "1e99999999999999999998", false);
        check(r#"{"a":1}"#, r#"{"a":1,"b":2}"#, false);
        check(r#"["1"]"#, "[1]", false);
        check(r#"["a"]"#, r#"["b"]"#, false);
        check("[]", "[[]]", false);
        check("null", "true", false);
        check("null", "0", false);
        check(r#"[{"a":1,"b":{"c":"x","d":[]}}]"#, r#"[{"b":{"d":[],"c":"\u0078"},"a":1.0}]"#, true);
        check(r#"{"a":1,"b":2}"#, r#"{"a":2,"b":1}"#, false);
        check(r#"[{"a":1},{"b":2}]"#, r#"[{"b":2},{"a":1}]"#, false);
        check(r#"{"a":[],"b":{}}"#, r#"{"b":[],"a":{}}"#, false);
    }
}
