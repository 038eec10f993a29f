//! Secrets are hidden in every notation, beside any data: names × separators × notations × shapes of values.

use portion_redact::RedactionRules;
use proptest::prelude::*;
use proptest::sample::select;

/// Names of secrets as they are written.
const NAMES: &[&str] = &[
    "password",
    "Password",
    "DB_PASSWORD",
    "userPassword",
    "passwd",
    "pwd",
    "passPhrase",
    "passKey",
    "psk",
    "PresharedKey",
    "client-key-data",
    "_auth",
    "accountKey",
    "subscriptionKey",
    "connStr",
    "creds",
    "recovery_key",
    "mnemonic",
    "mfa_code",
    "ansible_become_pass",
    "api_key",
    "apiKey",
    "X-API-Key",
    "access_token",
    "refreshToken",
    "client_secret",
    "secret",
    "SECRET_KEY",
    "private_key",
    "doorCode",
    "wifi_password",
    "card_number",
    "connection_string",
    "otp",
    "pin",
    "jwt",
    "session_token",
    "signingKey",
    "webhook_secret",
    "DB_PASS",
    "smtp_pass",
    "encryption-key",
    "auth_token",
    "totp_secret",
];
/// Names of several words, as people write them.
const PHRASES: &[&str] = &[
    "API Key",
    "Door code",
    "Wi-Fi password",
    "Access code",
    "Private key",
    "Recovery code",
    "Access Token",
    "Lockbox code",
];

/// Values of secrets: random ones, those of people, numbers, hexadecimal, base64, sentences of words without a meaning.
fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        "[A-Za-z0-9]{12}[0-9][a-z][A-Z]",
        "[a-z]{5,8}[0-9]{2,4}",
        "[A-Z][a-z]{4,7}[0-9]{2}!",
        "[1-9][0-9]{3,7}",
        "[0-9a-f]{31}a",
        "[A-Za-z0-9+/]{20}Q4xy==",
        "[a-z]{3}[0-9]-[a-z]{4}-[0-9]{4}",
        "Zq[A-Za-z0-9]{2}[A-Z][#%^~_-][A-Za-z0-9]{5}7",
    ]
}

/// Secrets without signs that would end a value without quotes, or that have a meaning in a notation.
fn plain_secret() -> impl Strategy<Value = String> {
    secret().prop_filter("signs", |secret| !secret.contains(['%', '#', '+', '/', '=', '~', '^', '!']))
}

fn shown(text: &str) -> String {
    let rules = RedactionRules::default_secrets();
    let shown = rules.redact(text).map_or_else(|| text.to_owned(), |(shown, _)| shown);
    let again = rules.redact(&shown).map_or_else(|| shown.clone(), |(again, _)| again);
    assert_eq!(again, shown, "a second pass changes nothing");
    shown
}

fn check(text: &str, secret: &str) {
    assert!(text.contains(secret), "{text}");
    for text in [text.to_owned(), serde_json::json!({ "id": 1, "output": text }).to_string()] {
        let shown = shown(&text);
        assert!(!shown.contains(secret), "{text:?}\n=> {shown:?}");
        assert!(shown.contains("[redacted]"), "{text:?}\n=> {shown:?}");
    }
}

