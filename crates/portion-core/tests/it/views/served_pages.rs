//! Tests of the members beside a list that say which page of it is served.

use portion_core::cursor::{CursorTarget, Keyring, PartOffset, Position, Scope};
use portion_core::payload::{Block, Content, Payload, UpstreamList};
use portion_core::policy::Policy;
use portion_core::render::{Context, FollowUpCall, follow_up_reply};
use portion_core::snapshot::{Snapshot, capture};
use portion_core::view::{Request, resolve};
use portion_tokens::Tokenizer;
use proptest::prelude::*;
use serde_json::{Value, json};

const HTTP: FollowUpCall<'_> = FollowUpCall::Http("https://proxy.example/rows");
/// The list of the upstream, all of it fetched.
const FETCHED: UpstreamList = UpstreamList {
    skipped: 0,
    fetched: 500,
    total: Some(500),
    is_partial: false,
    stop_reason: None,
    has_changed: false,
    opening_count: None,
    continuation: None,
};

/// Captures a payload in which `$` stands for items, 500 of which are a list that was fetched page by page.
fn snapshot_of(payload: &str, items: usize) -> Snapshot {
    let items: Vec<String> = (0..items)
        .map(|n| format!("{{\"id\":{n},\"limit\":7,\"text\":\"{}\"}}", "word ".repeat(30)))
        .collect();
    let text = payload.replace('$', &items.join(","));
    let upstream_list = (items.len() == 500).then(|| Box::new(FETCHED));
    let blocks = vec![Block::new("/body", Content::Text(text))];
    capture(Payload { blocks, upstream_list, ..Payload::default() })
}

/// Returns the body of a reply to a request. `@7` stands for a cursor to item 7.
fn body_of(snapshot: &Snapshot, request: &Request, read_call: FollowUpCall<'_>) -> Value {
    let policy = Policy::default();
    let (keyring, scope) = (Keyring::new(&[0; 32]), Scope::from_principal(""));
    let resolved = resolve(snapshot, None, request, &policy).expect("a request");
    let issue_cursor = |position: Position| {
        Some(keyring.sign(&CursorTarget { snapshot: [0; 6], view: resolved.view.id(), position }, &scope))
    };
    let counter = Tokenizer::Chars4.counter();
    let (policy, issue_cursor) = (&policy, &issue_cursor);
    let cx = Context { policy, counter, issue_cursor, read_call, query_tool: None, read_uri: None };
    let portion = follow_up_reply(snapshot, &resolved, &cx);
    let mut body: Value = serde_json::from_str(portion.pieces()[0].body.as_str()).expect("JSON");
    let mut open = vec![&mut body];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => open.extend(members.values_mut()),
            Value::String(text) => {
                let (before, cursor) = text.split_at(text.find("cursor=").map_or(0, |at| at + 7));
                if let Ok(target) = keyring.verify(cursor, &scope)
                    && let PartOffset::Item(item) = target.position.offset
                {
                    *text = format!("{before}@{item}");
                }
            }
            _ => {}
        }
    }
    body
}

/// Checks the members beside the list on the page of 20 items that begins at an item.
fn check(payload: &str, items: usize, offset: u64, read_call: FollowUpCall<'_>, expect: impl Into<Value>) {
    let request = Request { limit: Some(20), offset: Some(offset as u32), ..Request::default() };
    let mut body = body_of(&snapshot_of(payload, items), &request, read_call);
    for list in ["items", "content"] {
        body.as_object_mut().expect("an object").remove(list);
    }
    assert_eq!(body, expect.into(), "{payload} at {offset}");
}

