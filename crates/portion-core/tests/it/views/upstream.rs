//! Tests of notices for a payload that is itself a page of the upstream.

use std::sync::Arc;

use portion_core::cursor::{CursorTarget, Keyring, Position, Scope};
use portion_core::paging::{ArgumentValue, PagingArgument};
use portion_core::payload::{Block, Content, NextPage, Payload, TransportPage, UpstreamList};
use portion_core::policy::{MetadataMode, Policy, RenderOptions};
use portion_core::redact::RedactionRules;
use portion_core::render::{Context, FirstReply, UpstreamRest, first_reply, upstream_rest};
use portion_core::snapshot::capture;
use portion_core::view::{Request, resolve};
use portion_tokens::Tokenizer;
use serde_json::Value;

/// Parses an argument: `name`, with its value in the call (`name=5`, `name=x`), its default (`name?1`), or the value
/// that the gateway sent in place of a page (`name!60`).
fn argument(text: &str) -> PagingArgument {
    let number = |text: &str| text.parse::<u64>().ok();
    let (name, value, default) = if let Some((name, value)) = text.split_once('=') {
        (name, number(value).map_or(ArgumentValue::Other, ArgumentValue::Number), None)
    } else if let Some((name, value)) = text.split_once('!') {
        (name, number(value).map_or(ArgumentValue::Other, ArgumentValue::Translated), None)
    } else {
        let (name, default) = text.split_once('?').unwrap_or((text, ""));
        (name, ArgumentValue::Absent, number(default))
    };
    PagingArgument { value, default, ..PagingArgument::new(name) }
}

/// Checks `upstreamTotal` and `upstreamNext` of a payload, given the arguments of the call; `$` stands for three items.
fn check(payload: &str, arguments: &str, expect: &str) {
    check_with_transport(payload, arguments, None, None, expect);
}

/// Checks the same where the transport names the next page, or the total.
fn check_with_transport(
    payload: &str,
    arguments: &str,
    next_link: Option<&str>,
    reported_total: Option<u64>,
    expect: &str,
) {
    let policy = Policy {
        full_below: 0,
        token_budget_threshold: 400,
        reply_target: 400,
        ranked_target: 400,
        ..Policy::default()
    };
    let item = |n: usize| {
        format!("{{\"id\":{n},\"count\":900,\"next\":\"x\",\"text\":\"{}\"}}", "word ".repeat(120))
    };
    let text = payload.replace('$', &(0..3).map(item).collect::<Vec<_>>().join(","));
    let paging: Arc<[PagingArgument]> = arguments.split_whitespace().map(argument).collect();
    let blocks = vec![Block::new("/content/0/text", Content::Text(text))];
    let transport_page =
        TransportPage { next: next_link.map(|link| NextPage::Link(link.into())), total: reported_total }
            .into_field();
    let snapshot =
        capture(Payload { blocks, paging_arguments: paging, transport_page, ..Payload::default() });
    let counter = Tokenizer::Chars4.counter();
    let resolved = resolve(&snapshot, None, &Request::default(), &policy).expect("plain");
    let mint = |position: Position| {
        let pointer = CursorTarget { snapshot: [0; 6], view: resolved.view.id(), position };
        Some(Keyring::new(&[0; 32]).sign(&pointer, &Scope::from_principal("")))
    };
    let (read_call, query_tool, read_uri) = ("portion_read".into(), None, None);
    let cx = Context { policy: &policy, counter, issue_cursor: &mint, read_call, query_tool, read_uri };
    let FirstReply::Portion(portion) = first_reply(&snapshot, &resolved, &cx) else {
        panic!("untouched: {payload}")
    };
    let notice: Value = serde_json::from_str(portion.notice()).expect("a notice is JSON");
    assert_eq!(notice["totalCount"], 3, "{payload}");
    let shown = |key: &str| {
        notice["meta"].get(key).map_or("-".to_owned(), |value| value.to_string().replace('"', ""))
    };
    assert_eq!(format!("{} {}", shown("upstreamTotal"), shown("upstreamNext")), expect, "{payload}");
}

