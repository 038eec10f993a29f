//! Tests where values in text end: at the end of their line, of their quotes, or below.

use portion_redact::RedactionRules;

use super::check;

fn check_secrets(text: &str, expect: &str, named: &[&str]) {
    check("secrets,phone", text, expect, named);
}

#[test]
fn a_value_that_is_alone_on_its_line_is_hidden_whole() {
    for (text, expect, named) in [
        ("password=abc def", "password=[redacted]", "password"),
        ("a=1\nDB_PASSWORD=abc (def, \"ghi\nb=2\n", "a=1\nDB_PASSWORD=[redacted]\nb=2\n", "DB_PASSWORD"),
        ("DB_PASSWORD=abc,def\n", "DB_PASSWORD=[redacted]\n", "DB_PASSWORD"),
        ("spring.datasource.password=abc def==\n", "spring.datasource.password=[redacted]\n", "password"),
        ("[db]\npassword = abc def\n", "[db]\npassword = [redacted]\n", "password"),
        ("phone=+49 123 456\n", "phone=[redacted]\n", "phone"),
        ("name=ann phone=+49 (30) 123-456, mail=x", "name=ann phone=[redacted], mail=x", "phone"),
        ("phone: +49 123 456\n", "phone: [redacted]\n", "phone"),
    ] {
        check_secrets(text, expect, &[named]);
    }
}

#[test]
fn a_value_among_others_ends_with_its_word() {
    for (text, expect, named) in [
        ("at 10:00 password=abc accepted\n", "at 10:00 password=[redacted] accepted\n", "password"),
        ("password=abc user=bob\n", "password=[redacted] user=bob\n", "password"),
        ("TOKEN=abc npm publish --tag x\n", "TOKEN=[redacted] npm publish --tag x\n", "TOKEN"),
        ("TOKEN=abc ./run.sh fast\n", "TOKEN=[redacted] ./run.sh fast\n", "TOKEN"),
        ("password=abc&x=1\n", "password=[redacted]&x=1\n", "password"),
        ("<a href=\"?token=abc\">x \"y\"</a>\n", "<a href=\"?token=[redacted]\">x \"y\"</a>\n", "token"),
        ("say(\"password=abc\" + x, \"y\")\n", "say(\"password=[redacted]\" + x, \"y\")\n", "password"),
        ("f(\n    password=abc,\n    n=1)\n", "f(\n    password=[redacted],\n    n=1)\n", "password"),
        ("token = abc if x else d\n", "token = [redacted] if x else d\n", "token"),
        ("phone=+49123 at 10 o'clock, room=4\n", "phone=[redacted] at 10 o'clock, room=4\n", "phone"),
    ] {
        check_secrets(text, expect, &[named]);
    }
}

#[test]
fn strings_of_several_lines_are_hidden_up_to_their_quote() {
    for (text, expect, named) in [
        ("API_KEY=\"l1\nl2\"\nB=1\n", "API_KEY=\"[redacted]\"\nB=1\n", "API_KEY"),
        ("password: \"a\n  b\n\n  c\"\nn: \"x\"\n", "password: \"[redacted]\"\nn: \"x\"\n", "password"),
        ("f(password='a\\'\r\nb', n='x')\n", "f(password='[redacted]', n='x')\n", "password"),
        ("<add key=\"pin\" value=\"a\nb\"/>\n", "<add key=\"pin\" value=\"[redacted]\"/>\n", "pin"),
        // The next quote opens another string.
        ("password: \"a\nn: \"x\"\n", "password: \"[redacted]\nn: \"x\"\n", "password"),
        ("password: 'tis\nIt's x\n", "password: '[redacted]\nIt's x\n", "password"),
    ] {
        check_secrets(text, expect, &[named]);
    }
}

#[test]
fn strings_that_are_joined_are_hidden() {
    for (text, expect, named) in [
        ("SECRET='a'\"'\"'b'\n", "SECRET='[redacted]'\n", "SECRET"),
        ("export SECRET='a'\"'\"'b' C='d'\n", "export SECRET='[redacted]' C='d'\n", "SECRET"),
        ("x password=?\"x\" y\n", "x password=[redacted] y\n", "password"),
        ("run SECRET=\"a\"b x\n", "run SECRET=\"[redacted] x\n", "SECRET"),
        ("echo \"password='a'\" \"b\"\n", "echo \"password='[redacted]'\" \"b\"\n", "password"),
    ] {
        check_secrets(text, expect, &[named]);
    }
}

