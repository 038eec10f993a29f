//! Tests queries on columns with redacted values.

use portion_sql::QueryLimits;

use crate::common::{asked, redacted};

const BOOKINGS: &str = r#"{"result":[
  {"id":1,"doorCode":"1111","pin":1010,"note":"a","wifi":{"ssid":"x","password":"p1"},"code":"u"},
  {"id":2,"doorCode":"2222","pin":2020,"note":"b","wifi":{"ssid":"y","password":"p2"},"code":"v"},
  {"id":3,"doorCode":null,"pin":3030,"note":"c","wifi":{"ssid":"y","password":""},"code":"v"}]}"#;

/// Asserts that a query on the bookings returns this JSON, or an error that begins with this text.
#[track_caller]
fn check(sql: &str, expect: &str) {
    let params: &[_] = if sql.contains(":path") { &[("path", "\"$.doorCode\"")] } else { &[] };
    let answer = match asked(&redacted(BOOKINGS), sql, params, &QueryLimits::default()) {
        Ok(answer) => answer.json,
        Err(error) => error.to_string(),
    };
    assert!(answer.starts_with(expect), "{sql}\n{answer}");
}

#[test]
fn computing_with_redacted_columns_is_an_error() {
    for sql in [
        "SELECT COUNT(DISTINCT doorCode) FROM items",
        "SELECT COUNT(doorCode) FROM items",
        "SELECT DISTINCT doorCode FROM items",
        "SELECT doorCode, COUNT(*) FROM items GROUP BY doorCode",
        "SELECT doorCode AS d, COUNT(*) FROM items GROUP BY d",
        "SELECT doorCode, COUNT(*) FROM items GROUP BY 1",
        "SELECT id FROM items WHERE doorCode = '1111'",
        "SELECT id FROM items WHERE doorCode LIKE '1%'",
        "SELECT id FROM items WHERE doorCode IS NOT NULL",
        "SELECT id FROM items ORDER BY doorCode",
        "SELECT doorCode FROM items ORDER BY 1",
        "SELECT doorCode AS d FROM items ORDER BY d",
        "SELECT MAX(doorCode) FROM items",
        "SELECT length(doorCode) FROM items",
        "SELECT doorCode || '' FROM items",
        "SELECT a.id FROM items a JOIN items b ON a.doorCode = b.doorCode",
        "SELECT d FROM (SELECT doorCode AS d FROM items) WHERE length(d) > 4",
        "WITH t AS (SELECT doorCode AS d FROM items) SELECT d, COUNT(*) FROM t GROUP BY d",
        "SELECT doorCode FROM items UNION SELECT note FROM items",
        "SELECT note FROM items UNION ALL SELECT doorCode FROM items",
        "SELECT id, row_number() OVER (PARTITION BY doorCode) FROM items",
        "SELECT COUNT(DISTINCT DOORCODE) FROM result",
        "SELECT COUNT(*) FROM items WHERE item ->> '$.doorCode' = '1111'",
        "SELECT COUNT(DISTINCT json_extract(item, :path)) FROM items",
        "SELECT COUNT(DISTINCT value) FROM items, json_each(item) WHERE key = 'doorCode'",
        "SELECT COUNT(DISTINCT value) FROM leaves WHERE key = 'doorCode'",
        "SELECT COUNT(*) FROM leaves WHERE key = 'doorCode' AND value = '1111'",
        "SELECT value, COUNT(*) FROM leaves WHERE path LIKE '%/doorCode' GROUP BY value",
        "SELECT value AS v, COUNT(*) FROM leaves WHERE key = 'doorCode' GROUP BY v",
        "SELECT DISTINCT value AS v FROM leaves WHERE key = 'doorCode'",
        "SELECT DISTINCT value FROM leaves WHERE key = 'doorCode'",
        "SELECT value, COUNT(*) FROM leaves WHERE key = 'doorCode' GROUP BY 1",
        "SELECT key, value FROM leaves WHERE key = 'doorCode' ORDER BY 1, 2",
        "SELECT length(value) AS value FROM leaves WHERE key = 'doorCode'",
    ] {
        check(sql, "doorCode is redacted: a redacted column cannot");
    }
    check("SELECT COUNT(DISTINCT \"wifi.password\") FROM items", "\"wifi.password\" is redacted");
    check("SELECT COUNT(DISTINCT wifi ->> 'password') FROM items", "\"wifi.password\" is redacted");
    check(
        "SELECT a.id FROM items a JOIN items b USING (doorCode)",
        "doorCode, \"wifi.password\" are redacted",
    );
}

