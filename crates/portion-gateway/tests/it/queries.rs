//! Tests of queries on snapshots: they never reach the upstream, their answers are shaped and stored like any
//! payload, and a failed query changes nothing.

use std::sync::Arc;
use std::time::Duration;

use portion_core::cursor::Scope;
use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::Policy;
use portion_core::render::Portion;
use portion_core::view::Request;
use portion_gateway::call::{Fault, SnapshotQuery};
use portion_tokens::TokenCounter as _;
use serde_json::{Value, json};

use crate::samples::trial::{Quarters, Trial, ada, fault, next_cursor, notice, portion, shown};
use crate::samples::{asking, bookings, create_order, list_bookings, text};

fn sql(statement: &str) -> SnapshotQuery {
    SnapshotQuery::Sql { sql: statement.into(), params: Vec::new(), with: Vec::new() }
}

fn find(pattern: &str) -> SnapshotQuery {
    SnapshotQuery::Find { pattern: pattern.into(), context: None, fields: None, keys: false }
}

fn at(cursor: &str) -> Request {
    Request { cursor: Some(cursor.into()), ..Request::default() }
}

fn handle(portion: &Portion) -> String {
    notice(portion)["meta"]["cursor"].as_str().expect("a handle").to_owned()
}

/// Stores a list with this number of items, and returns its cursor.
async fn stored_list(trial: &Trial, items: usize) -> String {
    handle(&portion(trial.fresh(create_order(), bookings(items), Request::default()).await))
}

fn rows(portion: &Portion) -> Value {
    serde_json::from_str(&shown(portion)).expect("an answer is JSON")
}

/// Returns the answer, asserting the number of matches.
fn answer(reply: portion_gateway::call::Reply, matches: usize) -> Portion {
    let portion = portion(reply);
    let meta = &notice(&portion)["meta"];
    assert_eq!(
        (portion.kind().name(), &meta["kind"], &meta["matches"]),
        ("query", &json!("query"), &json!(matches))
    );
    portion
}

#[tokio::test]
async fn an_answer_comes_from_a_snapshot_and_becomes_one() {
    let trial = Trial::new();
    let list = stored_list(&trial, 2_000).await;
    let counted =
        answer(trial.ask(&list, sql("SELECT status, count(*) AS n FROM items GROUP BY 1")).await, 1);
    assert_eq!(rows(&counted), json!([{"status": "confirmed", "n": 2_000}]));
    assert_eq!(notice(&counted)["meta"]["returned"], 1);
    assert_eq!(next_cursor(&counted), None);
    assert_eq!(trial.stats().snapshots, 2);
    assert_ne!(handle(&counted)[..11], list[..11], "its cursor is its own");
    let about = answer(trial.ask(handle(&counted), sql("SELECT n + 1 AS more FROM items")).await, 1);
    assert_eq!(rows(&about), json!([{"more": 2_001}]));
    let found = answer(trial.ask(&list, find("Guest 1234")).await, 1);
    assert_eq!(rows(&found)[0]["item"]["id"], 1_234);
}

/// Returns the texts of a reply, without cursors and the figures that depend on them.
fn told(reply: portion_gateway::call::Reply) -> (String, Value) {
    let portion = match reply {
        portion_gateway::call::Reply::Fault(fault) => {
            return (format!("{}: {}", fault.message, fault.advice), Value::Null);
        }
        reply => portion(reply),
    };
    let mut meta = notice(&portion)["meta"].clone();
    let of_cursors = ["cursor", "originalCursor", "estimatedTokens", "budgetUsed", "budgetRemaining", "next"];
    for name in of_cursors {
        meta.as_object_mut().expect("an object").remove(name);
    }
    (shown(&portion), meta)
}

