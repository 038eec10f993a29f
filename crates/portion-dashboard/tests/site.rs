//! Tests the response for each path.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use portion_core::error_code::ErrorCode;
use portion_core::event::{
    AlertChanged, ConfigApplied, ConfigChange, EndpointKind, Event, Observer as _, Outcome, RequestServed,
    ServedError,
};
use portion_dashboard::{Answer, Records, Site};
use portion_telemetry::recorder::{Recorder, Settings};
use portion_telemetry::timestamp::rfc3339;

/// A name that would be a page of its own, if it were let.
const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\"'&[*]";

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_760_000_000)
}

/// A moment before that, in microseconds.
const AT: u64 = 1_760_000_000_000_000 - 60_000_000;

fn holding(events: impl IntoIterator<Item = Event>) -> (tempfile::TempDir, Site) {
    let folder = tempfile::tempdir().expect("directories can be made");
    let file = folder.path().join("telemetry.db");
    let recorder = Recorder::start(Settings { keep_for: Duration::MAX, ..Settings::new(&file) });
    events.into_iter().for_each(|event| recorder.observe(event));
    assert!(recorder.flush(Duration::from_secs(30)), "{:?}", recorder.snapshot());
    (folder, Site::new(Records::At(file)))
}

fn recorded() -> (tempfile::TempDir, Site) {
    let at = AT;
    let served = RequestServed {
        request: 7,
        at,
        endpoint: Arc::from(HOSTILE),
        kind: EndpointKind::Tool,
        outcome: Outcome::Expired,
        error: Some(ServedError::Own(ErrorCode::CursorExpired)),
        arguments: vec![HOSTILE.to_owned()],
        origin: Some(1),
        session: 9,
        config: 1,
        ..RequestServed::default()
    };
    let change = ConfigChange { key: HOSTILE.to_owned(), old: None, new: Some(HOSTILE.to_owned()) };
    let configured = ConfigApplied { at, version: 1, source: HOSTILE.to_owned(), changes: vec![change] };
    let next = RequestServed { request: 8, at: at + 1, follow_up: true, ..served.clone() };
    holding([
        Event::RequestServed(Arc::new(served)),
        Event::RequestServed(Arc::new(next)),
        Event::ConfigApplied(Arc::new(configured)),
    ])
}

fn response(site: &Site, target: &str) -> Answer {
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    site.answer(path, query, None, now())
}

fn body(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

fn header<'a>(answer: &'a Answer, name: &str) -> &'a str {
    answer.headers.iter().find(|(at, _)| *at == name).map_or("", |(_, value)| value)
}

#[test]
fn every_question_has_a_status() {
    let (_folder, site) = recorded();
    let check = |target: &str, status: u16| assert_eq!(response(&site, target).status, status, "{target}");
    for target in
        ["/", "/?since=7d", "/?sort=errors&order=up", "/requests?only=errors&limit=5", "/experiments"]
    {
        check(target, 200);
    }
    for target in [
        "/changes",
        "/api/records",
        "/api/experiment",
        "/requests/00000000000000000000000000000007",
        "/sessions/0000000000000009",
    ] {
        check(target, 200);
    }
    for wrong in
        ["since=x", "until=1999-01-01", "outcome=x", "only=x", "limit=0", "limit=1001", "limit=-1", "sort=x"]
    {
        check(&format!("/?{wrong}"), 400);
    }
    for target in ["/sessions", "/endpoints/tool/list", "/endpoints/tool/", "/requests?kind=tool&endpoint=x"]
    {
        check(target, 200);
    }
    for wrong in ["page=0", "page=1001", "page=x"] {
        check(&format!("/sessions?{wrong}"), 400);
    }
    for gone in
        ["/x", "/requests/7", "/requests/0000000000000000000000000000000f", "/endpoints", "/endpoints/x"]
    {
        check(gone, 404);
    }
    for gone in ["/assets/portion.js", "/api/", "/api/x", "/api/series/x", "/requests/7/8", "/changes/x"] {
        check(gone, 404);
    }
}

