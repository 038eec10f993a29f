//! Tests redaction in tables whose cells look like the names of secrets.

use super::check;

fn check_secrets(text: &str, expect: &str, named: &[&str]) {
    check("secrets", text, expect, named);
}

#[test]
fn rows_that_look_like_headers_are_rows() {
    for delimiter in [",", "\t", ";", "|", " | "] {
        let text = "user,password\nann,Password1\nbob,secret_9Gl\ncyd,token-x\n".replace(',', delimiter);
        let expect =
            "user,password\nann,[redacted]\nbob,[redacted]\ncyd,[redacted]\n".replace(',', delimiter);
        check_secrets(&text, &expect, &["password"]);
    }
    check_secrets(
        "| user | password |\n|---|---|\n| ann | Password1 |\n| bob | secretFoo |\n",
        "| user | password |\n|---|---|\n| ann | [redacted] |\n| bob | [redacted] |\n",
        &["password"],
    );
    check_secrets(
        "user,password\nann,Password1\n\nbob,secretFoo\n\ncyd,token-x\n",
        "user,password\nann,[redacted]\n\nbob,[redacted]\n\ncyd,[redacted]\n",
        &["password"],
    );
    // A grid has a rule below each row.
    check_secrets(
        "+---+---+\n| user | password |\n+---+---+\n| ann | Password1 |\n+---+---+\n| bob | secretFoo |\n+---+---+\n",
        "+---+---+\n| user | password |\n+---+---+\n| ann | [redacted] |\n+---+---+\n| bob | [redacted] |\n+---+---+\n",
        &["password"],
    );
    check_secrets(
        "<table><tr><th>user<th>password</tr><tr><th>ann<th>Password1</tr><tr><th>bob<th>secretFoo</table>",
        "<table><tr><th>user<th>password</tr><tr><th>ann<th>[redacted]</tr><tr><th>bob<th>[redacted]</table>",
        &["password"],
    );
}

#[test]
fn values_are_no_reported_names() {
    check_secrets(
        "password,id\nHunter2password,1\nsecretFoo9,2\nxx,3",
        "password,id\n[redacted],1\n[redacted],2\n[redacted],3",
        &["password"],
    );
    check_secrets(
        r#"{"columns":["integration","token"],"rows":[["prod","secret_8Fk1"],["staging","secret_9Gl2"]]}"#,
        r#"{"columns":["integration","token"],"rows":[["prod","[redacted]"],["staging","[redacted]"]]}"#,
        &["token"],
    );
    check_secrets(
        r#"{"rows":[["prod","secret_8Fk1"],["staging","x"]],"columns":["integration","token"]}"#,
        r#"{"rows":[["prod","[redacted]"],["staging","[redacted]"]],"columns":["integration","token"]}"#,
        &["token"],
    );
    check_secrets(
        "<table><tr><th>password<th>id</tr><tr><td>Hunter2password<td>1</tr></table>",
        "<table><tr><th>password<th>id</tr><tr><td>[redacted]<td>1</tr></table>",
        &["password"],
    );
}

#[test]
fn cells_with_the_words_of_secrets_hide_no_columns() {
    for text in [
        "name,comment\nann,reset password\nbob,Zebra wants 3 towels\ncyd,Late arrival",
        "name,comment\nann,my password\nbob,Zebra wants 3 towels\n\ncyd,Late arrival\n",
        "name;comment\nann;x\nbob;lost secret\ncyd;Late arrival\n",
        "| name | comment |\n|---|---|\n| ann | api key |\n| bob | Late arrival |\n",
        "action,count of it\nReset password,some\nForgot password,many\n",
        r#"{"columns":["name","note"],"rows":[["ann","my password"],["bob","Zebra"]]}"#,
    ] {
        check_secrets(text, "-", &[]);
    }
}