#[test]
fn fields_without_values_are_told_from_columns() {
    for (sql, name) in [
        ("SELECT id, pin, doorCode FROM items LIMIT 1", "pin"),
        ("SELECT SUM(pin) FROM items", "pin"),
        ("SELECT SUM(items.pin) FROM items", "\"items.pin\""),
    ] {
        let error = asked(&redacted(BOOKINGS), sql, &[], &QueryLimits::default()).expect_err(sql);
        assert_eq!(error.to_string(), format!("{name} is redacted, and no row has a value of it"));
        assert_eq!(error.advice(), "omit it; the operator configures redaction");
    }
}

#[test]
fn redacted_fields_that_are_read_are_reported() {
    for (sql, expect) in [
        ("SELECT code, count(*) FROM items GROUP BY code", ""),
        ("SELECT id, doorCode FROM items", "doorCode"),
        ("SELECT \"wifi.password\" FROM items", "wifi.password"),
        ("SELECT item FROM items", "doorCode,pin,wifi.password"),
        ("SELECT wifi FROM items", "doorCode,pin,wifi.password"),
        ("SELECT value FROM leaves", "doorCode,pin,wifi.password"),
        ("SELECT path FROM leaves", ""),
    ] {
        let answer = asked(&redacted(BOOKINGS), sql, &[], &QueryLimits::default()).expect(sql);
        let leaf = |field: &String| field.trim_start_matches("result.").to_owned();
        let fields: Vec<String> = answer.redacted_fields.iter().map(leaf).collect();
        assert_eq!(fields.join(","), expect, "{sql}");
    }
}