#[test]
fn names_are_names_whatever_they_say() {
    let (_folder, site) = recorded();
    let mut targets =
        ["/requests", "/changes", "/sessions", "/sessions/0000000000000009"].map(str::to_owned).to_vec();
    targets.push("/requests/00000000000000000000000000000008".to_owned());
    let overview = body(&response(&site, "/"));
    let of = overview.split("href=\"/endpoints/").nth(1).and_then(|rest| rest.split('"').next());
    targets.push(format!("/endpoints/{}", of.expect("it has a page").replace("&amp;", "&")));
    targets.push("/".to_owned());
    for target in targets {
        let page = body(&response(&site, &target));
        assert!(page.contains("onerror=alert(1)"), "{target} tells it");
        assert!(!page.contains("<img"), "{target} does not obey it");
        assert!(
            !page.contains("style=\"") && !page.contains(" onclick="),
            "{target} has nothing that the policy forbids"
        );
    }
}

#[test]
fn records_have_the_names_that_are_promised() {
    let (_folder, site) = recorded();
    let answer = response(&site, "/api/records");
    let answer: serde_json::Value = serde_json::from_slice(&answer.body).expect("it is JSON");
    for name in [
        "requestId",
        "endpoint",
        "timestamp",
        "outcome",
        "estimatedTokens",
        "actualTokens",
        "originalTokens",
        "responseBytes",
        "originalBytes",
        "itemCount",
        "latencyMs",
        "overheadMs",
        "paginationUsed",
        "summarizationUsed",
        "chunkingUsed",
        "queryUsed",
        "optimizationMetadata",
        "tokensPerItem",
        "experimentArm",
        "session",
    ] {
        assert!(answer["records"][0].get(name).is_some(), "{name} is not in {answer}");
    }
}

/// Returns each text between two others.
fn between<'a>(page: &'a str, begin: &str, end: &str) -> Vec<&'a str> {
    page.split(begin).skip(1).filter_map(|rest| rest.split(end).next()).collect()
}

#[test]
fn an_endpoint_has_its_own_page_and_list() {
    let like = |number: u64, upstream: Option<&str>, kind| RequestServed {
        request: u128::from(number),
        at: AT + number,
        upstream: upstream.map(Arc::from),
        kind,
        endpoint: Arc::from("list"),
        outcome: Outcome::Expired,
        error: Some(ServedError::Own(ErrorCode::CursorExpired)),
        ..RequestServed::default()
    };
    let (_folder, site) = holding(
        [
            like(1, None, EndpointKind::Tool),
            like(2, None, EndpointKind::Tool),
            like(3, Some("z"), EndpointKind::Tool),
            like(4, None, EndpointKind::Prompt),
        ]
        .map(|served| Event::RequestServed(Arc::new(served))),
    );
    let overview = body(&response(&site, "/"));
    for (page, requests) in
        [("/endpoints/tool/list", 2), ("/endpoints/tool/z/list", 1), ("/endpoints/prompt/list", 1)]
    {
        assert!(overview.contains(&format!("href=\"{page}?since=24h\"")), "{page} is not linked");
        let page = body(&response(&site, page));
        assert_eq!(between(&page, "Requests</abbr></dt><dd title=\"", "\"")[0], requests.to_string());
    }
    // What stands out leads to the requests of one, these to one of them, and that back to them.
    let standing = between(&overview, "<li><a href=\"", "\"")
        .into_iter()
        .find(|href| href.starts_with("/requests?") && href.contains("upstream=z"))
        .expect("it stands out")
        .replace("&amp;", "&");
    let list = body(&response(&site, &standing));
    let request = between(&list, "<th scope=\"row\"><a href=\"", "\"");
    let [request] = &request[..] else { panic!("one of them: {request:?}") };
    let request = body(&response(&site, &request.replace("&amp;", "&")));
    assert!(request.contains(&standing.replace('&', "&amp;")), "no way back to {standing}");
}

