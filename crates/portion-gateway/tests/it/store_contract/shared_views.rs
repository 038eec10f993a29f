//! Every view of a result at another instance is the view at the instance that stored it.

use std::sync::Arc;
use std::time::Duration;

use portion_core::payload::Payload;
use portion_core::view::Request;
use portion_gateway::call::{Reply, SnapshotQuery};
use portion_gateway::store::{CachedStore, MemoryStore, StoreLimits};

use super::shared::RedisServer;
use crate::samples::trial::{Quarters, Trial, ada, next_cursor, portion};
use crate::samples::{list_bookings, text};

/// Pages followed one after another.
const STEPS: usize = 4;

fn instance(server: &RedisServer) -> Trial {
    let limits = StoreLimits { memory_bytes: 1 << 30, ttl: Duration::from_mins(10) };
    let store = CachedStore::new(MemoryStore::new(limits), Arc::new(server.open(&[[7; 32]], "names")));
    Trial::of(&Quarters, store)
}

/// Records with text of several bytes a character, escapes and a nested object, one in `long` longer than a block.
fn records(count: u32, long: u32) -> Vec<String> {
    let record = |id: u32| {
        let words = if id % long == long - 1 { 9_000 } else { id % 23 };
        format!(
            "{{\"id\":{id},\"name\":\"Gäst {id}\",\"price\":{},\"at\":{{\"city\":\"Wien\",\"zip\":[{id},1]}},\"note\":\"{}\"}}",
            id.wrapping_mul(2_654_435_761) % 9_973,
            "déjà \\n\\u00e9 ".repeat(words as usize),
        )
    };
    (0..count).map(record).collect()
}

fn lines(count: u32) -> String {
    let line = |n: u32| {
        let level = if n.is_multiple_of(50) { "ERROR" } else { "INFO" };
        format!(
            "2026-01-01T{:02}:{:02}:{:02}Z {level} request {n} took {} ms",
            n / 3600 % 24,
            n / 60 % 60,
            n % 60,
            n % 97
        )
    };
    (0..count).map(|n| line(n) + "\n").collect()
}

fn shapes() -> Vec<(&'static str, Payload)> {
    let list = records(8_000, 3_000);
    let keyed: Vec<String> = list.iter().enumerate().map(|(n, item)| format!("\"k{n}\":{item}")).collect();
    let rows: Vec<String> = (0..30_000).map(|n| format!("[{n},\"Guest {n}\",{}]", n % 89)).collect();
    let escaped = serde_json::to_string(&format!("[{}]", list.join(","))).expect("a string");
    vec![
        ("list", text(format!("[{}]", list.join(",")))),
        ("wrapped", text(format!("{{\"data\":{{\"items\":[{}],\"total\":8000}}}}", list.join(",\n  ")))),
        ("lines of JSON", text(list.join("\n"))),
        ("keyed", text(format!("{{{}}}", keyed.join(",")))),
        (
            "numbers",
            text(format!("[{}]", (0..200_000_u32).map(|n| n.to_string()).collect::<Vec<_>>().join(","))),
        ),
        ("table", text(format!("{{\"columns\":[\"id\",\"name\",\"price\"],\"rows\":[{}]}}", rows.join(",")))),
        (
            "nested",
            text(format!("{{\"a\":{{\"b\":{{\"c\":{{\"items\":[{}]}}}}}},\"total\":8}}", list.join(","))),
        ),
        ("string", text(format!("{{\"result\":{escaped}}}"))),
        ("log", text(lines(20_000))),
        ("one line", text("word ".repeat(200_000))),
    ]
}

/// Returns a reply without its cursors, which differ in their random bytes.
fn comparable(reply: Reply) -> String {
    match reply {
        Reply::Portion(portion) => {
            let mut all = format!("{:?} {:?} {}", portion.pieces(), portion.structured(), portion.notice());
            for cursor in [portion.start_cursor(), portion.next_cursor()].into_iter().flatten() {
                all = all.replace(cursor.as_str(), "CURSOR");
            }
            all
        }
        Reply::Fault(fault) => format!("fault {}", fault.code.name()),
        Reply::Untouched => "untouched".to_owned(),
    }
}

