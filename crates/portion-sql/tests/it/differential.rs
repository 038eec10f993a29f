//! Compares answers with those of SQLite over the same data, which another loader put into tables with types.
//!
//! Values are generated with their types, and written into the payload in the forms that servers send: numbers, booleans and
//! times in texts. So the loader knows the types, and the crate has to find them.

use portion_core::snapshot::Snapshot;
use portion_sql::QueryLimits;
use rusqlite::Connection;
use rusqlite::types::Value as SqlValue;
use serde_json::Value;

use crate::common::{asked, snapshot};

/// Statements of an ordinary run; `DIFFERENTIAL_STATEMENTS` sets another number.
const STATEMENTS: usize = 520;
const STATEMENTS_PER_TABLE: usize = 40;

/// A generator of numbers, by the method `SplitMix64`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, max: usize) -> usize {
        (self.next() % max as u64) as usize
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// The form of a column in the payload.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Integer,
    Real,
    IntegerText,
    PriceText,
    FloatText,
    CommaText,
    Boolean,
    BooleanText,
    Word,
    Version,
    ShortVersion,
    Zip,
    Phone,
    LongId,
    IsoDate,
    IsoTime,
    OffsetTime,
    ZoneTime,
    LogTime,
    DottedDate,
}

const NUMBERS: [Form; 8] = [
    Form::Integer,
    Form::Real,
    Form::IntegerText,
    Form::PriceText,
    Form::FloatText,
    Form::CommaText,
    Form::Boolean,
    Form::BooleanText,
];
const TEXTS: [Form; 6] =
    [Form::Word, Form::Version, Form::ShortVersion, Form::Zip, Form::Phone, Form::LongId];
const TIMES: [Form; 6] =
    [Form::IsoDate, Form::IsoTime, Form::OffsetTime, Form::ZoneTime, Form::LogTime, Form::DottedDate];
/// Names of columns, among them units of time and reserved words.
const NAMES: [&str; 10] = ["day", "end", "order", "total", "group", "month", "a_b", "hour", "from", "x"];

/// A value with its text in the payload.
#[derive(Clone, Debug)]
struct Cell {
    json: String,
    sql: SqlValue,
}

impl Form {
    fn value(self, random: &mut Random) -> Cell {
        let n = random.below(12) as i64;
        let cents = (random.below(40) * 25) as i64;
        let real = cents as f64 / 100.0;
        let text = |text: &str| SqlValue::Text(text.to_owned());
        let (json, sql) = match self {
            Self::Integer => (n.to_string(), SqlValue::Integer(n)),
            Self::Real => (format!("{n}.5"), SqlValue::Real(n as f64 + 0.5)),
            Self::IntegerText => (format!("\"{}\"", 95 + n), SqlValue::Integer(95 + n)),
            Self::PriceText => (format!("\"{real:.2}\""), SqlValue::Real(real)),
            Self::FloatText => {
                let real = (n as f64 + 1.0) / 7.0;
                (format!("\"{real}\""), SqlValue::Real(real))
            }
            Self::CommaText => {
                let written = format!("{},{:02}", 1 + cents / 100, cents % 100);
                (format!("\"{written}\""), SqlValue::Real(1.0 + real))
            }
            Self::Boolean => ((n % 2 == 0).to_string(), SqlValue::Integer(i64::from(n % 2 == 0))),
            Self::BooleanText => (format!("\"{}\"", n % 2 == 0), SqlValue::Integer(i64::from(n % 2 == 0))),
            Self::Word => {
                let word = ["ann", "Bob", "cleo", "d'or", "éva", "10 kg"][n as usize % 6];
                (format!("\"{word}\""), text(word))
            }
            Self::Version => {
                let version = ["1.9", "1.10", "1.2", "2.0", "2.10"][n as usize % 5];
                (format!("\"{version}\""), text(version))
            }
            Self::ShortVersion => {
                let version = ["3.9", "3.11", "3.12", "4.1"][n as usize % 4];
                (format!("\"{version}\""), text(version))
            }
            Self::Phone => {
                let phone = format!("(212) 555-01{n:02}");
                (format!("\"{phone}\""), text(&phone))
            }
            Self::LongId => {
                let id = format!("123456789012345678{}", 90 + n);
                (format!("\"{id}\""), text(&id))
            }
            Self::Zip => {
                let zip = format!("0{}", 2100 + n);
                (format!("\"{zip}\""), text(&zip))
            }
            // The loader has all times in one form.
            Self::IsoDate => {
                let date = format!("2024-01-{:02}", 1 + n);
                (format!("\"{date}\""), text(&date))
            }
            Self::IsoTime => {
                let time = format!("2024-01-{:02}T{:02}:00:00Z", 1 + n / 2, n % 2 * 12);
                (format!("\"{time}\""), text(&time))
            }
            Self::OffsetTime => {
                let day = 1 + n / 2;
                let written = if n % 2 == 0 {
                    format!("2024-01-{day:02}T02:30:00+02:00")
                } else {
                    format!("2024-01-{day:02}T12:00:00Z")
                };
                let hour = if n % 2 == 0 { "00:30" } else { "12:00" };
                (format!("\"{written}\""), text(&format!("2024-01-{day:02}T{hour}:00Z")))
            }
            Self::ZoneTime => {
                let day = 1 + n / 2;
                let (written, hour) = if n % 2 == 0 {
                    (format!("2024-01-{day:02}T12:00:00[Europe/Paris]"), 11)
                } else {
                    (format!("2024-01-{day:02} 12:00:00 America/New_York"), 17)
                };
                (format!("\"{written}\""), text(&format!("2024-01-{day:02}T{hour}:00:00Z")))
            }
            Self::LogTime => {
                let written = format!("Sun Jan {:02} 04:47:{:02} 2024", 1 + n, n);
                (format!("\"{written}\""), text(&format!("2024-01-{:02}T04:47:{n:02}Z", 1 + n)))
            }
            Self::DottedDate => {
                let written = format!("{:02}.01.2024", 10 + n);
                (format!("\"{written}\""), text(&format!("2024-01-{:02}", 10 + n)))
            }
        };
        Cell { json, sql }
    }