#[test]
fn what_is_oversized_and_not_shaped_is_what_is_counted() {
    let first = |number: u64, outcome| RequestServed {
        request: u128::from(number),
        at: AT + number,
        kind: EndpointKind::Tool,
        outcome,
        estimated_tokens: Some(9_000),
        original_tokens: Some(9_000),
        budget: Some(4_000),
        ..RequestServed::default()
    };
    let paginated = [1, 2, 3].map(|number| first(number, Outcome::Paginated));
    let small = RequestServed { original_tokens: Some(10), ..first(4, Outcome::Unshaped) };
    let events = |more: RequestServed| {
        paginated
            .clone()
            .into_iter()
            .chain([small.clone(), more])
            .map(|served| Event::RequestServed(Arc::new(served)))
    };
    let (_folder, site) = holding(events(first(5, Outcome::Unshaped)));
    let page = body(&response(&site, "/"));
    assert!(page.contains("1 oversized payload, not shaped"), "{page}");
    assert!(page.contains("unknown endpoint"), "links have a text");
    let every_second = |number: u64| Some(if number.is_multiple_of(2) { 10 } else { 9_000 });
    let unshaped =
        |number| RequestServed { original_tokens: every_second(number), ..first(number, Outcome::Unshaped) };
    let many = (5..205).map(|number| Event::RequestServed(Arc::new(unshaped(number))));
    let (_folder, site) = holding(events(first(205, Outcome::Paginated)).chain(many));
    assert!(body(&response(&site, "/")).contains("50 of the last 100 unshaped payloads were oversized"));
    let (_folder, site) = holding(events(first(5, Outcome::Paginated)));
    assert!(!body(&response(&site, "/")).contains("not shaped</span>"), "all that is large was shaped");
}

#[test]
fn a_request_leads_to_the_change_that_it_was_served_by() {
    const DAY: u64 = 24 * 3_600_000_000;
    let configured = |at, source: &str| {
        let source = source.to_owned();
        Event::ConfigApplied(Arc::new(ConfigApplied { at, version: 2, source, changes: Vec::new() }))
    };
    let request = Event::RequestServed(Arc::new(RequestServed {
        request: 7,
        at: AT,
        config: 2,
        ..RequestServed::default()
    }));
    let (_folder, site) = holding([
        configured(AT - 5 * DAY, "a.yaml"),
        configured(AT - 2 * DAY, "a.yaml"),
        configured(AT - 3 * DAY, "b.yaml"),
        configured(AT + 1, "a.yaml"),
        request,
    ]);
    let page = body(&response(&site, "/requests/00000000000000000000000000000007"));
    let links: Vec<_> = between(&page, "<a href=\"/changes?", "</a>");
    let links: Vec<_> = links.iter().filter(|link| link.contains("#v2-")).collect();
    for (link, (source, at)) in links.iter().zip([("a.yaml", AT - 2 * DAY), ("b.yaml", AT - 3 * DAY)]) {
        assert!(link.ends_with(&format!("version 2 of {source}")), "{link}");
        let (target, mark) = link.split('"').next().and_then(|href| href.split_once('#')).expect("a mark");
        assert_eq!(mark, format!("v2-{at}"));
        let changes = body(&response(&site, &format!("/changes?{}", target.replace("&amp;", "&"))));
        assert_eq!(changes.matches(&format!("id=\"{mark}\"")).count(), 1, "{changes}");
        assert!(changes.contains(source), "{changes}");
    }
    assert_eq!(links.len(), 2, "{links:?}");
}

