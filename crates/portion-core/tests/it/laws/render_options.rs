//! Converts replies in any render options into the default ones, so that the same properties apply to all of
//! them. Also checks exempt parts.

use std::collections::BTreeMap;

use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::{EnvelopeMode, MetadataMode, MetadataStyle, Policy, RenderOptions, Techniques};
use portion_core::render::{Context, FirstReply, Piece, PieceBody, Portion, first_reply};
use portion_core::snapshot::{IndexedText, Layout, Member, PartBody, Structure};
use portion_core::view::{Request, View, resolve};
use portion_json::scan::unescape;
use portion_tokens::Tokenizer;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::choices::{Dice, dice};
use super::json::Json;
use super::lossless::text_payload;
use super::session::Session;
use super::{cases, payloads, reject, requests};

/// Returns random render options without changing other choices of the seed; mostly the default ones.
pub(crate) fn manner(dice: &Dice) -> RenderOptions {
    let off = |turn| !dice.aside(turn, &[true, false, false, false, false]);
    RenderOptions {
        techniques: Techniques { pagination: off(3), summarization: off(4), chunking: off(5), query: true },
        metadata: dice.aside(6, &[MetadataMode::WhenShaped, MetadataMode::WhenShaped, MetadataMode::Always]),
        metadata_style: dice.aside(7, &[MetadataStyle::Camel, MetadataStyle::Snake]),
        envelope: dice.aside(8, &[EnvelopeMode::Auto, EnvelopeMode::Wrap]),
        ..RenderOptions::default()
    }
}

/// Returns a notice with its keys in camel case, after checking that they have the given style.
pub(crate) fn camel(notice: &str, style: MetadataStyle) -> Value {
    let mut notice: Map<String, Value> = serde_json::from_str(notice).expect("a notice is an object");
    if let Some(Value::Object(meta)) = notice.get_mut("meta") {
        *meta = renamed(std::mem::take(meta), style);
    }
    let mut notice = renamed(notice, style);
    if let (MetadataStyle::Snake, Some(meta)) = (style, notice.get_mut("meta")) {
        check_numbers(meta);
    }
    notice.into()
}

fn renamed(object: Map<String, Value>, style: MetadataStyle) -> Map<String, Value> {
    let rename = |(key, value): (String, Value)| {
        if key == "store_unavailable" {
            return (key, value);
        }
        let strange =
            if style == MetadataStyle::Snake { key.contains(char::is_uppercase) } else { key.contains('_') };
        assert!(!strange, "{key} is not in {style:?}");
        let mut camel = String::new();
        let mut words = key.split('_');
        camel.push_str(words.next().unwrap_or_default());
        for word in words {
            camel.push_str(&word[..1].to_uppercase());
            camel.push_str(&word[1..]);
        }
        (camel, value)
    };
    object.into_iter().map(rename).collect()
}

/// Checks that the numbers of a page agree with its offset and size.
fn check_numbers(meta: &Value) {
    let number = |key: &str| meta.get(key).and_then(Value::as_u64);
    let Some(page) = number("currentPage") else {
        assert_ne!(meta["kind"], "page", "{meta}");
        return;
    };
    let (size, offset, served) = (number("pageSize"), number("offset"), number("served"));
    let (size, offset, served) =
        (size.expect("a size"), offset.expect("an offset"), served.expect("a count"));
    assert_eq!(page, offset / size + 1, "{meta}");
    let (end, total) = (offset + served, number("totalCount").expect("a total"));
    // In an envelope, a walk goes on after its list if further parts follow.
    let complete = meta["hasMore"] == true && end < total && end % size == 0;
    assert_eq!(number("nextPage"), complete.then(|| end / size + 1), "{meta}");
}

/// Returns the pieces of a portion without their envelope, and whether there was one.
pub(crate) fn opened(
    session: &Session,
    portion: &Portion,
    notice: &Value,
    view: &View,
) -> (Vec<Piece>, bool) {
    let mut pieces = portion.pieces().to_vec();
    let enveloped = portion.separate_notice().is_none();
    if enveloped {
        assert_eq!(session.policy.render_options.envelope, EnvelopeMode::Wrap);
        let handle = format!("\"cursor\":\"{}\"", portion.start_cursor().expect("every reply has a handle"));
        let is_envelope = |piece: &&mut Piece| {
            piece.mime.as_deref() == Some("application/json") && piece.body.as_str().contains(&handle)
        };
        let piece = pieces.iter_mut().find(is_envelope).expect("a piece that says the notice");
        let part = session.part_of(piece);
        // A value at a path, like a section, has a list of its own.
        let subjects = view.subjects(&session.snapshot);
        let subject = if let [(_, subject)] = subjects[..] { Some(subject) } else { part.indexed_text() };
        let whole = out_of_envelope((session, subject), piece.body.as_str(), portion, notice);
        let items = part.item_blocks && portion.kind().name() == "page" && whole.starts_with('[');
        if !items {
            piece.body = PieceBody::Text(whole);
            piece.mime = part.label.mime_type.clone();
        }
    }
    (pieces, enveloped)
}

