//! Maps request ids of clients that share a link, and routes server messages to their posts.
//!
//! Clients choose ids independently, so each request gets a unique id on the link, and messages of the server get the
//! client's own bytes back. Request id, progress token and subscription id are the same number on the link.

use std::collections::HashMap;
use std::time::Instant;

use portion_core::cursor::Scope;
use portion_json::span::Span;
use tokio::sync::mpsc;

use crate::frame::Frame;
use crate::mcp::{MessageKind, MessageView, ParsedBatch, replace_spans};

/// Sender to a post: frames, or at the end the reason that no more follow.
pub(super) type PostSender = mpsc::Sender<Result<Frame, String>>;

/// Pending posts, and their requests by link id.
#[derive(Debug)]
pub(super) struct RequestTable {
    posts: HashMap<u64, WaitingPost>,
    requests: HashMap<u64, ForwardedRequest>,
    last_id: u64,
    /// All principals that ever sent something on this link.
    principals: LinkPrincipals,
    /// Reason that the link is closed.
    closed_reason: Option<String>,
    /// Time of the last client activity.
    last_activity_at: Instant,
}

/// Principals of a link since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LinkPrincipals {
    #[default]
    None,
    One(Scope),
    Several,
}

#[derive(Debug)]
struct WaitingPost {
    sender: PostSender,
    scope: Scope,
    wants_logs: bool,
}

/// A request with the ids that its client chose.
#[derive(Debug)]
struct ForwardedRequest {
    post_id: u64,
    client_request_id: String,
    client_progress_token: Option<String>,
    is_subscription: bool,
    /// True if its method may be cancelled.
    is_cancellable: bool,
}

/// A message for some posts, with the ids of their clients.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Delivery {
    pub post_ids: Vec<u64>,
    pub text: String,
    /// Reason that no more messages follow, if so.
    pub end_reason: Option<&'static str>,
}

