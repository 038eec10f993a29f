//! Properties of an operator's settings for an endpoint: noise is stripped by default and reported, the same
//! on every page; sections are whole; an order holds.

use std::collections::BTreeSet;
use std::sync::Arc;

use portion_core::policy::{NamedSection, Policy, RenderOptions, RowStyle, StripRule};
use portion_core::view::Request;
use portion_json::scan::quote;
use portion_tokens::Tokenizer;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::choices::{Dice, dice};
use super::json::Json;
use super::lossless::text_payload;
use super::session::{Reply, Session};
use super::{cases, payloads};

/// Returns settings for the payloads that [`payloads`] generates.
pub(crate) fn known(dice: &Dice, manner: &RenderOptions) -> RenderOptions {
    let section = |name: &str, fields: &[&str]| NamedSection {
        name: name.into(),
        fields: fields.iter().map(|f| (*f).into()).collect(),
    };
    let first: &[&str] = dice.aside(
        13,
        &[&[], &["notes", "price"], &["history", "nothing", "guest.key1", "lines"], &["", "/status", "a.b"]],
    );
    let sections = match dice.aside(14, &[0, 1, 2]) {
        0 => Vec::new(),
        1 => vec![section("money", &["price", "financials", "/lines"]), section("nothing", &["nothing"])],
        _ => vec![
            section("money", &["price.total", "key1", "key2.key1"]),
            section("lines", &["text", "lines.key0"]),
        ],
    };
    let strip = match dice.aside(15, &[0, 1, 2, 3, 4]) {
        0 => StripRule::none(),
        1 => StripRule::from_names(["status", "total", "key1", "col1", "meta"]),
        2 => StripRule::from_names(["*"]),
        3 => StripRule::from_names(["key*", "price.*", "note*", "history", "null-only", "*.b"]),
        _ => StripRule::default_noise(),
    };
    RenderOptions {
        list_path: dice
            .aside(16, &[None, Some("items"), Some("/data/items"), Some("rows"), Some("financials")])
            .map(Arc::from),
        summary_fields: first.iter().map(|field| (*field).to_owned()).collect(),
        sections: sections.into(),
        default_sort: dice
            .aside(17, &[None, None, Some("price.total desc"), Some("name"), Some("col0 desc"), Some("")])
            .map(Arc::from),
        strip_rule: strip,
        ..manner.clone()
    }
}

fn word(text: &str) -> Json {
    Json::Word(text.into())
}

fn object(members: Vec<(&str, Json)>) -> Json {
    Json::Object(members.into_iter().map(|(name, value)| (quote(name), value)).collect())
}

/// Generates a record with noise.
fn record(dice: &mut Dice, i: usize) -> Json {
    let noise = object(vec![("self", Json::Text(quote(&format!("/r/{i}"))))]);
    let mut members = vec![
        ("_links", noise.clone()),
        ("id", word(&i.to_string())),
        ("name", Json::Text(quote(&payloads::prose(dice, 2)))),
        ("weight", word(&dice.below(9).to_string())),
        ("room", object(vec![("debug", noise), ("beds", word("2"))])),
        ("gone", word("null")),
        ("notes", Json::Text(quote(&payloads::prose(dice, 6)))),
    ];
    if dice.once_in(3) {
        members.retain(|(name, _)| *name != "room");
    }
    object(members)
}

fn list(dice: &mut Dice) -> Vec<Json> {
    (0..dice.within(51, 120)).map(|i| record(dice, i)).collect()
}

/// Collects the dotted paths of the fields of a value.
fn paths(value: &Json, path: &str, all: &mut BTreeSet<String>) {
    if let Json::Object(members) = value {
        for (key, value) in members {
            let name = portion_json::scan::unescape(key);
            let path = if path.is_empty() { name } else { format!("{path}.{name}") };
            paths(value, &path, all);
            all.insert(path);
        }
    }
}

fn session(text: String, manner: RenderOptions, tokens: usize) -> Session {
    let policy = Policy {
        reply_target: tokens,
        ranked_target: tokens,
        token_budget_threshold: tokens,
        rows: RowStyle::Objects,
        render_options: manner,
        ..Policy::default()
    };
    Session::new(text_payload(text), policy, Tokenizer::Chars4.counter())
}

fn page(reply: &Reply) -> Vec<Json> {
    match Json::parse(reply.text()).as_ref().and_then(|page| page.at("/items")) {
        Some(Json::Array(items)) => items.clone(),
        other => panic!("no items: {other:?}"),
    }
}

