//! Images come first, text takes the remaining budget, and each image has a call that shows it.

use portion_core::cursor::Position;
use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::Policy;
use portion_core::render::PieceBody;
use portion_core::view::{Request, View};
use portion_tokens::Tokenizer;

use super::payloads;
use super::session::{Reply, Session};

/// Returns a session with a long text followed by this many images.
fn session(policy: Policy, images: usize) -> Session {
    let text = Content::Text("A word of prose. ".repeat(4_000));
    let image = |_| payloads::binary("AAAAAAAA", true);
    let parts = std::iter::once(text).chain((0..images).map(image));
    let block = |(i, content)| Block::new(format!("/content/{i}"), content);
    let blocks = parts.enumerate().map(block).collect();
    Session::new(Payload { blocks, ..Payload::default() }, policy, Tokenizer::O200k.counter())
}

fn images(reply: &Reply) -> Vec<&str> {
    let images = reply.pieces.iter().filter(|piece| matches!(piece.body, PieceBody::Block(_)));
    images.map(|piece| piece.address.as_str()).collect()
}

/// Checks the number of images in the first reply. A walk shows each image once, and a missing one can be
/// read by its path.
fn check(policy: Policy, given: usize, first: usize) {
    let session = session(policy, given);
    let reply = session.call(&Request::default()).expect("plain").expect("long");
    assert_eq!(images(&reply).len(), first, "{:?}", reply.notice);
    let text = reply.pieces.iter().find(|piece| piece.address == "/content/0").expect("text is shown");
    assert!(text.body.as_str().len() > 100, "{} bytes of text", text.body.as_str().len());
    let next = reply.notice["meta"]["nextMedia"].as_str().map(str::to_owned);
    let expect =
        (given > first).then(|| format!("portion_read(cursor, path=/content/{}) shows it", first + 1));
    assert_eq!(next, expect);
    for at in first + 1..=given {
        let path = Request { path: Some(format!("/content/{at}")), ..Request::default() };
        let shown = session.read(&View::root(), Position::default(), &path).expect("it is there");
        assert_eq!(images(&shown), [format!("/content/{at}")]);
    }
    let walked = session.walk(&Request::default()).expect("plain").expect("long");
    let mut all: Vec<&str> = walked.iter().flat_map(images).collect();
    all.sort_unstable();
    let mut each: Vec<String> = (1..=given).map(|at| format!("/content/{at}")).collect();
    each.sort_unstable();
    assert_eq!(all, each);
}

#[test]
fn images_come_first_and_text_takes_the_rest() {
    check(Policy::default(), 1, 1);
    check(Policy::default(), 3, 3);
    check(Policy::default().lean(), 1, 1);
    check(Policy::default().lean(), 3, 2);
    check(Policy::default(), 20, 7);
}
