//! Payloads that once violated a property. Each is walked to its end, and every reply is checked.

use portion_core::cursor::{CursorTarget, Keyring, PartOffset, Position, Scope};
use portion_core::payload::{Block, Content, Payload, UpstreamList};
use portion_core::policy::Policy;
use portion_core::render::{Context, follow_up_reply};
use portion_core::view::{Request, View, resolve};
use portion_tokens::Tokenizer;

use super::session::{Reply, Session};

/// Returns the replies to a call under limits of `tokens`, up to the last.
fn check(parts: &[(&str, Content)], controls: &[(&str, &str)], tokens: usize) -> Vec<Reply> {
    let policy = Policy {
        reply_target: tokens,
        ranked_target: tokens,
        token_budget_threshold: tokens.max(600),
        hard_cap: 1_200,
        ..Policy::default()
    };
    let block = |(address, content): &(&str, Content)| Block::new(*address, content.clone());
    let blocks = parts.iter().map(block).collect();
    let payload = Payload { blocks, ..Payload::default() };
    let session = Session::new(payload, policy, Tokenizer::O200k.counter());
    let mut request = Request::default();
    for (name, json) in controls {
        request.set_control(name, json, &session.policy).expect("a control");
    }
    session.walk(&request).expect("it is there").unwrap_or_default()
}

fn text(text: impl Into<String>) -> Content {
    Content::Text(text.into())
}

fn block(json: String) -> Content {
    Content::Atomic { json, binary: None }
}

const TEXT: &str = "/content/0/text";
const FIRST: &str = "/content/0";
const SECOND: &str = "/content/1/text";

#[test]
fn a_ragged_row_makes_no_table() {
    let rows: Vec<String> = (0..200).map(|i| format!("[{i},\"{}\",1]", "word ".repeat(20))).collect();
    let table =
        format!("{{\"columns\":[\"id\",\"text\",\"n\"],\"rows\":[{},[7],{{\"id\":1}}]}}", rows.join(","));
    let replies = check(&[(TEXT, text(table))], &[], 600);
    assert!(replies.len() > 1);
}

#[test]
fn a_block_too_large_for_any_reply_is_described() {
    let json = format!("{{\"type\":\"resource_link\",\"description\":\"{}\"}}", "a word ".repeat(30));
    let replies = check(&[(FIRST, block(json)), (SECOND, text("word ".repeat(900)))], &[], 300);
    assert!(replies[0].portion.pieces()[0].address == FIRST);
}

#[test]
fn data_alone_makes_no_media() {
    let json = format!("{{\"type\":\"later\",\"data\":\"{}\"}}", " ".repeat(100_000));
    let replies = check(&[(FIRST, block(json))], &[], 600);
    assert!(replies[0].portion.notice().len() < 600);
}

#[test]
fn each_of_two_summaries_has_a_notice() {
    let words = "a word ".repeat(2_000);
    let object = format!("{{\"id\":1,\"status\":\"open\",\"notes\":\"{words}\",\"log\":\"{words}\"}}");
    let parts = [(TEXT, text(object.clone())), (SECOND, text(object))];
    let replies = check(&parts, &[], 1_200);
    let summaries = replies.iter().filter(|reply| reply.notice["meta"]["detailsAvailable"].is_object());
    assert_eq!(summaries.count(), 2);
}

#[test]
fn raw_skips_empty_parts() {
    let parts = [(TEXT, text("")), (SECOND, text("")), ("/content/2/text", text("x"))];
    let replies = check(&parts, &[("raw", "true")], 600);
    assert_eq!(replies.len(), 1);
    assert_eq!(replies[0].text(), "x");
}

#[test]
fn raw_reads_structured_content() {
    let json = "{ \"id\": 1 }";
    let replies = check(&[("/structuredContent", Content::Structured(json.into()))], &[("raw", "true")], 600);
    assert_eq!(replies[0].text(), json);
}

#[test]
fn parts_omitted_beside_the_content_are_named() {
    let aside = format!("{{\"trace\":\"{}\"}}", "a word ".repeat(9_000));
    let parts =
        [("/structuredContent", Content::Structured("{\"id\":1}".into())), ("/_meta", Content::Extra(aside))];
    let replies = check(&parts, &[], 600);
    assert!(replies[0].notice["meta"]["partsNotShown"].is_object());
}

#[test]
fn few_members_beside_the_content_are_named_and_many_are_walked() {
    let names: Vec<String> = (0..40).map(|i| format!("/member{i}")).collect();
    let aside = |name| (name, Content::Extra(format!("\"{}\"", "a word ".repeat(500))));
    let asides = names.iter().map(|name| aside(name.as_str()));
    let parts: Vec<(&str, Content)> = std::iter::once((TEXT, text("seen"))).chain(asides).collect();
    for tokens in [300, 600] {
        let replies = check(&parts[..=12], &[], tokens);
        assert_eq!(replies.len(), 1);
        let first_size = replies[0].notice["meta"]["partsNotShown"]["/member0"].as_str();
        assert_eq!(first_size, Some("3502 bytes"), "{}", replies[0].notice);
        let replies = check(&parts, &[], tokens);
        let pieces = replies.iter().flat_map(|reply| &reply.pieces);
        let shown: Vec<&str> = pieces.map(|piece| piece.address.as_str()).collect();
        assert!(names.iter().all(|name| shown.contains(&name.as_str())), "{shown:?}");
    }
}

