//! Tests what is said of results without rows.

use crate::common::{answer, check as check_rows};

const TRIPS: &str = r#"[
  {"id":1,"kind":"Rail","from":"2025-01-30","to":"2025-02-02","paid":true,"tags":["a","b"]},
  {"id":2,"kind":"Bus","from":"2025-02-01","to":"2025-02-03","paid":false,"tags":["b"]},
  {"id":3,"kind":"Bus","from":"2025-03-31","to":"2025-04-01","paid":true,"tags":[]}]"#;

/// Asserts the counts of the conditions and the hints.
fn check(sql: &str, params: &[(&str, &str)], counts: &[(&str, i64)], hints: &[&str]) {
    let reason = answer(TRIPS, sql, params).expect("an answer").empty_reason.unwrap_or_default();
    let counted: Vec<(&str, i64)> =
        reason.counts.iter().map(|(text, count)| (text.as_str(), *count)).collect();
    assert_eq!(counted, counts, "{sql}");
    assert_eq!(reason.hints, hints, "{sql}");
}

#[test]
fn the_values_of_a_column_are_told_whose_beginning_is_compared() {
    let hint = ["\"from\" is one of '2025-01-30', '2025-02-01', '2025-03-31'"];
    check("SELECT id FROM items WHERE substr(\"from\", 1, 7) = '2024-05'", &[], &[], &hint);
    check("SELECT id FROM items WHERE left(\"from\", 4) = '2024'", &[], &[], &hint);
}

#[test]
fn conditions_are_counted_alone() {
    check(
        "SELECT id FROM items WHERE kind = 'Bus' AND id = 1",
        &[],
        &[("kind = 'Bus'", 2), ("id = 1", 1)],
        &[],
    );
    check(
        "SELECT id FROM items WHERE id BETWEEN 1 AND 2 AND (kind = 'x' OR kind = 'y')\n  AND NOT paid ORDER BY id LIMIT 3",
        &[],
        &[("id BETWEEN 1 AND 2", 2), ("(kind = 'x' OR kind = 'y')", 0), ("NOT paid", 1)],
        &[],
    );
    check(
        "SELECT count(*) FROM items WHERE kind ILIKE 'BUS' AND id > :most",
        &[("most", "7")],
        &[("kind LIKE 'BUS'", 2), ("id > :most", 0)],
        &["id is from 1 to 3"],
    );
    check(
        "WITH x AS (SELECT * FROM items WHERE id < 3) SELECT id FROM x WHERE kind = 'Bus' AND paid",
        &[],
        &[("kind = 'Bus'", 1), ("paid", 1)],
        &[],
    );
    check(
        "SELECT a.id FROM items a JOIN items b ON a.id = b.id + 1 WHERE a.paid AND b.kind = 'Bus' AND a.id = 2",
        &[],
        &[("a.paid", 1), ("b.kind = 'Bus'", 1), ("a.id = 2", 1)],
        &[],
    );
    check("SELECT id FROM items WHERE id = 1", &[], &[], &[]);
    check("SELECT id FROM items WHERE id = 9", &[], &[], &[]);
    check("SELECT id FROM items WHERE id = 9 OR id = 8", &[], &[], &[]);
    check(
        "SELECT id FROM items WHERE id > 1 AND kind = 'Rail' OR id = 9",
        &[],
        &[("id > 1", 2), ("kind = 'Rail'", 1), ("id = 9", 0)],
        &[],
    );
    check(
        "WITH x AS (SELECT * FROM items WHERE kind = 'Rail' AND NOT paid) SELECT * FROM x",
        &[],
        &[("kind = 'Rail'", 1), ("NOT paid", 1)],
        &[],
    );
    check(
        "SELECT count(*) FROM (SELECT id FROM items WHERE id = 1 AND kind = 'Bus')",
        &[],
        &[("id = 1", 1), ("kind = 'Bus'", 2)],
        &[],
    );
    check("SELECT id FROM items WHERE id = 9 UNION SELECT id FROM items WHERE id = 8", &[], &[], &[]);
    check("SELECT sum(id) FROM items WHERE paid AND id = 2", &[], &[("paid", 2), ("id = 2", 1)], &[]);
}

#[test]
fn another_column_with_the_text_is_named() {
    let stops =
        r#"[{"from":"Lisbon","to":"Porto"},{"from":"Porto","to":"Braga"},{"from":"Faro","to":"Braga"}]"#;
    let hints = |sql: &str| {
        answer(stops, sql, &[]).expect(sql).empty_reason.map_or_else(Vec::new, |reason| reason.hints)
    };
    assert_eq!(hints("SELECT * FROM items WHERE \"from\" = 'Braga'"), ["2 rows with \"to\" = 'Braga'"]);
    assert_eq!(
        hints("SELECT * FROM items WHERE \"from\" <> 'Braga' AND \"to\" = 'Lisbon'"),
        ["1 row with \"from\" = 'Lisbon'"]
    );
}

