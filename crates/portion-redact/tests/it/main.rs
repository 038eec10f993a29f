//! Tests of redaction: redacted values, and that nothing of them remains.

use portion_redact::{RedactError, RedactionRules};

mod faulty_json;
mod fuzz;
mod harmless;
mod laws;
mod manifest;
mod markup;
mod names;
mod notations;
mod pairs;
mod paths;
mod secrets;
mod strings;
mod tables;
mod values;
mod yaml;

/// Checks the redacted text and the named fields; `-` if there is nothing to redact.
fn check(patterns: &str, text: &str, expect: &str, named: &[&str]) {
    let redact = RedactionRules::parse(patterns).expect("patterns");
    match redact.redact(text) {
        Some((shown, hidden)) => {
            assert_eq!((shown.as_str(), hidden), (expect, owned(named)), "{text}");
            // A second pass finds nothing.
            let again = redact.redact(&shown).map_or_else(|| shown.clone(), |(again, _)| again);
            assert_eq!(again, shown, "{text}");
        }
        None => assert_eq!(expect, "-", "{text}"),
    }
    // A string of JSON hides what a text hides.
    let quoted = serde_json::Value::from(text).to_string();
    let in_string = redact.redact(&quoted).map(|(shown, _)| serde_json::from_str(&shown).expect("a string"));
    let expected = (expect != "-").then(|| expect.to_owned());
    assert_eq!(in_string, expected, "{quoted}");
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn strings_are_replaced_and_other_values_removed() {
    check(
        "secrets",
        r#"{"id":1, "password": "hunter2", "token":[1], "pin": 1234, "cvv":null, "name":"Ann"}"#,
        r#"{"id":1, "password": "[redacted]", "cvv":null, "name":"Ann"}"#,
        &["password", "token", "pin"],
    );
    check(
        "secrets",
        r#"{"secrets":[["a","b"],[]],"x":1,"pin":[[[]]]}"#,
        r#"{"x":1,"pin":[[[]]]}"#,
        &["secrets"],
    );
    check("secrets", r#"{"pin":1111}"#, "{}", &["pin"]);
    check("secrets", r#"{ "pin": 1111, "cvv": 222 , "a": 3 }"#, r#"{ "a": 3 }"#, &["pin", "cvv"]);
    check("secrets", r#"{"a":3 , "pin": [1], "cvv": 222 }"#, r#"{"a":3 }"#, &["pin", "cvv"]);
    check(
        "secrets",
        r#"{"pin":1111,"a":{"pin":2222,"b":{"pin":3333}},"cvv":444,"c":5}"#,
        r#"{"a":{"b":{}},"c":5}"#,
        &["pin", "a.pin", "a.b.pin", "cvv"],
    );
}

#[test]
fn fields_that_contain_records_are_searched() {
    check(
        "secrets",
        r#"{"password":{"type":"string","default":"x","password":"y"},"tokens":[],"secrets":[{"pin":"1"}],"/oauth2/token":"z"}"#,
        r#"{"password":{"type":"string","default":"x","password":"[redacted]"},"tokens":[],"secrets":[{"pin":"[redacted]"}],"/oauth2/token":"z"}"#,
        &["password.password", "secrets.pin"],
    );
}

#[test]
fn yaml_values_on_the_next_lines_are_redacted() {
    let check = |text, expect, named: &[&str]| check("secrets", text, expect, named);
    check(
        "user: a\npasswords:\n  - one two\n  - b\nport: 80\n",
        "user: a\npasswords:\n  - [redacted]\n  - [redacted]\nport: 80\n",
        &["passwords"],
    );
    check(
        "db:\n  passwords:\n  - a\n  - b\n  x: 1",
        "db:\n  passwords:\n  - [redacted]\n  - [redacted]\n  x: 1",
        &["passwords"],
    );
    check(
        "secrets:\n- k: a\n  v: b\n\n- c\nnext: 1",
        "secrets:\n- [redacted]\n  [redacted]\n\n- [redacted]\nnext: 1",
        &["secrets"],
    );
    check(
        "password: |-\r\n  a: b\r\n    c\r\nd: 1",
        "password: |-\r\n  [redacted]\r\n    [redacted]\r\nd: 1",
        &["password"],
    );
    check("password: >\n  a", "password: >\n  [redacted]", &["password"]);
    check(
        "secrets:\n  name: a\n  password: b\n",
        "secrets:\n  name: a\n  password: [redacted]\n",
        &["password"],
    );
}

#[test]
fn other_values_are_unchanged() {
    check(
        "secrets",
        r#"{"password":"","hasPassword":true,"secret":false,"token":null,"max_tokens":9}"#,
        "-",
        &[],
    );
    check("secrets", "[1,2,[3]]", "-", &[]);
    check("secrets", "\"password\"", "-", &[]);
}

#[test]
fn fields_are_found_at_any_depth_and_named_once() {
    check(
        "secrets",
        r#"[{"door":{"accessCode":"1"}},[[{"door":{"accessCode":"2"},"api_key":"k"}]]]"#,
        r#"[{"door":{"accessCode":"[redacted]"}},[[{"door":{"accessCode":"[redacted]"},"api_key":"[redacted]"}]]]"#,
        &["door.accessCode", "api_key"],
    );
}

#[test]
fn escaped_keys_are_recognised() {
    check(
        "secrets",
        r#"{"pass\u0077ord":"a","password":"b"}"#,
        r#"{"pass\u0077ord":"[redacted]","password":"[redacted]"}"#,
        &["password"],
    );
}

#[test]
fn patterns() {
    check(
        "phone, *Mail",
        r#"{"phone":1,"Phone":"2","eMail":"x","mail":"y","mailTo":"z"}"#,
        r#"{"Phone":"[redacted]","eMail":"[redacted]","mail":"[redacted]","mailTo":"z"}"#,
        &["phone", "Phone", "eMail", "mail"],
    );
    check(
        "guest.phone",
        r#"{"phone":"1","guest":{"phone":"2"},"guests":[{"guest":[{"phone":"3"}]}]}"#,
        r#"{"phone":"1","guest":{"phone":"[redacted]"},"guests":[{"guest":[{"phone":"[redacted]"}]}]}"#,
        &["guest.phone", "guests.guest.phone"],
    );
    check(
        "vip,secrets",
        r#"{"vip":true,"password":true,"pin":"1"}"#,
        r#"{"password":true,"pin":"[redacted]"}"#,
        &["vip", "pin"],
    );
    check(
        "a*b*c",
        r#"{"aXbYc":"1","abc":"2","acb":"3"}"#,
        r#"{"aXbYc":"[redacted]","abc":"[redacted]","acb":"3"}"#,
        &["aXbYc", "abc"],
    );
    for wrong in ["", "a,,b", "a..b", "*", "a,**", "*.*"] {
        let expect = wrong.contains('*');
        let found = matches!(RedactionRules::parse(wrong), Err(RedactError::MatchesEverything(_)));
        assert!(RedactionRules::parse(wrong).is_err() && found == expect, "{wrong}");
    }
}

#[test]
fn unknown_presets_are_refused() {
    let check = |given: &str, expect: Option<&'static str>| {
        let meant = match RedactionRules::parse(given) {
            Err(RedactError::UnknownPreset { meant, .. }) => Some(meant),
            _ => None,
        };
        assert_eq!(meant, expect, "{given}");
    };
    for given in [
        "secret",
        "Secrets",
        "SECRETS",
        "secrest",
        "secretes",
        "phone,secret",
        "default",
        "all",
        "true",
        "PII",
    ] {
        check(given, Some("secrets"));
    }
    check("None", Some("none"));
    check("off", Some("none"));
    for given in ["secrets", "secret*", "*secret", "client.secret", "secretary", "phone", "sector", "note"] {
        check(given, None);
    }
}

#[test]
fn cells_of_tables() {
    let expect = r#"{"columns":["id","pin","cvv"],"rows":[[1,"[redacted]",null],[2,null,null],[3,true,"[redacted]"]]}"#;
    check(
        "secrets",
        r#"{"columns":["id","pin","cvv"],"rows":[[1,"1234",555],[2,null,[6]],[3,true,"7"]]}"#,
        expect,
        &["pin", "cvv"],
    );
    check(
        "secrets",
        r#"{"t":{"rows":[["a","b",{"pin":1111}]],"fields":[{"name":"id"},{"name":"door_code"},{"name":"more"}]}}"#,
        r#"{"t":{"rows":[["a","[redacted]",{}]],"fields":[{"name":"id"},{"name":"door_code"},{"name":"more"}]}}"#,
        &["t.door_code", "t.rows.pin"],
    );
}

#[test]
fn columns_of_delimited_text() {
    let check = |text, expect, named: &[&str]| check("secrets,guest", text, expect, named);
    check(
        "id,password,Door Code,ok\n1,hunter2,4711,yes\n2,\"a,\"\"b\nc\",,no\n",
        "id,password,Door Code,ok\n1,[redacted],[redacted],yes\n2,\"[redacted]\",,no\n",
        &["password", "Door Code"],
    );
    check("id\tapi_key\r\n1\tk1\r\n2\tk2", "id\tapi_key\r\n1\t[redacted]\r\n2\t[redacted]", &["api_key"]);
    check("\"id\";\"pin\"\n1;1234\n", "\"id\";\"pin\"\n1;[redacted]\n", &["pin"]);
    check(
        "# Users\n\n| name | secret |\n| --- | :-: |\n| Ann | s3 |\n\nname, secret and more.\n",
        "# Users\n\n| name | secret |\n| --- | :-: |\n| Ann | [redacted] |\n\nname, secret and more.\n",
        &["secret"],
    );
    check(
        "name | token\n-----+------\nAnn  | t1\n",
        "name | token\n-----+------\nAnn  | [redacted]\n",
        &["token"],
    );
    check("guest,nights\ntrue,2\n", "guest,nights\n[redacted],2\n", &["guest"]);
    // Values that say that there is no secret stay, also those of other columns.
    check("id,password\n1,true\n2,null\n3,\n4,N/A\n", "-", &[]);
    // A faulty row hides the column from both ends, and does not end the table.
    check(
        "id,token,name\n1,t1,a\n2,x,y,t2,b\n3,t3,c\n",
        "id,token,name\n1,[redacted],a\n2,[redacted],y,[redacted],b\n3,[redacted],c\n",
        &["token"],
    );
    // A quote that is not closed is a letter.
    check("id,token\n1,\"t1\n2,t2\n", "id,token\n1,[redacted]\n2,[redacted]\n", &["token"]);
    // Blank lines, rows of one cell and a faulty first row do not end the table if a complete row follows.
    check(
        "id,token\n\n1,t1\n\n \n,\n2,t2\nEurope\n3,t3\n\nThe end, more or less, of it.\n",
        "id,token\n\n1,[redacted]\n\n \n,\n2,[redacted]\nEurope\n3,[redacted]\n\nThe end, more or less, of it.\n",
        &["token"],
    );
    check(
        "id,name,token\n1,Smith, Ann,t1\n2,Bob,t2\n",
        "id,name,token\n1,Smith, [redacted],[redacted]\n2,Bob,[redacted]\n",
        &["token"],
    );
    // Names with a byte order mark, with signs, of several words, and of years.
    check("\u{feff}token,id\nt1,1\n", "\u{feff}token,id\n[redacted],1\n", &["token"]);
    check(
        "Guest's name,Door code?,Price [€] & fee,Number of guests who stay,2025\nAnn,4711,9,2,3\n",
        "Guest's name,Door code?,Price [€] & fee,Number of guests who stay,2025\nAnn,[redacted],9,2,3\n",
        &["Door code?"],
    );
    // A row of a name and a value is no header.
    check(
        "| Field | Value |\n|---|---|\n| Door code | 4711 |\n| Name | Ann |\n",
        "| Field | Value |\n|---|---|\n| Door code | [redacted] |\n| Name | Ann |\n",
        &["Value"],
    );
    check(
        "key,value\npassword,hunter2\nname,Ann\n",
        "key,value\npassword,[redacted]\nname,Ann\n",
        &["value"],
    );
    // A header below a title or a rule is one.
    check(
        "Report for Acme, 2024\nPassword,Email\nhunter2,x@y\n",
        "Report for Acme, 2024\nPassword,Email\n[redacted],x@y\n",
        &["Password"],
    );
    check(
        "---\nPassword | Email\n--- | ---\nhunter2 | x@y\n",
        "---\nPassword | Email\n--- | ---\n[redacted] | x@y\n",
        &["Password"],
    );
    check(
        "+----------+-------+\n| password | user  |\n+----------+-------+\n| hunter2  | alice |\n+----------+-------+\n",
        "+----------+-------+\n| password | user  |\n+----------+-------+\n| [redacted]  | alice |\n+----------+-------+\n",
        &["password"],
    );
    // A value of several lines is hidden whole.
    check(
        "name,value\nprivate_key,\"abc\nSECRET\ndef\"\nhost,x\n",
        "name,value\nprivate_key,\"[redacted]\"\nhost,x\n",
        &["value"],
    );
    // Commas in code and prose make no table.
    for text in ["x, y = f()\nsecret, err := fetch()\nx\n", "word,count\nthe,310\npassword,31\npin,7\n"] {
        check(text, "-", &[]);
    }
    // A cell of JSON does not end the table.
    check(
        "id,meta,token\n1,\"{\"\"a\"\":1}\",t1\n2,{\"a\":1},t2\n3,,t3\n",
        "id,meta,token\n1,\"{\"\"a\"\":1}\",[redacted]\n2,{\"a\":1},[redacted]\n3,,[redacted]\n",
        &["token"],
    );
    // A sentence is not a header.
    check("It asks for user, password, and so on.\nOne, two, three.\n", "-", &[]);
    check("a,b\n1,2\n", "-", &[]);
}

#[test]
fn lines_of_json_among_other_lines() {
    check(
        "secrets",
        "{\"pin\":\"1\"}\n{\"pin\":2222,\"a\":3}\n",
        "{\"pin\":\"[redacted]\"}\n{\"a\":3}\n",
        &["pin"],
    );
    check(
        "secrets",
        "begin\n{\"pin\":\"1\"}\n{\"pin\":\npassword=abc end\n",
        "begin\n{\"pin\":\"[redacted]\"}\n{\"pin\":\npassword=[redacted]\n",
        &["pin", "password"],
    );
}

#[test]
fn settings_in_text() {
    check(
        "secrets",
        "host=a password=hunter2&x=1\nAPI_KEY: \"abc def\", user: bob\nauthorization: Basic dXNlcjpwYXNz more\nurl https://x.y/?token=t1&a=b max_tokens=5",
        "host=a password=[redacted]&x=1\nAPI_KEY: \"[redacted]\", user: bob\nauthorization: [redacted]\nurl https://x.y/?token=[redacted]&a=b max_tokens=5",
        &["password", "API_KEY", "authorization", "token"],
    );
    check(
        "secrets",
        "{\"user\": \"bob\", \"password\": \"hunter2\", \"cut\": ",
        "{\"user\": \"bob\", \"password\": \"[redacted]\", \"cut\": ",
        &["password"],
    );
    check(
        "secrets",
        "curl -H 'Bearer abcdefgh12345678' AKIAABCDEFGHIJKLMNOP",
        "curl -H 'Bearer [redacted]' [redacted]",
        ["Bearer", "AKIA"].as_slice(),
    );
    check(
        "secrets",
        "-----BEGIN RSA PRIVATE KEY-----\nabc\ndef\n-----END RSA PRIVATE KEY-----\nrest",
        "-----BEGIN RSA PRIVATE KEY-----[redacted]-----END RSA PRIVATE KEY-----\nrest",
        &["private key"],
    );
    check(
        "secrets",
        "Door code: 4711\nat 10:00: open",
        "Door code: [redacted]\nat 10:00: open",
        &["Door code"],
    );
    check("secrets", "The time is 10:00. A password is needed; see the code: it is here.", "-", &[]);
    check("phone", "phone: 123 password: abc", "phone: [redacted] password: abc", &["phone"]);
}

#[test]
fn json_that_is_cut_off_is_json_as_far_as_it_goes() {
    let cut = |json: &str, expect: &str, named: &[&str]| {
        check("secrets,guest.phone", json, expect, named);
    };
    cut(r#"{"id":1,"secrets":["SECRETa","SECRETb"],"x":"y","z"#, r#"{"id":1,"x":"y","z"#, &["secrets"]);
    cut(r#"{"id":1,"secrets":["SECRETa","SECR"#, r#"{"id":1"#, &["secrets"]);
    cut(r#"{"id":1,"credentials":{"user":"u","k":["v"]},"x":[1"#, r#"{"id":1,"x":[1"#, &["credentials"]);
    cut(
        r#"[{"password":"SEC\"RET"},{"password":"SEC"#,
        r#"[{"password":"[redacted]"},{"password":"[redacted]""#,
        &["password"],
    );
    cut(r#"[{"password":"it's `one` SECRET"},{"a"#, r#"[{"password":"[redacted]"},{"a"#, &["password"]);
    cut(
        r#"{"guest":{"phone":"123456"},"phone":"1","#,
        r#"{"guest":{"phone":"[redacted]"},"phone":"1","#,
        &["guest.phone"],
    );
    cut(
        r#"{"columns":["id","pin"],"rows":[[1,"SECRETa"],[2,"SECR"#,
        r#"{"columns":["id","pin"],"rows":[[1,"[redacted]"],[2,"[redacted]""#,
        &["pin"],
    );
    cut(
        "[{\"a\":1,\"secrets\":[\"SECRETa\"]},{\"a\":\"tex\n... [truncated]",
        "[{\"a\":1},{\"a\":\"tex\n... [truncated]",
        &["secrets"],
    );
    cut(
        r#"{"data":"[{\"a\":1,\"secrets\":[\"SECRETa\"]},{\"a\":\"te"}"#,
        r#"{"data":"[{\"a\":1},{\"a\":\"te"}"#,
        &["secrets"],
    );
}

#[test]
fn json_that_is_faulty_is_read_as_far_as_possible() {
    check(
        "secrets",
        r#"{"a":NaN,"secrets":["SECRETa",],"b":[1,],"pin":"2",}"#,
        r#"{"a":NaN,"b":[1,],"pin":"[redacted]",}"#,
        &["secrets", "pin"],
    );
    check(
        "secrets",
        "{\"a\":1, // no\n\"secrets\": [\"SECRETa\", \"b]\"], \"x\": 2}",
        "{\"a\":1, \"x\": 2}",
        &["secrets"],
    );
    check("secrets", r#"{"secrets": ["a", 'SECRET]', f(x)], "x": 2}"#, r#"{, "x": 2}"#, &["secrets"]);
    check(
        "secrets",
        "{'id': 1, 'secrets': ['SECRETa', 'it]s'], 'password': 'SECRET\"b', 'x': None}",
        "{'id': 1, 'secrets': '[redacted]', 'password': '[redacted]', 'x': None}",
        &["secrets", "password"],
    );
    check(
        "secrets",
        "secrets = [SECRETa,\n SECRETb]\nname = x",
        "secrets = [redacted]\nname = x",
        &["secrets"],
    );
    check("secrets", "it's secrets: [SECRETa, don't", "it's secrets: [redacted]", &["secrets"]);
    check("secrets", "secrets: [] and pin: [redacted]", "-", &[]);
}

#[test]
fn json_lines_among_others_are_looked_into() {
    check(
        "secrets",
        "begin\n{\"credentials\":{\"user\":\"u\",\"password\":\"SECRET\"},\"secrets\":[\"SECRET\"]}\nend",
        "begin\n{\"credentials\":{\"user\":\"u\",\"password\":\"[redacted]\"}}\nend",
        &["credentials.password", "secrets"],
    );
}

#[test]
fn deep_and_long_input_needs_no_stack() {
    let deep = format!(
        "{}\"pin\":\"1\"{}",
        "{\"a\":[".repeat(200_000).trim_end_matches('[').to_owned() + "[{",
        "}]}".repeat(200_000)
    );
    let (left, names) = RedactionRules::default_secrets().redact(&deep).expect("a pin");
    assert_eq!(left.len(), deep.len() + "[redacted]".len() - 1);
    assert_eq!(names.len(), 1);
    for unit in [
        "{\"rows\":[[",
        "[",
        "{\"a\":",
        "=",
        "AKIA",
        "ghp_-",
        "PRIVATE KEY-----",
        "password=",
        "password='",
        "{\"columns\":[\"pin\"],\"rows\":[[",
        "{\"secrets\":[\"a\",",
        "{'secrets':['a',",
        "secrets:[\\\"",
        "{\"a\":\"",
        "{\"value\":",
        "{\"value\":[{\"name\":\"pin\"},",
        "value=",
        "name: pin value:",
        "value: x\n",
        "<a><![CDATA[",
        "<pin>",
        "name,value\n",
        "<a b=\"",
        "<li name=\"x\">",
        "<key>pin</key>",
        "<!--",
        "CREATE TABLE t ('",
        "CREATE TABLE t (pin(",
        "(pin)VALUES(",
        "(pin) FROM stdin",
        "--password ",
        "password=\\\n",
        "value: name=\\\n",
        "password: x = ",
        "user,pin\n",
        "user,pin\n\n",
        "a,pin\n1,2\n\n",
        "[1,\"a\n",
        "{\"a\":\"\n",
        "{ /* a ",
        "kind: SecretList\nitems:\n",
        "kind: Secret\ndata: {\n",
        "- data: {\n",
        "password=\"\n",
        "password=?\"x",
        "password='a'\"",
        "password: a\n b\n",
        "phone=+1 1",
        "eyJ.",
        "\"pass\":\"a\",",
        "{\"pass\":\"a\",",
        "user pass=",
        "(pin) /**/ VALUES",
        "/**/VALUES",
        "- --pin\n",
        "%5Fpin=",
        "pin: &a *a\n",
        "- &a |\n- pin: *a\n",
        "pin: !!str\n",
        "pin: !!str \"",
        "pin: *a\nx: &a [\n",
        "\"pin\"\n1",
        "kind: Secret\ndata: {\"\n",
    ] {
        let text = unit.repeat((1 << 18) / unit.len());
        let _ = RedactionRules::default_secrets().redact(&text);
    }
}

#[test]
fn json_in_text_is_redacted() {
    let (plain, hidden) =
        (r#"[{"n": 1,"pin": 7755},{"pin":"hunter2"}]"#, r#"[{"n": 1},{"pin":"[redacted]"}]"#);
    let quoted = |json: &str| portion_json::scan::quote(json);
    let held = |json: &str| format!(r#"{{"a":1, "data": {}}}"#, quoted(json));
    for around in [
        |json: &str| format!("Here they are:\n{json}\nThat is all."),
        |json: &str| format!("```json\n{json}\n```"),
        |json: &str| format!("\u{feff}{json}"),
    ] {
        check("secrets", &around(plain), &around(hidden), &["pin"]);
        check("secrets", &held(&around(plain)), &held(&around(hidden)), &["pin"]);
    }
    for name in ["NaN", "Infinity", "-Infinity"] {
        let with = |json: &str| json.replace('1', name);
        check("secrets", &with(plain), &with(hidden), &["pin"]);
        check("secrets", &held(&with(plain)), &held(&with(hidden)), &["pin"]);
    }
    check("secrets", &held(plain), &held(hidden), &["pin"]);
    check("secrets", &held(&held(plain)), &held(&held(hidden)), &["pin"]);
    check("secrets", &quoted(plain), &quoted(hidden), &["pin"]);
    check("secrets", &held(r#"[{"n": 1}]"#), "-", &[]);
}
