//! JSON inside text that is not JSON itself: it is paged and addressed by path, and `raw` has the bytes as
//! received.

use portion_core::cursor::Position;
use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::{MIN_BUDGET, MetadataMode, Policy, RenderOptions};
use portion_core::snapshot::{Structure, capture};
use portion_core::view::{Request, View};
use portion_json::scan::quote;
use portion_tokens::Tokenizer;
use serde_json::Value;

use super::session::Session;

const ITEMS: usize = 120;

fn list(value: &str) -> String {
    let item = |n: usize| {
        format!(
            "{{\"id\": {n}, \"name\": \"School {n}\", \"score\": {value}, \"about\": \"{}\"}}",
            "word ".repeat(20)
        )
    };
    format!("[{}]", (0..ITEMS).map(item).collect::<Vec<_>>().join(", "))
}

fn payload(text: &str) -> Payload {
    let blocks = vec![Block::new("/content/0/text", Content::Text(text.to_owned()))];
    Payload { blocks, ..Payload::default() }
}

/// Returns the items that a reply shows, also those inside a string.
fn page(body: &str) -> Vec<Value> {
    match serde_json::from_str(body).expect("JSON") {
        Value::Array(items) => items,
        Value::String(json) => page(&json),
        Value::Object(members) => {
            assert_eq!(members["status"], "ok");
            page(
                members
                    .values()
                    .find_map(|value| value.as_str().filter(|s| s.starts_with('[')))
                    .expect("a string"),
            )
        }
        other => panic!("{other}"),
    }
}

/// Checks that the text is paged as a list, its items have paths, its bytes are exact, and the notice has
/// `expected`.
#[track_caller]
fn check(text: &str, path: &str, written: &str, expected: &str) {
    let session = Session::new(payload(text), Policy::default(), Tokenizer::Chars4.counter());
    let first = session.call(&Request::default()).expect("plain").expect("long");
    assert_eq!(first.notice["totalCount"], ITEMS, "{}", first.notice);
    let read_as = first.notice["meta"]["readAs"].as_str().expect("it is told");
    assert!(read_as.starts_with(expected), "{read_as}");
    let replies = session.walk(&Request { fields: Some("all".into()), ..Request::default() });
    let mut ids = Vec::new();
    for reply in replies.expect("plain").expect("long") {
        ids.extend(page(reply.pieces[0].body.as_str()).iter().filter_map(|item| item["id"].as_u64()));
    }
    assert_eq!(ids, (0..ITEMS as u64).collect::<Vec<_>>());
    let joined = |request: &Request| {
        let reply = session.read(&View::root(), Position::default(), request).expect("it is there");
        let replies = session.walk_on(reply);
        replies.iter().map(|reply| reply.pieces[0].body.as_str()).collect::<String>()
    };
    assert_eq!(joined(&Request { raw: true, ..Request::default() }), text);
    let path = Request { path: Some(path.into()), ..Request::default() };
    assert_eq!(joined(&Request { raw: true, ..path.clone() }), written);
    let given = path.path.as_deref().unwrap_or_default();
    let name = format!("{given}{}", if given.starts_with('/') { "/name" } else { ".name" });
    let name = Request { path: Some(name), ..path };
    assert_eq!(joined(&name), "School 7");
}

#[test]
fn json_in_text_is_read() {
    let item = |value: &str| {
        let list = list(value);
        let at = list.find("{\"id\": 7,").expect("an item");
        let end = list.find(", {\"id\": 8,").expect("the next");
        list[at..end].to_owned()
    };
    let plain = list("1.50");
    let seven = item("1.50");
    check(
        &format!("Found these schools:\n{plain}"),
        "/7",
        &seven,
        "JSON in text after `Found these schools:`",
    );
    for (before, after) in
        [("OK ", " (120 rows)"), ("<json>", "</json>"), ("call(", ");"), (")]}',\n", ""), ("a: 1\n\n", "\n")]
    {
        check(&format!("{before}{plain}{after}"), "/7", &seven, "JSON in text after `");
    }
    check(&format!("Results: {plain}"), "/7", &seven, "JSON in text after `Results:`");
    check(&format!("{plain}\n\nThat is all."), "/7", &seven, "JSON in text, followed by `That is all.`");
    check(&format!("```json\n{plain}\n```\n"), "/7", &seven, "JSON in text after ````json`");
    check(&format!("\u{feff}{plain}"), "/7", &seven, "JSON in text after a byte order mark;");
    for value in ["NaN", "Infinity", "-Infinity"] {
        check(&list(value), "/7", &item(value), "JSON in text; 120 NaN or Infinity shown as null");
        let prefixed = format!("scores = {}", list(value));
        check(&prefixed, "/7", &item(value), "JSON in text after `scores =`; 120 NaN");
    }
    let held = format!("{{\"status\": \"ok\", \"data\": {}}}", quote(&plain));
    check(&held, "/data/7", &seven, "JSON in the string at /data;");
    check(&held, "data[7]", &seven, "JSON in the string at /data;");
    check(&held, "/7", &seven, "JSON in the string at /data");
    let words = format!("{{\"data\": {}, \"status\": \"ok\"}}", quote(&format!("Found:\n{}", list("NaN"))));
    check(&words, "data.7", &item("null"), "JSON in the string at /data; 120 NaN");
    check(&quote(&plain), "/7", &seven, "JSON in a JSON string");
    let record = |n: usize| format!("{{\"id\": {n}, \"name\": \"School {n}\", \"score\": 1.50}}");
    let strings = (0..ITEMS).map(|n| quote(&record(n))).collect::<Vec<_>>();
    check(&format!("[{}]", strings.join(", ")), "/7", &record(7), "objects in strings");
}

