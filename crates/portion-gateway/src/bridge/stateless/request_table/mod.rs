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
use crate::mcp::{MessageKind, MessageView, ParsedBatch, replace_spans};

/// What a post hears: messages, or at last why there are no more.
pub(super) type PostSender = mpsc::Sender<Result<Frame, String>>;

/// The posts that wait, and their requests by the ids that they have on the link.
#[derive(Debug)]
pub(super) struct RequestTable {
    posts: HashMap<u64, WaitingPost>,
    requests: HashMap<u64, ForwardedRequest>,
    last_id: u64,
    /// Why nobody may ask any more.
    closed_reason: Option<String>,
    /// When a client last did anything.
    last_activity_at: Instant,
}

#[derive(Debug)]
struct WaitingPost {
    sender: PostSender,
    scope: Scope,
    wants_logs: bool,
}

/// A request as its client wrote it.
#[derive(Debug)]
struct ForwardedRequest {
    post_id: u64,
    client_request_id: String,
    client_progress_token: Option<String>,
    is_subscription: bool,
    /// Of a method that may be cancelled.
    is_cancellable: bool,
}

/// A message for some posts, as each of their clients would write it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Delivery {
    pub post_ids: Vec<u64>,
    pub text: String,
    /// Nothing follows, for this reason.
    pub end_reason: Option<&'static str>,
}

