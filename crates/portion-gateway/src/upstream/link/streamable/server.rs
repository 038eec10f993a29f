//! A streamable-HTTP server as all tasks of a link see it.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use hyper::StatusCode;
use tokio::sync::mpsc;

use super::super::Said;
use super::super::flights::Flights;
use super::letter::Letter;
use super::session::{SESSION, Session};
use crate::latch::Latch;
use crate::mcp::mirror::Mirror;
use crate::mcp::{Heard, Role};
use crate::upstream::http::{Answer, Resume, Stream, Trouble, Wire};

/// What the tasks of a link share.
pub(super) struct Server {
    pub(super) wire: Wire,
    pub(super) flights: Flights,
    /// What the server says goes here.
    pub(super) incoming: mpsc::Sender<Said>,
    /// Set when the link has ended: all tasks end with it.
    pub(super) over: Latch,
    /// Held while a new session is begun.
    pub(super) renewing: tokio::sync::Mutex<()>,
    session: Mutex<Session>,
    mirror: Mutex<Mirror>,
}

/// What came of posting a message.
pub(super) enum Posted {
    Answer(Answer),
    /// The server does not know the session of this number (any more): it has not looked at the message.
    NoSession(u64, Trouble),
}

impl Server {
    pub(super) fn new(wire: Wire, incoming: mpsc::Sender<Said>) -> Self {
        Self {
            wire,
            flights: Flights::default(),
            incoming,
            over: Latch::default(),
            renewing: tokio::sync::Mutex::default(),
            session: Mutex::default(),
            mirror: Mutex::default(),
        }
    }

    /// Runs a task until it has come to its end, or the link to its.
    pub(super) fn spawn(self: &Arc<Self>, task: impl Future<Output = ()> + Send + 'static) {
        let server = Arc::clone(self);
        tokio::spawn(async move {
            tokio::select! {
                () = server.over.wait() => {}
                () = task => {}
            }
        });
    }

    pub(super) fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn mirror(&self) -> MutexGuard<'_, Mirror> {
        self.mirror.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a message of the client.
    pub(super) fn letter(&self, message: &Bytes) -> Letter {
        Letter::read(message, &self.mirror(), &self.flights)
    }

    /// Posts a message.
    pub(super) async fn post(&self, letter: &Letter) -> Result<Posted, Trouble> {
        let (fields, number) = {
            let mut session = self.session();
            (session.fields_of(letter), session.number)
        };
        let in_session = fields.contains_key(SESSION);
        let answered = self.wire.post(None, fields, letter.bytes.clone()).await?;
        if answered.status.is_success() {
            if letter.begins_session {
                self.session().id = answered.headers.get(SESSION).cloned();
            }
            return Ok(Posted::Answer(answered.answer));
        }
        let is_meant = is_answer(&answered.answer, |id| letter.is_about(id));
        let session_ended = in_session
            && match answered.status {
                StatusCode::NOT_FOUND => !is_meant,
                StatusCode::BAD_REQUEST => says_no_session(&answered.answer),
                _ => false,
            };
        // These speak for themselves, unless the answer is certainly to this very request.
        let says_enough = matches!(answered.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        if !session_ended && (is_meant || (!says_enough && is_answer(&answered.answer, |_| true))) {
            return Ok(Posted::Answer(answered.answer));
        }
        let refusal = answered.refusal().into();
        if session_ended { Ok(Posted::NoSession(number, refusal)) } else { Err(refusal) }
    }

    /// Opens the server's own stream, or resumes one.
    pub(super) async fn get(&self, resume: Resume) -> Result<Stream, Trouble> {
        let fields = self.session().fields();
        self.wire.get(fields, resume).await
    }
}

/// Whether it says that the session is none, as servers do that began as the official SDKs' older examples, which answer
/// 400 where the specification has 404.
fn says_no_session(answer: &Answer) -> bool {
    const WORDS: [&str; 3] = ["no valid session", "invalid session", "session not found"];
    let said = match answer {
        Answer::Json(said) => String::from_utf8_lossy(said).to_lowercase(),
        Answer::Words(said) => said.to_lowercase(),
        _ => return false,
    };
    WORDS.iter().any(|words| said.contains(words))
}

/// Whether it is the answer to a request with such an id.
fn is_answer(answer: &Answer, such: impl Fn(&str) -> bool) -> bool {
    let Answer::Json(json) = answer else { return false };
    let text = String::from_utf8_lossy(json);
    Heard::read(&text)
        .is_ok_and(|heard| heard.messages.iter().any(|note| note.role() == Role::Response && such(note.id())))
}
