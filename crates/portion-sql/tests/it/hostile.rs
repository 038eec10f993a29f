//! Tests hostile and expensive statements: each must end within seconds, with a result or an error.

use std::time::Duration;

use crate::common::{asked, snapshot};
use portion_sql::QueryLimits;

const RECORDS: &str =
    r#"[{"id":1,"name":"a","tags":["x"],"deep":{"b":{"c":1}}},{"id":2,"name":"b"},{"id":3,"name":null}]"#;

/// Runs a statement on records and on a long text. One that its limits do not end never returns.
fn survives(sql: &str) {
    let limits = QueryLimits { timeout: Duration::from_millis(200), ..QueryLimits::default() };
    let long = format!("[{{\"id\":1,\"long\":\"{}b\"}}]", "a".repeat(3 << 20));
    for text in [RECORDS, &long] {
        let answered = asked(&snapshot(text), sql, &[], &limits);
        let shown: String = sql.chars().take(80).collect();
        match answered {
            Ok(answer) => {
                assert!(answer.json.len() <= limits.max_bytes + 2, "{shown}");
                assert!(serde_json::from_str::<Vec<serde_json::Value>>(&answer.json).is_ok(), "{shown}");
            }
            Err(error) => assert!(!error.to_string().is_empty() && !error.advice().is_empty(), "{shown}"),
        }
    }
}

/// Asserts that a statement is refused for every payload.
fn denied(sql: &str) {
    let answered = asked(&snapshot(RECORDS), sql, &[], &QueryLimits::default());
    match answered {
        Ok(answer) => panic!("{sql}: {}", answer.json),
        Err(error) => assert_eq!(error.code().name(), "query_invalid", "{sql}: {error}"),
    }
}

#[test]
fn statements_within_statements_end_in_any_thread() {
    // The thread of a test has the stack of one of a runtime.
    for depth in [6, 9, 13, 14, 40] {
        let within =
            |from: &str| (0..depth).fold(from.to_owned(), |inner, _| format!("(SELECT * FROM {inner})"));
        survives(&format!("SELECT count(*) AS n FROM {}", within("items")));
        survives(&format!("SELECT 1 WHERE {}1{} = 1", "(".repeat(depth), ")".repeat(depth)));
    }
}

