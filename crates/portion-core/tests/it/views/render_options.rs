//! An operator's render options in combination with requests.

use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::{FillStrategy, NamedSection, OrderStrategy, Policy, RenderOptions, StripRule};
use portion_core::ranking::rank;
use portion_core::render::FirstReply;
use portion_core::snapshot::capture;
use portion_core::view::{Request, resolve};
use portion_tokens::Tokenizer;
use serde_json::Value;

use super::reply;

/// Returns the content and the notice, or the code and message of the error.
fn shown(text: &str, manner: &RenderOptions, controls: &[(&str, &str)]) -> (String, Value) {
    let policy = Policy {
        full_below: 0,
        default_page_size: 2,
        summarize_above: 30,
        strategy: OrderStrategy::Auto,
        fill: FillStrategy::Stop,
        render_options: manner.clone(),
        ..Policy::default()
    };
    let block = Block::new("/content/0/text", Content::Text(text.to_owned()));
    let items = manner.list_path.clone();
    let snapshot = capture(Payload { blocks: vec![block], list_path: items, ..Payload::default() });
    let mut request = Request::default();
    for (name, json) in controls {
        assert_eq!(request.set_control(name, json, &policy), Ok(true));
    }
    let resolved = match resolve(&snapshot, None, &request, &policy) {
        Ok(resolved) => rank(&snapshot, resolved, &policy, Tokenizer::Chars4.counter()),
        Err(error) => return (format!("{}: {error}; {}", error.code(), error.advice()), Value::Null),
    };
    match reply(&snapshot, &resolved, &policy) {
        FirstReply::Untouched { .. } => (text.to_owned(), Value::Null),
        FirstReply::Portion(portion) => {
            let notice: Value = serde_json::from_str(portion.notice()).expect("a notice is JSON");
            (portion.pieces().iter().map(|piece| piece.body.as_str()).collect(), notice["meta"].clone())
        }
    }
}

fn check(text: &str, manner: &RenderOptions, controls: &[(&str, &str)], expect: &str) {
    assert_eq!(shown(text, manner, controls).0, expect, "{controls:?} of {text}");
}

fn names(all: &[&str]) -> Vec<String> {
    all.iter().map(|name| (*name).to_owned()).collect()
}

fn section(name: &str, fields: &[&str]) -> NamedSection {
    NamedSection { name: name.to_owned(), fields: names(fields) }
}

const LIST: &str = r#"{"total":3,"items":[{"id":2,"at":"b"},{"id":3,"at":"c"},{"id":1,"at":"a"}]}"#;

