//! Requests resolved against payloads: the content served, or the error.

use portion_core::cursor::{PartOffset, Position};
use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::Policy;
use portion_core::render::FirstReply;
use portion_core::snapshot::capture;
use portion_core::view::{Request, ResolvedRequest, ViewError, resolve};

use super::reply;

fn ask(text: &str, controls: &[(&str, &str)]) -> Result<(ResolvedRequest, String), ViewError> {
    let policy = Policy::default();
    let content = Content::Text(text.to_owned());
    let block = Block::new("/content/0/text", content);
    let snapshot = capture(Payload { blocks: vec![block], ..Payload::default() });
    let mut request = Request::default();
    for (name, json) in controls {
        request.set_control(name, json, &policy)?;
    }
    let resolved = resolve(&snapshot, None, &request, &policy)?;
    let shown = match reply(&snapshot, &resolved, &policy) {
        FirstReply::Untouched { .. } => text.to_owned(),
        FirstReply::Portion(portion) => portion.pieces().iter().map(|piece| piece.body.as_str()).collect(),
    };
    Ok((resolved, shown))
}

/// Returns the content served for a request.
pub(crate) fn shown(text: &str, controls: &[(&str, &str)]) -> String {
    ask(text, controls).expect("it is there").1
}

/// Returns the code and message of the error for these fields.
pub(crate) fn shown_error(text: &str, fields: &str) -> String {
    ask(text, &[("fields", fields)])
        .map_or_else(|error| format!("{}: {error}", error.code()), |(_, shown)| shown)
}

/// Checks the content served for a request, or the code and message of the error.
pub(crate) fn check(text: &str, controls: &[(&str, &str)], expect: &str) {
    let outcome = match ask(text, controls) {
        Ok((_, shown)) => shown,
        Err(error) => format!("{}: {error}", error.code()),
    };
    assert_eq!(outcome, expect, "{controls:?} of {text}");
}

const LIST: &str = r#"{"total":3,"items":[{"id":2,"name":"b"},{"id":3,"name":"c"},{"id":1,"name":"a"}]}"#;
const OBJECT: &str = r#"{"id":1,"Financials":{"due":5},"financing":[1],"lines":[{"p":1}]}"#;
const PAGE: &str =
    "<html><body><h1>Tea</h1><p>Hot.</p><h2>Green</h2><p>Mild.</p><h2>Black</h2><p>Strong.</p></body></html>";
const PAPER: &str = "# Paper\n\nIntro.\n\n## Results\n\nGood.\n\n## Résumé\n\nEnd.\n";

#[test]
fn headings_of_html_name_sections() {
    check(PAGE, &[("section", "\"green\"")], "<h2>Green</h2><p>Mild.</p>");
    check(&PAGE.replace("><", ">\n<"), &[("section", "\"Green\"")], "<h2>Green</h2>\n<p>Mild.</p>\n");
}

