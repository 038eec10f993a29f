//! Measures queries on lists of 12 MB and more, the first time and again: `cargo bench -p portion-sql`.

#[path = "../../../portion-core/benches/figures/measure.rs"]
mod measure;
#[expect(dead_code, reason = "one of several samples is asked here")]
#[path = "../../../portion-core/benches/figures/samples.rs"]
mod samples;
#[path = "../../../portion-core/benches/figures/table.rs"]
mod table;

use std::fmt::Write as _;

use portion_core::payload::{Block, Content, Payload};
use portion_core::snapshot::{Snapshot, capture};
use portion_core::view::View;
use portion_sql::{JoinedResult, QueryLimits, SqlQuery, query_joined};

/// Bytes of a list; a record has some 1.4 KB.
const BYTES: usize = 12_000_000;
/// Columns of the lists that are joined, one for each type of key.
const KEYS: [&str; 6] = ["whole", "digits", "fraction", "decimals", "word", "time"];

fn main() {
    let mut table = table::Table::default();
    let list = of(samples::schools(BYTES));
    for (sql, first, again) in [
        ("SELECT count(*) FROM items", "", ""),
        ("SELECT status, count(*) FROM items GROUP BY status", "40 ms", "5 ms"),
        (
            "SELECT address.state, avg(enrollment.toteth) FROM items GROUP BY 1 ORDER BY 2 DESC",
            "40 ms",
            "5 ms",
        ),
        ("SELECT school_name, staff.teachers FROM items WHERE charter AND status = 'open' LIMIT 20", "", ""),
        ("SELECT school_name FROM items WHERE school_name LIKE '%academy%'", "", ""),
        ("SELECT school_name FROM items WHERE school_name REGEXP '^San .*\\d7$'", "", ""),
        ("SELECT school_name FROM items WHERE ncessch = '010000700017'", "", "1 ms"),
        ("SELECT ncessch FROM items ORDER BY enrollment.toteth DESC LIMIT 10", "", "2 ms"),
        ("SELECT item FROM items ORDER BY enrollment.toteth DESC LIMIT 10", "", "2 ms"),
        ("SELECT item ->> '$.staff.aides' AS aides, count(*) FROM items GROUP BY 1", "", ""),
        ("SELECT count(*) FROM items a JOIN items b ON a.ncessch = b.ncessch", "", ""),
        ("SELECT name, kind, present FROM fields", "", ""),
        ("SELECT no_such FROM items", "", ""),
    ] {
        add(&mut table, (&list, None), sql, (first, again));
    }
    add_memory(&mut table, "columns of 12 MB, in bytes of the payload", &list);
    let (left, right) = (of(keyed(9_000)), of(keyed(9_000)));
    for key in KEYS {
        let sql = format!("SELECT count(*) FROM items a JOIN b ON a.{key} = b.{key}");
        add(&mut table, (&left, Some(&right)), &sql, ("60 ms", "60 ms"));
    }
    let large = of(keyed(75_000));
    for key in ["fraction", "digits"] {
        let sql = format!("SELECT count(*) FROM items a JOIN b ON a.{key} = b.{key} AND a.whole >= 0");
        add(&mut table, (&large, Some(&large)), &sql, ("500 ms", "500 ms"));
    }
    let csv = of(rows(67_000));
    for sql in [
        "SELECT city, count(*), avg(price) FROM items GROUP BY city",
        "SELECT id, price FROM items WHERE price > 400 AND city = 'Faro' ORDER BY price DESC LIMIT 10",
        "SELECT date_trunc('month', day) AS m, sum(price) FROM items GROUP BY m",
    ] {
        add(&mut table, (&csv, None), sql, ("", "50 ms"));
    }
    add_memory(&mut table, "columns of 67,000 rows of CSV, in bytes of the payload", &csv);
    let log = of(samples::log(BYTES));
    for sql in [
        "SELECT level, count(*) FROM entries GROUP BY level",
        "SELECT number FROM lines WHERE text LIKE '%worker-7]%deadbe%'",
    ] {
        add(&mut table, (&log, None), sql, ("", ""));
    }
    table.print();
}

fn of(text: String) -> Snapshot {
    let block = Block::new("/content/0/text", Content::Text(text));
    capture(Payload { blocks: vec![block], ..Payload::default() })
}

/// Returns records of 1.3 KB with a key of each type.
fn keyed(count: usize) -> String {
    let fill = "lorem ipsum dolor ".repeat(66);
    let mut text = String::from("[");
    for n in 0..count {
        let (day, hour) = (1 + n / 24 % 28, n % 24);
        let year = 1990 + n / 672;
        let comma = if n > 0 { "," } else { "" };
        let _ = write!(
            text,
            "{comma}{{\"whole\":{n},\"digits\":\"{n}\",\"fraction\":{n}.25,\"decimals\":\"{n}.25\",\"word\":\"key-{n}\",\
             \"time\":\"{year}-03-{day:02}T{hour:02}:00:00Z\",\"text\":\"{fill}\"}}"
        );
    }
    text.push(']');
    text
}

/// Returns rows of CSV.
fn rows(count: usize) -> String {
    let mut text = String::from("id,city,price,day,name\n");
    for n in 0..count {
        let city = ["Faro", "Porto", "Lisboa", "Braga"][n % 4];
        let _ = writeln!(
            text,
            "{n},{city},{}.5,2024-{:02}-{:02},Guest {}",
            n * 7 % 500,
            1 + n % 12,
            1 + n % 28,
            n % 900
        );
    }
    text
}

fn ask((snapshot, joined): (&Snapshot, Option<&Snapshot>), sql: &str) -> String {
    let view = View::root();
    let others: Vec<JoinedResult<'_>> =
        joined.iter().map(|snapshot| JoinedResult { name: "b", snapshot, view: &view }).collect();
    match query_joined(snapshot, &view, &others, &SqlQuery { sql, params: &[] }, &QueryLimits::default()) {
        Ok(answer) => format!("{} rows", answer.row_count),
        Err(error) => error.code().name().to_owned(),
    }
}

/// Adds the time of a statement whose columns are not decoded yet, and the time of the next ones.
fn add(
    table: &mut table::Table,
    (snapshot, joined): (&Snapshot, Option<&Snapshot>),
    sql: &str,
    (first, again): (&str, &str),
) {
    let took = measure::median_of(5, || ask((&snapshot.clone(), joined.cloned().as_ref()), sql));
    let answered = ask((snapshot, joined), sql);
    let shown: String = sql.chars().take(60).collect();
    table.add(&shown, first, format!("{} ({answered})", measure::told(took)));
    let took = measure::median_of(7, || ask((snapshot, joined), sql));
    table.add("  again", again, measure::told(took));
}

/// Adds the bytes that are kept once all columns were used.
fn add_memory(table: &mut table::Table, title: &str, snapshot: &Snapshot) {
    ask((snapshot, None), "SELECT * FROM items ORDER BY 1");
    let share = snapshot.derived().byte_count() as f64 / snapshot.payload_bytes() as f64;
    table.add(title, "≤ 0.5", format!("{share:.2}"));
}
