//! Tests of path resolution.

use portion_core::path::resolve_path;
use portion_core::snapshot::{IndexedText, Slice};

/// Resolves a path and checks the value, or the resolved prefix and the suggestion.
fn check(json: &str, path: &str, expect: &str) {
    let subject = IndexedText::from_payload(Slice::new(json.to_owned()));
    let outcome = match resolve_path(&subject, path) {
        Ok(reached) => format!("{} = {}", reached.pointer, reached.span.slice(json)),
        Err(astray) => {
            let nearest = astray.closest_step.map_or_else(String::new, |name| format!(", {name}?"));
            format!(
                "{} has no {}{nearest} [{}]",
                astray.resolved_pointer,
                astray.missing_step,
                astray.available_steps.join(" ")
            )
        }
    };
    assert_eq!(outcome, expect, "{path} in {json}");
}

const BOOKING: &str =
    r#"{"id":7,"guest":{"name":"Ann","a.b":1,"x/y":2,"m~n":3,"":4},"lines":[{"price":5},{"price":6}]}"#;

#[test]
fn pointers() {
    check(BOOKING, "", &format!(" = {BOOKING}"));
    check(BOOKING, "/id", "/id = 7");
    check(BOOKING, "/guest/a.b", "/guest/a.b = 1");
    check(BOOKING, "/guest/x~1y", "/guest/x~1y = 2");
    check(BOOKING, "/guest/m~0n", "/guest/m~0n = 3");
    check(BOOKING, "/guest/", "/guest/ = 4");
    check(BOOKING, "/lines/1/price", "/lines/1/price = 6");
    check(BOOKING, "/lines/-1", "/lines has no -1 [0 to 1]");
    check(BOOKING, "/lines/01", "/lines has no 01 [0 to 1]");
    check(BOOKING, "/lines/+1", "/lines has no +1 [0 to 1]");
    check(BOOKING, "/lines/2", "/lines has no 2 [0 to 1]");
    check(BOOKING, "/gest/name", "the root has no gest, guest? [id guest lines]");
    check(BOOKING, "/id/x", "/id has no x []");
    check(r#"{"a ":1,"a":2}"#, "/a ", "/a  = 1");
    check(r#"{"é":1}"#, "/é", "/é = 1");
    check(r#"{"\u00e9":1}"#, "/é", "/é = 1");
    check(r#"{"a":1,"a":2}"#, "/a", "/a = 1");
}

#[test]
fn common_notations() {
    check(BOOKING, "$", &format!(" = {BOOKING}"));
    check(BOOKING, "guest.name", "/guest/name = \"Ann\"");
    check(BOOKING, " $.guest.name ", "/guest/name = \"Ann\"");
    check(BOOKING, "guest.a.b", "/guest/a.b = 1");
    check(BOOKING, "lines[1].price", "/lines/1/price = 6");
    check(BOOKING, "lines.0.price", "/lines/0/price = 5");
    check(BOOKING, "guest['name']", "/guest/name = \"Ann\"");
    check(BOOKING, "[\"guest\"].name", "/guest/name = \"Ann\"");
    check(BOOKING, "guest.nam", "/guest has no nam, name? [name a.b x/y m~n ]");
    check(r#"{"a.b":{"c":1},"a":{"b":2}}"#, "a.b", "/a.b = {\"c\":1}");
    check(r#"{"a.b":{"c":1},"a":{"b":2}}"#, "a.b.c", "/a.b/c = 1");
}

#[test]
fn lists() {
    let items = r#"{"data":{"items":[{"id":1},{"id":2}]}}"#;
    check(items, "/data/items/1/id", "/data/items/1/id = 2");
    check(items, "data.items[1].id", "/data/items/1/id = 2");
    check(items, "/data/items/9", "/data/items has no 9, 1? []");
    check("[10,20,30]", "2", "/2 = 30");
    check("[10,20,30]", "[0]", "/0 = 10");
    check("[10,20,30]", "/x", "the root has no x [0 to 2]");
    let lines = "{\"id\":1}\n\n{\"id\":2}\n";
    check(lines, "/1/id", "/1/id = 2");
    check(lines, "1.id", "/1/id = 2");
    check(lines, "/id", "the root has no id [0 to 1]");
    check(lines, "/2", "the root has no 2, 1? []");
}
