//! A result, its payload, and the result with a portion in the payload's place.

use portion_core::payload::Content;
use portion_core::render::{Body, Piece};

use super::super::splice::Splice;
use super::super::walk;
use super::outline::{Outline, Shape};
use super::serve::Shown;

const NOTICE: &str = r#"{"nextCursor":"C","meta":{"cursor":"B"}}"#;
const OURS: &str = r#""io.portion/notice":{"nextCursor":"C","meta":{"cursor":"B"}}"#;
const BLOCK: &str = r#"{"type":"text","text":"{\"nextCursor\":\"C\",\"meta\":{\"cursor\":\"B\"}}"}"#;

/// `expect`: the address of each part, and what is in it; a block as `=` and its JSON, structured as `:`.
fn check_payload(shape: Shape, result: &str, expect: &[(&str, &str)]) {
    let outline = Outline::of(result, walk::whole(result), shape).expect("a completed result");
    let blocks = outline.payload(0).blocks;
    let parts: Vec<(String, String)> = blocks
        .into_iter()
        .map(|block| {
            let content = match block.content {
                Content::Text(text) => text,
                Content::Structured(json) => format!(":{json}"),
                Content::Atomic { json, .. } | Content::Aside(json) => format!("={json}"),
            };
            (block.address, content)
        })
        .collect();
    let parts: Vec<(&str, &str)> = parts.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(parts, expect, "{result}");
}

/// `shown`: addresses and texts; a block begins with `=`.
fn check(shape: Shape, result: &str, shown: &[(&str, &str)], structured: Option<&str>, expect: &str) {
    let outline = Outline::of(result, walk::whole(result), shape).expect("a completed result");
    let pieces: Vec<Piece> = shown
        .iter()
        .map(|(address, text)| {
            let body = match text.strip_prefix('=') {
                Some(json) => Body::Block(json.to_owned()),
                None => Body::Text((*text).to_owned()),
            };
            Piece { address: (*address).to_owned(), body, mime: None }
        })
        .collect();
    let mut splice = Splice::new(result);
    outline.show(Shown { pieces: &pieces, structured, notice: NOTICE }, &mut splice);
    let served = splice.apply();
    assert_eq!(served, expect, "{result}");
    portion_core::scan::Reader::new(&served).skip().expect("JSON");
}

