//! Tests redaction of JSON with line breaks in strings, and with comments.

use super::check;

fn check_secrets(text: &str, expect: &str, named: &[&str]) {
    check("secrets", text, expect, named);
}

#[test]
fn strings_with_line_breaks_are_hidden_up_to_their_quote() {
    for feed in ["\n", "\r\n", "\r", "\n\n"] {
        for (text, expect) in [
            (r#"{"a":1,"password":"abc<LF>hunter2 def","n":1}"#, r#"{"a":1,"password":"[redacted]","n":1}"#),
            (
                r#"{"a":NaN,"password":"abc<LF>hunter2 def","n":1}"#,
                r#"{"a":NaN,"password":"[redacted]","n":1}"#,
            ),
            (
                r#"{"password":"abc<LF>hun\"ter2 def" , "token": ["a<LF>b"], "n":1} and [NaN]"#,
                r#"{"password":"[redacted]", "n":1} and [NaN]"#,
            ),
            (r#"See {"password":"abc<LF>hunter2 def"}."#, r#"See {"password":"[redacted]"}."#),
            (
                r#"{"x":"{\"password\":\"abc<LF>hunter2 def\",\"n\":1}","pin":"1"}"#,
                r#"{"x":"{\"password\":\"[redacted]\",\"n\":1}","pin":"[redacted]"}"#,
            ),
        ] {
            let named: &[&str] = match text {
                _ if text.contains("token") => &["password", "token"],
                _ if text.contains("pin") => &["password", "pin"],
                _ => &["password"],
            };
            check_secrets(&text.replace("<LF>", feed), expect, named);
        }
    }
    check_secrets(
        "{\"password\":\"abc\nhunter2 def\", \"x\": [1, f(2)]}",
        "{\"password\":\"[redacted]\", \"x\": [1, f(2)]}",
        &["password"],
    );
}

#[test]
fn comments_in_json_are_skipped() {
    check_secrets(
        r#"{"password" /* d */ : /* e */ "X", "n": 1}"#,
        r#"{"password" /* d */ : /* e */ "[redacted]", "n": 1}"#,
        &["password"],
    );
    check_secrets(
        "{\n  // the password\n  \"password\": // here\n    \"X\",\n  /* \"a\": */ \"n\": 1,\n}",
        "{\n  // the password\n  \"password\": // here\n    \"[redacted]\",\n  /* \"a\": */ \"n\": 1,\n}",
        &["password"],
    );
    check_secrets(
        "f({ password /* d */: /* e */ 'X', n: 1 })",
        "f({ password /* d */: /* e */ '[redacted]', n: 1 })",
        &["password"],
    );
    check_secrets(
        "{\"a\": 1, // token=hunter2\n\"n\": \"http://x\"}",
        "{\"a\": 1, // token=[redacted]\n\"n\": \"http://x\"}",
        &["token"],
    );
}

#[test]
fn marks_of_an_earlier_pass_stay() {
    for text in ["f({\"password\": [redacted]), \"x\": 1", "{\"a\": {\"pin\": [redacted]\"b\": 1}"] {
        check_secrets(text, "-", &[]);
    }
    check_secrets(
        "INSERT INTO u (password) VALUES ('cut\nb, ('c', 'd')",
        "INSERT INTO u (password) VALUES ('[redacted]'\nb, ('c', 'd')",
        &["password"],
    );
}
