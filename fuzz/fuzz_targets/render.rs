//! Every reply obeys the laws, whatever the payload, the limits and the request.
#![no_main]

#[allow(dead_code)]
#[path = "../../crates/portion-core/tests/it/laws/choices.rs"]
mod choices;
#[allow(dead_code, unused_imports, unused_macros)]
#[path = "../../crates/portion-core/tests/it/laws/endpoints.rs"]
mod endpoints;
#[allow(dead_code)]
#[path = "../../crates/portion-core/tests/it/laws/json.rs"]
mod json;
#[allow(dead_code, unused_imports)]
#[path = "../../crates/portion-core/tests/it/laws/lossless.rs"]
mod lossless;
#[allow(dead_code, unused_imports)]
#[path = "../../crates/portion-core/tests/it/laws/render_options.rs"]
mod render_options;
#[allow(dead_code)]
#[path = "../../crates/portion-core/tests/it/laws/payloads.rs"]
mod payloads;
#[allow(dead_code)]
#[path = "../../crates/portion-core/tests/it/laws/requests.rs"]
mod requests;
#[allow(dead_code)]
#[path = "../../crates/portion-core/tests/it/laws/session.rs"]
mod session;
#[allow(dead_code)]
#[path = "../../crates/portion-core/tests/it/laws/table.rs"]
mod table;

/// How many cases a suite has that draws its own: here it is given them.
#[allow(dead_code)]
fn cases(_: u32) -> proptest::prelude::ProptestConfig {
    proptest::prelude::ProptestConfig::default()
}

/// Rejects a case that does not concern a property.
#[allow(dead_code)]
fn reject(why: &'static str) -> proptest::test_runner::TestCaseResult {
    Err(proptest::test_runner::TestCaseError::reject(why))
}

use libfuzzer_sys::fuzz_target;
use portion_core::payload::{Block, Content, Payload};
use portion_tokens::Tokenizer;

use choices::Dice;
use session::Session;

fuzz_target!(|input: (u64, &str)| {
    let (seed, text) = input;
    let mut dice = Dice::new(seed);
    let policy = requests::policy(&mut dice);
    let request = requests::request(&mut dice, &policy);
    // One part, or one a form feed; what follows the last may be for programs.
    let mut blocks: Vec<Block> = text
        .split('\u{c}')
        .enumerate()
        .map(|(i, text)| Block::new(format!("/content/{i}/text"), Content::Text(text.to_owned())))
        .collect();
    if dice.once_in(3) && text.starts_with('{') && json::Json::parse(text).is_some() {
        blocks.push(Block::new("/structuredContent", Content::Structured(text.to_owned())));
    }
    let session = Session::new(Payload { blocks, ..Payload::default() }, policy, Tokenizer::Chars4.counter());
    let Ok(Some(reply)) = session.call(&request) else { return };
    let other = requests::request(&mut dice, &session.policy);
    let _ = session.read(&reply.view, reply.start(), &other);
    session.walk_on(reply);
});