#[test]
fn a_default_order_applies() {
    let sorted = RenderOptions { default_sort: Some("at desc".into()), ..RenderOptions::default() };
    check(LIST, &sorted, &[], r#"{"total":3,"items":[{"id":3,"at":"c"},{"id":2,"at":"b"}]}"#);
    assert_eq!(shown(LIST, &sorted, &[]).1["sort"], "at desc");
    check(LIST, &sorted, &[("page", "2")], r#"{"total":3,"items":[{"id":1,"at":"a"}]}"#);
    check(
        LIST,
        &sorted,
        &[("sort", "\"id\"")],
        r#"{"total":3,"items":[{"id":1,"at":"a"},{"id":2,"at":"b"}]}"#,
    );
    assert_eq!(shown(LIST, &sorted, &[("sort", "\"id\"")]).1.get("sort"), None);
    let nothing = RenderOptions { default_sort: Some("made desc".into()), ..RenderOptions::default() };
    check(LIST, &nothing, &[], r#"{"total":3,"items":[{"id":2,"at":"b"},{"id":3,"at":"c"}]}"#);
    assert_eq!(shown(LIST, &nothing, &[]).1.get("sort"), None);
}

#[test]
fn integers_in_texts_are_sorted_as_numbers_however_long() {
    let wei = r#"[{"v":"99000000000000000"},{"v":"4945000000000000000000"},{"v":"0"}]"#;
    let sorted = r#"[{"v":"4945000000000000000000"},{"v":"99000000000000000"},{"v":"0"}]"#;
    check(wei, &RenderOptions::default(), &[("sort", "\"v desc\""), ("limit", "3")], sorted);
}

#[test]
fn a_default_order_replaces_ranking() {
    let chunk = |i: usize| format!("{{\"score\":0.{i},\"text\":\"{}\"}}", "some words ".repeat(60 - i));
    let chunks: Vec<String> = (1..=9).map(chunk).collect();
    let text = format!("{{\"query\":\"q\",\"chunks\":[{}]}}", chunks.join(","));
    assert_eq!(shown(&text, &RenderOptions::default(), &[]).1["strategy"], "ranked");
    let (page, meta) =
        shown(&text, &RenderOptions { default_sort: Some("score".into()), ..RenderOptions::default() }, &[]);
    assert_eq!((meta.get("strategy"), &meta["sort"]), (None, &"score asc".into()));
    assert!(page.starts_with(r#"{"query":"q","chunks":[{"score":0.1"#), "{page}");
}

#[test]
fn a_configured_list_is_used() {
    let text = format!(
        r#"{{"words":["{}"],"data":{{"found":[{{"id":1}},{{"id":2}},{{"id":3}}]}}}}"#,
        "w".repeat(400)
    );
    let here = |path: &str| RenderOptions { list_path: Some(path.into()), ..RenderOptions::default() };
    assert_eq!(shown(&text, &here("data.found"), &[("limit", "1")]).1["served"], 1);
    assert!(shown(&text, &here("data.found"), &[("offset", "2")]).0.contains(r#""found":[{"id":3}]"#));
    // A path that does not exist has no effect.
    let plain = shown(&text, &RenderOptions::default(), &[("limit", "1")]);
    assert_eq!(shown(&text, &here("data.lost"), &[("limit", "1")]), plain);
}

const OBJECT: &str = r#"{"status":"ok","result":{"id":1,"price":7,"fees":[{"name":"x","n":1}],"notes":"Late. Late. Late. Late. Late. Late. Late. Late. Late. Late. Late. Late. Late.","deposit":null}}"#;

#[test]
fn sections_have_their_configured_names() {
    let sections = [
        section("Money", &["price", "fees", "deposit", "nothing"]),
        section("none", &["nothing"]),
        section("ids", &["result.id"]),
    ];
    let manner = RenderOptions { sections: sections.to_vec().into(), ..RenderOptions::default() };
    let money = r#"{"price":7,"fees":[{"name":"x","n":1}],"deposit":null}"#;
    check(OBJECT, &manner, &[("section", "\"Money\"")], money);
    check(OBJECT, &manner, &[("section", "\"mon\"")], money);
    check(OBJECT, &manner, &[("section", "\"ids\"")], r#"{"result":{"id":1}}"#);
    check(
        OBJECT,
        &manner,
        &[("section", "\"monye\"")],
        "section_unknown: there is no section monye; did you mean Money?; choose from: Money, ids, id, price, fees, notes, deposit, status, result; path selects any value",
    );
    let meta = shown(OBJECT, &manner, &[]).1;
    let listed: Vec<&String> =
        meta["detailsAvailable"]["sections"].as_object().expect("sections").keys().collect();
    assert_eq!(listed[..2], ["Money", "ids"], "{meta}");
    assert!(!listed.contains(&&"fees".to_owned()), "{meta}");
    // In a list, a section selects those fields of each item.
    let dates =
        RenderOptions { sections: vec![section("dates", &["at"])].into(), ..RenderOptions::default() };
    check(LIST, &dates, &[("section", "\"dates\"")], r#"{"total":3,"items":[{"at":"b"},{"at":"c"}]}"#);
}

#[test]
fn requested_noise_is_shown() {
    let item = |i: usize| format!(r#"{{"id":{i},"_links":{{"self":"/{i}"}},"x":null}}"#);
    let list = format!("[{},{},{}]", item(1), item(2), item(3));
    let manner = RenderOptions::default();
    check(&list, &manner, &[], r#"[{"id":1},{"id":2}]"#);
    check(&list, &manner, &[("page", "2")], r#"[{"id":3}]"#);
    let whole = format!("[{},{}]", item(1), item(2));
    check(&list, &manner, &[("fields", "\"all\"")], &whole);
    check(
        &list,
        &manner,
        &[("fields", "\"_links\"")],
        r#"[{"_links":{"self":"/1"}},{"_links":{"self":"/2"}}]"#,
    );
    check(&list, &manner, &[("path", "\"/1\"")], &item(2));
    check(&list, &manner, &[("raw", "true")], &list);
    check(&list, &RenderOptions { strip_rule: StripRule::none(), ..manner }, &[], &whole);
    let x = RenderOptions { strip_rule: StripRule::from_names(["x", "i*"]), ..RenderOptions::default() };
    check(&list, &x, &[], r#"[{"_links":{"self":"/1"}},{"_links":{"self":"/2"}}]"#);
    assert_eq!(shown(&list, &x, &[]).1["stripped"], serde_json::json!(["id", "x"]));
    let table = r#"{"columns":["id","debug","y"],"rows":[[1,2,null],[3,4,null],[5,6,null]]}"#;
    check(table, &RenderOptions::default(), &[], r#"{"columns":["id"],"rows":[[1],[3]]}"#);
}

#[test]
fn a_summary_of_given_fields_has_all_of_them_and_no_others() {
    let only = |fields: &[&str]| RenderOptions {
        summary_fields: names(fields).into(),
        summary_only: true,
        ..RenderOptions::default()
    };
    // Without its nulls, the object is small.
    let nulls = (0..20).map(|n| format!(",\"empty{n}\":null")).collect::<Vec<_>>().concat();
    let text = format!(r#"{{"status":"ok","result":{{"id":1,"price":7,"note":"n"{nulls}}}}}"#);
    check(&text, &only(&["id", "price"]), &[], r#"{"status":"ok","result":{"id":1,"price":7}}"#);
    let sections = vec![section("money", &["price"])].into();
    let meta = shown(&text, &RenderOptions { sections, ..only(&["id"]) }, &[]).1;
    assert!(meta["detailsAvailable"]["sections"].get("money").is_some(), "{meta}");
    // More than a summary aims at.
    let field = |n: usize| format!("\"field{n}\":\"{}\"", "word ".repeat(8));
    let fields = (0..40).map(field).collect::<Vec<_>>().join(",");
    let wanted: Vec<String> = (0..40).map(|n| format!("field{n}")).collect();
    let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
    check(&format!("{{{fields},\"note\":\"n\"}}"), &only(&wanted), &[], &format!("{{{fields}}}"));
}

#[test]
fn summary_fields_stay_if_few_records_have_them() {
    let summary_fields = ["id".to_owned(), "late".to_owned()].into();
    let manner = RenderOptions { summary_fields, summary_only: true, ..RenderOptions::default() };
    for rare in 0..40 {
        let late = |id: usize| if id == rare { ",\"late\":7" } else { "" };
        let records = (0..40).map(|id| format!("{{\"id\":{id},\"note\":\"n\"{}}}", late(id)));
        let list = format!("[{}]", records.collect::<Vec<_>>().join(","));
        let (body, _) = shown(&list, &manner, &[("limit", "40")]);
        assert!(body.contains("late") && !body.contains("note"), "{rare}: {body}");
    }
}
