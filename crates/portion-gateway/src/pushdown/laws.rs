//! Laws of lists that are fetched page by page, over random upstreams.

use std::sync::Arc;

use portion_core::payload::{Block, Content, Payload};
use portion_core::snapshot::{Structure, capture};
use portion_policy::pushdown::Pushdown;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::carrier::payload_of;
use super::need::Need;
use super::paged_list::PagedList;
use crate::paged_call::{FirstPage, PageError, PageFuture, PageRequest, PageSource, PagedCall, PagingNames};

/// A random upstream.
#[derive(Clone, Debug)]
struct Upstream {
    style: &'static str,
    total: usize,
    /// Largest page that it returns, whatever it is asked for.
    cap: usize,
    ignores_limit: bool,
    tells_total: bool,
    tells_more: bool,
    /// True if a page past the end is the last page again.
    repeats_last: bool,
    has_ids: bool,
}

impl Upstream {
    fn answer(&self, arguments: &str) -> Payload {
        let arguments: Value = serde_json::from_str(arguments).expect("JSON");
        let number = |name: &str| arguments[name].as_u64().map(|number| number as usize);
        let requested = number("limit").unwrap_or(self.cap);
        let size = if self.ignores_limit { self.cap } else { requested.min(self.cap) };
        let first = match self.style {
            "offset" => number("offset").unwrap_or(0),
            "page" => (number("page").expect("a page") - 1) * size,
            "cursor" => arguments["cursor"].as_str().map_or(0, |cursor| cursor[1..].parse().expect("ours")),
            _ => number("afterId").unwrap_or(0),
        };
        let past_end = self.repeats_last && first >= self.total && self.total > 0;
        let first = if past_end { (self.total - 1) / size * size } else { first };
        let end = (first + size).min(self.total);
        let item = |n: usize| if self.has_ids { json!({"id": n + 1, "n": n}) } else { json!({"n": n}) };
        let items: Vec<Value> = (first.min(end)..end).map(item).collect();
        let mut page = json!({ "items": items });
        if self.tells_total {
            page["total"] = self.total.into();
        }
        if self.tells_more {
            page["has_more"] = (end < self.total).into();
        }
        if self.style == "cursor" {
            page["next_cursor"] = if end < self.total { format!("c{end}").into() } else { Value::Null };
        }
        Payload {
            blocks: vec![Block::new("/content/0/text", Content::Text(page.to_string()))],
            ..Payload::default()
        }
    }
}

#[derive(Debug)]
struct NoSource;

impl PageSource for NoSource {
    fn fetch_page<'a>(&'a self, _: &'a str, _: &'a str) -> PageFuture<'a> {
        Box::pin(async { Err(PageError::Closed) })
    }
}

fn upstream() -> impl Strategy<Value = Upstream> {
    let style = prop::sample::select(vec!["offset", "page", "cursor", "afterId"]);
    let flags = prop::array::uniform5(any::<bool>());
    (style, 0..120_usize, 1..40_usize, flags).prop_map(|(style, total, cap, flags)| {
        let [ignores_limit, tells_total, tells_more, repeats_last, has_ids] = flags;
        // A single page that is repeated cannot be told from an upstream that ignores the position.
        let is_told = tells_total || tells_more || total > 40;
        let repeats_last = repeats_last && matches!(style, "offset" | "page") && is_told;
        let has_ids = has_ids || style == "afterId" || repeats_last;
        Upstream { style, total, cap, ignores_limit, tells_total, tells_more, repeats_last, has_ids }
    })
}

