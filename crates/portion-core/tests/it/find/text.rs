//! Searches of text: lines, context, wraps and words.

use portion_core::find::{SearchQuery, find};
use portion_core::view::View;

use super::{ask, check, snapshot, told};

const POEM: &str = "One\ntwo three\nfour\n\nfive six\nseven\neight\nnine\n";

#[test]
fn few_matches_have_context() {
    check(
        POEM,
        "four",
        r#"1 {"searched":"text"} [{"line":3,"startLine":2,"endLine":8,"text":"two three\nfour\n\nfive six\nseven\neight\nnine"}]"#,
    );
    check(
        POEM,
        "nine",
        r#"1 {"searched":"text"} [{"line":8,"startLine":7,"endLine":8,"text":"eight\nnine"}]"#,
    );
    let several: Vec<String> = (0..6).map(|i| format!("error {i}\nat {i}\nthen {i}\n\n")).collect();
    let found = ask(&several.concat(), &SearchQuery::new("error")).expect("valid");
    assert_eq!(found.match_count, 6);
    assert!(
        found
            .items_json
            .starts_with(r#"[{"line":1,"startLine":1,"endLine":2,"text":"error 0\nat 0"},{"line":5,"#)
    );
    let many: Vec<String> = (0..40).map(|i| format!("error {i}\nat {i}\n")).collect();
    let found = ask(&many.concat(), &SearchQuery::new("error")).expect("valid");
    assert_eq!(found.match_count, 40);
    assert!(found.items_json.starts_with(r#"[{"line":1,"text":"error 0"},{"line":3,"text":"error 1"},"#));
}

#[test]
fn requested_context_is_shown_and_merged() {
    let with = |context, pattern| {
        told(ask(POEM, &SearchQuery { context_lines: Some(context), ..SearchQuery::new(pattern) }))
    };
    assert_eq!(with(0, "four"), r#"1 {"searched":"text"} [{"line":3,"text":"four"}]"#);
    assert_eq!(
        with(1, "six"),
        r#"1 {"searched":"text"} [{"line":5,"startLine":5,"endLine":6,"text":"five six\nseven"}]"#
    );
    assert_eq!(
        with(1, "/seven|eight/"),
        r#"2 {"searched":"regex","excerpts":1} [{"line":6,"startLine":5,"endLine":8,"text":"five six\nseven\neight\nnine"}]"#
    );
    assert_eq!(
        with(0, "/seven|eight/"),
        r#"2 {"searched":"regex"} [{"line":6,"text":"seven"},{"line":7,"text":"eight"}]"#
    );
}

#[test]
fn lines_are_counted_and_occurrences_reported_if_different() {
    let text = "a a\nb\nc a\n".repeat(10);
    let found = ask(&text, &SearchQuery::new("a")).expect("valid");
    assert_eq!(
        (found.match_count, found.extra_meta.get("occurrences").and_then(serde_json::Value::as_u64)),
        (20, Some(30))
    );
    let kept = ask(&text, &SearchQuery { max_items: 4, ..SearchQuery::new("a") }).expect("valid");
    assert_eq!(
        (kept.match_count, kept.extra_meta.get("kept").and_then(serde_json::Value::as_u64)),
        (20, Some(4))
    );
    assert_eq!(kept.items_json.matches("\"line\"").count(), 4);
}

#[test]
fn white_space_matches_any_white_space() {
    let wrapped = "The quick\n    brown fox\r\n\tjumps.\nThe quick brown dog sleeps.\n";
    let found = ask(wrapped, &SearchQuery { context_lines: Some(0), ..SearchQuery::new("quick brown") })
        .expect("valid");
    assert_eq!(
        found.items_json,
        r#"[{"line":1,"startLine":1,"endLine":2,"text":"The quick\n    brown fox"},{"line":4,"text":"The quick brown dog sleeps."}]"#
    );
    assert_eq!(ask(wrapped, &SearchQuery::new("fox  jumps")).expect("valid").match_count, 1);
    let japanese = "所有\n  権は重要\nです。";
    assert_eq!(
        told(ask(japanese, &SearchQuery { context_lines: Some(0), ..SearchQuery::new("所有権") })),
        r#"1 {"searched":"text"} [{"line":1,"startLine":1,"endLine":2,"text":"所有\n  権は重要"}]"#
    );
    assert_eq!(
        ask("所有\n\n権", &SearchQuery::new("所有権")).expect("valid").extra_meta["searched"],
        "words"
    );
    // White space at the ends is significant.
    check(
        "cat\nat last\n",
        " at",
        "1 {\"searched\":\"text\"} [{\"line\":2,\"startLine\":1,\"endLine\":2,\"text\":\"cat\\nat last\"}]",
    );
}

#[test]
fn case_is_ignored_if_nothing_else_matches() {
    check(
        "Über\nuber\n",
        "über",
        r#"1 {"searched":"text","ignoringCase":true} [{"line":1,"startLine":1,"endLine":2,"text":"Über\nuber"}]"#,
    );
    assert_eq!(ask("Über\nüber\n", &SearchQuery::new("über")).expect("valid").match_count, 1);
    check("nothing", "else", r#"0 {"searched":"text"} []"#);
    check("the database is up", "databse", r#"0 {"searched":"text","nearest":["database"]} []"#);
}

#[test]
fn text_between_slashes_is_an_expression() {
    let found = |pattern| {
        told(ask(
            "GET /api/v2\nPOST /api/v1\n",
            &SearchQuery { context_lines: Some(0), ..SearchQuery::new(pattern) },
        ))
    };
    assert_eq!(found("/^post/i"), r#"1 {"searched":"regex"} [{"line":2,"text":"POST /api/v1"}]"#);
    assert_eq!(
        found("/v[0-9]$/"),
        r#"2 {"searched":"regex"} [{"line":1,"text":"GET /api/v2"},{"line":2,"text":"POST /api/v1"}]"#
    );
    // A literal match takes precedence over an expression.
    assert_eq!(
        found("/api/"),
        r#"2 {"searched":"text"} [{"line":1,"text":"GET /api/v2"},{"line":2,"text":"POST /api/v1"}]"#
    );
    assert_eq!(found("/nothing/"), r#"0 {"searched":"regex"} []"#);
}

#[test]
fn words_are_ranked_if_they_never_occur_together() {
    let text =
        "The cat sat.\n\nA dog chased the cat; the dog won.\n\nBirds sing.\n\nA dog slept there all day.\n";
    let found = ask(text, &SearchQuery::new("dog cat")).expect("valid");
    assert_eq!(found.extra_meta["searched"], "words");
    assert_eq!(serde_json::Value::Object(found.extra_meta)["words"].to_string(), r#"{"dog":2,"cat":2}"#);
    assert_eq!((found.match_count, found.word_match_count), (0, 3));
    assert!(
        found.items_json.starts_with(r#"[{"line":3,"text":"A dog chased the cat; the dog won."}"#),
        "{}",
        found.items_json
    );
    // Words that occur together are a phrase, in the order of the text.
    assert_eq!(ask(text, &SearchQuery::new("the cat")).expect("valid").extra_meta["searched"], "text");
}

#[test]
fn words_of_missing_text_are_no_matches() {
    let text = (0..250).map(|n| format!("number {n} is here\n")).collect::<Vec<_>>().concat();
    let found = ask(&text, &SearchQuery::new("number 42:")).expect("valid");
    assert_eq!((found.match_count, found.word_match_count), (0, 250), "{:?}", found.extra_meta);
    assert_eq!(found.extra_meta["searched"], "words");
}

#[test]
fn missing_text_is_tried_as_a_regex() {
    let text = "GET /api/v1\nPOST /api/v2\nGet the door\n";
    let found =
        |pattern: &str| told(ask(text, &SearchQuery { context_lines: Some(0), ..SearchQuery::new(pattern) }));
    assert_eq!(
        found("^POST .*v[0-9]$"),
        r#"1 {"searched":"regex","literalMatches":0} [{"line":2,"text":"POST /api/v2"}]"#
    );
    assert_eq!(
        found("post|PATCH"),
        r#"1 {"searched":"regex","literalMatches":0,"ignoringCase":true} [{"line":2,"text":"POST /api/v2"}]"#
    );
    // White space at its ends belongs to it.
    assert_eq!(
        told(ask(
            "room 1 x\nroom 2\n",
            &SearchQuery { context_lines: Some(0), ..SearchQuery::new("room \\d ") }
        )),
        r#"1 {"searched":"regex","literalMatches":0} [{"line":1,"text":"room 1 x"}]"#
    );
    // Text that occurs literally, in any case, is not tried as an expression.
    assert_eq!(
        told(ask("a.b\nA.C\naxb\n", &SearchQuery { context_lines: Some(0), ..SearchQuery::new("a.b") })),
        r#"1 {"searched":"text"} [{"line":1,"text":"a.b"}]"#
    );
    assert_eq!(
        told(ask("a.b\nA.C\naxc\n", &SearchQuery { context_lines: Some(0), ..SearchQuery::new("a.c") })),
        r#"1 {"searched":"text","ignoringCase":true} [{"line":2,"text":"A.C"}]"#
    );
    // An invalid expression, or one that matches everywhere, is searched for word by word.
    assert_eq!(
        found("door (x"),
        r#"0 {"searched":"words","words":{"door":1,"x":0}} [{"line":3,"text":"Get the door"}]"#
    );
    assert_eq!(found("z*"), r#"0 {"searched":"text"} []"#);
    // Names of members are searched as well.
    check(
        r#"{"server":{"hostName":"a"}}"#,
        "^host.+e$",
        r#"1 {"searched":"regex","literalMatches":0,"in":"keys"} [{"path":"/server/hostName","text":"a"}]"#,
    );
}

#[test]
fn long_lines_are_cut_around_the_match_and_have_a_byte() {
    let prose = "This is a sentence of some length that says little. ".repeat(400);
    let text = format!("{prose}Here is the needle, and this is what it says. {prose}");
    let found = ask(&text, &SearchQuery::new("needle")).expect("valid");
    let items: serde_json::Value = serde_json::from_str(&found.items_json).expect("JSON");
    let (byte, shown) =
        (items[0]["byte"].as_u64().expect("a byte") as usize, items[0]["text"].as_str().expect("text"));
    assert!(text[byte..].starts_with("needle"));
    assert!(shown.starts_with("…This is a sentence") && shown.ends_with("says little.…"), "{shown}");
    assert!((400..800).contains(&shown.chars().count()), "{shown}");
    // In running text each occurrence counts, and those shown together have one item.
    let found = ask(&text, &SearchQuery::new("little")).expect("valid");
    assert_eq!(found.match_count, 800);
    let items: serde_json::Value = serde_json::from_str(&found.items_json).expect("JSON");
    let items = items.as_array().expect("a list");
    assert!((60..120).contains(&items.len()), "{}", items.len());
    // No text is shown twice.
    let shown: usize = items.iter().filter_map(|item| item["text"].as_str()).map(str::len).sum();
    assert!(shown < text.len() + 8 * items.len(), "{shown}");
    // A long line of a file counts once.
    let row = format!("{}needle,{}needle\n", "x,".repeat(500), "y,".repeat(500));
    let found = ask(&row.repeat(3), &SearchQuery::new("needle")).expect("valid");
    assert_eq!((found.match_count, found.extra_meta["occurrences"].as_u64()), (3, Some(6)));
}

#[test]
fn every_part_is_searched_and_named() {
    let parts = snapshot(&["short needle", "a longer text\nwith a needle in it"]);
    let found =
        find(&parts, &View::root(), &SearchQuery { context_lines: Some(0), ..SearchQuery::new("needle") });
    assert_eq!(
        told(found),
        r#"2 {"searched":"text"} [{"path":"/content/0/text","line":1,"text":"short needle"},{"path":"/content/1/text","line":2,"text":"with a needle in it"}]"#
    );
}

#[test]
fn a_regex_without_a_match_says_that_it_does_not_cross_lines() {
    let log = "first error\nthen a timeout\n";
    check(
        log,
        "/error.*timeout/",
        r#"0 {"searched":"regex","hint":"a dot ends at the end of its line: (?s) lets it cross lines"} []"#,
    );
    check(log, "/(?s)errors.*timeout/", r#"0 {"searched":"regex"} []"#);
}

#[test]
fn errors_are_reported() {
    check(
        "x",
        " ",
        "query_invalid: find is empty; it must be text or a /regular expression/; set find to text, /regex/ or /regex/i",
    );
    check(
        "x",
        "/a(b/",
        "query_invalid: find is an invalid regex: unclosed group at `(`; correct it, or omit the slashes to search for literal text; look-around and back-references are not supported",
    );
    check(
        "x",
        &"y".repeat(5_000),
        "query_invalid: find has 5000 bytes; the maximum is 4096; search for a short part",
    );
    assert_eq!(
        told(ask("x", &SearchQuery { fields: Some("id"), ..SearchQuery::new("x") })),
        "query_invalid: fields does not apply here: text has no fields; omit fields; use startLine/endLine, or a query with find"
    );
}

#[test]
fn a_matching_heading_has_the_text_below() {
    let text = format!(
        "# Guide\n\n- [Setup](#setup)\n{}\n## Setup\n\nInstall it.\n",
        "See Setup first.\n\n".repeat(12)
    );
    let found = ask(&text, &SearchQuery::new("Setup")).expect("valid");
    assert!(
        found.items_json.starts_with(r#"[{"line":3,"text":"- [Setup](#setup)"},{"line":4,"text":"See"#),
        "{}",
        found.items_json
    );
    assert!(found.items_json.ends_with(r#"## Setup\n\nInstall it."}]"#), "{}", found.items_json);
}

/// Text that is read as data keeps what is around the data, its comments, and how the data are written.
#[test]
fn what_is_read_as_data_is_found_as_it_was_written() {
    let check = |text: &str, pattern: &str, expect: usize| {
        let found = ask(text, &SearchQuery::new(pattern)).expect("a pattern");
        assert_eq!(found.match_count, expect, "{pattern} in {text}");
    };
    let pod = |n: u8| {
        format!("- kind: Pod\n  # added by hand\n  phase: {}\n", ["Failed", "Running"][usize::from(n % 2)])
    };
    let yaml: String = (0..20).map(pod).collect();
    check(&yaml, "/phase: Failed/", 10);
    check(&yaml, "added by hand", 20);
    let row = |n: u8| format!("pod-{n:02}   {}/1     Running\n", n % 2);
    let rows: String = (10..30).map(row).collect();
    let table = format!("NAME     READY   STATUS\n{rows}\nWarning: 3 nodes did not respond\n");
    check(&table, "did not respond", 1);
    check(&table, "/0\\/1\\s+Running/", 10);
    let case = |n: u8| {
        format!("<case name=\"t{n}\">{}</case>\n", if n.is_multiple_of(5) { "<failure/>" } else { "" })
    };
    check(&format!("<suite>\n{}</suite>", (0..20).map(case).collect::<String>()), "<failure", 4);
    check(r#"[{"state": "open"}, {"state": "closed"}]"#, "/\"state\":\\s*\"open\"/", 1);
}