#[test]
fn finds_the_parts_of_a_tools_result() {
    check_payload(
        Shape::Tool,
        r#"{"content":[{"type":"text","text":"a\n\u00e9"},{"text":"b","annotations":{"x":1},"type":"text"},
            {"type":"resource","resource":{"uri":"u","text":"c"}}, {"type":"image","data":"AA==","mimeType":"image/png"},
            {"type":"resource","resource":{"uri":"u","blob":"QQ=="}},{"type":"resource_link","uri":"u"},{"type":"hologram"},7],
            "structuredContent": {"r" : 1},"isError":false,"vendor":{}}"#,
        &[
            ("/content/0/text", "a\né"),
            ("/content/1/text", "b"),
            ("/content/2/resource/text", "c"),
            ("/content/3", r#"={"type":"image","data":"AA==","mimeType":"image/png"}"#),
            ("/content/4", r#"={"type":"resource","resource":{"uri":"u","blob":"QQ=="}}"#),
            ("/content/5", r#"={"type":"resource_link","uri":"u"}"#),
            ("/content/6", r#"={"type":"hologram"}"#),
            ("/content/7", "=7"),
            ("/structuredContent", r#":{"r" : 1}"#),
        ],
    );
    check_payload(
        Shape::Tool,
        r#"{"structuredContent":[1],"content":[]}"#,
        &[("/structuredContent", ":[1]")],
    );
    check_payload(Shape::Tool, r#"{"content":"odd"}"#, &[("/content", "=\"odd\"")]);
}

#[test]
fn finds_the_parts_of_resources_and_prompts() {
    check_payload(
        Shape::Resource,
        r#"{"contents":[{"uri":"a","text":"x"},{"uri":"b","blob":"QQ=="},{"uri":"c"}],"ttlMs":1}"#,
        &[
            ("/contents/0/text", "x"),
            ("/contents/1", r#"={"uri":"b","blob":"QQ=="}"#),
            ("/contents/2", r#"={"uri":"c"}"#),
        ],
    );
    check_payload(
        Shape::Prompt,
        r#"{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"x"}},
            {"role":"assistant","content":[{"type":"text","text":"y"},{"type":"image","data":"","mimeType":"i"}]},
            {"role":"user","content":{"type":"resource","resource":{"uri":"u","text":"z"}}},{"role":"user","content":[]}]}"#,
        &[
            ("/messages/0/content/text", "x"),
            ("/messages/1/content/0/text", "y"),
            ("/messages/1/content/1", r#"={"type":"image","data":"","mimeType":"i"}"#),
            ("/messages/2/content/resource/text", "z"),
            ("/messages/3", r#"={"role":"user","content":[]}"#),
        ],
    );
}

#[test]
fn what_stands_beside_the_content_is_bounded() {
    let big = "x".repeat(5000);
    let result = format!(
        r#"{{"content":[{{"type":"text","text":"a","_meta":{{"k":"{big}"}}}}],"vendor":"{big}","_meta":{{"s":1}}}}"#
    );
    let aside = format!("=\"{big}\"");
    let inner = format!("={{\"k\":\"{big}\"}}");
    check_payload(
        Shape::Tool,
        &result,
        &[("/content/0/text", "a"), ("/content/0/_meta", &inner), ("/vendor", &aside)],
    );
    check(
        Shape::Tool,
        &result,
        &[("/content/0/text", "a")],
        None,
        &format!(r#"{{"content":[{{"type":"text","text":"a"}},{BLOCK}],"_meta":{{"s":1,{OURS}}}}}"#),
    );
}

#[test]
fn only_completed_results_have_an_outline() {
    for result in [
        r#"{"resultType":"input_required","content":[]}"#,
        r#"{"resultType":"task","taskId":"1"}"#,
        r#"{"task":{"taskId":"1"}}"#,
        "[]",
        "null",
        "7",
    ] {
        assert!(Outline::of(result, walk::whole(result), Shape::Tool).is_none(), "{result}");
    }
    check_payload(Shape::Tool, r#"{"resultType":"complete","content":[]}"#, &[]);
}

#[test]
fn puts_a_portion_in_its_places() {
    check(
        Shape::Tool,
        r#"{ "content": [ {"type":"text", "text":"abc","vendor":1e400}, {"type":"text","text":"d"} ], "x":"\u0041" }"#,
        &[("/content/0/text", "a\"")],
        None,
        &format!(
            r#"{{ "content": [ {{"type":"text", "text":"a\"","vendor":1e400}},{BLOCK} ], "x":"\u0041","_meta":{{{OURS}}} }}"#
        ),
    );
    // A text shown whole keeps its escapes, a block its bytes.
    check(
        Shape::Tool,
        r#"{"content":[{"type":"text","text":"\u0061\/"},{"type" :"image"}],"_meta":{}}"#,
        &[("/content/0/text", "a/"), ("/content/1", r#"={"type" :"image"}"#)],
        None,
        &format!(
            r#"{{"content":[{{"type":"text","text":"\u0061\/"}},{{"type" :"image"}},{BLOCK}],"_meta":{{{OURS}}}}}"#
        ),
    );
    // A block that is told of.
    check(
        Shape::Tool,
        r#"{"content":[{"type":"image","data":"AAAA"}]}"#,
        &[("/content/0", "[an image]")],
        None,
        &format!(r#"{{"content":[{{"type":"text","text":"[an image]"}},{BLOCK}],"_meta":{{{OURS}}}}}"#),
    );
    // Everything later.
    check(
        Shape::Tool,
        r#"{"content":[{"type":"text","text":"a"}],"structuredContent":{"a":1}}"#,
        &[],
        Some(r#"{"meta":{}}"#),
        &format!(r#"{{"content":[{BLOCK}],"structuredContent":{{"meta":{{}}}},"_meta":{{{OURS}}}}}"#),
    );
    // An error goes without structured content.
    check(
        Shape::Tool,
        r#"{"structuredContent":{"a":1},"content":[{"type":"text","text":"a"}],"isError":true}"#,
        &[("/content/0/text", "a")],
        Some("{}"),
        &format!(r#"{{"content":[{{"type":"text","text":"a"}},{BLOCK}],"isError":true,"_meta":{{{OURS}}}}}"#),
    );
    check(
        Shape::Tool,
        r#"{"structuredContent":{"a":1}}"#,
        &[],
        Some(r#"{"a":2}"#),
        &format!(r#"{{"structuredContent":{{"a":2}},"content":[{BLOCK}],"_meta":{{{OURS}}}}}"#),
    );
    check(
        Shape::Tool,
        r#"{"content":"odd"}"#,
        &[],
        None,
        &format!(r#"{{"content":[{BLOCK}],"_meta":{{{OURS}}}}}"#),
    );
}

#[test]
fn an_error_shows_among_its_texts_what_it_has_for_programs() {
    let own = [("/structuredContent", r#"{"a":2}"#)];
    let shown = format!(r#"{{"type":"text","text":"{{\"a\":2}}"}},{BLOCK}"#);
    check(
        Shape::Tool,
        r#"{"structuredContent":{"a":1},"content":[],"isError":true}"#,
        &own,
        None,
        &format!(r#"{{"content":[{shown}],"isError":true,"_meta":{{{OURS}}}}}"#),
    );
    check(
        Shape::Tool,
        r#"{"structuredContent":{"a":1},"isError":true}"#,
        &own,
        None,
        &format!(r#"{{"isError":true,"content":[{shown}],"_meta":{{{OURS}}}}}"#),
    );
}

#[test]
fn keeps_our_names_ours() {
    let spoof = r#""io.portion/notice":{"nextCursor":"evil"}"#;
    check(
        Shape::Tool,
        &format!(r#"{{"content":[],"_meta":{{"a":1,{spoof},"b":2}}}}"#),
        &[],
        None,
        &format!(r#"{{"content":[{BLOCK}],"_meta":{{"a":1,"b":2,{OURS}}}}}"#),
    );
    let result = format!(r#"{{"content":[],"_meta":{{{spoof}, "a":1}}}}"#);
    let outline = Outline::of(&result, walk::whole(&result), Shape::Tool).expect("a result");
    let mut splice = Splice::new(&result);
    outline.disown(&mut splice);
    assert_eq!(splice.apply(), r#"{"content":[],"_meta":{"a":1}}"#);
}

#[test]
fn resources_and_prompts_carry_the_notice_in_their_own_form() {
    check(
        Shape::Resource,
        r#"{"contents":[{"uri":"a","mimeType":"text/x","text":"abc"},{"uri":"b","blob":"QQ=="}],"ttlMs":5}"#,
        &[("/contents/0/text", "a"), ("/contents/1", "[a blob]")],
        None,
        &format!(
            r#"{{"contents":[{{"uri":"a","mimeType":"text/x","text":"a"}},{{"uri":"b","mimeType":"text/plain","text":"[a blob]"}},{{"uri":"portion://read/C","mimeType":"application/json","text":"{}"}}],"ttlMs":5,"_meta":{{{OURS}}}}}"#,
            NOTICE.replace('"', "\\\"")
        ),
    );
    check(
        Shape::Prompt,
        r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
{"role":"user","content":[{"type":"text","text":"c"}]},{"role":"user","content":{"type":"text","text":"d"}}]}"#,
        &[("/messages/0/content/1/text", "B")],
        None,
        &format!(
            r#"{{"messages":[{{"role":"user","content":[{{"type":"text","text":"B"}}]}},{{"role":"user","content":{BLOCK}}}],"_meta":{{{OURS}}}}}"#
        ),
    );
}

#[test]
fn of_two_members_of_a_name_the_last_counts() {
    check(
        Shape::Tool,
        r#"{"content":[{"type":"text","text":"hidden"}],"content":[{"type":"text","text":"seen"}]}"#,
        &[("/content/0/text", "s")],
        None,
        &format!(r#"{{"content":[{{"type":"text","text":"s"}},{BLOCK}],"_meta":{{{OURS}}}}}"#),
    );
}
