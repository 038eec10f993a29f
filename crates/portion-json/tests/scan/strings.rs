//! Compares decoding and quoting of strings with `serde_json`.

use portion_json::scan::{escape_into, escaped_len, quote, unescape, unescape_into};
use proptest::prelude::*;

use crate::json::string;
use crate::scan;

/// Checks the text of a string, and the number of lone surrogates replaced in it.
fn check(quoted: &str, expect: &str, replaced: usize) {
    let mut out = "before ".to_owned();
    assert_eq!(unescape_into(quoted, &mut out), replaced, "{quoted}");
    assert_eq!(out.strip_prefix("before "), Some(expect), "{quoted}");
}

#[test]
fn escapes_are_decoded() {
    check(r#""""#, "", 0);
    check(r#""abc""#, "abc", 0);
    check(r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t", 0);
    check(r#""\u0000\u001f\u007f""#, "\0\u{1f}\u{7f}", 0);
    check(r#""\u00e9\u00E9é""#, "ééé", 0);
    check(r#""\ud83d\udc4d👍""#, "👍👍", 0);
    check(r#""\uDBFF\uDFFF""#, "\u{10ffff}", 0);
    check(r#""\\u0041""#, "\\u0041", 0);
    check(r#""\\\\\"""#, "\\\\\"", 0);
}

#[test]
fn lone_surrogates_are_replaced_and_counted() {
    check(r#""\ud800""#, "\u{fffd}", 1);
    check(r#""\udc00\ud800""#, "\u{fffd}\u{fffd}", 2);
    check(r#""\ud800\ud83d\udc4d""#, "\u{fffd}👍", 1);
    check(r#""\ud800\n""#, "\u{fffd}\n", 1);
    check(r#""\ud800xudc00""#, "\u{fffd}xudc00", 1);
    check(r#""\ud800\u0041""#, "\u{fffd}A", 1);
}

#[test]
fn escapes_are_found_at_every_offset() {
    for before in 0..140 {
        for after in [0, 1, 7, 8, 16, 70] {
            let (before, after) = ("x".repeat(before), "é".repeat(after));
            check(&format!("\"{before}\\n{after}\""), &format!("{before}\n{after}"), 0);
            check(&format!("\"{before}\\ud83d\\udc4d{after}\""), &format!("{before}👍{after}"), 0);
            check(&format!("\"\\n{before}\\\\\\\\\\u00e9{after}\""), &format!("\n{before}\\\\é{after}"), 0);
            assert_eq!(quote(&format!("{before}\"{after}")), format!("\"{before}\\\"{after}\""));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn decoding_is_that_of_serde_json(quoted in string()) {
        let theirs: String = serde_json::from_str(&quoted).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(unescape(&quoted), theirs);
    }

    #[test]
    fn quoting_is_that_of_serde_json(text in text()) {
        let quoted = quote(&text);
        prop_assert_eq!(&quoted, &serde_json::to_string(&text).unwrap_or_default());
        prop_assert_eq!(escaped_len(&text) + 2, quoted.len());
        prop_assert!(scan(&quoted).is_ok());
        let mut out = String::new();
        prop_assert_eq!(unescape_into(&quoted, &mut out), 0);
        prop_assert_eq!(&out, &text);
        out.clear();
        escape_into(&text, &mut out);
        prop_assert_eq!(out.as_str(), &quoted[1..quoted.len() - 1]);
    }
}

/// Generates text with many characters that must be escaped.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[\u{0}-\u{22}\\\\/é👍]{0,64}", "([a-z]{0,20}[\"\\\\\n]){0,8}"]
}
