//! A post and its answer.

use std::collections::VecDeque;
use std::fmt::Display;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Response, StatusCode};
use tokio::time::timeout;

use super::outward::{self, Carried, Failure, is_json, is_stream};
use super::sessions::{Session, Taken, session_id};
use super::{Inner, stream, with_body};
use crate::frame::Frame;
use crate::front::http::Asked;
use crate::front::http::batch::joined;
use crate::front::http::refusal::{self, Refusal};
use crate::http::body::{self, Body, Unread};
use crate::http::event::{Events, Piece};
use crate::mcp::code::{INTERNAL, INVALID_REQUEST};
use crate::mcp::{Heard, McpLane, Role};
use crate::relay::{Lane as _, Outgoing};
use crate::upstream::link::with_id;

/// How long a server may take to answer a question of our own, on which a call waits.
const QUESTION: Duration = Duration::from_secs(30);

/// A post under way.
pub(super) struct Post {
    pub(super) inner: Arc<Inner>,
    pub(super) session: Arc<Session>,
    pub(super) lane: Arc<McpLane>,
    pub(super) carried: Carried,
    /// Its first request, for which an answer that cannot be read is taken.
    pub(super) first_id: Option<Box<str>>,
    /// Whether that is the only one: then an answer without an id is its.
    is_single: bool,
    /// An array was posted, and so is answered.
    batch: bool,
    pub(super) taken: Taken,
}

/// What a post is about, as far as it decides what becomes of it.
struct Gist {
    ids: Vec<Box<str>>,
    batch: bool,
    begins: bool,
    is_ready: bool,
    /// Its answer may have to be changed.
    is_read: bool,
}

/// Passes a post on and its answer back.
pub(super) async fn post(inner: Arc<Inner>, asked: Asked) -> Response<Body> {
    let Asked { headers, query, body, principal, .. } = asked;
    let Some(gist) = Gist::of(&body) else {
        // The door lets nothing else in.
        return Refusal::new(StatusCode::BAD_REQUEST, INVALID_REQUEST, "the body is no message").into();
    };
    let session = if gist.begins {
        Arc::new(Session::fresh(&principal, &inner.lanes))
    } else {
        inner.sessions.session(&principal, &inner.lanes)
    };
    let taken = match session.take(gist.ids.iter().map(|id| &**id)) {
        Ok(taken) => taken,
        Err(id) => {
            let message = format!("a request with id {id} is already waiting for its answer");
            return Refusal::new(StatusCode::OK, INVALID_REQUEST, message).of(&id).into();
        }
    };
    let lane = Arc::new(session.post_lane());
    let (first_id, is_single, batch) = (gist.ids.first().cloned(), gist.ids.len() == 1, gist.batch);
    let carried = Carried { headers, query };
    let mut post = Post { inner, session, lane, carried, first_id, is_single, batch, taken };
    let (onward, mut answers) = post.outward(body).await;
    let Some(onward) = onward else { return answered(&answers, batch) };
    if !gist.ids.is_empty() {
        post.session.opening.passed().await;
    }
    let sent = post.inner.outward.send(&Method::POST, &post.carried, onward);
    let answer = match post.in_time(sent, &mut answers).await {
        Some(Ok(answer)) => answer,
        Some(Err(error)) if error.was_reached() => return post.failed(&error, answers),
        Some(Err(error)) => return post.unreached(&error, answers),
        None => return answered(&answers, batch),
    };
    if answer.status().is_success() {
        if gist.begins {
            post.inner.sessions.begin(&principal, session_id(answer.headers()), &post.lane);
        }
        if gist.is_ready {
            post.session.opening.ready();
        }
    } else if principal.session().is_some() && answer.status() == StatusCode::NOT_FOUND {
        post.inner.sessions.end(&principal);
    }
    if is_stream(&answer) {
        stream::posted(post, answer, &answers)
    } else if is_json(&answer) && (gist.is_read || !answers.is_empty()) {
        post.whole(answer, answers).await
    } else {
        // Whatever it is, it is none of what the client waits for.
        post.lane.server_failed(answer.body().size_hint().lower() as usize);
        outward::passed(answer)
    }
}