pub(super) fn paged_call(style: &str, page_size: usize, max_fetch: usize) -> PagedCall {
    let settings = [
        (style.to_owned(), style.to_owned()),
        ("limit".to_owned(), "limit".to_owned()),
        ("pageSize".to_owned(), page_size.to_string()),
        ("maxFetch".to_owned(), max_fetch.to_string()),
    ];
    let pushdown = Arc::new(Pushdown::from_settings(&settings).expect("valid settings"));
    let names = PagingNames::resolve(&pushdown, |_| true);
    let (tool, arguments) = ("list".to_owned(), r#"{"q":1}"#.to_owned());
    let first = FirstPage::Chosen { start: 0, size: page_size };
    PagedCall { tool, arguments, pushdown, names, source: Arc::new(NoSource), first, own: None }
}

/// Fetches until the list is over. Returns the number of calls.
fn fetch_all(list: &mut PagedList, upstream: &Upstream) -> usize {
    let mut calls = 0;
    while let Some(arguments) = list.next_arguments() {
        list.add_page(&upstream.answer(&arguments));
        calls += 1;
        assert!(calls < 1_000, "no infinite fetch: {upstream:?}");
    }
    calls
}

/// Returns the items. Their list must be served by pages, however short it is.
fn numbers(list: &PagedList) -> Vec<usize> {
    let payload = list.to_payload(None);
    let snapshot = capture(payload.clone());
    let structure = snapshot.parts()[0].indexed_text().map(|text| &text.structure);
    assert!(
        matches!(structure, Some(Structure::List(found)) if found.len() == list.item_count),
        "{payload:?}"
    );
    let Content::Text(text) = &payload.blocks[0].content else { panic!("no text") };
    let page: Value = serde_json::from_str(text).expect("JSON");
    let items = page["items"].as_array().expect("a list").iter();
    items.map(|item| item["n"].as_u64().expect("a number") as usize).collect()
}

proptest! {
    #[test]
    fn a_walk_is_the_list_exactly_once(upstream in upstream(), page_size in 1..40_usize) {
        let call = paged_call(upstream.style, page_size, 10_000);
        let first = call.names.apply(&call.arguments, &PageRequest::first(&call.pushdown), page_size);
        let mut list = PagedList::begin(&call, None, upstream.answer(&first)).expect("a list");
        prop_assert_eq!(numbers(&list).len(), list.item_count);
        let calls = 1 + fetch_all(&mut list, &upstream);
        prop_assert_eq!(numbers(&list), (0..upstream.total).collect::<Vec<_>>(), "{:?}", upstream);
        prop_assert!(list.is_complete(), "{:?}", list.to_payload(None).upstream_list);
        let size = if upstream.ignores_limit { upstream.cap } else { page_size.min(upstream.cap) };
        prop_assert!(calls <= upstream.total.div_ceil(size) + 3, "{} calls", calls);
    }

    #[test]
    fn a_fetch_can_begin_at_any_item(upstream in upstream(), page_size in 1..40_usize, start in 1..150_usize) {
        let upstream = Upstream { style: "offset", repeats_last: upstream.tells_total, ..upstream };
        let call = PagedCall {
            first: FirstPage::Chosen { start, size: page_size },
            ..paged_call("offset", page_size, 10_000)
        };
        let first = upstream.answer(&call.first_arguments());
        let mut list = PagedList::begin(&call, None, first).expect("a list");
        fetch_all(&mut list, &upstream);
        prop_assert_eq!(numbers(&list), (start..upstream.total.max(start)).collect::<Vec<_>>(), "{:?}", upstream);
        let extent = list.to_payload(None).upstream_list.expect("an extent");
        prop_assert_eq!((extent.skipped, extent.is_partial, extent.is_incomplete()), (start, false, true));
    }

    #[test]
    fn a_fetch_reaches_any_items(
        upstream in upstream(),
        page_size in 1..40_usize,
        bound in 1..60_usize,
        (start, count, skips) in (1..150_usize, 1..30_usize, any::<bool>()),
    ) {
        let upstream = Upstream { repeats_last: upstream.repeats_last && upstream.tells_total, ..upstream };
        let mut call = paged_call(upstream.style, page_size, bound);
        if upstream.style == "offset" && skips {
            call.first = FirstPage::Chosen { start, size: page_size };
        }
        let first = upstream.answer(&call.first_arguments());
        let mut list = PagedList::begin(&call, None, first).expect("a list");
        list.extend_to(&(start..start + count));
        let calls = 1 + fetch_all(&mut list, &upstream);
        let (skipped, end) = (list.skipped, list.skipped + list.item_count);
        prop_assert_eq!(numbers(&list), (skipped..end).collect::<Vec<_>>(), "{:?}", upstream);
        prop_assert!(end >= upstream.total.min(start + count), "{:?} {}", upstream, end);
        prop_assert!(skipped <= start, "{:?} {}", upstream, skipped);
        let size = if upstream.ignores_limit { upstream.cap } else { page_size.min(upstream.cap) };
        if matches!(upstream.style, "page" | "offset") && start >= size {
            prop_assert!(calls <= bound.max(count + size).div_ceil(size) + 4, "{} calls: {:?}", calls, upstream);
        }
    }

    #[test]
    fn a_bounded_list_goes_on_where_it_stopped(upstream in upstream(), page_size in 1..40_usize, bound in 1..60_usize) {
        let call = paged_call(upstream.style, page_size, bound);
        let first = call.names.apply(&call.arguments, &PageRequest::first(&call.pushdown), page_size);
        let mut list = PagedList::begin(&call, None, upstream.answer(&first)).expect("a list");
        fetch_all(&mut list, &upstream);
        let (mut resumed, mut max) = (0, bound);
        while !list.is_complete() {
            let payload = list.to_payload(None);
            let extent = payload.upstream_list.clone().expect("an extent");
            prop_assert!(extent.stop_reason.is_some() && extent.is_partial);
            prop_assert!(extent.fetched < max + upstream.cap.max(page_size));
            let state = extent.continuation.expect("a continuation");
            let more = extent.fetched + bound;
            max = more;
            let need = Need::Items(more);
            let pushdown = Arc::clone(&call.pushdown);
            list = PagedList::resume(pushdown, None, (payload, false), (&state, None), need).expect("a list");
            fetch_all(&mut list, &upstream);
            resumed += 1;
            prop_assert!(resumed < 300, "{:?} {:?}", upstream, list.to_payload(None).upstream_list);
        }
        prop_assert_eq!(numbers(&list), (0..upstream.total).collect::<Vec<_>>(), "{:?}", upstream);
    }
}

/// Checks that a list is served by pages, also if it is captured again from what is stored.
fn assert_is_paged(payload: Payload, count: usize) {
    let upstream_list = payload.upstream_list.clone();
    let snapshot = capture(payload);
    let again = capture(Payload { upstream_list, ..payload_of(&snapshot) });
    for snapshot in [snapshot, again] {
        let part = &snapshot.parts()[snapshot.main_part().expect("a part with text")];
        let structure = part.indexed_text().map(|text| &text.structure);
        assert!(matches!(structure, Some(Structure::List(list)) if list.len() == count), "{}", part.text());
        assert!(!snapshot.has_missing_list_path(), "{}", part.text());
    }
}

#[test]
fn a_list_keeps_its_form_and_its_bytes() {
    let check = |first: Vec<Content>, second: &str, expect: &[&str]| {
        let call = paged_call("offset", 2, 10_000);
        let blocks = first
            .into_iter()
            .enumerate()
            .map(|(at, content)| match content {
                Content::Structured(_) => Block::new("/structuredContent", content),
                _ => Block::new(format!("/content/{at}/text"), content),
            })
            .collect();
        let mut list =
            PagedList::begin(&call, None, Payload { blocks, ..Payload::default() }).expect("a list");
        let page = Block::new("/0", Content::Text(second.to_owned()));
        list.add_page(&Payload { blocks: vec![page], ..Payload::default() });
        assert_is_paged(list.to_payload(None), list.item_count);
        let texts = list.to_payload(None).blocks.into_iter().map(|block| match block.content {
            Content::Text(text) | Content::Structured(text) => text,
            other => panic!("{other:?}"),
        });
        assert_eq!(texts.collect::<Vec<_>>(), expect);
    };
    let text = |text: &str| Content::Text(text.to_owned());
    let structured = |text: &str| Content::Structured(text.to_owned());
    check(
        vec![text("{ \"total\" : 4, \"items\": [ {\"a\":1.0}, {\"a\":2} ]}")],
        r#"{"total":4,"items":[{"a": 3e0},{"a":4}]}"#,
        &["{ \"total\" : 4, \"items\": [{\"a\":1.0},{\"a\":2},{\"a\": 3e0},{\"a\":4}]}"],
    );
    check(
        vec![text("[1,2]"), structured(r#"{"result":[1, 2]}"#)],
        "[3]",
        &["[1,2,3]", r#"{"result":[1,2,3]}"#],
    );
    check(
        vec![text("[1,2]"), structured(r#"{"result":"[1,2]"}"#)],
        "[3]",
        &["[1,2,3]", r#"{"result":"[1,2,3]"}"#],
    );
    // These are not recognized as lists by themselves.
    check(
        vec![text(r#"{"a~/b":{"items":[1,2],"total":9,"note":"short"}}"#)],
        r#"{"a~/b":{"items":[3],"total":9}}"#,
        &[r#"{"a~/b":{"items":[1,2,3],"total":9,"note":"short"}}"#],
    );
    check(
        vec![text(r#"{"total":4,"items":[1,2]}"#), structured(r#"{"result":{"total":4,"items":[1,2]}}"#)],
        r#"{"total":4,"items":[3]}"#,
        &[r#"{"total":4,"items":[1,2,3]}"#, r#"{"result":{"total":4,"items":[1,2,3]}}"#],
    );
    // Each item has a text block of its own.
    check(
        vec![
            text(r#"{"id":1,"tags":[]}"#),
            text(r#"{"id":2,"tags":[]}"#),
            structured(r#"{"result":[{"id":1,"tags":[]},{"id":2,"tags":[]}]}"#),
        ],
        r#"{"result":[{"id":3,"tags":[]}]}"#,
        &[
            r#"[{"id":1,"tags":[]},{"id":2,"tags":[]},{"id":3,"tags":[]}]"#,
            r#"{"result":[{"id":1,"tags":[]},{"id":2,"tags":[]},{"id":3,"tags":[]}]}"#,
        ],
    );
}

#[test]
fn an_upstream_that_misbehaves_ends_the_fetch() {
    let page = |text: &str| Payload {
        blocks: vec![Block::new("/0", Content::Text(text.to_owned()))],
        ..Payload::default()
    };
    let check = |style: &str, answers: &[&str], expect: Option<&str>| {
        let call = paged_call(style, 2, 10_000);
        let mut list = PagedList::begin(&call, None, page(answers[0])).expect("a list");
        let mut rest = answers[1..].iter();
        while list.next_arguments().is_some() {
            list.add_page(&page(rest.next().unwrap_or(answers.last().expect("one"))));
        }
        let extent = list.to_payload(None).upstream_list.expect("an extent");
        assert_eq!(extent.stop_reason.as_deref(), expect, "{answers:?}");
    };
    let one = r#"{"total":9,"items":[{"id":1},{"id":2}]}"#;
    check("offset", &[one, one], Some("the upstream returns the same page again"));
    check("offset", &[one, "busy"], Some("page 2 has no list"));
    check(
        "offset",
        &[one, r#"{"total":9,"items":[]}"#],
        Some("the upstream returned an empty page before the end"),
    );
    let more = r#"{"items":[],"has_more":true}"#;
    check(
        "page",
        &[r#"{"items":[{"id":1}],"has_more":true}"#, more],
        Some("the upstream returned an empty page before the end"),
    );
    let same = r#"{"items":[{"id":1}],"next":"a"}"#;
    check("cursor", &[same, r#"{"items":[{"id":2}],"next":"a"}"#], Some("the upstream repeats a cursor"));
    check("cursor", &[r#"{"items":[{"id":1}],"has_more":true}"#], Some("the upstream gives no next page"));
    check("afterId", &[r#"{"items":[{"a":1},{"a":2}]}"#], Some("the items have no id"));
    check("cursor", &[same, r#"{"items":[{"id":2}],"next":null}"#], None);
    // After an empty page, the same cursor may give more.
    let (empty, last) = (r#"{"items":[],"next":"a","has_more":true}"#, r#"{"items":[{"id":2}],"next":null}"#);
    check("cursor", &[same, empty, last], None);
}

#[test]
fn a_list_with_redacted_items_ends_where_the_upstream_ignores_the_offset() {
    let page = |count: usize| {
        let items = [json!({"id": 1, "mail": "a@b"}), json!({"id": 2, "mail": "c@d"})];
        let text = json!({"items": items, "total": 9, "stamp": count}).to_string();
        Payload { blocks: vec![Block::new("/0", Content::Text(text))], ..Payload::default() }
    };
    let call = paged_call("offset", 2, 2);
    let mut list = PagedList::begin(&call, None, page(0)).expect("a list");
    for count in 1.. {
        while list.next_arguments().is_some() {
            list.add_page(&page(count));
        }
        let mut fetched = list.to_payload(None);
        let extent = fetched.upstream_list.clone().expect("an extent");
        assert_eq!(extent.fetched, 2);
        let Some(state) = extent.continuation else {
            assert_eq!(extent.stop_reason.as_deref(), Some("the upstream returns the same page again"));
            return;
        };
        assert!(count < 4, "no endless list");
        let Content::Text(text) = &mut fetched.blocks[0].content else { panic!("no text") };
        *text = text.replace('@', "#");
        let pushdown = Arc::clone(&call.pushdown);
        list = PagedList::resume(pushdown, None, (fetched, true), (&state, None), Need::Items(4))
            .expect("a list");
    }
}

#[test]
fn items_are_left_out_only_if_they_are_equal() {
    let page = |items: &Value| Payload {
        blocks: vec![Block::new("/0", Content::Text(json!({ "total": 6, "items": items }).to_string()))],
        ..Payload::default()
    };
    let check = |second: Value, expect: &[usize]| {
        let first = json!([{"id": 1, "n": 1}, {"id": 2, "n": 2}]);
        let call = paged_call("offset", 2, 10_000);
        let mut list = PagedList::begin(&call, None, page(&first)).expect("a list");
        list.add_page(&page(&second));
        assert_eq!(numbers(&list), expect, "{second}");
        assert!(list.to_payload(None).upstream_list.expect("an extent").has_changed, "{second}");
    };
    check(json!([{"id": 2, "n": 2}, {"id": 3, "n": 3}]), &[1, 2, 3]);
    check(json!([{"id": 2, "n": 20}, {"id": 3, "n": 3}]), &[1, 2, 20, 3]);
    check(json!([{"id": 1, "n": 3}, {"id": 2, "n": 4}]), &[1, 2, 3, 4]);
}