/// Fails with the first difference.
fn assert_same(here: &str, there: &str, case: &str) {
    let same = here.chars().zip(there.chars()).take_while(|(here, there)| here == there).count();
    let rest = |text: &str| text.chars().skip(same.saturating_sub(80)).take(300).collect::<String>();
    assert!(here == there, "{case}: at {same}: {}\nbut {}", rest(here), rest(there));
}

fn requests(cursor: &str) -> Vec<Request> {
    let ask = Request { cursor: Some(cursor.to_owned()), ..Request::default() };
    vec![
        ask.clone(),
        Request { limit: Some(7), ..ask.clone() },
        Request { max_tokens: Some(600), ..ask.clone() },
        Request { fields: Some("id,name".into()), ..ask.clone() },
        Request { path: Some("/items/3".into()), ..ask.clone() },
        Request { path: Some("/7000".into()), ..ask.clone() },
        Request { sort: Some("price desc".into()), ..ask.clone() },
        Request { page: Some(2), ..ask.clone() },
        Request { offset: Some(5_000), ..ask.clone() },
        Request { raw: true, ..ask.clone() },
        Request { start_line: Some(300), end_line: Some(310), ..ask },
    ]
}

fn queries() -> Vec<SnapshotQuery> {
    let sql = "SELECT count(*) AS n FROM items";
    vec![
        SnapshotQuery::Find { pattern: "777".into(), context: None, fields: None, keys: false },
        SnapshotQuery::Sql { sql: sql.into(), params: Vec::new(), with: Vec::new() },
    ]
}

#[tokio::test]
async fn every_view_is_the_same_at_another_instance() {
    let server = RedisServer::start();
    for (shape, payload) in shapes() {
        let one = instance(&server);
        let first = portion(one.fresh(list_bookings(), payload, Request::default()).await);
        let begin = next_cursor(&first).unwrap_or_else(|| panic!("{shape} is long"));
        let far = Request { cursor: Some(begin.clone()), page: Some(30), ..Request::default() };
        let far = match one.follow_as(ada(), far).await {
            Reply::Portion(page) => next_cursor(&page),
            _ => None,
        };
        assert!(one.gateway.flush_store(Duration::from_mins(1)));
        // It reads more and more of the result.
        let lasting = instance(&server);
        for cursor in [Some(begin), far].into_iter().flatten() {
            for request in requests(&cursor) {
                let here = comparable(one.follow_as(ada(), request.clone()).await);
                let (there, case) = (instance(&server), format!("{shape}: {request:?}"));
                assert_same(&here, &comparable(there.follow_as(ada(), request.clone()).await), &case);
                assert_same(
                    &here,
                    &comparable(lasting.follow_as(ada(), request).await),
                    &format!("{case}, once more"),
                );
            }
            for query in queries() {
                let here = comparable(one.ask(&cursor, query.clone()).await);
                let there = comparable(instance(&server).ask(&cursor, query.clone()).await);
                assert_same(&here, &there, &format!("{shape}: {query:?}"));
            }
            let (there, mut cursors) = (instance(&server), (cursor.clone(), cursor));
            for step in 0..STEPS {
                let (here, there) = (one.follow(cursors.0).await, there.follow(cursors.1).await);
                let (Reply::Portion(here), Reply::Portion(there)) = (here, there) else {
                    panic!("{shape}: step {step} fails")
                };
                let next = (next_cursor(&here), next_cursor(&there));
                assert_same(
                    &comparable(Reply::Portion(here)),
                    &comparable(Reply::Portion(there)),
                    &format!("{shape}: step {step}"),
                );
                let (Some(here), Some(there)) = next else { break };
                cursors = (here, there);
            }
        }
    }
}