#[test]
fn what_was_left_out_is_told_without_any_step() {
    let check = |served: RequestServed, expect: &str| {
        let served = RequestServed { request: 7, at: AT, ..served };
        let (_folder, site) = holding([Event::RequestServed(Arc::new(served))]);
        let page = body(&response(&site, "/requests/00000000000000000000000000000007"));
        let told = between(&page, "Processing steps</h2><p>", "</p>");
        assert_eq!(told, [expect]);
    };
    let list = RequestServed {
        outcome: Outcome::Paginated,
        items: Some(50),
        total_items: Some(500),
        ..RequestServed::default()
    };
    check(list.clone(), "50 of 500 items were served: a page.");
    check(RequestServed { items: Some(500), ..list.clone() }, "All items were served.");
    check(
        RequestServed { error: Some(ServedError::Upstream), ..list },
        "Nothing was cut: the reply is an error.",
    );
    let of = |outcome| RequestServed { outcome, ..RequestServed::default() };
    check(of(Outcome::Chunked), "The first chunk of the text was served.");
    check(of(Outcome::Summarized), "A summary was served instead.");
    check(of(Outcome::Untouched), "Nothing was cut: the payload was small enough.");
    check(of(Outcome::Unshaped), "Nothing was cut: shaping is off for this endpoint.");
}

