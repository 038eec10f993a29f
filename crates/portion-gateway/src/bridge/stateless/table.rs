//! Whose is what: clients that share a link choose their ids without knowing of each other, so on the link each request
//! has an id of ours, and what the server says of it gets the client's own bytes back.
//!
//! The id, the progress token and the id of a subscription are one number on the link.

use std::collections::HashMap;
use std::time::Instant;

use portion_core::cursor::Scope;
use portion_core::span::Span;
use tokio::sync::mpsc;

use crate::frame::Frame;
use crate::mcp::{Heard, Note, Role, revised};

/// What a post hears: messages, or at last why there are no more.
pub(super) type Hears = mpsc::Sender<Result<Frame, String>>;

/// The posts that wait, and their requests by the ids that they have on the link.
#[derive(Debug)]
pub(super) struct Table {
    posts: HashMap<u64, Post>,
    asked: HashMap<u64, Asked>,
    count: u64,
    /// Why nobody may ask any more.
    over: Option<String>,
    /// When a client last did anything.
    touched: Instant,
}

#[derive(Debug)]
struct Post {
    hears: Hears,
    scope: Scope,
    wants_logs: bool,
}

/// A request as its client wrote it.
#[derive(Debug)]
struct Asked {
    post: u64,
    id: String,
    token: Option<String>,
    listens: bool,
    /// Of a method that may be cancelled.
    may_cancel: bool,
}

/// A message for some posts, as each of their clients would write it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Delivery {
    pub posts: Vec<u64>,
    pub text: String,
    /// Nothing follows, for this reason.
    pub last: Option<&'static str>,
}

impl Table {
    pub(super) fn new(now: Instant) -> Self {
        Self { posts: HashMap::new(), asked: HashMap::new(), count: 0, over: None, touched: now }
    }

    /// Lets a post wait here. `None`: the link is no more.
    pub(super) fn post(&mut self, hears: Hears, scope: Scope, request: &Note<'_>) -> Option<u64> {
        if self.over.is_some() {
            return None;
        }
        self.count += 1;
        self.posts.insert(self.count, Post { hears, scope, wants_logs: request.wants_logs() });
        Some(self.count)
    }

    /// A post's message as it goes over the link.
    pub(super) fn outward(&mut self, post: u64, message: Vec<u8>) -> Vec<u8> {
        let Ok(text) = std::str::from_utf8(&message) else { return message };
        let Ok(heard) = Heard::read(text) else { return message };
        let mut places = Vec::new();
        for request in heard.requests() {
            self.count += 1;
            let ours = self.count;
            let token = request.progress_token();
            places.extend(request.id_place().into_iter().chain(token).map(|place| (place, ours.to_string())));
            let method = request.method();
            let asked = Asked {
                post,
                id: request.id().to_owned(),
                token: token.map(|token| request.at(token).to_owned()),
                listens: method == "subscriptions/listen",
                may_cancel: !matches!(&*method, "initialize" | "server/discover"),
            };
            self.asked.insert(ours, asked);
        }
        if places.is_empty() { message } else { revised(text, places).into_bytes() }
    }

    /// What becomes of a message of the server's.
    pub(super) fn inward(&mut self, text: &str, note: &Note<'_>) -> Option<Delivery> {
        let only = |post: u64, text: String| Some(Delivery { posts: vec![post], text, last: None });
        match note.role() {
            Role::Response => {
                let asked = self.asked.remove(&number(note.id())?)?;
                // Only the end of a subscription names it, and results can be large.
                let named = note.subscription().filter(|_| asked.listens);
                let places = note.id_place().into_iter().chain(named);
                only(asked.post, with(text, note, places, &asked.id))
            }
            Role::Request => None,
            Role::Notification => {
                if let Some(place) = note.subscription() {
                    let asked = self.asked.get(&number(note.at(place))?)?;
                    return only(asked.post, with(text, note, Some(place), &asked.id));
                }
                match &*note.method() {
                    "notifications/progress" => {
                        let place = note.progress_token()?;
                        let asked = self.asked.get(&number(note.at(place))?)?;
                        only(asked.post, with(text, note, Some(place), asked.token.as_ref()?))
                    }
                    "notifications/cancelled" => {
                        let place = note.cancelled()?;
                        let asked = self.asked.remove(&number(note.at(place))?)?;
                        let text = with(text, note, Some(place), &asked.id);
                        let last = Some("the server cancelled the request");
                        Some(Delivery { posts: vec![asked.post], text, last })
                    }
                    "notifications/message" => {
                        let text = with(text, note, None, "");
                        Some(Delivery { posts: self.of_one(|post| post.wants_logs), text, last: None })
                    }
                    _ => {
                        let text = with(text, note, None, "");
                        Some(Delivery { posts: self.of_one(|_| true), text, last: None })
                    }
                }
            }
        }
    }