/// Notations with a name `@N` and a value `@V`.
const NOTATIONS: &[&str] = &[
    r#"{"@N":"@V","id":1}"#,
    r#"{"id":1,"inner":{"list":[{"x":true,"@N":"@V"}]}}"#,
    r#"[{"name":"@N","value":"@V"},{"name":"host","value":"db"}]"#,
    r#"{"columns":["id","@N"],"rows":[[1,"@V"],[2,null]]}"#,
    r#"[["id","@N"],[1,"@V"]]"#,
    r#"{"id":1,"@N":"@V","cut":[1,"#,
    "{'id': 1, '@N': '@V', 'ok': True}",
    "@N: @V\nport: 80\n",
    "db:\n  port: 80\n  @N: @V\n",
    "- id: 1\n  @N: \"@V\"\n",
    "? @N\n: @V\n",
    "a: {id: 1, @N: @V, x: 2}\n",
    "@N: |\n  @V\nport: 80\n",
    "@N=@V\nPORT=80\n",
    "export @N=@V\n",
    "[db]\n@N = @V\nport = 80\n",
    "[db]\n@N = \"@V\"\n",
    "2024-05-01 10:20:30 INFO connect host=db @N=@V port=80\n",
    "level=info @N=\"@V\" msg=\"x\"\n",
    "id,@N,city\n1,@V,Rome\n2,@V,Oslo\n",
    "id\t@N\n1\t@V\n",
    "id,@N\r1,@V\r2,@V\r",
    "| id | @N |\n| --- | --- |\n| 1 | @V |\n",
    "<config><@N>@V</@N><port>80</port></config>",
    "<add key=\"@N\" value=\"@V\"/>",
    "<property\n  name=\"@N\"\n  value=\"@V\"/>",
    "<table><tr><th>id</th><th>@N</th></tr><tr><td>1</td><td>@V</td></tr></table>",
    "<p>@N: <code>@V</code></p>",
    "<li>@N:<br>@V</li>",
    "@N=<b>@V</b><br>",
    "<p>@N:&nbsp;@V</p>",
    "<p>@N&#58; @V</p>",
    "GET /a?x=1&@N=@V&y=2 HTTP/1.1\n",
    "INSERT INTO t (id, @N) VALUES (1, '@V');\n",
    "const config = { @N: \"@V\", port: 80 };\n",
    "@N => @V\n",
    "\"@N\" => \"@V\",\n",
    "@N : @V\n",
    "@N\u{a0}: @V\n",
    "@N：@V\n",
    "\u{1b}[1m@N\u{1b}[0m: \u{1b}[32m@V\u{1b}[0m\n",
    "- **@N:** @V\n",
    "Use `@N: @V` to log in.\n",
    "define('@N', '@V');\n",
    "ENV @N @V\n",
    "Content-Disposition: form-data; name=\"@N\"\r\n\r\n@V\r\n--x--\r\n",
    "@N = [\n  \"@V\",\n  \"@V\",\n]\n",
];

/// Notations whose names are not of several words, or have other limits.
fn fits(notation: &str, name: &str) -> bool {
    let is_element = notation.starts_with("<config>");
    let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    !(is_element
        || notation.starts_with("ENV")
        || notation.starts_with("INSERT")
        || notation.contains("const config"))
        || is_word
}

/// Secrets of each shape, one after the other.
const SECRETS: [&str; 9] = [
    "Xk9dQ2mfT7aZ4rW",
    "hunter42",
    "Sunshine77",
    "48213",
    "5f4dcc3b5aa765d61d8327deb882cf99",
    "abc1-defg-2345",
    "Zq8kT_x9LmQ7",
    "7h3Qu1ckBr0wn",
    "correcthorse9battery",
];

/// Fills a notation.
fn written(notation: &str, name: &str, secret: &str) -> String {
    notation.replace("@N", name).replace("@V", secret)
}

#[test]
fn every_name_is_one_in_every_notation() {
    let mut failures = Vec::new();
    for (row, name) in NAMES.iter().enumerate() {
        for (column, notation) in NOTATIONS.iter().enumerate().filter(|(_, notation)| fits(notation, name)) {
            let secret = SECRETS[(row + column) % SECRETS.len()];
            let text = written(notation, name, secret);
            let in_string = serde_json::json!({ "id": 1, "output": text }).to_string();
            let found = [text, in_string].into_iter().find(|text| shown(text).contains(secret));
            failures.extend(found);
        }
    }
    assert!(failures.is_empty(), "{} show a secret:\n{}", failures.len(), failures.join("\n---\n"));
}

