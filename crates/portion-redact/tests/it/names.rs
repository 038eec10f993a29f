//! Tests of the names of secrets, and of secrets without names.

use super::check;

fn check_secrets(text: &str, expect: &str, named: &[&str]) {
    check("secrets", text, expect, named);
}

#[test]
fn secrets_without_names() {
    let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4";
    check_secrets(
        &format!("The answer was {token}. Next\n"),
        "The answer was [redacted]. Next\n",
        &["JSON Web Token"],
    );
    check_secrets(&format!(r#"{{"a":["{token}"]}}"#), r#"{"a":["[redacted]"]}"#, &["JSON Web Token"]);
    check_secrets(
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nabc\n-----END PGP PRIVATE KEY BLOCK-----\n",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----[redacted]-----END PGP PRIVATE KEY BLOCK-----\n",
        &["private key"],
    );
    for text in ["eyJhbGciOiJIUzI1NiJ9", "eyJ.eyJ.x", "-----BEGIN PGP PUBLIC KEY BLOCK-----\nabc\n"] {
        check_secrets(text, "-", &[]);
    }
}

#[test]
fn separators_of_words_do_not_matter_in_a_name_without_wildcards() {
    check(
        "guestEmail,stay.door_code,*code",
        r#"{"guest_email":"a","GUEST-EMAIL":"b","stay":{"doorCode":"c"},"zipCode":"d","zip_cod_e":"e"}"#,
        r#"{"guest_email":"[redacted]","GUEST-EMAIL":"[redacted]","stay":{"doorCode":"[redacted]"},"zipCode":"[redacted]","zip_cod_e":"e"}"#,
        &["guest_email", "GUEST-EMAIL", "stay.doorCode", "zipCode"],
    );
}

#[test]
fn more_keys_of_pairs() {
    check_secrets(
        r#"{"Parameters":[{"ParameterKey":"DBPassword","ParameterValue":"x"},{"ParameterKey":"Size","ParameterValue":"y"}]}"#,
        r#"{"Parameters":[{"ParameterKey":"DBPassword","ParameterValue":"[redacted]"},{"ParameterKey":"Size","ParameterValue":"y"}]}"#,
        &["Parameters.ParameterValue"],
    );
    check_secrets(
        r#"[{"envVar":"API_KEY","value":"x"},{"OptionName":"DBPassword","OptionValue":"x"}]"#,
        r#"[{"envVar":"API_KEY","value":"[redacted]"},{"OptionName":"DBPassword","OptionValue":"[redacted]"}]"#,
        &["value", "OptionValue"],
    );
}

#[test]
fn flags_in_yaml() {
    check_secrets(
        "args:\n- --user\n- ann\n- --password\n- two words\n- \"--token\"\n- \"x\"\n- --verbose\n",
        "args:\n- --user\n- ann\n- --password\n- [redacted]\n- \"--token\"\n- \"[redacted]\"\n- --verbose\n",
        &["--password", "--token"],
    );
    check_secrets("args:\n- --password\n- --verbose\n", "-", &[]);
    check_secrets("- --password\n  - x\nSee --password\nand more\n", "-", &[]);
}

#[test]
fn comments_in_sql() {
    for between in [" /* c */ ", " -- (c)\n", "\n/* a */ /* b */\n"] {
        let text =
            |value| format!("INSERT INTO u (id, /* x */ password){between}VALUES /* d */ (1, '{value}');");
        check_secrets(&text("hunter2"), &text("[redacted]"), &["password"]);
    }
    check_secrets(
        "-- INSERT INTO u (id, password) VALUES (1, 'x');",
        "-- INSERT INTO u (id, password) VALUES (1, '[redacted]');",
        &["password"],
    );
}

#[test]
fn short_names_of_passwords() {
    for (text, expect, named) in [
        (
            "DB_PASS=x\nMYSQL_PASS: y\n",
            "DB_PASS=[redacted]\nMYSQL_PASS: [redacted]\n",
            &["DB_PASS", "MYSQL_PASS"][..],
        ),
        (r#"{"pass":"hunter2"}"#, r#"{"pass":"[redacted]"}"#, &["pass"]),
        (r#"{"user":"ann","pass":"horse","n":1}"#, r#"{"user":"ann","pass":"[redacted]","n":1}"#, &["pass"]),
        (
            r#"{"pw":"horse","a":[1],"userName":"ann"}"#,
            r#"{"pw":"[redacted]","a":[1],"userName":"ann"}"#,
            &["pw"],
        ),
        (
            r#"{"dbPass":"x","adminPw":"y"}"#,
            r#"{"dbPass":"[redacted]","adminPw":"[redacted]"}"#,
            &["dbPass", "adminPw"],
        ),
        (r#"{"api/key":"x"}"#, r#"{"api/key":"[redacted]"}"#, &["api/key"]),
        ("login user=ann pass=horse ok", "login user=ann pass=[redacted] ok", &["pass"]),
        ("smtp:\n  user: ann\n  pass: horse\n", "smtp:\n  user: ann\n  pass: [redacted]\n", &["pass"]),
        ("run pass=hunter2 ok", "run pass=[redacted] ok", &["pass"]),
        ("user,pass\nann,horse\n", "user,pass\nann,[redacted]\n", &["pass"]),
        (
            r#"{"columns":["user","pass"],"rows":[["ann","horse"]]}"#,
            r#"{"columns":["user","pass"],"rows":[["ann","[redacted]"]]}"#,
            &["pass"],
        ),
    ] {
        check_secrets(text, expect, named);
    }
    for text in [
        r#"{"test":"a","pass":true,"fail":false}"#,
        r#"{"pass":12,"fail":3,"user":"ann"}"#,
        r#"{"pass":"inline","ms":3}"#,
        r#"{"pass":"yes","user":"ann"}"#,
        "pass: 12 of 13\nfail: 1\n",
        "PASS: test_abc1 (3 ms)\n",
        "pass=12 fail=3\n",
        "user,pass,fail\nann,12,3\n",
        "test,pass\na,true\n",
        "A pass: the tests pass, pass=true.\n",
    ] {
        check_secrets(text, "-", &[]);
    }
}

#[test]
fn names_in_urls() {
    check_secrets(
        "GET /a?x=1&api%5Fkey=X&y=2&%70assword=Z",
        "GET /a?x=1&api%5Fkey=[redacted]&y=2&%70assword=[redacted]",
        &["api%5Fkey", "%70assword"],
    );
    check_secrets("user%5Bpassword%5D=x&b=1", "user%5Bpassword%5D=[redacted]&b=1", &["password"]);
}
