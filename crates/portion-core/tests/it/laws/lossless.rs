//! Nothing is lost: pages join to the list, chunks to the text, raw chunks to the bytes.

use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::RowStyle;
use portion_core::render::PieceBody;
use portion_core::snapshot::{IndexedText, Layout, Part, PartBody, Structure};
use portion_core::view::Request;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::choices::{Dice, dice};
use super::json::Json;
use super::session::{Reply, Session};
use super::{cases, payloads, reject, requests, table};

pub(crate) fn text_payload(text: String) -> Payload {
    let block = Block::new("/content/0/text", Content::Text(text));
    Payload { blocks: vec![block], ..Payload::default() }
}

fn session(dice: &mut Dice, text: String) -> Session {
    let policy = requests::policy(dice);
    Session::new(text_payload(text), policy, requests::counter(dice))
}

fn request(controls: &[(&str, &str)], session: &Session) -> Request {
    let mut request = Request::default();
    for (name, json) in controls {
        request.set_control(name, json, &session.policy).expect("a control");
    }
    request
}

fn subject(session: &Session) -> &IndexedText {
    session.snapshot.parts()[0].indexed_text().expect("text")
}

/// Returns the items of a list in a text, in the list's layout: keys with their values for a map.
fn items(session: &Session, text: &str) -> Vec<(Option<String>, Json)> {
    let Structure::List(list) = &subject(session).structure else { panic!("no list") };
    let table = table::expanded(text, subject(session));
    let text = table.as_deref().unwrap_or(text);
    if list.layout == Layout::Lines {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        return lines.map(|line| (None, Json::parse(line).expect("a line of JSON"))).collect();
    }
    let whole = Json::parse(text).unwrap_or_else(|| panic!("no JSON: {text}"));
    match whole.at(&list.pointer) {
        Some(Json::Array(items)) => items.iter().map(|item| (None, item.clone())).collect(),
        Some(Json::Object(members)) => {
            members.iter().map(|(key, value)| (Some(key.clone()), value.clone())).collect()
        }
        other => panic!("no list at {}: {other:?}", list.pointer),
    }
}

/// Returns the items of a walk, with raw pieces joined.
fn joined(session: &Session, replies: &[Reply]) -> Vec<(Option<String>, Json)> {
    let whole: &str = &subject(session).text;
    let mut all = Vec::new();
    let mut raw = String::new();
    for reply in replies {
        let meta = &reply.notice["meta"];
        match reply.kind() {
            "page" => {
                let page = items(session, reply.text());
                assert_eq!(meta["served"], page.len());
                all.extend(page);
            }
            "raw" => {
                raw.push_str(reply.text());
                if meta["endByte"] == meta["totalBytes"] {
                    assert!(whole.contains(&raw), "not the bytes of the item");
                    let item = Json::parse(&raw).expect("an item");
                    all.push((None, item));
                    raw.clear();
                }
            }
            kind => panic!("{kind} in a walk of all fields"),
        }
    }
    assert!(raw.is_empty());
    all
}

pub(crate) fn check_list(mut dice: Dice) -> TestCaseResult {
    let text = payloads::list(&mut dice);
    let session = session(&mut dice, text);
    prop_assume!(matches!(subject(&session).structure, Structure::List(_)));
    let whole = items(&session, &subject(&session).text);
    let limit = dice.pick(&["1", "3", "50", "null"]);
    let all = request(&[("fields", "\"all\""), ("limit", limit)], &session);
    let Some(replies) = session.walk(&all).expect("a list has fields") else {
        return reject("the list passes untouched");
    };
    let mut read = joined(&session, &replies);
    assert_eq!(read.len(), whole.len());
    // A table keeps the content of each record, not the order of its keys.
    let dense = replies.iter().any(|reply| reply.notice["meta"]["rows"] == "dense");
    assert!(!dense || session.policy.rows == RowStyle::Auto);
    let mut whole = whole;
    if session.policy.render_options.default_sort.is_some() {
        // The order of records is checked elsewhere.
        let spelled = |(_, item): &(_, Json)| item.clone().sorted().minified();
        whole.sort_by_key(spelled);
        read.sort_by_key(spelled);
    }
    let ordered = |item: &Json| if dense { item.clone().sorted() } else { item.clone() };
    for ((key, item), (own_key, own)) in read.iter().zip(&whole) {
        assert!(key.is_none() || key == own_key, "{key:?} is not {own_key:?}");
        assert_eq!(ordered(item), ordered(own));
    }
    Ok(())
}

