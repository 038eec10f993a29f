//! Laws of values as they are written: a text that an answer shows finds its row, and columns of one meaning join in any forms.

use portion_sql::QueryLimits;
use serde_json::Value;

use crate::common::{answer, answer_joined, asked, check, snapshot};

/// A column in one form: five values as JSON, the third of which is the first again.
type Column = [&'static str; 5];

const AMOUNTS: Column = [r#""$1,400.00""#, r#""$2.50""#, r#""$1,400.00""#, r#""$12.00""#, r#""$0.75""#];
const COMMAS: Column = [r#""1.400,00""#, r#""2,50""#, r#""1.400,00""#, r#""12,00""#, r#""0,75""#];
const NUMBERS: Column = ["1400", "2.5", "1400", "12", "0.75"];
const ISO_DATES: Column =
    [r#""2024-01-31""#, r#""2024-02-03""#, r#""2024-01-31""#, r#""2024-03-04""#, r#""2024-12-01""#];
const MONTH_FIRST: Column =
    [r#""01/31/2024""#, r#""02/03/2024""#, r#""01/31/2024""#, r#""03/04/2024""#, r#""12/01/2024""#];
const DAY_FIRST: Column =
    [r#""31.01.2024""#, r#""03.02.2024""#, r#""31.01.2024""#, r#""04.03.2024""#, r#""01.12.2024""#];
const SECONDS: Column = ["1706659200", "1706918400", "1706659200", "1709510400", "1733011200"];
const PHONES: Column = [
    r#""(212) 555-1234""#,
    r#""(212) 555-9999""#,
    r#""(212) 555-1234""#,
    r#""(212) 555-0000""#,
    r#""(646) 555-0000""#,
];
const DASHED_PHONES: Column =
    [r#""212-555-1234""#, r#""212-555-9999""#, r#""212-555-1234""#, r#""212-555-0000""#, r#""646-555-0000""#];
const PHONE_NUMBERS: Column = ["2125551234", "2125559999", "2125551234", "2125550000", "6465550000"];

fn list(columns: &[(&str, Column)]) -> String {
    let row = |at: usize| {
        let members = columns.iter().map(|(name, values)| format!(r#","{name}":{}"#, values[at]));
        format!(r#"{{"i":{at}{}}}"#, members.collect::<String>())
    };
    format!("[{}]", (0..5).map(row).collect::<Vec<_>>().join(","))
}

/// Returns the numbers in the answer of a statement.
fn numbers(json: &str) -> Vec<Vec<i64>> {
    let rows: Vec<serde_json::Map<String, Value>> = serde_json::from_str(json).expect("rows");
    rows.iter().map(|row| row.values().map(|value| value.as_i64().unwrap_or(-1)).collect()).collect()
}

#[test]
fn a_text_as_it_is_written_finds_its_row_in_every_position() {
    let columns = [("p", AMOUNTS), ("c", COMMAS), ("us", MONTH_FIRST), ("eu", DAY_FIRST), ("d", ISO_DATES)];
    let (json, csv) = (snapshot(&list(&columns)), {
        let cell = |(_, values): &(&str, Column), at: usize| values[at].to_owned();
        let row = |at: usize| columns.iter().map(|column| cell(column, at)).collect::<Vec<_>>().join(",");
        let rows: Vec<String> = (0..5).map(|at| format!("{at},{}", row(at))).collect();
        snapshot(&format!("i,p,c,us,eu,d\n{}\n", rows.join("\n")))
    });
    for (name, values) in columns {
        for (at, value) in values.iter().enumerate() {
            let text = format!("'{}'", value.trim_matches('"'));
            let equal: Vec<Vec<i64>> =
                (0..5).filter(|n| values[*n as usize] == *value).map(|n| vec![n]).collect();
            let others: Vec<Vec<i64>> =
                (0..5).filter(|n| !equal.contains(&vec![*n])).map(|n| vec![n]).collect();
            let count = vec![vec![equal.len() as i64]];
            for (condition, expect) in [
                (format!("{name} = {text}"), &equal),
                (format!("{text} = {name}"), &equal),
                (format!("{name} IN ({text}, 'x')"), &equal),
                (format!("{name} BETWEEN {text} AND {text}"), &equal),
                (format!("{name} LIKE {text}"), &equal),
                (format!("{name} = {text} OR i > 9"), &equal),
                (format!("CASE {name} WHEN {text} THEN 1 ELSE 0 END"), &equal),
                (format!("{name} = :text"), &equal),
                (format!("i IN (SELECT i FROM items AS a WHERE a.{name} = {text})"), &equal),
                (format!("{name} <> {text}"), &others),
                (format!("{name} NOT IN ({text})"), &others),
                (format!("NOT {name} = {text}"), &others),
                (format!("{name} IS DISTINCT FROM {text}"), &others),
            ] {
                let sql = format!("SELECT i FROM items WHERE {condition}");
                let params: &[(&str, &str)] =
                    if condition.ends_with(":text") { &[("text", value)] } else { &[] };
                for snapshot in [&json, &csv] {
                    let answer = asked(snapshot, &sql, params, &QueryLimits::default()).expect(&sql);
                    assert_eq!(numbers(&answer.json), *expect, "{sql} {at}");
                }
            }
            for sql in [
                format!("SELECT count(*) FILTER (WHERE {name} = {text}) AS n FROM items"),
                format!("SELECT sum({name} = {text}) AS n FROM items"),
                format!("SELECT count(*) AS n FROM items GROUP BY {name} HAVING {name} = {text}"),
                format!("SELECT count(*) AS n FROM (SELECT {name} AS x FROM items) AS a WHERE x = {text}"),
                format!(
                    "WITH a AS (SELECT {name} FROM items) SELECT count(*) AS n FROM a WHERE a.{name} = {text}"
                ),
            ] {
                let answer = asked(&json, &sql, &[], &QueryLimits::default()).expect(&sql);
                assert_eq!(numbers(&answer.json), count, "{sql}");
            }
        }
    }
}

#[test]
fn columns_of_one_meaning_join_in_every_form_from_both_sides() {
    let meanings: [&[Column]; 3] = [
        &[AMOUNTS, COMMAS, NUMBERS],
        &[ISO_DATES, MONTH_FIRST, DAY_FIRST, SECONDS],
        &[PHONES, DASHED_PHONES, PHONE_NUMBERS],
    ];
    let pairs = [[0, 0], [0, 2], [1, 1], [2, 0], [2, 2], [3, 3], [4, 4]].map(|pair| pair.to_vec());
    let all = [[0], [1], [2], [3], [4]].map(|row| row.to_vec());
    for (a, b) in
        meanings.iter().flat_map(|forms| forms.iter().flat_map(|a| forms.iter().map(move |b| (a, b))))
    {
        // Numbers are points in time only beside times.
        if *a == SECONDS && *b == SECONDS {
            continue;
        }
        let (main, other) = (list(&[("k", *a)]), list(&[("k", *b)]));
        for (sql, expect) in [
            ("SELECT items.i AS x, b.i AS y FROM items JOIN b ON items.k = b.k ORDER BY 1, 2", &pairs[..]),
            ("SELECT items.i AS x, b.i AS y FROM items JOIN b ON b.k = items.k ORDER BY 1, 2", &pairs),
            ("SELECT items.i AS x, b.i AS y FROM items JOIN b USING (k) ORDER BY 1, 2", &pairs),
            ("SELECT x.i, y.i AS j FROM items x, b y WHERE x.k = y.k ORDER BY 1, 2", &pairs),
            (
                "WITH t AS (SELECT k, i FROM b) SELECT items.i AS x, t.i AS y FROM items JOIN t ON t.k = items.k ORDER BY 1, 2",
                &pairs,
            ),
            (
                "SELECT items.i AS x, t.i AS y FROM items LEFT JOIN (SELECT i, k FROM b) t ON items.k = t.k ORDER BY 1, 2",
                &pairs,
            ),
            ("SELECT i FROM items WHERE k IN (SELECT k FROM b) ORDER BY i", &all),
            ("SELECT i FROM items WHERE EXISTS (SELECT 1 FROM b WHERE b.k = items.k) ORDER BY i", &all),
            ("SELECT i FROM items WHERE EXISTS (SELECT 1 FROM b WHERE items.k = k) ORDER BY i", &all),
            ("SELECT i FROM items WHERE k NOT IN (SELECT k FROM b) ORDER BY i", &[]),
        ] {
            let answer = answer_joined(&main, &[("b", &other)], sql).expect(sql);
            assert_eq!(numbers(&answer.json), expect, "{sql}\n{a:?}\n{b:?}");
        }
        if meanings[1].contains(a) && !meanings[1][3..].contains(a) && !meanings[1][3..].contains(b) {
            let sql = "SELECT count(*) AS n FROM (SELECT k FROM items INTERSECT SELECT k FROM b)";
            let answer = answer_joined(&main, &[("b", &other)], sql).expect(sql);
            assert_eq!(answer.json, r#"[{"n":4}]"#, "{a:?} {b:?}");
        }
    }
}

#[test]
fn functions_read_dates_in_the_order_of_their_column() {
    let text = list(&[("us", MONTH_FIRST), ("eu", DAY_FIRST), ("d", ISO_DATES), ("p", AMOUNTS)]);
    for column in ["us", "eu", "d"] {
        for (expr, expect) in [
            (format!("month({column})"), "[1,2,1,3,12]"),
            (format!("extract(month FROM {column})"), "[1,2,1,3,12]"),
            (format!("CAST(strftime('%m', {column}) AS INTEGER)"), "[1,2,1,3,12]"),
            (format!("CAST(to_char({column}, 'MM') AS INTEGER)"), "[1,2,1,3,12]"),
            (format!("month(date_trunc('month', {column}))"), "[1,2,1,3,12]"),
            (format!("month({column}::date)"), "[1,2,1,3,12]"),
            (format!("day({column} + INTERVAL '1 day')"), "[1,4,1,5,2]"),
            (format!("datediff('day', '2024-01-31', {column})"), "[0,3,0,33,305]"),
            (format!("{column} - DATE '2024-01-31'"), "[0,3,0,33,305]"),
        ] {
            let sql = format!("SELECT json_group_array(x) AS x FROM (SELECT {expr} AS x FROM items)");
            assert_eq!(answer(&text, &sql, &[]).expect(&sql).json, format!(r#"[{{"x":{expect}}}]"#), "{sql}");
        }
        for (sql, expect) in [
            (format!("SELECT max({column}) - min({column}) AS n FROM items"), 305),
            (
                format!(
                    "SELECT CAST(julianday(max({column})) - julianday(min({column})) AS INTEGER) AS n FROM items"
                ),
                305,
            ),
            (format!("SELECT month(m) AS n FROM (SELECT max({column}) AS m FROM items)"), 12),
            (
                format!(
                    "WITH t AS (SELECT {column} AS m FROM items) SELECT count(*) AS n FROM t WHERE month(t.m) = 2"
                ),
                1,
            ),
        ] {
            assert_eq!(answer(&text, &sql, &[]).expect(&sql).json, format!(r#"[{{"n":{expect}}}]"#), "{sql}");
        }
        let sql = format!("SELECT sum(p) AS s FROM items WHERE strftime('%m', {column}) = '02'");
        assert_eq!(answer(&text, &sql, &[]).expect(&sql).json, r#"[{"s":2.5}]"#, "{sql}");
    }
}

#[test]
fn answers_without_a_reason_have_no_hint() {
    let text = r#"[{"usd":"$1.50","pct":"1.5%","eu":"1,50","off":"2024-01-05T01:00:00+01:00"},
        {"usd":"$2.25","pct":"2.25%","eu":"2,25","off":"2024-01-06T01:00:00+01:00"}]"#;
    for (sql, expect) in [
        ("SELECT max(usd) AS n FROM items", ""),
        ("SELECT sum(pct) AS n FROM items", ""),
        ("SELECT max(eu) AS n FROM items", "eu is read as numbers: '1,50' is 1.5"),
        ("SELECT julianday(max(off)) - julianday('2024-01-05') AS n FROM items", ""),
        ("SELECT max(julianday(off)) AS n FROM items", ""),
    ] {
        assert_eq!(hints(text, sql).join("; "), expect, "{sql}");
    }
    let lists =
        r#"{"data":{"rows":[{"id":1},{"id":2}],"other":[{"id":1},{"id":2},{"id":3}]},"runs":[{"n":1}]}"#;
    assert!(hints(lists, "SELECT count(*) FROM items('/data/rows')").is_empty());
    assert!(!hints(lists, "SELECT count(*) FROM items").is_empty());
}

#[test]
fn a_number_of_several_texts_is_told() {
    let text = r#"[{"id":1,"p":"$2.5"},{"id":2,"p":"$2.50"},{"id":3,"p":"$3"}]"#;
    let told = "p has several texts for one number: use item ->> '$.p' for that of each row";
    check(text, "SELECT p FROM items WHERE id > 1", r#"[{"p":"$2.50"},{"p":"$3"}]"#);
    for (sql, expect) in [
        ("SELECT p FROM items", ""),
        ("SELECT id, p FROM items ORDER BY id", told),
        ("SELECT p FROM items WHERE p IN (SELECT p FROM items)", told),
        ("SELECT id, p FROM items WHERE p > 2.5 ORDER BY id", ""),
        ("SELECT id, item ->> '$.p' AS p FROM items ORDER BY id", ""),
    ] {
        assert_eq!(hints(text, sql).join("; "), expect, "{sql}");
    }
}

#[test]
fn date_functions_of_sqlite_read_times_of_all_forms() {
    for form in ["2024-01-0N 12:00:00 CET", "0N-Jan-24", "0N.01.2024", "Wed Jan 0N 11:00:00 2024", "2024/1/N"]
    {
        let rows: Vec<String> =
            (1..=4).map(|n| format!(r#"{{"t":"{}"}}"#, form.replace('N', &n.to_string()))).collect();
        let text = format!("[{}]", rows.join(","));
        for (expr, expect) in [
            ("max(date(t))", r#""2024-01-04""#),
            ("date(max(t), '+1 day')", r#""2024-01-05""#),
            ("max(strftime('%Y-%m-%d', t))", r#""2024-01-04""#),
            ("max(strftime(t, '%Y-%m'))", r#""2024-01""#),
            ("CAST(julianday(max(t)) - julianday(min(t)) AS INTEGER)", "3"),
            ("sum(date(t) > '2024-01-02')", "2"),
        ] {
            for sql in [
                format!("SELECT {expr} AS x FROM items"),
                format!("WITH a AS (SELECT t FROM items) SELECT {expr} AS x FROM a"),
            ] {
                let found = answer(&text, &sql, &[]).expect(&sql);
                assert_eq!(found.json, format!(r#"[{{"x":{expect}}}]"#), "{sql} {form}");
                assert!(found.type_hints.is_empty(), "{sql} {form}: {:?}", found.type_hints);
            }
        }
    }
    let sql = "SELECT date('10-Jan-24') AS d, date('2024-05-01 01:30 CEST') AS e, date('now') > '2024' AS n";
    assert_eq!(answer("[{}]", sql, &[]).expect(sql).json, r#"[{"d":"2024-01-10","e":"2024-04-30","n":1}]"#);
}

#[test]
fn text_functions_read_numbers_as_they_are_written() {
    let row = |n: i64| {
        format!(
            r#"{{"id":{n},"usd":"${n},002.50","eu":"{n}.061,11","pct":"{n}.25%","temp":"{n}.5°C","pr":"{n}.50","ok":"{}"}}"#,
            n % 2 == 0
        )
    };
    let text = format!("[{}]", (1..=4).map(row).collect::<Vec<_>>().join(","));
    for (expr, expect) in [
        ("sum(CAST(replace(substr(usd, 2), ',', '') AS REAL))", "10010.0"),
        ("sum(CAST(replace(replace(eu, '.', ''), ',', '.') AS REAL))", "10244.44"),
        ("sum(CAST(substr(pct, 1, length(pct) - 1) AS REAL))", "11.0"),
        ("sum(CAST(substr(temp, 1, instr(temp, '°') - 1) AS REAL))", "12.0"),
        ("sum(usd LIKE '$%')", "4"),
        ("sum(pr NOT LIKE '%.50')", "0"),
        ("sum(ok LIKE 't%')", "2"),
        ("sum(ok GLOB 'true')", "2"),
        ("sum(ok || '' <> 'true')", "2"),
        ("sum(usd REGEXP '^.3')", "1"),
        ("sum(left(usd, 2) = '$3')", "1"),
        ("sum(CAST(usd AS TEXT) LIKE '$%')", "4"),
        ("max(upper(trim(usd)))", r#""$4,002.50""#),
        ("group_concat(pct)", r#""1.25%,2.25%,3.25%,4.25%""#),
        ("max(CASE WHEN usd LIKE '$3%' THEN usd END)", "3002.5"),
        ("length(max(usd))", "9"),
    ] {
        for sql in [
            format!("SELECT {expr} AS x FROM items"),
            format!("SELECT {expr} AS x FROM items AS a WHERE id > 0"),
            format!("WITH t AS (SELECT * FROM items) SELECT {expr} AS x FROM t"),
            format!("SELECT {expr} AS x FROM (SELECT usd, eu, pct, temp, pr, ok FROM items) AS t"),
        ] {
            assert_eq!(answer(&text, &sql, &[]).expect(&sql).json, format!(r#"[{{"x":{expect}}}]"#), "{sql}");
        }
    }
    let several = r#"[{"p":"$2.5"},{"p":"$2.50"},{"p":"$3"}]"#;
    assert_eq!(
        hints(several, "SELECT length(p) FROM items"),
        ["p has several texts for one number: use item ->> '$.p' for that of each row"]
    );
}

#[test]
fn a_hint_has_a_statement_only_if_it_is_right_for_all_values() {
    let column = |values: &[&str]| {
        let rows = values.iter().map(|value| format!(r#"{{"v":"{value}"}}"#)).collect::<Vec<_>>();
        format!("[{}]", rows.join(","))
    };
    for (values, expect) in [
        (&["1,400 ms", "20 ms"][..], Some("[1400,20]")),
        (&["ca 1,400.50", "ca 20.00"], Some("[1400.5,20.0]")),
        (&["12 kg", "3 kg", "N/A"], Some("[12,3,null]")),
        (&["-5 °C", "20 °C"], None),
        (&["CHF 1'400.50", "CHF 20.00"], None),
        (&["10,5%", "9%"], None),
        (&["10 MB", "9 MB", "1.5 GB", "800 KB"], None),
        (&["1m30s", "45s"], None),
        (&["1/2", "3/4"], None),
        (&["0x10", "0x0F"], None),
        (&["1'400", "20'000"], None),
        (&["1.5k", "2M", "300"], None),
        (&["$5", "€3", "$10"], None),
    ] {
        let text = column(values);
        let hints = hints(&text, "SELECT sum(v) FROM items");
        let statement =
            hints.first().and_then(|hint| hint.split_once(": use ")).map(|(_, statement)| statement);
        let read = statement.map(|call| {
            let sql = format!("SELECT json_group_array({call}) AS x FROM items");
            answer(&text, &sql, &[]).expect(&sql).json
        });
        assert_eq!(read, expect.map(|expect| format!(r#"[{{"x":{expect}}}]"#)), "{values:?} {hints:?}");
    }
    let units =
        "v has values of several units ('10 MB', '800 KB'): GROUP BY regexp_extract(v, '[^-0-9., ]+')";
    assert_eq!(hints(&column(&["10 MB", "800 KB", "9 MB"]), "SELECT max(v) FROM items"), [units]);
    let order = hints(&column(&["usd 100", "usd 20"]), "SELECT v FROM items ORDER BY v");
    assert_eq!(
        order,
        ["v sorts as text ('usd 100' before 'usd 20'): use regexp_extract(v, '-?[0-9.]+')::numeric"]
    );
    assert!(hints(&column(&["INV-100", "INV-20"]), "SELECT v FROM items ORDER BY v").is_empty());
}

#[test]
fn names_that_differ_in_case_are_read_as_they_are_written() {
    for text in ["Id,ID,Name\n1,7,b\n2,8,d\n3,9,f\n", r#"[{"Id":1,"ID":7},{"Id":2,"ID":8},{"Id":3,"ID":9}]"#]
    {
        for (name, column) in [("ID", "ID_2"), ("ID_2", "ID_2"), ("Id", "Id_1")] {
            let sql = format!("SELECT max({name}) AS n FROM items WHERE Id_1 = 2");
            let expect = if column == "ID_2" { 8 } else { 2 };
            assert_eq!(
                answer(text, &sql, &[]).expect(&sql).json,
                format!(r#"[{{"n":{expect}}}]"#),
                "{text} {sql}"
            );
        }
        let error = answer(text, "SELECT id FROM items", &[]).expect_err("an ambiguous name").to_string();
        assert!(error.contains("no such column: id"), "{error}");
    }
}

#[test]
fn a_text_in_a_member_has_its_tables() {
    let csv = (0..600).map(|n| format!("{n},{}\n", n % 7)).collect::<Vec<_>>().concat();
    let object = |text: &str| format!(r#"{{"exitCode":0,"stdout":{}}}"#, Value::from(text));
    let csv = object(&format!("id,qty\n{csv}"));
    assert_eq!(
        answer(&csv, "SELECT count(*) AS n, max(qty) AS m FROM items", &[]).expect("rows").json,
        r#"[{"n":600,"m":6}]"#
    );
    assert_eq!(answer(&csv, "SELECT count(*) AS n FROM lines", &[]).expect("rows").json, r#"[{"n":601}]"#);
    assert_eq!(answer(&csv, "SELECT exitCode AS n FROM record", &[]).expect("a row").json, r#"[{"n":0}]"#);
    let line = |n: usize| {
        format!(
            "2024-05-01T10:00:{:02}Z {} x={n}\n",
            n % 60,
            if n.is_multiple_of(7) { "ERROR" } else { "INFO" }
        )
    };
    let log = object(&(0..600).map(line).collect::<String>());
    let levels = "SELECT count(*) AS n FROM entries WHERE level = 'ERROR'";
    assert_eq!(answer(&log, levels, &[]).expect("rows").json, r#"[{"n":86}]"#);
    assert_eq!(answer(&log, "SELECT exitCode AS n FROM items", &[]).expect("a row").json, r#"[{"n":0}]"#);
}

#[test]
fn nested_lists_are_named_by_their_pattern() {
    let talks = r#"{"days":[{"rooms":[{"talks":[{"t":1},{"t":2}]}]},{"rooms":[{"talks":[{"t":3}]},{"talks":[{"t":4}]}]}]}"#;
    let error = answer(talks, "SELECT count(*) FROM talks", &[]).expect_err("no table").to_string();
    assert!(error.contains("did you mean items('*/talks')?"), "{error}");
    let rooms = "SELECT count(*) AS n FROM items('/days/*/rooms/*')";
    assert_eq!(answer(talks, rooms, &[]).expect("rows").json, r#"[{"n":3}]"#);
}

fn hints(text: &str, sql: &str) -> Vec<String> {
    answer(text, sql, &[]).expect(sql).type_hints
}

#[test]
fn columns_of_one_name_and_two_forms_are_joined_by_their_meaning() {
    let main = r#"[{"id":1,"t":1704412800000,"d":"2024-01-05"},{"id":2,"t":1704499200000,"d":"2024-01-16"}]"#;
    let other = r#"[{"id":1,"t":"2024-01-05T00:00:00Z","d":"05/01/2024"},{"id":3,"t":"2024-01-07T00:00:00Z","d":"17/01/2024"}]"#;
    for (sql, expect) in [
        ("SELECT items.id FROM items JOIN b USING (t)", r#"[{"id":1}]"#),
        (
            "SELECT t, count(*) AS n FROM items JOIN b.items AS o USING (t) GROUP BY t ORDER BY t",
            r#"[{"t":1704412800000,"n":1}]"#,
        ),
        (
            "SELECT a.id FROM items a LEFT JOIN b USING (d) WHERE b.id IS NULL AND d > '2024-01-10'",
            r#"[{"id":2}]"#,
        ),
        ("SELECT id FROM items JOIN b USING (id, d)", r#"[{"id":1}]"#),
        ("SELECT id FROM items JOIN b USING (id)", r#"[{"id":1}]"#),
    ] {
        let found = answer_joined(main, &[("b", other)], sql).expect(sql);
        assert_eq!(found.json, expect, "{sql}");
    }
}
