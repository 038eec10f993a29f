//! Compares two JSON texts by value.

use std::borrow::Cow;

use super::minify::string_end;
use super::string::unescape;

/// Returns true if two valid JSON texts hold the same values in the same order.
///
/// White space, escapes and the spelling of numbers (`1.0`, `1`, `1e0`) may differ; the order of keys may
/// not. Linear, without recursion.
pub fn is_equivalent_json(a: &str, b: &str) -> bool {
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
#[derive(PartialEq)]
struct Decimal {
    is_negative: bool,
    digits: Vec<u8>,
    scale: i64,
}

impl Decimal {
    /// Parses a number; `None` for other text, and for exponents beyond 64 bits, which are compared as
    /// text only.
    fn parse(number: &str) -> Option<Self> {
        let (negative, rest) = number.strip_prefix('-').map_or((false, number), |rest| (true, rest));
        let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        if !all.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let first = all.iter().position(|digit| *digit != b'0');
        let (Some(first), Some(last)) = (first, all.iter().rposition(|digit| *digit != b'0')) else {
            return Some(Self { is_negative: false, digits: Vec::new(), scale: 0 });
        };
        let point = i64::try_from(whole.len()).ok()? - i64::try_from(first).ok()?;
        let scale = exponent.parse::<i64>().ok()?.checked_add(point)?;
        Some(Self { is_negative: negative, digits: all[first..=last].to_vec(), scale })
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
    }
}