#[test]
fn lists_are_paged_and_sorted() {
    check(LIST, &[("limit", "1")], r#"{"total":3,"items":[{"id":2,"name":"b"}]}"#);
    check(LIST, &[("limit", "1"), ("page", "3")], r#"{"total":3,"items":[{"id":1,"name":"a"}]}"#);
    check(LIST, &[("offset", "2")], r#"{"total":3,"items":[{"id":1,"name":"a"}]}"#);
    check(LIST, &[("page", "9")], r#"{"total":3,"items":[]}"#);
    check(
        LIST,
        &[("limit", "1"), ("pages", "\"2-3\"")],
        r#"{"total":3,"items":[{"id":3,"name":"c"},{"id":1,"name":"a"}]}"#,
    );
    check(LIST, &[("sort", "\"id\""), ("limit", "1")], r#"{"total":3,"items":[{"id":1,"name":"a"}]}"#);
    check(LIST, &[("sort", "\"id desc\""), ("limit", "1")], r#"{"total":3,"items":[{"id":3,"name":"c"}]}"#);
    check(
        LIST,
        &[("sort", "\"-name\""), ("fields", "\"name\""), ("limit", "1")],
        r#"{"total":3,"items":[{"name":"c"}]}"#,
    );
    check(
        LIST,
        &[("sort", "\"nam\"")],
        "sort_invalid: sort is nam; no item has a plain value in that field; did you mean name?",
    );
    check(LIST, &[("fields", "\"nmae\"")], "field_unknown: no item has a field nmae; did you mean name?");
    check(
        LIST,
        &[("fields", "\"all,id\"")],
        "controls_conflict: fields=all and names of fields cannot be combined",
    );
    let big = r#"[{"n":9007199254740993},{"n":18446744073709551617},{"n":9007199254740992},{"n":18446744073709551616},{"n":1e99999999999999999999}]"#;
    let sorted = r#"[{"n":9007199254740992},{"n":9007199254740993},{"n":18446744073709551616},{"n":18446744073709551617},{"n":1e99999999999999999999}]"#;
    check(big, &[("sort", "\"n\"")], sorted);
    check("text", &[("sort", "\"id\"")], "sort_invalid: sort is id; this text has no rows to sort");
    check("text", &[("fields", "\"id\"")], "field_unknown: fields does not apply here: text has no fields");
}

#[test]
fn texts_are_sorted_by_what_they_mean() {
    for (least, middle, greatest) in [
        ("9/9/2023", "11/29/2023", "1/2/2024"),
        ("31 Mar 2023", "02 Jan 2024", "01 May 2024"),
        (
            "Wed, 31 Jul 2024 16:43:00 +0000",
            "Mon, 09 Sep 2024 18:19:00 +0000",
            "Sun, 01 Dec 2024 00:00:00 +0000",
        ),
        ("-0.5%", "+9.1%", "+12.25%"),
        ("$998K", "$1.5M", "$20M"),
        ("9", "10.5", "100"),
        ("60,17", "1.060,00", "20.000,5"),
        ("a10", "a9", "b"),
    ] {
        let list = format!(r#"[{{"v":"{greatest}"}},{{"v":"{least}"}},{{"v":"{middle}"}}]"#);
        let sorted = format!(r#"[{{"v":"{least}"}},{{"v":"{middle}"}},{{"v":"{greatest}"}}]"#);
        check(&list, &[("sort", "\"v\"")], &sorted);
    }
    let gaps = r#"[{"v":"N/A"},{"v":"9"},{"v":"10"}]"#;
    check(gaps, &[("sort", "\"v desc\"")], r#"[{"v":"10"},{"v":"9"},{"v":"N/A"}]"#);
}

#[test]
fn fields_with_commas_are_named_in_quotes() {
    let list = r#"[{"id":1,"with,comma":2,"c":3},{"id":4,"with,comma":5,"c":6}]"#;
    let expect = r#"[{"id":1,"with,comma":2},{"id":4,"with,comma":5}]"#;
    check(list, &[("fields", r#""\"with,comma\",id""#)], expect);
    check(list, &[("fields", r#"["id","with,comma"]"#)], expect);
    check(list, &[("fields", r#"["id,c"]"#)], r#"[{"id":1,"c":3},{"id":4,"c":6}]"#);
    let error = r#"field_unknown: no item has a field with; did you mean "with,comma"?"#;
    check(list, &[("fields", r#""with,comma""#)], error);
    let advice = ask(list, &[("fields", r#""with,comma""#)]).expect_err("two names").advice();
    assert!(advice.contains(r#""with,comma""#), "{advice}");
}

#[test]
fn objects_have_sections_but_no_pages() {
    check(OBJECT, &[("section", "\"Financials\"")], r#"{"due":5}"#);
    check(OBJECT, &[("section", "\"FINANCIALS\"")], r#"{"due":5}"#);
    check(
        OBJECT,
        &[("section", "\"financi\"")],
        "section_unknown: there is no section financi; did you mean Financials?",
    );
    check(
        OBJECT,
        &[("section", "\"fin\"")],
        "section_unknown: there is no section fin; did you mean Financials?",
    );
    check(OBJECT, &[("section", "\"li\"")], r#"[{"p":1}]"#);
    check(OBJECT, &[("page", "2")], "page_invalid: a single object has no pages");
    check(OBJECT, &[("limit", "5")], OBJECT);
    check(OBJECT, &[("fields", "\"lines.p\"")], r#"{"lines":[{"p":1}]}"#);
    check(OBJECT, &[("path", "\"lines\"")], r#"[{"p":1}]"#);
    check(OBJECT, &[("path", "\"/content/0/text/lines\"")], r#"[{"p":1}]"#);
    check(OBJECT, &[("path", "\"/content/0\"")], OBJECT);
    check("text", &[("path", "\"/content/0\"")], "text");
    check(
        OBJECT,
        &[("path", "\"/lnes\"")],
        "path_unknown: there is no path /lnes: the root has no lnes; did you mean lines?",
    );
}

#[test]
fn documents_have_headings() {
    check(PAPER, &[("section", "\"Results\"")], "## Results\n\nGood.\n\n");
    check(PAPER, &[("section", "\"## results\"")], "## Results\n\nGood.\n\n");
    check(PAPER, &[("section", "\"résumé\"")], "## Résumé\n\nEnd.\n");
    check(PAPER, &[("section", "\"Results\""), ("raw", "true")], "## Results\n\nGood.\n\n");
    check(PAPER, &[("section", "\"Results\""), ("raw", "true"), ("offset", "3")], "Results\n\nGood.\n\n");
    check(PAPER, &[("section", "\"Results\""), ("offset", "2")], "Good.\n\n");
    check(PAPER, &[("section", "\"Methods\"")], "section_unknown: there is no section Methods");
    let guide =
        "# Setup\n\n## Overview\n\nA.\n\n# Usage\n\n### Deep\n\n#### Overview\n\nB.\n\n## Overview\n\nC.\n";
    check(guide, &[("section", "\"Overview\"")], "## Overview\n\nA.\n\n");
    check(guide, &[("section", "\"Usage/Overview\"")], "#### Overview\n\nB.\n\n");
    check(guide, &[("section", "\"usage > deep > overview\"")], "#### Overview\n\nB.\n\n");
    check(
        guide,
        &[("section", "\"Setup/Deep\"")],
        "section_unknown: there is no section Setup/Deep; did you mean Deep?",
    );
}

#[test]
fn lines_are_counted_from_either_end() {
    let text = "a\nb\nc\nd";
    check(text, &[("startLine", "2"), ("endLine", "3")], "b\nc\n");
    check(text, &[("startLine", "-2")], "c\nd");
    check(text, &[("endLine", "-3")], "a\nb\n");
    check(text, &[("startLine", "-99"), ("endLine", "1")], "a\n");
    check(text, &[("startLine", "3"), ("endLine", "99")], "c\nd");
    check(text, &[("startLine", "5")], "range_invalid: no lines 5 to -1: the text has 4 lines");
    check(
        text,
        &[("startLine", "3"), ("endLine", "2")],
        "range_invalid: no lines 3 to 2: the end is before the start",
    );
    check(text, &[("offset", "3")], "d");
    check(text, &[("limit", "2"), ("page", "2")], "c\nd");
    check(text, &[("offset", "9")], "");
    check("{\n\"a\":1\n}", &[("startLine", "2"), ("endLine", "2")], "\"a\":1\n");
    let wrapped = r#"{"name":"log","data":{"content":"a\nb\nc\nd\n"}}"#;
    check(wrapped, &[("startLine", "2"), ("endLine", "3")], "b\nc\n");
    check(wrapped, &[("startLine", "-1")], "d\n");
    check("", &[("startLine", "1")], "range_invalid: the text is empty, so it has no lines");
}

#[test]
fn raw_is_as_written() {
    check("{ \"a\": [1, 2] }", &[("raw", "true")], "{ \"a\": [1, 2] }");
    check("{ \"a\": [1, 2] }", &[("raw", "true"), ("path", "\"/a\"")], "[1, 2]");
    check(r#"{"a":"x\ny"}"#, &[("raw", "true"), ("path", "\"/a\"")], r#""x\ny""#);
    check(r#"{"a":"x\ny"}"#, &[("path", "\"/a\"")], "x\ny");
    check("abc", &[("raw", "true"), ("offset", "1")], "bc");
}

#[test]
fn a_page_is_a_position() {
    let position = |controls| ask(LIST, controls).map(|(resolved, _)| resolved.start.offset);
    assert_eq!(position(&[("page", "3"), ("limit", "20")]), Ok(PartOffset::Item(40)));
    assert_eq!(position(&[("page", "3")]), Ok(PartOffset::Item(100)));
    assert_eq!(position(&[("page", "4294967295"), ("limit", "200")]), Ok(PartOffset::Item(u32::MAX)));
    assert_eq!(ask(LIST, &[]).map(|(resolved, _)| resolved.start), Ok(Position::default()));
}

/// Views are stored by id: no two different views may share one.
#[test]
fn different_views_have_different_ids() {
    let json = r#"{"items":[{"all":1,"a":2,"b":3,"a,b":4,"a\nb":5}]}"#;
    let id = |controls| ask(json, controls).map(|(resolved, _)| resolved.view.id()).expect("a view");
    let views = [
        id(&[]),
        id(&[("fields", "\"all\"")]),
        id(&[("fields", "\"/all\"")]),
        id(&[("fields", "\"a,b\"")]),
        id(&[("fields", "\"a\\nb\"")]),
        id(&[("fields", "\"a\"")]),
        id(&[("limit", "1")]),
        id(&[("raw", "true")]),
        id(&[("sort", "\"a\"")]),
        id(&[("path", "\"/items\"")]),
        id(&[("startLine", "1")]),
    ];
    for (i, view) in views.iter().enumerate() {
        assert!(!views[..i].contains(view), "view {i}");
    }
    assert_eq!(id(&[("fields", "\"b,a\"")]), id(&[("fields", "\"a, b\"")]));
}

#[test]
fn fields_to_leave_out_are_an_error_that_names_the_others() {
    let advice = |fields: &str| {
        let error = ask(LIST, &[("fields", fields)]).expect_err(fields);
        format!("{}: {error}; {}", error.code(), error.advice())
    };
    let list = r#"[{"id":1,"note":"a","guest":{"name":"b","mail":"c"},"-x":0},{"id":2,"note":"d","guest":{"name":"e","mail":"f"},"-x":0}]"#;
    let told = |fields: &str| {
        let error = ask(list, &[("fields", fields)]).expect_err(fields);
        (error.to_string(), error.advice())
    };
    let (message, next) = told("\"-note\"");
    assert_eq!(message, "fields lists what to show; it cannot leave out note");
    let rest = next.strip_prefix("set fields=").expect("the next step");
    assert!(!rest.contains("note") && rest.contains("guest.name"), "{rest}");
    let served = ask(list, &[("fields", &format!("\"{rest}\""))]).expect("the next step works").1;
    assert!(!served.contains("note") && served.contains("mail"), "{served}");
    for fields in ["\"!Note\"", "\"*,-note\"", "[\"all\", \"^note\"]", "\"-note,-note\""] {
        assert_eq!(told(fields).1, next, "{fields}");
    }
    assert_eq!(told("\"id, note, -note\"").1, "set fields=id");
    assert!(!told("\"-guest\"").1.contains("guest"), "{}", told("\"-guest\"").1);
    // A field may have such a name.
    assert!(ask(list, &[("fields", "\"-x\"")]).expect("a field").1.contains("-x"));
    assert!(advice("\"-nosuch\"").starts_with("field_unknown: no item has a field -nosuch"));
}

#[test]
fn advice_names_what_the_value_has() {
    let advice = |text: &str, controls: &[(&str, &str)]| {
        ask(text, controls).expect_err("nothing has that name").advice()
    };
    assert_eq!(advice("[1,2]", &[("section", "\"x\"")]), "path selects any value");
    assert_eq!(advice("some words", &[("section", "\"x\"")]), "startLine and endLine select lines");
    assert!(
        advice("# A\n\ntext\n\n# B\n", &[("section", "\"x\"")])
            .ends_with("startLine and endLine select lines")
    );
    assert_eq!(advice("", &[("startLine", "1")]), "omit startLine and endLine");
    assert!(!advice("[1]", &[("limit", "100000")]).contains("tool"));
}