pub(crate) fn check_chunks(mut dice: Dice) -> TestCaseResult {
    let text = payloads::text(&mut dice);
    let session = session(&mut dice, text.clone());
    prop_assume!(!subject(&session).is_json());
    let limit = dice.pick(&["null", "null", "1", "30"]);
    let Some(replies) = session.walk(&request(&[("limit", limit)], &session)).expect("valid") else {
        return reject("the text passes untouched");
    };
    let read: String = replies.iter().map(Reply::text).collect();
    assert_eq!(read, text);
    let first = &replies[0].notice["meta"];
    if limit == "null" && first["kind"] == "chunk" {
        assert_eq!(first["chunkIndex"], 0);
    }
    Ok(())
}

/// Checks the raw chunks of the payload, and of a value in it.
pub(crate) fn check_raw(mut dice: Dice) -> TestCaseResult {
    let text = payloads::body(&mut dice);
    let session = session(&mut dice, text.clone());
    let raw = request(&[("raw", "true")], &session);
    let replies = session.walk(&raw).expect("raw goes with anything").expect("asked for");
    assert_eq!(replies.iter().map(Reply::text).collect::<String>(), text);

    let Some(whole) = Json::parse(&text) else { return reject("no JSON, or too deep") };
    let pointer = some_pointer(&mut dice, &whole);
    let value = whole.at(&pointer).expect("it is there");
    let mut here = raw.clone();
    here.path = Some(pointer.clone());
    let replies = session.walk(&here).unwrap_or_else(|e| panic!("{pointer}: {e}")).expect("asked for");
    let read: String = replies.iter().map(Reply::text).collect();
    assert_eq!(Json::parse(&read).as_ref(), Some(value), "{pointer}");
    assert!(text.contains(&read));
    // A selected string is shown as its unescaped text.
    if let (Json::Text(quoted), false) = (value, pointer.is_empty()) {
        here.raw = false;
        let replies = session.walk(&here).expect("it is there").expect("asked for");
        let read: String = replies.iter().map(Reply::text).collect();
        assert_eq!(read, portion_json::scan::unescape(quoted));
    }
    Ok(())
}

/// Returns a pointer to some value, through keys that are unique.
fn some_pointer(dice: &mut Dice, whole: &Json) -> String {
    let (mut pointer, mut at) = (String::new(), whole);
    while !dice.once_in(4) {
        let (step, next) = match at {
            Json::Array(items) if !items.is_empty() => {
                let i = dice.below(items.len());
                (i.to_string(), &items[i])
            }
            Json::Object(members) if !members.is_empty() => {
                let (key, value) = &members[dice.below(members.len())];
                let name = portion_json::scan::unescape(key);
                if at.get(&name) != Some(value) {
                    break;
                }
                (name.replace('~', "~0").replace('/', "~1"), value)
            }
            _ => break,
        };
        pointer = format!("{pointer}/{step}");
        at = next;
    }
    pointer
}

pub(crate) fn check_lines(mut dice: Dice) -> TestCaseResult {
    let text = payloads::text(&mut dice);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let session = session(&mut dice, text.clone());
    prop_assume!(!lines.is_empty());
    let first = dice.within(1, lines.len());
    let last = dice.within(first, lines.len());
    let from_end = |line: usize| line as i64 - lines.len() as i64 - 1;
    let mut range =
        Request { start_line: Some(first as i64), end_line: Some(last as i64), ..Request::default() };
    if dice.once_in(2) {
        range.start_line = Some(from_end(first));
    }
    if dice.once_in(2) {
        range.end_line = Some(from_end(last));
    }
    let replies = session.walk(&range).expect("a range").expect("asked for");
    let read: String = replies.iter().map(Reply::text).collect();
    assert_eq!(read, lines[first - 1..last].concat());
    let (begin, end) = (&replies[0].notice["meta"], &replies[replies.len() - 1].notice["meta"]);
    assert_eq!((&begin["startLine"], &end["endLine"]), (&first.into(), &last.into()));
    Ok(())
}

