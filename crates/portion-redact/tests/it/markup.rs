//! Tests redaction in XML, SQL, commands and declarations, where the name of a secret stands apart from its value.

use super::check;

fn check_hidden(text: &str, named: &[&str]) {
    let redact = portion_redact::RedactionRules::default_secrets();
    let shown = text.replace("hunter2", "[redacted]");
    check("secrets", text, &shown, named);
    let again = redact.redact(&shown).map_or_else(|| shown.clone(), |(again, _)| again);
    assert_eq!(again, shown);
}

fn check_shown(text: &str) {
    check("secrets", text, "-", &[]);
}

#[test]
fn elements_around_a_value() {
    check_hidden("<a><password><value>hunter2</value></password></a>", &["password"]);
    check_hidden("<passwords><item>hunter2</item><item>hunter2</item></passwords>", &["passwords"]);
    check_hidden("<property name=\"password\"><value>hunter2</value></property>", &["password"]);
    check_hidden("<p key='token'><value><string>hunter2</string></value></p>", &["token"]);
    check_hidden("<password>\n <![CDATA[hunter2]]>\n</password>", &["password"]);
    check_hidden("<a><![CDATA[<b>x</b><password>hunter2</password>]]></a>", &["password"]);
    check("secrets", "<pin><!-- 1 -->2</pin>", "<pin>[redacted]</pin>", &["pin"]);
    check_shown("<credentials><username>ann</username></credentials>");
    check_shown("Vec<Password> and Map<Token, Vec<Secret>> x </b>");
    check_shown("<password><value>x</password></value>");
}

#[test]
fn elements_beside_a_value() {
    for (name, value) in
        [("name", "value"), ("key", "value"), ("label", "content"), ("key", "string"), ("dt", "dd")]
    {
        check_hidden(
            &format!(
                "<c><p><{name}>user</{name}><{value}>ann</{value}></p><p>\n<{name}>db.password</{name}>\n<{value}>hunter2</{value}></p></c>"
            ),
            // In records, the name is that of the hidden member.
            &[if matches!(value, "string" | "dd") {
                "db.password".to_owned()
            } else {
                format!("c.p.{value}")
            }
            .as_str()],
        );
    }
    check_hidden("<p><value>hunter2</value><x/><name>password</name></p>", &["password"]);
    check_hidden("<p><span>Door code:</span> <span><b>hunter2</b></span></p>", &["Door code"]);
    check_hidden("<label>Password:</label><span>hunter2</span>", &["Password"]);
    check_shown("<p><name>password</name><type>string</type></p>");
    check_shown("<p><name>password</name></p><p><value>x</value></p>");
    check_shown("<tr><th>Password</th><th>Created</th></tr>");
    check_shown("<p><b>Password</b> <a>change it</a></p>");
    check_shown("<h2 id=\"password\">Password</h2>");
}

#[test]
fn statements_of_sql() {
    check_hidden(
        "CREATE TABLE IF NOT EXISTS `app`.`u` (`id` decimal(10,2) DEFAULT '(',\n  password varchar(9),\n  PRIMARY KEY (`id`));\n\
         INSERT INTO `u` VALUES (1, NULL), (2, '[redacted]');\nINSERT INTO other VALUES (1, 'x');\n\
         COPY app.u FROM stdin;\n1\thunter2\n2\t\\N\n\\.\n3\tx\n",
        &["password"],
    );
    check(
        "secrets",
        "create table u (id int, password text);\ninsert into u values (1, 'a''b');",
        "create table u (id int, password text);\ninsert into u values (1, '[redacted]');",
        &["password"],
    );
    check_hidden("COPY public.u (id, password) FROM stdin;\n1\thunter2\n\\.\nx\ty\n", &["password"]);
    check_hidden(
        "CREATE USER ann IDENTIFIED BY 'hunter2'; ALTER ROLE b WITH PASSWORD 'hunter2';",
        &["password"],
    );
    check(
        "secrets",
        "Insert Into u (pin) Values (1111)",
        "Insert Into u (pin) Values ('[redacted]')",
        &["pin"],
    );
    check_shown(
        "CREATE TABLE u (id int,\n password text);\nCREATE TABLE u (id int);\n INSERT INTO u VALUES (1, 2);",
    );
}

#[test]
fn flags_of_commands() {
    check_hidden("tool --user ann --password hunter2 --host x", &["--password"]);
    check_hidden("tool --api-key \"hunter2\"\n", &["--api-key"]);
    check_hidden(r#"{"args":["--user","ann","--password","hunter2","x"]}"#, &["--password"]);
    check_hidden(r#"{"cmd":"tool --password hunter2"}"#, &["--password"]);
    check_shown(
        "--password <PASSWORD>  The password\n--token TOKEN\n--password\n--no-password x --password --host",
    );
    check_shown(r#"{"args":["--password","--host"],"b":["--password"],"c":"x"}"#);
}

#[test]
fn values_of_several_lines_and_with_types() {
    check(
        "secrets",
        "password = \"\"\"\na\nb\n\"\"\"\nx = 1",
        "password = \"\"\"[redacted]\"\"\"\nx = 1",
        &["password"],
    );
    check("secrets", "db.password=a\\\n   b\\\r\n  c\nx=d", "db.password=[redacted]\nx=d", &["password"]);
    check_hidden("fs.s3a.secret.key=hunter2", &["secret.key"]);
    check_hidden(r#"{"name":"fs.s3a.secret.key","value":"hunter2"}"#, &["value"]);
    check_shown("cache.key=x\n");
    check_hidden("password:\n  type: text\n  value: hunter2\nvalue: x\n", &["password"]);
    check_hidden("const password: string = \"hunter2\";", &["password"]);
    check_hidden("let token: Option<&str> = 'hunter2'", &["token"]);
    check_hidden("user=ann&user%5Bpassword%5D=hunter2&x=1", &["password"]);
}

#[test]
fn objects_of_a_value_in_json() {
    check_hidden(r#"{"password":{"type":"text","value":"hunter2"},"x":{"value":"y"}}"#, &["password.value"]);
    check_hidden(r#"{"secrets":[{"name":"a","value":"hunter2"}]}"#, &["secrets.value"]);
    check_hidden(r#"{"header":["id","password"],"data":[[1,"hunter2"]]}"#, &["password"]);
    check_shown(r#"{"properties":{"password":{"type":"string","description":"x"}}}"#);
}

#[test]
fn a_tag_in_a_tag_that_is_not_closed_ends_no_cell() {
    check("secrets", "<table><tr><td 1</td></tr></table>", "-", &[]);
}
