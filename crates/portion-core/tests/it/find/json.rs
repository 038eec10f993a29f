//! Searches of JSON: records, values and names.

use portion_core::find::SearchQuery;

use super::{ask, check, told};

const GUESTS: &str = r#"{"status":"ok","result":[
 {"id":1,"name":"Ana","guest":{"city":"Porto","tags":["vip","late check-in"]},"price":120.50,"note":"Arrives after midnight, please leave the key with the neighbour in the flat below; the code of the door has changed since the last stay, ask for it before you come."},
 {"id":2,"name":"Bo","guest":{"city":"Oporto","tags":[]},"price":99,"note":null},
 {"id":12,"name":"Cy \"the\" key","guest":{"city":"Lisbon\nAlfama","tags":["vip"]},"price":12,"note":"caf\u00e9"}]}"#;

#[test]
fn a_record_is_shown_by_its_identity_fields() {
    check(
        GUESTS,
        "Porto",
        r#"1 {"searched":"text"} [{"path":"/result/0","in":"guest.city","item":{"id":1,"name":"Ana","guest":{"city":"Porto"}}}]"#,
    );
    check(
        GUESTS,
        "late check-in",
        r#"1 {"searched":"text"} [{"path":"/result/0","in":"guest.tags","text":"late check-in","item":{"id":1,"name":"Ana"}}]"#,
    );
    check(
        GUESTS,
        "the key",
        r#"1 {"searched":"text"} [{"path":"/result/0","in":"note","text":"Arrives after midnight, please leave the key with the neighbour in the flat below; the code of the door has changed since the last stay, ask for…","item":{"id":1,"name":"Ana"}}]"#,
    );
}

