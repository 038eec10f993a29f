use std::time::{Duration, Instant};

use super::{LISTENING_STREAM, NextEvent, StreamRouter, Subscription};
use crate::mcp::ParsedBatch;

/// A router and its subscriptions by name.
struct Scene {
    router: StreamRouter,
    now: Instant,
    subscriptions: Vec<(&'static str, Subscription)>,
}

impl Scene {
    fn new() -> Self {
        let now = Instant::now();
        Self { router: StreamRouter::new(now), now, subscriptions: Vec::new() }
    }

    fn posts(&mut self, who: &'static str, text: &str, is_open: bool) {
        let subscription =
            self.router.open_post_stream(&ParsedBatch::parse(text).expect("a message"), is_open, self.now);
        self.subscriptions.push((who, subscription));
    }

    fn listens(&mut self, who: &'static str, after: Option<(u64, u64)>) -> bool {
        let subscription = self.router.subscribe(after, self.now);
        self.subscriptions.extend(subscription.map(|subscription| (who, subscription)));
        subscription.is_some()
    }

    fn subscription(&self, who: &str) -> Subscription {
        self.subscriptions.iter().rev().find(|(name, _)| *name == who).expect("it sits").1
    }

    fn leaves(&mut self, who: &str, can_return: bool) {
        self.router.unsubscribe(self.subscription(who), can_return, self.now);
    }

    fn server(&mut self, text: &str) {
        self.router.route_server_message(text.as_bytes().to_vec());
    }

    /// Returns all events that a subscription has now, with `.` if the stream has ended.
    fn hears(&mut self, who: &str) -> String {
        let subscription = self.subscription(who);
        let mut events = Vec::new();
        loop {
            let is_ready = self.router.is_ready(subscription);
            match self.router.next_event(subscription, self.now) {
                NextEvent::Event(event) => events.push(String::from_utf8_lossy(&event.data).into_owned()),
                NextEvent::Pending => {
                    assert!(!is_ready);
                    return events.join(" ");
                }
                NextEvent::End => {
                    events.push(".".to_owned());
                    return events.join(" ");
                }
            }
        }
    }

