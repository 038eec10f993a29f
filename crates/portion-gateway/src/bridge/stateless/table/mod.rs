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
mod tests;
