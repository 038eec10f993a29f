//! Tests the types of cells, patterns, and functions of whole numbers.

use portion_core::view::View;
use portion_sql::{QueryLimits, select_rows};

use crate::common::{answer, answer_joined, asked, check, snapshot};

/// Returns rows of CSV with the prices 1 to 30, of which one is another text.
fn prices(other: &str) -> String {
    let rows: Vec<String> =
        (1..=30).map(|n| if n == 7 { format!("7,{other}") } else { format!("{n},{n}") }).collect();
    format!("id,price\n{}\n", rows.join("\n"))
}

#[test]
fn one_word_does_not_turn_numbers_into_texts() {
    let csv = prices("sold");
    check(&csv, "SELECT sum(price > 20) AS n FROM items WHERE typeof(price) = 'integer'", r#"[{"n":10}]"#);
    check(&csv, "SELECT id FROM items ORDER BY price LIMIT 2", r#"[{"id":1},{"id":2}]"#);
    check(&csv, "SELECT max(price::numeric) AS n FROM items", r#"[{"n":30}]"#);
    check(
        "id,zip\n1,007\n2,123\n3,124\n",
        "SELECT zip FROM items",
        r#"[{"zip":"007"},{"zip":"123"},{"zip":"124"}]"#,
    );
    check("v\tw\n1.10\ta\n1.2.3\tb\n2.0\tc\n", "SELECT v FROM items LIMIT 1", r#"[{"v":"1.10"}]"#);
}

#[test]
fn texts_that_are_used_as_numbers_are_told() {
    let hints = |text: &str, sql: &str| answer(text, sql, &[]).expect(sql).type_hints;
    let csv = prices("sold");
    let mixed = "price is numbers and text; 1 value is no number ('sold'): use price::numeric";
    for sql in [
        "SELECT count(*) FROM items WHERE price > 20",
        "SELECT max(price) FROM items",
        "SELECT id FROM items ORDER BY price",
        "SELECT id FROM items WHERE 20 < \"price\" AND price BETWEEN 1 AND 40",
    ] {
        assert_eq!(hints(&csv, sql), [mixed], "{sql}");
    }
    assert_eq!(hints(&csv, "SELECT avg(items.price) FROM items"), [mixed]);
    let unread =
        "1 text is no number ('sold'): a sum or cast counts it as 0, by its first digits, or as NULL";
    assert_eq!(hints(&csv, "SELECT max(price::numeric) FROM items"), [unread]);
    for sql in ["SELECT max(id) FROM items", "SELECT price FROM items"] {
        assert!(hints(&csv, sql).is_empty(), "{sql}");
    }
    let json = r#"[{"price":"9"},{"price":"120"},{"price":"$1,400.50"}]"#;
    assert_eq!(
        hints(json, "SELECT count(*) FROM items WHERE price > 100"),
        ["price is read as numbers: '$1,400.50' is 1400.5"]
    );
    check(json, "SELECT max(price) AS n FROM items", r#"[{"n":1400.5}]"#);
    assert!(hints(r#"[{"name":"a"},{"name":"7"},{"name":"b"}]"#, "SELECT min(name) FROM items").is_empty());
}

#[test]
fn csv_of_any_shape_is_a_table() {
    check(
        "id,name,name\n1,a,b\n2,c,d\n",
        "SELECT * FROM items LIMIT 1",
        r#"[{"id":1,"name":"a","name_2":"b"}]"#,
    );
    check(
        "0,n0,5\n1,n1,6\n2,n2,7\n",
        "SELECT * FROM items LIMIT 1",
        r#"[{"column_1":0,"column_2":"n0","column_3":5}]"#,
    );
    check(
        "id,name,price,\n0,n0,5,\n1,n1,6,\n",
        "SELECT * FROM items LIMIT 1",
        r#"[{"id":0,"name":"n0","price":5}]"#,
    );
    let rows: Vec<String> =
        (0..30).map(|n| if n == 5 { "5,a,b,c".to_owned() } else { format!("{n},n") }).collect();
    let ragged = format!("id,name\n{}\n", rows.join("\n"));
    check(
        &ragged,
        "SELECT item FROM items WHERE id = 5",
        r#"[{"id":5,"name":"a","column_3":"b","column_4":"c"}]"#,
    );
    check(&ragged, "SELECT count(*) AS n FROM items", r#"[{"n":30}]"#);
    let wide = format!("id,name\n1,a\n2,b{}\n{}", ",x".repeat(3_000), "3,c\n".repeat(30));
    check(&wide, "SELECT count(*) AS n FROM items", r#"[{"n":32}]"#);
    check(&wide, "SELECT item ->> '$.column_3002' AS x FROM items WHERE id = 2", r#"[{"x":"x"}]"#);
}

#[test]
fn documents_with_many_tables() {
    let document = |count: usize| -> String {
        let table = |n| format!("Table {n}\n\n| a | b |\n|---|---|\n| {n} | x |\n\n");
        (1..=count).map(table).collect::<Vec<_>>().concat()
    };
    let tables = document(30);
    check(&tables, "SELECT a FROM table_1 UNION ALL SELECT a FROM items", r#"[{"a":1},{"a":1}]"#);
    check(&tables, "SELECT a FROM table_30", r#"[{"a":30}]"#);
    let error = answer(&tables, "SELECT a FROM table_31", &[]).expect_err("an error");
    assert_eq!(error.to_string(), "no such table: table_31");
    let tables = document(120);
    let expect =
        "30 more tables of the document are not listed: read them in lines(number, text), or with find";
    let error = answer(&tables, "SELECT a FROM table_110", &[]).expect_err("an error");
    assert!(error.advice().starts_with(expect), "{}", error.advice());
    let answered = answer(&tables, "SHOW TABLES", &[]).expect("an answer");
    assert_eq!(answered.type_hints, [expect]);
}

#[test]
fn cells_that_span_columns_and_rows_are_repeated() {
    let html = "<html><body><table><tr><th>Group</th><th>Name</th><th>Price</th></tr>\
        <tr><td rowspan=\"2\">A</td><td>x</td><td>1</td></tr><tr><td>y</td><td>2</td></tr>\
        <tr><td COLSPAN = 2>B</td><td>3</td></tr></table></body></html>";
    check(
        html,
        "SELECT * FROM items",
        r#"[{"Group":"A","Name":"x","Price":1},{"Group":"A","Name":"y","Price":2},{"Group":"B","Name":"B","Price":3}]"#,
    );
    let bomb = format!(
        "<table><tr><th>a</th></tr>{}</table>",
        "<tr>".to_owned() + &"<td colspan=999 rowspan=999>xxxxxxxx".repeat(19) + &"<tr><td>y".repeat(3_000)
    );
    // A table that repeats too many cells is not read in part.
    let error = answer(&bomb, "SELECT count(*) AS n FROM items", &[]).expect_err("no table").to_string();
    assert!(error.starts_with("items cannot be read: its cells span too many"), "{error}");
}

#[test]
fn formats_of_dates() {
    let one = |expression: &str, expect: &str| {
        check("[{\"a\":1}]", &format!("SELECT {expression} AS x"), &format!(r#"[{{"x":"{expect}"}}]"#));
    };
    let time = "'2025-05-07 15:09:10.250'";
    one("to_char('2025-05-07', 'yyyy-mm-dd')", "2025-05-07");
    one(&format!("to_char({time}, 'HH12:MI AM')"), "03:09 PM");
    one(&format!("to_char({time}, 'YYYY-MM-DD\"T\"HH24:MI:SS.MS')"), "2025-05-07T15:09:10.250");
    one("to_char('2025-05-07', 'FMDD Mon YYYY, DAY')", "07 May 2025, WEDNESDAY");
    one("to_char('2024-12-30', 'IYYY-IW')", "2025-01");
    one(&format!("date_format({time}, 'yyyy-MM-dd HH:mm')"), "2025-05-07 15:09");
    one(&format!("date_format({time}, 'd MMM yyyy, h:mm a')"), "7 May 2025, 3:09 PM");
    one("date_format('2025-05-07', '%M %Y, %W')", "May 2025, Wednesday");
    one(&format!("date_format({time}, '%h:%i %p')"), "03:09 PM");
    one("strptime('07/05/2025 03:09 PM', '%d/%m/%Y %I:%M %p')", "2025-05-07 15:09:00");
    one("to_date('07/05/2025', 'dd/mm/yyyy')", "2025-05-07");
    for (sql, expect) in [
        (
            "SELECT to_char('2025-05-07', 'YYYY WWX')",
            "WWX in the format YYYY WWX is not known: use YYYY MM DD",
        ),
        (
            "SELECT date_format('2025-05-07', 'yyyy ww')",
            "ww in the format yyyy ww is not known: use yyyy MM dd",
        ),
        ("SELECT date_format('2025-05-07', '%Q')", "%Q in the format %Q is not known"),
        ("SELECT to_char(1234.5, '999,999.99')", "to_char does not write numbers; use printf('%.2f', x)"),
    ] {
        let error = answer("[{\"a\":1}]", sql, &[]).expect_err(sql).to_string();
        assert!(error.contains(expect), "{sql}: {error}");
    }
}

#[test]
fn patterns_and_whole_numbers() {
    let one = |expression: &str, expect: &str| {
        check("[{\"a\":1}]", &format!("SELECT {expression} AS x"), &format!(r#"[{{"x":{expect}}}]"#));
    };
    one(r"'50%' LIKE '50\%'", "1");
    one(r"'50x' LIKE '50\%'", "0");
    one(r"'a_b' LIKE 'a\_b' AND 'axb' NOT LIKE 'a\_b'", "1");
    one(r"'C:\x' LIKE 'C:\\%' AND 'C:\x' LIKE 'C:\x'", "1");
    one("mod(9007199254740993, 10)", "3");
    one("mod(7, 0)", "null");
    one("mod(7.5, 2)", "1.5");
    one("floor(9007199254740993)", "9007199254740993");
    one("ceil(5) || trunc(7) || floor(2.5)", "\"572.0\"");
    one("array_length('[1,2]', 1)", "2");
    one("array_length('[1,2]')", "2");
}

#[test]
fn decimal_commas_units_and_containers_that_are_used_as_numbers_are_told() {
    let hints = |text: &str, sql: &str| answer(text, sql, &[]).expect(sql).type_hints.join("; ");
    let euros = "name;preis\na;60,17\nb;7\nc;1,5\n";
    for sql in [
        "SELECT sum(preis) FROM items",
        "SELECT max(preis) FROM items",
        "SELECT 1 FROM items WHERE preis > 5",
    ] {
        assert_eq!(hints(euros, sql), "preis is read as numbers: '60,17' is 60.17", "{sql}");
    }
    check(euros, "SELECT sum(preis) AS n FROM items", r#"[{"n":68.67}]"#);
    check(euros, "SELECT preis FROM items ORDER BY preis LIMIT 1", r#"[{"preis":"1,5"}]"#);
    let grouped = r#"[{"p":"1.060,17"},{"p":"2.000,50"}]"#;
    check(grouped, "SELECT sum(p) AS n, max(p) AS m FROM items WHERE p > 5", r#"[{"n":3060.67,"m":2000.5}]"#);
    let units = r#"[{"size":"12 kg"},{"size":"3 kg"}]"#;
    assert_eq!(
        hints(units, "SELECT sum(size) FROM items"),
        "size is text that is no number ('12 kg'): use regexp_extract(size, '-?[0-9.]+')::numeric"
    );
    check(units, "SELECT sum(regexp_extract(size, '-?[0-9.]+')::numeric) AS n FROM items", r#"[{"n":15}]"#);
    assert_eq!(
        hints(units, "SELECT max(size) FROM items"),
        "size sorts as text ('12 kg' before '3 kg'): use regexp_extract(size, '-?[0-9.]+')::numeric"
    );
    let one_width = r#"[{"size":"12 kg"},{"size":"30 kg"}]"#;
    assert_eq!(hints(one_width, "SELECT max(size) FROM items"), "");
    let lists = r#"[{"scores":[1,2],"price":{"amount":3}},{"scores":[4],"price":{"amount":5}}]"#;
    let told = hints(lists, "SELECT avg(scores) FROM items");
    assert!(told.starts_with("scores has arrays; the elements of an array are rows of json_each"), "{told}");
    assert!(told.contains("json_each(items.scores)"), "{told}");
    assert_eq!(hints(lists, "SELECT sum(price) FROM items"), "price has objects: use price.amount");
    assert_eq!(hints(lists, "SELECT sum(price.amount) FROM items"), "");
}

#[test]
fn texts_of_functions_that_are_compared_with_numbers_are_told() {
    let days = r#"[{"d":"2020-05-01","c":"us"},{"d":"2021-06-01","c":null},{"d":"2021-07-01","c":"de"}]"#;
    for (call, text) in
        [("strftime('%Y', d)", "2021"), ("left(d, 4)", "2021"), ("to_char(d, 'YYYY')", "2021")]
    {
        let told = |condition: String| {
            let sql = format!("SELECT count(*) AS n FROM items WHERE {condition}");
            answer(days, &sql, &[]).expect(&sql).type_hints.join("; ")
        };
        for condition in [format!("{call} = 2021"), format!("{call} IN (5, 2021)"), format!("2021 <> {call}")]
        {
            let expect = format!(
                "{call} is the text '{text}', which equals no number: write '{text}' in place of 2021"
            );
            assert_eq!(told(condition.clone()), expect, "{condition}");
        }
        for condition in
            [format!("{call} < 2021"), format!("2021 > {call}"), format!("{call} BETWEEN 2019 AND 2022")]
        {
            let expect =
                format!("{call} is a text, which is greater than every number: write CAST({call} AS REAL)");
            assert_eq!(told(condition.clone()), expect, "{condition}");
        }
        for right in [format!("{call} = '2021'"), format!("{call} = 1999"), format!("{call} > 1999")] {
            assert_eq!(told(right.clone()), "", "{right}");
        }
    }
    check(days, "SELECT count(*) AS n FROM items WHERE year(d) = 2021", r#"[{"n":2}]"#);
    check(
        days,
        "SELECT count(*) AS n FROM items WHERE CAST(strftime('%Y', d) AS REAL) = 2021",
        r#"[{"n":2}]"#,
    );
    let hints = |sql: &str| answer(days, sql, &[]).expect(sql).type_hints.join("; ");
    assert_eq!(
        hints("SELECT count(*) FROM items WHERE c != NULL"),
        "c <> NULL is true for no row: write c IS NOT NULL"
    );
    assert_eq!(
        hints("SELECT count(*) FROM items WHERE lower(c) = 'US'"),
        "lower(c) is never 'US': write 'us'"
    );
}

#[test]
fn the_value_of_an_element_has_its_usual_name() {
    let tags =
        r#"[{"id":1,"tags":["a","b"],"own":[{"value":5},{"value":6}]},{"id":2,"tags":["a"],"own":[]}]"#;
    check(
        tags,
        "SELECT t.value AS tag, count(*) AS n FROM items, UNNEST(tags) AS t GROUP BY t.value ORDER BY 1",
        r#"[{"tag":"a","n":2},{"tag":"b","n":1}]"#,
    );
    check(tags, "SELECT sum(o.value) AS n FROM items, UNNEST(own) AS o", r#"[{"n":11}]"#);
}

#[test]
fn other_spellings_of_columns_are_read_as_them() {
    let guests = r#"[{"guestName":"Ann","price":{"total":5}},{"guestName":"Bob","price":{"total":7}}]"#;
    let result = |sql: &str| answer(guests, sql, &[]).map(|found| (found.json, found.type_hints.join("; ")));
    let named = |json: &str, hint: &str| Ok((json.to_owned(), hint.to_owned()));
    assert_eq!(
        result("SELECT guest_name, price_total FROM items WHERE price_total > 5"),
        named(
            r#"[{"guest_name":"Bob","price_total":7}]"#,
            "guest_name is read as guestName, price_total is read as price.total"
        )
    );
    assert_eq!(
        result("SELECT max(i.PriceTotal) AS most FROM items i"),
        named(r#"[{"most":7}]"#, "PriceTotal is read as price.total")
    );
    assert_eq!(
        result("SELECT guest FROM items LIMIT 1"),
        named(r#"[{"guest":"Ann"}]"#, "guest is read as guestName")
    );
    assert!(result("SELECT gues FROM items").is_err());
    let unclear = r#"[{"a_b":1,"aB":2}]"#;
    assert!(answer(unclear, "SELECT \"a-b\" FROM items", &[]).is_err());
    check(unclear, "SELECT ab_ FROM (SELECT 1 AS ab_)", r#"[{"ab_":1}]"#);
}

#[test]
fn dates_that_do_not_sort_as_texts_are_told() {
    let hints = |text: &str, sql: &str| answer(text, sql, &[]).expect(sql).type_hints.join("; ");
    let rows = r#"[{"d":"31/01/2024 10:00:00"},{"d":"01/02/2024 11:00:00"}]"#;
    let advice = "d sorts as text, not in the order of time ('31/01/2024 10:00:00'): use to_timestamp(d, 'DD/MM/YYYY HH24:MI:SS')";
    // The day is first in all rows, because it is over 12 in one.
    check(rows, "SELECT max(d) AS d FROM items", r#"[{"d":"01/02/2024 11:00:00"}]"#);
    let unclear = r#"[{"d":"05/01/2024 10:00:00"},{"d":"01/02/2024 11:00:00"}]"#;
    // Nothing tells which is first.
    let advice =
        format!("{}, or 'MM/DD/YYYY HH24:MI:SS': no value tells which", advice.replace("31/01", "05/01"));
    assert_eq!(hints(unclear, "SELECT max(d) FROM items"), advice);
    assert_eq!(hints(unclear, "SELECT d FROM items ORDER BY d"), advice);
    check(
        rows,
        "SELECT max(to_timestamp(d, 'DD/MM/YYYY HH24:MI:SS')) AS last FROM items",
        r#"[{"last":"2024-02-01 11:00:00"}]"#,
    );
    let line = |n: i32| {
        let month = if n > 15 { "Feb" } else { "Jan" };
        format!("{month} {:2} 10:00:00 host app: start {n}\n", n % 16 + 1)
    };
    let log = (1..=30).map(line).collect::<Vec<_>>().concat();
    assert_eq!(
        hints(&log, "SELECT min(time) FROM entries"),
        "time sorts as text, not in the order of time ('Jan  2 10:00:00'): use start_line"
    );
    assert_eq!(hints(r#"[{"d":"2024-01-31"}]"#, "SELECT max(d) FROM items"), "");
}

#[test]
fn texts_of_numbers_are_compared_and_sorted_as_numbers() {
    let rows = r#"[{"id":1,"q":"9","sub":{"q":"9"},"z":"02139"},{"id":2,"q":"120","sub":{"q":"120"},"z":"10115"},
        {"id":3,"q":"15.50","sub":{"q":"15.50"},"z":"02140"},{"id":4,"q":null,"z":null}]"#;
    for condition in [
        "q > 10",
        "10 < q",
        "q > '10'",
        "q BETWEEN 10 AND 200",
        "q IN (120, 15.5)",
        "ifnull(q, 0) > 10",
        "CASE WHEN q IS NULL THEN 0 ELSE q END > 10",
        "(q) > 10",
        "q > (SELECT min(q) FROM items)",
        "id IN (SELECT id FROM (SELECT id, q AS amount FROM items) WHERE amount > 10)",
        "id IN (SELECT id FROM (SELECT id, max(q) AS m FROM items GROUP BY id) WHERE m > 10)",
    ] {
        let sql = format!("SELECT id FROM items WHERE {condition} ORDER BY id");
        let answer = answer(rows, &sql, &[]).expect(&sql);
        assert_eq!(answer.json, r#"[{"id":2},{"id":3}]"#, "{condition}");
        assert!(answer.type_hints.is_empty(), "{condition}: {:?}", answer.type_hints);
    }
    check(
        rows,
        "SELECT q FROM items WHERE q > 0 ORDER BY q DESC",
        r#"[{"q":"120"},{"q":"15.50"},{"q":"9"}]"#,
    );
    check(
        rows,
        "SELECT max(q) AS most, min(q) AS least, sum(q) AS s FROM items",
        r#"[{"most":120,"least":9,"s":144.5}]"#,
    );
    check(
        rows,
        "SELECT id, rank() OVER (ORDER BY q DESC) AS r FROM items WHERE q IS NOT NULL ORDER BY r LIMIT 1",
        r#"[{"id":2,"r":1}]"#,
    );
    check(rows, "SELECT id FROM items WHERE z = '02139'", r#"[{"id":1}]"#);
    check(
        r#"[{"v":"1.0"},{"v":"1"},{"v":"1.0"}]"#,
        "SELECT v, count(*) AS n FROM items GROUP BY v ORDER BY v",
        r#"[{"v":"1","n":1},{"v":"1.0","n":2}]"#,
    );
}

#[test]
fn an_alias_is_not_read_as_another_spelling() {
    let rows = r#"[{"guestName":"g3","n":1}]"#;
    let error =
        answer(rows, "SELECT upper(guest_name) AS guest_name FROM items WHERE guest_name = 'g3'", &[]);
    assert_eq!(
        error.expect_err("an error").to_string(),
        "no such column: guest_name; did you mean guestName?"
    );
}

#[test]
fn points_stand_between_thousands_beside_decimal_commas() {
    let csv = "id;umsatz;preis\n1;1.000;60,17\n2;2.693;1,5\n3;7;0,125\n";
    check(csv, "SELECT umsatz FROM items", r#"[{"umsatz":"1.000"},{"umsatz":"2.693"},{"umsatz":"7"}]"#);
    check(csv, "SELECT sum(umsatz) AS n FROM items", r#"[{"n":3700}]"#);
    let hints = |sql: &str| answer(csv, sql, &[]).expect(sql).type_hints.join("; ");
    assert_eq!(hints("SELECT sum(umsatz) FROM items"), "umsatz is read as numbers: '1.000' is 1000");
    let small = "id;kg;eur\n1;0,000;1,5\n2;1,125;2,5\n3;10,750;3,5\n";
    check(small, "SELECT sum(kg) AS n FROM items", r#"[{"n":11.875}]"#);
    assert_eq!(hints("SELECT preis * 2 FROM items"), "preis is read as numbers: '60,17' is 60.17");
    check("id,v\n1,1.000\n2,2.500\n", "SELECT sum(v) AS n FROM items", r#"[{"n":3.5}]"#);
}

#[test]
fn dates_in_other_forms_are_told_where_they_are_compared() {
    let rows = r#"[{"d":"31.01.2024"},{"d":"01.02.2024"}]"#;
    let hints = |rows: &str, sql: &str| answer(rows, sql, &[]).expect(sql).type_hints.join("; ");
    for condition in ["d >= '01.02.2024'", "d BETWEEN '2024-02-01' AND '02.03.2024'", "d = '2024-02-01'"] {
        check(rows, &format!("SELECT d FROM items WHERE {condition}"), r#"[{"d":"01.02.2024"}]"#);
    }
    let python = r#"[{"t":"2024-03-01 10:00:00,123"}]"#;
    check(python, "SELECT date(t) AS d FROM items", r#"[{"d":"2024-03-01"}]"#);
    assert_eq!(hints(python, "SELECT date(t) FROM items"), "");
    assert_eq!(hints(python, "SELECT max(t) FROM items"), "");
    assert_eq!(hints(r#"[{"t":"1700000000"}]"#, "SELECT datetime(t, 'unixepoch') FROM items"), "");
    let seconds = r#"[{"t":1700000000}]"#;
    check(seconds, "SELECT date(t) AS d, year(t) AS y FROM items", r#"[{"d":"2023-11-14","y":2023}]"#);
    check(seconds, "SELECT date(t, 'unixepoch') AS d FROM items", r#"[{"d":"2023-11-14"}]"#);
    assert_eq!(hints(seconds, "SELECT date(to_timestamp(t)), date(t), year(t) FROM items"), "");
}

#[test]
fn orders_of_texts_that_mean_numbers_are_told() {
    let check = |values: &[&str], sql: &str, expect: &str| {
        let rows = values.iter().cycle().take(40).enumerate();
        let rows: Vec<String> =
            rows.map(|(id, value)| format!("{{\"id\":{id},\"v\":\"{value}\"}}")).collect();
        let answer = answer(&format!("[{}]", rows.join(",")), sql, &[]).expect("an answer");
        assert_eq!(answer.type_hints, [expect], "{sql}");
    };
    let restarts = ["0", "3", "12 (4h ago)", "105 (2m ago)", "7 (3d2h ago)"];
    let expect = "v is text; 24 values are no number ('12 (4h ago)'): use split_part(v, ' ', 1)::numeric";
    check(&restarts, "SELECT max(v) FROM items", expect);
    check(&restarts, "SELECT id FROM items ORDER BY v DESC LIMIT 1", expect);
    check(
        &["450ms", "2.5s", "1m3s", "12s"],
        "SELECT max(v) FROM items",
        "v sorts as text ('1m3s' before '2.5s')",
    );
    check(
        &["45s", "5m", "3d2h", "2y10d"],
        "SELECT count(*) FROM items WHERE v > '1d'",
        "v sorts as text ('2y10d' before '3d2h')",
    );
    let expect = "v is text; 20 values are no number ('unavailable'): use v::numeric";
    check(&["unavailable", "21.5", "19.0", "unknown"], "SELECT max(v) FROM items", expect);
}

#[test]
fn rows_of_a_text_are_sorted_with_numbers_first_and_a_hint() {
    let rows: Vec<String> = (1..=30).map(|n| format!("{n},{n}")).collect();
    let csv = format!("id,price\n{}\n100,sold\n101,\n", rows.join("\n"));
    let snapshot = snapshot(&csv);
    let first_and_last = |sort: &str| {
        let sql =
            select_rows(&snapshot, &View::root(), Some("id"), Some(sort)).expect("a sort").expect("rows");
        let answer = asked(&snapshot, &sql, &[], &QueryLimits::default()).expect(&sql);
        assert_eq!(
            answer.type_hints,
            ["price is numbers and text; 1 value is no number ('sold'): use price::numeric"]
        );
        let rows: Vec<&str> = answer.json.trim_matches(['[', ']']).split(',').collect();
        [rows[0], rows[29], rows[30], rows[31]].join(" ")
    };
    assert_eq!(first_and_last("price desc"), r#"{"id":30} {"id":1} {"id":100} {"id":101}"#);
    assert_eq!(first_and_last("price"), r#"{"id":1} {"id":30} {"id":100} {"id":101}"#);
}

#[test]
fn amounts_are_added_up_as_people_write_them() {
    let csv = "id,kind,debit\n1,a,\"1,234.50\"\n2,b,20\n3,a,(4.50)\n4,b,\n";
    for sum in [
        "SUM(debit)",
        "SUM(COALESCE(debit, 0))",
        "SUM(CAST(debit AS REAL))",
        "SUM(debit::numeric)",
        "SUM(CASE WHEN id > 0 THEN debit END)",
        "AVG(NULLIF(debit, '')) * 3",
    ] {
        let sql = format!("SELECT {sum} AS n FROM items");
        let answer = answer(csv, &sql, &[]).expect(&sql);
        assert_eq!(answer.json, r#"[{"n":1250.0}]"#, "{sum}");
    }
    assert_eq!(
        answer(csv, "SELECT SUM(debit) FROM items", &[]).expect("an answer").type_hints,
        ["debit is read as numbers: '1,234.50' is 1234.5"]
    );
    check(csv, "SELECT sum(d) AS n FROM (SELECT debit AS d FROM items)", r#"[{"n":1250.0}]"#);
    check(csv, "SELECT count(*) AS n FROM items WHERE CAST(debit AS REAL) > 1000", r#"[{"n":1}]"#);
    let weights = "id,w\n1,5 kg\n2,7 kg\n3,x\n";
    let hints = |sql: &str| answer(weights, sql, &[]).expect(sql).type_hints.join("; ");
    let told =
        "3 texts are no numbers ('5 kg'): a sum or cast counts it as 0, by its first digits, or as NULL";
    assert_eq!(hints("SELECT sum(w::numeric) FROM items"), told);
}

#[test]
fn lengths_of_arrays_count_their_items() {
    let rows = r#"[{"tags":["a","b"],"t":"[x"},{"tags":[],"t":"é"}]"#;
    check(rows, "SELECT len(tags) AS n, length(t) AS c FROM items", r#"[{"n":2,"c":2},{"n":0,"c":1}]"#);
    check(rows, "SELECT count(*) AS n FROM items WHERE length(tags) = 0", r#"[{"n":1}]"#);
    check(
        "[{\"n\":12.5,\"i\":-7}]",
        "SELECT length(n) AS a, length(i) AS b FROM items",
        r#"[{"a":4,"b":2}]"#,
    );
}

#[test]
fn times_with_offsets_among_others_are_compared_as_times() {
    let rows = r#"[{"ts":"2024-05-01T11:00:00Z"},{"ts":"2024-05-01T13:00:00+02:00"},{"ts":"2024-05-01T12:30:00+02:00"}]"#;
    check(rows, "SELECT count(*) AS n FROM items WHERE ts <= '2024-05-01T11:00:00Z'", r#"[{"n":3}]"#);
    check(rows, "SELECT count(*) AS n FROM items WHERE ts < '2024-05-01T11:00:00Z'", r#"[{"n":1}]"#);
}

#[test]
fn dates_of_digits_are_dates() {
    let rows = r#"[{"d":20240131,"t":"20240229","n":20241301}]"#;
    check(
        rows,
        "SELECT year(d) AS y, month(t) AS m, d::date AS d FROM items",
        r#"[{"y":2024,"m":2,"d":"2024-01-31"}]"#,
    );
    check(rows, "SELECT year(n) AS y FROM items", r#"[{"y":1970}]"#);
}

#[test]
fn numbers_among_texts_of_numbers_are_found_by_both() {
    let rows = r#"[{"age":40},{"age":"40"},{"age":"9"},{"age":41}]"#;
    check(rows, "SELECT count(*) AS n FROM items WHERE age IN (40, 41)", r#"[{"n":3}]"#);
    check(rows, "SELECT count(*) AS n FROM items WHERE age = '40'", r#"[{"n":2}]"#);
    check(rows, "SELECT count(*) AS n FROM items WHERE age > 10", r#"[{"n":3}]"#);
    // Each row is shown as it is written.
    check(rows, "SELECT age FROM items WHERE age >= 40", r#"[{"age":40},{"age":"40"},{"age":41}]"#);
    check(rows, "SELECT age, count(*) AS n FROM items WHERE age = 40 GROUP BY age", r#"[{"age":40,"n":2}]"#);
}

#[test]
fn few_numbers_among_words_are_equal_in_every_position() {
    let rows = r#"[{"r":101},{"r":102},{"r":"103"},{"r":"Lobby"},{"r":"Lobby"},{"r":"Bar"},{"r":"Bar"},{"r":"103"},{"r":103},{"r":"105"},{"r":"Hall"},{"r":"Spa"}]"#;
    for (sql, expect) in [
        ("SELECT count(*) AS n FROM items WHERE r IN (SELECT r FROM items)", 12),
        ("SELECT count(*) AS n FROM items WHERE r NOT IN (SELECT r FROM items)", 0),
        ("SELECT count(*) AS n FROM items WHERE r = '103'", 3),
        ("SELECT count(*) AS n FROM items WHERE r = 103", 3),
        ("SELECT count(DISTINCT r) AS n FROM items", 8),
        ("SELECT max(n) AS n FROM (SELECT count(*) AS n FROM items GROUP BY r)", 3),
        ("SELECT count(*) AS n FROM items a JOIN items b ON a.r = b.r", 22),
    ] {
        check(rows, sql, &format!(r#"[{{"n":{expect}}}]"#));
    }
}

#[test]
fn numeric_dates_are_read_in_the_order_of_their_column() {
    for (rows, july) in [
        (r#"[{"d":"05/07/2024"},{"d":"31/01/2024"},{"d":"07/05/2024"}]"#, "05/07/2024"),
        (r#"[{"d":"05/07/2024"},{"d":"01/31/2024"},{"d":"07/05/2024"}]"#, "07/05/2024"),
        (r#"[{"d":"7/5/2024 6:30 PM"},{"d":"1/31/2024 12:05 AM"}]"#, "7/5/2024 6:30 PM"),
        (r#"[{"d":"20240705T183000Z"},{"d":"20240131T000500Z"}]"#, "20240705T183000Z"),
    ] {
        for condition in [
            "month(d) = 7",
            "d::date BETWEEN '2024-07-01' AND '2024-07-31'",
            "d >= '2024-07-01' AND d < '2024-08-01'",
            "date_trunc('month', d) = '2024-07-01'",
            "to_char(d, 'YYYY-MM') = '2024-07'",
        ] {
            let sql = format!("SELECT d FROM items WHERE {condition}");
            let found = answer(rows, &sql, &[]).expect(&sql);
            assert_eq!(found.json, format!(r#"[{{"d":"{july}"}}]"#), "{sql}");
            assert!(found.type_hints.is_empty(), "{sql}: {:?}", found.type_hints);
        }
    }
    let two_orders = r#"[{"a":"05/07/2024","b":"05/07/2024"},{"a":"31/01/2024","b":"01/31/2024"}]"#;
    check(two_orders, "SELECT month(a) AS m, month(b) AS n FROM items", r#"[{"m":7,"n":5},{"m":1,"n":1}]"#);
    let unclear = answer(two_orders, "SELECT month(a || '') AS m FROM items", &[]).expect("an answer");
    assert_eq!(unclear.json, r#"[{"m":null},{"m":1}]"#);
    assert_eq!(unclear.type_hints, ["1 text is no date ('05/07/2024'): it is read as NULL"]);
}

#[test]
fn texts_and_numbers_that_are_used_as_dates_or_conditions_are_told() {
    let rows = r#"[{"d":"2024-01-05","n":20240105,"s":"1704412800","e":1704412800,"m":1704412800000,"b":"yes"},
        {"d":"open","n":20240209,"s":"1707436800","e":1707436800,"m":1707436800000,"b":"no"},{"d":"2024-02-09","n":20240301,"s":"1709251200","e":1709251200,"m":1709251200000,"b":"yes"}]"#;
    let hints = |sql: &str| answer(rows, sql, &[]).expect(sql).type_hints.join("; ");
    for (sql, told) in [
        ("SELECT max(d) FROM items", "d has dates and text ('open'): use d::date"),
        ("SELECT count(*) FROM items WHERE d >= '2024-01-06'", "d has dates and text ('open'): use d::date"),
        ("SELECT d::date AS d FROM items", "1 text is no date ('open'): it is read as NULL"),
        (
            "SELECT count(*) FROM items WHERE b",
            "b is text, which is neither true nor false: compare it with a value such as 'yes', 'no'",
        ),
        (
            "SELECT sum(CASE WHEN b = true THEN 1 END) FROM items",
            "b is text, which is neither true nor false: compare it with a value such as 'yes', 'no'",
        ),
        (
            "SELECT count(*) FILTER (WHERE NOT b) FROM items",
            "b is text, which is neither true nor false: compare it with a value such as 'yes', 'no'",
        ),
    ] {
        assert_eq!(hints(sql), told, "{sql}");
    }
    check(rows, "SELECT max(d::date) AS d FROM items", r#"[{"d":"2024-02-09"}]"#);
    for column in ["n", "s", "e", "m"] {
        for (condition, count) in [
            (format!("{column} < '2024-02-01'"), 1),
            (format!("{column} BETWEEN '2024-01-05' AND '2024-02-09'"), 2),
            (format!("to_timestamp({column}) < '2024-02-01'"), 1),
            (format!("date({column}) = '2024-02-09'"), 1),
            (format!("strftime('%Y-%m', {column}) = '2024-03'"), 1),
            (format!("{column} >= date('2024-02-09')"), 2),
            (format!("{column} IN (SELECT max({column}) FROM items WHERE {column} < '2024-03-01')"), 1),
        ] {
            let sql = format!("SELECT count(*) AS n FROM items WHERE {condition}");
            let found = answer(rows, &sql, &[]).expect(&sql);
            assert_eq!((found.json, found.type_hints), (format!(r#"[{{"n":{count}}}]"#), vec![]), "{sql}");
        }
        check(
            rows,
            &format!("SELECT count(*) AS n FROM items a HAVING max({column}) > '2024-02-20'"),
            r#"[{"n":3}]"#,
        );
    }
    let versions = "id,v\n1,1.10\n2,1.1\n3,1.9\n";
    check(versions, "SELECT id FROM items WHERE v = 1.10", r#"[{"id":1}]"#);
    check(versions, "SELECT id FROM items WHERE v IN (1.1, 1.9) ORDER BY id", r#"[{"id":2},{"id":3}]"#);
}

#[test]
fn versions_are_sorted_by_their_parts() {
    let rows = r#"[{"v":"1.10.0","w":"3.9"},{"v":"1.9.0","w":"3.11"},{"v":"1.10.1","w":"4.1"}]"#;
    let hints = |sql: &str| answer(rows, sql, &[]).expect(sql).type_hints.join("; ");
    let parts = "CAST(split_part(w, '.', 1) AS INTEGER), CAST(split_part(w, '.', 2) AS INTEGER)";
    let told = format!("w sorts as text ('3.11' before '3.9'): use {parts}");
    for sql in
        ["SELECT max(w) FROM items", "SELECT w FROM items ORDER BY w", "SELECT w FROM items WHERE w > '3.5'"]
    {
        assert_eq!(hints(sql), told, "{sql}");
    }
    let sorted = format!("SELECT w FROM items ORDER BY {parts}");
    check(rows, &sorted, r#"[{"w":"3.9"},{"w":"3.11"},{"w":"4.1"}]"#);
    assert_eq!(hints(&sorted), "");
    assert!(
        hints("SELECT max(v) FROM items").starts_with("v sorts as text ('1.10.1' before '1.9.0'): use CAST(")
    );
    assert_eq!(hints("SELECT w FROM items WHERE w = '3.9'"), "");
    let hint = |values: &[&str]| {
        let rows: Vec<String> = values.iter().map(|value| format!(r#"{{"v":"{value}"}}"#)).collect();
        answer(&format!("[{}]", rows.join(",")), "SELECT max(v) FROM items", &[])
            .expect("an answer")
            .type_hints
            .join("")
    };
    let tags =
        "v sorts as text ('v12.1' before 'v9.2'): use CAST(split_part(ltrim(v, 'v'), '.', 1) AS INTEGER), ";
    assert!(hint(&["v9.2", "v12.1"]).starts_with(tags));
    assert_eq!(hint(&["9.2.0", "12.1.0-beta.1"]), "v sorts as text ('12.1.0-beta.1' before '9.2.0')");
    assert!(hint(&["1.2GB", "15KB", "900MB"]).starts_with("v has values of several units"));
    let one_width = r#"[{"v":"1.2"},{"v":"1.4"},{"v":"1.2.3"}]"#;
    assert!(answer(one_width, "SELECT max(v) FROM items", &[]).expect("an answer").type_hints.is_empty());
}

#[test]
fn columns_of_tables_at_paths_are_kept_with_the_result() {
    let records =
        |count: usize| (0..count).map(|n| format!(r#"{{"n":{n},"s":"s{n}"}}"#)).collect::<Vec<_>>().join(",");
    let shared =
        snapshot(&format!(r#"{{"items":[{}],"other":{{"rows":[{}]}}}}"#, records(300), records(200)));
    let kept = |sql: &str| {
        asked(&shared, sql, &[], &QueryLimits::default()).expect(sql);
        shared.derived().byte_count()
    };
    let items = kept("SELECT sum(n), max(s) FROM items");
    let both = kept("SELECT sum(a.n), (SELECT sum(n) FROM items('/other/rows')) FROM items a");
    assert!(both > items);
    // Other statements and other tables decode nothing anew.
    for sql in [
        "SELECT sum(n) + 1 FROM items('/other/rows')",
        "SELECT count(n), max(s) FROM items",
        "SELECT sum(n) FROM items('/other/rows') WHERE n > 5",
    ] {
        assert_eq!(kept(sql), both, "{sql}");
    }
    let listed = asked(&shared, "SHOW TABLES", &[], &QueryLimits::default()).expect("tables").json;
    assert!(!listed.contains("/other"), "{listed}");
}

#[test]
fn codes_are_found_by_the_numbers_that_are_written_for_them() {
    let rows = r#"[{"zip":"94105","id":"12345678901234567890","v":"1.10"},{"zip":"02139","id":"12345678901234567891","v":"1.9"}]"#;
    for (condition, count) in
        [("zip = 94105", 1), ("zip IN (94105, 1)", 1), ("v = '1.10'", 1), ("v IN ('1.9', '1.1')", 1)]
    {
        check(
            rows,
            &format!("SELECT count(*) AS n FROM items WHERE {condition}"),
            &format!(r#"[{{"n":{count}}}]"#),
        );
    }
    for condition in [
        "zip = 2139",
        "zip = 02139",
        "zip IN (2139, 5)",
        "zip NOT IN (94105)",
        "zip <> 94105",
        "zip = 2139.0",
        "CASE zip WHEN 2139 THEN 1 END",
        "zip IN (SELECT 2139)",
        "id = 12345678901234567891",
        "id IN (12345678901234567891, 5)",
    ] {
        let answer = answer(rows, &format!("SELECT zip FROM items WHERE {condition}"), &[]).expect(condition);
        assert_eq!(answer.json, r#"[{"zip":"02139"}]"#, "{condition}");
        assert!(answer.type_hints.is_empty(), "{condition}: {:?}", answer.type_hints);
    }
    let bound =
        answer(rows, "SELECT zip FROM items WHERE zip = :zip", &[("zip", "2139")]).expect("an answer");
    assert_eq!(bound.json, r#"[{"zip":"02139"}]"#);
}

#[test]
fn a_code_is_found_by_the_number_that_only_it_is_written_for() {
    let check_counts = |rows: &str, counts: &[(&str, usize)]| {
        for (condition, count) in counts {
            let sql = format!("SELECT count(*) AS n FROM items WHERE {condition}");
            check(rows, &sql, &format!(r#"[{{"n":{count}}}]"#));
        }
    };
    // Both spellings occur, so that they are two values.
    let both = r#"[{"c":"01005"},{"c":"1005"},{"c":"007"},{"c":"07"},{"c":"008"},{"c":"N/A"}]"#;
    check_counts(
        both,
        &[("c = 1005", 1), ("c = '01005'", 1), ("c = 7", 0), ("c IN (8, 9)", 1), ("c = 'N/A'", 1)],
    );
    let zips = r#"[{"z":"94105"},{"z":"01005"}]"#;
    let sorted = answer(zips, "SELECT z FROM items ORDER BY z", &[]).expect("an answer");
    assert_eq!((sorted.json.as_str(), sorted.type_hints.len()), (r#"[{"z":"01005"},{"z":"94105"}]"#, 0));
    let floats = r#"[{"c":"012"},{"c":"12.0"},{"c":"x"}]"#;
    check(floats, "SELECT count(*) AS n FROM items a JOIN items b ON a.c = b.c", r#"[{"n":3}]"#);
    check(both, "SELECT count(DISTINCT c) AS n FROM items", r#"[{"n":6}]"#);
    check(both, "SELECT count(*) AS n FROM items a JOIN items b ON a.c = b.c", r#"[{"n":6}]"#);
    let phones = r#"[{"p":"+1 212-555-1234"},{"p":"(212) 555-1235"},{"p":"212-555-1236"},{"p":"2024-0017"}]"#;
    check_counts(
        phones,
        &[
            ("p = 12125551234", 1),
            ("p IN (2125551235, 2125551236)", 2),
            ("p = 20240017", 0),
            ("p NOT IN (2125551235)", 3),
            ("p < '2'", 2),
        ],
    );
    let joined = r#"{"people":[{"zip":"01005"},{"zip":"02139"},{"zip":"94105"}],"towns":[{"zip":1005},{"zip":94105}]}"#;
    for on in ["a.zip = b.zip", "b.zip = a.zip", "a.zip IN (b.zip)"] {
        let sql = format!("SELECT a.zip FROM people a JOIN towns b ON {on} ORDER BY a.zip");
        check(joined, &sql, r#"[{"zip":"01005"},{"zip":"94105"}]"#);
    }
    check(joined, "SELECT count(*) AS n FROM people WHERE zip IN (SELECT zip FROM towns)", r#"[{"n":2}]"#);
    check(joined, "SELECT count(*) AS n FROM towns WHERE zip IN (SELECT zip FROM people)", r#"[{"n":2}]"#);
    let map =
        r#"{"a":{"x":{"s":"A"}},"map":{"007":{"n":1,"s":"x"},"012":{"n":2,"s":"y"},"13":{"n":3,"s":"z"}}}"#;
    check(map, "SELECT n FROM map WHERE _key IN (7, 13, 99) ORDER BY n", r#"[{"n":1},{"n":3}]"#);
    check(joined, "SELECT path FROM leaves WHERE value = 2139", r#"[{"path":"/people/1/zip"}]"#);
    let csv = "id,zip\n1,01005\n2,94105\n3,\n";
    check(csv, "SELECT id FROM items WHERE zip = 1005", r#"[{"id":1}]"#);
}

#[test]
fn expressions_of_codes_that_are_compared_with_numbers_are_told() {
    let rows = r#"[{"zip":"01005","n":1005,"d":{"id":"7"}},{"zip":"94105","n":2,"d":{"id":"8"}},{"zip":null,"n":3,"d":null}]"#;
    let hints = |sql: &str| answer(rows, sql, &[]).expect(sql).type_hints.join("; ");
    for expression in [
        "ifnull(zip, 0)",
        "coalesce(zip, n)",
        "nullif(zip, '')",
        "CASE WHEN zip IS NULL THEN 0 ELSE zip END",
        "trim(zip)",
        "zip || ''",
        "(SELECT trim(zip))",
    ] {
        for sql in [
            format!("SELECT count(*) FROM items WHERE {expression} = 1005"),
            format!("SELECT sum(CASE WHEN {expression} IN (5, 1005) THEN 1 ELSE 0 END) FROM items"),
            format!("SELECT CASE {expression} WHEN 1005 THEN 1 END AS x FROM items"),
            format!("WITH a AS (SELECT {expression} AS z FROM items) SELECT count(*) FROM a WHERE z <> 1005"),
        ] {
            let told = hints(&sql);
            assert!(
                told.ends_with(
                    " is the text '01005', which equals no number: write '01005' in place of 1005"
                ),
                "{sql}: {told}"
            );
        }
        assert_eq!(hints(&format!("SELECT count(*) FROM items WHERE {expression} = '01005'")), "");
        assert_eq!(hints(&format!("SELECT count(*) FROM items WHERE {expression} = 77")), "");
    }
    let told = hints("SELECT n FROM items GROUP BY n HAVING max(zip) = 94105");
    assert_eq!(told, "max(zip) is the text '94105', which equals no number: write '94105' in place of 94105");
    let told = hints("SELECT count(*) FROM items WHERE item ->> '$.n' = '1005'");
    assert_eq!(told, "item ->> '$.n' is a number, which equals no text: write 1005 without quotes");
    let bound = answer(rows, "SELECT count(*) FROM items WHERE trim(zip) = :zip", &[("zip", "94105")]);
    assert_eq!(bound.expect("an answer").type_hints.len(), 1);
    check(rows, "SELECT count(*) AS n FROM items a JOIN items b ON trim(a.zip) = b.n", r#"[{"n":1}]"#);
}

#[test]
fn numbers_that_are_sorted_as_texts_of_expressions_are_told() {
    let rows = r#"[{"p":"8.50","d":"9%","o":{"n":"9"}},{"p":"49.50","d":"29%","o":{"n":"10"}},{"p":"7.25","d":"7%","o":{"n":"8"}}]"#;
    let hints = |sql: &str| answer(rows, sql, &[]).expect(sql).type_hints.join("; ");
    let told = "rtrim(d, '%') sorts as text ('29' before '9'): write CAST(rtrim(d, '%') AS REAL)";
    assert_eq!(hints("SELECT max(rtrim(d, '%')) FROM items"), told);
    assert_eq!(hints("SELECT p FROM items ORDER BY rtrim(d, '%') DESC"), told);
    assert!(hints("SELECT max(item ->> '$.p') FROM items").starts_with("item ->> '$.p' sorts as text"));
    assert_eq!(
        hints("WITH a AS (SELECT rtrim(d, '%') AS n FROM items) SELECT max(n) FROM a"),
        "n sorts as text ('29' before '9'): write CAST(n AS REAL)"
    );
    for right in [
        "SELECT max(p), max(o.n) FROM items",
        "SELECT max(CAST(rtrim(d, '%') AS REAL)) FROM items",
        "SELECT p AS q FROM items ORDER BY q",
        "SELECT count(*) AS n FROM items GROUP BY p ORDER BY n DESC",
        "SELECT max(substr(p, 1, 1)) FROM items",
    ] {
        assert_eq!(hints(right), "", "{right}");
    }
}

#[test]
fn values_of_leaves_are_equal_as_they_are_written() {
    let leaves = r#"{"versions":["1.10","1.1","1.9"],"v":[{"n":"329.5"},{"n":"99.5"}],"zip":"02139"}"#;
    let count = |condition: &str| {
        let sql = format!("SELECT count(*) AS n FROM leaves WHERE {condition}");
        let found = answer(leaves, &sql, &[]).expect(&sql);
        (found.json, found.type_hints.len())
    };
    let one = |hints| (r#"[{"n":1}]"#.to_owned(), hints);
    for condition in [
        "value = '1.1'",
        "value = '1.10'",
        "value = 329.5",
        "value IN (99.5, 7)",
        "value > 100 AND typeof(value) <> 'text'",
    ] {
        assert_eq!(count(condition), one(0), "{condition}");
    }
    for condition in ["value = '329.5'", "value = 2139"] {
        assert_eq!(count(condition), (r#"[{"n":0}]"#.to_owned(), 1), "{condition}");
    }
    check(leaves, "SELECT max(value) AS v FROM leaves WHERE key = 'n'", r#"[{"v":329.5}]"#);
    check(leaves, "SELECT value FROM leaves WHERE key = 'n' LIMIT 1", r#"[{"value":"329.5"}]"#);
    // Empty arrays and objects are leaves too.
    let empty = r#"{"a":[],"b":{},"ids":[{"id":"101","cost":3.0},{"id":"102","cost":10.50}]}"#;
    check(empty, "SELECT path FROM leaves WHERE value = '101'", r#"[{"path":"/ids/0/id"}]"#);
    check(empty, "SELECT value FROM leaves WHERE path IN ('/a', '/b')", r#"[{"value":[]},{"value":{}}]"#);
}

#[test]
fn texts_of_booleans_are_booleans() {
    let rows = r#"[{"id":1,"ok":"true"},{"id":2,"ok":"false"},{"id":3,"ok":"true"},{"id":4,"ok":null}]"#;
    for condition in ["ok", "ok = true", "ok IS TRUE", "NOT ok = false", "ok IN (1)"] {
        check(rows, &format!("SELECT id FROM items WHERE {condition} ORDER BY id"), r#"[{"id":1},{"id":3}]"#);
    }
    check(
        rows,
        "SELECT ok, count(*) AS n FROM items WHERE ok IS NOT NULL GROUP BY ok",
        r#"[{"ok":"false","n":1},{"ok":"true","n":2}]"#,
    );
    check(rows, "SELECT sum(ok) AS n FROM items", r#"[{"n":2}]"#);
    let typed = rows.replace("\"true\"", "true").replace("\"false\"", "false");
    check(
        &typed,
        "SELECT ok, count(*) n FROM items GROUP BY ok ORDER BY n, ok",
        r#"[{"ok":null,"n":1},{"ok":false,"n":1},{"ok":true,"n":2}]"#,
    );
    check(&typed, "SELECT max(ok) a, ok + 1 b FROM items", r#"[{"a":1,"b":2}]"#);
    check(&typed, "SELECT ok FROM items WHERE id = 1 UNION SELECT 5 ORDER BY 1", r#"[{"ok":1},{"ok":5}]"#);
    for rows in [rows, &typed] {
        for condition in [
            "ok = 'true'",
            "ok = 'TRUE'",
            "ok IN ('true', 'x')",
            "ok NOT IN ('false')",
            "ok <> 'false'",
            "'true' = ok",
            "ok = '1'",
            "ok = 1.0",
            "CASE ok WHEN 'true' THEN 1 END",
            "(SELECT o FROM (SELECT id AS i, ok AS o FROM items) WHERE i = id AND o = 'true')",
            "ok IN ('true', 1, 5, 7)",
            "lower(ok) = 'true'",
            "ok LIKE 'True'",
            "ok ILIKE 'true'",
            "ok NOT LIKE 'false'",
            "CAST(ok AS TEXT) = 'true'",
            "ok::text <> 'false'",
            "ok = true",
            "ok IS 'true'",
            "ok IS NOT 'false' AND ok IS NOT NULL",
            "ok IS NOT DISTINCT FROM 'true'",
            "ok",
            "ok IN (SELECT ok FROM items WHERE ok = 'true')",
        ] {
            let answer = answer(rows, &format!("SELECT id FROM items WHERE {condition} ORDER BY id"), &[]);
            let answer = answer.expect(condition);
            assert_eq!(answer.json, r#"[{"id":1},{"id":3}]"#, "{condition}");
            assert!(answer.type_hints.is_empty(), "{condition}");
        }
        check(rows, "SELECT count(*) AS n FROM items WHERE ok IN ('true', 'false')", r#"[{"n":3}]"#);
        check(rows, "SELECT count(*) AS n FROM items a JOIN items b ON a.ok = b.ok", r#"[{"n":5}]"#);
        check(rows, "SELECT sum(ok) AS n FROM items", r#"[{"n":2}]"#);
        let bound = answer(rows, "SELECT count(*) AS n FROM items WHERE ok = :ok", &[("ok", "true")]);
        assert_eq!(bound.expect("an answer").json, r#"[{"n":2}]"#);
    }
}

#[test]
fn columns_keep_the_texts_of_their_numbers() {
    let rows = r#"[{"id":"100","p":"0.12345678901234567","e":"60,17"},{"id":"9","p":"0.5","e":"1.060,00"}]"#;
    check(
        rows,
        "SELECT * FROM items WHERE id > 50",
        r#"[{"id":"100","p":"0.12345678901234567","e":"60,17"}]"#,
    );
    check(
        rows,
        "WITH a AS (SELECT id AS i FROM items) SELECT i, i + 1 AS j FROM a ORDER BY i",
        r#"[{"i":"9","j":10},{"i":"100","j":101}]"#,
    );
    check(rows, "SELECT max(id) AS n, max(e) AS e FROM items", r#"[{"n":100,"e":1060.0}]"#);
    check(
        rows,
        "SELECT name, kind FROM fields WHERE table_name = 'items' AND name = 'id'",
        r#"[{"name":"id","kind":"number in text"}]"#,
    );
    let leaves = r#"{"a":[{"v":"329.5"},{"v":"99.5"}],"version":"1.10","b":{"version":"1.9"}}"#;
    check(leaves, "SELECT max(value) AS v FROM leaves WHERE key = 'v'", r#"[{"v":329.5}]"#);
    check(
        leaves,
        "SELECT value AS v FROM leaves WHERE key = 'v' ORDER BY value DESC LIMIT 1",
        r#"[{"v":"329.5"}]"#,
    );
}

#[test]
fn versions_stay_texts_and_floats_are_numbers() {
    let rows = r#"[{"v":"3.9","f":"0.5"},{"v":"3.11","f":"12.25"},{"v":"3.12","f":"7.05"}]"#;
    check(rows, "SELECT count(*) AS n FROM items WHERE typeof(v) = 'text'", r#"[{"n":3}]"#);
    check(rows, "SELECT count(DISTINCT v) AS n FROM items WHERE v IN ('3.9', 3.11)", r#"[{"n":2}]"#);
    check(rows, "SELECT max(f) AS f, sum(f > 7) AS n FROM items", r#"[{"f":12.25,"n":2}]"#);
    check("id,p\n1,3.5\n2,12.25\n", "SELECT max(p) AS p FROM items", r#"[{"p":12.25}]"#);
}

#[test]
fn codes_of_joined_results_are_found_by_numbers() {
    let people = r#"[{"zip":"01005"},{"zip":"94105"}]"#;
    for (towns, both) in [(r#"[{"zip":1005},{"zip":2}]"#, 1), (r#"[{"zip":"01005"},{"zip":"1"}]"#, 1)] {
        for on in ["items.zip = b.zip", "b.zip = items.zip", "items.zip = b.zip AND b.zip = 1005"] {
            let sql = format!("SELECT count(*) AS n FROM items JOIN b ON {on}");
            let answer = answer_joined(people, &[("b", towns)], &sql).expect(on);
            assert_eq!(answer.json, format!(r#"[{{"n":{both}}}]"#), "{on} {towns}");
        }
    }
}

#[test]
fn texts_for_missing_values_are_null_among_numbers_and_times() {
    let rows = r#"[{"v":"9","d":"2024-01-05"},{"v":".","d":"N/A"},{"v":"100","d":"2024-02-01"}]"#;
    let csv = "v,d\n9,2024-01-05\n.,N/A\n100,2024-02-01\n";
    for text in [rows, csv] {
        check(
            text,
            "SELECT max(v) > 99 AS a, avg(v) AS b, max(d) AS c FROM items",
            r#"[{"a":1,"b":54.5,"c":"2024-02-01"}]"#,
        );
        check(text, "SELECT count(*) AS n FROM items WHERE v > 10", r#"[{"n":1}]"#);
        check(text, "SELECT count(*) AS n FROM items WHERE v <> '.'", r#"[{"n":2}]"#);
        check(text, "SELECT count(*) AS n FROM items WHERE v IS NULL AND d IS NULL", r#"[{"n":1}]"#);
        let told = answer(text, "SELECT count(*) AS n FROM items WHERE v = '.'", &[]).expect("an answer");
        assert_eq!(told.type_hints, ["'.' is NULL in v: write v IS NULL"]);
    }
    check(r#"[{"v":"N/A"},{"v":"none"}]"#, "SELECT count(*) AS n FROM items WHERE v = 'N/A'", r#"[{"n":1}]"#);
}

#[test]
fn rows_with_more_values_than_columns_are_told() {
    let csv = "id,name,v\n1,a,10\n2,Smith, John,20\n3,c,30\n4,d,40\n5,e,50\n6,f,60\n7,g,70\n8,h,80\n9,i,90\n10,j,100\n";
    let told = answer(csv, "SELECT count(*) FROM items WHERE v > 15", &[]).expect("an answer").type_hints;
    assert_eq!(told, ["1 row has more values than columns, so values may be in other columns: see lines"]);
    let found = answer(csv, "SELECT count(*) AS n FROM lines", &[]).expect("an answer");
    assert!(found.type_hints.is_empty());
}

#[test]
fn a_header_that_is_repeated_is_no_row() {
    let page = "id,name,v\n1,a,10\n2,b,20\n";
    check(&format!("{page}{page}"), "SELECT count(*) AS n, sum(v) AS s FROM items", r#"[{"n":4,"s":60}]"#);
    check("id,name\nid,name\n", "SELECT count(*) AS n FROM lines", r#"[{"n":2}]"#);
}

#[test]
fn cells_keep_the_zeros_at_their_end() {
    let csv = "id,price\n1753000020.001000,12.50\n1753000021.000000,3.00\n";
    check(csv, "SELECT * FROM items LIMIT 1", r#"[{"id":1753000020.001000,"price":12.50}]"#);
    check(csv, "SELECT price FROM items WHERE id = '1753000021.000000'", r#"[{"price":3.00}]"#);
    check(csv, "SELECT sum(price) AS s FROM items", r#"[{"s":15.5}]"#);
}

#[test]
fn counts_of_less_than_all_rows_are_told() {
    let hints = |text: &str, sql: &str| answer(text, sql, &[]).expect(sql).type_hints.join("; ");
    let count = "SELECT count(*) FROM items";
    let runs = r#"{"runs":[{"tool":"x","results":[{"a":1},{"a":2}]}]}"#;
    assert_eq!(hints(runs, count), "items has one row; the elements of results are items('*/results')");
    assert_eq!(hints(runs, "SELECT tool FROM items"), "");
    let page = |n: usize| format!("## Page {n}\n\n| id | v |\n|---|---|\n| {n} | 1 |\n| {n} | 2 |\n\n");
    let pages = format!("# All\n\n{}{}", page(1), page(2));
    assert_eq!(hints(&pages, count), "items is table_1; other lists are table_2");
    assert_eq!(hints(&page(1), count), "");
}

#[test]
fn orders_of_texts_that_are_not_those_of_what_they_mean_are_told() {
    for (a, b) in [("1:02:11", "58:45"), ("PT10M", "PT2M"), ("12h 5m", "5h 52m"), ("07:28 AM", "12:10 AM")] {
        let rows = format!(r#"[{{"t":"{a}"}},{{"t":"{b}"}}]"#);
        let told = answer(&rows, "SELECT max(t) FROM items", &[]).expect("an answer").type_hints;
        assert_eq!(told, [format!("t sorts as text ('{a}' before '{b}')")]);
    }
}

#[test]
fn functions_of_sqlite_read_times_of_all_forms() {
    // Text of a column, its day and its hour.
    for (times, day, hour) in [
        (["2023:12:29 20:17:22", "2023:12:30 01:00:00"], "2023-12-29", "20"),
        (["29-DEC-23 08.17.22.000000000 PM", "30-DEC-23 01.00.00.000000000 AM"], "2023-12-29", "20"),
        (["December 29th, 2023", "December 30th, 2023"], "2023-12-29", "00"),
        (["20231229201722", "20231230010000"], "2023-12-29", "20"),
        (["1703881042000000000", "1703898000000000000"], "2023-12-29", "20"),
        (["2005", "2006"], "2005-01-01", "00"),
    ] {
        let rows = format!(r#"[{{"id":1,"t":"{}"}},{{"id":2,"t":"{}"}}]"#, times[0], times[1]);
        let numbers = rows.replace(r#""t":""#, r#""t":"#).replace("\"}", "}");
        let is_number = times[0].bytes().all(|b| b.is_ascii_digit());
        for rows in std::iter::once(&rows).chain(is_number.then_some(&numbers)) {
            check(
                rows,
                "SELECT date(t) d, strftime('%H', t) h, year(t) y FROM items WHERE id = 1",
                &format!(r#"[{{"d":"{day}","h":"{hour}","y":{}}}]"#, &day[..4]),
            );
            check(rows, "SELECT id FROM items ORDER BY t DESC LIMIT 1", r#"[{"id":2}]"#);
        }
    }
    let log = "2024-01-30 22:00:00,100 INFO a started\n".repeat(3)
        + &"2024-01-31 01:00:00,200 ERROR b failed\n".repeat(4);
    check(
        &log,
        "SELECT date(time) d, count(*) n FROM entries GROUP BY 1",
        r#"[{"d":"2024-01-30","n":3},{"d":"2024-01-31","n":4}]"#,
    );
    let closed = r#"[{"id":1,"created":"01/20/2024","closed":null},{"id":2,"created":"02/03/2024","closed":"12/25/2024"}]"#;
    for condition in [
        "coalesce(closed, created) >= '2024-06-01'",
        "coalesce(closed, created) = '12/25/2024'",
        "date(CASE WHEN closed IS NULL THEN created ELSE closed END) > '2024-06-01'",
    ] {
        check(closed, &format!("SELECT id FROM items WHERE {condition}"), r#"[{"id":2}]"#);
    }
}

#[test]
fn members_of_elements_that_are_compared_as_they_are_written_are_told() {
    let line = |n: usize| {
        format!(r#"{{"sku":"S{n}","amount":"${n}2.50","qty":"{n}","at":"0{n}/2{n}/2024","ts":170000000{n}}}"#)
    };
    let rows = format!(r#"[{{"id":1,"lines":[{},{}],"v":[5,"9999.0"]}}]"#, line(2), line(3));
    let hints = |what: &str| {
        let sql = format!("SELECT {what} FROM items, UNNEST(lines) AS l, json_each(v) AS e");
        answer(&rows, &sql, &[]).expect(&sql).type_hints.join("; ")
    };
    let told = |member: &str, what: &str| {
        format!("l.{member} is compared as it is written: in items('*/lines'), {member} is a {what}")
    };
    assert_eq!(hints("sum(l.amount)"), told("amount", "number"));
    assert_eq!(hints("count(*) FILTER (WHERE l.qty >= '10')"), told("qty", "number"));
    assert_eq!(hints("count(CASE WHEN l.at >= '2024-02-01' THEN 1 END)"), told("at", "time"));
    assert_eq!(hints("count(CASE WHEN l.ts >= '2024-02-01' THEN 1 END)"), told("ts", "time"));
    assert_eq!(hints("max(e.value)"), "e.value has texts: use e.value::numeric");
    for what in ["l.sku, l.amount", "count(CASE WHEN l.sku >= 'S3' THEN 1 END)", "max(l.ts)"] {
        assert_eq!(hints(what), "", "{what}");
    }
    let tags = r#"[{"id":1,"tags":[{"Key":"env","Value":"prod"}]}]"#;
    check(tags, "SELECT g.Value AS v FROM items, UNNEST(tags) g WHERE g.Key = 'env'", r#"[{"v":"prod"}]"#);
}

#[test]
fn computed_times_are_compared_as_times() {
    // Days in the order of the ids: 2023-12-30, 2024-03-09, 2025-01-02, 2025-02-10.
    for days in [
        ["12/30/2023", "03/09/2024", "01/02/2025", "02/10/2025"],
        ["30.12.2023", "09.03.2024", "02.01.2025", "10.02.2025"],
        ["Dec 30, 2023", "Mar 09, 2024", "Jan 02, 2025", "Feb 10, 2025"],
    ] {
        let row = |(at, day): (usize, &&str)| {
            format!(r#"{{"id":{at},"g":"c{}","d":"{day}","m":{{"d":"{day}"}}}}"#, at % 2)
        };
        let rows = format!("[{}]", days.iter().enumerate().map(row).collect::<Vec<_>>().join(","));
        for (sql, expect) in [
            ("SELECT g, max(d) AS last FROM items GROUP BY g ORDER BY last DESC LIMIT 1", "c1"),
            ("SELECT g, max(d) FROM items GROUP BY g ORDER BY 2 DESC LIMIT 1", "c1"),
            (
                "WITH m AS (SELECT g, max(d) AS last FROM items GROUP BY g) SELECT g FROM m WHERE last >= '2025-02-01'",
                "c1",
            ),
            ("SELECT g FROM items GROUP BY g HAVING max(d) > '2025-02-01'", "c1"),
            ("SELECT arg_max(g, d) AS g FROM items WHERE id < 3", "c0"),
            ("SELECT g FROM items ORDER BY CASE WHEN id > 0 THEN d END DESC LIMIT 1", "c1"),
            ("SELECT g FROM items WHERE coalesce(d, DATE '2020-01-01') > DATE '2025-02-01'", "c1"),
            ("SELECT g FROM items WHERE greatest(d, '2025-02-01') > '2025-02-01'", "c1"),
            ("SELECT g FROM items WHERE m ->> 'd' > '2025-02-01'", "c1"),
            ("SELECT g FROM items WHERE date(json_extract(m, '$.d')) > '2025-02-01'", "c1"),
        ] {
            let found = answer(&rows, sql, &[]).expect(sql).json;
            assert!(
                found.starts_with(&format!("[{{\"g\":\"{expect}\"")) && !found.contains("},{"),
                "{sql}: {found}"
            );
        }
        check(&rows, "SELECT max(CASE WHEN id < 3 THEN d END) AS d FROM items", r#"[{"d":"2025-01-02"}]"#);
    }
    let digits = r#"[{"id":20240199,"s":20240130,"e":20240205},{"id":20240200,"s":20231230,"e":20240102}]"#;
    check(digits, "SELECT e - s AS n FROM items", r#"[{"n":6},{"n":3}]"#);
    check(digits, "SELECT max(id) - min(id) AS n FROM items", r#"[{"n":1}]"#);
}

#[test]
fn numbers_with_fractions_are_divided_as_such() {
    let rows = r#"[{"id":1,"rate":10,"n":7},{"id":2,"rate":12.5,"n":7}]"#;
    check(
        rows,
        "SELECT id, rate / 100 AS r, n / 2 AS h FROM items",
        r#"[{"id":1,"r":0.1,"h":3},{"id":2,"r":0.125,"h":3}]"#,
    );
    check(rows, "SELECT sum(n * rate / 100) AS s FROM items", r#"[{"s":1.575}]"#);
    let costs = "id,cost\n1,USD -300.00\n2,USD 995.50\n";
    check(costs, "SELECT sum(cost) AS s FROM items", r#"[{"s":695.5}]"#);
    let mixed = r#"[{"p":"$5.00"},{"p":"€7.50"}]"#;
    for sql in [
        "WITH t AS (SELECT p AS q FROM items) SELECT sum(q) FROM t",
        "SELECT sum(CASE WHEN p IS NOT NULL THEN p END) FROM items",
        "SELECT max(abs(coalesce(p, 0))) FROM items",
    ] {
        let hints = answer(mixed, sql, &[]).expect(sql).type_hints.join("; ");
        assert!(hints.contains("several units"), "{sql}: {hints}");
    }
    check(r#"[{"id":1,"errors":[]}]"#, "SELECT count(*) AS n FROM items('*/errors')", r#"[{"n":0}]"#);
}

#[test]
fn columns_of_two_kinds_and_rows_of_totals_are_told() {
    let hints = |text: &str, sql: &str| answer(text, sql, &[]).expect(sql).type_hints.join("; ");
    let licenses =
        r#"[{"id":1,"license":"MIT"},{"id":2,"license":{"type":"MIT"}},{"id":3,"license":{"type":"ISC"}}]"#;
    assert_eq!(
        hints(licenses, "SELECT id FROM items WHERE license.type = 'MIT'"),
        "license is a text in other rows: add OR license = …"
    );
    let mixed = r#"[{"id":1,"n":5,"on":true},{"id":2,"n":[1],"on":{"a":1}},{"id":3,"n":7,"on":false}]"#;
    assert!(hints(mixed, "SELECT max(n) FROM items").starts_with("n has arrays, too"));
    assert!(
        hints(mixed, "SELECT id FROM items WHERE \"on\"")
            .contains("has objects, too, which are not true here")
    );
    let times = r#"[{"t":"2024-01-05"},{"t":1704412800},{"t":"2024-02-01"}]"#;
    assert!(
        hints(times, "SELECT 1 FROM items WHERE t > '2024-01-06'").starts_with("t has numbers beside times")
    );
    let rows: Vec<String> = (1..=6).map(|n| format!("r{n},{n}0")).collect();
    let report = format!("name,sum\n{}\ntotal,210\n", rows.join("\n"));
    assert_eq!(
        hints(&report, "SELECT sum(\"sum\") AS s FROM items"),
        "sum of the last row is the sum of the others: add WHERE _index < 6"
    );
}
