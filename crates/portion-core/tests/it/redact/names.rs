//! Tests of the names of secrets, and of secrets without names.

use super::check;

fn check_secrets(text: &str, expect: &str, named: &[&str]) {
    check("secrets", text, expect, named);
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