    /// Returns the type of the column for the loader.
    fn declared(self) -> &'static str {
        if NUMBERS.contains(&self) { "NUMERIC" } else { "TEXT" }
    }

    /// Returns a literal as a model writes it in a test of equality, and after a bar, how it is written for the loader.
    fn equal_literal(self, random: &mut Random) -> String {
        let cell = self.value(random);
        let (written, is_quoted) = match &cell.sql {
            SqlValue::Text(text) => (text.clone(), true),
            SqlValue::Integer(n) => (n.to_string(), false),
            _ => return self.literal(random),
        };
        let given = match self {
            Self::Zip => [written.trim_start_matches('0'), &written][random.below(2)].to_owned(),
            Self::Phone => written.chars().filter(char::is_ascii_digit).collect(),
            Self::LongId => written.clone(),
            Self::Boolean | Self::BooleanText => format!("'{}'", written == "1"),
            _ => return self.literal(random),
        };
        let loaded = if is_quoted { format!("'{written}'") } else { written };
        if random.below(3) == 0 { loaded } else { format!("⟦{given}|{loaded}⟧") }
    }

    /// Returns a literal as a model writes it.
    fn literal(self, random: &mut Random) -> String {
        let cell = self.value(random);
        let written = match cell.sql {
            SqlValue::Integer(n) => n.to_string(),
            SqlValue::Real(n) => format!("{n:?}"),
            SqlValue::Text(text) => return format!("'{}'", text.replace('\'', "''")),
            _ => "NULL".to_owned(),
        };
        // Numbers in texts are also written in quotes.
        if NUMBERS.contains(&self)
            && !matches!(self, Self::Boolean | Self::BooleanText)
            && random.below(3) == 0
        {
            format!("'{written}'")
        } else {
            written
        }
    }
}

/// Two tables with the same columns.
struct Tables {
    forms: Vec<(String, Form)>,
    snapshot: Snapshot,
    oracle: Connection,
}