    /// The post that waits for the answer to a request, and the id that its client gave it.
    pub(super) fn answered(&mut self, raw_id: &str) -> Option<(u64, String)> {
        let asked = self.asked.remove(&number(raw_id)?)?;
        Some((asked.post, asked.id))
    }

    /// Where a post hears.
    pub(super) fn hears(&self, post: u64) -> Option<Hears> {
        self.posts.get(&post).map(|post| post.hears.clone())
    }

    /// A post waits no longer. Returns the ids of what the server need not answer any more.
    pub(super) fn leave(&mut self, post: u64, now: Instant) -> Vec<u64> {
        self.posts.remove(&post);
        self.touched = now;
        let open = self.asked.iter().filter(|(_, asked)| asked.post == post && asked.may_cancel);
        let open = open.map(|(ours, _)| *ours).collect();
        self.asked.retain(|_, asked| asked.post != post);
        open
    }

    /// The link is no more: everybody hears why.
    pub(super) fn finish(&mut self, why: &str) {
        self.over = Some(why.to_owned());
        self.asked.clear();
        for (_, post) in self.posts.drain() {
            let _ = post.hears.try_send(Err(why.to_owned()));
        }
    }

    /// Since when nobody waits here nor has asked anything; `None` while somebody waits.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        self.posts.is_empty().then_some(self.touched)
    }

    /// Those of the posts, unless they are of several principals: what is meant for one is not for another, and it
    /// cannot be told for which it is.
    fn of_one(&self, which: impl Fn(&Post) -> bool) -> Vec<u64> {
        let mut posts = self.posts.iter().filter(|(_, post)| which(post)).peekable();
        let scope = posts.peek().map(|(_, post)| post.scope);
        let all: Vec<_> = posts.collect();
        let is_one = all.iter().all(|(_, post)| Some(post.scope) == scope);
        if is_one { all.into_iter().map(|(number, _)| *number).collect() } else { Vec::new() }
    }
}

/// The number that an id of ours is. Servers that read numbers as doubles may write `7.0`.
fn number(raw: &str) -> Option<u64> {
    raw.parse().ok().or_else(|| {
        let number = raw.parse::<f64>().ok().filter(|number| number.fract() == 0.0 && *number >= 0.0);
        number.map(|number| number as u64)
    })
}

