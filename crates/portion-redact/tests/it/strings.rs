//! Tests redaction in strings of JSON, in tables of HTML, below rows of names, and of secrets in URLs.

use super::check;

#[test]
fn strings_in_json_are_redacted_as_text() {
    let check = |text: &str, expect: &str, named: &[&str]| check("secrets", text, expect, named);
    check(
        r#"{"exitCode":0,"stdout":"DB_PASSWORD=hunter2\nPORT=80\nAuthorization: Bearer abcdefgh1\n"}"#,
        r#"{"exitCode":0,"stdout":"DB_PASSWORD=[redacted]\nPORT=80\nAuthorization: [redacted]\n"}"#,
        &["DB_PASSWORD", "Authorization", "Bearer"],
    );
    check(
        r#"["id,password\n1,hunter2\n","ghp_0123456789012345678901234567890123"]"#,
        r#"["id,password\n1,[redacted]\n","[redacted]"]"#,
        &["password", "ghp"],
    );
    check(
        r#"{"a":"{'password': 'hunter2'}","b":"password\u003dhunter2"}"#,
        r#"{"a":"{'password': '[redacted]'}","b":"password=[redacted]"}"#,
        &["password"],
    );
    check(
        r#"{"log":"<password>hunter2</password>","note":"Door code: 4711"}"#,
        r#"{"log":"<password>[redacted]</password>","note":"Door code: [redacted]"}"#,
        &["password", "Door code"],
    );
}