#[test]
fn redacted_columns_can_be_selected() {
    check("SELECT doorCode FROM items LIMIT 1", r#"[{"doorCode":"[redacted]"}]"#);
    check(
        "SELECT doorCode AS d, id FROM items WHERE id > 1 ORDER BY id DESC",
        r#"[{"d":null,"id":3},{"d":"[redacted]"#,
    );
    check("SELECT * FROM items WHERE note = 'b'", r#"[{"id":2,"doorCode":"[redacted]","note":"b""#);
    check("SELECT COUNT(*) AS n FROM items", r#"[{"n":3}]"#);
    check(
        "SELECT code, COUNT(*) AS n FROM items GROUP BY code",
        r#"[{"code":"u","n":1},{"code":"v","n":2}]"#,
    );
    check("WITH t AS (SELECT * FROM items) SELECT id FROM t WHERE id = 2", r#"[{"id":2}]"#);
    check("SELECT id FROM (SELECT id, doorCode FROM items) ORDER BY id LIMIT 1", r#"[{"id":1}]"#);
    check(
        "SELECT \"wifi.ssid\" AS s, COUNT(*) AS n FROM items GROUP BY s",
        r#"[{"s":"x","n":1},{"s":"y","n":2}]"#,
    );
    check("SELECT wifi ->> 'ssid' AS s FROM items WHERE id = 1", r#"[{"s":"x"}]"#);
    check("SELECT item ->> '$.note' AS n FROM items WHERE id = 1", r#"[{"n":"a"}]"#);
    check("SELECT item FROM items WHERE id = 1", r#"[{"id":1,"doorCode":"[redacted]","note":"a""#);
    check(
        "SELECT path, value FROM leaves WHERE key = 'doorCode' LIMIT 1",
        r#"[{"path":"/result/0/doorCode","value":null}]"#,
    );
    check(
        "SELECT path, value AS v FROM leaves WHERE key = 'doorCode' LIMIT 1",
        r#"[{"path":"/result/0/doorCode","v":null}]"#,
    );
    check("SELECT COUNT(*) AS n FROM leaves WHERE key = 'doorCode'", r#"[{"n":3}]"#);
    check("SELECT COUNT(DISTINCT value) AS n FROM leaves WHERE key = 'code'", r#"[{"n":2}]"#);
}

#[test]
fn rewritten_statements_keep_the_rules() {
    for sql in [
        "SELECT COUNT(doorCode::text) FROM items",
        "SELECT doorCode::text FROM items",
        "SELECT id FROM items WHERE doorCode ILIKE '1%'",
        "SELECT id FROM items WHERE doorCode ~ '1'",
        "SELECT MODE(doorCode), MEDIAN(doorCode) FROM items",
        "SELECT mode() WITHIN GROUP (ORDER BY doorCode) FROM items",
        "SELECT STRING_AGG(DISTINCT doorCode, ', ') FROM items",
        "SELECT ANY_VALUE(doorCode) FROM items",
        "SELECT ARG_MAX(doorCode, id) FROM items",
        "SELECT LEFT(doorCode, 2) FROM items",
        "SELECT TRY_CAST(doorCode AS INT) FROM items",
        "SELECT JSON_VALUE(item, '$.doorCode') FROM items -- don't",
        "SELECT item::json->>'doorCode' FROM items /* it's */",
    ] {
        check(sql, "doorCode is redacted: a redacted column cannot");
    }
    let short = "SELECT id FROM items WHERE id = 9 AND 0 AND doorCode LIKE '[%'";
    let answered = asked(&redacted(BOOKINGS), short, &[], &QueryLimits::default()).expect("an answer");
    assert_eq!(answered.empty_reason, None, "a redacted column is not counted");
    check("SELECT TOP 1 doorCode FROM items", r#"[{"doorCode":"[redacted]"}]"#);
    check("SELECT id FROM items WHERE note ILIKE 'B'", r#"[{"id":2}]"#);
}

#[test]
fn values_with_redacted_names_are_not_computed_with() {
    let pairs = r#"[{"name":"host","value":"db"},{"name":"password","value":"hunter2"},{"name":"x","value":"hunter2"}]"#;
    let numbers = r#"[{"key":"port","value":80},{"key":"pin","value":4711},{"key":"x","value":1}]"#;
    let table = "id,Setting,Value\n1,host,db\n2,password,hunter2\n3,x,y\n";
    for (text, sql) in [
        (pairs, "SELECT COUNT(DISTINCT value) FROM items"),
        (pairs, "SELECT name FROM items WHERE value = 'hunter2'"),
        (pairs, "SELECT name FROM items WHERE item ->> 'value' = 'hunter2'"),
        (pairs, "SELECT COUNT(*) FROM leaves GROUP BY value"),
        (numbers, "SELECT SUM(value) FROM items"),
        (numbers, "SELECT COUNT(value) FROM items"),
        (table, "SELECT MAX(Value) FROM items"),
    ] {
        let error = asked(&redacted(text), sql, &[], &QueryLimits::default()).expect_err(sql).to_string();
        assert!(error.to_lowercase().starts_with("value is redacted"), "{sql}\n{error}");
    }
    for (text, sql, expect) in [
        (pairs, "SELECT value FROM items WHERE name = 'host'", r#"[{"value":"db"}]"#),
        (
            pairs,
            "SELECT * FROM items WHERE name = 'password'",
            r#"[{"name":"password","value":"[redacted]"}]"#,
        ),
        (
            numbers,
            "SELECT key, value FROM items",
            r#"[{"key":"port","value":80},{"key":"pin","value":null},{"key":"x","value":1}]"#,
        ),
        (table, "SELECT Value FROM items WHERE Setting = 'host'", r#"[{"Value":"db"}]"#),
    ] {
        let answer = asked(&redacted(text), sql, &[], &QueryLimits::default()).expect(sql).json;
        assert_eq!(answer, expect, "{sql}");
    }
}

#[test]
fn texts_with_redacted_values_inside_are_reported() {
    let line = |n: usize| format!("2024-05-01 10:00:{n:02} INFO login doorCode=pw{n}\n");
    let log = (0..20).map(line).collect::<Vec<_>>().concat();
    let rows = r#"[{"id":1,"cfg":"{\"doorCode\":\"1\"}"},{"id":2,"cfg":"{\"doorCode\":\"2\"}"}]"#;
    let fields = |text: &str, sql: &str| {
        let answer = asked(&redacted(text), sql, &[], &QueryLimits::default());
        answer.map_or_else(|error| error.to_string(), |answer| answer.redacted_fields.join(","))
    };
    assert_eq!(fields(&log, "SELECT count(*) FROM lines WHERE text LIKE '%doorCode=pw5%'"), "doorCode");
    assert_eq!(fields(&log, "SELECT text FROM entries LIMIT 1"), "doorCode");
    assert_eq!(fields(&log, "SELECT count(*) FROM lines"), "");
    assert_eq!(fields(rows, "SELECT cfg FROM items"), "doorCode");
    let refused = fields(rows, "SELECT cfg->>'doorCode' AS p, count(*) FROM items GROUP BY 1");
    assert!(refused.contains("doorCode") && refused.contains("redacted"), "{refused}");
}
