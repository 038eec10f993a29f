//! A snapshot contains no hidden values, and its replies name the redacted fields.

use std::sync::Arc;

use portion_core::payload::{BinaryInfo, Block, Content, Payload};
use portion_core::policy::Policy;
use portion_core::redact::RedactionRules;
use portion_core::render::{self, Context, FirstReply};
use portion_core::snapshot::{STRUCTURED_CONTENT, capture};
use portion_core::view::{Request, resolve};
use portion_tokens::Tokenizer;

fn payload(blocks: Vec<Block>) -> Payload {
    Payload {
        blocks,
        redaction_rules: Some(Arc::new(RedactionRules::default_secrets())),
        ..Payload::default()
    }
}

/// Returns the pieces and the notice of the first reply.
fn shown(payload: Payload) -> String {
    let (snapshot, policy) = (capture(payload), Policy::default());
    assert!(snapshot.parts().iter().all(|part| !part.text().contains("hunter2")));
    let resolved = resolve(&snapshot, None, &Request::default(), &policy).expect("a view");
    let cx = Context {
        policy: &policy,
        counter: Tokenizer::O200k.counter(),
        issue_cursor: &|_| None,
        read_call: "read".into(),
        query_tool: None,
        read_uri: None,
    };
    match render::first_reply(&snapshot, &resolved, &cx) {
        FirstReply::Untouched { .. } => panic!("it is passed on as it came"),
        FirstReply::Portion(portion) => {
            let pieces: Vec<_> =
                portion.pieces().iter().map(|piece| piece.body.as_str().to_owned()).collect();
            format!("{}\n{}", pieces.join("\n"), portion.notice())
        }
    }
}

#[test]
fn small_payloads_are_redacted_and_say_so() {
    let json = r#"{"id":1,"wifiPassword":"hunter2"}"#;
    let text = Block::new("/content/0/text", Content::Text(json.into()));
    let structured = Block::new(STRUCTURED_CONTENT, Content::Structured(json.into()));
    let shown = shown(payload(vec![text, structured]));
    assert!(shown.contains(r#"{"id":1,"wifiPassword":"[redacted]"}"#), "{shown}");
    assert!(shown.contains(r#""redacted":["wifiPassword"]"#), "{shown}");
}

#[test]
fn blocks_with_binary_data_are_redacted() {
    let binary = |mime_type: &str, data_pointer, is_media| {
        Some(BinaryInfo { mime_type: mime_type.into(), data_pointer, decoded_bytes: 15, is_media })
    };
    // The base64 of `password=hunter2`, and that of a picture.
    let (text, picture) = ("cGFzc3dvcmQ9aHVudGVyMg==", "AKIAAAAAAAAAAAAAAAAAAAAA");
    for (json, binary, expect) in [
        (
            format!(r#"{{"type":"image","data":"{picture}","_meta":{{"password":"hunter2"}}}}"#),
            binary("image/png", "/data", true),
            format!(r#"{{"type":"image","data":"{picture}","_meta":{{"password":"[redacted]"}}}}"#),
        ),
        (
            format!(r#"{{"type":"resource","pin":1111,"resource":{{"blob":"{text}"}}}}"#),
            binary("text/plain", "/resource/blob", false),
            r#"{"type":"resource","resource":{"blob":"cGFzc3dvcmQ9W3JlZGFjdGVkXQ=="}}"#.to_owned(),
        ),
        (
            format!(r#"{{"blob":"{picture}"}}"#),
            binary("x/y", "/blob", false),
            format!(r#"{{"blob":"{picture}"}}"#),
        ),
    ] {
        let snapshot = capture(payload(vec![Block::new("/content/0", Content::Atomic { json, binary })]));
        assert_eq!(snapshot.parts()[0].text(), expect);
        assert_eq!(snapshot.redacted().is_empty(), expect.contains("\"blob\":\"AKIA"));
    }
}

#[test]
fn text_is_redacted_and_says_so() {
    let text = Block::new("/content/0/text", Content::Text("user=bob password=hunter2".into()));
    let shown = shown(payload(vec![text]));
    assert!(
        shown.contains("user=bob password=[redacted]") && shown.contains(r#""redacted":["password"]"#),
        "{shown}"
    );
}

#[test]
fn names_are_listed_within_limits() {
    let members: Vec<String> =
        (0..300).map(|n| format!("\"{n}{}\":{{\"pin\":\"hunter2\"}}", "x".repeat(200))).collect();
    let text = Block::new("/content/0/text", Content::Text(format!("{{{}}}", members.join(","))));
    let shown = shown(payload(vec![text]));
    assert!(shown.contains("more\"]") && !shown.contains("hunter2"), "{shown}");
}

#[test]
fn without_redaction_there_is_no_notice() {
    let text = Block::new("/content/0/text", Content::Text("{\"id\":1}".into()));
    assert!(capture(payload(vec![text])).redacted().is_empty());
}

#[test]
fn a_text_and_its_copy_in_a_member_hide_the_same() {
    for text in ["user=ann\npassword=hunter2\n", "id,password\n1,hunter2\n2,x\n", "{'password': 'hunter2'}"] {
        let structured = format!(r#"{{"result":{}}}"#, portion_json::scan::quote(text));
        let blocks = vec![
            Block::new("/content/0/text", Content::Text(text.into())),
            Block::new(STRUCTURED_CONTENT, Content::Structured(structured)),
        ];
        let snapshot = capture(payload(blocks));
        assert!(snapshot.parts().iter().all(|part| !part.text().contains("hunter2")), "{text}");
        assert!(snapshot.parts()[1].duplicate.is_some(), "the copy is still recognized: {text}");
    }
}

#[test]
fn fields_without_values_are_told_from_unknown_fields() {
    let record = |n: usize| format!(r#"{{"id":{n},"password":"hunter2","pin":{}}}"#, 1_000 + n);
    let list = format!("[{}]", (0..40).map(record).collect::<Vec<_>>().join(","));
    let snapshot = capture(payload(vec![Block::new("/content/0/text", Content::Text(list))]));
    let error =
        |request: Request| resolve(&snapshot, None, &request, &Policy::default()).expect_err("an error");
    for fields in ["pin", "id,PIN"] {
        let unknown = error(Request { fields: Some(fields.to_owned()), ..Request::default() });
        let name = fields.trim_start_matches("id,");
        assert_eq!(unknown.to_string(), format!("{name} is redacted, and no item has a value of it"));
        assert_eq!(unknown.advice(), "omit it; the operator configures redaction");
    }
    let unsorted = error(Request { sort: Some("pin desc".to_owned()), ..Request::default() });
    assert_eq!(unsorted.to_string(), "sort is pin desc; that field is redacted");
}