impl RequestTable {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            posts: HashMap::new(),
            requests: HashMap::new(),
            last_id: 0,
            closed_reason: None,
            last_activity_at: now,
        }
    }

    /// Lets a post wait here. `None`: the link is no more.
    pub(super) fn register_post(
        &mut self,
        hears: PostSender,
        scope: Scope,
        request: &MessageView<'_>,
    ) -> Option<u64> {
        if self.closed_reason.is_some() {
            return None;
        }
        self.last_id += 1;
        self.posts
            .insert(self.last_id, WaitingPost { sender: hears, scope, wants_logs: request.wants_logs() });
        Some(self.last_id)
    }

    /// A post's message as it goes over the link.
    pub(super) fn rewrite_outbound(&mut self, post: u64, message: Vec<u8>) -> Vec<u8> {
        let Ok(text) = std::str::from_utf8(&message) else { return message };
        let Ok(heard) = ParsedBatch::parse(text) else { return message };
        let mut places = Vec::new();
        for request in heard.requests() {
            self.last_id += 1;
            let ours = self.last_id;
            let token = request.progress_token();
            places.extend(request.id_span().into_iter().chain(token).map(|place| (place, ours.to_string())));
            let method = request.method();
            let asked = ForwardedRequest {
                post_id: post,
                client_request_id: request.id().to_owned(),
                client_progress_token: token.map(|token| request.slice(token).to_owned()),
                is_subscription: method == "subscriptions/listen",
                is_cancellable: !matches!(&*method, "initialize" | "server/discover"),
            };
            self.requests.insert(ours, asked);
        }
        if places.is_empty() { message } else { replace_spans(text, places).into_bytes() }
    }

    /// What becomes of a message of the server's.
    pub(super) fn rewrite_inbound(&mut self, text: &str, note: &MessageView<'_>) -> Option<Delivery> {
        let only = |post: u64, text: String| Some(Delivery { post_ids: vec![post], text, end_reason: None });
        match note.kind() {
            MessageKind::Response => {
                let asked = self.requests.remove(&parse_link_id(note.id())?)?;
                // Only the end of a subscription names it, and results can be large.
                let named = note.subscription_id().filter(|_| asked.is_subscription);
                let places = note.id_span().into_iter().chain(named);
                only(asked.post_id, replace_request_ids(text, note, places, &asked.client_request_id))
            }
            MessageKind::Request => None,
            MessageKind::Notification => {
                if let Some(place) = note.subscription_id() {
                    let asked = self.requests.get(&parse_link_id(note.slice(place))?)?;
                    return only(
                        asked.post_id,
                        replace_request_ids(text, note, Some(place), &asked.client_request_id),
                    );
                }
                match &*note.method() {
                    "notifications/progress" => {
                        let place = note.progress_token()?;
                        let asked = self.requests.get(&parse_link_id(note.slice(place))?)?;
                        only(
                            asked.post_id,
                            replace_request_ids(
                                text,
                                note,
                                Some(place),
                                asked.client_progress_token.as_ref()?,
                            ),
                        )
                    }
                    "notifications/cancelled" => {
                        let place = note.cancelled_id()?;
                        let asked = self.requests.remove(&parse_link_id(note.slice(place))?)?;
                        let text = replace_request_ids(text, note, Some(place), &asked.client_request_id);
                        let last = Some("the server cancelled the request");
                        Some(Delivery { post_ids: vec![asked.post_id], text, end_reason: last })
                    }
                    "notifications/message" => {
                        let text = replace_request_ids(text, note, None, "");
                        Some(Delivery {
                            post_ids: self.posts_of_single_principal(|post| post.wants_logs),
                            text,
                            end_reason: None,
                        })
                    }
                    _ => {
                        let text = replace_request_ids(text, note, None, "");
                        Some(Delivery {
                            post_ids: self.posts_of_single_principal(|_| true),
                            text,
                            end_reason: None,
                        })
                    }
                }
            }
        }
    }

    /// The post that waits for the answer to a request, and the id that its client gave it.
    pub(super) fn take_request(&mut self, raw_id: &str) -> Option<(u64, String)> {
        let asked = self.requests.remove(&parse_link_id(raw_id)?)?;
        Some((asked.post_id, asked.client_request_id))
    }

    /// Where a post hears.
    pub(super) fn sender(&self, post: u64) -> Option<PostSender> {
        self.posts.get(&post).map(|post| post.sender.clone())
    }

    /// A post waits no longer. Returns the ids of what the server need not answer any more.
    pub(super) fn remove_post(&mut self, post: u64, now: Instant) -> Vec<u64> {
        self.posts.remove(&post);
        self.last_activity_at = now;
        let open = self.requests.iter().filter(|(_, asked)| asked.post_id == post && asked.is_cancellable);
        let open = open.map(|(ours, _)| *ours).collect();
        self.requests.retain(|_, asked| asked.post_id != post);
        open
    }

    /// The link is no more: everybody hears why.
    pub(super) fn close(&mut self, why: &str) {
        self.closed_reason = Some(why.to_owned());
        self.requests.clear();
        for (_, post) in self.posts.drain() {
            let _ = post.sender.try_send(Err(why.to_owned()));
        }
    }

    /// Since when nobody waits here nor has asked anything; `None` while somebody waits.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        self.posts.is_empty().then_some(self.last_activity_at)
    }

    /// Those of the posts, unless they are of several principals: what is meant for one is not for another, and it
    /// cannot be told for which it is.
    fn posts_of_single_principal(&self, which: impl Fn(&WaitingPost) -> bool) -> Vec<u64> {
        let mut posts = self.posts.iter().filter(|(_, post)| which(post)).peekable();
        let scope = posts.peek().map(|(_, post)| post.scope);
        let all: Vec<_> = posts.collect();
        let is_one = all.iter().all(|(_, post)| Some(post.scope) == scope);
        if is_one { all.into_iter().map(|(number, _)| *number).collect() } else { Vec::new() }
    }
}

/// The number that an id of ours is. Servers that read numbers as doubles may write `7.0`.
fn parse_link_id(raw: &str) -> Option<u64> {
    raw.parse().ok().or_else(|| {
        let number = raw.parse::<f64>().ok().filter(|number| number.fract() == 0.0 && *number >= 0.0);
        number.map(|number| number as u64)
    })
}

/// A message of a text, with something else in some of its places.
fn replace_request_ids(
    text: &str,
    note: &MessageView<'_>,
    places: impl IntoIterator<Item = Span>,
    what: &str,
) -> String {
    let whole = note.span();
    let before = Span { start: 0, end: whole.start };
    let after = Span { start: whole.end, end: Span::new(0, text.len()).end };
    let places = places.into_iter().map(|place| (place, what.to_owned()));
    // Of a batch, only this one.
    let edges = [(before, String::new()), (after, String::new())];
    replace_spans(text, places.chain(edges).collect())
}

#[cfg(test)]
mod tests;