#[test]
fn nothing_is_written_and_nothing_outside_is_read() {
    let here = std::env::current_dir().expect("a directory");
    let before = std::fs::read_dir(&here).expect("a list").count();
    for sql in [
        "INSERT INTO items VALUES (1)",
        "INSERT INTO items(id) VALUES (1) RETURNING id",
        "UPDATE items SET id = 1",
        "DELETE FROM items",
        "DELETE FROM items RETURNING *",
        "REPLACE INTO items VALUES (1)",
        "CREATE TABLE t(a)",
        "CREATE TABLE t AS SELECT * FROM items",
        "CREATE TEMP TABLE t(a)",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TEMP VIEW v AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON items BEGIN SELECT 1; END",
        "CREATE INDEX i ON items(id)",
        "CREATE VIRTUAL TABLE t USING fts5(a)",
        "CREATE VIRTUAL TABLE t USING rtree(a, b, c)",
        "CREATE VIRTUAL TABLE temp.t USING items",
        "DROP TABLE items",
        "ALTER TABLE items RENAME TO x",
        "ATTACH 'hostile.db' AS x",
        "ATTACH DATABASE 'file:hostile.db?mode=rwc' AS x",
        "ATTACH ':memory:' AS x",
        "DETACH main",
        "PRAGMA user_version = 1",
        "PRAGMA database_list",
        "PRAGMA temp_store_directory = '/tmp'",
        "PRAGMA journal_mode = WAL",
        "PRAGMA trusted_schema = 1",
        "PRAGMA function_list",
        "SELECT * FROM pragma_function_list",
        "SELECT * FROM pragma_database_list",
        "SELECT * FROM pragma_table_info('items')",
        "VACUUM",
        "VACUUM INTO 'hostile.db'",
        "ANALYZE",
        "REINDEX",
        "BEGIN",
        "BEGIN EXCLUSIVE",
        "COMMIT",
        "ROLLBACK",
        "SAVEPOINT a",
        "RELEASE a",
        "SELECT load_extension('x')",
        "SELECT readfile('/etc/passwd')",
        "SELECT writefile('hostile.db', 'x')",
        "SELECT edit('x')",
        "SELECT fts3_tokenizer('simple')",
        "SELECT fts3_tokenizer('simple', x'00')",
        "SELECT randomblob(10)",
        "SELECT random()",
        "SELECT zeroblob(1000000000)",
        "SELECT sqlite_version()",
        "SELECT sqlite_source_id()",
        "SELECT sqlite_compileoption_get(1)",
        "SELECT sqlite_offset(id) FROM items",
        "SELECT last_insert_rowid()",
        "SELECT changes()",
        "SELECT * FROM sqlite_master",
        "SELECT * FROM sqlite_schema",
        "SELECT * FROM sqlite_temp_master",
        "SELECT * FROM dbstat",
        "SELECT count(*) FROM dbstat",
        "SELECT count(*) FROM sqlite_schema",
        "SELECT count(*) FROM pragma_database_list",
        "SELECT * FROM sqlite_dbpage",
        "SELECT * FROM bytecode('SELECT 1')",
        "SELECT * FROM fts3tokenize('simple', 'a b')",
        "SELECT * FROM items WHERE items MATCH 'x'",
        "EXPLAIN SELECT * FROM items",
        "EXPLAIN QUERY PLAN SELECT * FROM items",
        "SELECT 1; DELETE FROM items",
        "SELECT 1; SELECT 2",
        "SELECT 1;; SELECT 2",
        "SELECT 1\0; SELECT 2",
        "SELECT rtreecheck('x')",
        "SELECT fts5_source_id()",
        "SELECT unhex('00')",
        "SELECT json_patch('{}', '{}')",
        "",
        ";",
        "-- nothing",
        "/* never ends",
        "'",
        "\"",
        "`",
        "[",
        "SELECT '",
        "SELECT \"",
        "SELECT (",
        "SELECT ?",
        "SELECT :x",
        "\u{feff}\u{0}",
        "SELECT 1 FROM",
        "ТАБЛИЦА",
        "🙂",
    ] {
        denied(sql);
    }
    assert_eq!(std::fs::read_dir(&here).expect("a list").count(), before);
}

#[test]
fn endless_queries_are_stopped() {
    for sql in [
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION SELECT x + 1 FROM c) SELECT max(x) FROM c",
        "WITH RECURSIVE c(x) AS (SELECT 'a' UNION ALL SELECT x || x FROM c) SELECT length(x) FROM c",
        "WITH RECURSIVE c(x) AS (SELECT item FROM items UNION ALL SELECT x || x FROM c) SELECT max(length(x)) FROM c",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c UNION ALL SELECT x FROM c) SELECT count(*) FROM c",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT a.value FROM c, json_each('[1,2,3,4]') a) SELECT sum(x) FROM c ORDER BY 1",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 1000000) SELECT count(*) FROM n a, n b",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 10000000) SELECT x FROM n ORDER BY -x",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 10000000) SELECT group_concat(x) FROM n",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 10000000) SELECT json_group_array(x) FROM n",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 10000000) SELECT json_group_object(x, x) FROM n",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 10000000) SELECT DISTINCT x * 3 FROM n ORDER BY 1",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 1000000) SELECT group_concat(x) OVER (ORDER BY x ROWS BETWEEN 10000 PRECEDING AND CURRENT ROW) FROM n",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 1000000) SELECT count(*) OVER (ORDER BY x ROWS BETWEEN 10000 PRECEDING AND 10000 FOLLOWING) FROM n",
        "WITH RECURSIVE n(x) AS (SELECT printf('%10000c', 'x') UNION ALL SELECT x FROM n) SELECT x FROM n ORDER BY x",
        "SELECT count(*) FROM items a, items b, items c, items d, items e, items f, items g, items h, items i, items j, items k, items l, items m, items n, items o, items p, items q, items r, items s, items t",
        "SELECT * FROM items a, items b, items c, items d, items e, items f, items g, items h, items i, items j, items k, items l, items m, items n, items o",
        "SELECT a.item || b.item FROM items a, items b, items c, items d, items e, items f, items g, items h, items i, items j, items k, items l, items m, items n, items o ORDER BY 1",
        "SELECT (SELECT count(*) FROM items b, items c, items d, items e, items f, items g, items h, items i WHERE b.id = a.id) FROM items a, items z, items y, items x, items w, items v",
    ] {
        survives(sql);
    }
}

