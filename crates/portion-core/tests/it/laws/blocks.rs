//! Blocks pass whole or are described. The content of a described block can be read in ranges that join to
//! its bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use portion_core::payload::{Block, BlockLabel, Content, Payload};
use portion_core::policy::Policy;
use portion_core::render::PieceBody;
use portion_core::view::Request;
use portion_tokens::Tokenizer;
use proptest::prelude::*;

use super::choices::{Dice, dice};
use super::session::{Reply, Session};
use super::{cases, payloads, requests};

const URI: &str = "portion://read/";

fn session(parts: &[Content]) -> Session {
    let block = |(i, content): (usize, &Content)| Block::new(format!("/content/{i}"), content.clone());
    let blocks = parts.iter().enumerate().map(block).collect();
    Session::new(Payload { blocks, ..Payload::default() }, Policy::default(), Tokenizer::O200k.counter())
}

fn bytes(dice: &mut Dice, max: usize) -> Vec<u8> {
    (0..dice.below(max)).map(|_| dice.roll() as u8).collect()
}

/// Reads the ranges of a binary's base64, alternately as text and as contents.
pub(crate) fn check_ranges(mut dice: Dice) {
    let size = dice.pick(&[5, 300, 9_000, 200_000]);
    let whole = bytes(&mut dice, size);
    let written = STANDARD.encode(&whole);
    let escaped = if dice.once_in(3) { written.replace('/', "\\/") } else { written.clone() };
    let media = dice.once_in(2);
    let mut session =
        session(&[payloads::binary(&escaped, media), Content::Text(payloads::prose(&mut dice, 9))]);
    session.policy = requests::policy(&mut dice);
    session.counter = requests::counter(&mut dice);
    let path = if media { "/content/0/data" } else { "/content/0/resource/blob" };
    // A blob that is a text is shown as such.
    let raw = dice.once_in(2) || !media && std::str::from_utf8(&whole).is_ok();
    let mut request = Request { path: Some(path.into()), raw, ..Request::default() };
    if dice.once_in(2) {
        request.max_tokens = Some(dice.within(300, session.policy.hard_cap));
    }
    let mut reply = session.call(&request).expect("it is there").expect("asked for");
    let (mut read, mut joined) = (Vec::new(), String::new());
    for _ in 0..=written.len() {
        let range = reply.text();
        assert_eq!(session.read_uri.is_some(), matches!(reply.pieces[0].body, PieceBody::Base64(_)));
        read.extend(STANDARD.decode(range).unwrap_or_else(|e| panic!("{range} is no base64: {e}")));
        joined.push_str(range);
        let Some(next) = reply.next() else { break };
        session.read_uri = dice.once_in(2).then_some(URI);
        let again = Request { max_tokens: request.max_tokens, ..Request::default() };
        reply = session.read(&reply.view, next, &again).expect("nothing new is asked");
    }
    assert_eq!(joined, written);
    assert!(read == whole, "other bytes");
}

/// Checks whether a block of this size passes: untouched alone, as received beside other parts, and whole at
/// the end of a walk.
fn check_passing(size: usize, media: bool, passes: bool) {
    let base64 = STANDARD.encode(vec![7; size]);
    let block = payloads::binary(&base64, media);
    let Content::Atomic { json, .. } = &block else { panic!("a block") };
    let alone = session(std::slice::from_ref(&block)).call(&Request::default()).expect("plain");
    assert_eq!(alone.is_none(), passes, "{size} bytes alone");
    let text = || Content::Text("A word of prose. ".repeat(2_000));
    let session = session(&[text(), block.clone(), text()]);
    let replies = session.walk(&Request::default()).expect("plain").expect("long");
    let of_block = |reply: &Reply| {
        let pieces = reply.pieces.iter().filter(|piece| piece.address == "/content/1");
        pieces.map(|piece| piece.body.clone()).collect::<Vec<_>>()
    };
    let shown: Vec<PieceBody> = replies.iter().flat_map(of_block).collect();
    match &shown[..] {
        [PieceBody::Block(whole)] => assert!(passes && whole == json, "{size} bytes"),
        [PieceBody::Text(placeholder)] => {
            assert!(
                !passes && placeholder.contains(&format!("{size} bytes, not shown; portion_read(")),
                "{placeholder}"
            );
        }
        other => panic!("{} times", other.len()),
    }
}