/// A message of a text, with something else in some of its places.
fn with(text: &str, note: &Note<'_>, places: impl IntoIterator<Item = Span>, what: &str) -> String {
    let whole = note.whole();
    let before = Span { start: 0, end: whole.start };
    let after = Span { start: whole.end, end: Span::new(0, text.len()).end };
    let places = places.into_iter().map(|place| (place, what.to_owned()));
    // Of a batch, only this one.
    let edges = [(before, String::new()), (after, String::new())];
    revised(text, places.chain(edges).collect())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use portion_core::cursor::Scope;
    use proptest::prelude::*;
    use tokio::sync::mpsc;

    use super::{Delivery, Table};
    use crate::mcp::Heard;

    const VERSION: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

    fn table() -> Table {
        Table::new(Instant::now())
    }

    /// Posts a message of somebody's, and returns the post's number and what goes over the link.
    fn posted(table: &mut Table, who: &str, text: &str) -> (u64, String) {
        let heard = Heard::read(text).expect("a message");
        let (to, _) = mpsc::channel(1);
        let post = table.post(to, Scope::of(who), &heard.messages[0]).expect("it is open");
        (post, String::from_utf8(table.outward(post, text.into())).expect("text"))
    }

    fn inward(table: &mut Table, text: &str) -> Option<Delivery> {
        let heard = Heard::read(text).expect("a message");
        table.inward(text, &heard.messages[0])
    }

    fn check(table: &mut Table, text: &str, expect: Option<(&[u64], &str)>) {
        let got = inward(table, text).map(|delivery| (delivery.posts, delivery.text));
        assert_eq!(got, expect.map(|(posts, text)| (posts.to_vec(), text.to_owned())), "{text}");
    }

    #[test]
    fn each_hears_its_own_by_its_own_ids() {
        let mut table = table();
        let ask = format!(
            r#"{{"jsonrpc":"2.0","id":"x","method":"subscriptions/listen","params":{{"_meta":{{{VERSION},"progressToken" : 1.0}}}}}}"#
        );
        let (a, sent_a) = posted(&mut table, "a", &ask);
        let (b, sent_b) = posted(&mut table, "b", &ask);
        assert_eq!((a, b), (1, 3));
        assert_eq!(sent_a, ask.replace("\"x\"", "2").replace("1.0", "2"));
        assert_eq!(sent_b, ask.replace("\"x\"", "4").replace("1.0", "4"));
        let named = |id: &str| {
            format!(r#"{{"jsonrpc":"2.0","method":"n","params":{{"_meta":{{"{SUBSCRIPTION}":{id}}}}}}}"#)
        };
        check(&mut table, &named("4"), Some((&[b], &named("\"x\""))));
        check(&mut table, &named("4.0"), Some((&[b], &named("\"x\""))));
        check(&mut table, &named("5"), None);
        let progress = |token: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token}}}}}"#
            )
        };
        check(&mut table, &progress("2"), Some((&[a], &progress("1.0"))));
        let ended = |id: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"_meta":{{"{SUBSCRIPTION}":{id}}}}}}}"#)
        };
        check(&mut table, &ended("2"), Some((&[a], &ended("\"x\""))));
        check(&mut table, &ended("2"), None);
        let cancelled = |id: &str| {
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
        };
        let delivery = inward(&mut table, &cancelled("4")).expect("it waits");
        assert_eq!((delivery.text, delivery.last.is_some()), (cancelled("\"x\""), true));
    }

    #[test]
    fn logs_go_to_those_who_want_them_unless_they_may_be_anothers() {
        let mut table = table();
        let quiet = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"_meta":{{{VERSION}}}}}}}"#);
        let loud = quiet.replace(VERSION, &format!(r#"{VERSION},"io.modelcontextprotocol/logLevel":"info""#));
        let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
        check(&mut table, log, Some((&[], log)));
        posted(&mut table, "b", &quiet);
        let (a, _) = posted(&mut table, "a", &loud);
        check(&mut table, log, Some((&[a], log)));
        posted(&mut table, "b", &loud);
        check(&mut table, log, Some((&[], log)));
    }

    #[test]
    fn who_leaves_cancels_what_waits_and_hears_nothing_more() {
        let mut table = table();
        let (call, sent) = posted(&mut table, "a", r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#);
        let (probe, _) = posted(&mut table, "a", r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#);
        assert_eq!(table.idle_since(), None);
        assert!(sent.contains(r#""id":2,"#));
        assert_eq!(table.leave(call, Instant::now()), [2]);
        assert!(table.leave(probe, Instant::now()).is_empty(), "this one may not be cancelled");
        check(&mut table, r#"{"jsonrpc":"2.0","id":2,"result":{}}"#, None);
        assert!(table.idle_since().is_some());
        table.finish("over");
        let (to, _) = mpsc::channel(1);
        let heard = Heard::read(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#).expect("a message");
        assert!(table.post(to, Scope::of("a"), &heard.messages[0]).is_none());
    }

    fn id() -> impl Strategy<Value = String> {
        prop_oneof![
            "-?[1-9][0-9]{0,24}",
            "\"[a-z\u{e9} 0-9]{0,9}\"",
            "[1-9]\\.[0-9]e[1-9]",
            Just("\"\\u00e9\"".to_owned())
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever the clients choose, nobody gets another's answer, and everybody its own bytes.
        #[test]
        fn ids_come_back_as_they_were(asked in prop::collection::vec((id(), id()), 1..20), turn in any::<prop::sample::Index>()) {
            let mut table = table();
            let mut sent = Vec::new();
            for (id, token) in &asked {
                let params = format!(r#"{{ "a":1e400,"_meta":{{"progressToken":{token}}}}}"#);
                let text = format!(r#" {{"jsonrpc":"2.0", "id":{id},"method":"x","params":{params}}}"#);
                let (post, onward) = posted(&mut table, "a", &text);
                let heard = Heard::read(&onward).expect("a message");
                let ours = heard.messages[0].id().to_owned();
                prop_assert_eq!(&onward, &text.replace(&format!("\"id\":{id}"), &format!("\"id\":{ours}")).replace(&format!("Token\":{token}"), &format!("Token\":{ours}")));
                sent.push((post, ours, id, token));
            }
            sent.rotate_left(turn.index(asked.len()));
            for (post, ours, id, token) in sent {
                let progress = |token: &str| format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken": {token} }} }}"#);
                check(&mut table, &progress(&ours), Some((&[post], &progress(token))));
                let answer = |id: &str| format!(r#"{{"jsonrpc":"2.0","result":{{"id":{ours},"n":1.50}} , "id" : {id}}}"#);
                check(&mut table, &answer(&ours), Some((&[post], &answer(id))));
            }
        }
    }
}
