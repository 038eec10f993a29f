//! Data in other notations than JSON: what is hidden in the data as JSON is hidden in the text, which stays in its notation.

use portion_redact::RedactionRules;
use portion_text::notation;
use proptest::prelude::*;

fn check(text: &str) {
    let rules = RedactionRules::default_secrets();
    let data = notation::read(text).unwrap_or_else(|| panic!("no data: {text}"));
    let (expect, hidden) = rules.redact_json(&data.json).expect("secrets");
    let (shown, names) = rules.redact(text).expect("secrets");
    let again = notation::read(&shown).unwrap_or_else(|| panic!("no data: {shown}"));
    assert_eq!((again.notation, again.json.as_str()), (data.notation, expect.as_str()), "{shown}");
    for name in hidden {
        assert!(
            names.iter().any(|known| name.ends_with(known) || known.ends_with(&name)),
            "{name} of {names:?}"
        );
    }
    assert_eq!(rules.redact(&shown), None, "{shown}");
    // Many programs write all but ASCII as escapes.
    let (in_string, _) = rules.redact(&as_ascii_json(text)).expect("secrets");
    assert_eq!(serde_json::from_str::<String>(&in_string).expect("a string"), shown);
}

/// Writes a text as a JSON string in ASCII.
fn as_ascii_json(text: &str) -> String {
    let escaped = |c: char| match c.encode_utf16(&mut [0; 2]) {
        [unit] => format!("\\u{unit:04x}"),
        units => format!("\\u{:04x}\\u{:04x}", units[0], units[1]),
    };
    serde_json::Value::from(text)
        .to_string()
        .chars()
        .map(|c| if c.is_ascii() { c.into() } else { escaped(c) })
        .collect()
}

/// Writes rows with a secret in each notation. `secret`: the value of a row.
fn check_all(secret: impl Fn(usize) -> String) {
    let rows = |write: &dyn Fn(usize, &str) -> String| -> String {
        (0..4).map(|n| write(n, &secret(n))).collect::<Vec<_>>().concat()
    };
    check(&rows(&|n, secret| format!("- id: {n}\n  password: {secret}\n  host: h{n}\n")));
    check(&rows(&|n, secret| format!("- id: {n}\n  password: \"{secret}\"\n  host: 'h{n}'\n")));
    let toon = rows(&|n, secret| format!("  n{n},{secret},r\n"));
    check(&format!("status: ok\ntotal: 4\nusers[4]{{name,api_key,role}}:\n{toon}"));
    let toon = rows(&|n, secret| format!("    n{n}|{secret}\n"));
    check(&format!("data:\n  users[4|]{{name|api_key}}:\n{toon}"));
    let toon = rows(&|n, secret| {
        format!("  - name: n{n}\n    keys[1]{{id,api_key}}:\n      {n},{secret}\n    password: {secret}\n")
    });
    check(&format!("users[4]:\n{toon}"));
    let tuples = rows(&|n, secret| format!(", ({n}, '{secret}')"));
    check(&format!("[('id', 'password'){tuples}]"));
    check(&format!(
        "[{}]",
        rows(&|n, secret| format!("{{'id': {n}, 'password': '{secret}'}}, ")).trim_end_matches(", ")
    ));
    check(&format!(
        " id | password\n----+----------\n{}(4 rows)\n",
        rows(&|n, secret| format!("  {n} | {secret}\n"))
    ));
    check(&format!(
        "NAME  PASSWORD                       AGE\n{}",
        rows(&|n, secret| format!("p-{n}   {secret:<31}{n}d\n"))
    ));
    check(&format!(
        "┏━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓\n┃ id  ┃ password                       ┃\n┡━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┩\n{}└─────┴────────────────────────────────┘\n",
        rows(&|n, secret| format!("│ {n}   │ \u{1b}[31m{secret:<30}\u{1b}[0m │\n"))
    ));
    check(&rows(&|n, secret| format!("Name     : n{n}\nPassword : {secret}\n\n")));
    check(&rows(&|n, secret| format!("{{\n  \"id\": {n},\n  \"password\": \"{secret}\"\n}}\n")));
    check(&rows(&|n, secret| format!("event: m\ndata: {{\"id\": {n}, \"password\": \"{secret}\"}}\n\n")));
    let hosts =
        (0..2).map(|at| rows(&|n, secret| format!("host{at}{n}:\n  id: {n}\n  password: {secret}\n")));
    check(&hosts.collect::<String>());
    check(&format!(
        "<rows>{}</rows>",
        rows(&|n, secret| format!("<row><id>{n}</id><password>{secret}</password></row>"))
    ));
}

#[test]
fn secrets_are_hidden_in_every_notation() {
    check_all(|n| format!("Kx9{n}qqZZ77pLm"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_secret_is_hidden_in_every_notation(secret in "[A-Z][a-z]{3}[0-9]{2}[A-Za-z0-9]{6,20}") {
        check_all(|n| format!("{secret}{n}"));
    }
}

#[test]
fn tables_of_toon_with_two_columns() {
    for (text, expect) in [
        (
            "rows[2]{id,price}:\n  1,84711\n  2,84712\n",
            "rows[2]{id,price}:\n  1,[redacted]\n  2,[redacted]\n",
        ),
        (
            "rows[2]{price,id}:\n  84711,1\n  84712,2\n",
            "rows[2]{price,id}:\n  [redacted],1\n  [redacted],2\n",
        ),
    ] {
        super::check("price", text, expect, &["price"]);
    }
}

#[test]
fn arrays_of_toon() {
    super::check(
        "secrets",
        "id: 7\npasswords[2]: hunter2x9,\"hunter, 3x8\"\nhosts[2]: a,b\n",
        "id: 7\npasswords[2]: [redacted],\"[redacted]\"\nhosts[2]: a,b\n",
        &["passwords"],
    );
}