#[test]
fn later_headers_are_headers() {
    // Below a title.
    check_secrets(
        "Report,,\nuser,db_password,city\nann,hunter2,Rome\n",
        "Report,,\nuser,db_password,city\nann,[redacted],Rome\n",
        &["db_password"],
    );
    check_secrets(
        "Passwords, as of 2024\nuser,password\nann,hunter2\n",
        "Passwords, as of 2024\nuser,password\nann,[redacted]\n",
        &["password"],
    );
    // With a rule below it.
    check_secrets(
        "| a | pin |\n|---|---|\n| 1 | 2222 |\n\n| my_token | b |\n|---|---|\n| 333 | 4 |\n",
        "| a | pin |\n|---|---|\n| 1 | [redacted] |\n\n| my_token | b |\n|---|---|\n| [redacted] | 4 |\n",
        &["pin", "my_token"],
    );
    // With another number of columns.
    check_secrets(
        "a,pin\n1,2222\n\nmy_token,b,c\n333,4,5\n",
        "a,pin\n1,[redacted]\n\nmy_token,b,c\n[redacted],4,5\n",
        &["pin", "my_token"],
    );
    // With names of secrets alone, after a gap.
    check_secrets(
        "password,id\nx,1\n\nid,token\n222,y\n",
        "password,id\n[redacted],1\n\nid,token\n222,[redacted]\n",
        &["password", "token"],
    );
    // The same header again.
    check_secrets(
        "id,token\n1,x\n\nid,token\n2,y\nid,token\n3,z\n",
        "id,token\n1,[redacted]\n\nid,token\n2,[redacted]\nid,token\n3,[redacted]\n",
        &["token"],
    );
}

#[test]
fn tables_of_box_characters() {
    check_secrets(
        "┌──────┬──────────┐\n│ user │ password │\n├──────┼──────────┤\n│ ann  │ hunter2  │\n└──────┴──────────┘\n",
        "┌──────┬──────────┐\n│ user │ password │\n├──────┼──────────┤\n│ ann  │ [redacted]  │\n└──────┴──────────┘\n",
        &["password"],
    );
}

#[test]
fn byte_order_marks_hide_no_header() {
    for mark in ["\u{feff}", "\u{feff}\u{feff}"] {
        let check = |text: &str, expect: &str| {
            check_secrets(&format!("{mark}{text}"), &format!("{mark}{expect}"), &["password"]);
        };
        for delimiter in [",", "\t", ";", "|"] {
            let text = "\"password\",\"user\"\n\"hunter2\",\"a\"\n".replace(',', delimiter);
            check(&text, &text.replace("hunter2", "[redacted]"));
        }
        check("\"password\"\nhunter2\n", "\"password\"\n[redacted]\n");
        check(
            "| password | user |\n|---|---|\n| hunter2 | a |\n",
            "| password | user |\n|---|---|\n| [redacted] | a |\n",
        );
        check("{\"password\":\"hunter2\"}", "{\"password\":\"[redacted]\"}");
    }
}

#[test]
fn other_columns_of_a_table_in_quotes_are_searched() {
    check_secrets(
        "\"password\"\t\"note\"\n\"hunter2\"\t\"api_key=k9Xq7Lm2\"\n",
        "\"password\"\t\"note\"\n\"[redacted]\"\t\"api_key=[redacted]\"\n",
        &["api_key", "password"],
    );
}

#[test]
fn tables_of_one_column_between_lines() {
    for text in [
        "| password |\n|---|\n| hunter2 |\n",
        "Found:\r\n\r\n| password |\r\n| :--- |\r\n| hunter2 |\r\n| two words |\r\n\r\n| user |\r\n",
        "+----------+\n| password |\n+----------+\n| hunter2  |\n+----------+\n| N/A      |\n+----------+\n1 row in set\n",
        "┌──────────┐\n│ password │\n├──────────┤\n│ hunter2  │\n└──────────┘\n",
        "║ password ║\n╠══════════╣\n║ hunter2  ║",
    ] {
        let expect = text.replace("hunter2", "[redacted]").replace("two words", "[redacted]");
        check_secrets(text, &expect, &["password"]);
    }
    for text in [
        "| user |\n|---|\n| hunter2 |\n",
        "| passwords |\n|---|\n| hunter2 |\n",
        "| password |\n| hunter2 |\n",
        "| password |\n|---|\nhunter2\n",
    ] {
        check_secrets(text, "-", &[]);
    }
}

