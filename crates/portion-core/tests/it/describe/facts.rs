//! Descriptions of one field, by its values.

use std::fmt::Write as _;

use super::{ALL, facts, lines};

/// Checks the description of a field in a list of records that each have one of these values under this name;
/// `absent` stands for an absent field. Without words, the field is not described, but has a type.
fn check(name: &str, values: &[&str], words: &str) {
    let records: Vec<String> = values
        .iter()
        .enumerate()
        .map(|(i, value)| match *value {
            "absent" => format!(r#"{{"id":"a{i}"}}"#),
            value => format!(r#"{{"id":"a{i}","{name}":{value}}}"#),
        })
        .collect();
    let described = facts(&format!("[{}]", records.join(",")), ALL);
    assert_eq!(described.get("id").and_then(|id| id.as_str()), Some("identifier, all distinct"));
    assert_eq!(
        described.get(name).and_then(|words| words.as_str()),
        (!words.is_empty()).then_some(words),
        "{name} {values:?}"
    );
}

#[test]
fn quantities_have_a_range_and_a_sum() {
    check("price", &["10", "2.5", "7", "4"], "number 2.5…10 (max at a0), sum 23.5");
    check("price", &["1", "2", "3", "4.50", "4.5"], "number 1…4.50, sum 15");
    check(
        "frob",
        &["1.5", "2.5", "3.5", "null", "absent", "-7.25"],
        "number -7.25…3.5 (max at a2), sum 0.25, 1 null, 1 absent",
    );
    check(
        "count",
        &["1", "2", "3", "4", "1", "2", "3", "1"],
        "number 1…4 (max at a3), sum 17; 1=3, 2=2, 3=2, 4=1",
    );
}

#[test]
fn texts_have_the_facts_that_queries_find() {
    check("price", &[r#""9""#, r#""120""#, r#""15.50""#, r#""4""#], "number 4…120 (max at a1), sum 148.5");
    check(
        "price",
        &[r#""$9.00""#, r#""$1,200.50""#, r#""N/A""#, r#""$80""#, r#""$7""#],
        "number $7…$1,200.50 (max at a1), sum 1296.5, 1 null",
    );
    check("day", &[r#""31.12.2023""#, r#""05.01.2024""#, r#""17.11.2023""#], "17.11.2023…05.01.2024");
    check("month", &[r#""May 2024""#, r#""November 2023""#, r#""June 2024""#], "November 2023…June 2024");
    check("zip", &[r#""02134""#, r#""10001""#, r#""02134""#], "'02134'=2, '10001'=1");
    check("version", &[r#""1.9""#, r#""1.10""#, r#""1.9""#], "'1.9'=2, '1.10'=1");
}

#[test]
fn codes_and_years_have_no_sum() {
    check("zip", &["90210", "10001", "60601", "73301", "90210"], "90210=2, +3 more (1 each)");
    check("year", &["2020", "2021", "2022", "2023"], "numbers 2020…2023, all distinct");
    check("status_code", &["200", "404", "200", "200"], "200=3, 404=1");
}

#[test]
fn categories_have_counts() {
    check("state", &[r#""CA""#, r#""NV""#, r#""CA""#, "null"], "CA=2, NV=1, 1 null");
    check("state", &[r#""CA""#, r#""NV""#, r#""CA""#, "absent"], "CA=2, NV=1, 1 absent");
    check("state", &[r#""CA""#, r#""CA""#, r#""CA""#], "always CA");
    check("state", &[r#""CA""#, r#""CA""#, "null"], "CA=2, 1 null");
    check("open", &["true", "false", "true"], "true=2, false=1");
    check("open", &["true", "true", "true"], "");
    check("tag", &[r#""""#, r#""5""#, r#""a,b""#, r#""""#, r#""5""#, r#""a,b""#], "''=2, '5'=2, 'a,b'=2");
    check("tag", &[r#""x""#, "5", r#""x""#, r#""5""#], "5=2, x=2");
}

#[test]
fn ties_are_ordered_by_value_and_the_rest_is_counted() {
    let values: Vec<String> = (0..36).map(|i| format!(r#""k{:02}""#, i % 18)).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let ten: Vec<String> = (0..10).map(|i| format!("k{i:02}=2")).collect();
    check("kind", &values, &format!("{}, +8 more", ten.join(", ")));
}

#[test]
fn timestamps_have_a_range() {
    check("created", &[r#""2024-05-01""#, r#""2023-01-02""#, r#""2023-01-02""#], "2023-01-02…2024-05-01");
    check(
        "created_at",
        &[r#""2024-05-01T10:00:00+02:00""#, r#""2024-05-01T09:00:00Z""#, "null"],
        "2024-05-01T10:00:00+02:00…2024-05-01T09:00:00Z, 1 null",
    );
    check("at", &[r#""2024-05-01 10:00:00""#, r#""2024-05-01T09:00:00Z""#], "");
    check(
        "updated",
        &["1714558830", "1714558831", "1714558832", "1714558833"],
        "number 1714558830…1714558833 (2024-05-01T10:20:30Z…2024-05-01T10:20:33Z)",
    );
    check(
        "updated",
        &["1714558830000", "1714558831999"],
        "number 1714558830000…1714558831999 (2024-05-01T10:20:30Z…2024-05-01T10:20:31Z)",
    );
}

#[test]
fn other_values_are_counted() {
    check("name", &[r#""a""#, r#""b""#, r#""c""#], "");
    check("tags", &["[1,2]", "[]", "null"], "");
    check("tags", &["[1]", "[2]"], "");
    check("tags", &["[]", "[]"], "");
    check("x", &["null", "null"], "");
    check("x", &["null", "absent"], "");
    check("x", &["1", "[1]", r#""a""#], "1 numbers 1…1, 1 strings, 1 arrays of 1 item, all distinct");
    let long = format!(r#""{}\n\u00e9""#, "é".repeat(200));
    check("body", &[&long, r#""a""#], "");
    let url = format!(r#""https://example.org/{}""#, "a".repeat(80));
    check("url", &[&url, &url, &url], "");
}

#[test]
fn nested_fields_are_dotted_and_the_first_duplicate_counts() {
    let list = r#"[{"id":1,"price":{"total":5,"tax":{"rate":7}},"price":1},
        {"price":{"total":1},"id":2},{"id":3,"price":null},{"id":4,"price":{"total":2},"price":{"total":9,"fee":1}},
        {"id":5,"price":{"total":3}}]"#;
    let described = facts(list, ALL);
    assert_eq!(described["id"], "identifier, all distinct");
    assert_eq!(described["price.total"], "number 1…5 (max at 1), sum 11, 1 absent");
    assert_eq!(described["price.tax.rate"], "7=1, 4 absent");
    assert!(!described.contains_key("price"), "{described:?}");
}

#[test]
fn of_fields_that_group_the_records_alike_the_first_is_described() {
    let record = |i: usize| {
        let user = i % 3;
        format!(
            r#"{{"id":{i},"login":"user{user}","url":"https://example.org/user{user}","team":"t{}","state":"s{}"}}"#,
            usize::from(i.is_multiple_of(4)),
            i / 3 % 3
        )
    };
    let records: Vec<String> = (0..36).map(record).collect();
    let described = facts(&format!("[{}]", records.join(",")), ALL);
    assert_eq!(described["login"], "user0=12, user1=12, user2=12");
    assert!(!described.contains_key("url"), "{described:?}");
    // Other groups of the same sizes, and equal groups of another field.
    assert_eq!(described["state"], "s0=12, s1=12, s2=12");
    assert_eq!(described["team"], "t0=27, t1=9");
}

#[test]
fn every_list_layout_is_described() {
    let record = |i: usize| {
        format!(r#"{{"sku":"s{i}","status":"{}"}}"#, if i.is_multiple_of(3) { "new" } else { "sold" })
    };
    let join = |sep: &str| (0..9).map(record).collect::<Vec<_>>().join(sep);
    let all = "sku: identifier, all distinct\nstatus: sold=6, new=3\n";
    assert_eq!(lines(&facts(&format!("[{}]", join(",")), ALL)), all);
    assert_eq!(lines(&facts(&format!(r#"{{"data":{{"items":[ {} ]}},"n":1}}"#, join(" ,\n ")), ALL)), all);
    assert_eq!(lines(&facts(&join("\n"), ALL)), all);
    let mut map = String::new();
    let mut rows = String::new();
    for i in 0..9_usize {
        let comma = if i > 0 { "," } else { "" };
        let _ = write!(
            map,
            r#"{comma}"k{i}":{{"status":"{}","n":[]}}"#,
            if i.is_multiple_of(3) { "new" } else { "sold" }
        );
        let _ = write!(rows, r#"{comma}["s{i}","{}"]"#, if i.is_multiple_of(3) { "new" } else { "sold" });
    }
    let described = facts(&format!("{{{map}}}"), ALL);
    assert_eq!(
        (&described["_key"], &described["status"]),
        (&"identifier, all distinct".into(), &"sold=6, new=3".into())
    );
    assert_eq!(lines(&facts(&format!(r#"{{"columns":["sku","status"],"rows":[{rows}]}}"#), ALL)), all);
}

#[test]
fn items_that_are_not_records_are_described() {
    assert_eq!(lines(&facts(r#"["a","b","a"]"#, ALL)), "items: a=2, b=1\n");
    assert_eq!(lines(&facts("[1,2,3,4,10]", ALL)), "items: number 1…10 (max at offset=4), sum 20\n");
    assert_eq!(
        lines(&facts(r#"[{"a":1},"b",null]"#, ALL)),
        "a: 1=1, 2 absent\nitems: b=1, 1 null, 1 absent\n"
    );
    assert_eq!(lines(&facts("[]", ALL)), "");
}

#[test]
fn facts_fit_and_the_most_useful_come_first() {
    let record = |i: usize| {
        format!(
            r#"{{"id":{i},"frob":"x{}","note":"n{i}","status":"s{}","total":{},"made":"2024-01-{:02}","c":0}}"#,
            i % 4,
            i % 3,
            i * 7,
            i % 28 + 1
        )
    };
    let list = format!("[{}]", (0..60).map(record).collect::<Vec<_>>().join(","));
    let all = facts(&list, ALL);
    let names: Vec<&str> = all.keys().map(String::as_str).collect();
    assert_eq!(names, ["id", "total", "status", "frob", "made", "c"]);
    for tokens in [0, 5, 20, 40, 80, 120] {
        let described = facts(&list, tokens);
        let json = serde_json::to_string(&described).expect("JSON");
        let cost = portion_tokens::Tokenizer::O200k.counter().count(&json);
        assert!(cost <= tokens || described.is_empty(), "{cost} of {tokens}: {json}");
        assert!(described.iter().all(|(name, words)| all.get(name) == Some(words)));
    }
}

#[test]
fn items_that_are_no_records_are_counted() {
    let list = |item: &dyn Fn(usize) -> String| {
        let items: Vec<String> = (0..300).map(item).collect();
        facts(&format!("[{}]", items.join(",")), ALL)["items"].clone()
    };
    assert_eq!(list(&|n| format!("\"name {n}\"")), "strings, all distinct");
    assert_eq!(list(&|n| format!("\"name {}\"", n % 200)), "strings, 200 distinct");
    assert_eq!(list(&|n| n.to_string()), "number 0…299 (max at offset=299), sum 44850");
    assert_eq!(list(&|n| format!("[{n},1]")), "arrays of 2 items");
}