impl Gist {
    fn of(body: &[u8]) -> Option<Self> {
        let heard = Heard::read(std::str::from_utf8(body).ok()?).ok()?;
        let says = |method: &str| heard.messages.iter().any(|note| note.method() == method);
        Some(Self {
            ids: heard.requests().map(|note| note.id().into()).collect(),
            batch: heard.batch,
            begins: says("initialize"),
            is_ready: says("notifications/initialized"),
            // A server may stream a subscription as JSON.
            is_read: heard.requests().any(|request| request.method() != "subscriptions/listen"),
        })
    }
}

impl Post {
    /// A post whose stream ended before the answer, which now comes another way.
    pub(super) fn resumed(
        inner: &Arc<Inner>,
        session: &Arc<Session>,
        carried: &Carried,
        lane: Arc<McpLane>,
    ) -> Self {
        let (inner, carried) = (Arc::clone(inner), carried.clone());
        let taken = Taken::none(session);
        let (session, first_id, is_single, batch) = (Arc::clone(session), None, false, false);
        Self { inner, session, lane, carried, first_id, is_single, batch, taken }
    }

    /// What of it goes to the server, and what has been answered here. What must be known first is asked for.
    async fn outward(&mut self, body: Vec<u8>) -> (Option<Vec<u8>>, Vec<Vec<u8>>) {
        let (mut onward, mut answers) = (None, Vec::new());
        let mut queue = VecDeque::from(self.lane.from_client(Frame::Message(body)).await);
        while let Some(next) = queue.pop_front() {
            match next {
                Outgoing::ToServer(message) => onward = Some(message),
                Outgoing::ToClient(message) => answers.push(message),
                Outgoing::Question(question) => {
                    for answer in ask(&self.inner, &self.carried, question).await {
                        queue.extend(self.lane.from_server(answer).await);
                    }
                }
            }
        }
        (onward, answers)
    }

    /// An answer that is read as a whole.
    async fn whole(self, answer: Response<Incoming>, mut answers: Vec<Vec<u8>>) -> Response<Body> {
        let (mut head, body) = match outward::readable(answer) {
            Ok(parts) => parts,
            Err(unknown) => return self.failed(&unknown, answers),
        };
        let limit = self.inner.lanes.message_limit;
        let mut size = 0;
        let Some(came) = self.in_time(body::whole(body, limit), &mut answers).await else {
            return answered(&answers, self.batch);
        };
        let frame = match came {
            Ok(bytes) if !head.status.is_success() && Gist::of(&bytes).is_none() => {
                self.lane.server_failed(bytes.len());
                return with_body(head, bytes);
            }
            Ok(bytes) => {
                size = bytes.len();
                Frame::Message(bytes)
            }
            Err(Unread::TooLarge(bytes)) => self.too_large(bytes as u64),
            Err(broken @ Unread::Broken(_)) => return self.failed(&broken, answers),
        };
        let frame = if head.status.is_success() { self.claimed(frame) } else { frame };
        answers.extend(self.hears(frame).await);
        if self.lane.pending() > 0 && head.status.is_success() {
            return self.failed(&"the server answered with something else than the answer", answers);
        }
        self.lane.server_failed(size);
        if answers.is_empty() {
            head.status = StatusCode::ACCEPTED;
        }
        with_body(head, together(&answers, self.batch))
    }

    /// A frame with the id of the only request that was posted, where it is an error without an id.
    pub(super) fn claimed(&self, frame: Frame) -> Frame {
        let (Frame::Message(bytes), Some(id), true) = (&frame, &self.first_id, self.is_single) else {
            return frame;
        };
        if !self.lane.awaits(id) {
            return frame;
        }
        let Ok(text) = std::str::from_utf8(bytes) else { return frame };
        let Ok(heard) = Heard::read(text) else { return frame };
        match &*heard.messages {
            [error] if !heard.batch && error.is_error_without_id() => {
                Frame::Message(with_id(text, error, id))
            }
            _ => frame,
        }
    }