proptest! {
    #[test]
    fn secrets_of_any_shape_are_hidden(notation in select(NOTATIONS), secret in plain_secret()) {
        check(&written(notation, "password", &secret), &secret);
    }

    #[test]
    fn secrets_under_phrases_are_hidden(
        name in select(PHRASES),
        separator in select(&[": ", ":", " : ", " = ", "=", " => ", "：", "\u{a0}: ", ": **", ":\u{a0}"][..]),
        lead in select(&["", "- ", "* ", "> ", "1: ok\n"][..]),
        secret in plain_secret(),
    ) {
        check(&format!("{lead}{name}{separator}{secret}\nNext: line\n"), &secret);
    }

    #[test]
    fn any_secret_in_json_is_hidden(name in select(NAMES), secret in secret()) {
        check(&serde_json::json!({ "a": [{ "x": 1.5, name: secret }], "n": null }).to_string(), &secret);
    }

    #[test]
    fn names_with_invisible_characters_are_names(secret in plain_secret(), at in 1..7_usize) {
        let mut name = "password".to_owned();
        name.insert(at, '\u{200b}');
        check(&format!("{name}: {secret}\n"), &secret);
        check(&serde_json::json!({ name: secret }).to_string(), &secret);
    }

    #[test]
    fn tokens_are_hidden_by_their_shape(
        (prefix, rest) in select(&[
            ("ghp_", 36), ("github_pat_", 40), ("glpat-", 20), ("xoxb-", 30), ("sk-proj-", 40), ("sk_live_", 24), ("npm_", 36),
            ("pypi-AgEIcHlwaS5vcmc", 40), ("hf_", 34), ("AGE-SECRET-KEY-1", 58), ("https://hooks.slack.com/services/T0/B0/", 24),
            ("Bearer ", 24), ("SG.", 66), ("dapi", 32), ("glrt-", 20), ("sq0atp-", 22), ("pat-na1-", 36), ("ATBB", 32),
            ("sntrys_", 80), ("tskey-auth-", 40), ("r8_", 37), ("pplx-", 48), ("sqp_", 40), ("CCIPAT_", 60),
            ("hvb.", 60), ("pscale_tkn_", 43), ("pscale_pw_", 43), ("dt0c01.", 79), ("sb_secret_", 31), ("rdme_", 70),
            ("fo1_", 43), ("bkua_", 40), ("tgp_v1_", 43), ("vcp_", 56), ("EAAA", 70), ("1//0", 60), ("cio", 32), ("AKCp", 69), ("EAAC", 75), ("xsmtpsib-", 64),
        ][..]),
        seed in "[A-Z0-9]{80}",
        around in select(&["V", "see V.", "{\"a\":[\"V\"]}", "x V y\n", "a,b\nV,1\n"][..]),
    ) {
        let token = &seed[..rest - 1].to_owned();
        let text = around.replace('V', &format!("{prefix}{token}7"));
        let shown = shown(&text);
        prop_assert!(!shown.contains(token.as_str()), "{text} => {shown}");
    }

    #[test]
    fn passwords_in_urls_are_hidden(secret in secret(), scheme in select(&["https", "postgres", "redis", "amqp"][..])) {
        // What seems to be a port ends the name of the host.
        let port = secret.split('/').next().unwrap_or_default();
        let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
        prop_assume!(!(secret.contains('%') || secret.contains('/') && is_port));
        check(&format!("connect to {scheme}://ann:{secret}@db.example:5432/app?x=1\n"), &secret);
    }
}

