//! Tests what is compared with columns of booleans, amounts and times: a literal has the type of a column only where the other
//! side is a value of that column, and other values are read when the statement runs.

use crate::common::{answer, answer_joined};

/// Six rows: booleans, amounts, percentages, years and numbers in text, and times in seconds, milliseconds and digits of dates.
fn rows() -> String {
    let row = |i: i64| {
        let (ok, seconds, year) = (i % 2 == 1, 1_704_067_200 + 86_400 * i, 2020 + i);
        let pct = if i > 3 { "null".to_owned() } else { format!(r#""{i}.25%""#) };
        let p = pct.replace('%', "");
        let date = format!("2024-01-0{}", i + 1);
        let usd = if i == 0 { "2.50".to_owned() } else { format!("{i},002.50") };
        let last = if i == 0 { 0 } else { seconds };
        format!(
            r#"{{"id":{i},"ok":"{ok}","usd":"${usd}","pct":{pct},"p":{p},"year":"{year}","iso":"{date}",
            "created":{seconds},"ms":{seconds}000,"ymd":{},"last":{last},"user":"${i}.50","localtime":{seconds},"trim":"${i}.50"}}"#,
            20_240_101 + i
        )
    };
    format!("[{}]", (0..6).map(row).collect::<Vec<_>>().join(","))
}

/// Asserts the answer of a statement, which has no hint but how amounts are read.
fn check_rows(rows: &str, sql: &str, expect: &str) {
    let found = answer(rows, sql, &[]).expect(sql);
    let hint = found.type_hints.into_iter().find(|hint| !hint.contains(" is read as numbers: "));
    assert_eq!((found.json.as_str(), hint), (expect, None), "{sql}");
}

