//! Golden files for other render options: keys in snake case, portions in an envelope, and all notices.

use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::{EnvelopeMode, MetadataMode, MetadataStyle, Policy, RenderOptions};
use portion_core::render::{FirstReply, first_reply, follow_up_reply};
use portion_core::snapshot::capture;
use portion_core::view::{Request, resolve};
use portion_json::scan::quote;
use serde_json::Value;

use super::material::{booking, bookings, log, paper};
use super::{TEXT, check_under, next, render, text};

const STRUCTURED: &str = "/structuredContent";

fn in_manner(manner: RenderOptions) -> Policy {
    Policy { render_options: manner, ..Policy::default() }
}

fn snake() -> Policy {
    in_manner(RenderOptions { metadata_style: MetadataStyle::Snake, ..RenderOptions::default() })
}

fn wrap() -> Policy {
    in_manner(RenderOptions { envelope: EnvelopeMode::Wrap, ..RenderOptions::default() })
}

fn both() -> Policy {
    let (metadata_style, envelope) = (MetadataStyle::Snake, EnvelopeMode::Wrap);
    in_manner(RenderOptions { metadata_style, envelope, ..RenderOptions::default() })
}

/// Returns a text with a `structuredContent` of the same content.
fn twins(json: String) -> [(&'static str, Content); 2] {
    let structured = if json.starts_with('{') { json.clone() } else { format!("{{\"result\":{json}}}") };
    [(TEXT, text(json)), (STRUCTURED, Content::Structured(structured))]
}

/// Returns bookings with other members around them.
fn wrapped_bookings() -> String {
    format!("{{\"status\":\"ok\",\"data\":{{\"bookings\":{},\"at\":1.50}}}}", bookings(60))
}

/// Returns a plain text with a `structuredContent` that contains it as a string.
fn written(words: String) -> [(&'static str, Content); 2] {
    let structured = format!("{{\"result\":{}}}", quote(&words));
    [(TEXT, text(words)), (STRUCTURED, Content::Structured(structured))]
}

#[test]
fn snake_page() {
    check_under("snake_page", &twins(bookings(60)), &[("limit", "20")], &snake());
}

#[test]
fn snake_summary() {
    check_under("snake_summary", &twins(booking()), &[], &snake());
}

#[test]
fn snake_chunk() {
    check_under("snake_chunk", &written(log(3_000)), &[], &snake());
}

#[test]
fn wrap_page() {
    check_under("wrap_page", &twins(wrapped_bookings()), &[], &wrap());
}

#[test]
fn wrap_summary() {
    check_under("wrap_summary", &twins(booking()), &[], &wrap());
}

#[test]
fn wrap_chunk() {
    check_under("wrap_chunk", &written(paper()), &[], &wrap());
}

#[test]
fn wrap_parts() {
    let link = Content::Atomic { json: "{\"type\":\"resource_link\",\"uri\":\"a:b\"}".into(), binary: None };
    let parts = [
        (TEXT, text("Found 60 bookings.".into())),
        ("/content/1/text", text(bookings(60))),
        ("/content/2", link),
    ];
    check_under("wrap_parts", &parts, &[], &wrap());
}

#[test]
fn snake_wrap_page() {
    check_under("snake_wrap_page", &[(TEXT, text(wrapped_bookings()))], &[], &both());
}

#[test]
fn snake_wrap_chunk() {
    check_under("snake_wrap_chunk", &[(TEXT, text(log(3_000)))], &[], &both());
}

#[test]
fn always_small() {
    let policy = in_manner(RenderOptions { metadata: MetadataMode::Always, ..RenderOptions::default() });
    check_under("always_small", &twins(bookings(3)), &[], &policy);
}

#[test]
fn always_wrap_whole() {
    let (metadata, envelope) = (MetadataMode::Always, EnvelopeMode::Wrap);
    let policy = in_manner(RenderOptions { metadata, envelope, ..RenderOptions::default() });
    check_under("always_wrap_whole", &[(TEXT, text("All is well.".into()))], &[], &policy);
}

/// Returns the notice and the number of items of each reply to a query for 150 schools.
fn schools(controls: &[(&str, &str)], policy: &Policy) -> Vec<(Value, usize)> {
    let school = |i: usize| format!("{{\"id\":{i},\"name\":\"School {i}\",\"state\":\"TX\"}}");
    let list = format!("[{}]", (1..=150).map(school).collect::<Vec<_>>().join(","));
    let snapshot = capture(Payload { blocks: vec![Block::new(TEXT, text(list))], ..Payload::default() });
    let mut request = Request::default();
    for (control, json) in controls {
        request.set_control(control, json, policy).expect("a control");
    }
    let resolved = resolve(&snapshot, None, &request, policy).expect("a list");
    let FirstReply::Portion(portion) = render(&snapshot, &resolved, policy, first_reply) else {
        panic!("asked for")
    };
    let mut replies = vec![portion];
    if let Some(next) = replies.last().and_then(next) {
        let again = resolve(&snapshot, Some((&resolved.view, next)), &Request::default(), policy);
        replies.push(render(&snapshot, &again.expect("it goes on"), policy, follow_up_reply));
    }
    let read = |portion: &portion_core::render::Portion| {
        let notice: Value = serde_json::from_str(portion.notice()).expect("JSON");
        let items: Vec<Value> = serde_json::from_str(portion.pieces()[0].body.as_str()).expect("a list");
        (notice, items.len())
    };
    replies.iter().map(read).collect()
}

fn numbers(meta: &Value) -> [Option<u64>; 4] {
    ["total_count", "current_page", "page_size", "next_page"].map(|key| meta.get(key).and_then(Value::as_u64))
}

#[test]
fn e2_1_the_first_page_of_150_schools() {
    let replies = schools(&[("limit", "20")], &snake());
    let (notice, items) = &replies[0];
    assert_eq!(
        (*items, &notice["total_count"], &notice["meta"]["has_more"]),
        (20, &150.into(), &true.into())
    );
    assert_eq!(numbers(&notice["meta"]), [Some(150), Some(1), Some(20), Some(2)], "{notice}");
    assert!(notice["next_cursor"].is_string());
}

#[test]
fn e2_2_page_two_and_the_next() {
    let replies = schools(&[("limit", "20"), ("page", "2")], &snake());
    let of =
        |at: usize| (replies[at].1, replies[at].0["meta"]["offset"].clone(), numbers(&replies[at].0["meta"]));
    assert_eq!(of(0), (20, 20.into(), [Some(150), Some(2), Some(20), Some(3)]));
    assert_eq!(of(1), (20, 40.into(), [Some(150), Some(3), Some(20), Some(4)]));
}

#[test]
fn e2_3_past_the_end() {
    let replies = schools(&[("limit", "20"), ("page", "9")], &snake());
    let (notice, items) = &replies[0];
    assert_eq!((*items, numbers(&notice["meta"])), (0, [Some(150), Some(9), Some(20), None]));
    assert_eq!((&notice["meta"]["past_end"], &notice["meta"]["has_more"]), (&true.into(), &false.into()));
}

/// A page cut short by the budget names no next page: what follows is the rest of the same page.
#[test]
fn a_page_cut_short_has_no_next() {
    let controls = [("limit", "100"), ("maxTokens", "600"), ("fields", "\"all\"")];
    let replies = schools(&controls, &snake());
    let (notice, items) = &replies[0];
    assert!(*items < 100, "{items}");
    assert_eq!(numbers(&notice["meta"]), [Some(150), Some(1), Some(100), None], "{notice}");
}
