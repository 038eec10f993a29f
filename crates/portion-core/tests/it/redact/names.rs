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