type Meta<'a> = BTreeMap<String, &'a RawValue>;

/// Returns the content of an envelope, after checking that it contains the notice.
fn out_of_envelope(
    (session, subject): (&Session, Option<&IndexedText>),
    envelope: &str,
    portion: &Portion,
    notice: &Value,
) -> String {
    let style = session.policy.render_options.metadata_style;
    let members: Meta<'_> = serde_json::from_str(envelope).expect("an envelope is an object");
    let get = |key: &str| members.get(key).map(|raw| raw.get());
    let next = style.key("nextCursor");
    let cursor = get(&next).filter(|json| *json != "null").map(unescape);
    assert_eq!(cursor, notice["nextCursor"].as_str().map(ToOwned::to_owned), "{envelope}");
    assert!(get(&next).is_some() || get("summary").is_some(), "null at the end: {envelope}");
    let assert_keys = |keys: &[&str]| {
        let known = |key: &String| keys.contains(&key.as_str()) || *key == next;
        assert!(members.keys().all(known), "{envelope}");
    };
    let indices = ["chunkIndex", "totalChunks"].map(|key| style.key(key));
    let meta = get("meta").or_else(|| get("metadata")).expect("meta");
    // Members beside a list are as the upstream wrote them, and may be too deep for this parser.
    let mut meta = serde_json::from_str::<Meta<'_>>(meta).expect("an object");
    let beside = meta.remove("beside").map(RawValue::get);
    let inner = camel(&format!("{{\"meta\":{}}}", serde_json::to_string(&meta).expect("JSON")), style);
    for (key, value) in notice["meta"].as_object().expect("an object") {
        let moved = ["chunkIndex", "totalChunks"].contains(&key.as_str()) && get("content").is_some();
        let shown = if moved {
            let number = get(&style.key(key)).map(|raw| serde_json::from_str::<u64>(raw).expect("a number"));
            number.map(Value::from)
        } else {
            inner["meta"].get(key).cloned()
        };
        // Each form reports its own cost.
        let own = ["estimatedTokens", "budgetUsed", "budgetRemaining", "warning"].contains(&key.as_str())
            // A walk goes on after its list if further parts follow.
            || key == "hasMore" && cursor.is_some();
        assert!(own || shown.as_ref() == Some(value), "{key}: {envelope}");
    }
    if let Some(items) = get("items") {
        assert_keys(&["items", "meta"]);
        assert!(items.starts_with('['), "{envelope}");
        let extent = &inner["meta"];
        assert!(extent["totalCount"].is_u64() && extent["pageSize"].is_u64(), "{envelope}");
        // What could not be stored has no cursor to the rest.
        let is_stored = portion.start_cursor().is_some();
        assert!(!is_stored || cursor.is_some() == (extent["hasMore"] == true), "{envelope}");
        return page(subject, items, beside);
    }
    if let Some(summary) = get("summary") {
        assert_keys(&["summary", "meta"]);
        assert!(summary.starts_with('{'), "{envelope}");
        assert!(["preview", "full"].contains(&inner["meta"]["kind"].as_str().expect("a kind")), "{envelope}");
        assert!(
            inner["meta"]["totalFields"].is_u64() && inner["meta"]["projectedFields"].is_array(),
            "{envelope}"
        );
        let details = &inner["meta"]["detailsAvailable"];
        assert!(details["endpoint"].is_string() && details["parameters"].is_object(), "{envelope}");
        return summary.to_owned();
    }
    assert_keys(&["content", "metadata", &indices[0], &indices[1]]);
    let content = get("content").expect("content");
    assert!(
        indices.iter().all(|key| get(key).is_some_and(|number| number.parse::<u64>().is_ok())),
        "{envelope}"
    );
    for key in ["startLine", "endLine", "totalLines", "bytesInChunk"] {
        assert!(inner["meta"][key].is_u64(), "{key}: {envelope}");
    }
    assert!(content.starts_with('"'), "{envelope}");
    unescape(content)
}

