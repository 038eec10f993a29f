//! Tests redaction in YAML: values with tags and anchors, and what aliases refer to.

use super::check;

fn check_hidden(text: &str, expect: &str, name: &str) {
    check("secrets", text, expect, &[name]);
}

#[test]
fn values_with_tags_and_anchors_are_hidden() {
    for value in [
        "!!str hunter2",
        "&pw hunter2",
        "&pw !!str hunter2",
        "!!str &pw \"hunter2\"",
        "&pw 'it''s \"2\"'",
        "!<tag:yaml.org,2002:str> hunter2",
        "!vault hunter2",
    ] {
        for around in ["db:\n  password: {}\n  port: 1\n", "{password: {}, port: 1}\n", "- password: {}\n"] {
            check_hidden(&around.replace("{}", value), &around.replace("{}", "[redacted]"), "password");
        }
    }
    check_hidden("{password: &pw \"a, b\", n: 1}\n", "{password: [redacted], n: 1}\n", "password");
    check_hidden("passwords: &pw [hunter2, b]\nn: 1\n", "passwords: [redacted]\nn: 1\n", "passwords");
    check_hidden("password: &pw \"a\n  b\"\nn: 1\n", "password: [redacted]\nn: 1\n", "password");
    // A tag without a value is the value.
    check_hidden("password: !abc\n", "password: [redacted]\n", "password");
    check("secrets", "password: !!null null\ntoken: &t true\n", "-", &[]);
}

#[test]
fn blocks_with_tags_and_anchors_are_hidden() {
    check_hidden(
        "password: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  6132\nport: 1\n",
        "password: !vault |\n  [redacted]\n  [redacted]\nport: 1\n",
        "password",
    );
    check_hidden("token: &t !!binary >-\n  aHVu\n", "token: &t !!binary >-\n  [redacted]\n", "token");
    check_hidden(
        "passwords: &pw\n  - a\n  - b\nport: 1\n",
        "passwords: [redacted]\n  - [redacted]\n  - [redacted]\nport: 1\n",
        "passwords",
    );
    check_hidden("secrets: !!seq\n- a\nn: 1\n", "secrets: [redacted]\n- [redacted]\nn: 1\n", "secrets");
}

#[test]
fn values_to_which_hidden_settings_refer_are_hidden() {
    for (text, expect) in [
        ("x: &pw hunter2\npassword: *pw\n", "x: &pw [redacted]\npassword: [redacted]\n"),
        (
            "x: !!str &pw two words\ny: *pw\npassword: *pw # c\n",
            "x: !!str &pw [redacted]\ny: *pw\npassword: [redacted]\n",
        ),
        ("password: *pw\nx: &pw !!str 'a b'\n", "password: [redacted]\nx: &pw !!str '[redacted]'\n"),
        ("{x: &pw hunter2, password: *pw, n: 1}\n", "{x: &pw [redacted], password: [redacted], n: 1}\n"),
        ("- &pw hunter2\n- password: *pw\n", "- &pw [redacted]\n- password: [redacted]\n"),
        (
            "x: &pw |\n  a\n  b\npassword: *pw\n",
            "x: &pw |\n  [redacted]\n  [redacted]\npassword: [redacted]\n",
        ),
    ] {
        check_hidden(text, expect, "password");
    }
    check_hidden(
        "a: &a a1\nb: &b b1\nc: &c c1\npasswords:\n- *a\n- *b\n",
        "a: &a [redacted]\nb: &b [redacted]\nc: &c c1\npasswords:\n- [redacted]\n- [redacted]\n",
        "passwords",
    );
}

#[test]
fn ampersands_and_exclamation_marks_in_other_texts_are_no_properties() {
    for text in [
        "fn f(n: u8, token: &mut Token, x: &str) {}\n",
        "fn f(n: u8, token: &'a str, x: u8) {}\n",
        "x: &pw hunter2\ny: *pw\n",
        "pass the token: & more\n",
    ] {
        check("secrets", text, "-", &[]);
    }
    // A value is not shown because it begins as a tag does.
    check_hidden("my password: !Xk29 is, as I said\n", "my password: [redacted] is, as I said\n", "password");
    check_hidden("password: !correct horse\n", "password: [redacted]\n", "password");
    // The address of a value in source code is no anchor.
    check_hidden(
        "f(&pw x)\nq &pw x\npassword: *pw\n",
        "f(&pw x)\nq &pw x\npassword: [redacted]\n",
        "password",
    );
}
