//! Requests that repeat with a cursor what the cursor selects: they continue, and other selections begin anew.

use portion_core::cursor::{Keyring, PartOffset, Position, Scope};
use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::Policy;
use portion_core::render::FirstReply;
use portion_core::snapshot::{Snapshot, capture};
use portion_core::view::{Request, View, resolve};

use super::reply;

type Controls<'a> = &'a [(&'a str, &'a str)];

fn request(controls: Controls<'_>) -> Request {
    let mut request = Request::default();
    for (name, json) in controls {
        request.set_control(name, json, &Policy::default()).expect("valid controls");
    }
    request
}

/// Returns the content of the reply to a request, its view, and the position that follows.
fn step(
    snapshot: &Snapshot,
    base: Option<(&View, Position)>,
    controls: Controls<'_>,
) -> (String, View, Option<Position>) {
    let policy = Policy::default();
    let resolved = resolve(snapshot, base, &request(controls), &policy).expect("it is there");
    let FirstReply::Portion(portion) = reply(snapshot, &resolved, &policy) else { panic!("it is shaped") };
    let next = portion.next_cursor().map(|cursor| {
        let target = Keyring::new(&[0; 32]).verify(cursor.as_str(), &Scope::from_principal(""));
        target.expect("a cursor of this test").position
    });
    (portion.pieces().iter().map(|piece| piece.body.as_str()).collect(), resolved.view, next)
}

/// Walks a text with all controls in every call, and with those of the first call only: the contents are the same.
fn check(text: &str, controls: Controls<'_>) {
    let snapshot = capture(Payload {
        blocks: vec![Block::new("/content/0/text", Content::Text(text.to_owned()))],
        ..Payload::default()
    });
    let walk = |later: Controls<'_>| {
        let (mut shown, mut view, mut next) = step(&snapshot, None, controls);
        let mut contents = vec![shown];
        while let Some(position) = next {
            (shown, view, next) = step(&snapshot, Some((&view, position)), later);
            contents.push(shown);
            assert!(contents.len() < 200, "{controls:?} does not end");
        }
        contents
    };
    let repeated = walk(controls);
    assert!(repeated.len() > 1, "{controls:?} is one reply");
    let sizes = controls.iter().copied().filter(|(name, _)| *name == "maxTokens").collect::<Vec<_>>();
    assert_eq!(repeated, walk(&sizes), "{controls:?}");
}

fn records(terms: &str) -> String {
    let records: Vec<_> = (0..40).map(|id| format!(r#"{{"id":{id},"note":"record {id}"}}"#)).collect();
    format!(r#"{{"list":[{}],"terms":"{terms}"}}"#, records.join(","))
}

#[test]
fn a_repeated_selection_continues() {
    check(&records("few"), &[("limit", "15"), ("sort", "\"id desc\"")]);
    let json = records(&"Some words. ".repeat(500));
    check(&json, &[("limit", "15"), ("path", "\"/list\"")]);
    check(&json, &[("limit", "15"), ("path", "\"list\""), ("fields", "\"id\"")]);
    check(&json, &[("raw", "true"), ("maxTokens", "400")]);
    check(&json, &[("section", "\"terms\""), ("maxTokens", "400")]);
    let paper = format!("# Paper\n\n{}\n## Rules\n\n{}", "Intro. ".repeat(300), "A rule.\n\n".repeat(400));
    check(&paper, &[("section", "\"Rules\""), ("maxTokens", "400")]);
    check(&paper, &[("startLine", "5"), ("endLine", "600"), ("maxTokens", "400")]);
}

#[test]
fn another_selection_begins_anew() {
    let start_of = |terms: &str, first: Controls<'_>, then: Controls<'_>| {
        let block = Block::new("/content/0/text", Content::Text(records(terms)));
        let snapshot = capture(Payload { blocks: vec![block], ..Payload::default() });
        let (_, view, next) = step(&snapshot, None, first);
        let base = Some((&view, next.expect("more follows")));
        resolve(&snapshot, base, &request(then), &Policy::default()).expect("it is there").start.offset
    };
    let sorted: Controls<'_> = &[("limit", "5"), ("sort", "\"id desc\"")];
    assert_eq!(start_of("few", sorted, sorted), PartOffset::Item(5));
    assert_eq!(start_of("few", sorted, &[("sort", "\"id\"")]), PartOffset::Item(0));
    assert!(start_of("few", sorted, &[("path", "\"terms\"")]).is_start());
    // A section of the whole is found from within another section.
    let terms: Controls<'_> = &[("section", "\"terms\""), ("maxTokens", "400")];
    assert!(start_of(&"Some words. ".repeat(500), terms, &[("section", "\"list\"")]).is_start());
}
