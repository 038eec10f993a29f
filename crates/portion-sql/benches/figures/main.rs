//! Measures queries on a list of 10,000 records, 12 MB: `cargo bench -p portion-sql`.

#[path = "../../../portion-core/benches/figures/measure.rs"]
mod measure;
#[expect(dead_code, reason = "one of several samples is asked here")]
#[path = "../../../portion-core/benches/figures/samples.rs"]
mod samples;
#[path = "../../../portion-core/benches/figures/table.rs"]
mod table;

use portion_core::payload::{Block, Content, Payload};
use portion_core::snapshot::{Snapshot, capture};
use portion_core::view::View;
use portion_sql::{QueryLimits, SqlQuery, query};

/// Bytes of the list; a record has some 1.4 KB.
const BYTES: usize = 12_000_000;

fn main() {
    let mut table = table::Table::default();
    let list = of(samples::schools(BYTES));
    for (sql, target) in [
        ("SELECT count(*) FROM items", ""),
        ("SELECT status, count(*) FROM items GROUP BY status", "150 ms"),
        ("SELECT address.state, avg(enrollment.toteth) FROM items GROUP BY 1 ORDER BY 2 DESC", "150 ms"),
        ("SELECT school_name, staff.teachers FROM items WHERE charter AND status = 'open' LIMIT 20", ""),
        ("SELECT school_name FROM items WHERE school_name LIKE '%academy%'", ""),
        ("SELECT school_name FROM items WHERE school_name REGEXP '^San .*\\d7$'", ""),
        ("SELECT item FROM items ORDER BY enrollment.toteth DESC LIMIT 10", ""),
        ("SELECT item ->> '$.staff.aides' AS aides, count(*) FROM items GROUP BY 1", ""),
        ("SELECT count(*) FROM items a JOIN items b ON a.ncessch = b.ncessch", ""),
        ("SELECT name, kind, present FROM fields", ""),
        ("SELECT no_such FROM items", ""),
    ] {
        add(&mut table, &list, sql, target);
    }
    let log = of(samples::log(BYTES));
    add(&mut table, &log, "SELECT level, count(*) FROM entries GROUP BY level", "");
    add(&mut table, &log, "SELECT number FROM lines WHERE text LIKE '%worker-7]%deadbe%'", "");
    table.print();
}

fn of(text: String) -> Snapshot {
    let block = Block::new("/content/0/text", Content::Text(text));
    capture(Payload { blocks: vec![block], ..Payload::default() })
}

fn add(table: &mut table::Table, snapshot: &Snapshot, sql: &str, target: &str) {
    let question = SqlQuery { sql, params: &[] };
    let limits = QueryLimits::default();
    let took = measure::median_of(7, || query(snapshot, &View::root(), &question, &limits));
    let answered = match query(snapshot, &View::root(), &question, &limits) {
        Ok(answer) => format!("{} rows", answer.row_count),
        Err(error) => error.code().name().to_owned(),
    };
    let shown: String = sql.chars().take(50).collect();
    table.add(&shown, target, format!("{} ({answered})", measure::told(took)));
}