#[test]
fn tokens_without_a_beginning_are_hidden_by_their_shape() {
    let mixed = |len: usize| "aK9dQ2mfT7aZ4rWx".repeat(5)[..len].to_owned();
    let hex = "5f4dcc3b5aa765d6".repeat(4);
    for token in [
        format!("1234567890:AA{}", mixed(33)),
        format!("MTk4{}.{}.{}", mixed(22), mixed(6), mixed(27)),
        format!("pat{}.{hex}", mixed(14)),
        format!("{}.atlasv1.{}", mixed(14), mixed(67)),
        format!("key-{}", &hex[..32]),
        format!("oy2{}", mixed(43).to_lowercase()),
        format!("v1.0-{}-{}", &hex[..24], hex.repeat(3).split_at(146).0),
        "A3-NOAHGR-IWSCZNHNEAK-LRQ7X-PFNEA-7QWZT-ABCDE".to_owned(),
        format!("hf_{}", "aKxdQymfTzaZurWx".repeat(3).split_at(34).0),
    ] {
        check(&format!("the bot uses {token} now"), &token);
        check(&format!("{{\"a\":[\"{token}\"]}}"), &token);
    }
    check(&format!("https://api.telegram.org/bot1234567890:AA{}/getMe", mixed(33)), &mixed(33));
    let lines = format!("{}\n{}", mixed(64), mixed(64));
    check(&format!("PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 2\n{lines}\nPrivate-MAC: {hex}"), &lines);
    let key = serde_json::json!({ "kty": "RSA", "kid": "k1", "n": mixed(60), "e": "AQAB", "d": mixed(43) });
    let shown = shown(&key.to_string());
    assert!(shown.contains(&mixed(60)) && shown.contains("\"d\":\"[redacted]\""), "{shown}");
}

#[test]
fn private_keys_are_hidden_line_by_line() {
    let lines = [
        "-----BEGIN PRIVATE KEY-----",
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw",
        "hunter2x9Q==",
        "-----END PRIVATE KEY-----",
    ];
    let records: Vec<_> = lines
        .iter()
        .enumerate()
        .map(|(at, line)| serde_json::json!({ "n": at, "file": "k.pem", "text": line }))
        .collect();
    let ended = lines.map(|line| format!("{line}\n"));
    for text in [
        serde_json::json!({ "lines": lines, "next": "hunter" }).to_string(),
        serde_json::json!({ "lines": ended, "next": "hunter" }).to_string(),
        serde_json::json!([records, { "text": "hunter", "file": "k.pem" }]).to_string(),
        records.iter().fold(String::new(), |lines, record| lines + &format!("{record}\n"))
            + "{\"file\":\"k.pem\",\"text\":\"hunter\"}\n",
    ] {
        let shown = shown(&text);
        assert!(!shown.contains("MIIE") && !shown.contains("hunter2x9"), "{shown}");
        assert!(shown.contains("\"hunter\"") && shown.contains("END PRIVATE"), "{shown}");
        assert_eq!(shown.matches("k.pem").count(), text.matches("k.pem").count(), "{shown}");
    }
}

/// Reading on from each of them would take minutes.
#[test]
fn a_run_of_quotes_is_read_once() {
    let quotes = "\"".repeat(200_000);
    check(&format!("x{quotes}y\"\npassword: hunter2x9\n"), "hunter2x9");
}

#[test]
fn marks_around_names_are_not_cut() {
    for text in ["sig</éx>=abc1", "?sig</éx> : abc1", "signature\u{200b}é =abc1"] {
        check(&format!("password: hunter2x9\n{text}\n"), "hunter2x9");
    }
}

#[test]
fn what_stands_around_a_secret_stays() {
    for (text, expect) in [
        ("PGPASSWORD=hunter2x9 psql -h db app\n", "PGPASSWORD=[redacted] psql -h db app\n"),
        (
            "\turl = https://x-access-token:hunter2x9@git.example/o/r.git\n",
            "\turl = https://x-access-token:[redacted]@git.example/o/r.git\n",
        ),
    ] {
        assert_eq!(shown(text), expect);
    }
}