#[test]
fn a_list_of_all_pages_has_pages_of_its_own() {
    let django = r#"{"count":500,"next":"https://api.example/rows?page=2","previous":null,"items":[$]}"#;
    let link = |item: u32| format!("https://proxy.example/rows?cursor=@{item}");
    check(django, 500, 0, HTTP, json!({"count": 500, "next": link(20), "previous": null}));
    check(django, 500, 40, HTTP, json!({"count": 500, "next": link(60), "previous": link(20)}));
    check(django, 500, 490, HTTP, json!({"count": 500, "next": null, "previous": link(470)}));
    check(django, 500, 20, "read".into(), json!({"count": 500, "next": "@40", "previous": "@0"}));
    let offsets = r#"{"status":"success","items":[$],"count":500,"limit":100,"offset":0}"#;
    check(offsets, 500, 60, HTTP, json!({"status": "success", "count": 500, "limit": 20, "offset": 60}));
    let spring = r#"{"content":[$],"number":0,"size":100,"totalPages":5,"totalElements":500,"numberOfElements":100,"first":true,"last":false}"#;
    let at = |number, first, last, here| json!({"number": number, "size": 20, "totalPages": 25, "totalElements": 500, "numberOfElements": here, "first": first, "last": last});
    check(spring, 500, 0, HTTP, at(0, true, false, 20));
    check(spring, 500, 480, HTTP, at(24, false, true, 20));
    let meta = r#"{"items":[$],"meta":{"current_page":1,"from":1,"to":100,"last_page":5,"per_page":"100","has_more":true,"next_page":2},"links":{"first":"/rows?page=1","next":"/rows?page=2","last":"/rows?page=5"}}"#;
    let expect = json!({
        "meta": {"current_page": 3, "from": 41, "to": 60, "last_page": 25, "per_page": "20", "has_more": true, "next_page": 4},
        "links": {"first": "/rows?cursor=@0", "next": "/rows?cursor=@60", "last": "/rows?cursor=@480"},
    });
    check(meta, 500, 40, HTTP, expect);
    let nested = r#"{"items":[$],"paging":{"next":{"after":"x","link":"https://api.example/?after=x"}},"nextPageToken":"x"}"#;
    let expect = json!({"paging": {"next": {"after": "@20", "link": link(20)}}, "nextPageToken": "@20"});
    check(nested, 500, 0, HTTP, expect);
    check(nested, 500, 480, HTTP, json!({"paging": {}, "nextPageToken": null}));
    let continued = r#"{"items":[$],"continue":{"gapcontinue":"100","continue":"-||"}}"#;
    check(continued, 500, 0, HTTP, json!({"continue": {"gapcontinue": "@20", "continue": "@20"}}));
}

#[test]
fn a_page_that_is_served_in_parts_leads_through_them() {
    let api = "https://api.example/rows?offset=100";
    let page = format!(r#"{{"items":[$],"count":500,"limit":100,"offset":100,"next":"{api}"}}"#);
    let at = |offset: u32, next: &str| json!({"count": 500, "limit": 20, "offset": offset, "next": next});
    check(&page, 100, 0, HTTP, at(100, "https://proxy.example/rows?cursor=@20"));
    check(&page, 100, 80, HTTP, at(180, api));
    // A tool of the upstream does not take these cursors.
    check(&page, 100, 20, "read".into(), at(120, api));
}

#[test]
fn members_that_state_no_page_stay() {
    let limits = r#"{"items":[$],"limit":5000,"status":"x","first_name":"Ann","from":"2026-01-01"}"#;
    let expect = json!({"limit": 5000, "status": "x", "first_name": "Ann", "from": "2026-01-01"});
    check(limits, 500, 20, HTTP, expect);
    let times = r#"{"items":[$],"from":1764288000,"to":1764374400,"total":500}"#;
    let request = Request { limit: Some(20), ..Request::default() };
    let body = body_of(&snapshot_of(times, 500), &request, HTTP);
    assert_eq!((&body["from"], &body["total"]), (&json!(1_764_288_000), &json!(500)));
}

proptest! {
    /// The offset and the limit of the body lead through the list, whatever the size of a page.
    #[test]
    fn offsets_and_limits_add_up_to_the_list(limit in proptest::option::of(1u32..60), items in 101usize..400) {
        let snapshot = snapshot_of(r#"{"items":[$],"limit":900,"offset":0}"#, items);
        let (mut offset, mut seen) = (0, 0);
        while seen < items {
            let request = Request { limit, offset: Some(offset as u32), ..Request::default() };
            let body = body_of(&snapshot, &request, HTTP);
            prop_assert_eq!(body["offset"].as_u64(), Some(offset));
            let first = body["items"][0]["id"].as_u64();
            prop_assert_eq!(first, Some(offset));
            seen += body["items"].as_array().map_or(0, Vec::len);
            offset += body["limit"].as_u64().expect("a limit");
            prop_assert_eq!(seen as u64, offset.min(items as u64));
        }
    }
}
