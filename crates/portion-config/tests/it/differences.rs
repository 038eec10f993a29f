//! Tests the differences between two versions.

use portion_config::{diff, live};

use super::{loaded, yaml};

#[track_caller]
fn check(old: &str, new: &str, expect: &[(&str, Option<&str>, Option<&str>)]) {
    let changes = diff(&loaded(&yaml(old)), &loaded(&yaml(new)));
    let actual: Vec<_> =
        changes.iter().map(|c| (c.key.as_str(), c.old.as_deref(), c.new.as_deref())).collect();
    assert_eq!(actual, expect);
}

#[test]
fn changes_are_reported_key_by_key() {
    check("{hardCap: 5000, rows: auto}", "{rows: auto, hardCap: 5000}", &[]);
    check("{}", "{hardCap: 12000, rows: objects}", &[]);
    check(
        "{hardCap: 5000, warnAt: 0.5, endpoints: {list_*: {pageSize: 20}, b: {sort: a desc}}}",
        "{hardCap: 6000, snapshotTtl: 90s, endpoints: {list_*: {pageSize: 25}, c: {sections: {x: [y]}}}}",
        &[
            ("endpoints.b.sort", Some(r#""a desc""#), None),
            ("endpoints.c.sections", None, Some(r#"{"x":["y"]}"#)),
            ("endpoints.list_*.pageSize", Some("20"), Some("25")),
            ("hardCap", Some("5000"), Some("6000")),
            ("snapshotTtl", Some(r#""10m""#), Some(r#""1m30s""#)),
            ("warnAt", Some("0.5"), Some("0.8")),
        ],
    );
    check(
        "upstreams: {a: {command: x y}}",
        "upstreams: {a: {command: [x], endpoints: {b: {rollout: 5}}}}",
        &[
            ("upstreams.a.command", Some(r#"["x","y"]"#), Some(r#"["x"]"#)),
            ("upstreams.a.endpoints.b.rollout", None, Some("5")),
        ],
    );
}

#[test]
fn changes_that_need_a_restart_are_separate() {
    let (old, new) =
        (loaded(&yaml("{hardCap: 5000}")), loaded(&yaml("{hardCap: 6000, listen: '127.0.0.1:1'}")));
    let waiting = live::restart_required(&old, &new);
    assert_eq!(waiting.iter().map(|change| change.key.as_str()).collect::<Vec<_>>(), ["listen"]);
}
