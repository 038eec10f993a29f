//! Chunks have the size that a caller requests, and the notice says how to read larger ones.

use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::Policy;
use portion_core::view::Request;
use portion_tokens::Tokenizer;

use super::session::{Reply, Session};

fn log(lines: usize) -> Session {
    let line = |n: usize| format!("2026-01-01T00:00:00Z INFO request id={n} took 12 ms\n");
    let text = (0..lines).map(line).collect::<Vec<_>>().concat();
    let blocks = vec![Block::new("/content/0/text", Content::Text(text))];
    Session::new(Payload { blocks, ..Payload::default() }, Policy::default(), Tokenizer::O200k.counter())
}

fn text(reply: &Reply) -> &str {
    reply.pieces[0].body.as_str()
}

#[test]
fn max_tokens_enlarges_chunks() {
    let session = log(10_000);
    let usual = session.call(&Request::default()).expect("plain").expect("long");
    let next_call = usual.notice["meta"]["next"].as_str().expect("there is more");
    assert_eq!(next_call, "portion_read(cursor=nextCursor), maxTokens=12000 returns more");
    let sized = Request { max_tokens: Some(12_000), ..Request::default() };
    let large = session.call(&sized).expect("allowed").expect("asked for");
    assert!(large.portion.tokens() > 10_000, "{} tokens", large.portion.tokens());
    assert!(text(&large).lines().count() > 2 * Policy::default().chunk_lines);
    assert!(text(&large).len() > 4 * text(&usual).len());
    // Joined, they are the text, in far fewer replies.
    let (mut reply, mut joined, mut replies) = (large, String::new(), 0);
    loop {
        joined.push_str(text(&reply));
        replies += 1;
        let Some(next) = reply.next() else { break };
        reply = session.read(&reply.view, next, &sized).expect("a cursor");
    }
    assert_eq!(joined, session.snapshot.parts()[0].text());
    assert!(replies <= 30, "{replies} replies");
}

#[test]
fn a_line_limit_is_served_whole_if_it_fits() {
    let session = log(1_000);
    let sized = Request { limit: Some(200), ..Request::default() };
    let reply = session.call(&sized).expect("allowed").expect("asked for");
    assert_eq!(text(&reply).lines().count(), 200);
    assert!(reply.portion.tokens() > Policy::default().chunk_size);
    let few = Request { max_tokens: Some(500), ..Request::default() };
    assert!(session.call(&few).expect("allowed").expect("asked for").portion.tokens() <= 500);
}