#[test]
fn tables_of_one_column() {
    check_secrets("password\nhunter2\n", "password\n[redacted]\n", &["password"]);
    check_secrets(
        "\u{feff}Door code\r\n4711\r\n\r\n4712",
        "\u{feff}Door code\r\n[redacted]\r\n\r\n[redacted]",
        &["Door code"],
    );
    check_secrets(
        "db_password\n\"two words\"\n\"a\"\"b\nc\"\nletters\nN/A\n",
        "db_password\n\"[redacted]\"\n\"[redacted]\"\n[redacted]\nN/A\n",
        &["db_password"],
    );
    check_secrets("card_number\n4111 1111 1111 1111\n", "card_number\n[redacted]\n", &["card_number"]);
    // In quotes, each line is a JSON string, too.
    check_secrets(
        "\"password\"\n\"hunter2\"\n\"\"\n\"two words\"\n",
        "\"password\"\n\"[redacted]\"\n\"\"\n\"[redacted]\"\n",
        &["password"],
    );
    check_secrets("password\n\"\"\nhunter2\n", "password\n\"\"\n[redacted]\n", &["password"]);
    check_secrets(
        "password\n'hunter2'\n'two words'\n",
        "password\n'[redacted]'\n'[redacted]'\n",
        &["password"],
    );
    check_secrets("'password'\n'letters'\n", "'password'\n'[redacted]'\n", &["password"]);
    for (separator, line_break) in [(",", "\n"), (";", "\r\n")] {
        let write = |lines: &str| lines.replace(',', separator).replace('\n', line_break);
        check_secrets(
            &write("password,\nhunter2,\n\n\"two words\",\nabc1x,"),
            &write("password,\n[redacted],\n\n\"[redacted]\",\n[redacted],"),
            &["password"],
        );
        check_secrets(
            &write("\"password\",\n\"hunter2\",\n"),
            &write("\"password\",\n\"[redacted]\",\n"),
            &["password"],
        );
    }
    // Numbers are written without quotes, and are JSON, too.
    check_secrets("\"pin\"\n1234\n-5.6\n\n", "\"pin\"\n[redacted]\n[redacted]\n\n", &["pin"]);
    check_secrets(
        "\"password\"\r\n12345678\r\nnull\r\n\"abc1\"",
        "\"password\"\r\n[redacted]\r\nnull\r\n\"[redacted]\"",
        &["password"],
    );
    // A list of words is not in quotes below a word without.
    check_secrets("password\n\"qwertyui\"\n", "password\n\"[redacted]\"\n", &["password"]);
    // Half of the values are no words.
    check_secrets("password\nletters\nhunter2\n", "password\n[redacted]\n[redacted]\n", &["password"]);
    check("phone", "Phone\n+49 30 1\n+49 30 2\n", "Phone\n[redacted]\n[redacted]\n", &["Phone"]);
    for text in [
        "password\nuser_name\ncreated_at\n",
        "secrets\nsrc\nv1\n",
        "password\n\nhunter2\n",
        "Password\nIt has 8 characters.\n",
        "token\n",
        "token\n\n\n",
        "password\n\"\"\n",
        "token,\nname,\n",
        "token,\nabc1,\nabc1\n",
        "\"password\"\n\"user\"\n{\"a\":\"b1\"}\n",
        "token\nparser\nutf8\nlexer\n",
        "token\nparser\nutf8\nnull\nlexer\n",
        "password\nqwertyui\n",
        "\"password\"\n\"qwertyui\"\n",
        "\"passwords\"\n1234\n",
        "\"user\"\n1234\n",
        "\"pin\"\n1234\n[1]\n",
        "id\n4711\n",
        "# Token\nabc1\n",
    ] {
        check_secrets(text, "-", &[]);
    }
}

#[test]
fn rows_of_names_and_values_are_redacted() {
    check_secrets(
        "-[ RECORD 1 ]------\nid       | 1\npassword | hunter2x\n-[ RECORD 2 ]------\nid       | 2\npassword | a|b9secret\n",
        "-[ RECORD 1 ]------\nid       | 1\npassword | [redacted]\n-[ RECORD 2 ]------\nid       | 2\npassword | [redacted]\n",
        &["password"],
    );
}

#[test]
fn tables_in_strings_of_ascii_are_redacted() {
    let text = r#"{"stdout":"\u2502 id \u2502 password \u2502\n\u251c\u2500\u2500\u253c\u2500\u2500\u2524\n\u2502 1 \u2502 hunter2x \u2502\n"}"#;
    let rules = portion_redact::RedactionRules::default_secrets();
    let (shown, _) = rules.redact(text).expect("a secret");
    assert!(!shown.contains("hunter2x"), "{shown}");
}