fn tables(random: &mut Random) -> Tables {
    let mut names: Vec<&str> = NAMES.to_vec();
    let mut forms = Vec::new();
    for kinds in [&NUMBERS[..], &NUMBERS, &NUMBERS, &TEXTS, &TEXTS, &TIMES] {
        let name = names.remove(random.below(names.len()));
        forms.push((format!("\"{name}\""), *random.pick(kinds)));
    }
    let oracle = Connection::open_in_memory().expect("a database");
    let mut lists = Vec::new();
    for (table, rows) in [("items", 24 + random.below(60)), ("others", 6 + random.below(12))] {
        let declared: Vec<String> =
            forms.iter().map(|(name, form)| format!("{name} {}", form.declared())).collect();
        oracle
            .execute_batch(&format!("CREATE TABLE {table} (id INTEGER, {})", declared.join(", ")))
            .expect("a table");
        let mut records = Vec::new();
        for id in 0..rows {
            let mut members = vec![format!("\"id\":{id}")];
            let mut values = vec![SqlValue::Integer(id as i64)];
            for (name, form) in &forms {
                // Some values are missing, but not those of the first rows, by which lists are recognised.
                let cell = if id > 3 && random.below(9) == 0 {
                    Cell { json: "null".into(), sql: SqlValue::Null }
                } else {
                    form.value(random)
                };
                members.push(format!("{name}:{}", cell.json));
                values.push(cell.sql);
            }
            let places = vec!["?"; values.len()].join(", ");
            oracle
                .execute(
                    &format!("INSERT INTO {table} VALUES ({places})"),
                    rusqlite::params_from_iter(values),
                )
                .expect("a row");
            records.push(format!("{{{}}}", members.join(",")));
        }
        lists.push(format!("\"{table}\":[{}]", records.join(",")));
    }
    Tables { forms, snapshot: snapshot(&format!("{{{}}}", lists.join(","))), oracle }
}

impl Tables {
    fn column(&self, random: &mut Random, of: &[Form]) -> (String, Form) {
        let fitting: Vec<&(String, Form)> = self.forms.iter().filter(|(_, form)| of.contains(form)).collect();
        (*random.pick(&fitting)).clone()
    }

    fn any(&self, random: &mut Random) -> (String, Form) {
        random.pick(&self.forms).clone()
    }

    fn condition(&self, random: &mut Random) -> String {
        let (name, form) = self.any(random);
        let kind = random.below(11);
        let is_equality = matches!(kind, 0 | 1 | 2 | 7);
        let mut literal = || if is_equality { form.equal_literal(random) } else { form.literal(random) };
        let (a, b, c) = (literal(), literal(), literal());
        match kind {
            0 => format!("{name} = {a}"),
            1 => format!("{name} IN ({a}, {b}, {c})"),
            2 => format!("{name} NOT IN ({a}, {b})"),
            3 => format!("{name} < {a}"),
            4 => format!("{name} >= {a}"),
            5 => format!("{name} BETWEEN {a} AND {b}"),
            6 => format!("{name} IS NULL"),
            7 => format!("{name} <> {a}"),
            8 => format!("{name} IN (SELECT {name} FROM others)"),
            9 => format!("{name} NOT IN (SELECT {name} FROM others WHERE {name} IS NOT NULL)"),
            _ => format!("NOT ({name} = {a} OR {name} > {b})"),
        }
    }

    fn statement(&self, random: &mut Random) -> String {
        let (number, _) = self.column(random, &NUMBERS);
        let (key, form) = self.any(random);
        // The least text of a time is the written one, which the loader does not have.
        let shown = if TIMES.contains(&form) { "count(*)".to_owned() } else { format!("max({key})") };
        let (a, b) = (self.condition(random), self.condition(random));
        match random.below(16) {
            0 => format!("SELECT id FROM items WHERE {a} ORDER BY id"),
            1 => format!("SELECT id FROM items WHERE {a} AND {b} ORDER BY id"),
            2 => format!("SELECT id FROM items WHERE {a} OR {b} ORDER BY id DESC"),
            3 => format!(
                "SELECT {shown} AS k, count(*) AS n, sum({number}) AS s FROM items WHERE {a} GROUP BY {key} ORDER BY min(id)"
            ),
            4 => format!("SELECT count(DISTINCT {key}) AS n, count({key}) AS m FROM items WHERE {a}"),
            5 => format!(
                "SELECT max({number}) AS a, min({number}) AS b, avg({number}) AS c FROM items WHERE {a}"
            ),
            6 => format!("SELECT id FROM items ORDER BY {key}, id LIMIT 9"),
            7 => format!("SELECT id, {number} * 1 AS v FROM items WHERE {a} ORDER BY v DESC, id"),
            8 => format!("SELECT count(*) AS n FROM items a JOIN others b ON a.{key} = b.{key}"),
            9 => format!(
                "SELECT a.id AS i, b.id AS j FROM others b LEFT JOIN items a ON a.{key} = b.{key} ORDER BY 1, 2"
            ),
            10 => format!(
                "WITH w AS (SELECT id, {number} AS v FROM items WHERE {a}) SELECT sum(v) AS s, count(*) AS n FROM w WHERE v > 1"
            ),
            11 => format!(
                "SELECT id, row_number() OVER (ORDER BY {key}, id) AS r, sum({number}) OVER (PARTITION BY {key}) AS s FROM items ORDER BY id"
            ),
            12 => format!("SELECT sum(CASE WHEN {a} THEN 1 ELSE 0 END) AS n FROM items"),
            13 => format!(
                "SELECT count(*) FILTER (WHERE {a}) AS n, sum({number}) FILTER (WHERE {b}) AS s FROM items"
            ),
            14 => format!(
                "SELECT {shown} AS k, count(*) AS n FROM items GROUP BY {key} HAVING count(*) > 1 AND max(id) > 5 ORDER BY min(id)"
            ),
            _ => {
                format!("SELECT id FROM items WHERE {number} > (SELECT avg({number}) FROM items) ORDER BY id")
            }
        }
    }
}