/// Asserts the number of rows that satisfy a condition.
fn check_count(condition: &str, expect: usize) {
    check_rows(
        &rows(),
        &format!("SELECT count(*) AS n FROM items WHERE {condition}"),
        &format!(r#"[{{"n":{expect}}}]"#),
    );
}

#[test]
fn an_alias_of_an_expression_has_not_the_type_of_the_column_of_its_name() {
    let days = r#"[{"created":"2024-01-03"},{"created":"2024-01-04"},{"created":"2024-01-05"},{"created":"2024-01-06"}]"#;
    for (sql, expect) in [
        (
            "WITH w AS (SELECT date(created) AS created, count(*) AS n FROM items GROUP BY 1) SELECT created FROM w WHERE created >= '2024-01-03'",
            days,
        ),
        (
            "SELECT w.created FROM (SELECT date(created) AS created FROM items) AS w WHERE w.created >= '2024-01-03'",
            days,
        ),
        (
            "SELECT created FROM (SELECT strftime('%Y-%m-%d', created, 'unixepoch') AS created FROM items) WHERE created = '2024-01-03'",
            r#"[{"created":"2024-01-03"}]"#,
        ),
        (
            "WITH w AS (SELECT date_trunc('day', created) AS created FROM items) SELECT count(*) AS n FROM w WHERE created >= '2024-01-03'",
            r#"[{"n":4}]"#,
        ),
        (
            "WITH a AS (SELECT date(created) AS created FROM items), b AS (SELECT * FROM a) SELECT count(*) AS n FROM b WHERE created < '2024-01-03'",
            r#"[{"n":2}]"#,
        ),
        (
            "WITH w AS (SELECT printf('$%.2f', usd) AS usd FROM items) SELECT usd FROM w WHERE usd = '$2.50'",
            r#"[{"usd":"$2.50"}]"#,
        ),
        (
            "WITH w AS (SELECT CASE WHEN usd > 2000 THEN 'true' ELSE 'no' END AS ok FROM items) SELECT count(*) AS n FROM w WHERE ok = 'true'",
            r#"[{"n":4}]"#,
        ),
        (
            "WITH RECURSIVE d(ymd) AS (SELECT '2024-01-01' UNION ALL SELECT date(ymd, '+1 day') FROM d WHERE ymd < '2024-01-04') \
             SELECT count(*) AS n FROM d, (SELECT ymd AS y FROM items LIMIT 1)",
            r#"[{"n":4}]"#,
        ),
        // A column by another name is one.
        (
            "WITH w AS (SELECT * FROM items), v(day) AS (SELECT created FROM w) SELECT count(*) AS n FROM v WHERE day >= '2024-01-03'",
            r#"[{"n":4}]"#,
        ),
        ("SELECT max(usd) AS m FROM items HAVING m > '$4,000.00'", r#"[{"m":5002.5}]"#),
        ("SELECT sum(usd) AS s FROM items HAVING sum(usd) > '$15,000.00'", r#"[{"s":15015.0}]"#),
        (
            "SELECT count(*) AS n FROM (SELECT p AS v FROM items UNION ALL SELECT p FROM items) WHERE v = '1.25'",
            r#"[{"n":2}]"#,
        ),
    ] {
        check_rows(&rows(), sql, expect);
    }
}

#[test]
fn values_that_are_no_literals_are_read_in_the_type_of_the_column() {
    for (condition, count) in [
        ("created < strftime('%Y-%m-%d', '2024-01-03')", 2),
        ("created < (SELECT date('2024-01-03'))", 2),
        ("created < (SELECT max(iso) FROM items WHERE id = 2)", 2),
        ("created < '2024-01-0' || '3'", 2),
        ("created >= strftime('%s', '2024-01-03')", 4),
        ("created >= '2025'", 0),
        ("created >= '2024-01' AND created < '2025'", 6),
        ("created = iso", 6),
        ("created = (SELECT max(b.iso) FROM items AS b WHERE b.id = items.id)", 6),
        ("(SELECT max(b.iso) FROM items AS b WHERE b.id = items.id) = created", 6),
        ("abs(usd) = '$2.50'", 1),
        ("iso IN (SELECT ms FROM items)", 6),
        ("ok = (SELECT 'true')", 3),
        ("ok = lower('TRUE')", 3),
        ("usd = (SELECT '$1,002.50')", 1),
        ("usd IN (VALUES ('$1,002.50'), ('$2,002.50'))", 2),
        ("usd IN (SELECT '$1,002.50' UNION ALL SELECT '$2,002.50')", 2),
        ("usd > (SELECT avg(usd) FROM items)", 3),
        ("ok = (id > 2)", 4),
    ] {
        check_count(condition, count);
    }
    for (sql, expect) in [
        ("SELECT max(iso - created) AS d, max(created - iso) AS e FROM items", r#"[{"d":0.0,"e":0.0}]"#),
        (
            "WITH v(x) AS (VALUES ('$1,002.50')) SELECT count(*) AS n FROM items JOIN v ON items.usd = v.x",
            r#"[{"n":1}]"#,
        ),
        (
            "WITH v AS (SELECT 'true' AS x) SELECT count(*) AS n FROM items JOIN v ON items.ok = v.x",
            r#"[{"n":3}]"#,
        ),
        ("WITH v AS (SELECT 'true' AS ok) SELECT count(*) AS n FROM items JOIN v USING (ok)", r#"[{"n":3}]"#),
        ("SELECT count(*) AS n FROM items a JOIN items b ON a.created = b.ms", r#"[{"n":6}]"#),
        ("SELECT count(*) AS n FROM items a JOIN items b ON a.ymd = b.created", r#"[{"n":6}]"#),
        ("SELECT count(*) AS n FROM items a WHERE created IN (SELECT ymd FROM items)", r#"[{"n":6}]"#),
    ] {
        check_rows(&rows(), sql, expect);
    }
    let found = answer_joined(
        &rows(),
        &[("b", &rows())],
        "SELECT count(*) AS n FROM items JOIN b ON items.ms = b.ymd",
    );
    assert_eq!(found.expect("an answer").json, r#"[{"n":6}]"#);
}

#[test]
fn the_index_of_the_table_that_is_joined_last_is_used() {
    let row = |i: i64| {
        let seconds = 1_704_067_200 + 60 * i;
        let iso = format!("2024-01-{:02} {:02}:{:02}:00", i / 1440 + 1, i / 60 % 24, i % 60);
        format!(r#"{{"seconds":{seconds},"ms":{seconds}000,"iso":"{iso}"}}"#)
    };
    let rows = format!("[{}]", (0..10_000).map(row).collect::<Vec<_>>().join(","));
    for on in ["a.seconds = b.ms", "b.ms = a.seconds", "a.seconds = b.iso", "a.iso = b.seconds"] {
        let sql = format!("SELECT count(b.ms) AS n FROM items a LEFT JOIN items b ON {on}");
        check_rows(&rows, &sql, r#"[{"n":10000}]"#);
    }
}

#[test]
fn rows_of_values_are_compared_as_their_columns() {
    for (condition, count) in [
        ("(ok, id) = ('true', 1)", 1),
        ("(usd, id) IN (('$1,002.50', 1), ('$2,002.50', 2))", 2),
        ("(usd, id) IN (SELECT '$1,002.50', 1)", 1),
        ("(created, id) >= ('2024-01-04', 0)", 3),
        ("(usd, ok) = (SELECT '$1,002.50', 'true')", 1),
    ] {
        check_count(condition, count);
    }
}

#[test]
fn literals_beside_a_column_in_a_call_have_its_type() {
    for (condition, count) in [
        ("coalesce(pct, '1.25%') = '1.25%'", 3),
        ("coalesce(p, '1.25') = '1.25'", 3),
        ("coalesce(p, 1.25) = '1.25'", 3),
        ("ifnull(pct, '1.25%') IN ('1.25%', '2.25%')", 4),
        ("CASE WHEN pct IS NULL THEN '1.25%' ELSE pct END = '1.25%'", 3),
        ("coalesce(ok, 'false') = 'true'", 3),
        ("iif(id > 2, created, '2024-01-01') > '2024-01-02'", 3),
        ("nullif(usd, '$1,002.50') IS NULL", 1),
        ("nullif(year, '2021') IS NULL", 1),
        ("nullif(created, '2024-01-02') IS NULL", 1),
        ("nullif(ok, 'true') IS NULL", 3),
        ("max(p, 0) = '2.25'", 1),
        ("CASE pct WHEN '1.25%' THEN 1 WHEN '2.25%' THEN 1 END", 2),
    ] {
        check_count(condition, count);
    }
}

#[test]
fn a_column_may_have_the_name_of_a_call_of_another_dialect() {
    for (condition, count) in [
        ("user = '$2.50'", 1),
        ("user IN ('$2.50', '$3.50')", 2),
        ("items.user <> '$2.50'", 5),
        ("trim = '$2.50'", 1),
        ("localtime >= '2024-01-03'", 4),
        ("date(localtime) = '2024-01-03'", 1),
        ("date(localtime + INTERVAL '1 day') = '2024-01-03'", 1),
    ] {
        check_count(condition, count);
    }
    check_rows("[{\"a\":1}]", "SELECT localtimestamp > '2024-01-01' AS x FROM items", r#"[{"x":1}]"#);
}

#[test]
fn zeros_say_nothing_about_the_unit_of_times() {
    check_count("last < '2024-01-03'", 2);
    check_rows(
        &rows(),
        "SELECT strftime('%Y', last) AS y, count(*) AS n FROM items WHERE last > 0 GROUP BY 1",
        r#"[{"y":"2024","n":5}]"#,
    );
    let counts = r#"[{"n":200000000},{"n":5}]"#;
    check_rows(counts, "SELECT count(*) AS n FROM items WHERE n > '2024-01-01'", r#"[{"n":0}]"#);
}

#[test]
fn names_that_are_read_as_others_have_their_types() {
    let collide = r#"[{"ok":"true","Ok":"x","isNew":"true"},{"ok":"false","Ok":"x","isNew":"false"},{"ok":"true","Ok":"x","isNew":"true"}]"#;
    for sql in [
        "SELECT count(*) AS n FROM items WHERE ok = 'true'",
        "SELECT sum(CASE WHEN ok = 'true' THEN 1 ELSE 0 END) AS n FROM items",
        "SELECT count(*) AS n FROM items AS i WHERE i.is_new = 'true'",
    ] {
        assert_eq!(answer(collide, sql, &[]).expect(sql).json, r#"[{"n":2}]"#, "{sql}");
    }
}