#[test]
fn plain_texts_of_several_lines_in_yaml_are_hidden() {
    check_secrets(
        "db:\n  password: abc\n    def\n    ghi\n  port: 1\n",
        "db:\n  password: [redacted]\n  port: 1\n",
        &["password"],
    );
    check_secrets("- password: a\n  user: b\n", "- password: [redacted]\n  user: b\n", &["password"]);
    for text in [
        "token: abc\n    at f (x.js:1:2)\n    at g (y.js:3)\n",
        "password: abc\n  - note\n",
        "password: abc\n  user: ann\n",
        "password: abc\nThe next line\n",
    ] {
        let expect = text.replacen("abc", "[redacted]", 1);
        check_secrets(text, &expect, &[text.split(':').next().unwrap_or_default()]);
    }
}

#[test]
fn source_code_without_values_stays() {
    for text in [
        "def f(\n    password=None,\n    token=None, x)\n    secret=None):\n",
        "from a import (\n    AccessToken, Verifier,\n    Other, More,\n)\n",
        "name: x\nHeaderValue::from_static(y)\nkey: token\nvalue::read(z)\n",
        "yield index, token, value\nyield index, Token.Error, x\n",
        "extract(self.cookies, request, x)\nextract(self.cookies, request, y)\n",
        "from a import AccessToken, Verifier\nfrom b import Other, More\n",
    ] {
        check_secrets(text, "-", &[]);
    }
}

