//! Tests of results: extracting the payload, and writing a portion in its place.

use portion_core::payload::{Content, NextPage};
use portion_core::redact::RedactionRules;
use portion_core::render::{Piece, PieceBody};
use portion_json::scan::quote;

use super::super::walk::{self, Splice};
use super::outline::{ParsedResult, ResultOutline, ResultShape};
use super::write::PortionContent;

const NOTICE: &str = r#"{"nextCursor":"C","meta":{"cursor":"B"}}"#;
const OURS: &str = r#""io.portion/notice":{"nextCursor":"C","meta":{"cursor":"B"}}"#;
const BLOCK: &str = r#"{"type":"text","text":"{\"nextCursor\":\"C\",\"meta\":{\"cursor\":\"B\"}}"}"#;

fn outline_of(result: &str, shape: ResultShape) -> ResultOutline<'_> {
    outline_within(result, shape, None)
}

fn outline_within<'a>(
    result: &'a str,
    shape: ResultShape,
    redact: Option<&'a RedactionRules>,
) -> ResultOutline<'a> {
    match ResultOutline::parse(result, walk::document_span(result), shape, redact) {
        ParsedResult::Content(outline) => outline,
        other => panic!("no content: {other:?}"),
    }
}

/// `expect`: address and content of each part; a block as `=` and its JSON, `structuredContent` as `:`.
fn check_payload(shape: ResultShape, result: &str, expect: &[(&str, &str)]) {
    let outline = outline_of(result, shape);
    let blocks = outline.payload(0).blocks;
    let parts: Vec<(String, String)> = blocks
        .into_iter()
        .map(|block| {
            let content = match block.content {
                Content::Text(text) => text,
                Content::Structured(json) => format!(":{json}"),
                Content::Atomic { json, .. } | Content::Extra(json) => format!("={json}"),
            };
            (block.address, content)
        })
        .collect();
    let parts: Vec<(&str, &str)> = parts.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(parts, expect, "{result}");
}

/// `shown`: addresses and texts; a block begins with `=`.
fn check(shape: ResultShape, result: &str, shown: &[(&str, &str)], structured: Option<&str>, expect: &str) {
    let outline = outline_of(result, shape);
    let pieces: Vec<Piece> = shown
        .iter()
        .map(|(address, text)| {
            let body = match text.strip_prefix('=') {
                Some(json) => PieceBody::Block(json.to_owned()),
                None => PieceBody::Text((*text).to_owned()),
            };
            Piece { address: (*address).to_owned(), body, mime: None }
        })
        .collect();
    let mut splice = Splice::new(result);
    outline.write_content(
        PortionContent {
            pieces: &pieces,
            structured,
            notice: NOTICE,
            text_notice: Some(NOTICE),
            cursor: Some("C"),
            extra_meta: None,
            is_whole: false,
        },
        &mut splice,
    );
    let served = splice.apply();
    assert_eq!(served, expect, "{result}");
    portion_json::scan::JsonReader::new(&served).skip().expect("JSON");
}