#[test]
fn growing_values_are_stopped() {
    let many = |part: &str, times: usize| part.repeat(times);
    for sql in [
        "SELECT printf('%.*c', 1000000000, 'x')".to_owned(),
        "SELECT printf('%1000000000s', 'x')".to_owned(),
        "SELECT format('%.1000000000f', 1.5)".to_owned(),
        "SELECT hex(printf('%10000000s', 'x')), hex(hex(printf('%10000000s', 'x')))".to_owned(),
        "SELECT replace(replace(replace(printf('%1000000s', 'x'), ' ', '          '), ' ', '          '), ' ', '          ')".to_owned(),
        format!("SELECT length({}'x'{})", many("replace(", 30), many(", 'x', 'xxxxxxxxxx')", 30)),
        format!("SELECT {}", many("printf('%15000000s', 'x'), ", 200) + "1"),
        format!("SELECT {}", (0..300).map(|i| format!("printf('%{}s', 'x') AS c{i}", 15_000_000 + i)).collect::<Vec<_>>().join(", ")),
        format!("SELECT char({})", many("1114111, ", 90) + "1"),
        "SELECT group_concat(long, long) FROM items, json_each('[1,2,3,4,5,6,7,8,9,10]')".to_owned(),
        "SELECT json_group_array(item) FROM items, json_each('[1,2,3,4,5,6,7,8,9,10]'), json_each('[1,2,3]')".to_owned(),
        "SELECT json_quote(json_quote(json_quote(json_quote(item)))) FROM items".to_owned(),
        "SELECT quote(quote(quote(replace(item, 'a', '''')))) FROM items".to_owned(),
        "SELECT max(a.item || b.item || c.item || d.item) FROM items a, items b, items c, items d".to_owned(),
        "SELECT long || long || long || long || long || long FROM items".to_owned(),
        "SELECT upper(long), lower(long), long, item, long, item, upper(item) FROM items ORDER BY 1".to_owned(),
        format!("SELECT {} FROM items", many("item, ", 1500) + "item"),
        format!("SELECT {} FROM items", many("item || '', ", 1500) + "item"),
        format!("SELECT {} FROM items", many("upper(long), ", 1500) + "item"),
        format!("SELECT {} FROM items", many("*, ", 1500) + "*"),
        format!("SELECT json_array({}) FROM items", many("item, ", 90) + "item"),
    ] {
        survives(&sql);
    }
}