fn check_noise(mut dice: Dice) {
    let items = list(&mut dice);
    let around = vec![("items", Json::Array(items.clone())), ("debug", word("1")), ("count", word("7"))];
    let sort = dice.pick(&[None, Some("weight desc"), Some("nothing")]).map(Into::into);
    let summary_fields = [vec![], vec!["weight".to_owned()]][dice.below(2)].clone().into();
    let manner = RenderOptions { default_sort: sort, summary_fields, ..RenderOptions::default() };
    let session = session(object(around).minified(), manner, dice.within(1_500, 4_000));
    let replies = session.walk(&Request::default()).expect("plain").expect("large");
    let shown: Vec<Json> = replies.iter().flat_map(page).collect();
    assert_eq!(shown.len(), items.len());

    for item in &shown {
        let mut left = BTreeSet::new();
        paths(item, "", &mut left);
        assert!(
            left.iter().all(|path| !["_links", "room.debug", "gone"].contains(&path.as_str())),
            "{left:?}"
        );
        assert!(left.contains("id"), "identities stay: {left:?}");
    }
    for reply in &replies {
        let meta = &reply.notice["meta"];
        assert_eq!(meta["stripped"], serde_json::json!(["_links", "room.debug", "debug"]));
        assert_eq!(meta["nulls"], serde_json::json!(["gone"]));
    }
    let weights: Vec<String> =
        shown.iter().filter_map(|item| item.get("weight")).map(Json::minified).collect();
    if session.policy.render_options.default_sort.as_deref() == Some("weight desc")
        && weights.len() == shown.len()
    {
        assert!(weights.is_sorted_by(|a, b| a >= b), "{weights:?}");
        assert_eq!(replies[0].notice["meta"]["sort"], "weight desc");
    }
    if !session.policy.render_options.summary_fields.is_empty() {
        assert_eq!(weights.len(), shown.len());
    }
    // Stripped fields can be requested.
    for fields in ["_links,gone,room", "all"] {
        let request = Request { fields: Some(fields.into()), ..Request::default() };
        let requested = session.walk(&request).expect("they are there").expect("asked for");
        assert!(requested.iter().flat_map(page).all(|item| item.get("_links").is_some()));
        assert!(requested.iter().all(|reply| reply.notice["meta"].get("stripped").is_none()));
    }
}

fn is_whole(reply: &Reply) -> bool {
    reply.notice["meta"]["kind"] == "whole"
}

fn check_section(mut dice: Dice) -> TestCaseResult {
    let fields = ["guest", "key1", "financials.key0", "lines", "nothing"];
    let of = |dice: &mut Dice| -> Vec<String> {
        fields.iter().filter(|_| dice.once_in(2)).map(|field| (*field).to_owned()).collect()
    };
    let sections = [("one", of(&mut dice)), ("two", of(&mut dice))];
    let sections = sections.map(|(name, fields)| NamedSection { name: name.into(), fields });
    let manner = RenderOptions { sections: sections.to_vec().into(), ..RenderOptions::default() };
    let whole = payloads::object(&mut dice);
    let session = session(whole.minified(), manner, 4_000);
    let mut whole_sections = 0;
    for section in &sections {
        let request = Request { section: Some(section.name.clone()), ..Request::default() };
        let replies = match session.walk(&request) {
            Ok(replies) => replies.expect("asked for"),
            Err(error) => {
                assert_eq!(error.code().name(), "section_unknown");
                continue;
            }
        };
        let [reply] = &replies[..] else { continue };
        if !is_whole(reply) {
            continue;
        }
        whole_sections += 1;
        let Some(Json::Object(shown)) = Json::parse(reply.text()) else { panic!("no object: {reply:?}") };
        'members: for (key, value) in &shown {
            let name = portion_json::scan::unescape(key);
            let inside = |field: &String| field.strip_prefix(&name).is_some_and(|rest| rest.starts_with('.'));
            let mine = section.fields.iter().any(|field| *field == name || inside(field));
            assert!(mine, "{name} is of no {section:?}");
            let own = |(other, own): &(String, Json)| {
                other == key
                    && if section.fields.contains(&name) { own == value } else { value.is_left_of(own) }
            };
            // The core object may be nested.
            let mut objects = vec![&whole];
            while let Some(Json::Object(members)) = objects.pop() {
                if members.iter().any(own) {
                    continue 'members;
                }
                objects
                    .extend(members.iter().map(|(_, value)| value).filter(|v| matches!(v, Json::Object(_))));
            }
            panic!("{name} is not whole");
        }
        // Another section can be read from there. Where only one of the replies has room for it whole, they differ: the
        // notice of a first reply is longer.
        let other = Request { section: Some("two".into()), ..Request::default() };
        let direct = session.call(&other).map(|reply| reply.expect("asked for"));
        match (session.read(&reply.view, reply.start(), &other), direct) {
            (Ok(there), Ok(direct)) if is_whole(&there) && is_whole(&direct) => {
                assert_eq!(there.text(), direct.text());
            }
            (there, direct) => assert_eq!(there.is_ok(), direct.is_ok()),
        }
    }
    prop_assume!(whole_sections > 0);
    Ok(())
}

proptest! {
    #![proptest_config(cases(200))]
    #[test]
    fn noise_is_stripped_by_default(dice in dice()) {
        check_noise(dice);
    }

    #[test]
    fn sections_are_whole(dice in dice()) {
        check_section(dice)?;
    }
}

/// An object is shown whole if it is small without its noise.
#[test]
fn an_object_that_is_small_without_its_noise_is_shown_whole() {
    let stack = Json::Text(quote(&"at line 7; ".repeat(2_000)));
    let whole = object(vec![
        ("id", word("7")),
        ("stack_trace", stack),
        ("name", Json::Text("\"x\"".into())),
        ("old", word("null")),
    ]);
    let session = session(
        whole.minified(),
        RenderOptions { strip_rule: StripRule::default_noise(), ..RenderOptions::default() },
        4_000,
    );
    let reply = session.call(&Request::default()).expect("plain").expect("large");
    assert_eq!(reply.text(), r#"{"id":7,"name":"x"}"#);
    let meta = &reply.notice["meta"];
    assert_eq!(
        (&meta["totalFields"], &meta["projectedFields"]),
        (&4.into(), &serde_json::json!(["id", "name"]))
    );
    assert_eq!((meta["stripped"][0].as_str(), meta["nulls"][0].as_str()), (Some("stack_trace"), Some("old")));
    assert_eq!(meta["next"], "portion_read(cursor, section)");
    assert!(meta["detailsAvailable"]["sections"]["stack_trace"].is_string(), "{meta}");
}
