//! Whether two JSON texts say the same.

use std::borrow::Cow;

use super::minify::after_string;
use super::string::decoded;

/// Whether two valid JSON texts hold the same values in the same order.
///
/// Space, escapes and the spelling of numbers (`1.0`, `1`, `1e0`) may differ; the order of keys may
/// not. Linear, without recursion.
pub fn same_json(a: &str, b: &str) -> bool {
    let (mut left, mut right) = (Tokens { text: a, at: 0 }, Tokens { text: b, at: 0 });
    loop {
        match (left.next(), right.next()) {
            (None, None) => return true,
            (Some(x), Some(y)) if x == y || same_scalar(x, y) => {}
            _ => return false,
        }
    }
}

fn same_scalar(a: &str, b: &str) -> bool {
    if a.starts_with('"') && b.starts_with('"') {
        let plain = |s: &str| -> Cow<'_, str> { decoded(s).into() };
        return (a.contains('\\') || b.contains('\\')) && plain(a) == plain(b);
    }
    // Up to 17 characters a double tells numbers apart; beyond, only the same digits are the same.
    let short = a.len().max(b.len()) <= 17;
    short && matches!((a.parse::<f64>(), b.parse::<f64>()), (Ok(x), Ok(y)) if x.is_finite() && x == y)
}

/// The tokens of valid JSON, each as written.
struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
        let start = self.at;
        self.at = match *bytes.get(start)? {
            b'"' => after_string(bytes, start),
            b'{' | b'}' | b'[' | b']' | b',' | b':' => start + 1,
            _ => {
                let scalar =
                    |b: &u8| matches!(b, b'-' | b'+' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z');
                start + bytes[start..].iter().take_while(|b| scalar(b)).count().max(1)
            }
        };
        self.text.get(start..self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::same_json;

    fn check(a: &str, b: &str, same: bool) {
        assert_eq!(same_json(a, b), same, "{a} {b}");
        assert_eq!(same_json(b, a), same, "{b} {a}");
    }

    #[test]
    fn compares_what_is_said_not_how() {
        check(r#"{"a": [1, 2.0]}"#, r#"{"a":[1,2]}"#, true);
        check(r#""\u00e9""#, r#""é""#, true);
        check("1e400", "1e400", true);
        check("1e400", "1e401", false);
        check("12345678901234567890", "12345678901234567890", true);
        check(r#"{"a":1}"#, r#"{"a":1,"b":2}"#, false);
        check(r#"["1"]"#, "[1]", false);
        check(r#"["a"]"#, r#"["b"]"#, false);
        check("[]", "[[]]", false);
        check("null", "true", false);
    }
}