#[test]
fn a_pointer_may_end_in_a_space() {
    let replies = check(&[(TEXT, text("{\"a \":{\"id\":1}}"))], &[("path", "\"/a \"")], 600);
    assert_eq!(replies[0].text(), "{\"id\":1}");
}

#[test]
fn the_minimum_budget_makes_progress() {
    let words = "A sentence of words. ".repeat(500);
    let replies = check(&[(TEXT, text(words.clone()))], &[], 300);
    assert!(replies.len() <= words.len() / 100, "{} replies", replies.len());
}

#[test]
fn past_the_end_of_a_wide_table_there_is_no_header() {
    let table = format!("{{\"columns\":[\"{}\"],\"rows\":[[1]]}}", "wide ".repeat(3_000));
    let replies = check(&[(TEXT, text(table))], &[("offset", "9")], 600);
    assert_eq!(replies[0].text(), "{\"rows\":[]}");
    assert_eq!(replies[0].notice["meta"]["pastEnd"], true);
}

#[test]
fn a_page_without_items_says_nothing_of_their_fields() {
    let record = |n: usize| format!("{{\"id\":{n},\"name\":\"n{n}\",\"about\":\"{}\"}}", "word ".repeat(400));
    let list = format!("[{}]", (0..120).map(record).collect::<Vec<_>>().join(","));
    let list_state =
        UpstreamList { fetched: 120, total: Some(500), is_partial: true, ..UpstreamList::default() };
    let payload = Payload {
        blocks: vec![Block::new(TEXT, text(list))],
        upstream_list: Some(Box::new(list_state)),
        ..Payload::default()
    };
    let session = Session::new(payload, Policy::default(), Tokenizer::O200k.counter());
    let first = session.call(&Request::default()).expect("plain").expect("long");
    assert!(first.notice["meta"].get("condensed").is_some(), "{}", first.notice);
    let end = Position { offset: PartOffset::Item(120), ..Position::default() };
    let resolved = resolve(&session.snapshot, Some((&first.view, end)), &Request::default(), &session.policy)
        .expect("a place after the items");
    let keyring = Keyring::new(&[0; 32]);
    let mint = |position| {
        let target = CursorTarget { snapshot: [0; 6], view: resolved.view.id(), position };
        Some(keyring.sign(&target, &Scope::from_principal("")))
    };
    let cx = Context {
        policy: &session.policy,
        counter: session.counter,
        issue_cursor: &mint,
        read_call: "portion_read".into(),
        query_tool: None,
        read_uri: None,
    };
    let portion = follow_up_reply(&session.snapshot, &resolved, &cx);
    assert!(!portion.notice().contains("condensed"), "{}", portion.notice());
    assert!(!portion.notice().contains("fields=all"), "{}", portion.notice());
}

#[test]
fn items_of_an_object_are_those_of_its_largest_list() {
    let record = |n: usize| format!("{{\"id\":{n},\"name\":\"n{n}\",\"rank\":{}}}", 900 - n);
    let records = (0..300).map(record).collect::<Vec<_>>().join(",");
    let others = (0..200).map(|n| format!("{{\"other\":\"o{n}\"}}")).collect::<Vec<_>>().join(",");
    let object = format!("{{\"id\":7,\"title\":\"a report\",\"rows\":[{records}],\"others\":[{others}]}}");
    let payload = Payload { blocks: vec![Block::new(TEXT, text(object))], ..Payload::default() };
    let session = Session::new(payload, Policy::default(), Tokenizer::O200k.counter());
    let request = |controls: &[(&str, &str)]| {
        let mut request = Request { cursor: Some("of the first reply".to_owned()), ..Request::default() };
        for (name, json) in controls {
            assert_eq!(request.set_control(name, json, &session.policy), Ok(true));
        }
        request
    };
    let ask = |controls: &[(&str, &str)]| {
        let reply = session.read(&View::root(), Position::default(), &request(controls)).expect("items");
        assert_eq!(reply.notice["meta"]["path"], "/rows", "{}", reply.notice);
        reply
    };
    assert!(ask(&[("offset", "64"), ("limit", "1")]).text().contains(&record(64)));
    assert!(ask(&[("sort", "\"rank\""), ("limit", "1")]).text().contains(&record(299)));
    let walk = session.walk_on(ask(&[("page", "1"), ("limit", "50")]));
    let count = |reply: &Reply| reply.text().matches("{\"id\":").count();
    assert_eq!(walk.iter().map(count).sum::<usize>(), 300);
}
