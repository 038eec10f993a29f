//! Texts as YAML.

use std::fmt::Write as _;

use portion_json::scan::quote;

use crate::printable::is_printable;

/// Words that YAML reads as other values than texts.
const YAML_WORDS: &[&str] = &["null", "true", "false", "yes", "no", "on", "off", "y", "n"];

/// Returns a text as a YAML scalar: plain if nothing else can be meant, else as a JSON string, with escapes for all that is
/// not printable.
///
/// ```
/// use portion_text::yaml::yaml_scalar;
///
/// assert_eq!(yaml_scalar("price.total"), "price.total");
/// assert_eq!(yaml_scalar("GET /bookings"), "\"GET /bookings\"");
/// ```
pub fn yaml_scalar(text: &str) -> String {
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '/'))
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'))
        && !YAML_WORDS.contains(&text.to_ascii_lowercase().as_str());
    if is_plain {
        return text.to_owned();
    }
    let mut quoted = String::new();
    for c in quote(text).chars() {
        if is_printable(c) {
            quoted.push(c);
        } else {
            let _ = write!(quoted, "\\u{:04x}", u32::from(c));
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::yaml_scalar;

    #[test]
    fn what_could_mean_something_else_is_quoted() {
        let check = |text: &str, expect: &str| assert_eq!(yaml_scalar(text), expect);
        for plain in ["list_bookings", "_a", "/result", "a-b.c/D9", "nothing"] {
            check(plain, plain);
        }
        for word in
            ["null", "True", "no", "Off", "Y", "", "9x", "-a", ".inf", "~", "*", "a b", "a: b", "a#", "é"]
        {
            check(word, &format!("\"{word}\""));
        }
    }

    #[test]
    fn what_is_not_printable_is_escaped() {
        let check = |text: &str, expect: &str| assert_eq!(yaml_scalar(text), expect);
        check("say \"x\"\\", r#""say \"x\"\\""#);
        check("a\nb\t\0\u{1b}", r#""a\nb\t\u0000\u001b""#);
        check("a\u{7f}\u{85}\u{9b}\u{2028}\u{202e}b", r#""a\u007f\u0085\u009b\u2028\u202eb""#);
    }
}