    /// Takes the next event of a subscription and returns its id.
    fn last_heard(&mut self, who: &str) -> (u64, u64) {
        let subscription = self.subscription(who);
        let NextEvent::Event(event) = self.router.next_event(subscription, self.now) else {
            panic!("there is one")
        };
        (subscription.stream_id, event.number)
    }
}

fn request(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x","params":{{"_meta":{{"progressToken":{id}}}}}}}"#)
}

fn answer(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

fn progress(token: &str) -> String {
    let params = format!(r#"{{"progressToken":{token},"progress":1}}"#);
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#)
}

const LOG: &str = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
const ROOTS: &str = r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#;

#[test]
fn responses_and_progress_go_to_their_posts() {
    let mut scene = Scene::new();
    scene.posts("a", &request("1"), true);
    scene.posts("b", &request("\"1\""), true);
    scene.posts("c", &request("12345678901234567890"), true);
    scene.server(&progress("\"1\""));
    scene.server(&answer("12345678901234567000"));
    scene.server(&answer("1"));
    assert_eq!(scene.hears("a"), format!("{} .", answer("1")));
    assert_eq!(scene.hears("b"), progress("\"1\""));
    assert_eq!(scene.hears("c"), format!("{} .", answer("12345678901234567000")));
    scene.server(&answer("1"));
    assert_eq!(scene.hears("b"), "", "a second answer is nobody's");
}

#[test]
fn other_messages_go_to_the_only_pending_post_or_to_the_listener() {
    let mut scene = Scene::new();
    scene.server(ROOTS);
    scene.posts("only", &request("1"), true);
    scene.server(LOG);
    assert_eq!(scene.hears("only"), LOG);
    scene.posts("latest", &request("2"), true);
    scene.posts("closed", &request("3"), false);
    scene.server(LOG);
    assert_eq!((scene.hears("only"), scene.hears("latest")), (String::new(), LOG.to_owned()));
    assert!(scene.listens("listener", None));
    assert_eq!(scene.hears("listener"), ROOTS, "it was kept");
    scene.server(LOG);
    assert_eq!((scene.hears("latest"), scene.hears("listener")), (String::new(), LOG.to_owned()));
    scene.server(&answer("2"));
    scene.hears("latest");
    scene.server(LOG);
    assert_eq!(scene.hears("only"), LOG, "it is the only one again");
    assert_eq!(scene.hears("closed"), "");
    scene.server(&progress("3"));
    assert_eq!((scene.hears("closed"), scene.hears("only")), (String::new(), progress("3")));
}

#[test]
fn a_batch_is_answered_where_it_was_posted() {
    let mut scene = Scene::new();
    scene.posts("batch", &format!("[{},{},{LOG}]", request("1"), request("2")), true);
    scene.posts("other", &request("3"), true);
    let both = format!("[{},{}]", answer("2"), answer("1"));
    scene.server(&both);
    assert_eq!(scene.hears("batch"), format!("{both} ."));
    scene.posts("batch", &format!("[{},{}]", request("1"), request("2")), true);
    scene.server(&format!("[{}, {}]", answer("1"), answer("3")));
    assert_eq!(scene.hears("batch"), answer("1"));
    assert_eq!(scene.hears("other"), format!("{} .", answer("3")));
}

#[test]
fn a_rejected_request_does_not_take_the_response_to_another_with_its_id() {
    let mut scene = Scene::new();
    scene.posts("first", &request("1"), true);
    scene.posts("second", &request("1"), true);
    let refused = r#"{"jsonrpc":"2.0","id":1,"error":{}}"#;
    scene.router.push_local_response(scene.subscription("second").stream_id, refused.into());
    scene.server(&answer("1"));
    assert_eq!(scene.hears("second"), format!("{refused} ."));
    assert_eq!(scene.hears("first"), format!("{} .", answer("1")));
}

#[test]
fn a_cancelled_request_ends_its_post() {
    let mut scene = Scene::new();
    scene.posts("a", &request("1"), true);
    scene.router.cancel_request("1");
    let events = scene.hears("a");
    assert!(events.contains(r#""id":1,"error":{"code":-32800"#) && events.ends_with(" ."), "{events}");
    scene.server(&answer("1"));
}

#[test]
fn a_client_that_reconnects_gets_missed_messages() {
    let mut scene = Scene::new();
    scene.posts("a", &request("1"), true);
    scene.server(&progress("1"));
    let last_event = scene.last_heard("a");
    scene.server(LOG);
    scene.hears("a");
    scene.leaves("a", true);
    scene.server(&answer("1"));
    assert!(scene.listens("a", Some(last_event)));
    assert_eq!(scene.hears("a"), format!("{LOG} {} .", answer("1")));
    scene.leaves("a", true);
    assert!(scene.listens("a", Some(last_event)), "it got lost once more");
    assert_eq!(scene.hears("a"), format!("{LOG} {} .", answer("1")));
    scene.leaves("a", true);
    scene.now += Duration::from_mins(3);
    scene.router.expire(scene.now);
    assert!(!scene.listens("a", Some(last_event)), "it came too late");
    assert!(!scene.listens("a", Some((7, 7))));
}

#[test]
fn a_client_that_cannot_reconnect_leaves_no_stream() {
    let mut scene = Scene::new();
    scene.posts("a", &request("1"), true);
    scene.leaves("a", false);
    scene.server(&answer("1"));
    scene.posts("b", &request("1"), true);
    scene.server(&answer("1"));
    assert_eq!(scene.hears("b"), format!("{} .", answer("1")));
}

#[test]
fn the_newer_listener_replaces_the_older() {
    let mut scene = Scene::new();
    scene.listens("old", None);
    scene.listens("new", None);
    scene.server(LOG);
    assert_eq!((scene.hears("old"), scene.hears("new")), (".".to_owned(), LOG.to_owned()));
    scene.leaves("old", true);
    scene.server(LOG);
    assert_eq!(scene.hears("new"), LOG);
}

#[test]
fn undelivered_messages_are_bounded_and_the_latest_is_kept() {
    let mut scene = Scene::new();
    let large = LOG.replace("{}", &format!(r#"{{"data":"{}"}}"#, "x".repeat(100_000)));
    (0..10).for_each(|_| scene.server(&large));
    scene.server(ROOTS);
    let huge = large.replace('x', "yyyyy");
    scene.listens("late", None);
    assert_eq!(scene.hears("late"), format!("{large} {large} {ROOTS}"));
    scene.leaves("late", true);
    scene.server(&huge);
    scene.listens("late", None);
    assert_eq!(scene.hears("late"), huge);
}

#[test]
fn a_finished_session_ends_its_streams_and_a_read_one_is_not_idle() {
    let mut scene = Scene::new();
    assert_eq!(scene.router.idle_since(), Some(scene.now));
    scene.posts("a", &request("1"), true);
    assert_eq!(scene.router.idle_since(), None);
    scene.listens("b", None);
    assert_eq!(scene.subscription("b").stream_id, LISTENING_STREAM);
    scene.server(&answer("1"));
    scene.router.finish();
    assert_eq!((scene.hears("a"), scene.hears("b")), (format!("{} .", answer("1")), ".".to_owned()));
    scene.leaves("a", true);
    scene.leaves("b", true);
    assert_eq!(scene.router.idle_since(), Some(scene.now));
}
