use portion_policy::pushdown::Pushdown;
use serde_json::{Map, Value, json};

use super::{Evidence, PagingCheck, Step};
use crate::check::observation::Observation;
use crate::check::tool::Tool;

/// Most calls of a check, the first included.
const MAX_CALLS: usize = 7;

fn number(arguments: &Map<String, Value>, name: &str, default: usize) -> usize {
    arguments.get(name).and_then(Value::as_u64).map_or(default, |number| number as usize)
}

fn rows(from: usize, count: usize, total: usize) -> Vec<Value> {
    (from..(from + count).min(total)).map(|id| json!({"id": id + 1, "name": format!("Row {id}")})).collect()
}

/// Checks a tool with these arguments against a server. `expect`: the settings, or none.
fn check(
    arguments: &[&str],
    server: &dyn Fn(&Map<String, Value>) -> Value,
    expect: Option<(&[(&str, &str)], Evidence)>,
) {
    let properties: Map<String, Value> =
        arguments.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
    let tool =
        Tool::parse(&json!({"name": "list", "inputSchema": {"properties": properties}})).expect("a tool");
    let call = |arguments: &Map<String, Value>| Observation::of_text(&server(arguments).to_string());
    let mut check = PagingCheck::new(&tool, Map::new(), call(&Map::new()));
    for _ in 0..MAX_CALLS {
        match (check.step(), expect) {
            (Step::Call(arguments), _) => check.learn(&call(&arguments)),
            (Step::Found(paging), Some((settings, evidence))) => {
                let found: Vec<_> = paging.settings.iter().map(|(key, text)| (*key, text.as_str())).collect();
                assert_eq!((found.as_slice(), paging.evidence), (settings, evidence), "{arguments:?}");
                let owned: Vec<_> =
                    paging.settings.iter().map(|(key, text)| ((*key).to_owned(), text.clone())).collect();
                Pushdown::from_settings(&owned).expect("valid settings");
                return;
            }
            (Step::NotFound, None) => return,
            (step, expect) => panic!("{arguments:?}: {step:?} in place of {expect:?}"),
        }
    }
    panic!("{arguments:?}: more than {MAX_CALLS} calls");
}

#[test]
fn hostaway_is_recognized() {
    let server = |call: &Map<String, Value>| {
        let (limit, offset) = (number(call, "limit", 100), number(call, "offset", 0));
        json!({"status": "success", "result": rows(offset, limit, 500), "count": 500, "limit": limit, "offset": offset})
    };
    let settings = [
        ("preset", "hostaway"),
        ("limit", "limit"),
        ("offset", "offset"),
        ("pageSize", "100"),
        ("items", "/result"),
        ("total", "/count"),
    ];
    check(&["limit", "offset", "status"], &server, Some((&settings, Evidence::Checked)));
}

#[test]
fn education_data_is_recognized_although_it_ignores_the_limit() {
    let server = |call: &Map<String, Value>| {
        let page = number(call, "page", 1);
        // Unique in these rows, and perhaps not in others: it is not proposed as the id.
        let school = |mut row: Value| {
            row["leaid"] = row.as_object_mut().and_then(|row| row.shift_remove("id")).expect("an id");
            row
        };
        let results: Vec<Value> = rows((page - 1) * 100, 100, 250).into_iter().map(school).collect();
        json!({"count": 250, "next": "https://a.example/x?page=2", "previous": null, "results": results})
    };
    let settings = [
        ("preset", "education"),
        ("page", "page"),
        ("pageSize", "100"),
        ("items", "/results"),
        ("total", "/count"),
        ("next", "/next"),
    ];
    check(&["limit", "page", "fips"], &server, Some((&settings, Evidence::Checked)));
}

#[test]
fn pages_of_bare_arrays_are_tested() {
    let from = |start: usize| {
        move |call: &Map<String, Value>| {
            let (size, page) = (number(call, "per_page", 30), number(call, "page", start));
            json!(rows((page - start) * size, size, 95))
        }
    };
    let settings = [("preset", "page"), ("limit", "per_page"), ("page", "page"), ("pageSize", "100")];
    check(&["per_page", "page"], &from(1), Some((&settings, Evidence::Checked)));
    let settings = [
        ("preset", "page"),
        ("limit", "per_page"),
        ("page", "page"),
        ("pageStart", "0"),
        ("pageSize", "100"),
    ];
    check(&["per_page", "page"], &from(0), Some((&settings, Evidence::Checked)));
}

