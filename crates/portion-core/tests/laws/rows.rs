//! A page written as a table says what the page of objects says: it can be put together again.

use portion_core::policy::{Policy, Rows};
use portion_core::snapshot::{Form, Layout, Subject};
use portion_core::tokens::Tokenizer;
use portion_core::view::Request;
use proptest::prelude::*;

use super::dice::Dice;
use super::json::Json;
use super::lossless::text_payload;
use super::session::Session;
use super::{cases, payloads};

/// A page with its table, if it has one, made a list again, as its layout has them. `None` where it has no table.
pub(crate) fn expanded(text: &str, subject: &Subject) -> Option<String> {
    let Form::List(list) = &subject.form else { return None };
    let is_table = matches!(list.layout, Layout::Table { .. });
    let mut page = Json::parse(text)?;
    let place = if is_table { return None } else { at_mut(&mut page, &list.pointer)? };
    if !matches!(place.get("rows"), Some(Json::Array(_))) {
        return None;
    }
    let records = records(place);
    match list.layout {
        Layout::Map => {
            let entry = |mut record: Json| {
                let Json::Object(members) = &mut record else { panic!("no object") };
                let at = members.iter().position(|(key, _)| key == "\"_key\"").expect("a key");
                let Json::Text(key) = members.remove(at).1 else { panic!("no text") };
                (key, record)
            };
            *place = Json::Object(records.into_iter().map(entry).collect());
        }
        Layout::Lines => {
            return Some(records.iter().map(Json::minified).collect::<Vec<_>>().join("\n"));
        }
        _ => *place = Json::Array(records),
    }
    Some(page.minified())
}

/// The records that a table says.
pub(crate) fn records(table: &Json) -> Vec<Json> {
    let Json::Object(members) = table else { panic!("no object") };
    let known = ["constants", "columns", "nullIsAbsent", "absentAt", "rows"].map(|key| format!("\"{key}\""));
    let order: Vec<Option<usize>> =
        members.iter().map(|(key, _)| known.iter().position(|own| own == key)).collect();
    assert!(order.is_sorted_by(|a, b| a.is_some() && a < b), "{table:?}");
    let list = |key: &str| match table.get(key) {
        Some(Json::Array(items)) => items.clone(),
        None => Vec::new(),
        other => panic!("{key}: {other:?}"),
    };
    let columns = list("columns");
    let null_is_absent = list("nullIsAbsent");
    let row = |(at, row): (usize, Json)| {
        let Json::Array(cells) = row else { panic!("no row: {row:?}") };
        assert!(cells.len() <= columns.len());
        let mut record = Json::Object(Vec::new());
        if let Some(Json::Object(constants)) = table.get("constants") {
            constants.iter().for_each(|(name, value)| put(&mut record, name, value.clone()));
        }
        for (name, cell) in columns.iter().zip(cells) {
            let Json::Text(quoted) = name else { panic!("no name: {name:?}") };
            let absent_at = table.get("absentAt").and_then(|rows| rows.get(quoted.trim_matches('"')));
            let here =
                matches!(absent_at, Some(Json::Array(rows)) if rows.contains(&Json::Word(at.to_string())));
            let absent = here || cell == Json::Word("null".into()) && null_is_absent.contains(name);
            if !absent {
                put(&mut record, quoted, cell);
            }
        }
        record
    };
    list("rows").into_iter().enumerate().map(row).collect()
}

/// Puts a value under a dotted name.
fn put(record: &mut Json, name: &str, value: Json) {
    let mut steps = name[1..name.len() - 1].split('.');
    let last = steps.next_back().expect("a name has a last step");
    let mut at = record;
    for step in steps {
        let Json::Object(members) = at else { panic!("{name} leads through no object") };
        let key = format!("\"{step}\"");
        let found = members.iter().position(|(own, _)| *own == key).unwrap_or_else(|| {
            members.push((key, Json::Object(Vec::new())));
            members.len() - 1
        });
        at = &mut members[found].1;
    }
    let Json::Object(members) = at else { panic!("{name} leads through no object") };
    members.push((format!("\"{last}\""), value));
}

fn at_mut<'a>(whole: &'a mut Json, pointer: &str) -> Option<&'a mut Json> {
    let mut at = whole;
    for step in pointer.split('/').skip(1) {
        let name = step.replace("~1", "/").replace("~0", "~");
        let Json::Object(members) = at else { return None };
        let (_, value) = members.iter_mut().find(|(key, _)| portion_core::scan::decoded(key) == name)?;
        at = value;
    }
    Some(at)
}

/// Records of a few fields, each there or not, null or not, nested or not.
fn like_records(dice: &mut Dice) -> String {
    let len = dice.within(2, 40);
    let names = ["id", "name", "price", "a", "b", "", "\\u00e9", "x.y"];
    let most = if dice.once_in(4) { names.len() } else { 6 };
    let width = dice.within(1, most);
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

/// A page as a table, put together again, is the page of objects. Returns whether it was a table.
fn check(seed: u64) -> bool {
    let mut dice = Dice::new(seed);
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
    let ((session, table), (_, objects)) = (page(Rows::Auto), page(Rows::Objects));
    assert_eq!(objects.notice["meta"].get("rows"), None);
    let subject = session.snapshot.parts()[0].subject().expect("text");
    if !matches!(subject.form, Form::List(_)) {
        return false;
    }
    let dense = table.notice["meta"]["rows"] == "dense";
    let again =
        if dense { expanded(table.text(), subject).expect("a table") } else { table.text().to_owned() };
    let (again, whole) = (Json::parse(&again).expect("JSON"), Json::parse(objects.text()).expect("JSON"));
    assert_eq!(again.sorted(), whole.sorted(), "{}", table.text());
    assert!(!dense || table.portion.tokens() < objects.portion.tokens());
    dense
}

proptest! {
    #![proptest_config(cases(700))]
    #[test]
    fn a_table_says_what_the_objects_say(seed in any::<u64>()) {
        check(seed);
    }
}

/// The law above is about something.
#[test]
fn like_records_are_mostly_tables() {
    let tables = (0..100).filter(|seed| check(*seed)).count();
    assert!(tables > 25, "{tables} tables");
}

/// What is for programs stays objects, the same items that the table shows.
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
        let session = Session::new(payload, Policy::default().lean(), Tokenizer::Chars4.counter());
        let replies = session.walk(&Request::default()).expect("plain").expect("large");
        let reply = &replies[0];
        if reply.notice["meta"]["rows"] != "dense" {
            continue;
        }
        tables += 1;
        let subject = session.snapshot.parts()[0].subject().expect("text");
        let rows = Json::parse(&expanded(reply.text(), subject).expect("a table")).expect("JSON");
        let structured = Json::parse(reply.portion.structured().expect("a twin")).expect("JSON");
        let (Json::Array(rows), Some(Json::Array(objects))) = (rows, structured.get("result")) else {
            panic!("no lists: {structured:?}");
        };
        let names = |records: &[Json]| records.iter().map(|r| r.get("name").cloned()).collect::<Vec<_>>();
        assert_eq!(names(&rows), names(objects));
        let told = structured.get("nextCursor").map(Json::minified);
        assert_eq!(told, reply.notice.get("nextCursor").map(ToString::to_string));
        assert_eq!(structured.get("meta").and_then(|meta| meta.get("rows")), None);
        let served: u64 = replies.iter().filter_map(|reply| reply.notice["meta"]["served"].as_u64()).sum();
        assert_eq!(served as usize, items.len());
    }
    assert!(tables > 30, "{tables} tables");
}