    /// Waits for something of the server. `None`: nothing waits any more, for the server has been silent for too long; then
    /// the `answers` say so.
    async fn in_time<T>(&self, came: impl Future<Output = T>, answers: &mut Vec<Vec<u8>>) -> Option<T> {
        let mut came = pin!(came);
        loop {
            tokio::select! {
                came = &mut came => return Some(came),
                expired = self.expired() => answers.extend(expired),
            }
            if self.lane.pending() == 0 {
                return None;
            }
        }
    }

    /// Waits until the server has been silent about a request for too long. Returns what the client hears.
    pub(super) async fn expired(&self) -> Vec<Vec<u8>> {
        let mut said = self.lane.expired().await;
        if self.carried.headers.contains_key("mcp-method") {
            // From 2026-07-28 on, the end of the connection is the cancellation.
            said.retain(|said| matches!(said, Outgoing::ToClient(_)));
        }
        self.sends(said)
    }

    /// What the client hears of what the server said.
    pub(super) async fn hears(&self, frame: Frame) -> Vec<Vec<u8>> {
        self.sends(self.lane.from_server(frame).await)
    }

    /// Sends the server what is for it. Returns what is for the client.
    fn sends(&self, said: Vec<Outgoing>) -> Vec<Vec<u8>> {
        let mut heard = Vec::new();
        for said in said {
            match said {
                Outgoing::ToClient(message) => heard.push(message),
                Outgoing::Question(question) => {
                    let (inner, lane) = (Arc::clone(&self.inner), Arc::clone(&self.lane));
                    tokio::spawn(pursue(inner, self.carried.clone(), lane, question));
                }
                Outgoing::ToServer(message) => {
                    tokio::spawn(tell(Arc::clone(&self.inner), self.carried.clone(), message));
                }
            }
        }
        heard
    }

    /// What an answer of so many bytes is to the lane.
    pub(super) fn too_large(&self, bytes: u64) -> Frame {
        Frame::TooLarge { id: self.first_id.clone(), has_method: false, bytes }
    }

    /// The errors for all that waits.
    pub(super) fn lost(&self, why: &dyn Display) -> Vec<Vec<u8>> {
        to_client(self.lane.server_gone(why))
    }

    /// The JSON-RPC errors for all that waits, where the server has ended its stream as if all was said.
    pub(super) fn unanswered(&self, why: &dyn Display) -> Vec<Vec<u8>> {
        to_client(self.lane.server_fell_silent(why))
    }

    fn failed(&self, why: &dyn Display, answers: Vec<Vec<u8>>) -> Response<Body> {
        fails(why, answers, self.lost(why), self.batch)
    }

    fn unreached(&self, why: &dyn Display, answers: Vec<Vec<u8>>) -> Response<Body> {
        fails(why, answers, to_client(self.lane.server_unreached(why)), self.batch)
    }
}

/// Tells the server something that has no answer.
pub(super) async fn tell(inner: Arc<Inner>, mut carried: Carried, message: Vec<u8>) {
    let headers = &mut carried.headers;
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Err(error) = inner.outward.send(&Method::POST, &carried, message).await {
        tracing::warn!(%error, "the server was not told that its request was refused");
    }
}

/// Of what a lane says, what is for the client.
pub(super) fn to_client(said: Vec<Outgoing>) -> Vec<Vec<u8>> {
    let told = said.into_iter().filter_map(|said| match said {
        Outgoing::ToClient(message) => Some(message),
        Outgoing::ToServer(_) | Outgoing::Question(_) => None,
    });
    told.collect()
}

fn fails(why: &dyn Display, mut answers: Vec<Vec<u8>>, told: Vec<Vec<u8>>, batch: bool) -> Response<Body> {
    tracing::warn!(%why, "an exchange with the server failed");
    answers.extend(told);
    if answers.is_empty() {
        return Refusal::new(StatusCode::BAD_GATEWAY, INTERNAL, why.to_string()).into();
    }
    // A client that waits for an answer reads this one; of other statuses some read nothing but the number.
    refusal::json(StatusCode::OK, together(&answers, batch))
}