#[test]
fn files_of_secrets() {
    for text in [
        "machine db.example login ann password hunter2x9\n",
        "machine db.example\n  login ann\n  password hunter2x9\n",
        "db.example:5432:app:ann:hunter2x9\n*:5433:app:ann:hunter2x9\n",
        "define( 'DB_PASSWORD', 'hunter2x9' );\n",
        r#"{"auths":{"registry.example":{"auth":"YW5uOmh1bnRlcjJ4OQ=="}}}"#,
        "dn: uid=ann,dc=example\nuserPassword:: aHVudGVyMng5\n",
        "FROM debian\nENV API_TOKEN hunter2x9\nARG NPM_TOKEN=hunter2x9\n",
        "//registry.npmjs.org/:_authToken=hunter2x9\n",
        "https://abcdefgh12345678abcdefgh@git.example/r.git",
        "postgres://ann:hun/ter#2x9@db.example/app",
        "https://s3.example/b/k?X-Amz-Credential=AKIAABCDEFGHIJKLMNOP&X-Amz-Signature=0123456789abcdef0123456789abcdef&x=1",
        "SK0123456789abcdef0123456789abcdef",
        "  ~ password = \"hunter2x9\" -> \"hunter2x9\"\n",
        "redis-server --requirepass hunter2x9 --port 6379\n",
        "setx API_TOKEN hunter2x9\n",
        "jdbc:oracle:thin:scott/hunter2x9@//db:1521/x\n",
        "    Key Content            : hunter2x9\n",
        "fn main() {\n    // password: hunter2x9\n    let token = \"hunter2x9\";\n}\n",
        r#"{"/prod/db/password":"hunter2x9","config/db/secret":"hunter2x9"}"#,
        "curl --user ann:hunter2x9 https://a.example\n",
        "$ curl -s \\\n  -u 'ann:hunter2x9' \\\n  https://a.example\n",
        r#"{"cmd":"curl -u ann:hunter2x9 https://a.example"}"#,
        "ann:hunter2x9@tcp(db.example:3306)/app?parseTime=true",
        r#"{"dsn":"ann:hunter2x9@unix(/run/db.sock)/app"}"#,
        "POSTGRES_PASSWORD: ${POSTGRES_PASSWORD:-hunter2x9}\n",
        "Authorization: Digest username=\"ann\", realm=\"r\", nonce=\"n\", uri=\"/\", response=\"0123456789abcdef0123456789abcdef\"",
        "password <- \"hunter2x9\"\n",
        "id,config\r\n1,\"{\"\"host\"\": \"\"db\"\", \"\"password\"\": \"\"hunter2x9\"\"}\"\r\n",
        "id;note\n1;\"password = \"\"hunter2x9\"\"\"\n",
        "Password ........: hunter2x9\n",
    ] {
        let shown = shown(text);
        for secret in [
            "hunter2x9",
            "YW5uOmh1bnRlcjJ4OQ",
            "aHVudGVyMng5",
            "abcdefgh12345678",
            "ter#2x9",
            "0123456789abcdef",
        ] {
            assert!(!shown.contains(secret), "{text}\n=>> {shown}");
        }
    }
}