#[test]
fn json_in_a_string_stays_a_string() {
    let held = format!("{{\"status\": \"ok\", \"data\": {}, \"n\": 120}}", quote(&list("1")));
    let session = Session::new(payload(&held), Policy::default(), Tokenizer::Chars4.counter());
    let first = session.call(&Request::default()).expect("plain").expect("long");
    let shown: Value = serde_json::from_str(first.pieces[0].body.as_str()).expect("it is JSON");
    assert!(shown["data"].is_string() && shown["status"] == "ok" && shown["n"] == 120, "{shown}");
    let at = |path: &str, raw: bool| {
        let request = Request { path: Some(path.into()), raw, ..Request::default() };
        let reply = session.read(&View::root(), Position::default(), &request).expect("it is there");
        session.walk_on(reply).iter().map(|reply| reply.pieces[0].body.as_str()).collect::<String>()
    };
    assert_eq!(at("/n", true), "120");
    assert_eq!(at("status", false), "ok");
    assert_eq!(at("/data", true), quote(&list("1")));
    let second = Request { page: Some(2), ..Request::default() };
    let second = session.read(&View::root(), Position::default(), &second).expect("there is more");
    let shown: Value = serde_json::from_str(second.pieces[0].body.as_str()).expect("it is JSON");
    assert!(shown["data"].is_string(), "{shown}");
}

#[test]
fn lines_in_a_json_string_are_lines() {
    let line = |n| format!("2026-01-02 03:04:{:02} INFO step {n} ünïcode\n", n % 60);
    let text = quote(&(0..900).map(line).collect::<Vec<_>>().concat());
    let session = Session::new(payload(&text), Policy::default(), Tokenizer::Chars4.counter());
    let first = session.call(&Request::default()).expect("plain").expect("long");
    assert_eq!(first.notice["meta"]["about"]["levels"]["INFO"], 900, "{}", first.notice);
    let line = Request { start_line: Some(71), end_line: Some(71), ..Request::default() };
    let line = session.read(&View::root(), Position::default(), &line).expect("it is there");
    assert!(line.pieces[0].body.as_str().contains("step 70 ünïcode"), "{}", line.pieces[0].body.as_str());
    let raw = Request { raw: true, ..Request::default() };
    let raw = session.read(&View::root(), Position::default(), &raw).expect("it is there");
    let raw: String = session.walk_on(raw).iter().map(|reply| reply.pieces[0].body.as_str()).collect();
    assert_eq!(raw, text);
}

#[test]
fn an_invalid_number_is_reported() {
    let session = Session::new(payload(&list("NaN")), Policy::default(), Tokenizer::Chars4.counter());
    let request = Request { path: Some("/3".into()), ..Request::default() };
    let reply = session.read(&View::root(), Position::default(), &request).expect("it is there");
    let shown: Value = serde_json::from_str(reply.pieces[0].body.as_str()).expect("it is JSON");
    assert_eq!(shown["score"], Value::Null);
    assert!(
        reply.notice["meta"]["readAs"].as_str().is_some_and(|told| told.contains("NaN")),
        "{}",
        reply.notice
    );
}

#[test]
fn the_least_budget_has_room_for_a_status_and_a_count() {
    let check = |text: &str, facts: &[&str]| {
        for tokenizer in [Tokenizer::Chars4, Tokenizer::O200k] {
            let session = Session::new(payload(text), Policy::default(), tokenizer.counter());
            let request = Request { max_tokens: Some(MIN_BUDGET), ..Request::default() };
            let reply = session.call(&request).expect("plain").expect("long");
            for fact in facts {
                assert!(reply.notice["meta"]["readAs"].to_string().contains(fact), "{}", reply.notice);
                assert!(reply.portion.separate_notice().is_some_and(|text| text.contains(fact)), "{fact}");
            }
        }
    };
    let count = "120 NaN or Infinity shown as null";
    check(&list("NaN"), &[count]);
    check(&format!("HTTP 409 Conflict from GET /bookings/{{code}}\n{}", list("1")), &["HTTP 409 Conflict"]);
    check(&format!("HTTP 409 Conflict from GET /bookings/{{code}}\n{}", list("NaN")), &["HTTP 409", count]);
    check(&quote(&format!("Found:\n{}", list("NaN"))), &[count]);
}

