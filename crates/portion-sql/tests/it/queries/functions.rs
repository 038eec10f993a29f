//! Tests the replacements of SQL functions.

use crate::common::check;

fn one(expression: &str, expect: &str) {
    check("[{\"a\":1}]", &format!("SELECT {expression} AS x"), &format!(r#"[{{"x":{expect}}}]"#));
}

#[test]
fn like() {
    for (text, pattern, expect) in [
        ("abc", "ABC", "1"),
        ("abc", "a%", "1"),
        ("abc", "%c", "1"),
        ("abc", "%b%", "1"),
        ("abc", "_b_", "1"),
        ("abc", "__", "0"),
        ("abc", "a%b", "0"),
        ("aXbXc", "a%b%c", "1"),
        ("", "%", "1"),
        ("", "", "1"),
        ("a", "", "0"),
        ("ÄB", "äb", "1"),
        ("abab", "%ab", "1"),
        ("aab", "%a_", "1"),
        ("ab", "%%b", "1"),
        ("ab", "b%", "0"),
        ("a", "a%a", "0"),
        ("aé", "%_", "1"),
    ] {
        one(&format!("'{text}' LIKE '{pattern}'"), expect);
    }
    one(r"'10%' LIKE '10\%' ESCAPE '\'", "1");
    one(r"'10x' LIKE '10\%' ESCAPE '\'", "0");
    one("NULL LIKE 'a'", "null");
    one("12 LIKE '1%'", "1");
}

#[test]
fn glob() {
    for (text, pattern, expect) in [
        ("abc", "a*", "1"),
        ("abc", "A*", "0"),
        ("abc", "[a-c]??", "1"),
        ("abc", "[^a]*", "0"),
        ("a]", "a[]]", "1"),
        ("abc", "[a", "0"),
        ("x-y", "x[-]y", "1"),
        ("abc", "*[bc]", "1"),
    ] {
        one(&format!("'{text}' GLOB '{pattern}'"), expect);
    }
}

#[test]
fn other_functions() {
    for (expression, expect) in [
        (r"'ab12' REGEXP '^[a-z]+\d+$'", "1"),
        (r"'ab' REGEXP '\d'", "0"),
        ("NULL REGEXP 'a'", "null"),
        ("instr('héllo', 'l')", "3"),
        ("instr('a', 'b')", "0"),
        ("replace('aaa', 'a', 'bb')", "\"bbbbbb\""),
        ("trim('  a ')", "\"a\""),
        ("ltrim('xya', 'yx')", "\"a\""),
        ("rtrim('axy', 'yx')", "\"a\""),
        ("round(sqrt(2), 3)", "1.414"),
        ("floor(2.5) + ceil(0.2)", "3.0"),
        ("pow(2, 10)", "1024.0"),
        ("date('2024-01-31', '+1 day')", "\"2024-02-01\""),
        ("printf('%.2f', 2)", "\"2.00\""),
        (r#"json_extract('{"a":[1]}', '$.a')"#, "[1]"),
        ("upper('éß') || lower('ÀB')", "\"ÉSSàb\""),
        ("upper('x') || NULL", "null"),
    ] {
        one(expression, expect);
    }
}
