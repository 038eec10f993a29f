//! A page written as a table can be converted back to the page of objects.

use portion_core::policy::{FirstRows, Policy, RowStyle};
use portion_core::snapshot::Structure;
use portion_core::view::Request;
use portion_tokens::Tokenizer;
use proptest::prelude::*;

use super::choices::{Dice, dice};
use super::json::Json;
use super::lossless::text_payload;
use super::session::Session;
use super::table::expanded;
use super::{cases, payloads};

/// Generates records with few fields, each present or not, null or not, nested or not.
fn like_records(dice: &mut Dice) -> String {
    let len = dice.within(2, 40);
    let names = ["id", "name", "price", "a", "b", "", "\\u00e9", "x.y"];
    let max = if dice.once_in(4) { names.len() } else { 6 };
    let width = dice.within(1, max);
    let (absent, null) = (dice.within(2, 9), dice.within(2, 9));
    let inside = dice.once_in(2);
    let record = |dice: &mut Dice| {
        let mut members = Vec::new();
        for name in &names[..width] {
            let key = format!("\"{name}\"");
            let value = match dice.below(8) {
                _ if dice.once_in(absent) => continue,
                _ if dice.once_in(null) => Json::Word("null".into()),
                0 if inside => Json::Object(Vec::new()),
                1..=4 if inside => payloads::record(dice, 3),
                5 => Json::Array(vec![payloads::record(dice, 1)]),
                6 => Json::Word("7".into()),
                _ => Json::Text("\"\\u0041 \\\"x\\\"\"".into()),
            };
            let at = dice.below(members.len() + 1);
            members.insert(if dice.once_in(9) { at } else { members.len() }, (key, value));
        }
        Json::Object(members)
    };
    if dice.once_in(4) {
        let entries = (0..len.max(8)).map(|i| (format!("\"k{i}\""), record(dice)));
        return Json::Object(entries.collect()).minified();
    }
    Json::Array((0..len).map(|_| record(dice)).collect()).minified()
}

/// Checks that a page as a table converts back to the page of objects. Returns true if it was a table.
fn check(mut dice: Dice) -> Result<bool, TestCaseError> {
    let text = like_records(&mut dice);
    let wide = Policy {
        token_budget_threshold: 100_000,
        hard_cap: 200_000,
        hard_byte_limit: 1 << 24,
        ..Policy::default()
    };
    let page = |rows| {
        let policy = Policy { rows, ..wide.clone() };
        let session = Session::new(text_payload(text.clone()), policy, Tokenizer::Chars4.counter());
        let mut request = Request { limit: Some(30), ..Request::default() };
        request.fields = Some("all".into());
        let reply = session.call(&request).expect("all fields are there").expect("asked for");
        (session, reply)
    };
    let ((session, table), (_, objects)) = (page(RowStyle::Auto), page(RowStyle::Objects));
    assert_eq!(objects.notice["meta"].get("rows"), None);
    let subject = session.snapshot.parts()[0].indexed_text().expect("text");
    prop_assume!(matches!(subject.structure, Structure::List(_)));
    let dense = table.notice["meta"]["rows"] == "dense";
    let again =
        if dense { expanded(table.text(), subject).expect("a table") } else { table.text().to_owned() };
    let (again, whole) = (Json::parse(&again).expect("JSON"), Json::parse(objects.text()).expect("JSON"));
    assert_eq!(again.sorted(), whole.sorted(), "{}", table.text());
    assert!(!dense || table.portion.tokens() < objects.portion.tokens());
    Ok(dense)
}

proptest! {
    #![proptest_config(cases(700))]
    #[test]
    fn a_table_converts_back_to_the_objects(dice in dice()) {
        check(dice)?;
    }
}

/// The property above is not vacuous.
#[test]
fn like_records_are_mostly_tables() {
    let tables = (0..100).filter(|seed| check(Dice::new(*seed)).is_ok_and(|dense| dense)).count();
    assert!(tables > 25, "{tables} tables");
}