#[tokio::test]
async fn a_first_call_with_a_query_is_a_call_and_a_query() {
    let log = "2026-01-01T00:00:00Z INFO a\n2026-01-01T00:00:01Z ERROR b\n".repeat(500);
    let payloads = [
        bookings(2_000),
        bookings(3),
        text("[]"),
        text(r#"{"items":[],"total":0}"#),
        text(r#"{"id":1,"lines":[{"n":1},{"n":2}]}"#),
        text("a,b\n1,2\n3,4\n".repeat(400)),
        text(log),
        text("Some words."),
        text(""),
    ];
    let queries = [
        sql("SELECT count(*) AS n FROM items"),
        sql("SELECT * FROM items LIMIT 2"),
        sql("SELECT level, count(*) FROM entries GROUP BY 1"),
        sql("SELECT no FROM where_"),
        sql("SELEC"),
        find("Guest 1"),
        find("/ERR\\w+/"),
        find("no such text"),
    ];
    let trial = Trial::new();
    for payload in payloads {
        for query in &queries {
            let request = asking(Request::default(), query.clone());
            let first = trial.fresh(list_bookings(), payload.clone(), request).await;
            let cursor = match &first {
                portion_gateway::call::Reply::Portion(portion) => {
                    notice(portion)["meta"]["originalCursor"].as_str().map(str::to_owned)
                }
                portion_gateway::call::Reply::Fault(fault) => fault.cursor.as_ref().map(ToString::to_string),
                portion_gateway::call::Reply::Untouched => None,
            };
            let cursor = cursor.expect("the answer has a cursor to the whole");
            assert_eq!(told(first), told(trial.ask(cursor, query.clone()).await), "{query:?}");
        }
    }
    let failed = Payload { is_error: true, ..text("no such booking") };
    let request = asking(Request::default(), sql("SELECT 1"));
    let reply = trial.fresh(list_bookings(), failed, request).await;
    assert!(matches!(reply, portion_gateway::call::Reply::Untouched), "an error is shown as it is");
}

#[tokio::test]
async fn the_record_of_a_first_query_has_the_size_of_the_result() {
    let trial = Trial::new();
    let payload = bookings(2_000);
    let request = asking(Request::default(), sql("SELECT count(*) AS n FROM items"));
    trial.fresh(list_bookings(), payload, request).await;
    let record = trial.records().remove(0);
    assert!(!record.follow_up && record.origin.is_some());
    assert_eq!((record.outcome.name(), record.total_items, record.items), ("queried", Some(2_000), Some(1)));
    assert!(record.original_bytes > 100_000, "{}", record.original_bytes);
}

#[tokio::test]
async fn kept_results_are_listed_for_their_caller() {
    let trial = Trial::new();
    for count in [100, 2_000] {
        trial.fresh(list_bookings(), bookings(count), Request::default()).await;
    }
    let listed = |json: String| serde_json::from_str::<Value>(&json).expect("JSON")["kept"].clone();
    let kept = listed(trial.gateway.list_kept(&trial.caller(ada())).await);
    assert_eq!(kept.as_array().map(Vec::len), Some(2));
    assert_eq!((&kept[0]["records"], &kept[1]["records"]), (&json!(2_000), &json!(100)));
    let cursor = kept[1]["cursor"].as_str().expect("a cursor");
    assert_eq!(
        rows(&answer(trial.ask(cursor, sql("SELECT count(*) AS n FROM items")).await, 1))[0]["n"],
        100
    );
    let of_bob = listed(trial.gateway.list_kept(&trial.caller(Scope::from_principal("bob"))).await);
    assert_eq!(of_bob, json!([]));
    trial.pass(Duration::from_mins(11));
    assert_eq!(listed(trial.gateway.list_kept(&trial.caller(ada())).await), json!([]));
}

#[tokio::test]
async fn a_long_answer_is_read_to_its_end() {
    let trial = Trial::new();
    let list = stored_list(&trial, 2_000).await;
    let query = || sql("SELECT id, \"guest.name\" AS guest FROM items ORDER BY id DESC");
    let mut page = answer(trial.ask(&list, query()).await, 2_000);
    assert_eq!(notice(&page)["totalCount"], 2_000);
    let middle = next_cursor(&page).expect("there is more");
    let mut ids = Vec::new();
    loop {
        let shown = rows(&page);
        ids.extend(shown.as_array().expect("rows").iter().filter_map(|row| row["id"].as_u64()));
        let Some(next) = next_cursor(&page) else { break };
        page = answer(trial.follow(next).await, 2_000);
    }
    assert!(ids.iter().copied().eq((0..2_000).rev()), "{ids:?}");
    let sum = answer(trial.ask(middle, sql("SELECT sum(id) AS sum FROM items")).await, 1);
    assert_eq!(rows(&sum), json!([{"sum": 1_999_000}]), "wherever a cursor stands, all of it is asked about");
    // The same query has the same answer, apart from cursors.
    let again = answer(trial.ask(&list, query()).await, 2_000);
    assert_eq!(shown(&again), shown(&answer(trial.ask(&list, query()).await, 2_000)));
}

#[tokio::test]
async fn two_results_are_joined() {
    let trial = Trial::new();
    let list = stored_list(&trial, 2_000).await;
    let join = |name: &str, cursor: &str, statement: &str| SnapshotQuery::Sql {
        sql: statement.into(),
        params: Vec::new(),
        with: vec![(name.to_owned(), cursor.to_owned())],
    };
    let some =
        handle(&answer(trial.ask(&list, sql("SELECT id, id * 2 AS twice FROM items WHERE id < 3")).await, 3));
    let statement = "SELECT items.id, b.twice FROM items JOIN b ON items.id = b.id";
    let joined = answer(trial.ask(&list, join("b", &some, statement)).await, 3);
    assert_eq!(rows(&joined), json!([{"id": 0, "twice": 0}, {"id": 1, "twice": 2}, {"id": 2, "twice": 4}]));
    let many = "SELECT a.id FROM b.items a JOIN items USING (id)";
    let page = answer(trial.ask(&some, join("b", &list, many)).await, 3);
    assert_eq!(rows(&page)[2], json!({"id": 2}));
    // The cursor of the other result is judged by the rules of every cursor.
    let forged = format!("{}{}", &some[..some.len() - 1], if some.ends_with('A') { "B" } else { "A" });
    for cursor in [forged.as_str(), "", "x"] {
        assert_eq!(fault(trial.ask(&list, join("b", cursor, statement)).await).code.name(), "cursor_invalid");
    }
    let bob = Scope::from_principal("bob");
    let foreign = trial.ask_as(bob, at(&list), join("b", &some, statement)).await;
    assert_eq!(fault(foreign).code.name(), "cursor_invalid");
    trial.pass(Duration::from_mins(6));
    let fresh = stored_list(&trial, 2_000).await;
    trial.pass(Duration::from_mins(6));
    assert_eq!(fault(trial.ask(&fresh, join("b", &some, statement)).await).code.name(), "cursor_expired");
}

#[tokio::test]
async fn an_unresolved_cursor_is_reported() {
    let trial = Trial::new();
    let list = stored_list(&trial, 2_000).await;
    let flipped = if list.ends_with('A') { "B" } else { "A" };
    for forged in [format!("{}{flipped}", &list[..list.len() - 1]), String::new(), "A".repeat(48)] {
        assert_eq!(fault(trial.ask(forged, sql("SELECT 1")).await).code.name(), "cursor_invalid");
    }
    let foreign = trial.ask_as(Scope::from_principal("bob"), at(&list), sql("SELECT 1")).await;
    assert_eq!(fault(foreign).code.name(), "cursor_invalid");
    assert_eq!(fault(trial.ask_for(Request::default(), find("x")).await).code.name(), "cursor_invalid");
    let read = answer(trial.ask(&list, sql("SELECT id FROM items")).await, 2_000);
    trial.pass(Duration::from_mins(10));
    for cursor in [list, handle(&read)] {
        let fault = fault(trial.ask(cursor, sql("SELECT 1")).await);
        assert_eq!((fault.code.name(), fault.cursor), ("cursor_expired", None));
        assert!(!fault.advice.contains("call create_order again"), "{}", fault.advice);
    }
}

#[tokio::test]
async fn an_invalid_query_is_reported_and_loses_nothing() {
    let trial = Trial::new();
    let list = stored_list(&trial, 2_000).await;
    let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";
    let cases: [(SnapshotQuery, &str, &str); 7] = [
        (sql("SELECT statsu FROM items"), "query_invalid", "status"),
        (sql("SELECT * FROM bookngs"), "query_invalid", "items"),
        (sql("DROP TABLE items"), "query_invalid", "SELECT"),
        (sql(""), "query_invalid", ""),
        (sql(endless), "query_too_costly", ""),
        (find("/(/"), "query_invalid", ""),
        (find(""), "query_invalid", ""),
    ];
    for (ask, code, named) in cases {
        let fault = fault(trial.ask(&list, ask.clone()).await);
        assert_eq!(fault.code.name(), code, "{ask:?}: {fault:?}");
        assert!(format!("{} {}", fault.message, fault.advice).contains(named), "{ask:?}: {fault:?}");
        let cursor = fault.cursor.expect("what was asked about is kept");
        answer(trial.ask(&cursor, sql("SELECT count(*) FROM items")).await, 1);
    }
    let elsewhere = Request { path: Some("/nowhere".into()), ..at(&list) };
    let fault = fault(trial.ask_for(elsewhere, sql("SELECT 1")).await);
    assert_eq!((fault.code.name(), fault.cursor.is_some()), ("path_unknown", true));
}

#[tokio::test]
async fn a_fault_about_very_many_columns_fits_the_smallest_budget() {
    let trial = Trial::new();
    let fields: Vec<String> = (0..3_000).map(|n| format!("\"a field with quite a name, {n}\":{n}")).collect();
    let record = format!("{{{}}}", fields.join(","));
    let wide = text(format!("[{}]", vec![record; 3].join(",")));
    let list = handle(&portion(trial.fresh(list_bookings(), wide, Request::default()).await));
    let request = Request { max_tokens: Some(300), ..at(&list) };
    for statement in ["SELECT nope FROM items", "SELECT 'x' FROM nope", &"SELECT ".repeat(500)] {
        let fault = fault(trial.ask_for(request.clone(), sql(statement)).await);
        assert_eq!((fault.code.name(), fault.cursor.is_some()), ("query_invalid", true));
        assert!(Quarters.count(&fault.to_json()) <= 300, "{}", fault.to_json());
    }
}

#[tokio::test]
async fn the_nearest_table_to_a_wrong_name_is_shown_with_its_columns() {
    let trial = Trial::new();
    let list = |n: usize| {
        let record = json!({format!("c{n}_0"): n, format!("c{n}_1"): "text of some length"});
        (format!("list{n}"), json!(vec![record; if n == 10 { 60 } else { 30 }]))
    };
    let lists: serde_json::Map<String, Value> = (0..25).map(list).collect();
    let payload = text(Value::from(lists).to_string());
    let cursor = handle(&portion(trial.fresh(list_bookings(), payload, Request::default()).await));
    let fault = fault(trial.ask(&cursor, sql("SELECT x FROM lst3")).await);
    assert!(fault.message.contains("did you mean list3?"), "{fault:?}");
    assert!(fault.advice.starts_with("there is: list3(c3_0 "), "{fault:?}");
}

#[tokio::test]
async fn an_answer_names_the_blocks_that_no_query_reads() {
    let trial = Trial::new();
    let link = r#"{"type":"resource_link","uri":"file:///a","name":"a"}"#;
    let mut payload = bookings(80);
    payload.blocks.push(Block::new("/content/1", Content::Atomic { json: link.into(), binary: None }));
    let ask = asking(Request::default(), sql("SELECT count(*) AS n FROM items"));
    let answer = answer(trial.fresh(list_bookings(), payload, ask).await, 1);
    assert_eq!(notice(&answer)["meta"]["notQueried"], json!(["/content/1"]));
}

#[tokio::test]
async fn an_answer_repeats_words_beside_the_data_that_have_numbers() {
    let rows: Vec<Value> = (0..300).map(|n| json!({"id": n, "name": format!("n{n}")})).collect();
    let log = "2025-01-01T00:00:07Z [INFO] served\n".repeat(300);
    let csv = "1,a,b\n".repeat(300);
    let behind = |words: &str, data: &str| vec![format!("{words}\n\n{data}")];
    let (words, json) = ("[Showing rows 1-300 of 2501 total]", json!(rows).to_string());
    let with = |facts: Value| {
        let mut page = json!({"rows": rows, "status": "success"});
        page.as_object_mut().expect("an object").extend(facts.as_object().expect("an object").clone());
        vec![page.to_string()]
    };
    for (blocks, expect) in [
        (behind(words, &json), json!(words)),
        (behind(words, &log), json!(words)),
        (behind(words, &format!("id,x,y\n{csv}")), json!(words)),
        (vec![words.to_owned(), json.clone()], json!(words)),
        (with(json!({"message": "Showing 300 of 2501 rows"})), json!("Showing 300 of 2501 rows")),
        (with(json!({"at": "2025-01-01 10:00:00"})), Value::Null),
        (behind("Here are the rows:", &json), Value::Null),
        (vec![log.clone()], Value::Null),
    ] {
        let blocks = blocks.into_iter().enumerate();
        let blocks = blocks.map(|(at, text)| Block::new(format!("/content/{at}/text"), Content::Text(text)));
        let mut payload = Payload { blocks: blocks.collect(), ..Payload::default() };
        // Words that are repeated for programs are told once.
        if let [Block { content: Content::Text(text), .. }] = &payload.blocks[..]
            && text.starts_with('{')
        {
            let structured = Content::Structured(text.clone());
            payload.blocks.push(Block::new("/structuredContent", structured));
        }
        let trial = Trial::new();
        let ask = asking(Request::default(), sql("SELECT count(*) AS n FROM items"));
        let answer = answer(trial.fresh(list_bookings(), payload, ask).await, 1);
        assert_eq!(notice(&answer)["meta"]["beside"], expect, "{answer:?}");
    }
}

#[tokio::test]
async fn a_path_selects_the_queried_content() {
    let trial = Trial::new();
    let rooms: Vec<Value> = (0..40).map(|n| json!({"room": n, "beds": n % 3})).collect();
    let guests: Vec<Value> = (0..900).map(|n| json!({"guest": n, "room": n % 40})).collect();
    let payload = text(json!({"house": {"rooms": rooms}, "guests": guests}).to_string());
    let cursor = handle(&portion(trial.fresh(list_bookings(), payload, Request::default()).await));
    for path in ["/house/rooms", "house.rooms"] {
        let request = Request { path: Some(path.into()), ..at(&cursor) };
        let reply = trial.ask_for(request, sql("SELECT max(room) AS last FROM items")).await;
        assert_eq!(rows(&answer(reply, 1)), json!([{"last": 39}]));
    }
    let joined = "SELECT sum(beds) AS beds FROM guests JOIN rooms USING (room)";
    let expect: usize = (0..900).map(|n| (n % 40) % 3).sum();
    assert_eq!(rows(&answer(trial.ask(&cursor, sql(joined)).await, 1)), json!([{"beds": expect}]));
}

#[tokio::test]
async fn params_are_bound_and_fields_of_an_empty_answer_are_no_error() {
    let trial = Trial::new();
    let list = stored_list(&trial, 2_000).await;
    let bound = |id: &str| SnapshotQuery::Sql {
        sql: "SELECT item FROM items WHERE \"guest.name\" = :name".into(),
        params: vec![("name".into(), id.into())],
        with: Vec::new(),
    };
    let fields = Request { fields: Some("guest.name".into()), ..at(&list) };
    let one = answer(trial.ask_for(fields.clone(), bound("\"Guest 7\"")).await, 1);
    assert_eq!(rows(&one), json!([{"guest": {"name": "Guest 7"}}]));
    let quoted = answer(trial.ask_for(fields.clone(), bound("\"' OR 1 OR '\"")).await, 0);
    assert_eq!(rows(&quoted), json!([]), "a value is never part of the statement");
    let sorted = Request { sort: Some("id desc".into()), path: None, ..fields };
    assert_eq!(rows(&answer(trial.ask_for(sorted, find("7f3a9")).await, 0)), json!([]));
}

#[tokio::test]
async fn an_answer_of_any_size_keeps_within_the_limits() {
    let trial = Trial::new();
    let note = "Arrives late, by train. ".repeat(56);
    // Few long records: queries have a time limit, which is not the subject here.
    let records: Vec<Value> =
        (0..100).map(|n| json!({"id": n, "guest": format!("Guest {n}"), "note": note})).collect();
    let records = text(Value::from(records).to_string());
    let list = handle(&portion(trial.fresh(list_bookings(), records, Request::default()).await));
    let Policy { token_budget_threshold, hard_cap, max_page_size, hard_byte_limit, .. } = Policy::default();
    let wanted = [
        (Request::default(), token_budget_threshold),
        (Request { limit: Some(max_page_size as u32), ..Request::default() }, hard_cap),
        (Request { fields: Some("all".into()), ..Request::default() }, hard_cap),
        (Request { max_tokens: Some(300), ..Request::default() }, 300),
        (Request { raw: true, ..Request::default() }, hard_cap),
    ];
    let asks = [
        sql("SELECT item FROM items"),
        sql("SELECT group_concat(item) AS all_of_it FROM items"),
        sql("SELECT json_group_array(json(item)) AS list FROM items"),
        sql("SELECT a.item, b.* FROM items AS a JOIN items AS b ON b.id < 3"),
        find("Guest"),
    ];
    for ask in &asks {
        for (request, budget) in &wanted {
            let request = Request { cursor: Some(list.clone()), ..request.clone() };
            let portion = portion(trial.ask_for(request, ask.clone()).await);
            let cost = Quarters.count(&shown(&portion)) + Quarters.count(portion.notice());
            assert!(portion.tokens() <= *budget && cost <= budget + 1, "{cost} of {budget}: {ask:?}");
            assert!(shown(&portion).len() + portion.notice().len() <= hard_byte_limit);
            assert!(notice(&portion)["meta"]["cursor"].is_string());
        }
    }
}

#[tokio::test]
async fn answers_count_into_the_share_of_their_principal() {
    let trial = Trial::within(400_000);
    let list = stored_list(&trial, 400).await;
    let large = "SELECT a.item FROM items AS a JOIN items AS b ON b.id < 30";
    let unkept = answer(trial.ask(&list, sql(large)).await, 12_000);
    assert!(notice(&unkept)["meta"]["store_unavailable"].is_string(), "{}", unkept.notice());
    assert!(next_cursor(&unkept).is_none() && !shown(&unkept).is_empty());
    // The queried snapshot is not evicted for the answers.
    for _ in 0..30 {
        answer(trial.ask(&list, sql("SELECT id FROM items")).await, 400);
        assert!(trial.stats().bytes <= 400_000, "{:?}", trial.stats());
    }
    portion(trial.follow(&list).await);
}

#[tokio::test]
async fn endless_queries_block_nobody() {
    let trial = Arc::new(Trial::new());
    let list = stored_list(&trial, 2_000).await;
    let hostile = [
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n",
        "SELECT count(*) FROM items a, items b, items c, items d WHERE a.id + b.id + c.id + d.id < 0",
        "SELECT max(a.item || b.item) FROM items a, items b, items c",
        "SELECT count(*) FROM items a JOIN items b ON a.item LIKE '%' || b.id || '%' JOIN items c ON c.id > a.id",
    ];
    let pending: Vec<_> = hostile
        .iter()
        .cycle()
        .take(20)
        .map(|statement| {
            let (trial, list, ask) = (Arc::clone(&trial), list.clone(), sql(statement));
            tokio::spawn(async move { trial.ask(list, ask).await })
        })
        .collect();
    tokio::task::yield_now().await;
    portion(trial.fresh(list_bookings(), bookings(5_000), Request::default()).await);
    portion(trial.follow(&list).await);
    answer(trial.ask(&list, find("Guest 12")).await, 111);
    assert!(pending.iter().any(|query| !query.is_finished()), "the others did not wait for them");
    for query in pending {
        let Fault { code, cursor, .. } = fault(query.await.expect("it does not panic"));
        assert_eq!((code.name(), cursor.is_some()), ("query_too_costly", true));
    }
}

#[tokio::test]
async fn fields_and_order_of_texts_with_rows() {
    let trial = Trial::new();
    let lines: Vec<_> = (0..900).map(|n| format!("{n},Town {},{}\n", n % 7, (n * 37) % 900)).collect();
    let csv = format!("id,home town,price\n{}", lines.concat());
    let fresh = |request: Request| trial.fresh(list_bookings(), text(csv.clone()), request);
    let list = handle(&portion(fresh(Request::default()).await));
    let dearest = Request {
        fields: Some("Id,home_town,price".into()),
        sort: Some("price desc".into()),
        limit: Some(2),
        ..Request::default()
    };
    let expect = json!([
        {"id": 827, "home town": "Town 1", "price": 899},
        {"id": 754, "home town": "Town 5", "price": 898}
    ]);
    // On a call of the server's tool, and on the result that is kept.
    let first = answer(fresh(dearest.clone()).await, 900);
    assert_eq!(rows(&first), expect);
    // All of the result can be read from the answer to a first call.
    let original = notice(&first)["meta"]["originalCursor"].as_str().expect("a cursor").to_owned();
    let whole = portion(
        trial.follow_as(ada(), Request { start_line: Some(1), end_line: Some(1), ..at(&original) }).await,
    );
    assert!(whole.pieces()[0].body.as_str().starts_with("id,home town,price"), "{whole:?}");
    let request = Request { cursor: Some(list.clone()), ..dearest.clone() };
    let read = answer(trial.follow_as(ada(), request).await, 900);
    assert_eq!(rows(&read), expect);
    assert_eq!(notice(&read)["meta"]["originalCursor"], Value::Null);
    let next = answer(trial.follow(next_cursor(&read).expect("900 rows")).await, 900);
    assert_eq!(rows(&next)[0]["price"], 897);
    let second =
        Request { page: Some(2), cursor: Some(list.clone()), sort: Some("-price".into()), ..dearest };
    assert_eq!(rows(&answer(trial.follow_as(ada(), second).await, 900))[0]["price"], 897);
    for (request, code, named) in [
        (Request { fields: Some("id,prise".into()), ..at(&list) }, "field_unknown", "did you mean price?"),
        (Request { sort: Some("prise desc".into()), ..at(&list) }, "sort_invalid", "did you mean price?"),
    ] {
        let fault = fault(trial.follow_as(ada(), request).await);
        assert_eq!((fault.code.name(), fault.cursor.is_some()), (code, true));
        assert!(fault.message.contains(named), "{}", fault.message);
    }
    // Prose has no rows: nothing is advised that cannot work.
    let prose = text("It rains in the harbour, and the boats stay where they are. ".repeat(2_000));
    let prose = handle(&portion(trial.fresh(list_bookings(), prose, Request::default()).await));
    for request in [
        Request { fields: Some("id".into()), ..at(&prose) },
        Request { sort: Some("id".into()), ..at(&prose) },
    ] {
        let fault = fault(trial.follow_as(ada(), request).await);
        assert!(["field_unknown", "sort_invalid"].contains(&fault.code.name()));
        assert!(!fault.advice.contains("items"), "{}", fault.advice);
    }
}