#[test]
fn quadratic_functions_are_stopped() {
    let many = |part: &str, times: usize| part.repeat(times);
    for sql in [
        format!("SELECT long LIKE '%{}c' FROM items", many("a", 900)),
        format!("SELECT long LIKE '{}c' FROM items", many("%a", 400)),
        format!("SELECT long LIKE '{}c' FROM items", many("%_a", 400)),
        format!("SELECT long LIKE '%{}c%' FROM items", many("_", 9_000)),
        format!("SELECT long GLOB '{}c' FROM items", many("*a", 400)),
        format!("SELECT long GLOB '*{}c' FROM items", many("[a-z]", 400)),
        format!("SELECT long GLOB '*[{}]b' FROM items", many("b-z", 1_000)),
        "SELECT long LIKE long FROM items".to_owned(),
        "SELECT instr(long, substr(long, 1, length(long) / 2) || 'c') FROM items".to_owned(),
        "SELECT replace(long, substr(long, 1, length(long) / 2) || 'c', 'x') FROM items".to_owned(),
        "SELECT trim(long, long) FROM items".to_owned(),
        "SELECT rtrim(long, 'xyz' || long) FROM items".to_owned(),
        "SELECT long REGEXP '(a*)*c' FROM items".to_owned(),
        "SELECT long REGEXP '(a|a)*c' FROM items".to_owned(),
        "SELECT long REGEXP 'a{500}{500}c' FROM items".to_owned(),
        "SELECT long REGEXP '(?:a?){200}a{200}c' FROM items".to_owned(),
        r"SELECT long REGEXP '\w{400}c' FROM items".to_owned(),
        r"SELECT substr(long, 1, 60000) REGEXP '.{100}.{100}c' FROM items".to_owned(),
        "SELECT long REGEXP '(' FROM items".to_owned(),
        "SELECT long REGEXP long FROM items".to_owned(),
        "SELECT json_extract(item, '$.long') LIKE '%b' FROM items".to_owned(),
        "SELECT strftime(long, 'now') FROM items".to_owned(),
        "SELECT date(long) FROM items".to_owned(),
        "SELECT json_remove(item, '$.long', '$.long', '$.long') FROM items".to_owned(),
        "SELECT key, value FROM items, json_tree(item)".to_owned(),
        "SELECT count(*) FROM items, json_each('[' || substr(replace(long, 'a', '1,'), 1, 4000000) || '1]') a".to_owned(),
    ] {
        survives(&sql);
    }
}

