//! `structuredContent` that repeats the content blocks: it shows what the text shows, and is searched once.

use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::Policy;
use portion_core::render::FirstReply;
use portion_core::snapshot::{DuplicateForm, EncodedSnapshot, STRUCTURED_CONTENT, Snapshot, capture};
use portion_core::view::{Request, View, resolve};
use serde_json::{Value, json};

use super::reply;

fn log(lines: usize) -> String {
    let line = |n: usize| format!("2025-01-01T00:00:{:02}Z INFO request {n} done in {} ms", n % 60, n % 97);
    (0..lines).map(line).collect::<Vec<_>>().join("\n")
}

/// Captures a result with these content blocks.
fn snapshot(blocks: &[Value], structured: &Value) -> Snapshot {
    let block = |(at, block): (usize, &Value)| match block["text"].as_str() {
        Some(text) => Block::new(format!("/content/{at}/text"), Content::Text(text.to_owned())),
        None => {
            Block::new(format!("/content/{at}"), Content::Atomic { json: block.to_string(), binary: None })
        }
    };
    let mut blocks: Vec<Block> = blocks.iter().enumerate().map(block).collect();
    blocks.push(Block::new(STRUCTURED_CONTENT, Content::Structured(structured.to_string())));
    capture(Payload { blocks, ..Payload::default() })
}

fn is_duplicate(blocks: &[Value], structured: &Value) -> bool {
    let snapshot = snapshot(blocks, structured);
    let form = snapshot.parts().last().and_then(|part| part.duplicate).map(|duplicate| duplicate.form);
    matches!(form, Some(DuplicateForm::Blocks(_)))
}

fn dumped(block: &Value) -> Value {
    let mut dumped = block.clone();
    dumped["annotations"] = Value::Null;
    dumped["_meta"] = Value::Null;
    dumped
}

#[test]
fn content_blocks_are_recognized_in_every_place() {
    let blocks = [
        json!({"type": "text", "text": "one \"quoted\" text\n"}),
        json!({"type": "resource_link", "uri": "file:///a", "name": "a"}),
        json!({"type": "text", "text": "{\"id\":1}"}),
    ];
    let all: Vec<Value> = blocks.iter().map(dumped).collect();
    assert!(is_duplicate(&blocks, &json!({"result": all})));
    assert!(is_duplicate(&blocks, &json!({"content": all, "isError": false, "_meta": null})));
    assert!(is_duplicate(&blocks[..1], &json!({"result": all[0]})));
    assert!(is_duplicate(&blocks[..1], &all[0]));
    assert!(!is_duplicate(&blocks, &json!({"result": all[..2]})));
    assert!(!is_duplicate(&blocks[..1], &json!({"result": all})));
    assert!(!is_duplicate(&blocks, &json!({"result": [all[1], all[0], all[2]]})));
    assert!(!is_duplicate(&blocks, &json!({"result": all, "count": 3})));
    assert!(!is_duplicate(&blocks[..1], &json!({"result": [{"text": "one \"quoted\" text\n"}]})));
}

/// Returns `structuredContent` of the first reply without its notice.
fn structured(snapshot: &Snapshot, request: &Request) -> (Value, Vec<String>) {
    let policy = Policy::default();
    let resolved = resolve(snapshot, None, request, &policy).expect("it is there");
    let FirstReply::Portion(portion) = reply(snapshot, &resolved, &policy) else { panic!("it is shaped") };
    let texts = portion.pieces().iter().map(|piece| piece.body.as_str().to_owned()).collect();
    let mut json: Value = serde_json::from_str(portion.structured().expect("it is there")).expect("JSON");
    for key in ["nextCursor", "totalCount", "meta"] {
        json.as_object_mut().expect("an object").remove(key);
    }
    (json, texts)
}

#[test]
fn structured_content_shows_the_blocks_that_the_text_shows() {
    let blocks = [
        json!({"type": "text", "text": "A short first block."}),
        json!({"type": "text", "text": log(2_000)}),
        json!({"type": "text", "text": log(1_500)}),
    ];
    let all: Vec<Value> = blocks.iter().map(dumped).collect();
    for (count, is_array) in [(1, true), (1, false), (3, true)] {
        let (blocks, all) = (&blocks[3 - count..], &all[3 - count..]);
        let whole = if is_array { json!({"result": all}) } else { json!({"result": all[0]}) };
        let snapshot = snapshot(blocks, &whole);
        for request in
            [Request::default(), Request { start_line: Some(3), end_line: Some(9), ..Request::default() }]
        {
            let (json, texts) = structured(&snapshot, &request);
            let shown = json["result"].as_array().cloned().unwrap_or_else(|| vec![json["result"].clone()]);
            let repeated: Vec<&str> = shown.iter().filter_map(|block| block["text"].as_str()).collect();
            assert_eq!(repeated, texts, "{count} {request:?}");
            assert!(shown.iter().all(|block| block["annotations"].is_null() && block["type"] == "text"));
        }
        // A copy is neither searched nor walked.
        assert_eq!(View::root().subjects(&snapshot).len(), count);
        let again = EncodedSnapshot::new(&snapshot).decode().expect("it can be read");
        assert_eq!(
            again.parts().last().expect("a part").duplicate,
            snapshot.parts().last().expect("a part").duplicate
        );
    }
}
