//! Tests redaction by paths where a path is written as a name: columns, pairs and settings.

use super::check;

fn check_phone(text: &str, expect: &str, named: &[&str]) {
    check("guest.phone", text, expect, named);
}

#[test]
fn names_that_are_paths() {
    check_phone(
        r#"{"guest.phone":"1","host.phone":"2"}"#,
        r#"{"guest.phone":"[redacted]","host.phone":"2"}"#,
        &["guest.phone"],
    );
    check_phone(r#"{"a":{"Guest.Phone":1,"b":2}}"#, r#"{"a":{"b":2}}"#, &["a.Guest.Phone"]);
    check(
        "a.guest.phone",
        r#"{"a":{"guest.phone":"1"}}"#,
        r#"{"a":{"guest.phone":"[redacted]"}}"#,
        &["a.guest.phone"],
    );
}

#[test]
fn elements_and_attributes() {
    check_phone(
        "<guests><guest><id>1</id><phone>22</phone></guest><host><phone>33</phone></host></guests>",
        "<guests><guest><id>1</id><phone>[redacted]</phone></guest><host><phone>33</phone></host></guests>",
        &["phone"],
    );
    check_phone(
        r#"<a><guest id="1" phone="22"/><host phone="33"/></a>"#,
        r#"<a><guest id="1" phone="[redacted]"/><host phone="33"/></a>"#,
        &["phone"],
    );
}

#[test]
fn columns_and_pairs_in_json() {
    check_phone(
        r#"{"columns":["id","guest.phone"],"rows":[[1,"2"]]}"#,
        r#"{"columns":["id","guest.phone"],"rows":[[1,"[redacted]"]]}"#,
        &["guest.phone"],
    );
    check_phone(
        r#"{"guest":[["id","phone"],["1","2"]],"host":[["id","phone"],["1","2"]]}"#,
        r#"{"guest":[["id","phone"],["1","[redacted]"]],"host":[["id","phone"],["1","2"]]}"#,
        &["guest.phone"],
    );
    check_phone(
        r#"{"guest":{"columns":["name","value"],"rows":[["phone","2"],["x","3"]]}}"#,
        r#"{"guest":{"columns":["name","value"],"rows":[["phone","[redacted]"],["x","3"]]}}"#,
        &["guest.value"],
    );
    check_phone(
        r#"[{"name":"guest.phone","value":"1"},{"name":"host.phone","value":"2"}]"#,
        r#"[{"name":"guest.phone","value":"[redacted]"},{"name":"host.phone","value":"2"}]"#,
        &["value"],
    );
}

#[test]
fn tables_and_pairs_in_text() {
    check_phone(
        "id,guest.phone,host.phone\n1,22,33\n",
        "id,guest.phone,host.phone\n1,[redacted],33\n",
        &["guest.phone"],
    );
    check_phone(
        "name,value\nguest.phone,22\nfoo,1\n",
        "name,value\nguest.phone,[redacted]\nfoo,1\n",
        &["value"],
    );
    check_phone(
        "- name: guest.phone\n  value: 22\n",
        "- name: guest.phone\n  value: [redacted]\n",
        &["guest.phone"],
    );
}

#[test]
fn settings_in_text() {
    for (text, expect) in [
        ("guest.phone: 22\n", "guest.phone: [redacted]\n"),
        ("x guest[phone]=22&host[phone]=33", "x guest[phone]=[redacted]&host[phone]=33"),
        ("guest:\n  phone: 22\nhost:\n  phone: 33\n", "guest:\n  phone: [redacted]\nhost:\n  phone: 33\n"),
        (
            "a:\n  guest:\n    - id: 1\n      phone: 22\n",
            "a:\n  guest:\n    - id: 1\n      phone: [redacted]\n",
        ),
        (
            "[guest]\nid=1\nphone=22\n[host]\nphone=33\n",
            "[guest]\nid=1\nphone=[redacted]\n[host]\nphone=33\n",
        ),
    ] {
        check_phone(text, expect, &["phone"]);
    }
    check_phone("phone: 22\nhost.phone: 33\n", "-", &[]);
    // Names that may stand too far before the setting count as those of the path.
    let far = format!("guest:\n  about: |\n{}  phone: ", "    words\n".repeat(900));
    check_phone(&format!("{far}22\n"), &format!("{far}[redacted]\n"), &["phone"]);
}

#[test]
fn literals_of_sql_and_of_source_code() {
    let check = |text: &str, expect: &str| check("password", text, expect, &["password"]);
    check("SET password = X'00ff', a=1", "SET password = X'[redacted]', a=1");
    check("SET password = N'two words' WHERE", "SET password = N'[redacted]' WHERE");
    check("SET password = 'it''s two' WHERE", "SET password = '[redacted]' WHERE");
    check("password = rb\"two words\"", "password = rb\"[redacted]\"");
    check("'password=b', 'c'", "'password=[redacted]', 'c'");
    check(
        "INSERT INTO u (id, `password`) VALUES (1, X'00ff'), (2, 'a''b, (c)'), (3, NULL);",
        "INSERT INTO u (id, `password`) VALUES (1, '[redacted]'), (2, '[redacted]'), (3, NULL);",
    );
    check(
        "insert into u(password,\n id) values\n (f('x', 1), 2);\nSELECT 1",
        "insert into u(password,\n id) values\n ('[redacted]', 2);\nSELECT 1",
    );
    check("INSERT INTO u (password) VALUES ('cut off", "INSERT INTO u (password) VALUES ('[redacted]'");
}

#[test]
fn no_depth_of_strings_shows_a_secret() {
    let mut text = r#"{"password":"hunter2","x":1}"#.to_owned();
    for _ in 0..14 {
        text = format!("{{\"x\":{}}}", portion_json::scan::quote(&text));
        let redact = portion_redact::RedactionRules::parse("secrets").expect("patterns");
        let (shown, named) = redact.redact(&text).expect("a password");
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(!named.is_empty());
        assert!(serde_json::from_str::<serde_json::Value>(&shown).is_ok(), "{shown}");
        let again = redact.redact(&shown).map_or_else(|| shown.clone(), |(again, _)| again);
        assert_eq!(again, shown);
    }
}

/// A value is the string in a call, and a prefix is no value.
#[test]
fn strings_in_calls_are_redacted() {
    let check = |text, expect| check("secrets", text, expect, &["password"]);
    check("Config { password: Some(\"hunter2\") }", "Config { password: Some(\"[redacted]\") }");
    check("password = Secret::new('two words')", "password = Secret::new('[redacted]')");
    check("{'password': (u'hunter2',)}", "{'password': (u'[redacted]',)}");
    check("password=$'hunter2' run", "password=$'[redacted]' run");
    check("var password = @\"two words\";", "var password = @\"[redacted]\";");
    // The quote closes a string around the setting.
    check("'password=f(' + x + 'y'", "'password=[redacted]' + x + 'y'");
}
