//! What is sent for a path.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use portion_core::event::{Change, Configured, Event, Observer as _, Outcome, Served};
use portion_dashboard::{Answer, Records, Site};
use portion_telemetry::recorder::{Recorder, Settings};

/// A name that would be a page of its own, if it were let.
const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\"'&[*]";

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_760_000_000)
}

fn recorded() -> (tempfile::TempDir, Site) {
    let folder = tempfile::tempdir().expect("directories can be made");
    let file = folder.path().join("telemetry.db");
    let recorder = Recorder::start(Settings { keep_for: Duration::MAX, ..Settings::new(&file) });
    let at = 1_760_000_000_000_000 - 60_000_000;
    let served = Served {
        request: 7,
        at,
        endpoint: Arc::from(HOSTILE),
        kind: "tool",
        outcome: Outcome::Expired,
        error: Some("cursor_expired"),
        arguments: vec![HOSTILE.to_owned()],
        origin: Some(1),
        session: 9,
        config: 1,
        ..Served::default()
    };
    let change = Change { key: HOSTILE.to_owned(), old: None, new: Some(HOSTILE.to_owned()) };
    let configured = Configured { at, version: 1, source: HOSTILE.to_owned(), changes: vec![change] };
    recorder.hear(Event::Served(Arc::new(served.clone())));
    recorder.hear(Event::Served(Arc::new(Served { request: 8, at: at + 1, follow_up: true, ..served })));
    recorder.hear(Event::Configured(Arc::new(configured)));
    assert!(recorder.flush(Duration::from_secs(30)), "{:?}", recorder.figures());
    (folder, Site::new(Records::At(file)))
}

fn asked(site: &Site, target: &str) -> Answer {
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
    let check = |target: &str, status: u16| assert_eq!(asked(&site, target).status, status, "{target}");
    for target in
        ["/", "/?since=7d", "/?sort=errors&order=up", "/requests?only=errors&limit=5", "/experiments"]
    {
        check(target, 200);
    }
    for target in ["/changes", "/requests/00000000000000000000000000000007", "/sessions/0000000000000009"] {
        check(target, 200);
    }
    for wrong in
        ["since=x", "until=1999-01-01", "outcome=x", "only=x", "limit=0", "limit=1001", "limit=-1", "sort=x"]
    {
        check(&format!("/?{wrong}"), 400);
    }
    for gone in
        ["/x", "/requests/7", "/requests/0000000000000000000000000000000f", "/endpoints", "/endpoints/"]
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
        vec!["/requests".to_owned(), "/changes".to_owned(), "/sessions/0000000000000009".to_owned()];
    targets.push("/requests/00000000000000000000000000000008".to_owned());
    let overview = body(&asked(&site, "/"));
    let of = overview.split("href=\"/endpoints/").nth(1).and_then(|rest| rest.split('"').next());
    targets.push(format!("/endpoints/{}", of.expect("it has a page").replace("&amp;", "&")));
    targets.push("/".to_owned());
    for target in targets {
        let page = body(&asked(&site, &target));
        assert!(page.contains("onerror=alert(1)"), "{target} tells it");
        assert!(!page.contains("<img"), "{target} does not obey it");
        assert!(
            !page.contains("style=\"") && !page.contains(" onclick="),
            "{target} has nothing that the policy forbids"
        );
    }
}

#[test]
fn pages_forbid_what_they_do_not_need() {
    let (_folder, site) = recorded();
    let page = asked(&site, "/");
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
        let answer = asked(&site, asset);
        assert_eq!((answer.status, header(&answer, "x-content-type-options")), (200, "nosniff"));
        assert!(header(&answer, "cache-control").contains("immutable"), "{asset}");
    }
}

#[test]
fn without_records_it_says_what_to_do() {
    let check = |site: &Site, path: &str, status: u16, told: &str| {
        let answer = asked(site, path);
        assert_eq!(answer.status, status, "{path}");
        assert!(body(&answer).contains(told), "{path}: {}", body(&answer));
    };
    let folder = tempfile::tempdir().expect("directories can be made");
    let missing = Site::new(Records::At(folder.path().join("none.db")));
    check(&missing, "/", 200, "Put Portion in front of an MCP server");
    check(&missing, "/api/overview", 503, "records_unreadable");
    check(&Site::new(Records::Off), "/requests", 200, "Telemetry is off");
    check(&Site::new(Records::Off), "/api/alerts", 503, "telemetry_off");
}
