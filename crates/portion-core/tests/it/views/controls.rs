//! Tests of controls, single and combined.

use portion_core::policy::Policy;
use portion_core::view::{CONTROLS, Request};

/// Sets one control and checks the request in `Debug` form, or the code and message of the error.
fn check(name: &str, json: &str, expect: &str) {
    let mut request = Request::default();
    let outcome = match request.set_control(name, json, &Policy::default()) {
        Ok(true) => shown(&request),
        Ok(false) => "none of ours".to_owned(),
        Err(error) => format!("{}: {error}", error.code()),
    };
    assert_eq!(outcome, expect, "{name}={json}");
}

/// Returns the controls that are set, but for the query.
fn shown(request: &Request) -> String {
    let all = format!("{request:?}");
    let all = all.split(", query: ").next().unwrap_or_default();
    let inside = all.trim_start_matches("Request { ").trim_end_matches(" }");
    let set = inside.split(", ").filter(|field| !field.ends_with(": None") && !field.ends_with(": false"));
    set.collect::<Vec<_>>().join(", ")
}

#[test]
fn counts() {
    check("limit", "20", "limit: Some(20)");
    check("limit", "\"20\"", "limit: Some(20)");
    check("limit", "\" 20 \"", "limit: Some(20)");
    check("limit", "20.0", "limit: Some(20)");
    check("limit", "200", "limit: Some(200)");
    check("limit", "null", "");
    check("limit", "201", "limit_too_large: limit exceeds maximum of 200: 201 was given");
    check("limit", "1e30", "limit_too_large: limit exceeds maximum of 200: 1e30 was given");
    check("limit", "\"5000\"", "limit_too_large: limit exceeds maximum of 200: 5000 was given");
    let wrong = [("0", "0"), ("-5", "-5"), ("1.5", "1.5"), ("\"many\"", "many"), ("true", "true")];
    for (json, given) in wrong {
        check(
            "limit",
            json,
            &format!("limit_invalid: limit is {given}; it must be a whole number from 1 to 200"),
        );
    }
    let long = format!("\"{}\"", "x".repeat(100));
    let cut = format!("{}…", "x".repeat(40));
    check("limit", &long, &format!("limit_invalid: limit is {cut}; it must be a whole number from 1 to 200"));
}

#[test]
fn places() {
    check("page", "1", "page: Some(1)");
    check("page", "\"3\"", "page: Some(3)");
    check("pages", "\"1-3\"", "page: Some(1), page_count: Some(3)");
    check("pages", "2", "page: Some(2), page_count: Some(1)");
    for (name, json, given) in [
        ("page", "0", "0"),
        ("page", "-1", "-1"),
        ("page", "\"two\"", "two"),
        ("page", "5000000000", "5000000000"),
        ("pages", "\"3-1\"", "3-1"),
        ("pages", "\"0-2\"", "0-2"),
        ("pages", "\"1-\"", "1-"),
        ("pages", "[1,2]", "[1,2]"),
    ] {
        let wants =
            if name == "page" { "a whole number from 1" } else { "a range of page numbers, such as 1-3" };
        let message = format!("{name} is {given}; it must be {wants}");
        check(name, json, &format!("page_invalid: {message}"));
    }
    check("offset", "0", "offset: Some(0)");
    check("offset", "-1", "offset_invalid: offset is -1; it must be a whole number from 0");
    check("offset", "{}", "offset_invalid: offset is {}; it must be a whole number from 0");
    check("startLine", "-5", "start_line: Some(-5)");
    check("endLine", "\"7\"", "end_line: Some(7)");
    let lines = "use a whole number from 1, or negative from the end";
    check("startLine", "0", &format!("range_invalid: startLine is 0; {lines}"));
    check("endLine", "\"end\"", &format!("range_invalid: endLine is end; {lines}"));
}

#[test]
fn names() {
    check("fields", "\"id, price.total\"", "fields: Some(\"id, price.total\")");
    check("fields", "[\"id\",\"name\"]", "fields: Some(\"id,name\")");
    check("fields", r#"["a,b","\"c"]"#, r#"fields: Some("\"a,b\",\"\"\"c\"")"#);
    let wants = "it must be names separated by commas, like `id,status,price.total`, or `all`";
    check("fields", "7", &format!("field_unknown: fields is 7; {wants}"));
    check("fields", "\" , \"", &format!("field_unknown: fields is  , ; {wants}"));
    check("fields", r#""\"\"""#, &format!(r#"field_unknown: fields is ""; {wants}"#));
    check("fields", "[1]", &format!("field_unknown: fields is [1]; {wants}"));
    check("path", "\"/a/b\"", "path: Some(\"/a/b\")");
    check("path", "3", "path: Some(\"3\")");
    check("path", "[]", "path_unknown: path is []; it must be a string");
    check("section", "\"Results\"", "section: Some(\"Results\")");
    check("section", "false", "section_unknown: section is false; it must be a string");
    check("sort", "\"created desc\"", "sort: Some(\"created desc\")");
    check("sort", "{}", "sort_invalid: sort is {}; it must be a string");
    check("cursor", "\"abc\"", "cursor: Some(\"abc\")");
    check("cursor", "{}", "cursor_invalid: cursor is {}; it must be a string");
}

#[test]
fn the_rest() {
    check("raw", "true", "raw: true");
    check("raw", "\"true\"", "raw: true");
    check("raw", "0", "");
    check("raw", "\"yes\"", "controls_conflict: raw is yes; it must be true or false");
    check("maxTokens", "300", "max_tokens: Some(300)");
    check("maxTokens", "\"12000\"", "max_tokens: Some(12000)");
    for given in ["299", "12001", "-1", "lots"] {
        let message = format!("maxTokens is {given}; it must be a whole number from 300 to 12000");
        check("maxTokens", &format!("\"{given}\""), &format!("max_tokens_invalid: {message}"));
    }
    check("filter", "\"x\"", "none of ours");
    for name in CONTROLS {
        check(name, "null", "");
    }
}

/// Checks which two controls of a request conflict, if any.
fn check_together(controls: &[(&str, &str)], expect: Option<(&str, &str)>) {
    let mut request = Request::default();
    for (name, json) in controls {
        assert_eq!(request.set_control(name, json, &Policy::default()), Ok(true));
    }
    let expect = expect.map(|(one, other)| format!("{one} and {other} cannot be combined"));
    assert_eq!(request.check().err().map(|error| error.to_string()), expect, "{controls:?}");
}

#[test]
fn conflicting_controls() {
    let (range, raw) = (("startLine", "1"), ("raw", "true"));
    check_together(&[("page", "2"), ("limit", "10"), ("fields", "\"id\""), ("sort", "\"id\"")], None);
    check_together(&[range, ("endLine", "5"), ("limit", "10"), ("path", "\"/a\"")], None);
    check_together(&[raw, ("offset", "10"), ("path", "\"/a\""), ("maxTokens", "400")], None);
    check_together(&[("page", "2"), ("offset", "10")], Some(("page", "offset")));
    check_together(&[("pages", "\"1-2\""), ("offset", "10")], Some(("page", "offset")));
    check_together(&[range, ("page", "2")], Some(("startLine/endLine", "page")));
    check_together(&[range, ("fields", "\"id\"")], Some(("startLine/endLine", "fields")));
    check_together(&[range, raw], Some(("startLine/endLine", "raw")));
    check_together(&[raw, ("limit", "10")], Some(("raw", "limit")));
    check_together(&[raw, ("sort", "\"id\"")], Some(("raw", "sort")));
    check_together(&[("section", "\"a\""), ("path", "\"/a\"")], Some(("section", "path")));
}