#[test]
fn structured_content_keeps_its_type() {
    let structured = |text: &str, json: String| Payload {
        blocks: vec![
            Block::new("/content/0/text", Content::Text(text.to_owned())),
            Block::new("/structuredContent", Content::Structured(json)),
        ],
        ..Payload::default()
    };
    let prefixed = format!("Found:\n{}", list("1"));
    let held = format!("{{\"data\":{}}}", quote(&list("1")));
    let cases = [
        (prefixed.as_str(), format!("{{\"result\":{}}}", quote(&prefixed)), "result", true),
        (held.as_str(), held.clone(), "data", true),
        (held.as_str(), format!("{{\"result\":{}}}", quote(&held)), "result", true),
        (held.as_str(), format!("{{\"result\":{held}}}"), "result", true),
        (prefixed.as_str(), format!("{{\"result\":{}}}", list("1")), "result", false),
    ];
    for (text, json, key, found) in cases {
        let was: Value = serde_json::from_str(&json).expect("JSON");
        let payload = structured(text, json);
        assert_eq!(capture(payload.clone()).parts()[0].json_origin.is_some(), found, "{key}");
        let session = Session::new(payload, Policy::default(), Tokenizer::Chars4.counter());
        let reply = session.call(&Request::default()).expect("plain").expect("long");
        let shown = reply.portion.structured().expect("there is some");
        let shown: Value = serde_json::from_str(shown).expect("JSON");
        let kind = |value: &Value| (value.is_string(), value.is_array(), value.is_object());
        let same = kind(&shown[key]) == kind(&was[key]) || shown["portion"]["value"].is_array();
        assert!(same, "{key}: {shown:.300}");
        if key == "data" {
            let inner: Value = serde_json::from_str(shown[key].as_str().expect("a string")).expect("JSON");
            assert!(inner[0]["about"] == "word ".repeat(20) && shown["nextCursor"].is_string(), "{inner}");
        }
    }
}

/// Every reply keeps within its limits, for all limits and whatever contains the JSON; raw has the bytes.
#[test]
fn limits_are_kept() {
    let plain = list("NaN");
    let held = |around: &str| format!("{{\"a\":\"{around}\",\"data\":{},\"z\":1}}", quote(&list("1")));
    let texts = [
        format!("Found:\n{plain}\n"),
        held(""),
        held(&"word ".repeat(180)),
        quote(&plain),
        quote(&list("1")),
    ];
    for text in &texts {
        for budget in [300, 700, 1_200, 4_000, 12_000] {
            for metadata in [MetadataMode::WhenShaped, MetadataMode::Always] {
                let manner = RenderOptions { metadata, ..RenderOptions::default() };
                let policy = Policy { reply_target: budget, render_options: manner, ..Policy::default() };
                let session = Session::new(payload(text), policy, Tokenizer::Len4.counter());
                let asks = [
                    Request::default(),
                    Request { max_tokens: Some(budget), limit: Some(7), ..Request::default() },
                    Request { raw: true, ..Request::default() },
                ];
                for ask in asks {
                    let replies = session.walk(&ask).expect("plain").expect("long");
                    let joined: String = replies.iter().map(|reply| reply.pieces[0].body.as_str()).collect();
                    assert!(!ask.raw || joined == *text);
                }
            }
        }
    }
}

#[test]
fn text_that_holds_a_little_json_stays_text() {
    for text in [
        "[INFO] started\n[WARN] slow\n".repeat(50),
        format!("# Guide\n\nCall it so:\n\n```json\n{{\"id\":1}}\n```\n\n{}", "Then read on. ".repeat(90)),
        format!("See [1] and {{braces}}. {}", "More words follow here. ".repeat(40)),
        "{\"a\":1}\n{\"b\":".to_owned(),
        "[NaNa, Infinityy]".to_owned(),
        format!("{{\"note\":\"[not JSON, {}\",\"id\":1}}", "x".repeat(200)),
    ] {
        let snapshot = capture(payload(&text));
        assert!(snapshot.parts()[0].json_origin.is_none(), "{text:.60}");
        assert_eq!(snapshot.parts()[0].text(), text);
    }
}

#[test]
fn hostile_text_costs_no_more_than_its_length() {
    let units = [
        "[",
        "{",
        "[NaN,",
        "{\"a\":NaN,",
        "\n[",
        "\n{\"",
        "-Infinity",
        "```json\n[",
        "\"[",
        "{\"a\":\"[",
        "[\"\\",
        ":[",
    ];
    for unit in units {
        let text = unit.repeat((1 << 20) / unit.len());
        for text in [format!("{text}]"), format!("[{text}"), text] {
            let snapshot = capture(payload(&text));
            assert_eq!(snapshot.parts()[0].text(), text);
        }
    }
    let deep = format!("x:\n{}NaN{}", "[".repeat(200_000), "]".repeat(200_000));
    let snapshot = capture(payload(&deep));
    let subject = snapshot.parts()[0].indexed_text().expect("it can be read");
    assert!(matches!(subject.structure, Structure::List(_)));
}