#[test]
fn the_transport_can_name_the_next_page() {
    let check = |payload: &str, arguments: &str, link: &str, total: u64, expect: &str| {
        check_with_transport(payload, arguments, Some(link), Some(total), expect);
    };
    check("[$]", "", "/a?page=2", 9999, "9999 /a?page=2");
    check("[$]", "", "/a?page=2", 3, "- /a?page=2");
    check("[$]", "page per_page", "https://h/a?q=1&per_page=3&page=2#x", 9, "9 repeat the call with page=2");
    check("[$]", "after", "/a?after=a%20b", 0, "- repeat the call with another after");
    check("[$]", "page", "/a?sort=page", 0, "- repeat the call with another page");
    check(
        "[$]",
        "",
        &format!("/a?after={}", "x".repeat(300)),
        0,
        "- the upstream has more; its URL is too long to show",
    );
    check(
        r#"{"members":[$],"response_metadata":{"next_cursor":"dXNlcjp"}}"#,
        "cursor",
        "/a?page=2",
        0,
        "- repeat the call with cursor=dXNlcjp",
    );
    check(r#"{"count":70,"items":[$]}"#, "", "/a?page=2", 9, "70 /a?page=2");
    check_with_transport("[$]", "", None, Some(9), "9 -");
    check_with_transport("[$]", "", None, None, "- -");
}

#[test]
fn the_next_step_is_named_whatever_is_shown() {
    let policy = Policy {
        render_options: RenderOptions { metadata: MetadataMode::Always, ..RenderOptions::default() },
        ..Policy::default()
    };
    let prose = "A line of a text that is shown whole.\n".repeat(20);
    let fields = (0..80).map(|n| format!(r#""field{n}":"{}""#, "word ".repeat(40))).collect::<Vec<_>>();
    let object = format!("{{{}}}", fields.join(","));
    for texts in [vec![prose.as_str()], vec![object.as_str()], vec![r#"{"id":1}"#], vec![&prose, "b", "c"]] {
        let block = |(at, text): (usize, &&str)| {
            Block::new(format!("/content/{at}/text"), Content::Text((*text).to_owned()))
        };
        let blocks = texts.iter().enumerate().map(block).collect();
        let next = Some(NextPage::Call("portion_read(cursor=c)".into()));
        let transport_page = TransportPage { next, total: None }.into_field();
        let snapshot = capture(Payload { blocks, transport_page, ..Payload::default() });
        let resolved = resolve(&snapshot, None, &Request::default(), &policy).expect("plain");
        let FirstReply::Portion(portion) = super::reply(&snapshot, &resolved, &policy) else {
            panic!("untouched: {texts:?}")
        };
        let notice = portion.separate_notice().expect("a notice");
        assert!(notice.contains(r#""upstreamNext":"portion_read(cursor=c)""#), "{texts:?}: {notice}");
    }
}

#[test]
fn a_text_asked_for_by_its_path_names_the_next_step() {
    let policy = Policy { full_below: 0, token_budget_threshold: 400, ..Policy::default() };
    let prose = "A line of a text of many chunks.\n".repeat(400);
    let next = Some(NextPage::Call("portion_read(cursor=c)".into()));
    let snapshot = capture(Payload {
        blocks: vec![Block::new("/content/0/text", Content::Text(prose))],
        transport_page: TransportPage { next, total: None }.into_field(),
        ..Payload::default()
    });
    for path in [None, Some("/content/0/text")] {
        let request = Request { path: path.map(Into::into), ..Request::default() };
        let resolved = resolve(&snapshot, None, &request, &policy).expect("a text");
        let FirstReply::Portion(portion) = super::reply(&snapshot, &resolved, &policy) else {
            panic!("untouched: {path:?}")
        };
        let notice = portion.separate_notice().expect("a notice");
        assert!(notice.contains(r#""upstreamNext":"portion_read(cursor=c)""#), "{path:?}: {notice}");
    }
}

#[test]
fn pages_of_the_upstream_are_reported() {
    // Education, vacation rentals, GitHub, Stripe, Elasticsearch, Slack, relay, Spring.
    check(
        r#"{"count":1000,"next":"https://api.example/?page=2","previous":null,"results":[$]}"#,
        "page",
        "1000 repeat the call with page=2",
    );
    check(
        r#"{"count":1000,"next":"https://a/?page=2","previous":null,"results":[$]}"#,
        "",
        "1000 next: https://a/?page=2",
    );
    check(
        r#"{"status":"success","result":[$],"count":500,"limit":100,"offset":200}"#,
        "limit offset",
        "500 repeat the call with offset=203",
    );
    check(
        r#"{"total_count":40,"incomplete_results":false,"items":[$]}"#,
        "page per_page",
        "40 repeat the call with page=2, if its pages count from 1",
    );
    check(
        r#"{"object":"list","data":[$],"has_more":true,"url":"/v1/charges"}"#,
        "limit starting_after",
        "- repeat the call with starting_after=id of the last item",
    );
    check(
        r#"{"took":3,"timed_out":false,"hits":{"total":{"value":812,"relation":"eq"},"max_score":1.0,"hits":[$]}}"#,
        "from size",
        "812 repeat the call with from=3",
    );
    check(
        r#"{"ok":true,"members":[$],"response_metadata":{"next_cursor":"dXNlcjp"}}"#,
        "cursor limit",
        "- repeat the call with cursor=dXNlcjp",
    );
    check(
        r#"{"data":{"nodes":[$],"pageInfo":{"hasNextPage":true,"endCursor":"Y3Vyc29y"}}}"#,
        "first after",
        "- repeat the call with after=Y3Vyc29y",
    );
    check(
        r#"{"content":[$],"page":{"size":3,"totalElements":9,"totalPages":3,"number":0}}"#,
        "page",
        "9 repeat the call with page=1",
    );
    check(r#"{"items":[$],"page":1,"pages":4}"#, "page", "- repeat the call with page=2");
    check(r#"{"items":[$],"nextPageToken":"abc"}"#, "pageToken", "- repeat the call with pageToken=abc");
    check(
        r#"{"items":[$],"pagination":{"total":77,"next-page":2}}"#,
        "page",
        "77 repeat the call with page=2",
    );
    check(r#"{"items":[$],"_links":{"next":{"href":"/x?p=2"}}}"#, "", "- _links.next.href: /x?p=2");
    // HubSpot, Meta, Airtable, DynamoDB, Kubernetes, BigQuery, Discourse, Square, Salesforce.
    check(
        r#"{"results":[$],"paging":{"next":{"after":"50","link":"https://a/x?after=50"}}}"#,
        "after",
        "- repeat the call with after=50",
    );
    check(
        r#"{"data":[$],"paging":{"cursors":{"before":"a","after":"b"},"next":"https://a/x?after=b"}}"#,
        "after",
        "- repeat the call with after=b",
    );
    check(r#"{"records":[$],"offset":"itrX/recA"}"#, "offset", "- repeat the call with offset=itrX/recA");
    check(
        r#"{"Items":[$],"Count":3,"LastEvaluatedKey":{"id":{"S":"x"}}}"#,
        "",
        r"- LastEvaluatedKey: {\id\:{\S\:\x\}}",
    );
    check(
        r#"{"metadata":{"continue":"abc","remainingItemCount":950},"items":[$]}"#,
        "continue",
        "953 repeat the call with continue=abc",
    );
    check(
        r#"{"rows":[$],"totalRows":"100000","pageToken":"x","jobComplete":true}"#,
        "pageToken",
        "100000 repeat the call with pageToken=x",
    );
    check(
        r#"{"topic_list":{"more_topics_url":"/latest?page=1","topics":[$]}}"#,
        "page",
        "- repeat the call with page=1",
    );
    check(r#"{"objects":[$],"cursor":"abc"}"#, "cursor", "- repeat the call with cursor=abc");
    check(
        r#"{"items":[$],"limit":3,"total":"1000"}"#,
        "",
        "1000 the upstream has more; change the arguments",
    );
    check(
        r#"{"totalSize":5000,"done":false,"nextRecordsUrl":"/x-2000","records":[$]}"#,
        "",
        "5000 nextRecordsUrl: /x-2000",
    );
    check(
        r#"{"items":[$],"@odata.count":50,"@odata.nextLink":"https://a/b"}"#,
        "",
        "50 @odata.nextLink: https://a/b",
    );
}

#[test]
fn bodies_say_where_their_page_begins() {
    check(
        r#"{"content":[$],"totalElements":9,"number":0,"size":3,"last":false}"#,
        "page size",
        "9 repeat the call with page=1",
    );
    check(r#"{"items":[$],"page":0,"total_pages":3}"#, "page", "- repeat the call with page=1");
    // The arguments of the tool are unknown.
    check(
        r#"{"issues":[$],"startAt":0,"maxResults":3,"total":9}"#,
        "",
        "9 the upstream has more, from startAt=3 on",
    );
}

#[test]
fn last_pages_have_no_next() {
    check(r#"{"count":1000,"next":null,"previous":"https://a/?page=9","results":[$]}"#, "page", "1000 -");
    check(r#"{"result":[$],"count":500,"limit":100,"offset":497}"#, "offset", "500 -");
    check(r#"{"items":[$],"total":9,"page":3,"pages":3}"#, "page", "9 -");
    check(r#"{"data":{"nodes":[$],"pageInfo":{"hasNextPage":false,"endCursor":"Y3"}}}"#, "after", "- -");
}

#[test]
fn payloads_that_are_not_pages() {
    for payload in [
        r#"{"items":[$]}"#,
        r#"{"items":[$],"count":3}"#,
        r#"{"items":[$],"count":3,"limit":50,"offset":0}"#,
        r#"{"items":[$],"total":3,"page":1,"pages":1}"#,
        r#"{"items":[$],"total":129.5,"limit":9}"#,
        r#"{"items":[$],"has_more":false}"#,
        r#"{"items":[$],"number":7}"#,
        r#"{"items":[$],"number":2,"size":3,"last":true}"#,
        r#"{"items":[$],"next":null,"nextCursor":""}"#,
        r#"{"items":[$],"stats":{"count":900,"next":"x"}}"#,
        "[$]",
    ] {
        check(payload, "page limit", "- -");
    }
    // A sum of money.
    check(r#"{"items":[$],"total":4200}"#, "limit", "- -");
    check(r#"{"items":[$],"total":4200}"#, "", "- -");
}

#[test]
fn a_larger_total_beside_a_list_is_its_total_unless_it_may_be_a_sum() {
    let told = |total: &str, list: &str, item: &str, count: usize| {
        let items = (0..count).map(|n| item.replace('$', &n.to_string())).collect::<Vec<_>>().join(",");
        let text = format!(r#"{{{total},"{list}":[{items}]}}"#);
        let block = Block::new("/content/0/text", Content::Text(text));
        let snapshot = capture(Payload { blocks: vec![block], ..Payload::default() });
        upstream_rest(&snapshot)
    };
    let (name, price) = (r#"{"id":$,"name":"n$"}"#, r#"{"id":$,"price":$}"#);
    for count in [20, 25, 30, 200] {
        assert_eq!(told(r#""total":900"#, "items", price, count), Some(UpstreamRest::Total(900)));
    }
    for count in [3, 10, 23, 33] {
        assert_eq!(told(r#""total":900"#, "items", price, count), None);
        assert_eq!(told(r#""total":900"#, "lines", name, count), None);
        assert_eq!(told(r#""total":900"#, "results", name, count), Some(UpstreamRest::Total(900)));
    }
    for total in ["total_lines", "estimatedTotalHits", "num_rows", "hit_count", "recordsMatched", "numFound"]
    {
        let total = format!("\"{total}\":900");
        assert_eq!(told(&total, "lines", price, 23), Some(UpstreamRest::Total(900)), "{total}");
    }
    for more in ["more_records", "exceededTransferLimit", "truncated"] {
        assert_eq!(told(&format!("\"{more}\":true"), "lines", price, 23), Some(UpstreamRest::More), "{more}");
    }
    for next in ["next_page_uri", "NextPageLink", "next_page_offset", "next_chunk_index", "nextCursorMark"] {
        assert_eq!(told(&format!("\"{next}\":7"), "lines", price, 23), Some(UpstreamRest::More), "{next}");
    }
    for other in ["total_pages", "next_retry", "item_number", "total_lines_price"] {
        assert_eq!(told(&format!("\"{other}\":900"), "lines", price, 23), None, "{other}");
    }
}

#[test]
fn the_values_of_the_call_give_the_next_call() {
    let total = r#"{"total":1000,"items":[$]}"#;
    check(total, "limit=3 offset", "1000 repeat the call with offset=3");
    check(total, "limit offset", "1000 repeat the call with offset=3");
    check(total, "limit=3 offset=60", "1000 repeat the call with offset=63");
    check(total, "limit=3 offset!60", "1000 repeat the call with offset=63 in place of page");
    check(total, "skip=6 take=3", "1000 repeat the call with skip=9");
    check(total, "startAt=12 maxResults=3", "1000 repeat the call with startAt=15");
    check(total, "startIndex?1 count", "1000 repeat the call with startIndex=4");
    check(total, "page=4 per_page=3", "1000 repeat the call with page=5");
    check(total, "page?0 per_page", "1000 repeat the call with page=1");
    check(total, "page offset=60", "1000 repeat the call with offset=63");
    check(total, "offset=x", "1000 repeat the call with another offset");
    check(total, "offset=18446744073709551615", "1000 repeat the call with another offset");
    check(total, "page=18446744073709551615", "1000 repeat the call with another page");
    check(r#"{"has_more":true,"items":[$]}"#, "maxResults=3", "- repeat the call with a larger maxResults");
    check(r#"{"has_more":true,"items":[$]}"#, "skip take=3", "- repeat the call with skip=3");
    check(r#"{"has_more":true,"items":[$]}"#, "limit page=2", "- repeat the call with page=3");
    check(r#"{"items":[$],"page":18446744073709551615,"pages":1}"#, "page", "- -");
}

#[test]
fn the_values_of_the_call_show_the_last_page() {
    let total = r#"{"total":63,"items":[$]}"#;
    check(total, "limit=3 offset=60", "63 -");
    check(total, "startAt=60 maxResults=3", "63 -");
    check(total, "limit=3 offset=57", "63 repeat the call with offset=60");
    check(total, "startIndex?1 count", "63 repeat the call with startIndex=4");
    check(total, "page=21 per_page=3", "63 -");
    check(total, "page=20 per_page=3", "63 repeat the call with page=21");
    check(r#"{"has_more":false,"items":[$]}"#, "limit=3 offset", "- -");
}

#[test]
fn a_full_page_may_have_a_next_one() {
    check("[$]", "limit=3 offset", "- repeat the call with offset=3, if there are more");
    check("[$]", "limit=3 offset=60", "- repeat the call with offset=63, if there are more");
    check("[$]", "take?3 skip", "- repeat the call with skip=3, if there are more");
    check("[$]", "per_page=3 page=2", "- repeat the call with page=3, if there are more");
    check("[$]", "limit=4 offset", "- -");
    check("[$]", "limit=3", "- -");
    check(r#"{"has_more":false,"items":[$]}"#, "limit=3 offset=60", "- -");
}

#[test]
fn the_reason_of_an_incomplete_list_is_redacted() {
    let reason = r#"a further page failed: {"message":"refused","password":"hunter2"}"#;
    let list = UpstreamList {
        fetched: 1,
        is_partial: true,
        stop_reason: Some(reason.into()),
        ..UpstreamList::default()
    };
    let payload = Payload {
        blocks: vec![Block::new("/content/0/text", Content::Text(r#"[{"id":1}]"#.into()))],
        upstream_list: Some(Box::new(list)),
        redaction_rules: Some(Arc::new(RedactionRules::default_secrets())),
        ..Payload::default()
    };
    let snapshot = capture(payload);
    let gap = snapshot.upstream_list().and_then(UpstreamList::describe_gap).expect("a gap");
    assert!(gap.contains("refused") && !gap.contains("hunter2"), "{gap}");
}

#[test]
fn an_incomplete_list_is_reported_however_it_is_selected() {
    let items: Vec<String> = (0..200).map(|n| format!(r#"{{"id":{n},"name":"Guest {n}"}}"#)).collect();
    let text = format!(r#"{{"count":500,"result":[{}]}}"#, items.join(","));
    let list = UpstreamList {
        fetched: 200,
        total: Some(500),
        is_partial: true,
        stop_reason: Some("maxFetch is 200".into()),
        ..UpstreamList::default()
    };
    let snapshot = capture(Payload {
        blocks: vec![Block::new("/content/0/text", Content::Text(text))],
        upstream_list: Some(Box::new(list)),
        ..Payload::default()
    });
    let policy = Policy { full_below: 0, token_budget_threshold: 400, ..Policy::default() };
    let gap = r#""upstream":"of 200 fetched; the upstream has 500 (maxFetch is 200)""#;
    let path = |path: &str| Request { path: Some(path.to_owned()), ..Request::default() };
    let raw = Request { raw: true, ..Request::default() };
    for (request, has_gap) in [
        (Request::default(), true),
        (Request { fields: Some("id".into()), ..Request::default() }, true),
        (raw.clone(), true),
        (path("/result"), true),
        (path(""), true),
        (Request { raw: true, ..path("/result") }, true),
        (path("/content/0/text"), true),
        (path("/result/7"), false),
        (path("/count"), false),
    ] {
        let resolved = resolve(&snapshot, None, &request, &policy).expect("valid");
        let reply = super::reply(&snapshot, &resolved, &policy);
        let FirstReply::Portion(portion) = reply else { panic!("untouched: {request:?}") };
        assert_eq!(portion.notice().contains(gap), has_gap, "{request:?}: {}", portion.notice());
    }
    let error = resolve(&snapshot, None, &path("/result/300"), &policy).expect_err("it was not fetched");
    assert!(
        error.to_string().ends_with("; of 200 fetched; the upstream has 500 (maxFetch is 200)"),
        "{error}"
    );
}

#[test]
fn pages_of_a_list_without_its_first_items_are_counted_from_the_first() {
    let item = |n: usize| format!(r#"{{"id":{n},"text":"{}"}}"#, "word ".repeat(20 + n % 9));
    let items: Vec<String> = (1_180..1_300).map(item).collect();
    let list = UpstreamList { skipped: 1_180, fetched: 120, total: Some(1_300), ..UpstreamList::default() };
    let snapshot = capture(Payload {
        blocks: vec![Block::new("/content/0/text", Content::Text(format!("[{}]", items.join(","))))],
        upstream_list: Some(Box::new(list)),
        ..Payload::default()
    });
    let policy = Policy { full_below: 0, token_budget_threshold: 400, hard_cap: 400, ..Policy::default() };
    let notice = |page: u32, limit| {
        let request = Request { page: Some(page), limit, fields: Some("all".into()), ..Request::default() };
        let resolved = resolve(&snapshot, None, &request, &policy).expect("valid");
        let FirstReply::Portion(portion) = super::reply(&snapshot, &resolved, &policy) else {
            panic!("untouched: {page}")
        };
        serde_json::from_str::<Value>(portion.notice()).expect("a notice is JSON")
    };
    let (before, after) = (notice(60, Some(20)), notice(61, Some(20)));
    let served = before["meta"]["served"].as_u64().expect("a page");
    assert!(served < 20, "{before}");
    assert_eq!(after["meta"]["offset"], 1_200, "{after}");
    let not_shown = &after["notShown"];
    assert_eq!(
        (&not_shown["offset"], &not_shown["items"]),
        (&(1_180 + served).into(), &(20 - served).into())
    );
}

#[test]
fn the_next_page_is_redacted() {
    for next in [
        NextPage::Link("https://api.example/bookings?page=2&api_key=hunter2".into()),
        NextPage::Call(r#"list_bookings(page=2, apiKey="hunter2")"#.into()),
    ] {
        let payload = Payload {
            blocks: vec![Block::new("/content/0/text", Content::Text(r#"[{"id":1}]"#.into()))],
            transport_page: TransportPage { next: Some(next), total: None }.into_field(),
            redaction_rules: Some(Arc::new(RedactionRules::default_secrets())),
            ..Payload::default()
        };
        let snapshot = capture(payload);
        let page = snapshot.transport_page().expect("a next page");
        let Some(NextPage::Link(shown) | NextPage::Call(shown)) = &page.next else { panic!("no next page") };
        assert!(shown.contains("bookings") && !shown.contains("hunter2"), "{shown}");
    }
}

#[test]
fn a_page_says_in_many_ways_that_there_are_more() {
    check(
        r#"{"total":500,"link":[{"relation":"self","url":"/a"},{"relation":"next","url":"/b"}],"entry":[$]}"#,
        "",
        "500 link: /b",
    );
    let listed = r#"{"IsTruncated":"true","NextContinuationToken":"t1","Contents":[$]}"#;
    check(listed, "", "- NextContinuationToken: t1");
    check(r#"{"IsTruncated":"TRUE","Contents":[$]}"#, "", "- the upstream has more; change the arguments");
    check(r#"{"after":"t3_abc","before":null,"children":[$]}"#, "", "- after: t3_abc");
    // The dates of a filter, and the total of other items.
    check(r#"{"after":"2024-01-01","before":"2024-02-01","rows":[$]}"#, "", "- -");
    check(r#"{"hits":{"total":{"value":900},"hits":[]},"by_day":{"buckets":[$]}}"#, "", "- -");
}
