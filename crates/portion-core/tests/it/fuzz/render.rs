//! Fuzz target: every reply obeys the laws, whatever the payload, the limits and the request.

use portion_core::payload::{Block, Content, Payload};
use portion_tokens::Tokenizer;

use crate::laws::choices::Dice;
use crate::laws::json::Json;
use crate::laws::requests;
use crate::laws::session::Session;

/// Input: a seed of eight bytes for limits and request, then the parts of the payload, with form feeds between them.
pub(crate) fn check(input: &[u8]) {
    let Some((seed, text)) = input.split_first_chunk() else { return };
    let Ok(text) = str::from_utf8(text) else { return };
    let mut dice = Dice::new(u64::from_le_bytes(*seed));
    let policy = requests::policy(&mut dice);
    let request = requests::request(&mut dice, &policy);
    let mut blocks: Vec<Block> = text
        .split('\u{c}')
        .enumerate()
        .map(|(i, text)| Block::new(format!("/content/{i}/text"), Content::Text(text.to_owned())))
        .collect();
    if dice.once_in(3) && text.starts_with('{') && Json::parse(text).is_some() {
        blocks.push(Block::new("/structuredContent", Content::Structured(text.to_owned())));
    }
    let session = Session::new(Payload { blocks, ..Payload::default() }, policy, Tokenizer::Chars4.counter());
    let Ok(Some(reply)) = session.call(&request) else { return };
    let other = requests::request(&mut dice, &session.policy);
    let _ = session.read(&reply.view, reply.start(), &other);
    session.walk_on(reply);
}
