//! Chunks have the size that a caller requests, and the notice says how to read larger ones.

use std::sync::atomic::{AtomicUsize, Ordering};

use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::{EnvelopeMode, Policy};

use portion_core::view::Request;
use portion_tokens::{TokenCounter, Tokenizer};

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

/// Counts a quarter of the characters, and the bytes that it is given.
struct Metered {
    bytes: AtomicUsize,
}

impl TokenCounter for Metered {
    fn name(&self) -> &'static str {
        "len4"
    }

    fn count(&self, text: &str) -> usize {
        self.bytes.fetch_add(text.len(), Ordering::Relaxed);
        Tokenizer::Len4.counter().count(text)
    }

    fn prefix_within(&self, text: &str, limit: usize) -> usize {
        let len = Tokenizer::Len4.counter().prefix_within(text, limit);
        self.bytes.fetch_add(len, Ordering::Relaxed);
        len
    }

    fn part_costs(&self, text: &str, ends: &[usize]) -> Vec<u32> {
        self.bytes.fetch_add(text.len(), Ordering::Relaxed);
        Tokenizer::Len4.counter().part_costs(text, ends)
    }
}

/// Checks that the smallest reply to a text counts few times the bytes of the text.
fn check_counted_bytes(text: &str, envelope: EnvelopeMode) {
    let counter: &'static Metered = Box::leak(Box::new(Metered { bytes: AtomicUsize::new(0) }));
    let blocks = vec![Block::new("/content/0/text", Content::Text(text.to_owned()))];
    let mut policy = Policy::default();
    policy.render_options.envelope = envelope;
    let session = Session::new(Payload { blocks, ..Payload::default() }, policy, counter);
    counter.bytes.store(0, Ordering::Relaxed);
    let request = Request { max_tokens: Some(300), ..Request::default() };
    session.call(&request).expect("allowed").expect("asked for");
    let counted_bytes = counter.bytes.load(Ordering::Relaxed);
    assert!(counted_bytes <= 40 * text.len(), "{counted_bytes} bytes counted of {} {envelope:?}", text.len());
}

#[test]
fn the_smallest_reply_counts_few_times_the_text() {
    let section =
        |n: usize| format!("## Section {n}\n\nWhat it says, with `code` and a [link](a.md).\n\n- one\n\n");
    let markdown = (0..500).map(section).collect::<String>();
    for envelope in [EnvelopeMode::Auto, EnvelopeMode::Wrap] {
        check_counted_bytes(&markdown, envelope);
        check_counted_bytes(&"\n".repeat(12_000), envelope);
        check_counted_bytes(&"😀".repeat(12_000), envelope);
    }
}