/// Returns a page with its items inside the objects around the list.
fn page(subject: Option<&IndexedText>, items: &str, beside: Option<&str>) -> String {
    let list = subject.and_then(|subject| match &subject.structure {
        Structure::List(list) => Some((list, &subject.text)),
        _ => None,
    });
    let Some((list, text)) = list else { return items.to_owned() };
    if list.pointer.is_empty() && list.layout != Layout::Lines {
        assert!(beside.is_none());
        return items.to_owned();
    }
    let value = Json::parse(items).expect("JSON");
    if list.layout == Layout::Lines {
        let Json::Array(lines) = value else { return items.to_owned() };
        return lines.iter().map(Json::minified).collect::<Vec<_>>().join("\n");
    }
    let mut whole = beside.map_or(Json::Object(Vec::new()), |beside| Json::parse(beside).expect("JSON"));
    let mut at = &mut whole;
    for (i, level) in list.enclosing_objects.iter().enumerate() {
        // Keys are copied as written: not all of them can be re-encoded to the same text.
        let key = level.members[level.list_member].key.slice(text);
        let Json::Object(members) = at else { panic!("no object around {items}") };
        // Other members may have the same key: the object around the list is none of them, and keeps its place.
        let others = |range: &[Member]| -> Vec<String> {
            let same = range.iter().filter(|member| member.key.slice(text) == key);
            same.map(|member| Json::parse(member.value.slice(text)).expect("JSON").minified()).collect()
        };
        let (before, after) =
            (others(&level.members[..level.list_member]), others(&level.members[level.list_member + 1..]));
        let is_of = |values: &[String], value: &Json| values.contains(&value.minified());
        let is_around = |(own, value): &(String, Json)| {
            own == key && matches!(value, Json::Object(_)) && !is_of(&before, value) && !is_of(&after, value)
        };
        let found = members.iter().position(is_around).unwrap_or_else(|| {
            let later = |(own, value): &(String, Json)| own == key && is_of(&after, value);
            let place = members.iter().position(later).unwrap_or(members.len());
            members.insert(place, (key.to_owned(), Json::Object(Vec::new())));
            place
        });
        at = &mut members[found].1;
        if i + 1 == list.enclosing_objects.len() {
            *at = value;
            break;
        }
    }
    whole.minified()
}

/// Checks that every part of a kind is served as received if shaping of that kind is off.
pub(crate) fn check_left(mut dice: Dice) -> TestCaseResult {
    let mut policy = requests::policy(&mut dice);
    let flag = |turn| dice.aside(turn, &[true, false]);
    let techniques =
        Techniques { pagination: flag(20), summarization: flag(21), chunking: flag(22), query: true };
    policy.render_options.techniques = techniques;
    let payload = payloads::payload(&mut dice);
    let clean = payload.invalid_utf8_count == 0;
    let session = Session::new(payload, policy, Tokenizer::Chars4.counter());
    let none = !(techniques.pagination || techniques.summarization || techniques.chunking);
    let readable = session.snapshot.parts().iter().all(|part| part.indexed_text().is_some());
    let reply = session.call(&Request::default()).expect("plain");
    let always = session.policy.render_options.metadata == MetadataMode::Always;
    assert!(!(none && readable && clean && !always) || reply.is_none());
    let Some(reply) = reply else { return reject("the result passes untouched") };
    let apart = session.snapshot.structured_part().is_some();
    for (at, part) in session.snapshot.parts().iter().enumerate() {
        let structured = apart && part.address == "/structuredContent";
        if !session.is_left(at) || part.duplicate.is_some() || part.item_blocks || structured {
            continue;
        }
        let shown = reply.pieces.iter().find(|piece| piece.address == part.address);
        let shown = shown.unwrap_or_else(|| panic!("{} is not shown", part.address));
        if reply.enveloped
            && part.indexed_text().is_some_and(|subject| matches!(subject.structure, Structure::List(_)))
        {
            continue;
        }
        assert!(
            shown.body.as_str() == part.text()
                || reply.enveloped && shown.body.as_str() == part.text().trim()
        );
    }
    Ok(())
}

/// Checks that with metadata always on, a small payload passes as received with a notice.
fn check_always(mut dice: Dice) -> TestCaseResult {
    let text = payloads::body(&mut dice);
    let (counter, policy) = (Tokenizer::Chars4.counter(), Policy::default());
    let usual = Session::new(text_payload(text.clone()), policy.clone(), counter);
    let small = usual.call(&Request::default()).expect("plain").is_none();
    let manner = RenderOptions { metadata: MetadataMode::Always, ..RenderOptions::default() };
    let session =
        Session::new(text_payload(text.clone()), Policy { render_options: manner, ..policy }, counter);
    let reply = session.call(&Request::default()).expect("plain").expect("always told of");
    prop_assume!(small && counter.count(&text) < 3_000);
    assert_eq!(reply.text(), text);
    assert!(reply.next().is_none() && ["page", "whole"].contains(&reply.kind()), "{reply:?}");
    Ok(())
}