#[test]
fn deep_nesting_is_stopped() {
    let many = |part: &str, times: usize| part.repeat(times);
    let nested =
        |open: &str, inner: &str, close: &str, times: usize| many(open, times) + inner + &many(close, times);
    let doubling: String = (0..40).fold("WITH t0(x) AS (SELECT 1)".to_owned(), |sql, i| {
        format!("{sql}, t{}(x) AS (SELECT a.x FROM t{i} a, t{i} b)", i + 1)
    });
    let unions: String = (0..40).fold("WITH t0(x) AS (SELECT 1)".to_owned(), |sql, i| {
        format!("{sql}, t{}(x) AS (SELECT x FROM t{i} UNION ALL SELECT x FROM t{i})", i + 1)
    });
    let scalar: String = (0..40).fold("WITH t0(x) AS (SELECT 1)".to_owned(), |sql, i| {
        format!("{sql}, t{}(x) AS (SELECT (SELECT x FROM t{i}) + (SELECT x FROM t{i}))", i + 1)
    });
    for sql in [
        format!("SELECT {}", nested("(", "1", ")", 20_000)),
        format!("SELECT {}", nested("(", "1", ")", 90)),
        format!("SELECT {}1", many("- ", 30_000)),
        format!("SELECT {}1", many("NOT ", 15_000)),
        format!("SELECT 1{}", many(" + 1", 15_000)),
        format!("SELECT 1{}", many(" AND 1", 10_000)),
        format!("SELECT 'a'{}", many(" || 'a'", 8_000)),
        format!("SELECT {}", nested("abs(", "1", ")", 10_000)),
        format!("SELECT {}", nested("CASE WHEN 1 THEN ", "1", " END", 2_800)),
        format!("SELECT {}", nested("(SELECT ", "1", ")", 7_000)),
        format!("SELECT * FROM {}", nested("(SELECT * FROM ", "items", ")", 4_000)),
        format!("SELECT * FROM {}", nested("(SELECT * FROM ", "items", ")", 60)),
        format!(
            "SELECT * FROM items WHERE {}",
            nested("EXISTS (SELECT 1 FROM items WHERE ", "1", ")", 1_700)
        ),
        format!("SELECT * FROM items WHERE id IN ({}1)", many("1, ", 20_000)),
        format!("SELECT 1{}", many(" UNION ALL SELECT 1", 3_000)),
        format!("SELECT 1{}", many(" UNION SELECT 1", 45)),
        format!("VALUES (1){}", many(", (1)", 12_000)),
        format!("SELECT * FROM items{}", many(", items", 8_000)),
        format!("SELECT * FROM items{}", many(" NATURAL JOIN items", 60)),
        format!("SELECT 1 FROM items{}", many(" JOIN items USING (id)", 63)),
        format!("SELECT {}", many("1, ", 20_000) + "1"),
        format!("SELECT * FROM items ORDER BY {}", many("id, ", 15_000) + "id"),
        format!("SELECT * FROM items GROUP BY {}", many("id, ", 1_990) + "id"),
        format!("{} {}", many("WITH a AS (SELECT 1) SELECT * FROM (", 1_500), "SELECT 1"),
        format!("{doubling} SELECT count(*) FROM t40"),
        format!("{doubling} SELECT count(*) FROM t5"),
        format!("{unions} SELECT count(*) FROM t40"),
        format!("{scalar} SELECT x FROM t40"),
        format!("SELECT coalesce({})", many("1, ", 20_000) + "1"),
        format!("SELECT json({:?})", ()).replace("()", "'[]'"),
        format!("SELECT json('{}')", nested("[", "", "]", 30_000)),
        format!("SELECT json_extract('{}', '${}')", nested("[", "", "]", 900), many("[0]", 900)),
        format!("SELECT json_extract(item, '${}') FROM items", many("[0]", 20_000)),
        format!("SELECT json_set('{{}}', '${}', 1)", many(".a", 30_000)),
        format!("SELECT json_valid('{}')", nested("{\"a\":", "1", "}", 9_000)),
        format!("SELECT max(length(fullkey)) FROM json_tree('{}')", nested("[", "", "]", 900)),
        format!(
            "SELECT row_number() OVER w FROM items WINDOW {}",
            (0..1_000).map(|i| format!("w{i} AS (ORDER BY id)")).collect::<Vec<_>>().join(", ")
        ),
        format!("SELECT '{}'", many("x", 1 << 20)),
        format!("SELECT {}", many("x", 60_000)),
        format!("SELECT 1 -- {}", many("x", 60_000)),
        format!("SELECT 1{}", many("/**/", 15_000)),
        many(";", 60_000),
        many("(", 60_000),
        many("SELECT ", 9_000),
        many("WITH ", 10_000),
        many("CASE ", 10_000),
        many("[", 60_000),
        many("\u{0}", 1_000),
        many("\u{10ffff}", 10_000),
    ] {
        survives(&sql);
    }
}