#[test]
fn finds_the_parts_of_a_tool_result() {
    check_payload(
        ResultShape::Tool,
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
        ResultShape::Tool,
        r#"{"structuredContent":[1],"content":[]}"#,
        &[("/structuredContent", ":[1]")],
    );
    check_payload(ResultShape::Tool, r#"{"content":"odd"}"#, &[("/content", "=\"odd\"")]);
}

#[test]
fn finds_the_parts_of_resources_and_prompts() {
    check_payload(
        ResultShape::Resource,
        r#"{"contents":[{"uri":"a","text":"x"},{"uri":"b","blob":"QQ=="},{"uri":"c"}],"ttlMs":1}"#,
        &[
            ("/contents/0/text", "x"),
            ("/contents/1", r#"={"uri":"b","blob":"QQ=="}"#),
            ("/contents/2", r#"={"uri":"c"}"#),
        ],
    );
    check_payload(
        ResultShape::Prompt,
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
fn extra_members_are_limited() {
    let big = "x".repeat(5000);
    let result = format!(
        r#"{{"content":[{{"type":"text","text":"a","_meta":{{"k":"{big}"}}}}],"vendor":"{big}","_meta":{{"s":1}}}}"#
    );
    let extra = format!("=\"{big}\"");
    let inner = format!("={{\"k\":\"{big}\"}}");
    check_payload(
        ResultShape::Tool,
        &result,
        &[("/content/0/text", "a"), ("/content/0/_meta", &inner), ("/vendor", &extra)],
    );
    check(
        ResultShape::Tool,
        &result,
        &[("/content/0/text", "a")],
        None,
        &format!(r#"{{"content":[{{"type":"text","text":"a"}},{BLOCK}],"_meta":{{"s":1,{OURS}}}}}"#),
    );
}

#[test]
fn more_parts_than_a_cursor_can_address_become_one_part() {
    let link = r#"{"type":"resource_link","uri":"u"}"#;
    let list = |count: usize| format!("[{}]", vec![link; count].join(","));
    let outline_of = |result: &str| {
        let outline = outline_of(result, ResultShape::Tool);
        outline.payload(0).blocks.len()
    };
    assert_eq!(outline_of(&format!(r#"{{"content":{}}}"#, list(50_000))), 50_000);
    let all = list(50_001);
    check_payload(ResultShape::Tool, &format!(r#"{{"content":{all}}}"#), &[("/content", &format!("={all}"))]);
    check(
        ResultShape::Tool,
        &format!(r#"{{"content":{all},"v":1}}"#),
        &[],
        None,
        &format!(r#"{{"v":1,"content":[{BLOCK}],"_meta":{{{OURS}}}}}"#),
    );
}

#[test]
fn parts_have_the_labels_of_their_blocks() {
    let check = |shape: ResultShape, result: &str, of: Option<&str>, mime: Option<&str>, frame: usize| {
        let outline = outline_of(result, shape);
        let block = outline.payload(0).blocks.remove(0);
        assert_eq!((block.label.source.as_deref(), block.label.mime_type.as_deref()), (of, mime), "{result}");
        // At least the size of the members beside the text, and not much more.
        assert!(
            (frame..frame + 12).contains(&block.label.frame_bytes),
            "{}: {result}",
            block.label.frame_bytes
        );
    };
    check(ResultShape::Tool, r#"{"content":[{"type":"text","text":"abc"}]}"#, None, None, 23);
    let embedded = r#"{"content":[{"type":"resource","resource":{"uri":"a:b","mimeType":"m/n","text":""}}]}"#;
    check(ResultShape::Tool, embedded, Some("a:b"), Some("m/n"), 69);
    let entry = r#"{"contents":[{"uri":"a:\u0062","mimeType":"m/n","text":""}]}"#;
    check(ResultShape::Resource, entry, Some("a:b"), Some("m/n"), 42);
    check(ResultShape::Resource, r#"{"contents":[{"uri":"a:b","blob":""}]}"#, Some("a:b"), None, 64);
    let prompt = r#"{"messages":[{"role":"user","content":{"type":"text","text":""}}]}"#;
    check(ResultShape::Prompt, prompt, Some("user"), None, 48);
    let prompt = r#"{"messages":[{"role":"user","content":[{"type":"image","data":""}]}]}"#;
    check(ResultShape::Prompt, prompt, Some("user"), None, 26);
    let prompt = r#"{"messages":[{"role":"user","content":7}]}"#;
    check(ResultShape::Prompt, prompt, Some("user"), None, 0);
}

#[test]
fn binary_parts_have_a_kind_and_a_size() {
    let check = |shape: ResultShape, result: &str, expect: Option<(&str, usize, bool)>| {
        let outline = outline_of(result, shape);
        let Content::Atomic { binary, .. } = outline.payload(0).blocks.remove(0).content else {
            panic!("text")
        };
        let found =
            binary.as_ref().map(|binary| (binary.mime_type.as_str(), binary.decoded_bytes, binary.is_media));
        assert_eq!(found, expect, "{result}");
    };
    let tool = |block: &str, expect| check(ResultShape::Tool, &format!(r#"{{"content":[{block}]}}"#), expect);
    tool(r#"{"type":"image","data":"AA==","mimeType":"image/png"}"#, Some(("image/png", 1, true)));
    tool(r#"{"type":"audio","data":"AAA="}"#, Some(("application/octet-stream", 2, true)));
    tool(
        r#"{"type":"resource","resource":{"blob":"\/\/\/\/AAA"}}"#,
        Some(("application/octet-stream", 5, false)),
    );
    tool(r#"{"type":"resource","resource":{"blob":"","mimeType":"Image/x"}}"#, Some(("Image/x", 0, true)));
    tool(r#"{"type":"resource_link","uri":"u","blob":"AAAA"}"#, None);
    let entry =
        |blob: &str, expect| check(ResultShape::Resource, &format!(r#"{{"contents":[{blob}]}}"#), expect);
    entry(r#"{"uri":"u","blob":"AAAA","mimeType":"application/pdf"}"#, Some(("application/pdf", 3, false)));
    entry(r#"{"uri":"u","blob":7}"#, None);
}

#[test]
fn only_complete_results_have_an_outline() {
    for result in [
        r#"{"resultType":"input_required","content":[]}"#,
        r#"{"resultType":"task","taskId":"1"}"#,
        r#"{"task":{"taskId":"1"}}"#,
        "[]",
        "null",
        "7",
    ] {
        assert!(
            !matches!(
                ResultOutline::parse(result, walk::document_span(result), ResultShape::Tool, None),
                ParsedResult::Content(_)
            ),
            "{result}"
        );
    }
    check_payload(ResultShape::Tool, r#"{"resultType":"complete","content":[]}"#, &[]);
}

#[test]
fn writes_a_portion_into_the_result() {
    check(
        ResultShape::Tool,
        r#"{ "content": [ {"type":"text", "text":"abc","vendor":1e400}, {"type":"text","text":"d"} ], "x":"\u0041" }"#,
        &[("/content/0/text", "a\"")],
        None,
        &format!(
            r#"{{ "content": [ {{"type":"text", "text":"a\"","vendor":1e400}},{BLOCK} ], "x":"\u0041","_meta":{{{OURS}}} }}"#
        ),
    );
    // A text shown whole keeps its escapes, a block its bytes.
    check(
        ResultShape::Tool,
        r#"{"content":[{"type":"text","text":"\u0061\/"},{"type" :"image"}],"_meta":{}}"#,
        &[("/content/0/text", "a/"), ("/content/1", r#"={"type" :"image"}"#)],
        None,
        &format!(
            r#"{{"content":[{{"type":"text","text":"\u0061\/"}},{{"type" :"image"}},{BLOCK}],"_meta":{{{OURS}}}}}"#
        ),
    );
    // A block that is described.
    check(
        ResultShape::Tool,
        r#"{"content":[{"type":"image","data":"AAAA"}]}"#,
        &[("/content/0", "[an image]")],
        None,
        &format!(r#"{{"content":[{{"type":"text","text":"[an image]"}},{BLOCK}],"_meta":{{{OURS}}}}}"#),
    );
    // The whole content is left for a follow-up.
    check(
        ResultShape::Tool,
        r#"{"content":[{"type":"text","text":"a"}],"structuredContent":{"a":1}}"#,
        &[],
        Some(r#"{"meta":{}}"#),
        &format!(r#"{{"content":[{BLOCK}],"structuredContent":{{"meta":{{}}}},"_meta":{{{OURS}}}}}"#),
    );
    // An error has no structured content.
    check(
        ResultShape::Tool,
        r#"{"structuredContent":{"a":1},"content":[{"type":"text","text":"a"}],"isError":true}"#,
        &[("/content/0/text", "a")],
        Some("{}"),
        &format!(r#"{{"content":[{{"type":"text","text":"a"}},{BLOCK}],"isError":true,"_meta":{{{OURS}}}}}"#),
    );
    check(
        ResultShape::Tool,
        r#"{"structuredContent":{"a":1}}"#,
        &[],
        Some(r#"{"a":2}"#),
        &format!(r#"{{"structuredContent":{{"a":2}},"content":[{BLOCK}],"_meta":{{{OURS}}}}}"#),
    );
    check(
        ResultShape::Tool,
        r#"{"content":"odd"}"#,
        &[],
        None,
        &format!(r#"{{"content":[{BLOCK}],"_meta":{{{OURS}}}}}"#),
    );
}

#[test]
fn an_error_shows_its_structured_content_as_text() {
    let own = [("/structuredContent", r#"{"a":2}"#)];
    let shown = format!(r#"{{"type":"text","text":"{{\"a\":2}}"}},{BLOCK}"#);
    check(
        ResultShape::Tool,
        r#"{"structuredContent":{"a":1},"content":[],"isError":true}"#,
        &own,
        None,
        &format!(r#"{{"content":[{shown}],"isError":true,"_meta":{{{OURS}}}}}"#),
    );
    check(
        ResultShape::Tool,
        r#"{"structuredContent":{"a":1},"isError":true}"#,
        &own,
        None,
        &format!(r#"{{"isError":true,"content":[{shown}],"_meta":{{{OURS}}}}}"#),
    );
}

#[test]
fn removes_reserved_members_of_the_server() {
    let spoof = r#""io.portion/notice":{"nextCursor":"evil"}"#;
    check(
        ResultShape::Tool,
        &format!(r#"{{"content":[],"_meta":{{"a":1,{spoof},"b":2}}}}"#),
        &[],
        None,
        &format!(r#"{{"content":[{BLOCK}],"_meta":{{"a":1,"b":2,{OURS}}}}}"#),
    );
    let result = format!(r#"{{"content":[],"_meta":{{{spoof}, "a":1}}}}"#);
    let outline = outline_of(&result, ResultShape::Tool);
    let mut splice = Splice::new(&result);
    outline.strip_reserved(&mut splice);
    assert_eq!(splice.apply(), r#"{"content":[],"_meta":{"a":1}}"#);
}

#[test]
fn members_of_meta_are_redacted_one_by_one() {
    let rules = RedactionRules::default_secrets();
    let stripped = |result: &str| {
        let mut splice = Splice::new(result);
        outline_within(result, ResultShape::Tool, Some(&rules)).strip_reserved(&mut splice);
        splice.apply()
    };
    assert_eq!(
        stripped(
            r#"{"content":[],"_meta":{"io.portion/notice":{"fake":true},"token":"hunter2","pin":1111,"a":{"pin":"2"}}}"#
        ),
        r#"{"content":[],"_meta":{"token":"[redacted]","pin":null,"a":{"pin":"[redacted]"}}}"#
    );
    // The notice of another Portion is omitted if it contains a secret.
    assert_eq!(
        stripped(
            r#"{"content":[],"_meta":{"b":1,"io.portion/notice":{"meta":{"about":{"password":"hunter2"}}}}}"#
        ),
        r#"{"content":[],"_meta":{"b":1}}"#
    );
    let result = r#"{"content":[],"_meta":{"token":"hunter2"}}"#;
    let mut splice = Splice::new(result);
    let content = PortionContent {
        pieces: &[],
        structured: None,
        notice: NOTICE,
        text_notice: Some(NOTICE),
        cursor: None,
        extra_meta: None,
        is_whole: false,
    };
    outline_within(result, ResultShape::Tool, Some(&rules)).write_content(content, &mut splice);
    assert_eq!(splice.apply(), format!(r#"{{"content":[{BLOCK}],"_meta":{{"token":"[redacted]",{OURS}}}}}"#));
}

#[test]
fn the_notice_of_another_portion_is_kept_under_another_key() {
    let behind = r#"{"nextCursor":"D","meta":{"cursor":"E"}}"#;
    let meta = format!(r#""io.portion/notice":{behind}"#);
    let upstream_notice = format!(r#""io.portion/upstream":{behind}"#);
    check(
        ResultShape::Tool,
        &format!(r#"{{"content":[],"_meta":{{"a":1,{meta},"io.portion/upstream":{{}}}}}}"#),
        &[],
        None,
        &format!(r#"{{"content":[{BLOCK}],"_meta":{{"a":1,{OURS},{upstream_notice}}}}}"#),
    );
    let result = format!(r#"{{"content":[],"_meta":{{{meta}}}}}"#);
    let outline = outline_of(&result, ResultShape::Tool);
    let mut splice = Splice::new(&result);
    outline.strip_reserved(&mut splice);
    assert_eq!(splice.apply(), format!(r#"{{"content":[],"_meta":{{{upstream_notice}}}}}"#));
}

#[test]
fn the_notice_of_another_portion_is_no_content() {
    let check = |texts: &[&str], notice: &str, parts: usize, next: Option<&str>, total: Option<u64>| {
        let block = |text: &&str| format!(r#"{{"type":"text","text":{}}}"#, quote(text));
        let content: Vec<String> = texts.iter().map(block).collect();
        let result =
            format!(r#"{{"content":[{}],"_meta":{{"io.portion/notice":{notice}}}}}"#, content.join(","));
        let payload = outline_of(&result, ResultShape::Tool).payload(0);
        assert_eq!(payload.blocks.len(), parts, "{result}");
        let page = payload.transport_page.unwrap_or_default();
        assert_eq!(page.next, next.map(|next| NextPage::Call(next.into())), "{result}");
        assert_eq!(page.total, total, "{result}");
    };
    let shown = r#"{"nextCursor":"D","meta":{"cursor":"E"}}"#;
    let notice = r#"{"nextCursor":"D","totalCount":70,"meta":{"cursor":"E","next":"portion_read(cursor=nextCursor), x"}}"#;
    check(&["a", shown], notice, 1, Some("portion_read(cursor=D)"), Some(70));
    check(&["a", "b", shown], shown, 2, Some("nextCursor: D"), None);
    let snake = r#"{"next_cursor":"D","total_count":70,"meta":{"cursor":"E","next":"go on"}}"#;
    check(&["a", r#"{"next_cursor":"D","meta":{"cursor":"E"}}"#], snake, 1, Some("nextCursor: D"), Some(70));
    let last = r#"{"meta":{"endLine":7}}"#;
    check(&["a", last], r#"{"meta":{"cursor":"E","endLine":7,"totalLines":9}}"#, 1, None, None);
    check(
        &["a", r#"{"nextCursor":"D","meta":{"next":"go on"}}"#],
        notice,
        1,
        Some("portion_read(cursor=D)"),
        Some(70),
    );
    // Other texts are content.
    for other in [
        "b",
        "{}",
        "{\"meta\":",
        r#"{"meta":{"cursor":"F"}}"#,
        r#"{"meta":"E"}"#,
        r#"[{"meta":{"cursor":"E"}}]"#,
    ] {
        check(&["a", other], notice, 2, None, None);
    }
    check(&[shown, "b"], notice, 2, None, None);
    check(&[shown], notice, 1, None, None);
    check(&["a", shown], r#"{"nextCursor":"D"}"#, 2, None, None);
}

#[test]
fn a_shortened_result_is_not_marked_as_an_only_value() {
    check(
        ResultShape::Tool,
        r#"{"content":[],"structuredContent":{"result":[1,2]},"_meta":{"fastmcp":{"wrap_result":true},"b":2}}"#,
        &[],
        Some(r#"{"result":[1],"nextCursor":"C","meta":{}}"#),
        &format!(
            r#"{{"content":[{BLOCK}],"structuredContent":{{"result":[1],"nextCursor":"C","meta":{{}}}},"_meta":{{"b":2,{OURS}}}}}"#
        ),
    );
}

#[test]
fn lone_surrogates_of_structured_content_are_counted() {
    let result = r#"{"content":[{"type":"text","text":"a \ud800"}],"structuredContent":{"x":"\ud800 \udc00 \\ud800"}}"#;
    let outline = outline_of(result, ResultShape::Tool);
    let payload = outline.payload(0);
    assert_eq!((payload.lone_surrogate_count, payload.structured_surrogate_count), (1, 2));
}

#[test]
fn lone_surrogates_of_shown_structured_content_are_replaced() {
    check(
        ResultShape::Tool,
        r#"{"content":[],"structuredContent":{"a":"x\ud800y","b":2}}"#,
        &[],
        Some(r#"{"a":"x\ud800y","meta":{}}"#),
        &format!(
            r#"{{"content":[{BLOCK}],"structuredContent":{{"a":"x{}y","meta":{{}}}},"_meta":{{{OURS}}}}}"#,
            '\u{fffd}'
        ),
    );
}

#[test]
fn resources_and_prompts_carry_the_notice_in_their_own_form() {
    check(
        ResultShape::Resource,
        r#"{"contents":[{"uri":"a","mimeType":"text/x","text":"abc"},{"uri":"b","blob":"QQ=="}],"ttlMs":5}"#,
        &[("/contents/0/text", "a"), ("/contents/1", "[a blob]")],
        None,
        &format!(
            r#"{{"contents":[{{"uri":"a","mimeType":"text/x","text":"a"}},{{"uri":"b","mimeType":"text/plain","text":"[a blob]"}},{{"uri":"portion://read/C","mimeType":"application/json","text":"{}"}}],"ttlMs":5,"_meta":{{{OURS}}}}}"#,
            NOTICE.replace('"', "\\\"")
        ),
    );
    check(
        ResultShape::Prompt,
        r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
{"role":"user","content":[{"type":"text","text":"c"}]},{"role":"user","content":{"type":"text","text":"d"}}]}"#,
        &[("/messages/0/content/1/text", "B")],
        None,
        &format!(
            r#"{{"messages":[{{"role":"user","content":[{{"type":"text","text":"B"}}]}},{{"role":"user","content":{BLOCK}}}],"_meta":{{{OURS}}}}}"#
        ),
    );
}

/// Writes an envelope in place of a part, with its own MIME type and without a separate notice.
fn check_enveloped(shape: ResultShape, result: &str, address: &str, expect: &str) {
    let outline = outline_of(result, shape);
    let (body, mime) = (PieceBody::Text(r#"{"meta":{}}"#.into()), Some("application/json".into()));
    let pieces = [Piece { address: address.into(), body, mime }];
    let mut splice = Splice::new(result);
    let shown = PortionContent {
        pieces: &pieces,
        structured: None,
        notice: NOTICE,
        text_notice: None,
        cursor: Some("C"),
        extra_meta: None,
        is_whole: false,
    };
    outline.write_content(shown, &mut splice);
    assert_eq!(splice.apply(), expect, "{result}");
}

#[test]
fn an_envelope_contains_the_notice() {
    let text = r#""text":"{\"meta\":{}}""#;
    check_enveloped(
        ResultShape::Tool,
        r#"{"content":[{"type":"text","text":"abc"}]}"#,
        "/content/0/text",
        &format!(r#"{{"content":[{{"type":"text",{text}}}],"_meta":{{{OURS}}}}}"#),
    );
    check_enveloped(
        ResultShape::Tool,
        r#"{"content":[{"type":"resource","resource":{"mimeType":"text/x","uri":"u","text":"abc"}}]}"#,
        "/content/0/resource/text",
        &format!(
            r#"{{"content":[{{"type":"resource","resource":{{"mimeType":"application/json","uri":"u",{text}}}}}],"_meta":{{{OURS}}}}}"#
        ),
    );
    check_enveloped(
        ResultShape::Resource,
        r#"{"contents":[{"uri":"u","text":"abc","mimeType":"text/x"}]}"#,
        "/contents/0/text",
        &format!(r#"{{"contents":[{{"uri":"u",{text},"mimeType":"application/json"}}],"_meta":{{{OURS}}}}}"#),
    );
    check_enveloped(
        ResultShape::Prompt,
        r#"{"messages":[{"role":"user","content":{"type":"text","text":"abc"}}]}"#,
        "/messages/0/content/text",
        &format!(
            r#"{{"messages":[{{"role":"user","content":{{"type":"text",{text}}}}}],"_meta":{{{OURS}}}}}"#
        ),
    );
}

#[test]
fn results_with_cursors_are_not_cached_for_others() {
    let entry = NOTICE.replace('"', "\\\"");
    check(
        ResultShape::Resource,
        r#"{"cacheScope" : "public","contents":[],"ttlMs":5}"#,
        &[],
        None,
        &format!(
            r#"{{"cacheScope":"private","contents":[{{"uri":"portion://read/C","mimeType":"application/json","text":"{entry}"}}],"ttlMs":5,"_meta":{{{OURS}}}}}"#
        ),
    );
}

#[test]
fn of_duplicate_members_the_last_counts() {
    check(
        ResultShape::Tool,
        r#"{"content":[{"type":"text","text":"hidden"}],"content":[{"type":"text","text":"seen"}]}"#,
        &[("/content/0/text", "s")],
        None,
        &format!(r#"{{"content":[{{"type":"text","text":"s"}},{BLOCK}],"_meta":{{{OURS}}}}}"#),
    );
}
