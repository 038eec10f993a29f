//! Valid and invalid JSON (RFC 8259). The cases follow the public `JSONTestSuite`.

use crate::scan;

/// Checks for `Ok`, or for the offset of the first syntax error.
fn check(text: &str, expect: Result<(), usize>) {
    assert_eq!(scan(text).map(|_| ()).map_err(|error| error.offset), expect, "{text}");
}

#[test]
fn json_is_accepted() {
    let texts = [
        "[]",
        "{}",
        "[ ]",
        "{ }",
        " \t\r\n[] \t\r\n",
        "null",
        "true",
        "false",
        "0",
        "-0",
        "\"\"",
        "[[]   ]",
        "[null, 1, \"1\", {}]",
        "[1\n]",
        " [1]",
        "[2] ",
        "[1,null,null,null,2]",
        "[false]",
        "[\"a\"]",
        r#"{"a":"b"}"#,
        r#"{"":0}"#,
        r#"{"a":1,"a":2}"#,
        r#"{"a":[]}"#,
        r#"{"title":"\u041f"}"#,
        "{\n\"a\":\n\"b\"\n}",
        // Numbers of any size and precision.
        "[123e65]",
        "[0e+1]",
        "[0e1]",
        "[ 4]",
        "[-0.000000000000000000000000000000000000000001]",
        "[20e1]",
        "[-123]",
        "[-1]",
        "[1E22]",
        "[1E-2]",
        "[1E+2]",
        "[123e45]",
        "[123.456e78]",
        "[1e-2]",
        "[1e+2]",
        "[123.456789]",
        "12345678901234567890",
        "-12345678901234567890123",
        "1e400",
        "-1e-400",
        "0.1e1",
        // Strings: every escape, lone and reversed surrogates, noncharacters, DEL.
        r#""\"\\\/\b\f\n\r\t""#,
        r#""\u0000""#,
        r#""\u00e9""#,
        r#""\uD834\uDd1e""#,
        r#""\ud800""#,
        r#""\udc00\ud800""#,
        r#""\ud800\u0041""#,
        r#""\uFFFF""#,
        r#""\u0022""#,
        r#""\\u0000""#,
        r#""\\\"""#,
        "\"\u{7f}\"",
        "\"\u{2028}\u{2029}\"",
        "\"\u{10ffff}\"",
        "\"π日本👍\"",
        "\"a/*b*/c\"",
        "\"asd \"",
        // A byte order mark inside a string is a character.
        "\"\u{feff}\"",
    ];
    texts.into_iter().for_each(|text| check(text, Ok(())));
}

#[test]
fn malformed_structure_is_refused_at_its_offset() {
    check("", Err(0));
    check(" ", Err(1));
    check("[", Err(1));
    check("[1", Err(2));
    check("[1,", Err(3));
    check("[1,]", Err(3));
    check("[,1]", Err(1));
    check("[1,,2]", Err(3));
    check("[1 2]", Err(3));
    check("[1:2]", Err(2));
    check("[\"\": 1]", Err(3));
    check("[}", Err(1));
    check("[1}", Err(2));
    check("]", Err(0));
    check("[]]", Err(2));
    check("[1]x", Err(3));
    check("[] []", Err(3));
    check("{", Err(1));
    check("{]", Err(1));
    check("{\"a\"", Err(4));
    check("{\"a\":", Err(5));
    check("{\"a\":1", Err(6));
    check("{\"a\":1,", Err(7));
    check("{\"a\":1,}", Err(7));
    check("{,\"a\":1}", Err(1));
    check("{\"a\":1,,\"b\":2}", Err(7));
    check("{\"a\" 1}", Err(5));
    check("{\"a\",1}", Err(4));
    check("{\"a\":1 \"b\":2}", Err(7));
    check("{\"a\"::1}", Err(5));
    check("{\"a\":1]", Err(6));
    check("{a:1}", Err(1));
    check("{'a':1}", Err(1));
    check("{1:1}", Err(1));
    check("{null:1}", Err(1));
    check("{[]:1}", Err(1));
    check("{}}", Err(2));
    check("{}#", Err(2));
    check("[1]//", Err(3));
    check("/**/1", Err(0));
}

