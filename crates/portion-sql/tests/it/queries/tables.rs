//! Tests the tables of a result, at paths, and of several results.

use portion_core::payload::{Block, Content, Payload};
use portion_core::snapshot::capture;
use portion_sql::{QueryError, QueryLimits};

use crate::common::{answer, answer_joined, asked, check, redacted, refused};

const STORE: &str = r#"{"latest":{"programs":[{"id":1,"name":"x"},{"id":2,"name":"y"}],"note":"n"},
  "courses":[{"code":"A","program":1},{"code":"B","program":1},{"code":"C","program":2},{"code":"D","program":9}],
  "paths":{"/a":{"get":{"summary":"read a"}},"/b/{id}":{"get":{"summary":"read b"},"post":{"summary":"write b","tags":["w"]}}},
  "limits":{"cpu":2,"mem":"4Gi","deep":{"a/b":[true,null,{}]}},"empty":[]}"#;

#[test]
fn leaves_are_found_as_they_are_written_and_compared_with_numbers() {
    let text = r#"{"a":{"ok":"true","no":"false"},"b":{"p":"7","q":"02139","w":"x"}}"#;
    check(text, "SELECT key FROM leaves WHERE value = 'true'", r#"[{"key":"ok"}]"#);
    check(text, "SELECT value FROM leaves WHERE key = 'no'", r#"[{"value":"false"}]"#);
    let hints = |sql: &str| answer(text, sql, &[]).expect(sql).type_hints.join("; ");
    let sql = "SELECT count(*) AS n FROM leaves WHERE value > 5";
    assert_eq!(
        hints(sql),
        "4 rows have texts, which are greater than all numbers: add AND typeof(value) <> 'text'"
    );
    let sql = format!("{sql} AND typeof(value) <> 'text'");
    check(text, &sql, r#"[{"n":1}]"#);
    assert_eq!(hints(&sql), "");
    assert_eq!(hints("SELECT count(*) AS n FROM leaves WHERE key = 'p' AND value > 5"), "");
}

#[test]
fn leaves_are_a_table() {
    check(
        STORE,
        "SELECT path, key, value, type FROM leaves WHERE path LIKE '/limits/%'",
        r#"[{"path":"/limits/cpu","key":"cpu","value":2,"type":"number"},{"path":"/limits/mem","key":"mem","value":"4Gi","type":"string"},{"path":"/limits/deep/a~1b/0","key":"0","value":1,"type":"boolean"},{"path":"/limits/deep/a~1b/1","key":"1","value":null,"type":"null"},{"path":"/limits/deep/a~1b/2","key":"2","value":{},"type":"object"}]"#,
    );
    check(STORE, "SELECT path FROM leaves WHERE value = 'y'", r#"[{"path":"/latest/programs/1/name"}]"#);
    check(
        "[1,2,[3]]",
        "SELECT path, value FROM leaves",
        r#"[{"path":"/0","value":1},{"path":"/1","value":2},{"path":"/2/0","value":3}]"#,
    );
    check(
        "{\"a\":1}\n{\"a\":[2]}\n",
        "SELECT path, value FROM leaves",
        r#"[{"path":"/0/a","value":1},{"path":"/1/a/0","value":2}]"#,
    );
    check(r#"{"leaves":[{"a":1}]}"#, "SELECT a FROM leaves", r#"[{"a":1}]"#);
    check(r#"{"leaves":[{"a":1}]}"#, "SELECT path FROM portion_leaves", r#"[{"path":"/leaves/0/a"}]"#);
    let deep = format!("{}7{}", "[".repeat(3_000), "]".repeat(3_000));
    check(
        &format!("{{\"a\":{deep}}}"),
        "SELECT length(path) AS n, value FROM leaves",
        r#"[{"n":6002,"value":7}]"#,
    );
}

#[test]
fn redacted_leaves_have_no_value() {
    let text = r#"{"a":{"password":"secret","user":"u"}}"#;
    let answered = answer_joined(text, &[], "SELECT key, value, type FROM leaves").expect("an answer");
    assert_eq!(
        answered.json,
        r#"[{"key":"password","value":null,"type":"redacted"},{"key":"user","value":"u","type":"string"}]"#
    );
    let _ = redacted(text);
}

#[test]
fn lists_at_paths_are_tables() {
    let names = r#"[{"name":"x"},{"name":"y"}]"#;
    check(STORE, "SELECT name FROM items('/latest/programs')", names);
    check(STORE, "SELECT items.name FROM items('/latest/programs') ORDER BY items.id", names);
    check(STORE, "SELECT p.name FROM items('/latest/programs') p WHERE p.id = 2", r#"[{"name":"y"}]"#);
    check(STORE, "SELECT name FROM '/latest/programs' LIMIT 1", r#"[{"name":"x"}]"#);
    check(
        STORE,
        "SELECT p.name, count(*) AS n FROM items('/courses') c JOIN items('/latest/programs') AS p ON c.program = p.id GROUP BY 1",
        r#"[{"name":"x","n":2},{"name":"y","n":1}]"#,
    );
    check(
        STORE,
        "SELECT _key, post.summary AS s FROM paths WHERE post IS NOT NULL",
        r#"[{"_key":"/b/{id}","s":"write b"}]"#,
    );
    check(STORE, "SELECT _key FROM items('/paths')", r#"[{"_key":"/a"},{"_key":"/b/{id}"}]"#);
    check(STORE, "SELECT name FROM items('$.latest.programs') LIMIT 1", r#"[{"name":"x"}]"#);
    check(STORE, "SELECT name FROM items('latest.programs') LIMIT 1", r#"[{"name":"x"}]"#);
    check(STORE, "SELECT cpu FROM items('/limits')", r#"[{"cpu":2}]"#);
    check(STORE, "SELECT count(*) AS n FROM items('/empty')", r#"[{"n":0}]"#);
    refused(
        STORE,
        "SELECT * FROM items('/latest/program')",
        "there is no program in /latest; did you mean programs?",
    );
    let error = answer(STORE, "SELECT * FROM items('/nowhere')", &[]).expect_err("an error");
    assert_eq!(error.advice(), "there is: latest, courses, paths, limits, empty");
}

#[test]
fn the_column_of_a_list_of_texts_is_named() {
    let texts = r#"["red","blue","green"]"#;
    let error = |text: &str, sql: &str| answer(text, sql, &[]).expect_err(sql).to_string();
    for name in ["items", "text", "label"] {
        assert_eq!(
            error(texts, &format!("SELECT substr({name}, 1, 2) FROM items")),
            format!("no such column: {name}; did you mean value?")
        );
    }
    let nested = r#"{"data":{"colours":["red","blue"]},"n":1}"#;
    assert_eq!(
        error(nested, "SELECT c.items FROM items('/data/colours') c"),
        "no such column: c.items; did you mean value?"
    );
    let hints = |sql: &str| answer(texts, sql, &[]).expect(sql).type_hints.join("; ");
    let quoted = "item is JSON, with quotes: use value";
    assert_eq!(hints("SELECT substr(item, 1, 2) AS x FROM items"), quoted);
    assert_eq!(hints("SELECT item FROM items WHERE item LIKE 'r%'"), quoted);
    assert_eq!(hints("SELECT item, value FROM items"), "");
}

#[test]
fn names_of_other_tables_are_not_suggested() {
    let error = |text: &str, sql: &str| answer(text, sql, &[]).expect_err(sql).to_string();
    assert_eq!(error("[{\"id\":1,\"city\":2}]", "SELECT _key FROM items"), "no such column: _key");
    let image = Content::Atomic { json: r#"{"type":"image"}"#.to_owned(), binary: None };
    let binary = Block::new("/content/0", image);
    let snapshot = capture(Payload { blocks: vec![binary], ..Payload::default() });
    let error = asked(&snapshot, "SELECT * FROM items", &[], &QueryLimits::default()).expect_err("no table");
    assert_eq!(error.to_string(), "no such table: items");
    assert_eq!(error.advice(), "only JSON and text have tables");
}

#[test]
fn comments_above_separated_values_are_no_rows() {
    check(
        "# exported 2025\n# by a tool\nid,amount,city\n1,\"1,400\",Oslo\n2,30,Rome\n3,4,Bern\n",
        "SELECT * FROM items WHERE id < 3",
        r#"[{"id":1,"amount":"1,400","city":"Oslo"},{"id":2,"amount":"30","city":"Rome"}]"#,
    );
}

#[test]
fn sections_of_html_are_a_table() {
    let page = |end: &str| {
        format!("<html><body><h1>Tea</h1>{end}<p>Hot.</p>{end}<h2>Green</h2>{end}<p>Mild.</p></body></html>")
    };
    check(
        &page("\n"),
        "SELECT title, level, start_line, own_text FROM sections WHERE level = 1",
        r#"[{"title":"Tea","level":1,"start_line":1,"own_text":"<h1>Tea</h1>\n<p>Hot.</p>\n"}]"#,
    );
    check(
        &page(""),
        "SELECT title, text FROM sections WHERE is_leaf",
        r#"[{"title":"Green","text":"<h2>Green</h2><p>Mild.</p></body></html>"}]"#,
    );
}

#[test]
fn header_rows_of_html_are_joined() {
    let row = |i: usize| format!("<tr><td>R{i}</td><td>{i}</td><td>{}</td></tr>\n", 2 * i);
    let rows: String = (0..20).map(row).collect();
    check(
        &format!(
            "<html><body><table><tr><th rowspan=\"2\">Region</th><th colspan=\"2\">Sales</th></tr><tr><th>2024</th><th>2025</th></tr>{rows}</table></body></html>"
        ),
        "SELECT count(*) n, sum(\"Sales 2024\") a, sum(\"Sales 2025\") b, min(Region) c FROM items",
        r#"[{"n":20,"a":190,"b":380,"c":"R0"}]"#,
    );
}

#[test]
fn the_files_of_a_log_have_their_commit() {
    let head = |hash: &str| format!("commit {hash}\nAuthor: A <a@b>\n\n    Message of {hash}\n\n");
    let change = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n a\n+b\n";
    let image = "diff --git a/i.png b/i.png\nindex 1..2 100644\nBinary files a/i.png and b/i.png differ\n";
    let log = format!("{}{change}{image}\n{}{change}", head("1111111"), head("2222222"));
    check(
        &log,
        "SELECT path, added, removed, \"commit\" FROM items",
        r#"[{"path":"x","added":1,"removed":0,"commit":"1111111"},{"path":"i.png","added":null,"removed":null,"commit":"1111111"},{"path":"x","added":1,"removed":0,"commit":"2222222"}]"#,
    );
    check(&log, "SELECT count(*) n FROM items WHERE text LIKE '%Message%'", r#"[{"n":0}]"#);
}

#[test]
fn diffs_are_a_table_by_file() {
    let diff = "diff --git a/x.rs b/x.rs\n--- a/x.rs\n+++ b/x.rs\n@@ -1,2 +1,2 @@\n one\n-a\n+b\n\
        diff --git a/y.rs b/y.rs\n--- a/y.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";
    check(
        diff,
        "SELECT path, added, removed, start_line, end_line FROM items ORDER BY added",
        r#"[{"path":"y.rs","added":0,"removed":1,"start_line":8,"end_line":12},{"path":"x.rs","added":1,"removed":1,"start_line":1,"end_line":7}]"#,
    );
    check(diff, "SELECT path FROM files WHERE text LIKE '%gone%'", r#"[{"path":"y.rs"}]"#);
}

#[test]
fn lines_and_sections() {
    check("{\"a\":1}\n{\"a\":2}\n", "SELECT number FROM lines WHERE text LIKE '%2%'", r#"[{"number":2}]"#);
    let document = "# A\n\nintro\n\n## B\n\nmore\n\n# C\n\nend\n";
    check(
        document,
        "SELECT title, own_text, is_leaf FROM sections",
        r###"[{"title":"A","own_text":"# A\n\nintro\n\n","is_leaf":false},{"title":"B","own_text":"## B\n\nmore\n\n","is_leaf":true},{"title":"C","own_text":"# C\n\nend\n","is_leaf":true}]"###,
    );
}

#[test]
fn several_results_are_joined() {
    let guests = r#"[{"id":1,"name":"Ana","password":"p"},{"id":2,"name":"Bo","password":"q"}]"#;
    let stays = r#"{"result":[{"guest":1,"nights":3},{"guest":1,"nights":4},{"guest":2,"nights":1}]}"#;
    let log =
        "2024-05-01 10:00:00 ERROR boom\n2024-05-01 10:00:01 INFO fine\n2024-05-01 10:00:02 INFO fine\n";
    let others = [("g", guests), ("log", log)];
    let check = |sql: &str, expect: &str| {
        let answered = answer_joined(stays, &others, sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}; {}", error.advice()));
        assert_eq!(answered.json, expect, "{sql}");
    };
    let sums = r#"[{"name":"Ana","n":7},{"name":"Bo","n":1}]"#;
    check("SELECT g.name, sum(nights) AS n FROM items JOIN g ON items.guest = g.id GROUP BY 1", sums);
    check("SELECT x.name, sum(i.nights) AS n FROM items i JOIN g.items x ON i.guest = x.id GROUP BY 1", sums);
    check(
        "SELECT g.items.name, sum(items.nights) AS n FROM items JOIN g.items ON items.guest = g.items.id GROUP BY 1",
        sums,
    );
    check("SELECT name FROM G.ITEMS WHERE items.id = 2", r#"[{"name":"Bo"}]"#);
    check(
        "SELECT count(*) AS n FROM (SELECT id FROM g WHERE id IN (SELECT guest FROM result))",
        r#"[{"n":2}]"#,
    );
    check("SELECT level FROM log.entries WHERE level = 'error'", r#"[{"level":"ERROR"}]"#);
    check("SELECT count(*) AS n FROM log, items", r#"[{"n":9}]"#);
    check("SELECT path FROM g.leaves WHERE value = 'Bo'", r#"[{"path":"/1/name"}]"#);
    check(
        "SELECT DISTINCT table_name AS t FROM fields",
        r#"[{"t":"items"},{"t":"leaves"},{"t":"g.items"},{"t":"g.leaves"},{"t":"log.lines"},{"t":"log.entries"}]"#,
    );
    let error = |sql: &str| answer_joined(stays, &others, sql).expect_err(sql).to_string();
    assert!(
        error("SELECT count(DISTINCT g.password) FROM g JOIN items ON items.guest = g.id")
            .starts_with("password is redacted")
    );
    assert!(error("SELECT naem FROM g.items").contains("did you mean"));
    let nested = r#"[{"id":1,"at":{"home":{"city":"Faro"}}},{"id":2,"at":{"home":{"city":"Porto"}}}]"#;
    for sql in [
        "SELECT b.at.home.city AS city FROM items JOIN b ON items.guest = b.id AND b.at.home.city = 'Porto'",
        "SELECT x.at.home.city AS city FROM items i JOIN b x ON i.guest = x.id WHERE x.at.home.city LIKE 'porto'",
        "SELECT b.items.at.home.city AS city FROM items JOIN b.items ON items.guest = b.items.id AND nights = 1",
    ] {
        let answered = answer_joined(stays, &[("b", nested)], sql).map(|answer| answer.json);
        assert_eq!(answered.as_deref(), Ok(r#"[{"city":"Porto"}]"#), "{sql}");
    }
    let report = r#"{"latest":{"cities":[{"id":1,"city":"Porto"}],"codes":[1,2]},"rest":[{"a":"longer than the others"}]}"#;
    let city = r#"[{"city":"Porto"}]"#;
    for (sql, expect) in [
        ("SELECT city FROM b.items('/latest/cities')", city),
        ("SELECT c.city FROM B.items('/latest/cities') AS c WHERE c.id = 1", city),
        (
            "SELECT b.items.city FROM result JOIN b.items('/latest/cities') ON guest = b.items.id AND nights = 3",
            city,
        ),
        ("SELECT c.city FROM items JOIN b.items('/latest/cities') c ON items.guest = c.id LIMIT 1", city),
        ("SELECT sum(value) AS n FROM b.items('/latest/codes')", r#"[{"n":3}]"#),
    ] {
        let answered = answer_joined(stays, &[("b", report)], sql).map(|answer| answer.json);
        assert_eq!(answered.as_deref(), Ok(expect), "{sql}");
    }
    let nowhere = answer_joined(stays, &[("b", report)], "SELECT * FROM b.items('/latest/citties')");
    assert_eq!(
        nowhere.expect_err("no path").to_string(),
        "there is no citties in /latest; did you mean cities?"
    );
    // Names of the main result's tables.
    for name in ["items", "Result", "leaves"] {
        let error = answer_joined(stays, &[(name, nested)], "SELECT 1").expect_err(name);
        assert!(
            error.to_string().starts_with("with cannot name a result") && error.advice().contains("b.items")
        );
    }
}

#[test]
fn tables_of_documents_are_items() {
    let document = "# Prices\n\nText | no table\n\n| Room | Price | From |\n|:---|---:|---|\n| **Single** | 50.5 | 2025-01-01 |\n\
        | Double \\| twin | 80 | 2025-02-01 |\n| Suite | | |\n\nMore.\n\n| a | b |\n|---|---|\n| 1 | `x` |\n\n```\n| c | d |\n|---|---|\n| 1 | 2 |\n```\n";
    check(
        document,
        "SELECT * FROM items",
        r#"[{"Room":"Single","Price":50.5,"From":"2025-01-01"},{"Room":"Double | twin","Price":80,"From":"2025-02-01"},{"Room":"Suite","Price":null,"From":null}]"#,
    );
    check(document, "SELECT MAX(Price) AS most FROM table_1", r#"[{"most":80}]"#);
    check(document, "SELECT a, b FROM table_2", r#"[{"a":1,"b":"x"}]"#);
    check(
        document,
        "SELECT item FROM items WHERE Room = 'Single'",
        r#"[{"Room":"Single","Price":50.5,"From":"2025-01-01"}]"#,
    );
    check(
        document,
        "SELECT COUNT(*) AS n FROM fields WHERE table_name LIKE 'table%' AND name IN ('a', 'b', 'c')",
        r#"[{"n":2}]"#,
    );
    let html = "<html><body><p>x</p><TABLE class=a><thead><tr><th>Name</th><th>Size&nbsp;(kB)</th></tr></thead>\
        <tr><td><a href=\"/a\">a &amp; b</a></td><td>12</td></tr><tr><td>c</td><td>7</td></tr></TABLE><table></table></body></html>";
    check(
        html,
        "SELECT * FROM items ORDER BY 2",
        r#"[{"Name":"c","Size (kB)":7},{"Name":"a & b","Size (kB)":12}]"#,
    );
    check("a|b\n-|-\n1|2\n", "SELECT a, b FROM items", r#"[{"a":1,"b":2}]"#);
}

/// Runs a query on a result of several blocks.
fn ask_blocks(texts: &[String], sql: &str) -> (String, Vec<String>) {
    let block =
        |(i, text): (usize, &String)| Block::new(format!("/content/{i}/text"), Content::Text(text.clone()));
    let blocks = texts.iter().enumerate().map(block).collect();
    let snapshot = capture(Payload { blocks, ..Payload::default() });
    let answer = asked(&snapshot, sql, &[], &QueryLimits::default()).expect("an answer");
    (answer.json, answer.type_hints)
}

#[test]
fn blocks_of_one_record_each_are_the_rows_of_one_table() {
    let record = |n: usize| format!("{{ \"id\": {n}, \"name\": \"n{n}\", \"note\": \"{}\" }}", "x".repeat(n));
    let mut texts: Vec<String> = (0..150).map(record).collect();
    let counted = ask_blocks(&texts, "SELECT count(*) n, min(id) a, max(id) z FROM items");
    assert_eq!(counted, (r#"[{"n":150,"a":0,"z":149}]"#.to_owned(), Vec::new()));
    let (item, _) = ask_blocks(&texts, "SELECT item FROM items WHERE id = 2");
    assert_eq!(item, format!("[{}]", texts[2]));
    // A text before the records changes nothing, and neither does a record with another field.
    texts.insert(0, "Found 151 records".to_owned());
    texts.push(r#"{"id":150,"name":"last","note":"","more":true}"#.to_owned());
    let counted = ask_blocks(&texts, "SELECT count(*) n, max(id) z, count(more) m FROM items").0;
    assert_eq!(counted, r#"[{"n":151,"z":150,"m":1}]"#);
}

#[test]
fn lists_in_blocks_of_records_are_joined() {
    let record = |n: usize| {
        let lines = (0..n % 4).map(|line| format!("{{\"sku\": \"s{line}\", \"n\": {line}}}"));
        let lines = lines.collect::<Vec<_>>().join(", ");
        format!("{{\"_id\": {{\"$oid\": \"65{n:022}\"}}, \"name\": \"customer {n}\", \"orders\": [{lines}]}}")
    };
    let mut texts: Vec<String> = (0..60).map(record).collect();
    texts.insert(0, "Found 60 documents".to_owned());
    assert_eq!(ask_blocks(&texts, "SELECT count(*) AS n FROM items").0, r#"[{"n":60}]"#);
    assert_eq!(ask_blocks(&texts, "SELECT sum(n) AS n FROM items('*/orders')").0, r#"[{"n":60}]"#);
}

#[test]
fn objects_are_compared_as_they_are_shown() {
    let rows = r#"[{"id": 1, "acts": ["create", "delete"], "meta": {"b": 2}}, {"id": 2, "acts": [ "create" ], "meta": {"b": 1}}]"#;
    check(rows, r#"SELECT id FROM items WHERE acts = '["create","delete"]'"#, r#"[{"id":1}]"#);
    check(rows, "SELECT id FROM items WHERE acts = json_array('create')", r#"[{"id":2}]"#);
    check(rows, r#"SELECT id FROM items WHERE meta LIKE '%"b":1%'"#, r#"[{"id":2}]"#);
    check(rows, "SELECT acts FROM items WHERE id = 2", r#"[{"acts":["create"]}]"#);
}

#[test]
fn blocks_of_similar_lists_are_one_table() {
    let list = |from: usize| {
        let items: Vec<String> = (from..from + 20).map(|n| format!("{{\"id\":{n}}}")).collect();
        format!("[{}]", items.join(","))
    };
    let texts = [list(0), format!("{{\"rows\":{}}}", list(100)), "[{},{\"id\":7}]".to_owned()];
    let counted =
        ask_blocks(&texts, "SELECT count(*) n, count(id) ids, count(DISTINCT part) parts FROM items");
    assert_eq!(counted, (r#"[{"n":42,"ids":41,"parts":3}]"#.to_owned(), Vec::new()));
    let (found, _) = ask_blocks(&texts, "SELECT part, id FROM items WHERE id = 107");
    assert_eq!(found, r#"[{"part":"/content/1/text","id":107}]"#);
}

#[test]
fn other_blocks_are_named() {
    let list = |from: usize| {
        let items: Vec<String> = (from..from + 20).map(|n| format!("{{\"id\":{n}}}")).collect();
        format!("[{}]", items.join(","))
    };
    let csv: Vec<String> = (0..90).map(|n| format!("{n},city {n}")).collect();
    let texts = [list(0), format!("number,name\n{}\n", csv.join("\n"))];
    let (_, hints) = ask_blocks(&texts, "SELECT count(*) FROM items");
    assert_eq!(hints, ["items is one of 2 blocks; others are items_2"]);
    let (rows, hints) = ask_blocks(&texts, "SELECT (SELECT count(*) FROM items) + count(*) n FROM items_2");
    assert_eq!((rows.as_str(), hints.len()), (r#"[{"n":110}]"#, 0));
    for (at, count) in [(0, 20), (1, 90)] {
        let (rows, _) = ask_blocks(&texts, &format!("SELECT count(*) n FROM items('/content/{at}/text')"));
        assert_eq!(rows, format!("[{{\"n\":{count}}}]"));
    }
    // Objects that are not alike are tables of their own.
    let unlike = [r#"{"total":2,"page":1}"#.to_owned(), r#"{"id":1,"name":"a"}"#.to_owned()];
    let (_, hints) = ask_blocks(&unlike, "SELECT * FROM items");
    assert_eq!(hints, ["items is one of 2 blocks; others are items_2"]);
}

#[test]
fn other_lists_of_an_object_are_named() {
    let object = r#"{"web":[{"a":1},{"a":2}],"news":[{"a":3},{"a":4}],"more":[{"a":5}]}"#.to_owned();
    let ask = |sql: &str| ask_blocks(std::slice::from_ref(&object), sql).1;
    assert_eq!(ask("SELECT count(*) FROM items"), ["items is web; other lists are news, more"]);
    assert_eq!(ask("SELECT count(*) FROM news"), Vec::<String>::new());
    assert_eq!(ask("SELECT count(*) FROM web"), Vec::<String>::new());
    let deep = format!(
        "{{\"Envelope\":{{\"Body\":{{\"Response\":{{\"return\":{{\"order\":[{}1]}}}}}}}}}}",
        "{\"n\":1},".repeat(30)
    );
    assert_eq!(ask_blocks(&[deep], "SELECT count(*) n FROM items").0, r#"[{"n":31}]"#);
}

#[test]
fn leaves_are_those_of_all_blocks() {
    let texts = [
        r#"{"note":"n","list":[{"a":1},{"a":2}]}"#,
        "plain text",
        r#"{"other":{"b":[true]}}"#,
        "{\"c\":1}\n{\"c\":2}\n",
    ];
    let (json, _) =
        ask_blocks(&texts.map(str::to_owned), "SELECT path, key, value FROM leaves ORDER BY path");
    assert_eq!(
        json,
        r#"[{"path":"/content/2/text/other/b/0","key":"0","value":1},{"path":"/content/3/text/0/c","key":"c","value":1},{"path":"/content/3/text/1/c","key":"c","value":2},{"path":"/list/0/a","key":"a","value":1},{"path":"/list/1/a","key":"a","value":2},{"path":"/note","key":"note","value":"n"}]"#
    );
    // Blocks that are the records of one table.
    let records = [1, 2, 3].map(|id| format!("{{\"id\":{id},\"name\":\"n{id}\"}}"));
    let (json, _) = ask_blocks(&records, "SELECT count(*) AS n, count(DISTINCT path) AS paths FROM leaves");
    assert_eq!(json, r#"[{"n":6,"paths":6}]"#);
}

#[test]
fn objects_of_columns_are_tables() {
    let weather = r#"{"latitude":52.5,"hourly_units":{"time":"iso8601","wind":"km/h"},"hourly":{"time":["2024-01-01T00:00","2024-01-01T01:00","2024-01-01T02:00","2024-01-01T03:00"],"wind":[3,9.5,null,1]},"daily":{"sun":[1,2,3,4],"Sun":[5,6,7,8]}}"#;
    check(
        weather,
        "SELECT time, wind FROM items WHERE wind > 2 ORDER BY wind DESC",
        r#"[{"time":"2024-01-01T01:00","wind":9.5},{"time":"2024-01-01T00:00","wind":3}]"#,
    );
    check(
        weather,
        "SELECT count(*) AS n, max(h.wind) AS most FROM items('/hourly') h",
        r#"[{"n":4,"most":9.5}]"#,
    );
    check(weather, "SELECT item FROM hourly LIMIT 1", r#"[{"time":"2024-01-01T00:00","wind":3}]"#);
    check(weather, "SELECT * FROM daily LIMIT 1", r#"[{"sun_1":1,"Sun_2":5}]"#);
    check(weather, "SELECT latitude FROM record", r#"[{"latitude":52.5}]"#);
    check(weather, "SELECT value FROM items('/hourly/time') LIMIT 1", r#"[{"value":"2024-01-01T00:00"}]"#);
    let long: Vec<String> = (0..300).map(|n| format!("\"2024-01-01 at {n:04}\"")).collect();
    let counts: Vec<String> = (0..300).map(|n| n.to_string()).collect();
    let list = format!(r#"{{"unit":1,"hourly":{{"time":[{}],"n":[{}]}}}}"#, long.join(","), counts.join(","));
    check(&list, "SELECT time FROM items WHERE n = 299", r#"[{"time":"2024-01-01 at 0299"}]"#);
    check(&list, "SELECT count(*) AS n FROM time", r#"[{"n":300}]"#);
    check(&list, "SELECT unit FROM record", r#"[{"unit":1}]"#);
    let nested = r#"{"hourly":{"time":[1,2,3,4],"wind":[5,6,7,8],"uv":[[0,1],[2],[],[3]]},"daily":{"a":[1,2,3,4],"b":[1,2,3,4]}}"#;
    check(nested, "SELECT time, uv FROM items WHERE wind = 5", r#"[{"time":1,"uv":[0,1]}]"#);
    check(nested, "SELECT count(*) AS n FROM daily", r#"[{"n":4}]"#);
}

#[test]
fn a_first_row_of_names_names_the_columns() {
    let sheet = r#"{"range":"A1:C4","majorDimension":"ROWS","values":[["name","age","city"],["Ann","31","Oslo"],["Bob","4"],["Eve","","Rome"]]}"#;
    check(sheet, "SELECT name, city FROM items WHERE age::int > 5", r#"[{"name":"Ann","city":"Oslo"}]"#);
    check(sheet, "SELECT count(*) AS n FROM items", r#"[{"n":3}]"#);
    check(sheet, "SELECT item FROM \"values\" WHERE name = 'Bob'", r#"[{"name":"Bob","age":"4"}]"#);
    check(sheet, "SELECT name FROM items('/values') LIMIT 1", r#"[{"name":"Ann"}]"#);
    check(r#"[["a","b"],["c","d"],["e","f"]]"#, "SELECT count(*) AS n FROM items", r#"[{"n":3}]"#);
}

#[test]
fn a_path_of_another_block_is_found() {
    let texts = [r#"{"readings":[{"v":1},{"v":2},{"v":3},{"v":4}]}"#, r#"{"inventory":[{"id":1},{"id":2}]}"#];
    let blocks = texts
        .iter()
        .enumerate()
        .map(|(at, text)| Block::new(format!("/content/{at}/text"), Content::Text((*text).to_owned())));
    let snapshot = capture(Payload { blocks: blocks.collect(), ..Payload::default() });
    let json = |sql: &str| asked(&snapshot, sql, &[], &QueryLimits::default()).map(|answer| answer.json);
    assert_eq!(json("SELECT count(*) AS n FROM items('/inventory')").as_deref(), Ok(r#"[{"n":2}]"#));
    assert_eq!(json("SELECT count(*) AS n FROM items('/readings')").as_deref(), Ok(r#"[{"n":4}]"#));
    assert!(json("SELECT count(*) AS n FROM items('/nowhere')").is_err());
}

#[test]
fn lines_of_all_blocks_are_one_table() {
    let texts = [
        "# src/a.rs\nfn a() {}\n".to_owned(),
        "plain words\n".to_owned(),
        "# src/b.rs\nfn b() {}\n".to_owned(),
    ];
    let (json, _) =
        ask_blocks(&texts, "SELECT part, name, number, text FROM lines WHERE text LIKE 'fn%' ORDER BY part");
    assert_eq!(
        json,
        r#"[{"part":"/content/0/text","name":"src/a.rs","number":2,"text":"fn a() {}"},{"part":"/content/2/text","name":"src/b.rs","number":2,"text":"fn b() {}"}]"#,
    );
    let (json, _) = ask_blocks(&texts, "SELECT count(*) AS n, count(name) AS named FROM lines");
    assert_eq!(json, r#"[{"n":5,"named":4}]"#);
    let documents = ["# One\n\ntext\n\n## Two\n\nmore\n".to_owned(), "# Three\n\nlast\n".to_owned()];
    let (json, _) =
        ask_blocks(&documents, "SELECT part, number, title, start_line FROM sections ORDER BY part, number");
    assert_eq!(
        json,
        r#"[{"part":"/content/0/text","number":1,"title":"One","start_line":1},{"part":"/content/0/text","number":2,"title":"Two","start_line":5},{"part":"/content/1/text","number":1,"title":"Three","start_line":1}]"#,
    );
    let entries =
        |level: &str| [1, 2, 3, 4].map(|n| format!("2025-01-0{n}T10:00:00Z {level} message {n}\n")).concat();
    let (json, _) = ask_blocks(
        &[entries("INFO"), entries("ERROR")],
        "SELECT part, count(*) AS n, max(time) AS last FROM entries WHERE level = 'ERROR' GROUP BY part",
    );
    assert_eq!(json, r#"[{"part":"/content/1/text","n":4,"last":"2025-01-04T10:00:00Z"}]"#);
}

#[test]
fn lists_at_a_pattern_are_one_table() {
    let days = r#"{"days":[{"date":"1 May","rooms":{"A":[{"id":1},{"id":2}],"B":[{"id":3}]}},{"date":"2 May","rooms":{"A":[{"id":4}],"B":[]}}]}"#;
    check(
        days,
        r#"SELECT "days.date" AS day, rooms, count(*) AS n FROM items('/days/*/rooms/*') GROUP BY 1, 2"#,
        r#"[{"day":"1 May","rooms":"A","n":2},{"day":"1 May","rooms":"B","n":1},{"day":"2 May","rooms":"A","n":1}]"#,
    );
    check(days, "SELECT sum(id) AS n FROM items('*/A')", r#"[{"n":7}]"#);
    check(days, "SELECT max(id) AS n FROM items('/days/*/rooms/B')", r#"[{"n":3}]"#);
    refused(days, "SELECT 1 FROM items('/days/*/halls')", "there is no * in /days");
}

#[test]
fn rows_are_named_by_columns_elsewhere() {
    let columns = r#"[{"name":"city","type":"STRING"},{"name":"amount","type":"DOUBLE"}]"#;
    let sql = "SELECT city, sum(amount) AS total FROM items GROUP BY city ORDER BY total DESC";
    let totals = r#"[{"city":"Oslo","total":109},{"city":"Rome","total":10}]"#;
    for text in [
        format!(
            r#"{{"manifest":{{"schema":{{"columns":{columns}}},"chunks":[{{"row_count":3}}]}},"result":{{"data_array":[["Oslo","9"],["Rome","10"],["Oslo","100"]]}}}}"#
        ),
        format!(
            r#"{{"schema":{{"fields":{columns}}},"rows":[{{"f":[{{"v":"Oslo"}},{{"v":"9"}}]}},{{"f":[{{"v":"Rome"}},{{"v":"10"}}]}},{{"f":[{{"v":"Oslo"}},{{"v":"100"}}]}}]}}"#
        ),
        format!(
            r#"{{"Tables":[{{"TableName":"T","Columns":{columns},"Rows":[["Oslo",9],["Rome",10],["Oslo",100]]}}]}}"#
        ),
        format!(
            r#"{{"Records":[[{{"stringValue":"Oslo"}},{{"longValue":9}}],[{{"stringValue":"Rome"}},{{"longValue":10}}],[{{"stringValue":"Oslo"}},{{"longValue":100}}]],"ColumnMetadata":{columns}}}"#
        ),
        r#"{"results":[[{"field":"city","value":"Oslo"},{"field":"amount","value":"9"}],[{"field":"city","value":"Rome"},{"field":"amount","value":"10"}],[{"field":"amount","value":"100"},{"field":"city","value":"Oslo"}]]}"#.to_owned(),
    ] {
        check(&text, sql, totals);
    }
    let kusto = format!(
        r#"{{"Tables":[{{"Columns":{columns},"Rows":[["Oslo",9],["Rome",10]]}},{{"Columns":{columns},"Rows":[["Bonn",1]]}}]}}"#
    );
    check(&kusto, "SELECT city FROM items('/Tables/1/Rows')", r#"[{"city":"Bonn"}]"#);
    let influx = r#"{"results":[{"series":[{"name":"cpu","tags":{"host":"a"},"columns":["time","v"],"values":[["t1",1],["t2",20]]},{"name":"cpu","tags":{"host":"b"},"columns":["time","v"],"values":[["t1",5]]}]}]}"#;
    check(
        influx,
        "SELECT tags.host, count(*) AS n, max(v) AS most FROM items GROUP BY 1",
        r#"[{"tags.host":"a","n":2,"most":20},{"tags.host":"b","n":1,"most":5}]"#,
    );
    let athena = r#"{"ResultSet":{"Rows":[{"Data":[{"VarCharValue":"region"},{"VarCharValue":"sales"}]},{"Data":[{"VarCharValue":"eu"},{"VarCharValue":"9"}]},{"Data":[{"VarCharValue":"us"},{}]}],"ResultSetMetadata":{"ColumnInfo":[{"Name":"region","Type":"varchar"},{"Name":"sales","Type":"integer"}]}}}"#;
    check(
        athena,
        "SELECT count(*) AS n, count(sales) AS known, max(sales) AS most FROM items",
        r#"[{"n":2,"known":1,"most":9}]"#,
    );
    check(athena, "SELECT item FROM items LIMIT 1", r#"[{"region":"eu","sales":"9"}]"#);
}

#[test]
fn records_beside_facts_about_their_page_are_the_list() {
    let text = r#"[{"page":1,"pages":3,"per_page":2,"total":5},[{"id":"AFG","region":{"id":"SAS"}},{"id":"ALB","region":{"id":"ECS"}}]]"#;
    check(
        text,
        "SELECT id, region.id FROM items",
        r#"[{"id":"AFG","region.id":"SAS"},{"id":"ALB","region.id":"ECS"}]"#,
    );
    check(r#"[{"id":1,"total":5},[{"id":2}]]"#, "SELECT count(*) AS n FROM items", r#"[{"n":2}]"#);
}

#[test]
fn records_in_two_notations_count_once() {
    let count = |blocks: [&str; 2]| {
        let block = |(at, text): (usize, &&str)| {
            Block::new(format!("/content/{at}/text"), Content::Text((*text).to_owned()))
        };
        let blocks = blocks.iter().enumerate().map(block).collect();
        let snapshot = capture(Payload { blocks, ..Payload::default() });
        let sql = "SELECT count(*) AS n FROM items";
        asked(&snapshot, sql, &[], &QueryLimits::default()).expect("an answer").json
    };
    let json = r#"[{"id":1,"city":"Oslo"},{"id":2,"city":"Rome"},{"id":3,"city":"Bonn"}]"#;
    let yaml = "- id: 1\n  city: Oslo\n- id: 2\n  city: Rome\n- id: 3\n  city: Bonn\n";
    let markdown = "| id | city |\n| --- | --- |\n| 1 | Oslo |\n| 2 | Rome |\n| 3 | Bonn |\n";
    for other in [yaml, markdown, json] {
        assert_eq!(count([json, other]), r#"[{"n":3}]"#, "{other}");
        assert_eq!(count([other, json]), r#"[{"n":3}]"#, "{other}");
    }
    assert_eq!(count([json, r#"[{"id":4,"city":"Bern"}]"#]), r#"[{"n":4}]"#);
}

#[test]
fn objects_with_numbered_keys_are_columns() {
    let column =
        |name: &str| format!(r#""{name}":{{"0":"x","1":"{name}","2":"y","3":"{}"}}"#, "z".repeat(40));
    let columns = |count: usize| (0..count).map(|at| column(&format!("c{at}"))).collect::<Vec<_>>().join(",");
    for count in [2, 9] {
        let text = format!(r#"{{{},"n":{{"0":9,"1":10,"2":100,"3":null}}}}"#, columns(count));
        check(
            &text,
            "SELECT c1, n FROM items WHERE n > 9 ORDER BY n DESC",
            r#"[{"c1":"y","n":100},{"c1":"c1","n":10}]"#,
        );
    }
    // Other keys are names of records.
    let people = r#"{"1":{"name":"Ann"},"2":{"name":"Bob"}}"#;
    check(people, "SELECT \"1.name\" FROM items", r#"[{"1.name":"Ann"}]"#);
}

#[test]
fn the_main_list_of_an_object_may_be_a_map_or_several_lists() {
    let study =
        |n: usize| format!(r#""{n}":{{"uid":"{n}","source":"J{}","authors":[{{"name":"A"}}]}}"#, n % 2);
    let studies = |count: usize| (10..10 + count).map(study).collect::<Vec<_>>().join(",");
    for count in [4, 30] {
        let text =
            format!(r#"{{"header":{{"type":"e"}},"result":{{"uids":["10","11"],{}}}}}"#, studies(count));
        for table in ["items", "items('/result')", "result"] {
            let sql = format!("SELECT source, count(*) n FROM {table} GROUP BY 1 ORDER BY 1");
            let half = count / 2;
            check(&text, &sql, &format!(r#"[{{"source":"J0","n":{half}}},{{"source":"J1","n":{half}}}]"#));
        }
        check(&text, "SELECT source FROM items('*/authors') WHERE _key = '10'", r#"[{"source":"J0"}]"#);
    }
    let steps = |name: &str| format!(r#""{name}":{{"steps":[{{"run":"a {name}"}},{{"run":"b {name}"}}]}}"#);
    let jobs = format!(r#"{{"name":"CI","jobs":{{{},{},{}}}}}"#, steps("x"), steps("y"), steps("z"));
    check(&jobs, "SELECT count(*) n, min(jobs) first FROM items", r#"[{"n":6,"first":"x"}]"#);
    let rows = (0..40).map(|n| format!(r#"{{"amount":{n}.5}}"#)).collect::<Vec<_>>().join(",");
    let report = format!(r#"{{"results":[{{"tables":[{{"rows":[{rows}]}}]}}]}}"#);
    check(&report, "SELECT sum(amount) s FROM items", r#"[{"s":800.0}]"#);
}

#[test]
fn values_in_lists_of_records_are_rows() {
    let hosts = r#"{"hosts":[{"id":"a","tags":["x","y"]},{"id":"b","tags":["x"]}]}"#;
    check(
        hosts,
        "SELECT value, count(*) AS n FROM items('*/tags') GROUP BY value ORDER BY n DESC",
        r#"[{"value":"x","n":2},{"value":"y","n":1}]"#,
    );
    let sarif = r#"{"runs":[{"tool":{"name":"lint","rules":[{"id":"a"}]},"results":[{"ruleId":"a","level":"error"}]}]}"#;
    let error = answer(sarif, "SELECT ruleId FROM items", &[]).expect_err("no column");
    let QueryError::Invalid { hint, .. } = error else { panic!("{error}") };
    assert_eq!(hint.as_deref(), Some("ruleId is a column of items('*/results')"));
}

#[test]
fn tables_at_paths_and_leaves_exist_beside_many_lists() {
    let lists: Vec<String> =
        (0..150).map(|n| format!(r#""src/{n}.rs":[{{"line":{n}}},{{"line":2}}]"#)).collect();
    let object = format!("{{{}}}", lists.join(","));
    check(&object, "SELECT count(*) AS n FROM items('/src~1140.rs')", r#"[{"n":2}]"#);
    check(&object, "SELECT count(*) AS n FROM leaves", r#"[{"n":300}]"#);
}
