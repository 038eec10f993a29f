//! Passages with scores, and a caller that reads them.

use std::fmt::Write as _;

use portion_core::cursor::{CursorTarget, Keyring, Position, Scope};
use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::Policy;
use portion_core::ranking::rank;
use portion_core::render::{
    Context, FirstReply, Portion, first_reply, follow_up_reply, view_with_pagination,
};
use portion_core::snapshot::{Snapshot, capture};
use portion_core::view::{Request, ResolvedRequest, View, resolve};
use portion_tokens::{TokenCounter, Tokenizer};
use serde_json::Value;

/// Returns this many passages with unordered lengths and scores.
pub(crate) fn passages(count: usize) -> String {
    let passage = |i: usize| {
        let words = "the flow over a thin wing at supersonic speed ".repeat(4 + i * 7 % 31);
        format!("{{\"id\":\"p{i}\",\"score\":{}.{},\"text\":\"{}\"}}", i * 37 % 23, i % 10, words.trim_end())
    };
    let all: Vec<String> = (0..count).map(passage).collect();
    format!("{{\"query\":\"wings\",\"chunks\":[{}]}}", all.join(","))
}

/// A reply as its caller sees it.
pub(crate) struct Reply {
    pub(crate) portion: Portion,
    pub(crate) meta: Value,
    view: View,
    next: Option<Position>,
}

impl Reply {
    /// Returns the records it shows, as written.
    pub(crate) fn records(&self) -> Vec<String> {
        let page: Value = serde_json::from_str(self.text()).expect("JSON");
        let list = page.get("chunks").unwrap_or(&page).as_array().expect("a list").clone();
        list.iter().map(ToString::to_string).collect()
    }

    pub(crate) fn text(&self) -> &str {
        self.portion.pieces()[0].body.as_str()
    }
}

pub(crate) fn counter() -> &'static dyn TokenCounter {
    Tokenizer::Chars4.counter()
}

pub(crate) fn snapshot(text: &str) -> Snapshot {
    let block = Block::new("/content/0/text", Content::Text(text.to_owned()));
    capture(Payload { blocks: vec![block], ..Payload::default() })
}

fn keyring() -> Keyring {
    Keyring::new(&[0; 32])
}

fn render(snapshot: &Snapshot, resolved: &ResolvedRequest, policy: &Policy, fresh: bool) -> Option<Reply> {
    let mint = |position: Position| {
        let pointer = CursorTarget { snapshot: [0; 6], view: resolved.view.id(), position };
        Some(keyring().sign(&pointer, &Scope::from_principal("ranked")))
    };
    let cx = Context {
        policy,
        counter: counter(),
        issue_cursor: &mint,
        read_call: "portion_read".into(),
        query_tool: None,
        read_uri: None,
    };
    let first = fresh.then(|| first_reply(snapshot, resolved, &cx));
    let portion = match first {
        Some(FirstReply::Untouched { .. }) => return None,
        Some(FirstReply::Portion(portion)) => portion,
        None => follow_up_reply(snapshot, resolved, &cx),
    };
    let notice: Value = serde_json::from_str(portion.notice()).expect("JSON");
    let next = notice.get("nextCursor").and_then(Value::as_str);
    let next = next
        .map(|token| keyring().verify(token, &Scope::from_principal("ranked")).expect("its own").position);
    let view = view_with_pagination(resolved.view.clone(), &portion);
    Some(Reply { meta: notice["meta"].clone(), view, next, portion })
}

/// Returns the first reply to a call, or `None` if the payload passes untouched.
pub(crate) fn call(snapshot: &Snapshot, controls: &[(&str, &str)], policy: &Policy) -> Option<Reply> {
    let mut request = Request::default();
    for (name, json) in controls {
        request.set_control(name, json, policy).expect("a control");
    }
    let resolved = resolve(snapshot, None, &request, policy).expect("it is there");
    render(snapshot, &rank(snapshot, resolved, policy, counter()), policy, true)
}

/// Makes the same call again with these controls, answered from the stored snapshot.
pub(crate) fn recall(
    snapshot: &Snapshot,
    first: &Reply,
    controls: &[(&str, &str)],
    policy: &Policy,
) -> Reply {
    let mut request = Request::default();
    for (name, json) in controls {
        request.set_control(name, json, policy).expect("a control");
    }
    let root = first.view.root_with_pagination();
    let resolved =
        resolve(snapshot, Some((&root, Position::default())), &request, policy).expect("it is there");
    render(snapshot, &rank(snapshot, resolved, policy, counter()), policy, true).expect("a page")
}

/// Returns the first reply and all follow-ups.
pub(crate) fn walk(snapshot: &Snapshot, controls: &[(&str, &str)], policy: &Policy) -> Vec<Reply> {
    let mut replies: Vec<Reply> = call(snapshot, controls, policy).into_iter().collect();
    while let Some((view, next)) = replies.last().and_then(|reply| Some((&reply.view, reply.next?))) {
        let resolved =
            resolve(snapshot, Some((view, next)), &Request::default(), policy).expect("it goes on");
        let reply = render(snapshot, &rank(snapshot, resolved, policy, counter()), policy, false);
        replies.push(reply.expect("follow-ups are portions"));
        assert!(replies.len() < 1_000, "no end");
    }
    replies
}

/// Returns the scores of records as written.
pub(crate) fn scores(records: &[String]) -> Vec<f64> {
    let score = |record: &String| {
        let record: Value = serde_json::from_str(record).expect("JSON");
        record["score"].as_f64().expect("a number")
    };
    records.iter().map(score).collect()
}

/// Abbreviates a list of records for assertion messages.
pub(crate) fn told(records: &[String]) -> String {
    records.iter().fold(String::new(), |mut all, record| {
        let _ = writeln!(all, "{}", &record[..record.len().min(60)]);
        all
    })
}