/// Checks that every part of a result is shown: whole, in part, or described.
pub(crate) fn check_parts(mut dice: Dice) -> TestCaseResult {
    let policy = requests::policy(&mut dice);
    let session = Session::new(payloads::payload(&mut dice), policy, requests::counter(&mut dice));
    let Some(replies) = session.walk(&Request::default()).expect("plain") else {
        return reject("the result passes untouched");
    };
    for part in session.snapshot.parts().iter().filter(|part| part.duplicate.is_none()) {
        let pieces: Vec<(&Reply, &PieceBody)> = replies
            .iter()
            .flat_map(|reply| reply.pieces.iter().map(move |piece| (reply, piece)))
            .filter(|(_, piece)| session.part_of(piece).address == part.address)
            .map(|(reply, piece)| (reply, &piece.body))
            .collect();
        let apart = part.address == "/structuredContent" && replies[0].portion.structured().is_some();
        // A part beside the content, and media for which a small budget has no room, are shown whole or named.
        let not_shown = &replies[0].notice["meta"]["partsNotShown"];
        let named = match &part.body {
            PartBody::Atomic { aside: true, .. } => not_shown.is_object(),
            PartBody::Atomic { .. } => not_shown.get(format!("{}/data", part.address)).is_some(),
            PartBody::Indexed(_) => false,
        };
        assert!(apart || named || !pieces.is_empty(), "{} is never shown", part.address);
        let text = part.indexed_text().filter(|subject| !apart && !subject.is_json());
        if let Some(subject) = text {
            let shown: String = pieces.iter().map(|(_, body)| body.as_str()).collect();
            // A JSON string is shown as it came, or by its lines.
            let expected = if shown == part.text() { part.text() } else { &*subject.text };
            assert_eq!(shown, expected, "{}", part.address);
        }
    }
    Ok(())
}

#[test]
fn small_parts_beside_images_are_shown() {
    // Regression: a small text did not fit beside the images, and no cursor led to it.
    check_parts(Dice::new(11_162_477_135_874_102_444)).expect("it is checked");
}

#[test]
fn a_cut_item_with_a_long_notice_fits_the_minimum_budget() {
    // Regression: the shortest notice repeated its next call, and was over the budget without any content.
    check_parts(Dice::new(17_084_502_918_810_003_660)).expect("it is checked");
}

/// Checks that a raw walk returns all parts as received.
pub(crate) fn check_raw_parts(mut dice: Dice) {
    let policy = requests::policy(&mut dice);
    let session = Session::new(payloads::payload(&mut dice), policy, requests::counter(&mut dice));
    let replies = session.walk(&request(&[("raw", "true")], &session)).expect("raw").expect("asked for");
    let parts = session.snapshot.parts().iter().filter(|part| part.duplicate.is_none());
    let whole: String = parts.map(Part::text).collect();
    assert_eq!(replies.iter().map(Reply::text).collect::<String>(), whole);
}

proptest! {
    #![proptest_config(cases(700))]
    #[test]
    fn pages_joined_are_the_list(dice in dice()) {
        check_list(dice)?;
    }

    #[test]
    fn raw_chunks_joined_are_the_bytes(dice in dice()) {
        check_raw(dice)?;
    }

    #[test]
    fn ranges_are_exact(dice in dice()) {
        check_lines(dice)?;
    }
}

proptest! {
    #![proptest_config(cases(300))]
    #[test]
    fn chunks_joined_are_the_text(dice in dice()) {
        check_chunks(dice)?;
    }

    #[test]
    fn one_cursor_crosses_all_parts(dice in dice()) {
        check_parts(dice)?;
    }

    #[test]
    fn raw_chunks_cross_all_parts(dice in dice()) {
        check_raw_parts(dice);
    }
}
