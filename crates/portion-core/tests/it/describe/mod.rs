//! Tests of descriptions of payloads that a reply cannot show.

mod facts;
mod laws;
mod outline;

use portion_core::missing_codes::MissingCodes;
use portion_core::payload::{Block, Content, Payload};
use portion_core::snapshot::{Snapshot, Structure, capture};
use portion_tokens::Tokenizer;
use serde_json::{Map, Value};

/// Token budget for everything.
const ALL: usize = 1 << 20;

fn snapshot(text: &str) -> Snapshot {
    let block = Block::new("/content/0/text", Content::Text(text.to_owned()));
    capture(Payload { blocks: vec![block], ..Payload::default() })
}

/// Returns the facts of a list within a token budget.
fn facts(text: &str, tokens: usize) -> Map<String, Value> {
    let snapshot = snapshot(text);
    let subject = snapshot.parts()[0].indexed_text().expect("readable");
    let Structure::List(list) = &subject.structure else { panic!("no list: {text}") };
    list.facts(&subject.text, &MissingCodes::default()).describe(Tokenizer::O200k.counter(), tokens)
}

/// Returns the outline of an object within a token budget.
fn outline(text: &str, tokens: usize) -> Map<String, Value> {
    let snapshot = snapshot(text);
    let subject = snapshot.parts()[0].indexed_text().expect("readable");
    let Structure::Object(members) = &subject.structure else { panic!("no object: {text}") };
    portion_core::describe::outline(&subject.text, members, Tokenizer::O200k.counter(), tokens)
}

/// Formats facts, one line each: `field: words`.
fn lines(described: &Map<String, Value>) -> String {
    let line =
        |(name, words): (&String, &Value)| format!("{name}: {}\n", words.as_str().unwrap_or("no text"));
    described.iter().map(line).collect()
}