/// The answer where nothing went to the server.
fn answered(answers: &[Vec<u8>], batch: bool) -> Response<Body> {
    if answers.is_empty() {
        let mut accepted = Response::new(body::empty());
        *accepted.status_mut() = StatusCode::ACCEPTED;
        return accepted;
    }
    refusal::json(StatusCode::OK, together(answers, batch))
}

/// Several answers are an array where a batch was posted. One request has one answer, the last: since 2025-06-18 no client
/// knows what to make of an array.
fn together(answers: &[Vec<u8>], batch: bool) -> Vec<u8> {
    if batch {
        return joined(answers.iter().map(Vec::as_slice), false);
    }
    answers.last().cloned().unwrap_or_default()
}

/// Asks a question of the lane's own until it has no further one, while nobody waits for it.
async fn pursue(inner: Arc<Inner>, carried: Carried, lane: Arc<McpLane>, question: Vec<u8>) {
    let mut questions = VecDeque::from([question]);
    while let Some(question) = questions.pop_front() {
        for answer in ask(&inner, &carried, question).await {
            for said in lane.from_server(answer).await {
                if let Outgoing::Question(next) = said {
                    questions.push_back(next);
                }
            }
        }
    }
}

/// The messages with which the server answers a question of our own, the last of them the answer.
async fn ask(inner: &Inner, carried: &Carried, question: Vec<u8>) -> Vec<Frame> {
    let asked = Gist::of(&question).and_then(|gist| gist.ids.into_iter().next()).unwrap_or_default();
    let why = match timeout(QUESTION, answers_to(inner, carried, question)).await {
        Ok(Ok(answers)) if answers.last().is_some_and(|answer| answered_by(answer) == Some(&*asked)) => {
            return answers.into_iter().map(|answer| Frame::Message(answer.into_bytes())).collect();
        }
        Ok(Ok(_)) => "the server answered with something else than the answer".to_owned(),
        Ok(Err(why)) => why,
        Err(_) => format!("no answer within {} s", QUESTION.as_secs()),
    };
    tracing::warn!(why, "a question of our own was not answered");
    vec![Frame::Message(refusal::error(&asked, INTERNAL, &why).into_bytes())]
}

/// The id that a response answers.
pub(super) fn answered_by(message: &str) -> Option<&str> {
    let heard = Heard::read(message).ok()?;
    let first = heard.messages.first().filter(|note| note.role() == Role::Response)?;
    Some(first.id())
}

async fn answers_to(inner: &Inner, carried: &Carried, question: Vec<u8>) -> Result<Vec<String>, String> {
    let Carried { mut headers, query } = carried.clone();
    let named: Vec<_> =
        headers.keys().filter(|name| name.as_str().starts_with("mcp-param-")).cloned().collect();
    for name in named {
        headers.remove(name);
    }
    headers.remove("mcp-name");
    if headers.contains_key("mcp-method") {
        headers.insert("mcp-method", HeaderValue::from_static("tools/list"));
    }
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let sent = inner.outward.send(&Method::POST, &Carried { headers, query }, question).await;
    let answer = sent.map_err(|error: Failure| error.to_string())?;
    let (is_stream, limit) = (is_stream(&answer), inner.lanes.message_limit);
    let (head, mut body) = outward::readable(answer).map_err(|error| error.to_string())?;
    if !is_stream {
        let bytes = body::whole(body, limit).await.map_err(|error| error.to_string())?;
        return match String::from_utf8(bytes) {
            Ok(answer) if head.status.is_success() => Ok(vec![answer]),
            _ => Err(format!("the server answered with status {}", head.status)),
        };
    }
    let (mut events, mut answers) = (Events::new(limit), Vec::new());
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| error.to_string())?;
        for piece in events.push(frame.data_ref().map(|bytes| &bytes[..]).unwrap_or_default()) {
            let Piece::Event(event) = piece else { continue };
            answers.push(String::from_utf8_lossy(event.data()).into_owned());
            if answers.last().is_some_and(|message| answered_by(message).is_some()) {
                return Ok(answers);
            }
        }
    }
    Err("the server ended its stream before it answered".to_owned())
}
