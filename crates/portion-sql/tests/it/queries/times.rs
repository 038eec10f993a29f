//! Tests comparisons, sums and differences of dates and times.

use crate::common::{answer, check, refused};

const EVENTS: &str = r#"[
  {"id":1,"ts":"2026-03-01T07:00:00Z","checkIn":"2026-02-27","checkOut":"2026-03-02","nights":3},
  {"id":2,"ts":"2026-03-01T07:20:00Z","checkIn":"2026-03-01","checkOut":"2026-03-03","nights":2},
  {"id":3,"ts":"2026-03-02T06:00:00Z","checkIn":"2026-03-05","checkOut":"2026-03-06","nights":1}]"#;

/// Asserts the ids that satisfy a condition.
fn ids(condition: &str, expect: &str) {
    let sql = format!("SELECT json_group_array(id) AS ids FROM items WHERE {condition}");
    check(EVENTS, &sql, &format!(r#"[{{"ids":{expect}}}]"#));
}

fn first(expression: &str, expect: &str) {
    let sql = format!("SELECT {expression} AS x FROM items LIMIT 1");
    check(EVENTS, &sql, &format!(r#"[{{"x":{expect}}}]"#));
}

#[test]
fn times_of_different_forms_are_compared() {
    ids("ts > '2026-03-01 07:10:00'", "[2,3]");
    ids("'2026-03-01 07:10:00' > ts", "[1]");
    ids("ts = '2026-03-01 07:00:00'", "[1]");
    ids("ts IN ('2026-03-01 07:00:00', '2026-03-01 07:20:00+00:00')", "[1,2]");
    ids("ts NOT IN ('2026-03-01 07:00:00')", "[2,3]");
    ids("ts BETWEEN '2026-03-01 07:10:00' AND '2026-03-01 23:00:00'", "[2]");
    ids("ts NOT BETWEEN '2026-03-01 07:10:00' AND '2026-03-01 23:00:00' AND id < 3", "[1]");
    ids("items.ts > datetime('2026-03-01 07:15:00', '-5 minutes')", "[2,3]");
    ids("ts < '2026-03-01'::timestamp + interval '12 hours'", "[1,2]");
    ids("ts < date_add('2026-03-01 00:00:00', INTERVAL 12 HOUR)", "[1,2]");
    ids("ts >= timestamp '2026-03-01 07:20:00'", "[2,3]");
    ids("ts >= (SELECT datetime(max(ts), '-1 hour') FROM items)", "[3]");
    ids("checkIn >= '2026-03-01 00:00:00'", "[2,3]");
    ids("ts >= '2026-03-01' AND ts < '2026-03-02'", "[1,2]");
    ids("checkIn BETWEEN '2026-02-01' AND '2026-02-28'", "[1]");
    check(
        EVENTS,
        "SELECT count(*) AS n FROM items GROUP BY checkIn > '2026-01-01' HAVING max(ts) > '2026-03-02 05:00:00'",
        r#"[{"n":3}]"#,
    );
    let params = [("since", "\"2026-03-01 07:10:00\"")];
    let answered = answer(EVENTS, "SELECT count(*) AS n FROM items WHERE ts > :since", &params);
    assert_eq!(answered.expect("an answer").json, r#"[{"n":2}]"#);
}

#[test]
fn dates_are_subtracted_as_dates() {
    first("max(checkOut) - min(checkIn)", "7");
    first("date(checkOut) - date(checkIn)", "3");
    first("(checkOut) - (checkIn)", "3");
    first("checkOut - '2026-01-01'", "60");
    first("checkIn + 7", "\"2026-03-06\"");
    first("7 + checkIn", "\"2026-03-06\"");
    first("checkIn + nights", "\"2026-03-02\"");
    first("checkIn + nights * 2", "\"2026-03-05\"");
    first("checkOut - nights = checkIn", "1");
    first("checkOut::date - '2026-03-01'", "1");
    first("'2026-03-05' - checkOut::date", "3");
    first("lead(checkIn) OVER (ORDER BY id) - checkIn", "2");
    first("checkIn - (SELECT min(checkIn) FROM items)", "0");
    first("(SELECT max(checkIn) FROM items) - checkIn", "6");
    first("max(ts) - min(ts) > 0.9", "1");
    first("date_minus(checkOut, checkIn) * 2", "6");
    first("avg(checkOut - checkIn)", "2.0");
    first("CURRENT_DATE - checkIn = julianday('now', 'start of day') - julianday(checkIn)", "1");
    first("now() - 30 < now()", "1");
    first("substr(CAST(now() - 30 AS TEXT), 1, 10) = date('now', '-30 days')", "1");
    first("julianday(checkOut) - julianday(checkIn)", "3.0");
    first("nights - 1", "2");
    first("checkIn || '-' || nights", "\"2026-02-27-3\"");
    check(
        EVENTS,
        "WITH t AS (SELECT max(checkOut) AS b, min(checkIn) AS a FROM items) SELECT b - a AS x FROM t",
        r#"[{"x":7}]"#,
    );
    let error = answer(EVENTS, "SELECT checkIn + checkOut FROM items", &[]).expect_err("an error");
    assert_eq!(error.to_string(), "a sum of two dates");
}

#[test]
fn times_of_logs() {
    const POSTS: &str = r#"[
      {"id":1,"at":"Sun Aug 31 00:29:15 +0000 2014","log":"Sun Dec 04 04:47:44 2005","day":"Jun 14 15:16:01"},
      {"id":2,"at":"Mon Sep 01 10:00:00 +0000 2014","log":"Mon Dec 05 07:16:00 2005","day":"Jun 15 02:04:59"}]"#;
    let sql = "SELECT id, HOUR(at) AS h, DATE_TRUNC('hour', log) AS l FROM items WHERE log >= '2005-12-05 07:00:00'";
    check(POSTS, sql, r#"[{"id":2,"h":10,"l":"2005-12-05 07:00:00"}]"#);
    let sql = "SELECT id FROM items WHERE at BETWEEN '2014-08-31' AND '2014-08-31 23:00:00'";
    check(POSTS, sql, r#"[{"id":1}]"#);
    for (sql, expect) in [
        (
            "SELECT HOUR(day) AS h FROM items",
            "day has texts; 'Jun 14 15:16:01' is no full date: use substr(day, 1, 6)",
        ),
        ("SELECT id FROM items WHERE day > '2025-06-15'", "day sorts as text, not in the order of time"),
    ] {
        let hints = answer(POSTS, sql, &[]).expect("an answer").type_hints;
        assert!(hints[0].starts_with(expect), "{hints:?}");
    }
    let hints = |sql: &str| answer(POSTS, sql, &[]).expect("an answer").type_hints;
    for sql in [
        "SELECT strftime('%H', log) AS h FROM items LIMIT 1",
        "SELECT strftime('%H', to_timestamp(log)) AS h FROM items LIMIT 1",
    ] {
        check(POSTS, sql, r#"[{"h":"04"}]"#);
        assert!(hints(sql).is_empty());
    }
}

#[test]
fn dates_with_the_day_or_the_month_first() {
    const ROWS: &str = r#"[{"eu":"05.01.2024","us":"01/05/2024","both":"01-02-2024"},
      {"eu":"16.02.2024","us":"02/28/2024","both":"03-04-2024"}]"#;
    let hints = |sql: &str| answer(ROWS, sql, &[]).expect("an answer").type_hints;
    // Nothing tells which is first.
    let expect = "both has texts; '01-02-2024' is not read as a date: write to_date(both, 'DD-MM-YYYY'), or 'MM-DD-YYYY': no value \
                  tells which";
    assert_eq!(hints("SELECT year(both) AS y FROM items"), [expect]);
    let right = "SELECT year(to_date(both, 'DD-MM-YYYY')) AS y FROM items LIMIT 1";
    check(ROWS, right, r#"[{"y":2024}]"#);
    assert!(hints(right).is_empty(), "{right}");
    check(ROWS, "SELECT year(eu) AS y, month(eu) AS m FROM items LIMIT 1", r#"[{"y":2024,"m":1}]"#);
    check(ROWS, "SELECT eu FROM items WHERE us > '2024-02-01'", r#"[{"eu":"16.02.2024"}]"#);
}

#[test]
fn zones_of_iana_are_read_and_converted_to() {
    let rows = r#"[{"id":1,"t":"2024-01-05T10:00:00[Europe/Paris]"},{"id":2,"t":"2024-07-05 10:00:00 Europe/Paris"},
      {"id":3,"t":"2024-01-05T10:00:00+01:00[Europe/Paris]"},{"id":4,"t":"2024-01-05T10:00:00Z"}]"#;
    check(rows, "SELECT count(DISTINCT t) AS n FROM items", r#"[{"n":3}]"#);
    check(
        rows,
        "SELECT id FROM items WHERE t = '2024-01-05T09:00:00Z' ORDER BY id",
        r#"[{"id":1},{"id":3}]"#,
    );
    check(rows, "SELECT id FROM items WHERE t = '2024-07-05 04:00 America/New_York'", r#"[{"id":2}]"#);
    check(
        rows,
        "SELECT hour(t) AS h, t AT TIME ZONE 'Asia/Tokyo' AS local FROM items WHERE id = 2",
        r#"[{"h":8,"local":"2024-07-05 17:00:00"}]"#,
    );
    check(
        r#"[{"t":"2024-03-31 12:00:00"}]"#,
        "SELECT timezone('Europe/Paris', t) AS utc, t AT TIME ZONE 'Europe/Paris' AT TIME ZONE 'UTC' AS z FROM items",
        r#"[{"utc":"2024-03-31 10:00:00Z","z":"2024-03-31 10:00:00"}]"#,
    );
    refused(rows, "SELECT t AT TIME ZONE 'Europe/Nowhere' FROM items", "unknown zone Europe/Nowhere");
}
