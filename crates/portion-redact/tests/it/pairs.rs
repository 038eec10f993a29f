//! Tests redaction where the name of a secret is a value: pairs of a name and a value.

use super::check;

#[test]
fn pairs_in_json() {
    let check =
        |text: &str, expect: &str, named: &[&str]| check("secrets,phone,guest.mail", text, expect, named);
    check(
        r#"{"name":"password","value":"hunter2"}"#,
        r#"{"name":"password","value":"[redacted]"}"#,
        &["value"],
    );
    check(
        r#"{"env":[{"name":"HOST","value":"db"},{"name":"DB_PASSWORD","value":"hunter2"},{"value":4711,"name":"Door code"}]}"#,
        r#"{"env":[{"name":"HOST","value":"db"},{"name":"DB_PASSWORD","value":"[redacted]"},{"name":"Door code"}]}"#,
        &["env.value"],
    );
    for (name, value) in [
        ("key", "value"),
        ("Key", "Value"),
        ("field", "content"),
        ("label", "value"),
        ("property", "currentValue"),
        ("title", "content"),
        ("display_name", "default-value"),
    ] {
        for secret in ["apiKey", "spring.datasource.password", "/prod/db/password", "Wi-Fi password"] {
            check(
                &format!(r#"[{{"{name}":"{secret}","x":1,"{value}":"hunter2"}}]"#),
                &format!(r#"[{{"{name}":"{secret}","x":1,"{value}":"[redacted]"}}]"#),
                &[value],
            );
            check(
                &format!(r#"[{{"{value}":"hunter2","x":{{"y":[1]}},"{name}":"{secret}"}}]"#),
                &format!(r#"[{{"{value}":"[redacted]","x":{{"y":[1]}},"{name}":"{secret}"}}]"#),
                &[value],
            );
        }
    }
    check(
        r#"{"attributes":[{"key":"password","value":{"stringValue":"hunter2"}},{"key":"pin","value":{"intValue":1234}},{"key":"tokens","values":["a"]},{"name":"secrets","values":["a","b"]}]}"#,
        r#"{"attributes":[{"key":"password","value":{"stringValue":"[redacted]"}},{"key":"pin","value":{}},{"key":"tokens","values":["a"]},{"name":"secrets"}]}"#,
        &["attributes.value.stringValue", "attributes.value.intValue", "attributes.values"],
    );
    // Names that the operator lists are hidden whole, below their path too.
    check(
        r#"{"guest":[{"key":"mail","value":{"a":1}},{"key":"Phone","value":true}],"host":{"key":"mail","value":"x"}}"#,
        r#"{"guest":[{"key":"mail"},{"key":"Phone"}],"host":{"key":"mail","value":"x"}}"#,
        &["guest.value"],
    );
    // In a string, and in JSON that is cut off.
    check(
        r#"{"data":"[{\"name\":\"password\",\"value\":\"hunter2\"}]"}"#,
        r#"{"data":"[{\"name\":\"password\",\"value\":\"[redacted]\"}]"}"#,
        &["value"],
    );
    check(
        r#"[{"name":"password","value":"hunter2"},{"name":"pin","value":"hun"#,
        r#"[{"name":"password","value":"[redacted]"},{"name":"pin","value":"[redacted]""#,
        &["value"],
    );
}

#[test]
fn pairs_that_contain_no_secret_stay() {
    for text in [
        r#"[{"name":"host","value":"db"},{"name":"passwordPolicy","value":"strict"},{"key":"max_tokens","value":5}]"#,
        r#"{"name":"password","type":"string","default":"x","description":"The password"}"#,
        r#"{"name":"password","value":true,"id":7}"#,
        r#"{"name":"password","value":null}"#,
        r#"{"name":"password","value":{"minLength":8}}"#,
        // Choices.
        r#"{"options":[{"label":"Password","value":"pwd"},{"label":"API key","value":"2"}]}"#,
        r#"[{"label":"API key","value":"api_key"},{"label":"Reset password","value":"reset"}]"#,
        "See {\"options\":[{\"label\":\"Password\",\"value\":\"pwd\"},{\"label\":\"API key\",\"value\":\"2\"}]} there.",
        // Documents and events.
        r#"[{"name":"secrets.md","content":"Text"},{"id":"kubernetes-secrets","content":"Text"}]"#,
        r#"{"type":"token","content":"Hello"}"#,
        r#"{"title":"Password","content":"A password is a word that only you and the server know, ever."}"#,
        // The name of another object.
        r#"{"name":"password","items":[{"value":"x"}]}"#,
        r#"{"secretKeyRef":{"name":"db-secret","key":"password"}}"#,
    ] {
        check("secrets", text, "-", &[]);
    }
}

#[test]
fn pairs_in_tables() {
    let check = |text: &str, expect: &str, named: &[&str]| check("secrets", text, expect, named);
    check(
        r#"{"columns":["id","name","value"],"rows":[[1,"password","hunter2"],[2,"host","db"],[3,"pin",4711]]}"#,
        r#"{"columns":["id","name","value"],"rows":[[1,"password","[redacted]"],[2,"host","db"],[3,"pin",null]]}"#,
        &["value"],
    );
    check(
        "id,name,value,note\n1,password,hunter2,a\n2,host,db,b\n3,Door code,4711,c\n",
        "id,name,value,note\n1,password,[redacted],a\n2,host,db,b\n3,Door code,[redacted],c\n",
        &["value"],
    );
    check(
        "name\tcontent\tnote\npassword\thunter2\tx\n",
        "name\tcontent\tnote\npassword\t[redacted]\tx\n",
        &["content"],
    );
    check(
        "| # | Setting | Value | Note |\n|---|---|---|---|\n| 1 | `DB_PASSWORD` | `hunter2` | x |\n| 2 | **API key** | k | |\n",
        "| # | Setting | Value | Note |\n|---|---|---|---|\n| 1 | `DB_PASSWORD` | [redacted] | x |\n| 2 | **API key** | [redacted] | |\n",
        &["Value"],
    );
    // One row is enough, and a faulty one is read from both ends.
    check("key,value\npassword,hunter2\n", "key,value\npassword,[redacted]\n", &["value"]);
    check(
        "id,key,value\n1,host,db\n2,x,password,hunter2\n",
        "id,key,value\n1,host,db\n2,x,password,[redacted]\n",
        &["value"],
    );
    for text in [
        "id,label,value\n1,Reset password,reset\n2,Password,password\n",
        "name,type,default\npassword,string,x\n",
        "word,count,rank\npassword,31,2\n",
        "We ask for a name, a value, and a note.\nSo password, hunter, and so on.\n",
    ] {
        check(text, "-", &[]);
    }
}

#[test]
fn pairs_in_text() {
    let check = |text: &str, expect: &str, named: &[&str]| check("secrets", text, expect, named);
    check(
        "env:\n  - name: HOST\n    value: db\n  - name: DB_PASSWORD\n    value: correct horse\n  - value: hunter2\n    name: pin\n",
        "env:\n  - name: HOST\n    value: db\n  - name: DB_PASSWORD\n    value: \"[redacted]\"\n  - value: \"[redacted]\"\n    name: pin\n",
        &["env.value"],
    );
    check(
        "name = \"api key\"\nvalue = \"hunter2\"\n",
        "name = \"api key\"\nvalue = \"[redacted]\"\n",
        &["api key"],
    );
    check(
        "<add key=\"password\" value=\"hunter2\"/><add key=\"host\" value=\"db\"/>",
        "<add key=\"password\" value=\"[redacted]\"/><add key=\"host\" value=\"db\"/>",
        &["add.value"],
    );
    check(
        "f({ name: 'password', value: 'hunter2' }, { value: 'a', name: 'host' })",
        "f({ name: 'password', value: '[redacted]' }, { value: 'a', name: 'host' })",
        &["password"],
    );
    check("key=password value=hunter2 x=1", "key=password value=[redacted] x=1", &["password"]);
    for text in [
        "- name: password\n  type: string\n- name: host\n  value: db\n",
        "- name: Reset password\n  content: x\n",
        "name: password\n\nvalue: x\n",
        "env:\n- name: password\n  valueFrom:\n    key: x\n- value: y\n  name: z\n",
    ] {
        check(text, "-", &[]);
    }
}

#[test]
fn elements_of_xml() {
    let check = |text: &str, expect: &str, named: &[&str]| check("secrets", text, expect, named);
    check(
        "<server><id>a</id><password>hunter2</password><api-key/></server>",
        "<server><id>a</id><password>[redacted]</password><api-key/></server>",
        &["password"],
    );
    check(
        "<s:secret x=\"1\">\n <![CDATA[a<b]]>\n</s:secret><property name=\"db.password\">x</property>",
        "<s:secret x=\"1\">\n <![CDATA[[redacted]]]>\n</s:secret><property name=\"db.password\">[redacted]</property>",
        &["secret", "db.password"],
    );
    check(
        "<secret>\n<a>x</a></secret> let p: Vec<Password> = x; y<Token>z <password></password> <hasPassword>yes</hasPassword>",
        "-",
        &[],
    );
}

#[test]
fn settings_with_marks() {
    let check = |text: &str, expect: &str, named: &[&str]| check("secrets", text, expect, named);
    check(
        "Use `password: correct horse` or `token=t1`.",
        "Use `password: [redacted]` or `token=[redacted]`.",
        &["password", "token"],
    );
    check("`password`: `hunter2`, ok", "`password`: `[redacted]`, ok", &["password"]);
    check(
        "- **Password:** hunter2\n- **Door code**: 4711 or 4712\n* __PIN__: 1111\n_pin:_ 2 x",
        "- **Password:** [redacted]\n- **Door code**: [redacted]\n* __PIN__: [redacted]\n_pin:_ [redacted]",
        &["Password", "Door code", "__PIN__", "_pin"],
    );
    check(
        "<b>Password:</b> hunter2<br><b>PIN</b>: 4711<br>",
        "<b>Password:</b> [redacted]<br><b>PIN</b>: [redacted]<br>",
        &["Password", "PIN"],
    );
}

#[test]
fn values_of_several_words() {
    let check = |text: &str, expect: &str, named: &[&str]| check("secrets", text, expect, named);
    check(
        "db:\n  password: correct horse battery\n  port: 1\n",
        "db:\n  password: [redacted]\n  port: 1\n",
        &["password"],
    );
    check(
        "Access instructions: Walk to the gate, enter 4711: it's open. Then go left.\nNext line",
        "Access instructions: [redacted]\nNext line",
        &["Access instructions"],
    );
    check(
        "Key pickup instructions: under the third mat\n",
        "Key pickup instructions: [redacted]\n",
        &["Key pickup instructions"],
    );
    check(
        "at 10:00 user=bob password: abc accepted for now\ntoken: abc, user: bob\n",
        "at 10:00 user=bob password: [redacted] accepted for now\ntoken: [redacted], user: bob\n",
        &["password", "token"],
    );
}

#[test]
fn objects_of_places_and_states() {
    let check = |text: &str, expect: &str, named: &[&str]| check("secrets", text, expect, named);
    check(
        r#"{"id":{"0":1,"1":2},"password":{"0":"hunter2x9","1":null},"pin":{"0":4711,"1":4712}}"#,
        r#"{"id":{"0":1,"1":2},"password":{"0":"[redacted]","1":null},"pin":{}}"#,
        &["password", "pin"],
    );
    for (old, new) in [("old", "new"), ("before", "after"), ("from", "to"), ("previous_value", "current")] {
        check(
            &format!(r#"{{"changes":{{"apiKey":{{"{old}":"hunter2x9","{new}":"hunter3x9"}}}}}}"#),
            &format!(r#"{{"changes":{{"apiKey":{{"{old}":"[redacted]","{new}":"[redacted]"}}}}}}"#),
            &[&format!("changes.apiKey.{old}"), &format!("changes.apiKey.{new}")],
        );
    }
    check(
        r#"{"db_password":{"type":"string","default":"hunter2x9"},"x":{"field":"pin","old":"4711"}}"#,
        r#"{"db_password":{"type":"string","default":"[redacted]"},"x":{"field":"pin","old":"[redacted]"}}"#,
        &["db_password.default", "x.old"],
    );
    check(
        r#"{"errors":{"password":{"0":"is too short"}},"properties":{"password":{"type":"string","default":"hunter2x9"}}}"#,
        "-",
        &[],
    );
}