#[test]
fn secrets_in_names_are_redacted() {
    let check = |text: &str, expect: &str, named: &[&str]| check("secrets", text, expect, named);
    check(
        r#"{"a":{"password=hunter2":1,"b":2}}"#,
        r#"{"a":{"password=[redacted]":1,"b":2}}"#,
        &["a.password=[redacted]"],
    );
    check(
        r#"{"x token: hunter2hunter2":{"b":1},"pin":7777,"see password=hunter2":{"c":1}}"#,
        r#"{"x token: [redacted]":{"b":1},"see password=[redacted]":{"c":1}}"#,
        &["x token: [redacted]", "pin", "see password=[redacted]"],
    );
    check(r#"{"at 10:30":1,"a=b":2,"10:30":{"c":3}}"#, "-", &[]);
}

#[test]
fn numbered_lines_are_redacted_as_the_lines() {
    check(
        "secrets",
        "     1\tvariable \"db_password\" {\n     2\t  type = string\n     3\t}\n     4\tpassword = \"hunter2x\"\n",
        "     1\tvariable \"db_password\" {\n     2\t  type = string\n     3\t}\n     4\tpassword = \"[redacted]\"\n",
        &["password"],
    );
    check(
        "secrets",
        "     1→test_auth.py::test_password PASSED\n     2→test_auth.py::test_user PASSED",
        "-",
        &[],
    );
    check("secrets", "1\tid,password\n2\t7,hunter2x\n", "1\tid,password\n2\t7,[redacted]\n", &["password"]);
}

#[test]
fn strings_without_secrets_stay_as_written() {
    for text in [
        r#"{"at":"2024-05-01T10:20:30Z","url":"https://example.com/a?page_token=x&sort=a:b","t":"10:20"}"#,
        r#"{"note":"Ask for it: the desk\u00e9 has a\/slash, {braces} and <marks>"}"#,
        r#"["a=b","c: d","x | y","user@example.com","mailto:a@b.example"]"#,
    ] {
        check("secrets", text, "-", &[]);
    }
}

#[test]
fn passwords_in_urls_are_redacted() {
    check(
        "secrets",
        "clone https://ann:hunter2@git.example/r.git, not https://ann@git.example/x:y@z",
        "clone https://ann:[redacted]@git.example/r.git, not https://ann@git.example/x:y@z",
        &["password in a URL"],
    );
    check(
        "secrets",
        r#"{"dsn":"postgres://u:p@ss@db:5432/x"}"#,
        r#"{"dsn":"postgres://u:[redacted]@db:5432/x"}"#,
        &["password in a URL"],
    );
}

#[test]
fn columns_below_a_row_of_names_are_redacted() {
    let check = |text: &str, expect: &str, named: &[&str]| check("secrets", text, expect, named);
    check(
        r#"{"rows":1,"data":[["id","password"],[1,"hunter2"],[2,7777],[3,null]]}"#,
        r#"{"rows":1,"data":[["id","password"],[1,"[redacted]"],[2,null],[3,null]]}"#,
        &["data.password"],
    );
    check(r#"[["id","pin"],["a","1"]]"#, r#"[["id","pin"],["a","[redacted]"]]"#, &["pin"]);
    check(r#"[["id","name"],["a","pin"],["b","c"]]"#, "-", &[]);
}

#[test]
fn one_odd_heading_does_not_show_the_others() {
    check(
        "secrets",
        "\"id\",\"password\",\"What do you think of it, in your own words, at the end of this long day?\"\n1,hunter2,Good\n",
        "\"id\",\"password\",\"What do you think of it, in your own words, at the end of this long day?\"\n1,[redacted],Good\n",
        &["password"],
    );
}

#[test]
fn tables_of_html_are_redacted() {
    let check = |text: &str, expect: &str, named: &[&str]| check("secrets", text, expect, named);
    check(
        "<table><tr><th colspan=2>Name<th><b>Password</b></tr>\n<tr><td>Ann<td>A<td> hunter2 </td></tr></table>",
        "<table><tr><th colspan=2>Name<th><b>Password</b></tr>\n<tr><td>Ann<td>A<td> [redacted] </td></tr></table>",
        &["Password"],
    );
    check(
        "<TABLE><TR><TH>Wi-Fi password:</TH><TD>hunter2</TD></TR><TR><TH>City</TH><TD>Rome</TD></TR></TABLE>",
        "<TABLE><TR><TH>Wi-Fi password:</TH><TD>[redacted]</TD></TR><TR><TH>City</TH><TD>Rome</TD></TR></TABLE>",
        &["Wi-Fi password:"],
    );
    check(
        "<table><tr><th>team<th>password</tr><tr><td rowspan=2>a<td>hunter2</tr><tr><td>hunter3</tr><tr><td>b<td>hunter4</table>",
        "<table><tr><th>team<th>password</tr><tr><td rowspan=2>a<td>[redacted]</tr><tr><td>[redacted]</tr><tr><td>b<td>[redacted]</table>",
        &["password"],
    );
    check(
        "<table><tr><th colspan=3>Guests</tr><tr><th rowspan=2>id<th colspan=2>Access</tr><tr><th>user<th>password</tr><tr><td>1<td>ada<td>hunter2</table>",
        "<table><tr><th colspan=3>Guests</tr><tr><th rowspan=2>id<th colspan=2>Access</tr><tr><th>user<th>password</tr><tr><td>1<td>ada<td>[redacted]</table>",
        &["password"],
    );
    check(
        "<table><tr><th>user<th>password</tr><tr><th>ada<th>hunter2</table>",
        "<table><tr><th>user<th>password</tr><tr><th>ada<th>[redacted]</table>",
        &["password"],
    );
    check("<table><tr><th>id<th>pin</table><p>pin</p><table><tr><td>a<td>b</table>", "-", &[]);
}

#[test]
fn words_of_sentences_are_no_names_of_secrets() {
    for text in [
        "the token bucket: it refills every second\n",
        "He lost, blurted out his secret to Syme, again\nThe man, a scourge of the ways, here\n",
        "No spaces occur, this token SHOULD follow, else\nThe end, of a rule, here\n",
        "note: blurted out his secret to Syme\nvalue: hello\n",
    ] {
        check("secrets", text, "-", &[]);
    }
    check("secrets", "The door code: 4711 works\n", "The door code: [redacted] works\n", &["door code"]);
    check("secrets", "- Access code: blue\n", "- Access code: [redacted]\n", &["Access code"]);
    check(
        "secrets",
        "key pickup instructions: under the mat\n",
        "key pickup instructions: [redacted]\n",
        &["key pickup instructions"],
    );
    let (csv, hidden) = ("name,access token,n\na,hunter2,1\n", "name,access token,n\na,[redacted],1\n");
    check("secrets", csv, hidden, &["access token"]);
}