#[test]
fn malformed_literals_and_numbers_are_refused() {
    let texts = [
        "nul",
        "nulll",
        "True",
        "TRUE",
        "tru",
        "fals",
        "falsE",
        "nil",
        "undefined",
        "NaN",
        "-NaN",
        "Infinity",
        "-Infinity",
        "Inf",
        "-inf",
        "01",
        "-01",
        "00",
        "-",
        "--1",
        "+1",
        "++1",
        ".5",
        "-.5",
        "1.",
        "-1.",
        "1.e3",
        "0.e1",
        "1e",
        "1E",
        "1e+",
        "1e-",
        "0e",
        "1eE2",
        "1e2.5",
        "1.2.3",
        "0x1",
        "0x",
        "1a",
        "1_000",
        "1,5",
        "- 1",
        "1 000",
        "１",
        "-１",
        "½",
        "∞",
        "1\u{0}",
        "\u{feff}1",
        "\u{feff}",
        "\u{a0}1",
        "\u{2060}1",
        "\u{c}1",
        "\u{b}1",
        "1\u{85}",
        "\u{0}",
    ];
    texts.into_iter().for_each(|text| assert!(scan(text).is_err(), "{text}"));
}

#[test]
fn malformed_strings_are_refused_at_their_offset() {
    check("\"", Err(1));
    check("\"abc", Err(4));
    check("'a'", Err(0));
    check("\"\\\"", Err(3));
    check("\"\\", Err(1));
    check("\"\\x00\"", Err(1));
    check("\"\\a\"", Err(1));
    check("\"\\ \"", Err(1));
    check("\"\\é\"", Err(1));
    check("\"\\👍\"", Err(1));
    check("\"\\\u{0}\"", Err(1));
    check("\"\\U0041\"", Err(1));
    check("\"\\'\"", Err(1));
    check("\"\\u\"", Err(1));
    check("\"\\u00\"", Err(1));
    check("\"\\u00A\"", Err(1));
    check("\"\\u00G0\"", Err(1));
    check("\"\\u 041\"", Err(1));
    check("\"\\u+041\"", Err(1));
    check("\"\\uD800\\\"", Err(9));
    check("\"\\uD800\\u\"", Err(7));
    check("\"\\uD800\\u1x\"", Err(7));
    check("\"a\nb\"", Err(2));
    check("\"a\tb\"", Err(2));
    check("\"\u{0}\"", Err(1));
    check("\"\u{1f}\"", Err(1));
    check("\"a\"b\"", Err(3));
    check("\"abcdefghijklmno\u{1}p\"", Err(16));
}

#[test]
fn control_characters_must_be_escaped_at_every_offset() {
    for control in '\0'..='\u{1f}' {
        for before in 0..150 {
            let text = format!("\"{}{control}{}\"", "x".repeat(before), "y".repeat(100));
            check(&text, Err(before + 1));
        }
    }
}

#[test]
fn escapes_are_checked_at_every_offset() {
    for before in 0..200 {
        let with = |escape: &str| format!("\"{}{escape}{}\"", "x".repeat(before), "y".repeat(100));
        let after = |escape: &str| format!("\"{}{escape}{}\"", "\\\"".repeat(before), "é".repeat(100));
        check(&with("\\u00e9\\\""), Ok(()));
        check(&after("\\\\\\n"), Ok(()));
        check(&with("\\x"), Err(before + 1));
        check(&with("\\u12g4"), Err(before + 1));
        check(&after("\\é"), Err(2 * before + 1));
        check(&after("\\\\\""), Err(2 * before + 4));
    }
}

#[test]
fn a_quote_ends_a_string_after_an_even_number_of_backslashes() {
    for lead in 0..70 {
        for backslashes in 0..140 {
            let text = format!("\"{}{}\"", "x".repeat(lead), "\\".repeat(backslashes));
            let end = text.len();
            check(&text, if backslashes % 2 == 0 { Ok(()) } else { Err(end) });
            let longer = text + &"y".repeat(130);
            check(&longer, if backslashes % 2 == 0 { Err(end) } else { Err(longer.len()) });
        }
    }
}

#[test]
fn spans_exclude_surrounding_white_space() {
    for value in ["1", "\"a b\"", "[ 1 , 2 ]", "{ \"a\" : { } }", "null"] {
        let text = format!(" \n\t{value}\r\n ");
        assert_eq!(scan(&text).map(|span| span.slice(&text)), Ok(value));
    }
}