/// `structuredContent` has objects: the items that the table shows.
#[test]
fn structured_content_is_never_a_table() {
    let mut tables = 0;
    for seed in 0..60 {
        let mut dice = Dice::new(seed);
        let items = (0..dice.within(60, 90)).map(|i| payloads::record(&mut dice, i)).collect();
        let items: Vec<String> = payloads::alike(items).iter().map(Json::minified).collect();
        let text = format!("[{}]", items.join(","));
        let structured = format!("{{\"result\":{text}}}");
        let mut payload = text_payload(text);
        let block = portion_core::payload::Content::Structured(structured);
        payload.blocks.push(portion_core::payload::Block::new("/structuredContent", block));
        // A sample has too few records for a table to save tokens.
        let policy = Policy { first_rows: FirstRows::Page, ..Policy::default().lean() };
        let session = Session::new(payload, policy, Tokenizer::Chars4.counter());
        let replies = session.walk(&Request::default()).expect("plain").expect("large");
        let reply = &replies[0];
        if reply.notice["meta"]["rows"] != "dense" {
            continue;
        }
        tables += 1;
        let subject = session.snapshot.parts()[0].indexed_text().expect("text");
        let rows = Json::parse(&expanded(reply.text(), subject).expect("a table")).expect("JSON");
        let structured = Json::parse(reply.portion.structured().expect("a twin")).expect("JSON");
        let Json::Array(rows) = rows else { panic!("no list: {rows:?}") };
        let names = |records: &[Json]| records.iter().map(|r| r.get("name").cloned()).collect::<Vec<_>>();
        let Json::Object(members) = &structured else { panic!("no object: {structured:?}") };
        // A closed schema lists no other keys.
        let listed = ["\"result\"", "\"nextCursor\"", "\"totalCount\"", "\"meta\"", "\"portion\""];
        assert!(members.iter().all(|(key, _)| listed.contains(&key.as_str())), "{members:?}");
        let Some(Json::Array(objects)) = structured.get("result") else {
            // Not even the first record fits whole, so the shown part must not be taken for the result.
            assert!(items[0].len() > 2000, "{} bytes of seed {seed}", items[0].len());
            let value = structured.get("portion").and_then(|own| own.get("value"));
            let Some(Json::Array(objects)) = value else { panic!("no list: {structured:?}") };
            assert!(names(&rows).starts_with(&names(objects)) && !objects.is_empty());
            continue;
        };
        // Programs get whole records from the same offset, as many as fit.
        assert!(names(&rows).starts_with(&names(objects)) && !objects.is_empty());
        let cut = &reply.notice["meta"]["structuredContent"];
        assert_eq!(cut.is_object(), rows.len() != objects.len(), "{}", reply.notice);
        assert_eq!(cut["served"].as_u64().unwrap_or(rows.len() as u64), objects.len() as u64);
        assert_eq!(structured.get("meta").and_then(|meta| meta.get("rows")), None);
        let served: u64 = replies.iter().filter_map(|reply| reply.notice["meta"]["served"].as_u64()).sum();
        assert_eq!(served as usize, items.len());
    }
    assert!(tables > 30, "{tables} tables");
}

/// Of several lists of the same size, `structuredContent` has whole records, and the text says how many.
#[test]
fn several_lists_have_whole_records() {
    let record = |i: usize| format!(r#"{{"id":{i},"name":"Guest {i}","notes":"{}"}}"#, "late ".repeat(20));
    let records = (0..111).map(record).collect::<Vec<_>>().join(",");
    let both = format!(r#"{{"a":[{records}],"b":[{records}]}}"#);
    for text in [both.clone(), "two lists".to_owned()] {
        let mut payload = text_payload(text);
        let block = portion_core::payload::Content::Structured(both.clone());
        payload.blocks.push(portion_core::payload::Block::new("/structuredContent", block));
        let session = Session::new(payload, Policy::default(), Tokenizer::Chars4.counter());
        let first = session.call(&Request::default()).expect("plain").expect("large");
        let structured: serde_json::Value =
            serde_json::from_str(first.portion.structured().expect("both forms")).expect("JSON");
        for name in ["a", "b"] {
            let shown = structured[name].as_array().expect("a list of its own name");
            assert!(!shown.is_empty() && shown.len() < 111, "{name}: {}", shown.len());
            for (i, shown) in shown.iter().enumerate() {
                assert_eq!(*shown, serde_json::from_str::<serde_json::Value>(&record(i)).expect("JSON"));
            }
        }
        let gap = &first.notice["meta"]["structuredContent"];
        assert_eq!(gap["served"].as_u64(), structured["a"].as_array().map(|shown| shown.len() as u64));
        assert_eq!(gap["of"], 111, "{}", first.notice);
    }
}

/// `structuredContent` has whole records also on numbered pages, at offsets and in another order, where the text may be
/// condensed.
#[test]
fn structured_content_of_every_page_has_whole_records() {
    let items: Vec<String> = (0..120)
        .map(|i| {
            let notes = format!("arrives late, at gate {i}; ").repeat(9);
            format!(
                "{{\"id\":{i},\"name\":\"Guest {i}\",\"notes\":\"{notes}\",\"address\":\"{i} Lake Road\"}}"
            )
        })
        .collect();
    let list = format!("{{\"guests\":[{}]}}", items.join(","));
    let mut payload = text_payload(list.clone());
    let block = portion_core::payload::Content::Structured(list);
    payload.blocks.push(portion_core::payload::Block::new("/structuredContent", block));
    let session = Session::new(payload, Policy::default(), Tokenizer::Chars4.counter());
    let first = session.call(&Request::default()).expect("plain").expect("large");
    let check = |request: &Request| {
        let fresh = session.call(request).expect("valid").expect("asked for");
        let again = session.recall(&first.view.root_with_pagination(), request).expect("valid");
        for reply in [fresh, again] {
            let structured: serde_json::Value =
                serde_json::from_str(reply.portion.structured().expect("both forms")).expect("JSON");
            let shown = structured["guests"].as_array().expect("a list of its own name");
            assert!(!shown.is_empty(), "{request:?}");
            for record in shown {
                let whole = serde_json::from_str::<serde_json::Value>(
                    &items[record["id"].as_u64().expect("a number") as usize],
                );
                assert_eq!(*record, whole.expect("JSON"), "{request:?}");
            }
            assert!(structured["nextCursor"].is_string(), "{request:?}: {}", structured["meta"]);
        }
    };
    check(&Request { page: Some(2), ..Request::default() });
    check(&Request { page: Some(2), limit: Some(40), ..Request::default() });
    check(&Request { offset: Some(30), ..Request::default() });
    check(&Request { sort: Some("id desc".into()), ..Request::default() });
}