#[test]
fn a_time_that_cannot_be_can_be_mended() {
    let (_folder, site) = recorded();
    let page = body(&response(&site, "/requests?since=soon&until=09:30&outcome=expired"));
    for part in [
        "action=\"/requests\"",
        "type=\"hidden\" name=\"outcome\" value=\"expired\"",
        "name=\"since\" value=\"soon\"",
        "name=\"until\" value=\"09:30\"",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    assert!(!body(&response(&site, "/requests?limit=x")).contains("name=\"since\""), "the time is right");
}

/// Returns the change at which the alert on oversized calls was raised.
fn raised_alert(at: u64) -> AlertChanged {
    AlertChanged {
        at,
        alert_name: "oversized".into(),
        is_raised: true,
        share: 0.1,
        threshold: 0.05,
        requests: 100,
        matching_requests: 10,
        window: Duration::from_mins(5),
        process: 1,
    }
}

#[test]
fn an_alert_leads_to_what_raised_it_and_none_is_left_out_unsaid() {
    let alerts =
        |count: u64| (0..count).map(|number| Event::AlertChanged(Arc::new(raised_alert(AT + number))));
    let (_folder, site) = holding(alerts(200));
    let changes = "/changes?since=2d";
    assert!(!body(&response(&site, changes)).contains("The newest 200"), "these are all of them");
    // Whatever time a page is about, an alert that stands now is about now.
    let page = body(&response(&site, "/?since=2d&until=1d"));
    let since = rfc3339(AT + 199 - 300_000_000).replace(':', "%3A");
    assert!(page.contains(&format!("href=\"/requests?since={since}&amp;only=oversized\"")), "{page}");
    let (_folder, site) = holding(alerts(201));
    let page = body(&response(&site, changes));
    assert!(page.contains("The newest 200 of each kind"), "{page}");
    assert_eq!(page.matches("<li class=\"alert\">").count(), 200);
}

#[test]
fn all_that_goes_back_to_a_result_is_shown() {
    let (_folder, site) = holding((0..=250).map(|number: u64| {
        let served = RequestServed {
            request: number.into(),
            at: AT + number,
            origin: Some(1),
            follow_up: number > 0,
            ..RequestServed::default()
        };
        Event::RequestServed(Arc::new(served))
    }));
    let page = body(&response(&site, "/requests/00000000000000000000000000000003"));
    assert!(page.contains("250 follow-ups were made"), "{page}");
    assert_eq!(page.matches("aria-current=\"true\"").count(), 1, "it is among them");
    assert!(page.contains("/requests/00000000000000000000000000000000"), "and so is the first call");
}

#[test]
fn a_follow_up_is_about_what_was_counted_when_it_came() {
    let first = RequestServed {
        request: 1,
        at: AT,
        endpoint: Arc::from("list"),
        kind: EndpointKind::Tool,
        outcome: Outcome::Paginated,
        origin: Some(7),
        estimated_tokens: Some(900),
        original_tokens: Some(9_000),
        original_bytes: 36_000,
        total_items: Some(500),
        ..RequestServed::default()
    };
    // What the next one gives is an answer to a question, and so are its bytes.
    let next = RequestServed {
        request: 2,
        at: AT + 1,
        follow_up: true,
        original_tokens: None,
        original_bytes: 400,
        total_items: Some(2),
        ..first.clone()
    };
    let (_folder, site) = holding([first, next].map(|it| Event::RequestServed(Arc::new(it))));
    let page = body(&response(&site, &format!("/requests/{:032x}", 2)));
    let about = between(&page, "Result it reads from", "Served to the model");
    assert!(about[0].contains("<strong>9,000</strong> tokens, 36.0 kB, 500 items"), "{about:?}");
}

#[test]
fn sessions_are_listed_and_paged() {
    let events = (0..30).map(|number: u64| {
        let (outcome, error) = match number {
            29 => (Outcome::Expired, Some(ServedError::Own(ErrorCode::CursorExpired))),
            28 => (Outcome::Untouched, Some(ServedError::Upstream)),
            _ => (Outcome::Paginated, None),
        };
        let served = RequestServed {
            request: number.into(),
            at: AT + number,
            session: number,
            outcome,
            error,
            ..RequestServed::default()
        };
        Event::RequestServed(Arc::new(served))
    });
    let (_folder, site) = holding(events);
    let (first, second) = (body(&response(&site, "/sessions")), body(&response(&site, "/sessions?page=2")));
    let shown = |page: &str| between(page, "href=\"/sessions/", "?").join(" ");
    assert!(shown(&first).starts_with("000000000000001d 000000000000001c "), "{}", shown(&first));
    assert!(first.contains("1 expired") && first.contains("1 upstream error"), "{first}");
    assert_eq!(shown(&second).split(' ').count(), 5, "{}", shown(&second));
    assert!(first.contains("page=2") && second.contains("page=1") && !second.contains("page=3"));
}

#[test]
fn no_time_is_too_long_to_be_shown() {
    let (_folder, site) = recorded();
    let ever = "since=1970-01-01&until=9999-12-31";
    let page = body(&response(&site, &format!("/?{ever}")));
    assert!(page.len() < 50_000, "it has {} bytes", page.len());
    let answer = response(&site, &format!("/api/series?{ever}"));
    let answer: serde_json::Value = serde_json::from_slice(&answer.body).expect("it is JSON");
    assert_eq!(answer["slots"][0]["requests"], 2);
}

#[test]
fn pages_forbid_what_they_do_not_need() {
    let (_folder, site) = recorded();
    let page = response(&site, "/");
    let policy = header(&page, "content-security-policy");
    for rule in ["default-src 'none'", "script-src 'self';", "style-src 'self';", "frame-ancestors 'none'"] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(header(&page, "cache-control"), "no-store");
    let text = body(&page);
    let assets: Vec<&str> = text.split('"').filter(|part| part.starts_with("/assets/")).collect();
    assert_eq!(assets.len(), 5, "{assets:?}");
    for asset in assets {
        let answer = response(&site, asset);
        assert_eq!((answer.status, header(&answer, "x-content-type-options")), (200, "nosniff"));
        assert!(header(&answer, "cache-control").contains("immutable"), "{asset}");
    }
}

#[test]
fn without_records_it_says_what_to_do() {
    let check = |site: &Site, path: &str, status: u16, told: &str| {
        let answer = response(site, path);
        assert_eq!(answer.status, status, "{path}");
        assert!(body(&answer).contains(told), "{path}: {}", body(&answer));
    };
    let folder = tempfile::tempdir().expect("directories can be made");
    let missing = Site::new(Records::At(folder.path().join("none.db")));
    check(&missing, "/", 200, "<code>portion install</code>");
    check(&missing, "/api/overview", 503, "records_unreadable");
    check(&Site::new(Records::Off), "/requests", 200, "Telemetry is off");
    check(&Site::new(Records::Off), "/requests", 200, "start Portion without <code>--telemetry off</code>");
    check(&Site::new(Records::Off), "/api/alerts", 503, "telemetry_off");
}

#[test]
fn codes_clients_and_costs_are_shown() {
    let served = |number: u64, error, client: Option<&str>| RequestServed {
        request: u128::from(number),
        at: AT + number,
        endpoint: Arc::from("list"),
        kind: EndpointKind::Tool,
        session: 9,
        outcome: if error == Some(ServedError::Own(ErrorCode::LimitTooLarge)) {
            Outcome::Refused
        } else {
            Outcome::Paginated
        },
        error,
        client: client.map(Arc::from),
        estimated_tokens: Some(1_000),
        original_tokens: error.is_none().then_some(2_001_000),
        ..RequestServed::default()
    };
    let (folder, site) = holding(
        [
            served(1, None, Some("desktop & co")),
            served(2, Some(ServedError::Own(ErrorCode::LimitTooLarge)), Some("desktop & co")),
            served(3, Some(ServedError::Upstream), None),
        ]
        .map(|served| Event::RequestServed(Arc::new(served))),
    );
    // A code in a list leads to all requests with it, and the code stays in the form.
    let list = body(&response(&site, "/requests?error=limit_too_large"));
    assert_eq!(list.matches("<th scope=\"row\">").count(), 1, "{list}");
    assert!(list.contains("name=\"error\" value=\"limit_too_large\""), "{list}");
    assert!(list.contains("error=limit_too_large\" title="), "{list}");
    for page in ["/requests", "/sessions", "/sessions/0000000000000009"] {
        assert!(body(&response(&site, page)).contains("desktop &amp; co"), "{page} names the client");
    }
    let refused = body(&response(&site, &format!("/requests/{:032x}", 2)));
    assert!(refused.contains("no result"), "it was not sent to the server: {refused}");
    assert!(!body(&response(&site, "/")).contains("Saved</abbr></dt>"), "no price is known");
    let site = Site::new(Records::At(folder.path().join("telemetry.db"))).with_token_price(Some(3.0));
    let page = body(&response(&site, "/"));
    assert!(page.contains("Saved</abbr></dt><dd>$6.00</dd>"), "2 million tokens: {page}");
    assert!(page.contains("$0.0030 spent on replies"), "{page}");
}

#[test]
fn servers_of_unknown_cursors_are_named() {
    let refused = |number: u64, upstream: Option<&str>| RequestServed {
        request: u128::from(number),
        at: AT + number,
        upstream: upstream.map(Arc::from),
        kind: EndpointKind::Tool,
        outcome: Outcome::Refused,
        error: Some(ServedError::Own(ErrorCode::CursorInvalid)),
        ..RequestServed::default()
    };
    let events = [refused(1, None), refused(2, Some("a")), refused(3, Some("b"))];
    let (_folder, site) = holding(events.map(|served| Event::RequestServed(Arc::new(served))));
    let page = body(&response(&site, "/"));
    for name in ["unknown endpoint<", "unknown endpoint of a<", "unknown endpoint of b<"] {
        assert!(page.contains(name), "{name}");
    }
}

#[test]
fn servers_and_clients_are_chosen_and_saved_as_csv() {
    let served = |number: u64, server: &str, client: &str| RequestServed {
        request: u128::from(number),
        at: AT + number,
        upstream: Some(Arc::from(server)),
        endpoint: Arc::from("list"),
        kind: EndpointKind::Tool,
        outcome: Outcome::Paginated,
        client: Some(Arc::from(client)),
        estimated_tokens: Some(1_000),
        original_tokens: Some(41_000),
        ..RequestServed::default()
    };
    let events = [served(1, "docs", "codex"), served(2, "docs", "claude"), served(3, "mail", "codex")];
    let (_folder, site) = holding(events.map(|served| Event::RequestServed(Arc::new(served))));
    let rows = |query: &str| {
        body(&response(&site, &format!("/requests{query}"))).matches("<th scope=\"row\">").count()
    };
    let counts = ["", "?server=docs", "?client=codex", "?server=docs&client=codex", "?server=none"].map(rows);
    assert_eq!(counts, [3, 2, 2, 1, 0]);
    let kept = |query: &str| {
        let page = body(&response(&site, &format!("/{query}")));
        between(&page, "Tokens kept out</abbr></dt><dd title=\"", "\"").concat()
    };
    assert_eq!(["", "?server=docs", "?client=claude"].map(kept), ["120,000", "80,000", "40,000"]);
    let page = body(&response(&site, "/?client=codex&sort=errors"));
    assert!(page.contains("<option value=\"codex\" selected>"), "the choice stays: {page}");
    assert!(page.contains("since=7d&amp;client=codex"), "other times keep it: {page}");
    let answer = response(&site, "/api/records?format=csv&server=docs");
    assert_eq!(header(&answer, "content-type"), "text/csv; charset=utf-8");
    assert!(header(&answer, "content-disposition").starts_with("attachment"));
    assert_eq!(body(&answer).lines().count(), 3, "a head and two records");
    assert_eq!(response(&site, "/api/records?format=xml").status, 400);
}

#[test]
fn a_result_above_the_budget_is_no_warning() {
    let served = RequestServed {
        request: 1,
        at: AT,
        endpoint: Arc::from("list"),
        outcome: Outcome::Paginated,
        estimated_tokens: Some(1_000),
        original_tokens: Some(41_000),
        budget: Some(4_000),
        ..RequestServed::default()
    };
    let oversized = |alerts: Vec<Event>| {
        let (_folder, site) =
            holding([Event::RequestServed(Arc::new(served.clone()))].into_iter().chain(alerts));
        between(&body(&response(&site, "/")), "Oversized</abbr></dt><dd", ">").concat()
    };
    assert_eq!(oversized(Vec::new()), "");
    assert_eq!(oversized(vec![Event::AlertChanged(Arc::new(raised_alert(AT)))]), " class=\"warning\"");
}

#[test]
fn bars_differ_from_their_ground_in_light_and_dark() {
    let (_folder, site) = recorded();
    let page = body(&response(&site, "/"));
    let assets = between(&page, "href=\"/assets/portion", "\"");
    let style = assets.iter().find(|path| path.contains(".css")).expect("a style sheet");
    let style = body(&response(&site, &format!("/assets/portion{style}")));
    let luminance = |colour: &str| {
        let part =
            |at: usize| f64::from(u8::from_str_radix(&colour[at..at + 2], 16).expect("hexadecimal")) / 255.0;
        let linear =
            |at| if part(at) <= 0.04045 { part(at) / 12.92 } else { ((part(at) + 0.055) / 1.055).powf(2.4) };
        0.2126 * linear(0) + 0.7152 * linear(2) + 0.0722 * linear(4)
    };
    let (light, dark) = style.split_once("prefers-color-scheme: dark").expect("a dark scheme");
    for (scheme, css) in [("light", light), ("dark", dark)] {
        let colour = |name: &str| luminance(between(css, &format!("--{name}: #"), ";")[0]);
        let ground = colour("ground");
        let outcomes =
            "untouched unshaped paginated summarized chunked queried projected raw capped expired refused";
        for name in ["came", "served"].into_iter().chain(outcomes.split(' ')) {
            let (a, b) = (colour(name).max(ground), colour(name).min(ground));
            assert!((a + 0.05) / (b + 0.05) >= 3.0, "--{name} in {scheme}: {:.2}", (a + 0.05) / (b + 0.05));
        }
    }
}