#[test]
fn cursors_and_ids_are_tested() {
    let cursor = |call: &Map<String, Value>| {
        let limit = number(call, "limit", 25);
        let from =
            call.get("cursor").and_then(Value::as_str).map_or(0, |text| text[3..].parse().expect("a cursor"));
        let end = from + limit;
        let next = (end < 90).then(|| format!("at:{end}"));
        json!({"data": rows(from, limit, 90), "has_more": next.is_some(), "next_cursor": next})
    };
    let settings = [
        ("preset", "cursor"),
        ("limit", "limit"),
        ("cursor", "cursor"),
        ("pageSize", "100"),
        ("items", "/data"),
        ("next", "/next_cursor"),
        ("hasMore", "/has_more"),
    ];
    check(&["limit", "cursor"], &cursor, Some((&settings, Evidence::Checked)));
    let after = |call: &Map<String, Value>| json!({"result": rows(number(call, "afterId", 0), number(call, "limit", 25), 90)});
    let settings = [
        ("preset", "after-id"),
        ("limit", "limit"),
        ("afterId", "afterId"),
        ("pageSize", "100"),
        ("items", "/result"),
    ];
    check(&["limit", "afterId"], &after, Some((&settings, Evidence::Checked)));
}

#[test]
fn a_link_needs_no_argument() {
    let server = |_: &Map<String, Value>| json!({"items": rows(0, 40, 500), "next": "https://a.example/items?start=40"});
    let settings = [("preset", "link"), ("pageSize", "40"), ("items", "/items"), ("next", "/next")];
    check(&["q"], &server, Some((&settings, Evidence::Unchecked)));
}

#[test]
fn arguments_without_effect_are_not_proposed() {
    let ignores = |_: &Map<String, Value>| json!({"items": rows(0, 40, 40)});
    check(&["limit", "offset"], &ignores, None);
    check(&["limit", "page"], &ignores, None);
    check(&["status"], &ignores, None);
    let text = |_: &Map<String, Value>| json!("a text");
    check(&["limit", "offset"], &text, None);
    let short = |_: &Map<String, Value>| json!({"items": rows(0, 3, 3)});
    check(&["limit", "offset"], &short, None);
}

#[test]
fn a_page_beyond_the_first_one_is_no_evidence_for_one_within_it() {
    // The offset counts pages, not items.
    let server = |call: &Map<String, Value>| {
        let (limit, offset) = (number(call, "limit", 40), number(call, "offset", 0));
        json!({"items": rows(offset * 40, limit, 500), "total": 500})
    };
    check(&["limit", "offset"], &server, None);
}

#[test]
fn paging_that_cannot_be_tested_is_unchecked() {
    let tool = json!({"name": "list", "inputSchema": {"properties": {"limit": {}, "offset": {}}}});
    let tool = Tool::parse(&tool).expect("a tool");
    let first = Observation::of_text(&json!({"items": rows(0, 40, 500), "total": 500}).to_string());
    let check = PagingCheck::new(&tool, Map::new(), first);
    assert!(matches!(check.step(), Step::Call(_)));
    assert_eq!(check.untested().map(|paging| paging.evidence), Some(Evidence::Unchecked));
}

/// The size of a page is one that the tool has returned.
#[test]
fn a_page_size_is_tried_before_it_is_proposed() {
    let check_size = |max: usize, refused: &Value, size: &str| {
        let server = |call: &Map<String, Value>| {
            let (limit, page) = (number(call, "limit", 20), number(call, "page", 1));
            if limit > max {
                return refused.clone();
            }
            json!({"items": rows((page - 1) * limit, limit, 500), "total": 500})
        };
        let settings = [
            ("preset", "page"),
            ("limit", "limit"),
            ("page", "page"),
            ("pageSize", size),
            ("items", "/items"),
            ("total", "/total"),
        ];
        check(&["limit", "page"], &server, Some((&settings, Evidence::Checked)));
    };
    check_size(100, &json!("unused"), "100");
    check_size(50, &json!("Response too large"), "20");
    check_size(50, &json!({"error": "too large", "hints": ["reduce limit"]}), "20");
    check_size(50, &json!({"items": rows(0, 50, 500), "total": 500}), "50");
}