#[test]
fn values_are_suggested() {
    check(
        "SELECT id FROM items WHERE kind = 'rail'",
        &[],
        &[],
        &["kind has 'Rail': = compares case, LIKE ignores it"],
    );
    let extent = ["\"from\" is from '2025-01-30' to '2025-03-31'"];
    for condition in ["< '2024-01-01'", "BETWEEN '2024-01-01' AND '2024-12-31'", "> '2025-06-01 10:00:00'"] {
        check(&format!("SELECT id FROM items WHERE \"from\" {condition}"), &[], &[], &extent);
    }
    let kinds = ["kind is one of 'Rail', 'Bus'"];
    for condition in
        ["kind LIKE '%tram%'", "kind ILIKE 'tram'", "kind REGEXP 'tram'", "NOT kind IN ('Rail', 'Bus')"]
    {
        check(&format!("SELECT id FROM items WHERE {condition}"), &[], &[], &kinds);
    }
    check("SELECT id FROM items WHERE kind = 'Tram' OR \"from\" > '2026'", &[], &[], &kinds);
    check(
        "SELECT kind, count(*) AS n FROM items GROUP BY kind HAVING n > 7",
        &[],
        &[],
        &["n is from 1 to 2"],
    );
    check(
        "SELECT kind FROM items WHERE id > :least GROUP BY kind HAVING count(*) BETWEEN 7 AND 8 ORDER BY kind",
        &[("least", "1")],
        &[],
        &["count(*) is from 2 to 2"],
    );
    check(
        "SELECT id FROM items WHERE tags LIKE '%zz%'",
        &[],
        &[],
        &["tags is one of '[\"a\",\"b\"]', '[\"b\"]', '[]'"],
    );
    check("SELECT id FROM items WHERE kind = 'Tram'", &[], &[], &["kind is one of 'Rail', 'Bus'"]);
    check("SELECT id FROM items i WHERE i.paid = 'true'", &[], &[], &[]);
    check(
        "SELECT id FROM items WHERE kind IN ('rail', 'bus')",
        &[],
        &[],
        &["kind has 'Rail': = compares case, LIKE ignores it"],
    );
    check(
        "SELECT id FROM items WHERE tags = 'a'",
        &[],
        &[],
        &["tags is an array: WHERE EXISTS (SELECT 1 FROM json_each(tags) WHERE value = 'a')"],
    );
}

#[test]
fn the_difference_of_dates_is_days() {
    let json = |sql: &str| answer(TRIPS, sql, &[]).expect("an answer").json;
    assert_eq!(json("SELECT \"to\" - \"from\" AS n FROM items WHERE id = 1"), r#"[{"n":3}]"#);
    assert_eq!(json("SELECT i.\"to\" - i.\"from\" AS n FROM items i WHERE id = 1"), r#"[{"n":3}]"#);
    let hours = "SELECT '2025-01-02T12:00:00Z'::timestamp - '2025-01-01T00:00:00Z'::timestamp AS n";
    assert_eq!(json(hours), r#"[{"n":1.5}]"#);
    assert_eq!(json("SELECT 7 - id AS n, id - id AS m FROM items WHERE id = 1"), r#"[{"n":6,"m":0}]"#);
}

#[test]
fn a_list_without_elements_has_no_wrong_columns() {
    for list in ["[]", r#"{"status":"ok","result":[],"count":0}"#] {
        for (sql, expect) in [
            ("SELECT count(*) AS n FROM (SELECT * FROM items)", r#"[{"n":0}]"#),
            ("WITH x AS (SELECT * FROM items) SELECT count(*) AS n FROM x", r#"[{"n":0}]"#),
            ("SELECT 1 AS n WHERE NOT EXISTS (SELECT * FROM items)", r#"[{"n":1}]"#),
            (
                "SELECT count(*) AS n, max(price) AS top FROM items WHERE status = 'open'",
                r#"[{"n":0,"top":null}]"#,
            ),
            ("SELECT status, count(*) FROM items GROUP BY status ORDER BY 2", "[]"),
        ] {
            check_rows(list, sql, expect);
        }
    }
    check_rows(r#"{"users":[],"roles":[{"id":1}]}"#, "SELECT count(*) AS n FROM users", r#"[{"n":0}]"#);
    check_rows(r#"{"users":[],"roles":[]}"#, "SELECT count(*) AS n FROM roles", r#"[{"n":0}]"#);
    let wrong = answer(r#"[{"id":1}]"#, "SELECT nope FROM items", &[]).expect_err("no such column");
    assert!(wrong.to_string().contains("nope"), "{wrong}");
}

#[test]
fn values_that_are_written_otherwise_are_named() {
    let check = |rows: &str, sql: &str, expect: &str| {
        let reason = answer(rows, sql, &[]).expect("an answer").empty_reason.unwrap_or_default();
        assert_eq!(reason.hints, [expect], "{sql}");
    };
    let done = r#"[{"id":1,"done":true},{"id":2},{"id":3}]"#;
    check(
        done,
        "SELECT count(*) FROM items WHERE done = false",
        "done is true or NULL: write done IS NOT TRUE",
    );
    check(
        done,
        "SELECT count(*) FROM items WHERE done <> true",
        "done is true or NULL: write done IS NOT TRUE",
    );
    let document = r#"{"a":{"deprecated":true,"b":"x"},"c":{"deprecated":false}}"#;
    let leaves = "SELECT count(*) FROM leaves WHERE key = 'deprecated' AND value = 'true'";
    check(document, leaves, "value has booleans: write value = true");
}