proptest! {
    #![proptest_config(cases(800))]
    #[test]
    fn parts_pass_as_received_if_shaping_is_off(dice in dice()) {
        check_left(dice)?;
    }

    #[test]
    fn metadata_always_changes_nothing_small(dice in dice()) {
        check_always(dice)?;
    }
}

/// A large payload is relayed, and explicit requests are still served.
#[test]
fn a_large_list_is_relayed_unless_something_is_requested() {
    let items: Vec<String> = (0..5_000).map(|i| format!("{{\"id\":{i},\"name\":\"Room {i}\"}}")).collect();
    let list = format!("{{\"rooms\": [{}]}}", items.join(","));
    let mut policy = Policy::default();
    policy.render_options.techniques.pagination = false;
    let block =
        |at: usize, text: &str| Block::new(format!("/content/{at}/text"), Content::Text(text.to_owned()));
    let prose = "A word of prose. ".repeat(4_000);
    let payload = Payload { blocks: vec![block(0, &prose), block(1, &list)], ..Payload::default() };
    let alone = Session::new(text_payload(list.clone()), policy.clone(), Tokenizer::Chars4.counter());
    assert!(alone.call(&Request::default()).expect("plain").is_none());
    let limit = Request { limit: Some(7), ..Request::default() };
    let page = alone.call(&limit).expect("a limit").expect("asked for");
    assert_eq!(page.notice["meta"]["served"], 7);
    let cheap = Request { max_tokens: Some(600), ..Request::default() };
    let replies = alone.walk(&cheap).expect("cheap").expect("asked for");
    let served: u64 = replies.iter().filter_map(|reply| reply.notice["meta"]["served"].as_u64()).sum();
    assert_eq!(served, 5_000);

    let beside = Session::new(payload, policy, Tokenizer::Chars4.counter());
    let replies = beside.walk(&Request::default()).expect("plain").expect("the prose is long");
    assert_eq!((replies[0].pieces.len(), replies[0].kind()), (2, "chunk"));
    assert!(replies[0].pieces[1].body.as_str() == list);
    let read =
        replies.iter().flat_map(|reply| &reply.pieces).filter(|piece| piece.address == "/content/0/text");
    assert!(read.map(|piece| piece.body.as_str()).collect::<String>() == prose);
    // If the budget is small, the notice says how to read the list.
    let first = beside.call(&cheap).expect("cheap").expect("asked for");
    assert!(first.notice["meta"]["partsNotShown"]["/content/1/text"].is_string(), "{}", first.notice);
    let again = beside.read(&replies[0].view, replies[0].start(), &Request::default()).expect("a handle");
    assert!(again.notice["meta"]["partsNotShown"]["/content/1/text"].is_string(), "{}", again.notice);
    assert!(matches!(beside.snapshot.parts()[1].body, PartBody::Indexed(_)));
}

/// Beside tens of thousands of exempt parts, another part is still served in portions, and fast.
#[test]
fn very_many_exempt_parts_are_relayed() {
    let mut policy = Policy::default();
    policy.render_options.techniques.chunking = false;
    let items: Vec<String> = (0..5_000).map(|i| format!("{{\"id\":{i}}}")).collect();
    let block = |at: usize, text: String| Block::new(format!("/content/{at}/text"), Content::Text(text));
    let mut blocks: Vec<Block> = (0..30_000).map(|at| block(at, format!("Word {at}."))).collect();
    blocks.push(block(30_000, format!("[{}]", items.join(","))));
    let payload = Payload { blocks, ..Payload::default() };
    let session = Session::new(payload, policy, Tokenizer::Chars4.counter());
    let resolved = resolve(&session.snapshot, None, &Request::default(), &session.policy).expect("plain");
    let cx = Context {
        policy: &session.policy,
        counter: session.counter,
        issue_cursor: &|_| None,
        read_call: "portion_read".into(),
        query_tool: None,
        read_uri: None,
    };
    let FirstReply::Portion(portion) = first_reply(&session.snapshot, &resolved, &cx) else {
        panic!("a large list")
    };
    assert_eq!((portion.pieces().len(), portion.kind().name()), (30_001, "page"));
    assert!(portion.pieces()[7].body.as_str() == "Word 7.");
}
