use std::time::{Duration, Instant};

use super::{LISTENING_STREAM, NextEvent, StreamRouter, Subscription};
use crate::mcp::ParsedBatch;

/// A desk, and those who sit at it by the names of a test.
struct Scene {
    desk: StreamRouter,
    now: Instant,
    seats: Vec<(&'static str, Subscription)>,
}

impl Scene {
    fn new() -> Self {
        let now = Instant::now();
        Self { desk: StreamRouter::new(now), now, seats: Vec::new() }
    }

    fn posts(&mut self, who: &'static str, text: &str, is_open: bool) {
        let seat =
            self.desk.open_post_stream(&ParsedBatch::parse(text).expect("a message"), is_open, self.now);
        self.seats.push((who, seat));
    }

    fn listens(&mut self, who: &'static str, after: Option<(u64, u64)>) -> bool {
        let seat = self.desk.subscribe(after, self.now);
        self.seats.extend(seat.map(|seat| (who, seat)));
        seat.is_some()
    }

    fn seat(&self, who: &str) -> Subscription {
        self.seats.iter().rev().find(|(name, _)| *name == who).expect("it sits").1
    }

    fn leaves(&mut self, who: &str, can_return: bool) {
        self.desk.unsubscribe(self.seat(who), can_return, self.now);
    }

    fn server(&mut self, text: &str) {
        self.desk.route_server_message(text.as_bytes().to_vec());
    }

    /// All that somebody hears now, `.` at the end where nothing follows.
    fn hears(&mut self, who: &str) -> String {
        let seat = self.seat(who);
        let mut heard = Vec::new();
        loop {
            let is_ready = self.desk.is_ready(seat);
            match self.desk.next_event(seat, self.now) {
                NextEvent::Event(event) => heard.push(String::from_utf8_lossy(&event.data).into_owned()),
                NextEvent::Pending => {
                    assert!(!is_ready);
                    return heard.join(" ");
                }
                NextEvent::End => {
                    heard.push(".".to_owned());
                    return heard.join(" ");
                }
            }
        }
    }

    /// The id of the last event that somebody heard on its stream.
    fn last_heard(&mut self, who: &str) -> (u64, u64) {
        let seat = self.seat(who);
        let NextEvent::Event(event) = self.desk.next_event(seat, self.now) else { panic!("there is one") };
        (seat.stream_id, event.number)
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
fn answers_and_progress_find_their_posts() {
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
fn what_belongs_to_no_post_goes_to_the_only_one_that_waits_or_to_who_listens() {
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
fn a_request_that_was_refused_here_does_not_take_the_answer_of_the_one_with_its_id() {
    let mut scene = Scene::new();
    scene.posts("first", &request("1"), true);
    scene.posts("second", &request("1"), true);
    let refused = r#"{"jsonrpc":"2.0","id":1,"error":{}}"#;
    scene.desk.push_local_response(scene.seat("second").stream_id, refused.into());
    scene.server(&answer("1"));
    assert_eq!(scene.hears("second"), format!("{refused} ."));
    assert_eq!(scene.hears("first"), format!("{} .", answer("1")));
}

#[test]
fn a_request_that_was_cancelled_ends_its_post() {
    let mut scene = Scene::new();
    scene.posts("a", &request("1"), true);
    scene.desk.cancel_request("1");
    let heard = scene.hears("a");
    assert!(heard.contains(r#""id":1,"error":{"code":-32800"#) && heard.ends_with(" ."), "{heard}");
    scene.server(&answer("1"));
}

#[test]
fn a_client_that_comes_back_hears_what_it_missed() {
    let mut scene = Scene::new();
    scene.posts("a", &request("1"), true);
    scene.server(&progress("1"));
    let seen = scene.last_heard("a");
    scene.server(LOG);
    scene.hears("a");
    scene.leaves("a", true);
    scene.server(&answer("1"));
    assert!(scene.listens("a", Some(seen)));
    assert_eq!(scene.hears("a"), format!("{LOG} {} .", answer("1")));
    scene.leaves("a", true);
    assert!(scene.listens("a", Some(seen)), "it got lost once more");
    assert_eq!(scene.hears("a"), format!("{LOG} {} .", answer("1")));
    scene.leaves("a", true);
    scene.now += Duration::from_mins(3);
    scene.desk.expire(scene.now);
    assert!(!scene.listens("a", Some(seen)), "it came too late");
    assert!(!scene.listens("a", Some((7, 7))));
}

#[test]
fn who_cannot_come_back_leaves_nothing_behind() {
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
fn what_nobody_hears_is_bounded_and_the_latest_is_kept() {
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
fn a_session_that_is_over_ends_its_streams_and_one_that_is_read_is_not_idle() {
    let mut scene = Scene::new();
    assert_eq!(scene.desk.idle_since(), Some(scene.now));
    scene.posts("a", &request("1"), true);
    assert_eq!(scene.desk.idle_since(), None);
    scene.listens("b", None);
    assert_eq!(scene.seat("b").stream_id, LISTENING_STREAM);
    scene.server(&answer("1"));
    scene.desk.finish();
    assert_eq!((scene.hears("a"), scene.hears("b")), (format!("{} .", answer("1")), ".".to_owned()));
    scene.leaves("a", true);
    scene.leaves("b", true);
    assert_eq!(scene.desk.idle_since(), Some(scene.now));
}