#[test]
fn json_after_the_name_of_a_setting() {
    for (text, expect, name) in [
        (r#"password: ["plainvalue", "b1c2d3"]"#, "password: [redacted]", "password"),
        (r#"passwords = ["plainvalue", "b1c2d3"]"#, "passwords = [redacted]", "passwords"),
        (r#"password: {"value": "plainvalue"}"#, "password: [redacted]", "password"),
        (
            "user: a\npassword: {\"value\": \"plainvalue\"}\nport: 80",
            "user: a\npassword: [redacted]\nport: 80",
            "password",
        ),
    ] {
        check("secrets", text, expect, &[name]);
    }
    check("secrets", r#"Authorization: {"value": "plainvalue"}"#, "-", &[]);
    check("secrets", r#"Result: {"value": "plainvalue"}"#, "-", &[]);
    check("secrets", r#"users = ["plainvalue", "b1c2d3"]"#, "-", &[]);
}

/// A name that is a keyword of some language makes no text source code, and a list of settings may end with a semicolon.
#[test]
fn settings_with_keywords_as_names_are_settings() {
    for keyword in [
        "type", "class", "package", "import", "static", "public", "const", "let", "var", "function", "use",
        "def",
    ] {
        check_secrets_of(&format!("{keyword}: wifi\nWi-Fi password: Kx9hunter2"), "Kx9hunter2");
        check_secrets_of(&format!("[x]\n{keyword} = s3\nsecret_access_key = Kx9hunter2\n"), "Kx9hunter2");
    }
    for text in [
        "Data Source=db;Uid=sa;Pwd=Kx9hunter2;",
        "CREATE USER 'a'@'%' IDENTIFIED BY 'Kx9hunter2'",
        "ALTER USER a IDENTIFIED WITH mysql_native_password BY 'Kx9hunter2';",
        "CREATE USER scott IDENTIFIED BY Kx9hunter2;",
        "ALTER USER a IDENTIFIED BY \"my secret Kx9hunter2\"",
        "CREATE USER a IDENTIFIED BY VALUES 'S:Kx9hunter2'",
        "mysql --password Kx9hunter2",
        "users[9]{id,name,password}:\n  1,Ann,Kx9hunter2\n  2,\"Bob, B\",Kx9hunter2\n  3,\"Ca",
        "see {\"note\":\"machine h login ann password Kx9hunter2\"} ok",
        "1→secrets:\n2→- Kx9hunter2\n3→- Kx9hunter2b\n4→password: [\n5→  \"Kx9hunter2c\"\n6→]\n7→port: 80\n",
        "setenv API_KEY Kx9hunter2\nset -x API_KEY Kx9hunter2\n#define API_KEY \"Kx9hunter2\"",
        r#"{"url":"https://b.example/k?X-Amz-Expires=900&X-Amz-Signature=Kx9hunter2"}"#,
        r#"<a href="https://b.example/k?x=1&amp;X-Amz-Signature=Kx9hunter2">a</a>"#,
        r#"{"stdout":"machine api.example login u password Kx9hunter2\n"}"#,
        "Wi-Fi key: Kx9hunter2",
        r#"{"config/prod/apiKey":"Kx9hunter2"}"#,
    ] {
        check_secrets_of(text, "Kx9hunter2");
    }
}

#[test]
fn harmless_forms_stay() {
    for text in [
        "token = 1*tchar\npassword = *UNICODECHARNOCRLF\n",
        "Authorization: Bearer <token>",
        "python3-jwt:all 2.6.0-1",
        "  --token FILE   file with the token",
        "The leak was identified by the scanner, and identified by user_id, in all nearby systems.",
        "identified in PR-1234 was fixed by commit",
        r#"builder.Configuration["Jwt:Secret"]"#,
        "PIN: four digits",
        "secrets: 12 mounted, 0 failed",
        "curl -u $USER:$PASSWORD --user-agent me:you https://a.example",
        "docker run -u 1000:1000 --user node:node app",
        "password: ${PASSWORD:?is needed}",
        "password: ${PASSWORD:-}",
        "dsn := fmt.Sprintf(\"%s:%s@tcp(%s)/app\", user, password, host)",
        r#"{"response":"ok","digest":"Digest of mail"}"#,
        r#"{"meta":{"pagination_token":"7140dibdnow9c7btw4827kxa"}}"#,
    ] {
        check("secrets", text, "-", &[]);
    }
}

fn check_secrets_of(text: &str, secret: &str) {
    let (shown, _) =
        RedactionRules::default_secrets().redact(text).unwrap_or_else(|| panic!("shown: {text}"));
    assert!(!shown.contains(secret), "{shown}");
    // Other lines keep their numbers.
    assert_eq!(shown.contains("7→port: 80"), text.contains("7→port: 80"), "{shown}");
}

#[test]
fn numbers_before_a_line_are_read_once() {
    let lines = |number: usize| format!("{}password: Kx9hunter2\n", format!("{number}\t").repeat(20_000));
    check_secrets_of(&format!("{}{}", lines(1), lines(2)), "Kx9hunter2");
}

/// Notations of a value, and the signs that end one there.
const ENDS: &[(&str, &str)] = &[
    ("[db]\npassword = @V\nport = 80\n", ""),
    ("A=1\nDB_PASSWORD=@V\nB=2\n", ""),
    ("db.host=h\ndb.password=@V\n", ""),
    ("db:\n  password: @V\n  port: 80\n", ""),
    ("machine h login ann password @V\n", ""),
    ("Environment=\"DB_PASSWORD=@V\"\n", ""),
    ("[{\"Env\":[\"A=1\",\"DB_PASSWORD=@V\"]}]", ""),
    ("docker run -e 'DB_PASSWORD=@V' db\n", "'"),
    ("Server=h;Password=@V;Encrypt=True", ";"),
    ("GET /a?x=1&password=@V&y=2\n", "&<>'"),
    ("<p>Password: <code>@V</code></p>", "&<"),
    ("login failed password=@V for ann\n", "&;,"),
    ("ALTER USER ann WITH PASSWORD '@V';", "'"),
    ("const cfg = {\n  password: \"@V\",\n  port: 1\n};\n", ""),
];

#[test]
fn a_value_ends_where_its_notation_ends_it() {
    let rules = RedactionRules::default_secrets();
    for (notation, ends) in ENDS {
        for sign in "&;,([<>'#@!%^*+=| ".chars().filter(|sign| !ends.contains(*sign)) {
            let is_spaced = sign == ' ' && !notation.contains("const");
            let is_pair = sign == '=' && (notation.contains([';', '&', '"']) || notation.contains("login"));
            if is_spaced || is_pair || sign == '#' && notation.contains("db:") {
                continue;
            }
            let close = if sign == '(' {
                ")"
            } else if sign == '[' {
                "]"
            } else {
                ""
            };
            let text = notation.replace("@V", &format!("Ab9x7Kq2{sign}Zt5Lm8Qw{close}"));
            let shown = rules.redact(&text).map_or(text.clone(), |(shown, _)| shown);
            assert!(!shown.contains("Ab9x7Kq2") && !shown.contains("Zt5Lm8Qw"), "{text}\n=> {shown}");
            let after = notation.rsplit("@V").next().unwrap_or_default();
            assert!(shown.ends_with(after), "{text}\n=> {shown}");
        }
    }
    for (text, expect) in [
        ("A=1\nDB_PASSWORD=abc(def)\n", "A=1\nDB_PASSWORD=[redacted]\n"),
        ("[db]\npassword = abc[def]\n", "[db]\npassword = [redacted]\n"),
        ("db.password=abc.def\n", "db.password=[redacted]\n"),
        ("ALTER USER ann WITH PASSWORD 'ab9''xY7';", "ALTER USER ann WITH PASSWORD '[redacted]';"),
        ("<p>Password: <code>ab9&amp;xY7</code></p>", "<p>Password: <code>[redacted]</code></p>"),
        ("sent Bearer Ab9x7Kq2&Zt5Lm8Qw to db", "sent Bearer [redacted] to db"),
    ] {
        assert_eq!(rules.redact(text).map(|(shown, _)| shown).as_deref(), Some(expect));
    }
}
