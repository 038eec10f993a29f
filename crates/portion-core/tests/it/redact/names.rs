//! Tests of the names of secrets, and of secrets without names.

use super::check;

fn check_secrets(text: &str, expect: &str, named: &[&str]) {
    check("secrets", text, expect, named);
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