impl RequestTable {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            posts: HashMap::new(),
            requests: HashMap::new(),
            last_id: 0,
            principals: LinkPrincipals::None,
            closed_reason: None,
            last_activity_at: now,
        }
    }

    /// Adds a post. Returns `None` if the link is closed.
    pub(super) fn register_post(
        &mut self,
        sender: PostSender,
        scope: Scope,
        request: &MessageView<'_>,
    ) -> Option<u64> {
        if self.closed_reason.is_some() {
            return None;
        }
        self.add_principal(scope);
        self.last_id += 1;
        self.posts.insert(self.last_id, WaitingPost { sender, scope, wants_logs: request.wants_logs() });
        Some(self.last_id)
    }

    /// Records a principal that sends something on the link.
    pub(super) fn add_principal(&mut self, scope: Scope) {
        self.principals = match self.principals {
            LinkPrincipals::None => LinkPrincipals::One(scope),
            LinkPrincipals::One(known) if known == scope => self.principals,
            _ => LinkPrincipals::Several,
        };
    }

    /// Returns true if several principals have used the link. A notification that names no request may then concern a
    /// principal that has left, so nobody gets it.
    pub(super) fn has_several_principals(&self) -> bool {
        self.principals == LinkPrincipals::Several
    }

    /// Replaces the ids in a message of a post by link ids.
    pub(super) fn rewrite_outbound(&mut self, post: u64, message: Vec<u8>) -> Vec<u8> {
        let Ok(text) = std::str::from_utf8(&message) else { return message };
        let Ok(batch) = ParsedBatch::parse(text) else { return message };
        let mut replacements = Vec::new();
        for request in batch.requests() {
            self.last_id += 1;
            let link_id = self.last_id;
            let token = request.progress_token();
            replacements
                .extend(request.id_span().into_iter().chain(token).map(|span| (span, link_id.to_string())));
            let method = request.method();
            let forwarded = ForwardedRequest {
                post_id: post,
                client_request_id: request.id().to_owned(),
                client_progress_token: token.map(|token| request.slice(token).to_owned()),
                is_subscription: method == "subscriptions/listen",
                is_cancellable: !matches!(&*method, "initialize" | "server/discover"),
            };
            self.requests.insert(link_id, forwarded);
        }
        if replacements.is_empty() { message } else { replace_spans(text, replacements).into_bytes() }
    }

    /// Replaces link ids in a message of the server by those of the client, and returns the posts that it goes to.
    pub(super) fn rewrite_inbound(&mut self, text: &str, message: &MessageView<'_>) -> Option<Delivery> {
        let deliver_to =
            |post: u64, text: String| Some(Delivery { post_ids: vec![post], text, end_reason: None });
        match message.kind() {
            MessageKind::Response => {
                let request = self.requests.remove(&parse_link_id(message.id())?)?;
                // Only the response to a subscription contains its id; searching other results would be slow.
                let subscription_id = message.subscription_id().filter(|_| request.is_subscription);
                let spans = message.id_span().into_iter().chain(subscription_id);
                deliver_to(
                    request.post_id,
                    replace_request_ids(text, message, spans, &request.client_request_id),
                )
            }
            MessageKind::Request => None,
            MessageKind::Notification => {
                if let Some(span) = message.subscription_id() {
                    let request = self.requests.get(&parse_link_id(message.slice(span))?)?;
                    return deliver_to(
                        request.post_id,
                        replace_request_ids(text, message, Some(span), &request.client_request_id),
                    );
                }
                match &*message.method() {
                    "notifications/progress" => {
                        let span = message.progress_token()?;
                        let request = self.requests.get(&parse_link_id(message.slice(span))?)?;
                        deliver_to(
                            request.post_id,
                            replace_request_ids(
                                text,
                                message,
                                Some(span),
                                request.client_progress_token.as_ref()?,
                            ),
                        )
                    }
                    "notifications/cancelled" => {
                        let span = message.cancelled_id()?;
                        let request = self.requests.remove(&parse_link_id(message.slice(span))?)?;
                        let text = replace_request_ids(text, message, Some(span), &request.client_request_id);
                        let end_reason = Some("the server cancelled the request");
                        Some(Delivery { post_ids: vec![request.post_id], text, end_reason })
                    }
                    method => {
                        let text = replace_request_ids(text, message, None, "");
                        let post_ids = self.recipients_of_untargeted(method);
                        Some(Delivery { post_ids, text, end_reason: None })
                    }
                }
            }
        }
    }

    /// Removes a pending request. Returns its post and the id that its client chose.
    pub(super) fn take_request(&mut self, raw_id: &str) -> Option<(u64, String)> {
        let request = self.requests.remove(&parse_link_id(raw_id)?)?;
        Some((request.post_id, request.client_request_id))
    }

    /// Returns the link id of the only pending request. `None` if there are more, or if several principals have used the link:
    /// what the server says may then be about a request of a principal that has left.
    pub(super) fn only_link_id(&self) -> Option<String> {
        let mut pending = self.requests.iter().filter(|(_, request)| !request.is_subscription);
        let (id, _) = pending.next().filter(|_| pending.next().is_none())?;
        (!self.has_several_principals()).then(|| id.to_string())
    }

    /// Returns the sender to a post.
    pub(super) fn sender(&self, post: u64) -> Option<PostSender> {
        self.posts.get(&post).map(|post| post.sender.clone())
    }

    /// Removes a post. Returns the link ids of its requests to be cancelled.
    pub(super) fn remove_post(&mut self, post: u64, now: Instant) -> Vec<u64> {
        self.posts.remove(&post);
        self.last_activity_at = now;
        let cancelled =
            self.requests.iter().filter(|(_, request)| request.post_id == post && request.is_cancellable);
        let cancelled = cancelled.map(|(link_id, _)| *link_id).collect();
        self.requests.retain(|_, request| request.post_id != post);
        cancelled
    }

    /// Closes the table and sends the reason to all posts.
    pub(super) fn close(&mut self, why: &str) {
        self.closed_reason = Some(why.to_owned());
        self.requests.clear();
        for (_, post) in self.posts.drain() {
            let _ = post.sender.try_send(Err(why.to_owned()));
        }
    }

    /// Returns the time of the last client activity; `None` while a post is pending.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        self.posts.is_empty().then_some(self.last_activity_at)
    }

    /// Returns the posts that get a notification without a request id.
    fn recipients_of_untargeted(&self, method: &str) -> Vec<u64> {
        match method {
            // It is about the server, not about a request.
            "notifications/tools/list_changed" => self.posts_of_single_principal(|_| true),
            _ if self.has_several_principals() => Vec::new(),
            "notifications/message" => self.posts_of_single_principal(|post| post.wants_logs),
            _ => self.posts_of_single_principal(|_| true),
        }
    }

    /// Returns the matching posts if all belong to one principal, else none: the message may be private to one
    /// principal, and it does not say to which.
    fn posts_of_single_principal(&self, matches: impl Fn(&WaitingPost) -> bool) -> Vec<u64> {
        let mut posts = self.posts.iter().filter(|(_, post)| matches(post)).peekable();
        let scope = posts.peek().map(|(_, post)| post.scope);
        let all: Vec<_> = posts.collect();
        let is_single = all.iter().all(|(_, post)| Some(post.scope) == scope);
        if is_single { all.into_iter().map(|(id, _)| *id).collect() } else { Vec::new() }
    }
}

/// Parses a link id. Servers that read numbers as doubles may write `7.0`.
fn parse_link_id(raw: &str) -> Option<u64> {
    raw.parse().ok().or_else(|| {
        let number = raw.parse::<f64>().ok().filter(|number| number.fract() == 0.0 && *number >= 0.0);
        number.map(|number| number as u64)
    })
}

/// Returns one message of a text with some spans replaced.
fn replace_request_ids(
    text: &str,
    message: &MessageView<'_>,
    spans: impl IntoIterator<Item = Span>,
    replacement: &str,
) -> String {
    let whole = message.span();
    let before = Span { start: 0, end: whole.start };
    let after = Span { start: whole.end, end: Span::new(0, text.len()).end };
    let spans = spans.into_iter().map(|span| (span, replacement.to_owned()));
    // Removes the other messages of a batch.
    let edges = [(before, String::new()), (after, String::new())];
    replace_spans(text, spans.chain(edges).collect())
}

#[cfg(test)]
mod tests;