/// Returns a statement with each `⟦given|loaded⟧` as it is given, or as it is written for the loader.
fn with_literals(sql: &str, is_given: bool) -> String {
    let mut parts = sql.split('⟦');
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (literals, rest) = part.split_once('⟧').expect("a closing bracket");
        let (given, loaded) = literals.split_once('|').expect("two literals");
        written.push_str(if is_given { given } else { loaded });
        written.push_str(rest);
    }
    written
}

/// Returns the rows of the oracle as JSON values.
fn expected(oracle: &Connection, sql: &str) -> Vec<Vec<Value>> {
    let mut statement = oracle.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let width = statement.column_count();
    let mut rows = statement.query([]).expect("rows");
    let mut found = Vec::new();
    while let Some(row) = rows.next().expect("a row") {
        let value = |at: usize| match row.get(at).expect("a value") {
            SqlValue::Integer(n) => Value::from(n),
            SqlValue::Real(n) => Value::from(n),
            SqlValue::Text(text) => Value::from(text),
            SqlValue::Null | SqlValue::Blob(_) => Value::Null,
        };
        found.push((0..width).map(value).collect());
    }
    found
}

fn is_equal(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        // Sums of floats depend on the order of the rows.
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0),
        _ => a == b,
    }
}

#[test]
fn differential_answers_are_those_of_sqlite_over_typed_tables() {
    let statements = std::env::var("DIFFERENTIAL_STATEMENTS").ok().and_then(|count| count.parse().ok());
    let statements: usize = statements.unwrap_or(STATEMENTS);
    let mut failures = Vec::new();
    for table in 0..statements.div_ceil(STATEMENTS_PER_TABLE) {
        let mut random = Random(table as u64);
        let tables = tables(&mut random);
        for _ in 0..STATEMENTS_PER_TABLE {
            let sql = tables.statement(&mut random);
            let expect = expected(&tables.oracle, &with_literals(&sql, false));
            let sql = with_literals(&sql, true);
            let answer = asked(&tables.snapshot, &sql, &[], &QueryLimits::default());
            let rows =
                answer.as_ref().map(|answer| serde_json::from_str::<Vec<Value>>(&answer.json).expect("JSON"));
            let is_right = rows.as_ref().is_ok_and(|rows| {
                rows.len() == expect.len()
                    && rows.iter().zip(&expect).all(|(row, expect)| {
                        let values: Vec<&Value> = row.as_object().expect("an object").values().collect();
                        values.len() == expect.len() && values.iter().zip(expect).all(|(a, b)| is_equal(a, b))
                    })
            });
            if !is_right {
                failures
                    .push(format!("table {table} {:?}\n  {sql}\n  {answer:?}\n  {expect:?}", tables.forms));
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {statements} statements differ:\n{}",
        failures.len(),
        failures[..failures.len().min(6)].join("\n")
    );
}

#[test]
fn comparisons_do_not_contradict_each_other() {
    for seed in 1_000..1_012 {
        let mut random = Random(seed);
        let tables = tables(&mut random);
        let count = |sql: &str| {
            let answer = asked(&tables.snapshot, sql, &[], &QueryLimits::default());
            let answer = answer.unwrap_or_else(|error| panic!("{sql}: {error}"));
            let rows: Vec<Value> = serde_json::from_str(&answer.json).expect("rows");
            rows[0]["n"].as_i64().unwrap_or_default()
        };
        for (name, form) in &tables.forms {
            let groups = format!(
                "SELECT sum(c * c) AS n FROM (SELECT count(*) AS c FROM items WHERE {name} IS NOT NULL GROUP BY {name})"
            );
            let pairs = count(&groups);
            assert_eq!(
                count(&format!("SELECT count(*) AS n FROM items a JOIN items b ON a.{name} = b.{name}")),
                pairs,
                "{name} {form:?}"
            );
            assert_eq!(
                count(&format!("SELECT count(*) AS n FROM items a, items b WHERE a.{name} IN (b.{name})")),
                pairs,
                "{name} {form:?}"
            );
            let distinct = count(&format!("SELECT count(DISTINCT {name}) AS n FROM items"));
            let listed = format!(
                "SELECT count(*) AS n FROM (SELECT DISTINCT {name} FROM items WHERE {name} IS NOT NULL)"
            );
            assert_eq!(count(&listed), distinct, "{name} {form:?}");
            let ranks = format!(
                "SELECT max(r) AS n FROM (SELECT dense_rank() OVER (ORDER BY {name}) AS r FROM items WHERE {name} IS NOT NULL)"
            );
            assert_eq!(count(&ranks), distinct, "{name} {form:?}");
            let all = count(&format!("SELECT count({name}) AS n FROM items"));
            let inside =
                format!("SELECT count(*) AS n FROM items WHERE {name} IN (SELECT {name} FROM items)");
            assert_eq!(count(&inside), all, "{name} {form:?}");
            let outside = format!(
                "SELECT count(*) AS n FROM items WHERE {name} NOT IN (SELECT {name} FROM items WHERE {name} IS NOT NULL)"
            );
            assert_eq!(count(&outside), 0, "{name} {form:?}");
            for _ in 0..4 {
                let literal = with_literals(&form.equal_literal(&mut random), true);
                let equal = count(&format!("SELECT count(*) AS n FROM items WHERE {name} = {literal}"));
                let others = count(&format!("SELECT count(*) AS n FROM items WHERE {name} <> {literal}"));
                let listed =
                    count(&format!("SELECT count(*) AS n FROM items WHERE {name} IN ({literal}, {literal})"));
                let between = count(&format!(
                    "SELECT count(*) AS n FROM items WHERE {name} BETWEEN {literal} AND {literal}"
                ));
                let cases = count(&format!("SELECT sum({name} = {literal}) AS n FROM items"));
                assert_eq!(
                    (listed, between, cases, others),
                    (equal, equal, equal, all - equal),
                    "{name} {form:?} {literal}"
                );
            }
        }
    }
}

#[test]
fn s5_the_same_question_has_one_answer() {
    use portion_core::find::{SearchQuery, find};
    use portion_core::view::View;

    let rows = r#"[{"u":"700017","t":"2024-01-05T00:00:00Z"},{"u":"800018","t":"2024-01-05T10:00:00Z"},
      {"u":"700017","t":"2024-01-04T00:00:00Z"},{"u":null,"t":null}]"#;
    let snapshot = snapshot(rows);
    let json = |sql: &str| asked(&snapshot, sql, &[], &QueryLimits::default()).expect(sql).json;
    for condition in [
        "u = '700017'",
        "u = 700017",
        "u IN ('700017', '9', '8')",
        "u IN (700017)",
        "u IN (SELECT u FROM items WHERE u < 800000)",
        "u NOT IN (SELECT u FROM items WHERE u > 700017)",
        "u < '800018'",
    ] {
        assert_eq!(
            json(&format!("SELECT count(*) AS n FROM items WHERE {condition}")),
            r#"[{"n":2}]"#,
            "{condition}"
        );
    }
    assert_eq!(
        json("SELECT u, count(*) AS n FROM items GROUP BY u HAVING n > 1"),
        r#"[{"u":"700017","n":2}]"#
    );
    assert_eq!(
        json("SELECT count(*) AS n FROM items a JOIN items b ON a.u = b.u AND a.u = '700017'"),
        r#"[{"n":4}]"#
    );
    assert_eq!(
        json("SELECT u FROM items WHERE u IS NOT NULL ORDER BY u DESC LIMIT 1"),
        r#"[{"u":"800018"}]"#
    );
    assert_eq!(find(&snapshot, &View::root(), &SearchQuery::new("700017")).expect("a search").match_count, 2);
    assert_eq!(json("SELECT count(*) AS n FROM items WHERE t <= '2024-01-05'"), r#"[{"n":2}]"#);
    assert_eq!(json("SELECT count(*) AS n FROM items WHERE t = '2024-01-05 01:00 CET'"), r#"[{"n":1}]"#);
}