#[test]
fn media_have_their_own_limit_and_blobs_that_of_the_wire() {
    check_passing(3_000, false, true);
    check_passing(40_000, false, true);
    check_passing(49_000, false, false);
    check_passing(2 << 20, false, false);
    check_passing(2 << 20, true, true);
    check_passing(5 << 20, true, true);
    check_passing((5 << 20) + 1, true, false);
}

#[test]
fn the_frame_of_a_text_counts_on_the_wire() {
    let label = BlockLabel { frame_bytes: 2_000, ..BlockLabel::default() };
    let block = |i| Block {
        label: label.clone(),
        ..Block::new(format!("/content/{i}/resource/text"), Content::Text(format!("text {i}")))
    };
    let payload = Payload { blocks: (0..100).map(block).collect(), ..Payload::default() };
    let session = Session::new(payload, Policy::default(), Tokenizer::O200k.counter());
    let replies = session.walk(&Request::default()).expect("plain").expect("200 kB on the wire");
    assert!(replies[0].pieces.len() < 33);
    let read: Vec<&str> =
        replies.iter().flat_map(|reply| &reply.pieces).map(|piece| piece.body.as_str()).collect();
    assert!(read.iter().enumerate().all(|(i, text)| *text == format!("text {i}")) && read.len() == 100);
}

#[test]
fn the_wrappers_of_empty_texts_count_on_the_wire() {
    let label = BlockLabel { frame_bytes: 30, ..BlockLabel::default() };
    let ids: Vec<String> = (0..500).map(|i| format!("{{\"id\":{i}}}")).collect();
    let list = format!("[{}]", ids.join(","));
    for (hard_byte_limit, count) in [(4_096, 400), (65_536, 3_000)] {
        for last in ["", list.as_str()] {
            let block = |i: usize| {
                let text = Content::Text(if i == count { last.to_owned() } else { String::new() });
                Block { label: label.clone(), ..Block::new(format!("/content/{i}/text"), text) }
            };
            let payload = Payload { blocks: (0..=count).map(block).collect(), ..Payload::default() };
            let policy = Policy { hard_byte_limit, ..Policy::default() };
            let session = Session::new(payload, policy, Tokenizer::O200k.counter());
            let replies = session.walk(&Request::default()).expect("plain").expect("large on the wire");
            let pieces = replies.iter().flat_map(|reply| &reply.pieces);
            let mut shown: Vec<&str> = pieces.map(|piece| piece.address.as_str()).collect();
            shown.dedup();
            assert_eq!(shown.len(), count + 1);
        }
    }
}

#[test]
fn thousands_of_links_are_read_to_the_last() {
    let link =
        |i| format!("{{\"type\" :\"resource_link\",\"uri\":\"file:///{i}.txt\",\"name\":\"\\u00e9{i}\"}}");
    let links: Vec<String> = (0..5_000).map(link).collect();
    let parts: Vec<Content> =
        links.iter().map(|json| Content::Atomic { json: json.clone(), binary: None }).collect();
    let replies = session(&parts).walk(&Request::default()).expect("plain").expect("long");
    let pieces = replies.iter().flat_map(|reply| &reply.pieces);
    let read: Vec<&str> = pieces.map(|piece| piece.body.as_str()).collect();
    assert_eq!(read, links);
}

proptest! {
    #![proptest_config(cases(300))]
    #[test]
    fn ranges_joined_are_the_bytes(dice in dice()) {
        check_ranges(dice);
    }
}
