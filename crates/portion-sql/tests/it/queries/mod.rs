//! Tests the results of queries.

mod dialect;
mod empty;
mod functions;
mod operands;
mod questions;
mod redacted;
mod tables;
mod times;
mod typed;

use crate::common::{answer, check, refused};

const SHOP: &str = r#"{"status":"ok","data":{"items":[
  {"id":1,"name":"Ada","price":{"total":12.50,"currency":"EUR"},"active":true,"tags":["a","b"],"zip":"94105"},
  {"id":2,"name":"Bob \"B\"","price":{"total":7,"currency":"USD"},"active":false,"tags":[],"zip":"01234"},
  {"id":3,"name":"Zoë","price":null,"active":true,"zip":"94105","note":null}]}}"#;

#[test]
fn rows_and_columns() {
    let ask = |sql, expect| check(SHOP, sql, expect);
    ask("SELECT count(*) FROM items", r#"[{"count(*)":3}]"#);
    ask("SELECT id, name FROM items WHERE active", r#"[{"id":1,"name":"Ada"},{"id":3,"name":"Zoë"}]"#);
    ask("SELECT name FROM items WHERE id = 2", r#"[{"name":"Bob \"B\""}]"#);
    ask(r#"SELECT "price.total" AS t FROM items ORDER BY t DESC"#, r#"[{"t":12.5},{"t":7},{"t":null}]"#);
    ask("SELECT tags FROM items", r#"[{"tags":["a","b"]},{"tags":[]},{"tags":null}]"#);
    ask("SELECT price FROM items LIMIT 1", r#"[{"price":{"total":12.50,"currency":"EUR"}}]"#);
    ask(
        "SELECT _index, zip FROM items WHERE zip = 94105",
        r#"[{"_index":0,"zip":"94105"},{"_index":2,"zip":"94105"}]"#,
    );
    ask("SELECT name FROM items WHERE id = '2'", r#"[{"name":"Bob \"B\""}]"#);
    ask(
        "SELECT name FROM items WHERE active = true AND note IS NULL AND id > 1;  -- the end",
        r#"[{"name":"Zoë"}]"#,
    );
    ask("WITH a AS (SELECT * FROM items) SELECT id, id FROM a LIMIT 1", r#"[{"id":1,"id_2":1}]"#);
    ask("VALUES (1)", r#"[{"column1":1}]"#);
    ask(
        "SELECT * FROM items WHERE id = 2",
        r#"[{"id":2,"name":"Bob \"B\"","price.total":7,"price.currency":"USD","active":false,"tags":[],"zip":"01234"}]"#,
    );
}

#[test]
fn records_keep_their_bytes() {
    let records = r#"[{"a": 1.50, "b":"\u00e9"},{"a":1e2}]"#;
    check(records, "SELECT item FROM items", records);
    check(r#"[{"a": 1},{"a":2}]"#, "SELECT item, a FROM items LIMIT 1", r#"[{"item":{"a": 1},"a":1}]"#);
    let nested = r#"[{"a":{"b":[1,2]}}]"#;
    check(nested, "SELECT item ->> '$.a.b[1]' AS x FROM items", r#"[{"x":2}]"#);
    check(nested, "SELECT value FROM items, json_each(\"a.b\")", r#"[{"value":1},{"value":2}]"#);
    check(r#"[{"t":"[1]"},{"t":"x"}]"#, "SELECT t FROM items", r#"[{"t":"[1]"},{"t":"x"}]"#);
    check(r#"[{"a":1},{"a":2}]"#, "SELECT json_group_array(a) AS all_a FROM items", r#"[{"all_a":[1,2]}]"#);
    let called_item = r#"[{"item":"Widget"},{"item":"Bolt"}]"#;
    check(called_item, "SELECT item FROM items", called_item);
    check(called_item, "SELECT _item FROM items", called_item);
    let mixed = "SELECT item FROM items UNION ALL SELECT 'no' LIMIT 5";
    check(r#"[{"a":1},{"a":2}]"#, mixed, r#"[{"a":1},{"a":2},"no"]"#);
}

#[test]
fn every_layout_is_a_table() {
    let table = r#"{"columns":["id","na\"me"],"rows":[[1,"a"],[2,{"x": 1}]]}"#;
    check(table, "SELECT item FROM items", r#"[{"id":1,"na\"me":"a"},{"id":2,"na\"me":{"x": 1}}]"#);
    check(table, "SELECT id FROM items WHERE id > 1", r#"[{"id":2}]"#);
    check("{\"a\":1}\n\n{\"a\":2}\n", "SELECT sum(a) AS s FROM items", r#"[{"s":3}]"#);
    let scalars = r#"["x","y",3,null]"#;
    check(scalars, "SELECT value FROM items", r#"[{"value":"x"},{"value":"y"},{"value":3},{"value":null}]"#);
    check(r#"["x", "y"]"#, "SELECT item FROM items", r#"["x","y"]"#);
    let map: Vec<String> = (0..9).map(|i| format!(r#""k{i}":{{"n":{i}}}"#)).collect();
    let map = format!("{{{}}}", map.join(","));
    check(&map, "SELECT _key, n FROM items WHERE n > 7", r#"[{"_key":"k8","n":8}]"#);
    check(&map, "SELECT item FROM items WHERE n > 7", r#"[{"_key":"k8","n":8}]"#);
    let object = r#"{"id":7,"owner":{"name":"x"}}"#;
    check(object, "SELECT id, owner.name FROM items", r#"[{"id":7,"owner.name":"x"}]"#);
    check("[]", "SELECT count(*) AS n FROM items", r#"[{"n":0}]"#);
}

#[test]
fn sibling_lists_are_tables_named_by_their_keys() {
    let two = r#"{"users":[{"id":1,"name":"a"},{"id":2,"name":"b"}],
        "orders":[{"user_id":1,"total":5,"more":"................................"},{"user_id":1,"total":6}]}"#;
    let join = "SELECT name, sum(total) AS t FROM users JOIN orders ON user_id = id GROUP BY name";
    check(two, join, r#"[{"name":"a","t":11}]"#);
    check(two, "SELECT count(*) AS n, max(total) AS m FROM items", r#"[{"n":2,"m":6}]"#);
    let tables = r#"[{"table_name":"items"},{"table_name":"users"},{"table_name":"leaves"}]"#;
    check(two, "SELECT DISTINCT table_name FROM fields", tables);
    let fields = r#"{"fields":[{"a":1}],"x":{"y":{"deep":[{"b":2}]}}}"#;
    check(fields, "SELECT a FROM fields", r#"[{"a":1}]"#);
    check(fields, "SELECT b FROM deep", r#"[{"b":2}]"#);
    check(
        fields,
        r"SELECT name, kind, present FROM portion_fields WHERE table_name = 'deep' AND name NOT LIKE '\_%' ESCAPE '\'",
        r#"[{"name":"b","kind":"integer","present":1},{"name":"item","kind":"object","present":1}]"#,
    );
}

#[test]
fn lists_of_the_same_name_are_named_by_their_paths() {
    let two = r#"{"a":{"result":[{"x":1,"y":"................"}]},"b":{"result":[{"x":2}]},"c":[{"x":3}]}"#;
    check(two, "SELECT x FROM result", r#"[{"x":1}]"#);
    check(two, "SELECT x FROM \"b.result\"", r#"[{"x":2}]"#);
    check(two, "SELECT x FROM c UNION ALL SELECT x FROM items", r#"[{"x":3},{"x":1}]"#);
}

#[test]
fn maps_in_records_are_one_column() {
    let record = |i: usize| format!(r#"{{"id":{i},"files":{{"file{i}.txt":{{"size":{i}}}}}}}"#);
    let list = format!("[{}]", (0..40).map(record).collect::<Vec<_>>().join(","));
    check(&list, "SELECT * FROM items WHERE id = 7", r#"[{"id":7,"files":{"file7.txt":{"size":7}}}]"#);
    check(
        &list,
        "SELECT items.id, key FROM items, json_each(files) WHERE value ->> 'size' = 39",
        r#"[{"id":39,"key":"file39.txt"}]"#,
    );
}

#[test]
fn names_are_unique_regardless_of_case() {
    let clash = r#"[{"ID":1,"id":2,"a.b":3,"a":{"b":4}}]"#;
    check(clash, "SELECT * FROM items", r#"[{"ID_1":1,"id_2":2,"a.b":3,"a.b_2":4}]"#);
    check(clash, "SELECT id FROM items", r#"[{"id":2}]"#);
    assert!(answer(clash, "SELECT Id FROM items", &[]).is_err(), "neither is meant");
    check(r#"[{"a":1,"a":2}]"#, "SELECT * FROM items", r#"[{"a":1}]"#);
    check(r#"[{"\u0061":1},{"a":2}]"#, "SELECT * FROM items", r#"[{"a":1},{"a":2}]"#);
    let odd = r#"[{"":1,"a\"b":2,"x\u0000y":3}]"#;
    check(odd, "SELECT \"a\"\"b\" AS q FROM items", r#"[{"q":2}]"#);
    check(odd, r#"SELECT "a""b" FROM items"#, r#"[{"a\"b":2}]"#);
    check(odd, r#"SELECT i."a""b" AS "x""y", 1 AS 'it''s' FROM items i"#, r#"[{"x\"y":2,"it's":1}]"#);
}

#[test]
fn numbers() {
    check("[{\"n\":9223372036854775807}]", "SELECT n FROM items", r#"[{"n":9223372036854775807}]"#);
    check("[{\"n\":0.1},{\"n\":1e300}]", "SELECT n FROM items", r#"[{"n":0.1},{"n":1e+300}]"#);
    check("[{\"n\":1e400}]", "SELECT n FROM items", r#"[{"n":null}]"#);
    let huge = "[{\"n\":18446744073709551615},{\"n\":1}]";
    let answered = answer(huge, "SELECT n FROM items", &[]).expect("an answer");
    assert_eq!(answered.json, r#"[{"n":1.8446744073709552e+19},{"n":1}]"#);
    assert_eq!(answered.rounded_columns, ["n"]);
    check(huge, "SELECT item -> '$.n' AS n FROM items LIMIT 1", r#"[{"n":"18446744073709551615"}]"#);
}

#[test]
fn rounded_numbers_are_told_wherever_a_statement_uses_them() {
    let check = |values: &[&str], sql: &str, expect: &[&str]| {
        let rows: Vec<_> = values.iter().map(|n| format!("{{\"n\":{n},\"m\":1}}")).collect();
        let answered = answer(&format!("[{}]", rows.join(",")), sql, &[]).expect("an answer");
        assert_eq!(answered.rounded_columns, expect, "{sql}: {}", answered.json);
    };
    let whole = ["18446744073709551616", "18446744073709551617", "1"];
    for sql in [
        "SELECT max(n) m FROM items",
        "SELECT count(DISTINCT n) d FROM items",
        "SELECT count(*) c FROM items WHERE n = 18446744073709551616",
        "SELECT n, count(*) c FROM items GROUP BY n",
        "SELECT m FROM items ORDER BY n",
        "SELECT n FROM items WHERE n > 1",
        "SELECT item ->> '$.n' AS x FROM items",
        "SELECT n FROM items",
    ] {
        check(&whole, sql, &["n"]);
    }
    check(&whole, "SELECT max(m) FROM items", &[]);
    check(&whole, "SELECT item ->> '$.m' FROM items", &[]);
    check(&whole, "SELECT item FROM items", &[]);
    check(&["0.12345678901234567890", "0.5"], "SELECT max(n) x FROM items", &["n"]);
    check(
        &["0.1", "1e300", "1.25e-7", "9007199254740993", "3.14159265358979"],
        "SELECT max(n) x FROM items",
        &[],
    );
    check(&["1e400", "1"], "SELECT n FROM items", &["n"]);
    check(&["1e400", "1"], "SELECT max(n) x FROM items", &["x", "n"]);
}

#[test]
fn bytes_that_are_no_text_are_counted() {
    let count = |sql: &str| answer("[{\"a\":1}]", sql, &[]).expect("an answer").replacement_count;
    assert_eq!(count("SELECT x'00ff' AS a, x'41' AS b FROM items"), 1);
    assert_eq!(count("SELECT 'text' AS a FROM items"), 0);
}

#[test]
fn texts_are_lines_and_documents_sections() {
    let text = "one\r\ntwo and\n\nfour";
    check(
        text,
        "SELECT * FROM lines",
        r#"[{"number":1,"text":"one"},{"number":2,"text":"two and"},{"number":3,"text":""},{"number":4,"text":"four"}]"#,
    );
    check(text, "SELECT number FROM lines WHERE text LIKE '%AND'", r#"[{"number":2}]"#);
    let document = "# A\n\ntext\n\n## B\n\nmore\n\n# C\n\nend\n";
    check(
        document,
        "SELECT number, level, title, start_line, end_line FROM sections",
        r#"[{"number":1,"level":1,"title":"A","start_line":1,"end_line":8},{"number":2,"level":2,"title":"B","start_line":5,"end_line":8},{"number":3,"level":1,"title":"C","start_line":9,"end_line":11}]"#,
    );
    check(document, "SELECT text FROM sections WHERE title = 'B'", r###"[{"text":"## B\n\nmore\n\n"}]"###);
}

#[test]
fn logs_are_entries() {
    let log = "2024-05-01 10:00:00 ERROR boom\n  at x\n2024-05-01 10:00:01 INFO fine\n\
               2024-05-01 10:00:02 WARN hm\n2024-05-01 10:00:03 INFO fine\n";
    check(
        log,
        "SELECT * FROM entries WHERE level = 'error'",
        r#"[{"number":1,"start_line":1,"time":"2024-05-01 10:00:00","level":"ERROR","text":"2024-05-01 10:00:00 ERROR boom\n  at x","severity":"error"}]"#,
    );
    check(
        log,
        "SELECT level, count(*) AS n FROM entries GROUP BY level ORDER BY n DESC, level",
        r#"[{"level":"INFO","n":2},{"level":"ERROR","n":1},{"level":"WARN","n":1}]"#,
    );
}

#[test]
fn comma_separated_text_has_items() {
    let csv = "id,name,zip,price\r\n1,\"Doe, \"\"J\"\"\",01234,2.5\r\n2,Ann,,10\r\n";
    check(
        csv,
        "SELECT * FROM items",
        r#"[{"id":1,"name":"Doe, \"J\"","zip":"01234","price":2.5},{"id":2,"name":"Ann","zip":null,"price":10}]"#,
    );
    check(csv, "SELECT name FROM items WHERE price > 3 AND id = '2'", r#"[{"name":"Ann"}]"#);
    check(csv, "SELECT item FROM items WHERE id = 2", r#"[{"id":2,"name":"Ann","zip":null,"price":10}]"#);
    check(csv, "SELECT count(*) AS n FROM lines", r#"[{"n":3}]"#);
}

#[test]
fn parameters_are_bound_by_name() {
    let sql = "SELECT name FROM items WHERE id = :id AND active = $on";
    let ask = |params: &[(&str, &str)]| answer(SHOP, sql, params);
    assert_eq!(ask(&[("id", "1"), ("on", "true")]).expect("an answer").json, r#"[{"name":"Ada"}]"#);
    assert_eq!(ask(&[(":id", "\"3\""), ("$on", " 1 ")]).expect("an answer").json, r#"[{"name":"Zoë"}]"#);
    for (params, message) in [
        (vec![("id", "1")], "no value was given for $on"),
        (vec![("id", "1"), ("on", "1"), ("more", "1")], "the statement has no :more"),
        (vec![("id", "1"), ("on", "nonsense")], "the value of on is not JSON"),
    ] {
        let error = ask(&params).expect_err("an error").to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn errors_name_the_cause_and_a_suggestion() {
    for (sql, expect) in [
        ("SELECT nam FROM items", "no such column: nam; did you mean name?"),
        ("SELECT \"nam\" FROM items", "no such column: \"nam\"; did you mean name?"),
        ("SELECT id FROM itms", "no such table: itms; did you mean items?"),
        ("SELECT lenght(name) FROM items", "no such function: lenght; did you mean length?"),
        ("SELEC id FROM items", "near \"SELEC\": syntax error"),
        ("SELECT id FROM items, json_each(tags)", "ambiguous column name: id; did you mean items.id?"),
        ("SELECT 1; SELECT 2", "only one statement is allowed"),
        ("DELETE FROM items", "table items may not be modified"),
        ("DROP TABLE items", "not authorized: only SELECT is allowed"),
        ("", "the statement is empty"),
        ("SELECT price.totl FROM items", "no such column: price.totl; did you mean \"price.total\"?"),
    ] {
        refused(SHOP, sql, expect);
    }
    let error = answer(SHOP, "SELECT nam FROM items", &[]).expect_err("an error");
    assert_eq!(error.code().name(), "query_invalid");
    assert_eq!(
        error.advice(),
        "there is: items(name, item object, id integer, price.total number, price.currency, zip, active boolean, \
         tags array, note, price object); leaves(path, key, value, type)"
    );
    // A keyword that is no column is outlined as one that does not exist.
    let rows = r#"[{"id":1,"guest":{"isReturning":true}}]"#;
    let error = answer(rows, "SELECT id FROM items WHERE returning = 1", &[]).expect_err("an error");
    assert!(error.advice().starts_with("there is: items(guest.isReturning boolean, "), "{}", error.advice());
}

#[test]
fn a_name_is_read_as_the_column_that_it_ends_beside_an_alias() {
    let rows = r#"[{"m":1,"fee":{"due":2}},{"m":1,"fee":{"due":3}},{"m":2,"fee":{"due":1}}]"#;
    let sums = r#"[{"m":2,"due":1},{"m":1,"due":5}]"#;
    check(rows, "SELECT m, SUM(due) AS due FROM items GROUP BY m ORDER BY due", sums);
    // Here the name means the alias, or the column.
    refused(
        rows,
        "SELECT due * 2 AS due FROM items WHERE due > 2",
        "no such column: due; did you mean \"fee.due\"?",
    );
}

#[test]
fn names_with_dots_need_no_quotes() {
    check(SHOP, "SELECT price.total FROM items WHERE price.currency = 'EUR'", r#"[{"price.total":12.5}]"#);
    check(
        r#"[{"a":{"id":1}},{"a":{"id":2}}]"#,
        "SELECT items.a.id FROM items JOIN items b ON items.a.id = b.a.id + 1 -- items.a.id",
        r#"[{"a.id":2}]"#,
    );
    check(SHOP, "SELECT i.price.total FROM items i WHERE i.id = 2", r#"[{"price.total":7}]"#);
}

#[test]
fn json_in_text_is_a_table() {
    let items: Vec<String> =
        (0..9).map(|n| format!(r#"{{"id":{n},"v":{}}}"#, if n % 2 == 0 { "NaN" } else { "1.5" })).collect();
    let list = items.join(",");
    let sum = "SELECT count(*) AS n, count(v) AS some, sum(v) AS s FROM items";
    check(&format!("Here it is:\n[{list}]\n"), sum, r#"[{"n":9,"some":4,"s":6.0}]"#);
    let held = format!(
        r#"{{"status":"ok","data":{}}}"#,
        portion_json::scan::quote(&format!("[{}]", list.replace("NaN", "null")))
    );
    check(&held, sum, r#"[{"n":9,"some":4,"s":6.0}]"#);
}
