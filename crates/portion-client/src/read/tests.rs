//! Shapes of results, and the chunks that are read from them.

use super::{FieldNames, ReadError, read_chunks};
use crate::Chunk;

fn text_block(text: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, portion_json::scan::quote(text))
}

fn of_texts(texts: &[&str]) -> String {
    let blocks: Vec<String> = texts.iter().map(|text| text_block(text)).collect();
    format!(r#"{{"content":[{}]}}"#, blocks.join(","))
}

fn show(chunk: &Chunk) -> String {
    let score = chunk.score.map_or("-".to_owned(), |score| score.to_string());
    format!("{} {score} {}", chunk.id.as_deref().unwrap_or("-"), chunk.text.as_deref().unwrap_or("-"))
}

fn check_named(result: &str, names: &FieldNames, expect: &[&str]) {
    let chunks = read_chunks(result, names).unwrap_or_else(|error| panic!("{error}: {result}"));
    let shown: Vec<String> = chunks.iter().map(show).collect();
    assert_eq!(shown, expect, "{result}");
    assert!(chunks.iter().enumerate().all(|(place, chunk)| chunk.position == place));
}

/// `expect`: id, score and text of each chunk.
fn check(result: &str, expect: &[&str]) {
    check_named(result, &FieldNames::default(), expect);
}

fn check_text(text: &str, expect: &[&str]) {
    check(&of_texts(&[text]), expect);
}

fn check_error(result: &str, names: &FieldNames, expect: &str) {
    let error = read_chunks(result, names).expect_err(result).to_string();
    assert!(error.contains(expect), "{error}: {result}");
}

#[test]
fn a_text_block_holds_a_list() {
    let expect = ["1 0.5 a", "2 0.75 b"];
    let list = r#"[{"id":1,"score":0.5,"text":"a"},{"id":2,"score":0.75,"text":"b"}]"#;
    check_text(list, &expect);
    check_text(&format!("{{\"chunks\":{list}}}"), &expect);
    check_text(&format!("{{\"status\":\"success\",\"result\":{list},\"count\":2}}"), &expect);
    check_text(&format!("{{\"data\":{{\"found\":2,\"hits\":{{\"hits\":{list}}}}}}}"), &expect);
    check_text(&format!("{{\"tags\":[\"x\"],\"odd name\":{list}}}"), &expect);
    check_text(&format!("{{\"result\":{}}}", portion_json::scan::quote(list)), &expect);
    check_text(&format!("\u{feff}{list}"), &expect);
    check_text(&format!("Found 2 chunks:\n```json\n{list}\n```"), &expect);
    check_text(&list[1..list.len() - 1].replace("},{", "}\n{"), &expect);
    check_text("[{\"score\":NaN,\"text\":\"a\"},{\"score\":1,\"text\":\"b\"}]", &["- - a", "- 1 b"]);
    check_text("[]", &[]);
    check_text("{\"results\":[],\"facets\":[\"x\"]}", &[]);
    check_text(r#"["a","b"]"#, &["- - a", "- - b"]);
}

#[test]
fn blocks_are_chunks() {
    check(&of_texts(&["a", "b"]), &["- - a", "- - b"]);
    check(&of_texts(&["a"]), &["- - a"]);
    check(&of_texts(&[r#"{"text":"a","score":1}"#, r#"{"text":"b","score":2}"#]), &["- 1 a", "- 2 b"]);
    check(&of_texts(&[r#"{"text":"a","score":1}"#]), &["- 1 a"]);
    check(&of_texts(&["Two hits:", r#"[{"text":"a"},{"text":"b"}]"#]), &["- - a", "- - b"]);
    check(&of_texts(&["a", r#"{"total":1}"#]), &["- - a", r#"- - {"total":1}"#]);
    check(
        r#"{"content":[{"type":"image","data":"AA==","mimeType":"image/png"},
            {"type":"resource","resource":{"uri":"x:1","text":"a"}},{"type":"text","text":"b"}]}"#,
        &["- - a", "- - b"],
    );
    check(r#"{"content":[]}"#, &[]);
    check(&of_texts(&[""]), &[]);
    check_error(r#"{"content":[{"type":"image","data":"AA=="}]}"#, &FieldNames::default(), "no text");
}

#[test]
fn structured_content_is_read_first() {
    let structured = r#""structuredContent":{"result":[{"text":"a","score":1},{"text":"b","score":2}]}"#;
    check(&format!(r#"{{"content":[{}],{structured}}}"#, text_block("two")), &["- 1 a", "- 2 b"]);
    check(r#"{"structuredContent":[{"text":"a"}]}"#, &["- - a"]);
    check(r#"{"structuredContent":{"result":["a","b"]}}"#, &["- - a", "- - b"]);
    check(r#"{"structuredContent":{"result":{"text":"a","tags":["x"]}}}"#, &["- - a"]);
    let titles = r#""structuredContent":{"results":[{"title":"t"}]}"#;
    check(&format!(r#"{{"content":[{}],{titles}}}"#, text_block(r#"[{"text":"a"}]"#)), &["- - a"]);
}

#[test]
fn the_usual_names_are_known() {
    check_text(r#"{"matches":[{"id":"v1","score":0.5,"metadata":{"text":"a"}}]}"#, &[r#""v1" 0.5 a"#]);
    check_text(r#"{"result":{"points":[{"id":7,"score":2,"payload":{"content":"a"}}]}}"#, &["7 2 a"]);
    check_text(r#"{"results":[{"relevance_score":0.5,"document":{"text":"a"}}]}"#, &["- 0.5 a"]);
    check_text(r#"{"value":[{"@search.score":3,"content":"a"}]}"#, &["- 3 a"]);
    check_text(r#"{"documents":[{"page_content":"a","metadata":{"id":"m"}}]}"#, &[r#""m" - a"#]);
    check_text(r#"[{"text":"a","score":"0.25"},{"text":"b","score":"high"}]"#, &["- 0.25 a", "- - b"]);
    check_text(r#"[{"text":"x","text":"a"}]"#, &["- - a"]);
}

#[test]
fn chunks_can_be_held_by_key() {
    let keys = r#"{"k1":{"id":1,"score":0.5,"text":"a"},"k0":{"id":2,"score":0.75,"text":"b"}}"#;
    let expect = ["1 0.5 a", "2 0.75 b"];
    check_text(keys, &expect);
    check_text(&format!(r#"{{"total":2,"results":{keys}}}"#), &expect);
    check_text(&format!(r#"{{"data":{{"odd name":{keys}}},"facets":["x"]}}"#), &expect);
    check_text(&format!(r#"{{"results":{keys},"suggestions":[{{"text":"no"}}]}}"#), &expect);
    check(&format!(r#"{{"structuredContent":{keys}}}"#), &expect);
    let many: Vec<String> = (0..1000).map(|n| format!(r#""k{n}":{{"text":"a"}}"#)).collect();
    let chunks = read_chunks(&of_texts(&[&format!("{{{}}}", many.join(","))]), &FieldNames::default());
    assert_eq!(chunks.expect("chunks").len(), 1000);
    check_text(r#"{"a":{"text":"a"},"b":{"text":"b"},"c":{"n":1}}"#, &["- - a", "- - b", "- - -"]);
    check_text(r#"{"a":{"text":"no"},"a":{"text":"a"},"b":{"text":"b"}}"#, &["- - a", "- - b"]);
    check_text(r#"{"a":{"text":"a","marks":[{"text":"no"}]},"b":{"text":"b"}}"#, &["- - a", "- - b"]);
    check_text(r#"{"query":{"text":"q"},"response":{"content":"c","results":[{"text":"a"}]}}"#, &["- - a"]);
    check_text(r#"{"result":{"text":"a"},"usage":{"tokens":7}}"#, &["- - a"]);
    let named = FieldNames { list: Some("in".into()), ..FieldNames::default() };
    check_named(&of_texts(&[&format!(r#"{{"in":{keys},"results":[{{"text":"no"}}]}}"#)]), &named, &expect);
    check_named(&of_texts(&[r#"{"in":{"k":{"text":"a"}}}"#]), &named, &["- - a"]);
    check_error(&of_texts(&[r#"{"in":{"id":1,"text":"a"}}"#]), &named, "no list at `in`");
}

#[test]
fn of_several_lists_none_is_taken_unless_its_name_is_usual() {
    let usual = FieldNames::default();
    let refused = |text: &str, found: &str| {
        check_error(&of_texts(&[text]), &usual, &format!("chunks in several places ({found})"));
    };
    refused(r#"{"web":[{"text":"a"}],"news":[{"text":"b"}]}"#, "web, news");
    refused(
        r#"{"groups":{"x":{"hits":[{"text":"a"}]},"y":{"hits":[{"text":"b"}],"docs":[]}}}"#,
        "groups.x.hits, groups.y.hits",
    );
    refused(r#"{"x":{"chunks":["a"]},"y":{"chunks":["b"]}}"#, "x.chunks, y.chunks");
    refused(r#"{"total":2,"a":{"text":"a"},"b":{"text":"b"}}"#, "a, b");
    check_text(r#"{"web":[{"text":"no"}],"results":[{"text":"a"}]}"#, &["- - a"]);
    check_text(r#"{"results":[{"text":"no"}],"chunks":[{"text":"a"}]}"#, &["- - a"]);
    check_text(r#"{"web":[{"text":"a"}],"more":{"web":[{"text":"no"}]}}"#, &["- - a"]);
    check_text(r#"{"chunks":[{"text":"no"}],"chunks":[{"text":"a"}]}"#, &["- - a"]);
    let lists = r#"{"web":[{"text":"a"}],"news":[{"text":"b"}]}"#;
    let result = format!(r#"{{"content":[{}],"structuredContent":{lists}}}"#, text_block("two lists"));
    check_error(&result, &usual, "(web, news)");
    check_error(&of_texts(&["a", lists]), &usual, "(web, news)");
    check(
        &of_texts(&["Hits:", r#"{"text":"a"}"#, r#"[{"text":"b"},{"text":"c"}]"#]),
        &["- - a", "- - b", "- - c"],
    );
}

#[test]
fn names_can_be_given() {
    let names = |text: &str, score: &str, id: &str, list: &str| {
        let given = |name: &str| (!name.is_empty()).then(|| name.to_owned());
        FieldNames { text: given(text), score: given(score), id: given(id), list: given(list) }
    };
    let result = of_texts(&[r#"{"other":[{"text":"no"}],"in":{"rows":[{"t":{"x.y":"a"},"r":1,"n":"k"}]}}"#]);
    check_named(&result, &names("t.x.y", "r", "n", "in.rows"), &[r#""k" 1 a"#]);
    check_named(&of_texts(&["a", "b"]), &names("body", "", "", ""), &["- - a", "- - b"]);
    check_error(&result, &names("", "", "", "in"), "no list at `in`");
    check_error(&result, &names("tx", "", "", "other"), "no chunk has a text in `tx` (its fields: text)");
    check_error(&result, &names("", "rank", "", "other"), "no chunk has a number in `rank`");
    check_error(&of_texts(&["a"]), &names("", "", "", "rows"), "it is plain text");
}

#[test]
fn results_without_chunks_are_errors() {
    let check = |result: &str, expect: &str| check_error(result, &FieldNames::default(), expect);
    check(
        &of_texts(&[r#"{"total":7,"page":1}"#]),
        "no list of chunks in the result (its members: total, page)",
    );
    check(&of_texts(&["17"]), "it is one json value, number");
    check(&of_texts(&[r#"[{"text":7},{"text":null}]"#]), "no chunk has a text in `text` (its fields: text)");
    check(&of_texts(&["[1,2]"]), "no chunk has a text");
    check(r#"{"content":[{"type":"text","text":"no index"}],"isError":true}"#, "reported an error: no index");
    check(r#"{"content":[],"isError":true}"#, "without a message");
    check(r#"{"resultType":"input_required","inputRequests":{}}"#, "`input_required`");
    check("{}", "not the result of a tool");
    check("[]", "not the result of a tool");
    check("", "not the result of a tool");
    assert!(matches!(read_chunks("{", &FieldNames::default()), Err(ReadError::NotAResult(_))));
}

#[test]
fn a_record_without_a_text_stays_in_the_list() {
    check_text(r#"[{"text":"a"},{"text":7},{"other":1}]"#, &["- - a", "- - -", "- - -"]);
}

#[test]
fn output_keeps_the_record_and_adds_the_usual_names() {
    let check = |record: &str, names: &FieldNames, expect: &str| {
        let chunks = read_chunks(&of_texts(&[&format!("[{record}]")]), names).expect("a chunk");
        assert_eq!(chunks[0].to_json(), expect);
    };
    let usual = FieldNames::default();
    check(
        r#"{ "id": 1, "text": "a\u00e9\ud800", "score": 0.50, "n": 1e2 }"#,
        &usual,
        r#"{"id":1,"text":"a\u00e9\ud800","score":0.50,"n":1e2}"#,
    );
    check(
        r#"{"content":"a","relevance":1.5}"#,
        &usual,
        r#"{"content":"a","relevance":1.5,"text":"a","score":1.5}"#,
    );
    check(r#"{"text":null,"content":"a"}"#, &usual, r#"{"content":"a","text":"a"}"#);
    let body = FieldNames { text: Some("body".into()), ..FieldNames::default() };
    check(r#"{"text":"kept","body":"a"}"#, &body, r#"{"text":"kept","body":"a"}"#);
    check(r#""plain""#, &usual, r#"{"text":"plain"}"#);
}

#[test]
fn deep_nesting_is_no_error_of_ours() {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    check_text(&format!(r#"[{{"text":"a","more":{deep}}}]"#), &["- - a"]);
    let objects = format!("{}1{}", r#"{"a":"#.repeat(100_000), "}".repeat(100_000));
    check_error(&of_texts(&[&objects]), &FieldNames::default(), "no list of chunks");
}
