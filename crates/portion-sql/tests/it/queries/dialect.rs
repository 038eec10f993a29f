//! Tests statements of other SQL dialects.

use portion_json::scan::quote;

use crate::common::{answer, answer_joined, check};

const TRIPS: &str = r#"[
  {"id":1,"kind":"Rail","from":"2025-01-30","to":"2025-02-02","at":"2025-01-30T23:15:30Z","price":10.25,"paid":true,"tags":["a","b"],"mail":"ana@example.org"},
  {"id":2,"kind":"rail","from":"2025-02-01","to":"2025-02-03","at":"2025-02-01T08:00:00Z","price":20.5,"paid":false,"tags":["b"],"mail":"bo@example.com"},
  {"id":3,"kind":"Bus","from":"2025-03-31","to":"2025-04-01","at":"2025-03-31T12:30:00Z","price":30,"paid":true,"tags":[],"mail":null},
  {"id":4,"kind":"Rail","from":"2024-12-29","to":"2025-01-01","at":"2024-12-29T00:00:00Z","price":100,"paid":false,"tags":["c"],"mail":"ann@example.org"}]"#;

fn one(expression: &str, expect: &str) {
    check("[{\"a\":1}]", &format!("SELECT {expression} AS x"), &format!(r#"[{{"x":{expect}}}]"#));
}

/// Asserts the ids that satisfy a condition.
fn ids(condition: &str, expect: &str) {
    let sql = format!("SELECT json_group_array(id) AS ids FROM items WHERE {condition}");
    check(TRIPS, &sql, &format!(r#"[{{"ids":{expect}}}]"#));
}

#[test]
fn conditions() {
    ids("kind ILIKE 'RAIL'", "[1,2,4]");
    ids("kind NOT ILIKE 'r%'", "[3]");
    ids("mail ~ '^an[an]@'", "[1,4]");
    ids("mail ~* '^AN' AND kind !~ '^r'", "[1,4]");
    ids("mail !~* 'ORG$'", "[2]");
    ids("mail RLIKE 'com$'", "[2]");
    ids("REGEXP_MATCHES(mail, 'com$') OR regexp_like(mail, '^ANA', 'i')", "[1,2]");
    ids("STARTS_WITH(mail, 'an') AND CONTAINS(mail, 'ann')", "[4]");
    ids("list_contains(tags, 'b')", "[1,2]");
    ids("\"from\" >= DATE '2025-02-01' AND \"from\" < DATE '2025-02-01' + INTERVAL '1 month'", "[2]");
    ids("EXTRACT(year FROM \"from\") = 2025 AND MONTH(\"from\") IN (1, 3)", "[1,3]");
    ids("CAST(\"from\" AS DATE) = '2025-03-31'", "[3]");
    ids("at::date = '2025-01-30'::date", "[1]");
    ids("paid::bool", "[1,3]");
    ids("~5 = -6 AND id = 1", "[1]");
    ids("id = ANY (SELECT id FROM items WHERE paid)", "[1,3]");
}

#[test]
fn words_of_other_clauses_are_no_tables() {
    one("EXTRACT(YEAR FROM date('2024-05-01'))", "2024");
    one("'/api' IS DISTINCT FROM '/api'", "0");
    one("'/api' IS NOT DISTINCT FROM '/api'", "1");
    one("SUBSTRING('harbour' FROM 2 FOR 3)", "\"arb\"");
    one("regexp_full_match('ab', 'a|ab')", "1");
    check(
        TRIPS,
        "WITH list(trip) AS (SELECT id FROM items WHERE id < 3) SELECT trip FROM list",
        r#"[{"trip":1},{"trip":2}]"#,
    );
    check(
        TRIPS,
        "SELECT i.id FROM items i JOIN (SELECT max(id) AS top FROM items) m ON i.id = m.top",
        r#"[{"id":4}]"#,
    );
}

#[test]
fn aggregates() {
    let ask = |sql: &str, expect: &str| {
        check(TRIPS, &format!("SELECT {sql} AS x FROM items"), &format!(r#"[{{"x":{expect}}}]"#));
    };
    ask("MEDIAN(price)", "25.25");
    ask("PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY price)", "25.25");
    ask("percentile_cont(0.25) within group (order by price desc)", "47.5");
    ask("PERCENTILE_CONT(price, 0.5)", "25.25");
    ask("PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY \"from\")", "\"2025-01-30\"");
    ask("QUANTILE(price, 1)", "100.0");
    ask("percentile(price, 0)", "10.25");
    ask("COUNT(DISTINCT (paid, id > 9))", "2");
    ask("MODE(kind)", "\"Rail\"");
    ask("mode() WITHIN GROUP (ORDER BY kind)", "\"Rail\"");
    ask("round(STDDEV(price), 3)", "40.682");
    ask("round(STDDEV_POP(price), 3)", "35.232");
    ask("round(VARIANCE(price), 3)", "1655.057");
    ask("round(VAR_POP(price), 3)", "1241.293");
    ask("round(CORR(id, price), 3)", "0.885");
    ask("COUNT_IF(kind = 'Rail')", "2");
    ask("BOOL_OR(paid) || '-' || BOOL_AND(paid)", "\"1-0\"");
    ask("ARG_MAX(id, price) || '-' || MIN_BY(id, price)", "\"4-1\"");
    ask("ANY_VALUE(mail)", "\"ana@example.org\"");
    ask("STRING_AGG(kind, '|' ORDER BY id)", "\"Rail|rail|Bus|Rail\"");
    ask("STRING_AGG(DISTINCT kind, '|' ORDER BY kind)", "\"Bus|Rail|rail\"");
    ask("GROUP_CONCAT(DISTINCT kind ORDER BY kind SEPARATOR '; ')", "\"Bus; Rail; rail\"");
    ask("GROUP_CONCAT(kind ORDER BY id DESC SEPARATOR '; ')", "\"Rail; Bus; rail; Rail\"");
    ask("LISTAGG(kind, ',') WITHIN GROUP (ORDER BY id)", "\"Rail,rail,Bus,Rail\"");
    ask("ARRAY_AGG(id ORDER BY id DESC)", "[4,3,2,1]");
    ask("LIST(DISTINCT paid)", "[1,0]");
    ask("APPROX_COUNT_DISTINCT(kind)", "3");
    ask("COUNT(*) FILTER (WHERE paid)::float / COUNT(*)", "0.5");
    ask("MEDIAN(price) FILTER (WHERE paid)", "20.125");
    check(
        TRIPS,
        "SELECT MEDIAN(price) AS x, STDDEV(price) AS y FROM items WHERE id = 1",
        r#"[{"x":10.25,"y":null}]"#,
    );
    check(TRIPS, "SELECT MEDIAN(price) AS x, MODE(kind) AS y FROM items WHERE 0", r#"[{"x":null,"y":null}]"#);
    check(
        "[{\"n\":\"1\"},{\"n\":\"x\"},{\"n\":\"3\"}]",
        "SELECT median(n) AS x FROM items",
        r#"[{"x":2.0}]"#,
    );
}

#[test]
fn dates() {
    for (expression, expect) in [
        ("DATE_TRUNC('month', '2025-05-17')", "\"2025-05-01\""),
        ("DATE_TRUNC('2025-05-17', MONTH)", "\"2025-05-01\""),
        ("date_trunc('quarter', '2025-05-17T10:11:12Z')", "\"2025-04-01\""),
        ("date_trunc('week', '2025-05-18')", "\"2025-05-12\""),
        ("date_trunc('hour', '2025-05-17T10:11:12Z')", "\"2025-05-17T10:00:00Z\""),
        ("date_trunc('day', '2025-05-17T23:30:00-05:00')", "\"2025-05-18\""),
        ("DATE_PART('doy', '2024-12-31')", "366"),
        ("EXTRACT(week FROM '2024-12-30')", "1"),
        ("EXTRACT(dow FROM '2025-05-18')", "0"),
        ("EXTRACT(epoch FROM '1970-01-02')", "86400"),
        ("EXTRACT(EPOCH FROM '2025-03-02T01:00:00'::timestamp - '2025-03-01'::timestamp)", "90000.0"),
        ("EXTRACT(EPOCH FROM (DATE '2025-03-02' - DATE '2025-03-01')) / 3600", "24"),
        ("DATE_PART('day', '2025-03-04T12:00:00' - '2025-03-01T00:00:00')", "3"),
        ("EXTRACT(day FROM DATE '2025-03-04' - INTERVAL '1 day')", "3"),
        ("DATE '2025-03-15' - 7 * 2", "\"2025-03-01\""),
        ("DATE '2025-03-01' + 2 * length('abc') = '2025-03-07'", "1"),
        ("CURRENT_DATE - 7 * 2 = date('now', '-14 days')", "1"),
        ("SUBSTRING('id=42;' FROM '[0-9]+')", "\"42\""),
        ("SUBSTRING('id=42;' FROM 'id=(\\d+)')", "\"42\""),
        ("YEAR(1714557600) || '-' || MONTH(1714557600000)", "\"2024-5\""),
        ("HOUR('2025-05-17 10:11:12') + MINUTE('2025-05-17 10:11:12')", "21"),
        ("YEAR('no date')", "null"),
        ("DATEDIFF('2025-03-01', '2025-02-01')", "28"),
        ("DATEDIFF(day, '2025-02-01', '2025-03-01')", "28"),
        ("DATEDIFF('month', '2025-01-31', '2025-03-01')", "2"),
        ("DATE_DIFF('2025-03-01', '2025-02-01', DAY)", "28"),
        ("TIMESTAMPDIFF(MONTH, '2025-01-31', '2025-03-01')", "1"),
        ("DATEDIFF(hour, '2025-01-01T00:30:00Z', '2025-01-01T02:00:00Z')", "2"),
        ("'2025-03-01'::date - '2025-02-01'::date", "28"),
        ("CAST('2025-03-01' AS DATE) - CAST('2025-02-01' AS DATE)", "28"),
        ("'2025-03-01'::date - 1", "\"2025-02-28\""),
        ("DATE '2025-01-31' + INTERVAL '1 month'", "\"2025-02-28\""),
        ("'2025-01-31T10:00:00Z'::timestamp - INTERVAL 3 HOUR", "\"2025-01-31T07:00:00Z\""),
        ("DATE_ADD('2025-01-31', INTERVAL 7 DAY)", "\"2025-02-07\""),
        ("DATE_SUB('2024-02-29', INTERVAL 1 YEAR)", "\"2023-02-28\""),
        ("DATEADD(day, -7, '2025-01-03')", "\"2024-12-27\""),
        ("LAST_DAY('2024-02-01')", "\"2024-02-29\""),
        ("dayname('2025-05-18') || ' ' || monthname('2025-05-18')", "\"Sunday May\""),
        ("TO_CHAR('2025-05-07', 'YYYY-MM')", "\"2025-05\""),
        ("DATE_FORMAT('2025-05-07 08:09:10', '%d.%m.%Y %H:%i')", "\"07.05.2025 08:09\""),
        ("strftime('2025-05-07', '%Y-%m')", "\"2025-05\""),
        ("TO_DATE('07/05/2025', 'DD/MM/YYYY')", "\"2025-05-07\""),
        ("strptime('7 May 2025', '%d %B %Y')", "\"2025-05-07\""),
        ("to_date('Wed, 07 May 2025 10:00:00 GMT')", "\"2025-05-07\""),
        ("NOW() = CURRENT_TIMESTAMP AND CURRENT_DATE() = date('now')", "1"),
        ("CURRENT_DATE - 1 = date('now', '-1 day')", "1"),
    ] {
        one(expression, expect);
    }
}

#[test]
fn texts_and_casts() {
    for (expression, expect) in [
        ("SPLIT_PART('a@b.org', '@', 2)", "\"b.org\""),
        ("split('a-b-c', '-')[0]", "\"a\""),
        ("split('a-b-c', '-')[-1]", "\"c\""),
        ("split('a-b-c', '-')[OFFSET(1)]", "\"b\""),
        ("string_split('a-b-c', '-')[2]", "\"b\""),
        ("(string_to_array('a-b-c', '-'))[2] || '!'", "\"b!\""),
        ("SPLIT_PART('a-b-c', '-', -1)", "\"c\""),
        ("REGEXP_EXTRACT('id=42;', 'id=(\\d+)')", "\"42\""),
        ("REGEXP_EXTRACT('id=42;', '\\d+')", "\"42\""),
        ("REGEXP_EXTRACT('id=42;', '(i)(d)', 2)", "\"d\""),
        ("REGEXP_REPLACE('a1b2', '\\d', '')", "\"ab\""),
        ("REGEXP_REPLACE('ab', '(a)(b)', '\\2\\1', 'g')", "\"ba\""),
        ("REGEXP_COUNT('a1b2', '\\d')", "2"),
        ("CONCAT('a', NULL, 1) || CONCAT_WS('-', 1, 2)", "\"a11-2\""),
        ("LEFT('héllo', 2) || RIGHT('héllo', 2)", "\"hélo\""),
        ("LEN('héllo') + CHAR_LENGTH('a')", "6"),
        ("SUBSTRING('abcdef' FROM 2 FOR 3)", "\"bcd\""),
        ("POSITION('c' IN 'abc') * 10 + STRPOS('abc', 'b')", "32"),
        ("LPAD('7', 3, '0') || RPAD('a', 2, '.')", "\"007a.\""),
        ("INITCAP('ana de sousa')", "\"Ana De Sousa\""),
        ("GREATEST(1, 3, NULL, 2) - LEAST(5, 4)", "-1"),
        ("NVL(NULL, 2) + IF(1, 2, 3)", "4"),
        ("'3.7'::int", "4"),
        ("'12x'::int", "null"),
        ("'12'::float / 5", "2.4"),
        ("1::text || 2::varchar(10)", "\"12\""),
        ("'2.345'::numeric(10,2)", "2.35"),
        ("TRY_CAST('x' AS INTEGER)", "null"),
        ("TRY_CAST('7' AS BIGINT)", "7"),
        ("SAFE_CAST(7 AS STRING) || CAST('007' AS STRING)", "\"7007\""),
        ("CAST('2025-05-07T10:00:00Z' AS DATE)", "\"2025-05-07\""),
        ("CAST('yes' AS BOOLEAN)", "1"),
        ("CAST('3.7' AS INT)", "3"),
        ("('{\"a\":[1,2]}'::jsonb)->'a'->>1", "2"),
        ("JSON_VALUE('{\"a\":1}', '$.a')", "1"),
        ("array_to_string('[1,\"b\",null]', '-')", "\"1-b\""),
        ("CASE WHEN 1 THEN '5' END::int + 1", "6"),
        ("FORMAT('%05.1f', 2.25)", "\"002.3\""),
        ("FORMAT_DATE('%Y-%m', DATE('2025-05-07'))", "\"2025-05\""),
        ("SAFE_DIVIDE(1, 4) + SAFE_DIVIDE(1, 2 - 2)", "null"),
        ("SAFE_DIVIDE(1 + 1, 4)", "0.5"),
        ("CONVERT(varchar(7), '2025-05-07', 120)", "\"2025-05\""),
        ("CONVERT('2025-05-07T10:00:00Z', DATE)", "\"2025-05-07\""),
        ("TRY_CONVERT(int, 'x')", "null"),
        ("EOMONTH('2024-02-01')", "\"2024-02-29\""),
        ("SPLIT('a@b.org', '@')[OFFSET(1)]", "\"b.org\""),
        ("REGEXP_CONTAINS('ab', r'^a')", "1"),
    ] {
        one(expression, expect);
    }
}

#[test]
fn divided_casts_keep_the_fraction() {
    for (expression, expect) in [
        ("7::numeric / 2", "3.5"),
        ("7 / 2::numeric", "3.5"),
        ("1 * 7::decimal / 2", "3.5"),
        ("7::numeric * 100 / 8", "87.5"),
        ("(7::numeric) / 2", "3.5"),
        ("sum(7::numeric) * 1 / count(*)", "7.0"),
        ("round(sum(7)::numeric / (1 + 1), 2)", "3.5"),
        ("7 / TRY_CAST('2' AS NUMERIC)", "3.5"),
        ("9007199254740993::numeric + 0 / 1", "9007199254740993"),
        ("7::numeric * 2 + 1 / 2", "14"),
        ("7::int / 2", "3"),
        ("'x'::numeric / 2", "null"),
    ] {
        one(expression, expect);
    }
}

#[test]
fn limits_and_catalog_statements() {
    check(TRIPS, "SELECT TOP 2 id FROM items ORDER BY id DESC;", r#"[{"id":4},{"id":3}]"#);
    check(TRIPS, "SELECT id FROM items ORDER BY id FETCH FIRST 1 ROW ONLY", r#"[{"id":1}]"#);
    check(TRIPS, "SELECT id FROM items ORDER BY id OFFSET 3", r#"[{"id":4}]"#);
    check(
        TRIPS,
        "SELECT id FROM items ORDER BY id OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY",
        r#"[{"id":2},{"id":3}]"#,
    );
    let tables = r#"[{"name":"items","rows":1,"columns":3},{"name":"leaves","rows":1,"columns":4}]"#;
    for sql in ["SHOW TABLES", "show tables;", "DESCRIBE"] {
        check("[{\"a\":1}]", sql, tables);
    }
    let columns = r#"[{"name":"a","kind":"integer","present":1},{"name":"item","kind":"object","present":1},{"name":"_index","kind":"integer","present":1}]"#;
    for sql in [
        "DESCRIBE items",
        "DESC ITEMS;",
        "DESCRIBE TABLE \"items\"",
        "SHOW COLUMNS FROM items",
        "SHOW FULL COLUMNS IN `list`",
        "PRAGMA table_info('items')",
    ] {
        check("{\"list\":[{\"a\":1}]}", sql, columns);
    }
    let error = answer("[{\"a\":1}]", "DESCRIBE item", &[]).expect_err("an error");
    assert_eq!(error.to_string(), "no such table: item");
}

#[test]
fn clauses_of_other_dialects() {
    check(
        TRIPS,
        "SELECT kind, paid, COUNT(*) AS n FROM items GROUP BY ALL ORDER BY n DESC, kind, paid LIMIT 2",
        r#"[{"kind":"Bus","paid":true,"n":1},{"kind":"Rail","paid":false,"n":1}]"#,
    );
    check(TRIPS, "SELECT MAX(price) AS top FROM items GROUP BY ALL", r#"[{"top":100}]"#);
    let dearest = r#"[{"id":3,"kind":"Bus"},{"id":4,"kind":"Rail"},{"id":2,"kind":"rail"}]"#;
    let by_price = "ROW_NUMBER() OVER (PARTITION BY kind ORDER BY price DESC)";
    for sql in [
        format!("SELECT id, kind FROM items QUALIFY {by_price} = 1 ORDER BY kind"),
        format!("SELECT t.id, t.kind FROM items AS t WHERE t.id > 1 QUALIFY {by_price} = 1 ORDER BY t.kind;"),
    ] {
        check(TRIPS, &sql, dearest);
    }
    check(TRIPS, &format!("SELECT id, {by_price} AS rn FROM items QUALIFY rn = 2"), r#"[{"id":1,"rn":2}]"#);
    check(
        TRIPS,
        "SELECT v.a, i.kind FROM (VALUES (1), (3), (9)) AS v(a) LEFT JOIN items i ON i.id = v.a ORDER BY 1",
        r#"[{"a":1,"kind":"Rail"},{"a":3,"kind":"Bus"},{"a":9,"kind":null}]"#,
    );
    check(
        TRIPS,
        "SELECT COUNT(*) AS n, SUM(t.p) AS p FROM (SELECT id, price FROM items) AS t(i, p) WHERE t.i > 2",
        r#"[{"n":2,"p":130}]"#,
    );
    check(
        TRIPS,
        "SELECT kind, COUNT(*) AS n FROM items GROUP BY kind QUALIFY RANK() OVER (ORDER BY COUNT(*) DESC) = 1",
        r#"[{"kind":"Rail","n":2}]"#,
    );
}

#[test]
fn the_first_row_of_each_group() {
    check(
        TRIPS,
        "SELECT DISTINCT ON (kind) kind, id FROM items ORDER BY kind, price DESC LIMIT 2",
        r#"[{"kind":"Bus","id":3},{"kind":"Rail","id":4}]"#,
    );
}

#[test]
fn rows_in_envelopes_and_strings_are_items() {
    let rows: Vec<String> = (0..60).map(|n| format!("{{\"id\":{n},\"city\":\"c{}\"}}", n % 3)).collect();
    let list = format!("[{}]", rows.join(","));
    let members: Vec<String> =
        rows.iter().enumerate().map(|(at, row)| format!("\"k{at}\":{}", quote(row))).collect();
    let texts: Vec<String> = (0..120).map(|n| format!("\"C{n}\":\"c{}\"", n % 6)).collect();
    for (payload, city) in [
        (format!("{{\"result\":[{{\"page\":1,\"pages\":3}},{list}]}}"), "city"),
        (format!("[{}]", rows.iter().map(|row| quote(row)).collect::<Vec<_>>().join(",")), "city"),
        (format!("{{{}}}", members.join(",")), "city"),
        (format!("{{\"matches\":{{\"Orders\":{{{}}}}}}}", texts.join(",")), "value"),
    ] {
        check(&payload, &format!("SELECT COUNT(*) AS n FROM items WHERE {city} = 'c1'"), r#"[{"n":20}]"#);
    }
}

#[test]
fn the_json_of_a_member_equals_its_value() {
    const NESTED: &str = r#"[{"meta":{"k":"a","n":5}},{"meta":{"k":"b","n":7}},{"meta":{"k":"a","n":9}}]"#;
    for (condition, count) in [
        ("meta -> 'k' = 'a'", 2),
        ("meta -> '$.k' = '\"a\"'", 2),
        ("'a' <> meta -> 'k'", 1),
        ("meta -> 'k' IN ('a', 'c')", 2),
        ("meta -> 'n' > 5", 2),
        ("meta -> 'n' BETWEEN 6 AND 9", 2),
    ] {
        let sql = format!("SELECT COUNT(*) AS n FROM items WHERE {condition}");
        check(NESTED, &sql, &format!(r#"[{{"n":{count}}}]"#));
    }
}

#[test]
fn elements_of_arrays() {
    const ORDERS: &str = r#"[
      {"id":1,"tags":["a","b"],"lines":[{"sku":"x","n":2,"value":10},{"sku":"y","n":1,"value":5}]},
      {"id":2,"tags":["b"],"lines":[{"sku":"x","n":4,"value":20,"by":{"name":"bo"}}]}]"#;
    let skus = r#"[{"sku":"x","n":6},{"sku":"y","n":1}]"#;
    for sql in [
        "SELECT l.sku, SUM(l.n) AS n FROM items, UNNEST(lines) AS l GROUP BY l.sku ORDER BY l.sku",
        "SELECT t.l.sku, SUM(l.n) AS n FROM items CROSS JOIN UNNEST(lines) AS t(l) GROUP BY 1 ORDER BY 1",
        "SELECT l.sku, SUM(l.n) AS n FROM items, json_each(items.lines) l GROUP BY 1 ORDER BY 1",
        "SELECT l->>'sku' AS sku, SUM((l->>'n')::int) AS n FROM items CROSS JOIN LATERAL jsonb_array_elements(lines) l \
         GROUP BY 1 ORDER BY 1",
        "SELECT l.value->>'sku' AS sku, SUM(l.value->>'n') AS n FROM items, json_array_elements(lines) AS l GROUP BY 1 ORDER BY 1",
    ] {
        let answered = answer(ORDERS, sql, &[]).map(|answer| answer.json);
        let plain = answered.map(|json| json.replace("t.l.sku", "sku").replace("l.sku", "sku"));
        assert_eq!(plain.as_deref(), Ok(skus), "{sql}");
    }
    for (condition, expect) in [
        ("'a' IN UNNEST(tags)", "[1]"),
        ("'b' = ANY(tags)", "[1,2]"),
        ("EXISTS (SELECT 1 FROM UNNEST(tags) tag WHERE tag = 'a')", "[1]"),
        ("EXISTS (SELECT 1 FROM UNNEST(lines) l WHERE l.value = 20 AND l.by.name = 'bo')", "[2]"),
    ] {
        let sql = format!("SELECT json_group_array(id) AS ids FROM items WHERE {condition}");
        check(ORDERS, &sql, &format!(r#"[{{"ids":{expect}}}]"#));
    }
    check(ORDERS, "SELECT lines[OFFSET(0)] ->> '$.sku' AS sku FROM items LIMIT 1", r#"[{"sku":"x"}]"#);
    // Other names stay.
    check(
        ORDERS,
        "SELECT e.value AS tag, e.key FROM items, json_each(tags) AS e WHERE e.value = 'b' ORDER BY items.id",
        r#"[{"tag":"b","key":1},{"tag":"b","key":0}]"#,
    );
}

#[test]
fn keywords_and_quotes() {
    const DEEP: &str = r#"[{"a":{"b":{"c":{"d":7,"e":{"f":8}}}}}]"#;
    const COMMITS: &str = r#"[{"sha":"a1","commit":{"author":{"name":"Bo"}},"group":"x","order":{"id":7}},
      {"sha":"b2","commit":{"author":{"name":"Ana"}},"group":"y's","order":{"id":8}}]"#;
    for sql in [
        "SELECT commit.author.name AS who FROM items ORDER BY commit.author.name",
        "SELECT i.commit.author.name AS who FROM items AS i ORDER BY 1",
        "SELECT commit['author']['name'] AS who FROM items ORDER BY who",
        "SELECT commit->'author'->>'name' AS who FROM items ORDER BY who",
        "SELECT JSON_VALUE(commit, '$.author.name') AS who FROM items ORDER BY who",
    ] {
        check(COMMITS, sql, r#"[{"who":"Ana"},{"who":"Bo"}]"#);
    }
    for sql in [
        "SELECT a.b.c.d AS x FROM items",
        "SELECT i.a.b.c.d AS x FROM items i JOIN items j ON j.a.b.c.e.f = i.a.b.c.e.f",
        "SELECT a.b.c.e.f - 1 AS x FROM items ORDER BY a.b.c.e.f",
    ] {
        check(DEEP, sql, r#"[{"x":7}]"#);
    }
    for condition in
        ["group = \"x\"", "sha IN (\"a1\", \"zz\")", "order.id < 8", "sha LIKE \"a%\"", "group <> \"y's\""]
    {
        check(COMMITS, &format!("SELECT sha FROM items WHERE {condition}"), r#"[{"sha":"a1"}]"#);
    }
    let error = answer(COMMITS, "SELECT \"shaa\" FROM items", &[]).expect_err("a name");
    assert!(error.to_string().contains("did you mean sha?"), "{error}");
}

#[test]
fn names_of_columns_are_those_of_the_statement() {
    check(
        TRIPS,
        "SELECT COUNT(*)::int, STRING_AGG(DISTINCT kind, ',' ORDER BY kind) FROM items WHERE kind <> 'rail'",
        r#"[{"COUNT(*)::int":3,"STRING_AGG(DISTINCT kind, ',' ORDER BY kind)":"Bus,Rail"}]"#,
    );
    let joined = answer_joined(TRIPS, &[("b", "[{\"n\":1}]")], "SELECT (SELECT count(*) FROM b.items)");
    assert_eq!(joined.map(|answer| answer.json).as_deref(), Ok(r#"[{"(SELECT count(*) FROM b.items)":1}]"#));
    check(
        r#"{"a":{"b":[{"n":1},{"n":2}]}}"#,
        "SELECT (SELECT sum(n) FROM items('/a/b'))",
        r#"[{"(SELECT sum(n) FROM items('/a/b'))":3}]"#,
    );
}

#[test]
fn forms_without_an_equal_are_answered_with_advice() {
    let advice = |sql: &str, expect: &str| {
        let error = answer(TRIPS, sql, &[]).expect_err(sql);
        assert!(error.advice().contains(expect), "{sql}: {error}; {}", error.advice());
    };
    advice("SELECT UNNEST(tags) FROM items", "json_each(items.tags) AS e");
    for function in ["json_each", "unnest", "flatten", "explode"] {
        let sql = format!("SELECT {function}(tags) FROM items");
        advice(&sql, "json_each(items.tags) AS e");
        assert_eq!(
            answer(TRIPS, &sql, &[]).expect_err("no function").to_string(),
            format!("no such function: {function}")
        );
    }
    advice("SELECT tags.name FROM items", "json_each(items.tags) AS e");
    advice("SELECT split(mail, '@')[1] FROM items", "split_part(x, ',', ");
    advice("SELECT split(mail)[0] FROM items", "split_part(x, ',', ");
    advice("SELECT tags[0].name FROM items", "write tags ->> '$[0]' for the first element");
    advice("SELECT tags[0] FROM items", "write tags ->> '$[0]' for the first element");
    advice("SELECT kind, list(id ORDER BY price DESC)[1:2] FROM items GROUP BY kind", "row_number() OVER");
    advice("SELECT id FROM items WHERE price > ALL (SELECT price FROM items WHERE paid)", "SELECT max(y)");
    advice("SELECT id FROM items WHERE \"from\" >= make_date(2025, 2, 1)", "d >= '2024-03-01'");
    advice("SELECT ARRAY_AGG(id ORDER BY price LIMIT 2) FROM items", "ORDER BY … LIMIT 3)");
    advice("SELECT SUBSTRING_INDEX(mail, '@', -1) FROM items", "split_part(x, '.', -1)");
    advice("SELECT id FROM items WHERE kind LIKE ANY ('R%', 'B%')", "REGEXP");
    advice("SELECT weekday(at) FROM items", "EXTRACT(dow FROM d)");
    advice("SELECT id FROM items ORDER BY RANDOM()", "random() is not available");
    advice("PRAGMA database_list", "DESCRIBE items");
    advice("SELECT * FROM sqlite_master", "SHOW TABLES");
    advice("SELECT * FROM information_schema.columns", "DESCRIBE items");
    advice("SELECT json_extract(kind, '$.a') FROM items", "json_valid(kind)");
    advice("SELECT MEDIAN(price) OVER () FROM items", "a subquery with GROUP BY");
    advice("SELECT '5'::money2", "cast to int, float");
    advice("SELECT id FROM items WHERE price = MAX(price)", "use a subquery");
    let error = |sql: &str| answer(TRIPS, sql, &[]).expect_err(sql).to_string();
    assert_eq!(
        error("SELECT value FROM items, json_each(kind)"),
        "malformed JSON in json_each(kind): kind has texts that are not JSON"
    );
    assert_eq!(error("SELECT age(at) FROM items"), "no such function: age");
    assert_eq!(error("SELECT id FROM trips"), "no such table: trips; did you mean items?");
}

#[test]
fn forms_of_duckdb_have_its_values() {
    let rows = r#"[{"p":0.5,"q":1.5,"ok":true,"n":null},{"p":2.5,"q":3.5,"ok":false,"n":7}]"#;
    for (expr, expect) in [
        ("sum(p::int)", "2"),
        ("sum(q::int)", "6"),
        ("max(format('{} of {}%', p, q))", r#""2.5 of 3.5%""#),
        ("group_concat(ok::text)", r#""true,false""#),
        ("arg_min(n, p)", "7"),
        ("arg_max(n, q)", "7"),
    ] {
        check(rows, &format!("SELECT {expr} AS x FROM items"), &format!(r#"[{{"x":{expect}}}]"#));
    }
}

#[test]
fn texts_names_and_comments_stay() {
    check(
        r#"[{"x::int":"a ILIKE b","q":1}]"#,
        "SELECT \"x::int\" AS a, 'y::int ILIKE' AS b /* z::int ~ */ FROM items -- w::int ILIKE",
        r#"[{"a":"a ILIKE b","b":"y::int ILIKE"}]"#,
    );
    check(
        r#"[{"interval":1,"date":"2025-01-01","list":2}]"#,
        "SELECT interval, date 'd', list FROM items",
        r#"[{"interval":1,"d":"2025-01-01","list":2}]"#,
    );
    check(
        r#"[{"now":1,"top":2,"mode":3}]"#,
        "SELECT now, top, mode FROM items",
        r#"[{"now":1,"top":2,"mode":3}]"#,
    );
}

#[test]
fn formats_and_units_of_other_dialects() {
    let rows = r#"[{"id":15,"day":"2024-01-05T10:50:00Z","end":"2024-01-05T11:10:00Z","x":"order #15 shipped","n":1234.5}]"#;
    for (value, expect) in [
        ("strftime('%B', day)", "\"January\""),
        ("strftime(day, '%b %y')", "\"Jan 24\""),
        ("format_date('%A', day)", "\"Friday\""),
        ("strftime('%Y-%m', day)", "\"2024-01\""),
        ("FORMAT(day, 'yyyy-MM')", "\"2024-01\""),
        ("format('{:.2f} of {}', 3.14159, id)", "\"3.14 of 15\""),
        ("format('{:,d}', 1234567)", "\"1,234,567\""),
        ("round(n, -2)", "1200.0"),
        ("CAST(n AS DECIMAL(10, 0))", "1235.0"),
        ("dayofmonth(day)", "5"),
        ("time_bucket(INTERVAL '15 minutes', day)", "\"2024-01-05T10:45:00Z\""),
        ("time_bucket('2000000000000000 hours', day, '2025-01-01')", "null"),
        ("date_bin('1 week', day, '2024-01-01')", "\"2024-01-01T00:00:00Z\""),
        ("format(n, 1)", "\"1,234.5\""),
        ("substring(x, '#([0-9]+)')", "\"15\""),
        ("substring(x, 7, 3)", "\"#15\""),
        ("TIMESTAMP_DIFF(end, day, HOUR)", "0"),
        ("DATE_DIFF('hour', day, end)", "1"),
        ("DATE_TRUNC(day, MONTH)", "\"2024-01-01\""),
        ("CASE WHEN id BETWEEN 1 AND 20 THEN \"yes\" ELSE \"no\" END", "\"yes\""),
    ] {
        check(rows, &format!("SELECT {value} AS v FROM items"), &format!("[{{\"v\":{expect}}}]"));
    }
    check(rows, "SELECT id FROM items WHERE day BETWEEN \"2024-01-01\" AND \"2024-02-01\"", r#"[{"id":15}]"#);
    check(rows, "FROM items SELECT count(*) AS n", r#"[{"n":1}]"#);
    for sql in [
        "SELECT TOP 10 PERCENT id FROM items",
        "SELECT id FROM items ORDER BY n FETCH FIRST 3 ROWS WITH TIES",
    ] {
        assert!(answer(rows, sql, &[]).is_err(), "{sql}");
    }
}