#[test]
fn values_are_searched_without_escapes() {
    check(
        GUESTS,
        "café",
        r#"1 {"searched":"text"} [{"path":"/result/2","in":"note","item":{"id":12,"name":"Cy \"the\" key","guest":{"city":"Lisbon\nAlfama","tags":["vip"]},"price":12,"note":"caf\u00e9"}}]"#,
    );
    check(
        GUESTS,
        "\"the\"",
        r#"1 {"searched":"text"} [{"path":"/result/2","in":"name","item":{"id":12,"name":"Cy \"the\" key","guest":{"city":"Lisbon\nAlfama","tags":["vip"]},"price":12,"note":"caf\u00e9"}}]"#,
    );
    check(
        GUESTS,
        "Lisbon Alfama",
        r#"1 {"searched":"text"} [{"path":"/result/2","in":"guest.city","item":{"id":12,"name":"Cy \"the\" key","guest":{"city":"Lisbon\nAlfama","tags":["vip"]},"price":12,"note":"caf\u00e9"}}]"#,
    );
    check(
        GUESTS,
        "120.50",
        r#"1 {"searched":"text"} [{"path":"/result/0","in":"price","item":{"id":1,"name":"Ana","price":120.50}}]"#,
    );
    check(GUESTS, "ok", r#"1 {"searched":"text"} [{"path":"/status","text":"ok"}]"#);
    check(
        GUESTS,
        "/^ca.é$/",
        r#"1 {"searched":"regex"} [{"path":"/result/2","in":"note","item":{"id":12,"name":"Cy \"the\" key","guest":{"city":"Lisbon\nAlfama","tags":["vip"]},"price":12,"note":"caf\u00e9"}}]"#,
    );
    check(GUESTS, "null", r#"0 {"searched":"text"} []"#);
}

#[test]
fn exact_matches_come_first() {
    check(
        GUESTS,
        "12",
        r#"2 {"searched":"text","exact":1} [{"path":"/result/2","in":"id","item":{"id":12,"name":"Cy \"the\" key","guest":{"city":"Lisbon\nAlfama","tags":["vip"]},"price":12,"note":"caf\u00e9"}},{"path":"/result/0","in":"price","item":{"id":1,"name":"Ana","price":120.50}}]"#,
    );
}

#[test]
fn requested_fields_are_shown() {
    let with = |fields, pattern| {
        told(ask(GUESTS, &SearchQuery { fields: Some(fields), ..SearchQuery::new(pattern) }))
    };
    assert_eq!(
        with("price,guest.city", "Bo"),
        r#"1 {"searched":"text"} [{"path":"/result/1","in":"name","text":"Bo","item":{"guest":{"city":"Oporto"},"price":99}}]"#
    );
    assert_eq!(
        with("all", "Bo"),
        r#"1 {"searched":"text"} [{"path":"/result/1","in":"name","item":{"id":2,"name":"Bo","guest":{"city":"Oporto","tags":[]},"price":99,"note":null}}]"#
    );
    assert!(with("prise", "Bo").starts_with("query_invalid: no item has a field prise; did you mean price?"));
}

#[test]
fn tables_maps_and_lines_are_searched_as_lists() {
    check(
        r#"{"columns":["id","city"],"rows":[[1,"Rome"],[2,"Oslo"]]}"#,
        "Oslo",
        r#"1 {"searched":"text"} [{"path":"/rows/1","in":"city","item":{"id":2,"city":"Oslo"}}]"#,
    );
    check(
        "{\"id\":1,\"level\":\"info\"}\n{\"id\":2,\"level\":\"error\"}\n",
        "error",
        r#"1 {"searched":"text"} [{"path":"/1","in":"level","item":{"id":2,"level":"error"}}]"#,
    );
    let map: Vec<String> = (0..20).map(|i| format!(r#""k/{i}":{{"id":{i},"size":"s{i}"}}"#)).collect();
    check(
        &format!("{{{}}}", map.join(",")),
        "s7",
        r#"1 {"searched":"text"} [{"path":"/k~17","in":"size","item":{"id":7,"size":"s7"}}]"#,
    );
    check(
        r#"["alpha","beta","alphabet"]"#,
        "alpha",
        r#"2 {"searched":"text","exact":1} [{"path":"/0","text":"alpha"},{"path":"/2","text":"alphabet"}]"#,
    );
}

#[test]
fn values_of_an_object_have_paths() {
    let object = r#"{"name":"app","version":"1.2","server":{"host":"db.example.org","ports":[{"name":"http","port":8080},{"name":"admin","port":9090}]},"owner":{"id":7,"team":"platform","mail":"platform@example.com","site":"https://example.com/a/rather/long/address/that/weighs"}}"#;
    check(
        object,
        "example.org",
        r#"1 {"searched":"text"} [{"path":"/server/host","text":"db.example.org"}]"#,
    );
    check(
        object,
        "9090",
        r#"1 {"searched":"text"} [{"path":"/server/ports/1/port","text":"9090","item":{"name":"admin"}}]"#,
    );
    check(
        object,
        "host",
        r#"1 {"searched":"text","in":"keys"} [{"path":"/server/host","text":"db.example.org"}]"#,
    );
    check(object, "ports", r#"1 {"searched":"text","in":"keys"} [{"path":"/server/ports","holds":"array"}]"#);
}

#[test]
fn text_inside_json_has_line_numbers() {
    let file: Vec<String> = (1..=100).map(|i| format!("line {i} of the file\\n")).collect();
    let file = file.concat();
    check(
        &format!(r#"{{"name":"a.txt","content":"{file}"}}"#),
        "line 57",
        r#"1 {"searched":"text"} [{"path":"/content","line":57,"startLine":56,"endLine":62,"text":"line 56 of the file\nline 57 of the file\nline 58 of the file\nline 59 of the file\nline 60 of the file\nline 61 of the file\nline 62 of the file"}]"#,
    );
}

#[test]
fn field_names_are_found_if_no_value_matches() {
    check(
        GUESTS,
        "city",
        r#"1 {"searched":"text","in":"keys"} [{"path":"/result/0","in":"guest.city","text":"Porto","count":3}]"#,
    );
}

#[test]
fn records_are_ranked_by_words() {
    let found = ask(GUESTS, &SearchQuery::new("neighbour Lisbon vip")).expect("valid");
    assert_eq!(found.extra_meta["searched"], "words");
    assert_eq!((found.match_count, found.word_match_count), (0, 2));
}

#[test]
fn paths_lead_to_the_first_of_duplicate_names() {
    check(
        r#"{"a":{"x":"one"},"a":{"x":"two"},"b":[1]}"#,
        "two",
        r#"1 {"searched":"text"} [{"path":"","text":"two"}]"#,
    );
}

#[test]
fn an_object_has_each_key_once() {
    check(
        r#"{"columns":["a","a","a_2"],"rows":[[1,"x","y"],[2,"z","y"]]}"#,
        "z",
        r#"1 {"searched":"text"} [{"path":"/rows/1","in":"a_2","item":{"a":2,"a_2":"z","a_2_2":"y"}}]"#,
    );
    let member = |n: usize| format!(r#""k{n}":{{"_key":"u","v":"x{n}"}}"#);
    let text = format!("{{{}}}", (0..40).map(member).collect::<Vec<_>>().join(","));
    let found =
        ask(&text, &SearchQuery { fields: Some("_key,v"), ..SearchQuery::new("x39") }).expect("found");
    assert!(found.items_json.contains(r#""item":{"#), "{}", found.items_json);
    assert_eq!(found.items_json.matches("\"_key\"").count(), 1, "{}", found.items_json);
}

#[test]
fn hints_name_what_exists() {
    let hint = |text: &str, pattern: &str| {
        let found = ask(text, &SearchQuery::new(pattern)).expect("no match");
        found.extra_meta.get("hint").and_then(|hint| hint.as_str()).unwrap_or_default().to_owned()
    };
    let object = r#"{"a":{"b":"x","list":[{"c":1}]},"d":2}"#;
    assert!(hint(object, "$.a.b").ends_with("portion_read(cursor, path=a.b)"), "{}", hint(object, "$.a.b"));
    assert!(hint(object, "$.a.list[0].c").ends_with("path=a.list.0.c)"));
    assert_eq!(hint(object, "$.a.nosuch"), "");
    let list = r#"[{"id":1,"guest":{"name":"Ann"}},{"id":2,"guest":{"name":"Ben"}}]"#;
    assert!(hint(list, "$.guest.name").ends_with("portion_read(cursor, fields=guest.name)"));
    assert!(hint(list, "$[1].guest").ends_with("path=1.guest)"), "{}", hint(list, "$[1].guest"));
    // Where the hint says what is meant, the single words are not listed.
    let statuses = r#"[{"id":1,"status":"the new status"},{"id":2,"status":"new"}]"#;
    let found = ask(statuses, &SearchQuery::new("\"status\": \"new\"")).expect("no match");
    assert!(found.extra_meta["hint"].as_str().is_some_and(|hint| hint.ends_with("\"status\" = 'new'")));
    assert_eq!((found.items_json.as_str(), found.word_match_count), ("[]", 0));
}

#[test]
fn each_element_of_a_list_in_a_record_is_a_match() {
    let files = r#"[{"file":"a","messages":[{"rule":"eq","n":1},{"rule":"eq","n":2},{"rule":"no","n":3}]},
        {"file":"b","messages":[{"rule":"eq","n":4}]}]"#;
    let found = ask(files, &SearchQuery::new("eq")).expect("matches");
    assert!(found.match_count == 3 && found.items_json.contains(r#""path":"/0/messages/1""#), "{found:?}");
    let streams = r#"{"result":[{"app":"web","values":[["1","status=500 a"],["2","ok"],["3","status=500 b"]]},
        {"app":"db","values":[["4","status=500 c"]]}]}"#;
    let lines = ask(streams, &SearchQuery::new("status=500")).expect("matches");
    assert!(lines.match_count == 3 && lines.items_json.contains("status=500 b"), "{lines:?}");
    // Few of many are listed, and all are counted.
    let many = format!(r#"[{{"id":1,"rows":[{}]}}]"#, vec![r#"{"t":"eq"}"#; 50].join(","));
    let few = ask(&many, &SearchQuery { max_items: 7, ..SearchQuery::new("eq") }).expect("matches");
    assert_eq!((few.match_count, few.items_json.matches("\"path\"").count()), (50, 7), "{few:?}");
    let tags = r#"[{"id":1,"tags":["red","blue","dark red"]},{"id":2,"tags":["blue"]}]"#;
    let found = ask(tags, &SearchQuery::new("red")).expect("matches");
    assert!(found.match_count == 2 && found.items_json.contains(r#""path":"/0/tags/2""#), "{found:?}");
}

#[test]
fn the_text_around_json_is_searched_if_the_json_has_no_match() {
    let rows: Vec<String> = (0..40).map(|n| format!("{{\"id\":{n},\"name\":\"n{n}\"}}")).collect();
    let text = format!("Here are the rows:\n[{}]\n\nNote: the rows were truncated at 40.\n", rows.join(","));
    let found = ask(&text, &SearchQuery::new("truncated")).expect("a match");
    assert!(
        found.match_count == 1
            && found.extra_meta["hint"].as_str().is_some_and(|hint| hint.contains("raw=true")),
        "{found:?}"
    );
    assert_eq!(ask(&text, &SearchQuery::new("n7")).expect("a match").match_count, 1);
    assert_eq!(ask(&text, &SearchQuery::new("nowhere")).expect("nothing").match_count, 0);
}