#[test]
fn functions_of_other_dialects_are_stopped() {
    let many = |part: &str, times: usize| part.repeat(times);
    let product = "FROM items a, items b, items c, items d, items e, items f, items g, items h, items i, items j, \
        items k, items l, items m, items n, items o";
    for sql in [
        format!("SELECT median(a.id), mode(b.item), quantile(c.id, 0.5) {product}"),
        format!("SELECT mode(a.item || b.item) {product} GROUP BY a.id, b.id, c.id, d.id, e.id"),
        format!("SELECT arg_max(a.item, b.id + c.id), last(c.item), any_value(d.item) {product} GROUP BY a.id, b.id, f.id"),
        format!("SELECT stddev(a.id), corr(a.id, b.id), count_if(a.id), bool_or(b.id), product(c.id) {product}"),
        format!("SELECT array_agg(a.item) {product}"),
        format!("SELECT string_agg(DISTINCT a.item || b.id || c.id, ', ') {product}"),
        "SELECT mode(long), median(long), any_value(long) FROM items, json_each('[1,2,3,4,5,6,7,8,9,10]'), json_each('[1,2,3,4,5,6,7,8,9,10]')".into(),
        "SELECT repeat(long, 1000000000), repeat('x', -5) FROM items".into(),
        "SELECT lpad('x', 1000000000, 'y'), rpad('x', 1e300)".into(),
        "SELECT length(lpad(lpad(lpad('x', 1000000, 'y'), 2000000, 'z'), 4000000, ''))".into(),
        "SELECT regexp_replace(long, 'a', long) FROM items".into(),
        "SELECT regexp_replace(long, '(?s)^.*$', repeat('$0', 8000000)) FROM items".into(),
        "SELECT regexp_replace(long, '', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxx') FROM items".into(),
        "SELECT regexp_count(long, ''), regexp_count(long, 'a*?'), regexp_extract(long, '(a*)*b') FROM items".into(),
        format!("SELECT regexp_extract(long, '{}') FROM items", many("(a?)", 400)),
        "SELECT regexp_matches(long, long), long ~ long, long ~* '(a|a)*c' FROM items".into(),
        "SELECT split_part(long, 'a', 3000000), split_part(long, '', 2), split_part(long, long, -9223372036854775808) FROM items".into(),
        "SELECT left(long, -9223372036854775808), right(long, 9223372036854775807), reverse(long), initcap(long) FROM items".into(),
        "SELECT list_contains('[' || substr(replace(long, 'a', '1,'), 1, 4000000) || '1]', 2), array_to_string(item, long) FROM items".into(),
        "SELECT date_add('9999-12-31', INTERVAL 9223372036854775807 YEAR), date_add('0000-01-01', '-1 day')".into(),
        "SELECT datediff('year', -9223372036854775808, 9223372036854775807), year(1e300), year(-1e16), dateadd(century, 1e300, 0)".into(),
        "SELECT to_char(long, long), to_date(long, long), to_char('2024-01-01', long), date_trunc(long, long) FROM items".into(),
        "SELECT date_shift('2024-01-01', long), '9e99'::int, 'inf'::float, 'nan'::int, 1e999::int FROM items".into(),
        format!("SELECT 1{}", many("::int", 13_000)),
        format!("SELECT {}1", many("CAST(", 3_000) + &many("1 AS DATE), ", 2_000)),
        format!("SELECT a{}", many(".a", 30_000)),
        format!("SELECT a{}::int", many(".a~a", 9_000)),
        format!("SELECT {}x", many("extract(year FROM ", 3_500)),
        format!("SELECT {}1{}", many("substring(", 3_000), many(" FROM 1)", 3_000)),
        format!("SELECT {}", many("percentile_cont(0.5) WITHIN GROUP (ORDER BY ", 1_400)),
        format!("SELECT {}1{}", many("f() WITHIN GROUP (ORDER BY ", 1_000), many(")", 1_000)),
        format!("SELECT 1{}", many(" + INTERVAL 1 DAY", 3_500)),
        format!("SELECT '2024-01-01'::date{}", many(" - '2024-01-01'::date", 2_500)),
        format!("SELECT CURRENT_DATE{}", many(" - 1", 15_000)),
        format!("SELECT {}1{}", many("CASE WHEN 1 THEN ", 2_000), many(" END::int", 2_000)),
        format!("SELECT {}1", many("strftime(a, ", 5_000)),
        format!("SELECT {}", many("DATE '2024-01-01' - ", 3_000)),
        format!("SELECT {}", many("tags[0]", 9_000)),
        format!("SELECT {}1", many("string_agg(DISTINCT ", 3_000)),
        format!("SELECT {}1{}", many("string_agg(DISTINCT 1, '", 2_000), many("')", 2_000)),
        format!("DESCRIBE {}", many("x", 60_000)),
        format!("SHOW TABLES {}", many(";", 60_000)),
        many("::", 30_000),
        many("'", 60_001),
        many("\"", 60_001),
        many("/*", 30_000),
        many("1e+", 20_000),
        many("$a::", 15_000),
    ] {
        survives(&sql);
    }
}