/// Values whose names stand elsewhere, are written in parts, or stand in a statement.
#[test]
fn secrets_apart_from_their_names() {
    for text in [
        // Rows whose columns are named elsewhere, and typed values.
        r#"{"schema":{"fields":[{"name":"user"},{"name":"password"}]},"rows":[{"f":[{"v":"bob"},{"v":"kX9dlPq2mZ17"}]}]}"#,
        r#"{"manifest":{"schema":{"columns":[{"name":"user"},{"name":"password"}]}},"result":{"data_array":[["bob","kX9dlPq2mZ17"]]}}"#,
        r#"{"ResultSet":{"Rows":[{"Data":[{"VarCharValue":"user"},{"VarCharValue":"password"}]},{"Data":[{"VarCharValue":"bob"},{"VarCharValue":"kX9dlPq2mZ17"}]}],"ResultSetMetadata":{"ColumnInfo":[{"Name":"user"},{"Name":"password"}]}}}"#,
        r#"{"Tables":[{"Columns":[{"ColumnName":"user"},{"ColumnName":"password"}],"Rows":[["bob","kX9dlPq2mZ17"]]}]}"#,
        r#"{"records":[[{"stringValue":"bob"},{"stringValue":"kX9dlPq2mZ17"}]],"columnMetadata":[{"name":"user"},{"name":"password"}]}"#,
        r#"{"cols":[{"name":"user"},{"name":"password"}],"rows":[[{"type":"text","value":"bob"},{"type":"text","value":"kX9dlPq2mZ17"}]]}"#,
        r#"{"Items":[{"user":{"S":"bob"},"password":{"S":"kX9dlPq2mZ17"}}]}"#,
        "INSERT INTO settings (name, value) VALUES ('smtp_password', 'kX9dlPq2mZ17'), ('host', 'db');\n",
        "NAME          VALUE\nDB_PASSWORD   kX9dlPq2mZ17\nHOST          db.example.com\n",
        // Names in two parts, and marks of a secret.
        r#"{"wifi":{"name":"Lake","key":"kX9dlPq2mZ17"}}"#,
        r#"{"api_keys":[{"name":"ci","key":"kX9dlPq2mZ17"}]}"#,
        r#"{"tokens":{"access":"kX9dlPq2mZ17"},"n":1}"#,
        r#"{"Parameters":[{"Name":"/prod/db/main","Type":"SecureString","Value":"kX9dlPq2mZ17"}]}"#,
        r#"{"conn":{"sensitive":true,"type":"string","value":"kX9dlPq2mZ17"}}"#,
        r#"{"secret_id":"kX9dlPq2mZ17","write_key":"kX9dlPq2mZ17","tokens":["kX9dlPq2mZ17"],"answers":[{"question":"Wi-Fi password","answer":"kX9dlPq2mZ17"}]}"#,
        // Fallbacks, defaults, and the names of hashes.
        "const apiKey = process.env.API_KEY || \"kX9dlPq2mZ17\";\n",
        "SECRET_KEY = os.environ.get(\n    \"SECRET_KEY\",\n    \"kX9dlPq2mZ17\",\n)\n",
        "password: str = Field(default=\"kX9dlPq2mZ17\")\n",
        "spring:\n  datasource:\n    password: ${DB_PASS:kX9dlPq2mZ17}\n",
        "spring.security.user.password={noop}kX9dlPq2mZ17\n",
        "userPassword: {SSHA}kX9dlPq2mZ17\n",
        // Setters and directives.
        "ds.setPassword(\"kX9dlPq2mZ17\");\n",
        "os.Setenv(\"API_KEY\", \"kX9dlPq2mZ17\")\nSystem.setProperty(\"x.keyStorePassword\", \"kX9dlPq2mZ17\");\n",
        "SetEnv DB_PASSWORD \"kX9dlPq2mZ17\"\nproxy_set_header Authorization \"Basic kX9dlPq2mZ17\";\nset $api_key \"kX9dlPq2mZ17\";\n",
        "aws configure set aws_secret_access_key kX9dlPq2mZ17\n",
        "TOKEN ?= kX9dlPq2mZ17\nset(API_KEY \"kX9dlPq2mZ17\")\n{:user \"bob\" :password \"kX9dlPq2mZ17\"}\n",
        "Authorization: ApiKey kX9dlPq2mZ17\n",
        "curl -ubob:kX9dlPq2mZ17 https://a.example\nopenssl rsa -passin pass:kX9dlPq2mZ17\nWIFI:T:WPA;S:Lake;P:kX9dlPq2mZ17;;\n",
        "pw: kX9dlPq2mZ17\nFTP_PASS=ftp!pass\nLogin code: 556677\n",
        "bob:$apr1$lzkO7rRu$kX9dlPq2mZ17kX9dlPq2mZ17\n-----BEGIN OpenVPN Static key V1-----\nkX9dlPq2mZ17\n-----END OpenVPN Static key V1-----\n",
        "see pcsk_3Y8jRetukX9dlPq2mZ17kX9dlPq2mZ17kX9dlPq2mZ17kX9dlPq2mZ17 and https://hooks.zapier.com/hooks/catch/kX9dlPq2mZ17/\n",
    ] {
        let shown = shown(text);
        for secret in ["kX9dlPq2mZ17", "ftp!pass", "556677"] {
            assert!(!shown.contains(secret), "{text}\n=>> {shown}");
        }
    }
}
